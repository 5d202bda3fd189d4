/* A program that asks before it runs: its command did not pass as it is.
 *
 * redlane-run has stopped it at its start, and made it become this program with the
 * same arguments and environment. argv[0] is "program-FD-NAME": the program's file is
 * open as FD, and NAME is what it was called. */
#define _GNU_SOURCE
#include "program.h"

#include "ask.h"
#include "bytes.h"
#include "command_line.h"
#include "locate.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void read_path(int file, char *path) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t length = readlink(name, path, PATH_MAX - 1);
    if (length <= 0 || fcntl(file, F_SETFD, FD_CLOEXEC) != 0)
        refuse("the program cannot be told; not run");
    path[length] = '\0';
}

/* What is run in its place is judged like any other shell's command. */
static _Noreturn void run_rewritten(char *command) {
    char *words[] = {"sh", "-c", "--", command, NULL};
    execv("/bin/sh", words);
    refuse("/bin/sh: %s; not run", strerror(errno));
}

_Noreturn void judge_program(char **argv) {
    struct bytes words = {0}, question = {0};
    struct answer answer = {0};
    struct place place;
    char path[PATH_MAX], *name;
    long file = strtol(argv[0] + strlen(PROGRAM_NAME), &name, 10);
    if (file <= STDERR_FILENO || file > INT_MAX || *name != '-')
        refuse("the program cannot be told; not run");
    argv[0] = name + 1;
    read_path((int)file, path);
    for (char **word = argv; *word; word++)
        bytes_add(&words, *word, strlen(*word) + 1);
    command_line_add(&question, path, words.data, words.length);
    locate(&place);
    ask(&place, &question, &answer);
    if (answer.rewritten) run_rewritten(answer.command.data);
    execveat((int)file, "", argv, environ, AT_EMPTY_PATH);
    refuse("%s: %s; not run", path, strerror(errno));
}
