/* What a program was started as, written as a command.
 *
 * Whoever starts a program may call it anything in its first word. Where that does not
 * name the file that runs, both are lines of the command, so that it is judged as
 * either: some programs do what their first word says, and most do not.
 *
 * Of the helper by which Codex becomes a command, only that is said: the command asks for
 * itself when it starts, with the variables that the helper has set. */
#define _GNU_SOURCE
#include "command_line.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether a word is the name of a program, or one that the system has for it. A path
 * has to lead to it. */
static bool names(const char *word, const char *program) {
    static const char *const directories[] = {"/usr/bin", "/bin", "/usr/sbin", "/sbin",
                                              "/usr/local/bin"};
    const char *name = base_name(word);
    char path[PATH_MAX];
    struct stat named, run;
    if (*word != '/' && strcmp(name, base_name(program)) == 0) return true;
    if (!*name || stat(program, &run) != 0) return false;
    if (*word == '/')
        return stat(word, &named) == 0 && named.st_dev == run.st_dev &&
               named.st_ino == run.st_ino;
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        int length = snprintf(path, sizeof path, "%s/%s", directories[i], name);
        if (length < 0 || (size_t)length >= sizeof path) return false;
        if (stat(path, &named) == 0 && named.st_dev == run.st_dev &&
            named.st_ino == run.st_ino)
            return true;
    }
    return false;
}

/* Where those words end that are the program's own. */
static const char *end_of_own(const char *program, const char *rest, const char *end) {
    static const char helper[] = "--codex-run-as-process-setup";
    bool is_helper = strcmp(base_name(program), "codex") == 0 && rest < end &&
                     strcmp(rest, helper) == 0;
    return is_helper ? rest + sizeof helper : end;
}

static void add_line(struct bytes *text, const char *first, const char *rest,
                     const char *end) {
    bytes_add_quoted(text, first);
    for (const char *word = rest; word < end; word += strlen(word) + 1) {
        bytes_add_text(text, " ");
        bytes_add_quoted(text, word);
    }
}

/* Adds the command: `program` is the file that runs, `words` are its arguments from the
 * first on, each with a NUL at its end, `length` bytes in all. */
void command_line_add(struct bytes *text, const char *program, const char *words,
                      size_t length) {
    const char *end = words + length, *rest = end;
    if (length) rest = words + strlen(words) + 1;
    end = end_of_own(program, rest, end);
    bool is_named = length && names(words, program);
    add_line(text, is_named ? words : program, rest, end);
    if (is_named || !length) return;
    bytes_add_text(text, "\n");
    add_line(text, words, rest, end);
}
