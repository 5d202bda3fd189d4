/* Programs that cannot ask for themselves. A filter of the session's own stands over
 * them, as the sandboxes of agents have one: by that the guarded shell could be made to
 * believe anything, or could not reach the daemon at all. Or root's session has taken
 * another user's rights, to whom root's daemon is closed.
 *
 * So it is asked in their place, while they stand at their start, by what is seen of
 * them from here: their words, their directory. Of shells that goes for a command (-c)
 * and for a script's file. They are not given another line, nor another environment: what
 * would make them do more than they are asked about is taken out of the one they have. */
#define _GNU_SOURCE
#include "instead.h"

#include "bytes.h"
#include "complaint.h"
#include "environment.h"
#include "file.h"
#include "frame.h"
#include "home.h"
#include "installed.h"
#include "message.h"
#include "options.h"
#include "redirect.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LARGEST = 8 * 1024 * 1024, MOST_VARIABLES = 2048, WORD = sizeof(long) };

static const char unknown[] = "what it runs cannot be told; not run";

/* A shell that stands at its start: `words` are cut into `invocation`. */
struct shell {
    pid_t process;
    struct bytes words, variables; /* each with a NUL at its end */
    struct invocation invocation;
    char **vector;
};

static bool read_file(struct bytes *to, pid_t process, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)process, name);
    bytes_add(to, "", 0);
    return (bytes_read_file(to, path, LARGEST) || access(path, R_OK) == 0) &&
           to->length < LARGEST; /* there may be nothing in it */
}

static void forget(struct shell *shell) {
    free(shell->words.data);
    free(shell->variables.data);
    free(shell->vector);
    free(shell->invocation.options);
}

/* Reads how a shell was called, by the name that it was called by, or was given. */
static bool read_shell(struct shell *shell, const struct started *started) {
    size_t count = 0, at = 0;
    if (!read_file(&shell->words, shell->process, "cmdline")) return false;
    if (!read_file(&shell->variables, shell->process, "environ")) return false;
    for (size_t i = 0; i < shell->words.length; i++) count += !shell->words.data[i];
    if (count <= (size_t)started->skipped) return false;
    shell->vector = allocate((count + 1) * sizeof(char *));
    char *word = shell->words.data;
    for (size_t i = 0; i < count; i++, word += strlen(word) + 1)
        if (i >= (size_t)started->skipped) shell->vector[at++] = word;
    shell->vector[at] = NULL;
    if (started->name) shell->vector[0] = (char *)started->name;
    parse_invocation(&shell->invocation, (int)at, shell->vector);
    return true;
}

static const char *variable(const struct shell *shell, const char *name) {
    size_t length = strlen(name);
    const char *end = shell->variables.data + shell->variables.length;
    for (const char *each = shell->variables.data; each < end; each += strlen(each) + 1)
        if (strncmp(each, name, length) == 0 && each[length] == '=')
            return each + length + 1;
    return NULL;
}

