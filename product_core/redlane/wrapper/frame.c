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
               const struct bytes *question) {
    char head[96];
    size_t length = strlen(directory);
    snprintf(head, sizeof head, "%s %zu 0 %zu\n", kind, length, question->length);
    bytes_add_text(frame, head);
    bytes_add(frame, directory, length);
    bytes_add(frame, question->data, question->length);
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
