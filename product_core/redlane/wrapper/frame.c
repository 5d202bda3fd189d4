/* A question as the daemon's shell socket takes it. */
#define _GNU_SOURCE
#include "frame.h"

#include "link.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define SHELL_SOCKET "shell.sock"

/* "<kind> <lengths>\n", the working directory (empty when it cannot be told), what the
 * same shell has run before (nothing), and the question. */
void frame_add(struct bytes *frame, const char *kind, const char *directory,
               const struct bytes *question, pid_t process) {
    char head[96], whose[24] = "";
    size_t length = strlen(directory);
    if (process) snprintf(whose, sizeof whose, " %ld", (long)process);
    snprintf(head, sizeof head, "%s %zu 0 %zu%s\n", kind, length, question->length,
             whose);
    bytes_add_text(frame, head);
    bytes_add(frame, directory, length);
    bytes_add(frame, question->data, question->length);
}

/* The command or script, then $0 and what follows it, each after a NUL. */
void question_add_words(struct bytes *question, const char *name, char **arguments) {
    if (name) {
        bytes_add(question, "", 1);
        bytes_add_text(question, name);
    }
    for (; arguments && *arguments; arguments++) {
        bytes_add(question, "", 1);
        bytes_add_text(question, *arguments);
    }
}

/* Connects to the shell socket, which lies beside the control socket; -1: it cannot. */
int link_to_shell_socket(const char *control_socket, double timeout) {
    char path[PATH_MAX + sizeof SHELL_SOCKET];
    int length = snprintf(path, PATH_MAX, "%s", control_socket);
    errno = ENAMETOOLONG;
    if (length < 0 || length >= PATH_MAX) return -1;
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, SHELL_SOCKET);
    return link_to(path, timeout);
}