/* Opens a file of a process, as that finds it; -1: there is none. */
static int open_theirs(pid_t process, const char *path) {
    char from[64];
    struct open_how how = {.flags = O_PATH | O_CLOEXEC};
    snprintf(from, sizeof from, "/proc/%ld/%s", (long)process,
             *path == '/' ? "root" : "cwd");
    int directory = open(from, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return -1;
    if (*path == '/') how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    int file = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
    close(directory);
    return file;
}

static bool find(pid_t process, const char *path, struct stat *about) {
    int file = open_theirs(process, path);
    bool is_there = file >= 0 && fstat(file, about) == 0;
    if (file >= 0) close(file);
    return is_there;
}

/* Whether a process finds by a path the file that we find by it, or neither any. */
static bool finds_ours(pid_t process, const char *path) {
    struct stat theirs, ours;
    bool is_theirs = find(process, path, &theirs), is_ours = stat(path, &ours) == 0;
    if (!is_theirs || !is_ours) return is_theirs == is_ours;
    return theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

/* Whether bash may take itself for started by a remote shell, and then reads ~/.bashrc: by
 * its standard input, about which a filter could say anything. Not below another shell. */
static bool looks_remote(const struct shell *shell) {
    const char *level = variable(shell, "SHLVL");
    size_t length = level ? strlen(level) : 0;
    bool is_below = length && length < 3 && *level != '0' &&
                    strspn(level, "0123456789") == length;
    return !shell->invocation.is_sh && !is_below;
}

/* Has the question begin with a file, if the shell runs it at its start and it is not the
 * one that we find by that path; false: that cannot be told. */
static bool add_startup(const struct shell *shell, struct bytes *text,
                        const char *directory, const char *name, bool is_own) {
    char path[PATH_MAX];
    struct stat found;
    int length = snprintf(path, sizeof path, "%s/%s", directory, name);
    if (length <= 0 || (size_t)length >= sizeof path) return false;
    if (is_own ? finds_ours(shell->process, path) : !find(shell->process, path, &found))
        return true;
    bytes_add_text(text, ". ");
    bytes_add_quoted(text, path);
    bytes_add_text(text, "\n");
    return true;
}

/* The files that a shell runs at its start and that are not the user's own, or the
 * machine's: they are a part of what it runs. */
static bool add_all_startup(const struct shell *shell, struct bytes *text) {
    static const char *const machines[] = {"profile", "bash.bashrc", NULL};
    char own[PATH_MAX];
    struct stat itself;
    const char *home = variable(shell, "HOME");
    bool is_there = true, is_own = home_is_own(home);
    if (!shell->invocation.login && !looks_remote(shell)) return true;
    if (!home) {
        snprintf(own, sizeof own, "/proc/%ld", (long)shell->process);
        if (stat(own, &itself) != 0 || !finds_ours(shell->process, "/etc/passwd") ||
            !home_of_user(itself.st_uid, own, sizeof own))
            return false;
        home = own;
        is_own = true;
    }
    for (const char *const *file = machines; *file && is_there; file++)
        is_there = add_startup(shell, text, "/etc", *file, true);
    for (const char *const *file = startup_files; *file && is_there; file++)
        is_there = *home == '/' && add_startup(shell, text, home, *file, is_own);
    return is_there;
}

/* A script that is an installed program: see installed.c. */
static bool is_installed(const struct shell *shell) {
    char seen[PATH_MAX];
    struct place place = {.supervisor = getpid()};
    const char *given = shell->invocation.subject;
    if (!shell->invocation.is_script || !finds_ours(shell->process, given)) return false;
    int file = open_theirs(shell->process, given);
    bool is_named = file >= 0 && file_path(file, seen);
    if (file >= 0) close(file);
    return is_named && finds_ours(shell->process, seen) &&
           installed_script(&place, given, seen);
}

/* Why a shell cannot be asked about; NULL: it can. */
static const char *problem_of(const struct shell *shell) {
    const struct invocation *how = &shell->invocation;
    struct stat found;
    if (*how->problem) return how->problem;
    bool is_read = how->kind == RUN_COMMAND || how->kind == RUN_FILE;
    /* What bash reads as one long option another shell may read as letters. */
    if (how->has_long && how->is_sh) is_read = false;
    else if (how->kind == RUN_INFORMATION) return NULL;
    if (how->interactive || how->rcfile || !is_read)
        return "a shell of another user, or under a filter of its own, runs commands (-c) "
               "and files of scripts only; not run";
    if (how->kind == RUN_FILE && !find(shell->process, how->subject, &found))
        return "there is no such script; not run";
    return NULL;
}

static bool add_text(const struct shell *shell, struct bytes *text) {
    const struct invocation *how = &shell->invocation;
    if (!add_all_startup(shell, text)) return false;
    if (how->kind == RUN_COMMAND) {
        bytes_add_text(text, how->subject);
        question_add_words(text, NULL, how->arguments);
        return true;
    }
    const char *name = strrchr(how->subject, '/');
    if (is_installed(shell)) {
        bytes_add_quoted(text, name + 1);
    } else {
        bytes_add_text(text, how->is_sh ? "sh " : "bash ");
        bytes_add_quoted(text, how->subject);
    }
    for (char **argument = how->arguments; *argument; argument++) {
        bytes_add_text(text, " ");
        bytes_add_quoted(text, *argument);
    }
    return true;
}

/* The question about a process; why there is none, or NULL. */
static const char *question_of(pid_t process, const struct started *started,
                               struct bytes *text, bool *is_unjudged) {
    struct shell shell = {.process = process};
    if (started->image != IMAGE_SHELL)
        return questions_add_program(text, process) ? NULL : unknown;
    const char *problem = read_shell(&shell, started) ? problem_of(&shell) : unknown;
    if (!problem) {
        *is_unjudged = shell.invocation.kind == RUN_INFORMATION;
        if (!*is_unjudged && !add_text(&shell, text)) problem = unknown;
    }
    static char told[sizeof shell.invocation.problem];
    if (problem == shell.invocation.problem)
        problem = strcpy(told, shell.invocation.problem);
    forget(&shell);
    return problem;
}

/* Gives another name to each variable that would be taken out, and to each but the first
 * of one name. They stand one behind the other, as they are read. */
static bool clean(pid_t process) {
    unsigned long stack, count, first, word;
    struct bytes all = {0};
    if (!program_stack(process, &stack) || !program_word(process, stack, &count) ||
        !program_word(process, stack + WORD * (count + 2), &first))
        return false;
    bool is_clean = !first || read_file(&all, process, "environ");
    size_t left = MOST_VARIABLES;
    for (size_t at = 0; is_clean && at < all.length; at += strlen(all.data + at) + 1) {
        const char *entry = all.data + at;
        if (!left--) is_clean = false;
        if (!is_clean) break;
        if (!is_unsafe(entry) && !is_repeated(all.data, entry)) continue;
        is_clean = program_word(process, first + at, &word) &&
                   ptrace(PTRACE_POKEDATA, process, first + at,
                          (word & ~0xfful) | '_') == 0;
    }
    free(all.data);
    return is_clean;
}

enum instead instead_ask(struct questions *questions, pid_t process,
                         const struct started *started) {
    struct bytes text = {0};
    bool is_unjudged = false;
    const char *problem = question_of(process, started, &text, &is_unjudged);
    if (!problem && is_unjudged && !clean(process)) problem = unknown;
    if (!problem && !is_unjudged && !questions_judge(questions, process, &text))
        problem = "no daemon answers; not run";
    free(text.data);
    if (problem) complaint_say(process, problem);
    return problem ? INSTEAD_REFUSED : is_unjudged ? INSTEAD_UNJUDGED : INSTEAD_ASKED;
}

bool instead_is_ready(const struct questions *questions, pid_t process,
                      const struct started *started) {
    struct bytes text = {0};
    bool is_unjudged = false;
    const struct bytes *asked = questions_asked(questions, process);
    bool is_same = asked && !question_of(process, started, &text, &is_unjudged) &&
                   text.length == asked->length &&
                   memcmp(text.data, asked->data, text.length) == 0;
    free(text.data);
    return is_same && (started->image != IMAGE_SHELL || clean(process));
}
