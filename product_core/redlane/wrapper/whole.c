/* Shells whose line says whole what they run: NAME -c COMMAND [WORD…], the machine's own,
 * and nothing in their environment that the guarded shell would take out.
 *
 * Such a line is the same to every reader, so that the shell may run by the one that it
 * was given. All others get one of the guarded shell's making. */
#define _GNU_SOURCE
#include "whole.h"

#include "apart.h"
#include "environment.h"
#include "frame.h"
#include "home.h"
#include "processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST = 64 * 1024, MOST_WORDS = 1024, MOST_VARIABLES = 512 };

struct line {
    struct bytes all;
    char *words[MOST_WORDS + 1]; /* NULL behind the last */
    size_t count;
};

static bool read_texts(struct bytes *to, pid_t process, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)process, name);
    bytes_add(to, "", 0);
    return bytes_read_file(to, path, LONGEST) && to->length < LONGEST;
}

static bool read_line(struct line *line, pid_t process) {
    if (!read_texts(&line->all, process, "cmdline")) return false;
    for (size_t at = 0; at < line->all.length; at += strlen(line->all.data + at) + 1) {
        if (line->count == MOST_WORDS) return false;
        line->words[line->count++] = line->all.data + at;
    }
    line->words[line->count] = NULL;
    return true;
}

/* Whether a shell is called so that all know which it is, and for no login. */
static bool is_named(const char *called, const char *name) {
    const char *slash = strrchr(called, '/');
    return strcmp(slash ? slash + 1 : called, name) == 0 && (!slash || *called == '/');
}

/* Whether it is the very shell that the guarded shell would become. */
static bool is_machines(pid_t process, const char *shell) {
    struct stat program, machines;
    return process_program(process, &program) && stat(shell, &machines) == 0 && program.st_dev == machines.st_dev &&
           program.st_ino == machines.st_ino;
}

/* Whether the files that bash may run at its start, in the home that it is told, are those
 * of its user, who is not this one's where a session of root's has become another. */
static bool has_own_home(pid_t process, const char *home) {
    char path[64];
    struct stat own;
    snprintf(path, sizeof path, "/proc/%ld", (long)process);
    return stat(path, &own) == 0 && home_is_of(own.st_uid, home);
}

/* Whether an environment stays as it is with the guarded shell. */
static bool is_plain(pid_t process, bool is_sh) {
    struct bytes all = {0};
    const char *home = NULL;
    size_t left = MOST_VARIABLES;
    bool is_plain = read_texts(&all, process, "environ");
    for (size_t at = 0; is_plain && at < all.length; at += strlen(all.data + at) + 1) {
        const char *entry = all.data + at;
        is_plain = left-- && strchr(entry, '=') && !is_unsafe(entry) &&
                   !is_repeated(all.data, entry);
        if (strncmp(entry, "HOME=", strlen("HOME=")) == 0) home = entry + strlen("HOME=");
    }
    is_plain = is_plain && (is_sh || has_own_home(process, home));
    free(all.data);
    return is_plain;
}

/* What begins with a sign would be read as options. */
static bool is_command(const char *word) { return *word != '-' && *word != '+'; }

bool whole_question(pid_t process, const struct started *started, struct bytes *text) {
    struct line line = {.count = 0};
    if (started->is_script || started->name || started->skipped ||
        !apart_sees_our_files(process))
        return false;
    bool is_whole = read_line(&line, process) && line.count > 2;
    bool is_sh = is_whole && is_named(line.words[0], "sh");
    is_whole = is_whole && (is_sh || is_named(line.words[0], "bash")) &&
               strcmp(line.words[1], "-c") == 0 && is_command(line.words[2]) &&
               is_machines(process, is_sh ? "/bin/sh" : "/bin/bash") && is_plain(process, is_sh);
    if (is_whole) {
        bytes_add_text(text, line.words[2]);
        question_add_words(text, NULL, line.words + 3);
    }
    free(line.all.data);
    return is_whole;
}
