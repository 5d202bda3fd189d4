/* Becoming the shell: the same process, so that its signals and status are bash's. */
#define _GNU_SOURCE
#include "become.h"

#include "descriptors.h"
#include "environment.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BASH "/bin/bash"
#define SH "/bin/sh"

struct line {
    char **words;
    size_t count;
};

static void add(struct line *line, const char *word) {
    line->words[line->count++] = (char *)word;
}

static struct line begin(const struct invocation *invocation) {
    size_t arguments = 0;
    while (invocation->arguments && invocation->arguments[arguments]) arguments++;
    size_t words = invocation->option_count + arguments + 16;
    struct line line = {.words = allocate(words * sizeof(char *))};
    add(&line, invocation->called);
    if (invocation->add_norc && !invocation->is_sh) add(&line, "--norc");
    for (size_t i = 0; i < invocation->option_count; i++)
        add(&line, invocation->options[i]);
    return line;
}

static _Noreturn void become_supervised(const struct invocation *invocation,
                                        const char *shell, const struct line *line);

static _Noreturn void become(const struct invocation *invocation, struct line *line) {
    const char *shell = invocation->is_sh ? SH : BASH;
    line->words[line->count] = NULL;
    if (invocation->role) become_supervised(invocation, shell, line);
    clean_environment();
    /* By this call redlane-run tells that it has to ask about what the shell starts. */
    if (invocation->is_open)
        syscall(SYS_execveat, AT_FDCWD, shell, line->words, environ, 0);
    else execv(shell, line->words);
    refuse("%s: %s; not run", shell, strerror(errno));
}

static void add_arguments(struct line *line, char **arguments) {
    for (; arguments && *arguments; arguments++) add(line, *arguments);
}

void run_command(const struct invocation *invocation, char *command) {
    struct line line = begin(invocation);
    add(&line, "-c");
    add(&line, "--");
    add(&line, command);
    if (invocation->kind == RUN_COMMAND) add_arguments(&line, invocation->arguments);
    become(invocation, &line);
}

void run_file(const struct invocation *invocation, char *path) {
    struct line line = begin(invocation);
    add(&line, "--");
    add(&line, path);
    add_arguments(&line, invocation->arguments);
    become(invocation, &line);
}

static void add_input(struct line *line, const struct invocation *invocation) {
    if (!invocation->from_input) return;
    add(line, "-s");
    add(line, "--");
    add_arguments(line, invocation->arguments);
}

void run_input(const struct invocation *invocation, struct bytes *text) {
    struct line line = begin(invocation);
    int file = memory_file(text);
    if (file < 0 || dup2(file, STDIN_FILENO) < 0)
        refuse("the script cannot be kept (%s); not run", strerror(errno));
    add_input(&line, invocation);
    become(invocation, &line);
}

/* The command line in Python: the daemon's own, among its shims. That is found where
 * this program was made from another shell and has nothing beside it, and no variable
 * brings code of the caller's into it. Without a daemon the one beside this program says
 * so. */
static _Noreturn void become_program(const char *socket, char **words) {
    char path[PATH_MAX + sizeof "bin/redlane"];
    snprintf(path, PATH_MAX, "%s", socket);
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, "bin/redlane");
    clean_environment();
    execv(path, words);
    if (!own_directory(path, PATH_MAX)) refuse("/proc cannot be read; not run");
    strcat(path, "/redlane");
    execv(path, words);
    refuse("%s: %s; not run", path, strerror(errno));
}

/* The shell in a session of its own, where its system calls are held. */
static void become_supervised(const struct invocation *invocation, const char *shell,
                              const struct line *line) {
    struct bytes role = {0};
    bytes_add_text(&role, "--role=");
    bytes_add_text(&role, invocation->role);
    char *fixed[] = {"redlane",    "run",      role.data, "--label",
                     "redlane-sh", "--judged", "--",      (char *)shell};
    char **words = allocate(sizeof fixed + (line->count + 1) * sizeof(char *));
    memcpy(words, fixed, sizeof fixed);
    memcpy(words + sizeof fixed / sizeof *fixed, line->words + 1,
           line->count * sizeof(char *));
    if (setenv("REDLANE_SOCKET", invocation->socket, 1) != 0)
        refuse("the environment is full; not run");
    become_program(invocation->socket, words);
}

/* The writer waits for an answer: from here on whole commands are judged and run one
 * after the other. What has been read goes along as an open file. */
void run_stream(const struct invocation *invocation, const struct place *place,
                const struct bytes *begun) {
    char number[16];
    struct line line = begin(invocation);
    char *options[] = {"redlane", "shell",  "--socket", (char *)place->socket,
                       "--stream", number, "--"};
    int file = memory_file(begun);
    if (file < 0 || fcntl(file, F_SETFD, 0) != 0)
        refuse("the script cannot be kept (%s); not run", strerror(errno));
    snprintf(number, sizeof number, "%d", file);
    add_input(&line, invocation);
    size_t fixed = sizeof options / sizeof *options;
    char **words = allocate((fixed + line.count + 2) * sizeof(char *));
    memcpy(words, options, sizeof options);
    words[fixed] = invocation->is_sh ? SH : BASH;
    memcpy(words + fixed + 1, line.words, line.count * sizeof(char *));
    words[fixed + 1 + line.count] = NULL;
    become_program(place->socket, words);
}

void run_terminal(const struct place *place) {
    char *words[] = {"redlane", "shell", "--socket", (char *)place->socket, NULL};
    become_program(place->socket, words);
}

void run_information(const struct invocation *invocation) {
    struct line line = begin(invocation);
    add(&line, invocation->subject);
    become(invocation, &line);
}
