/* A question as the daemon's shell socket takes it. */
#define _GNU_SOURCE
#include "frame.h"

#include "link.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

/* Where the shell socket is: beside the control socket. */
struct socket_path {
    char path[PATH_MAX + sizeof SHELL_SOCKET];
};

static bool find_shell_socket(struct socket_path *socket, const char *control_socket) {
    int length = snprintf(socket->path, PATH_MAX, "%s", control_socket);
    errno = ENAMETOOLONG;
    if (length < 0 || length >= PATH_MAX) return false;
    char *slash = strrchr(socket->path, '/');
    strcpy(slash ? slash + 1 : socket->path, SHELL_SOCKET);
    return true;
}

/* Connects to the shell socket; -1: it cannot. */
int link_to_shell_socket(const char *control_socket, double timeout) {
    struct socket_path socket;
    return find_shell_socket(&socket, control_socket) ? link_to(socket.path, timeout) : -1;
}

/* Whether every user may connect to it, and is then asked who that is. */
bool shell_socket_is_for_all(const char *control_socket) {
    struct socket_path socket;
    struct stat about;
    return find_shell_socket(&socket, control_socket) && stat(socket.path, &about) == 0 &&
           about.st_mode & S_IWOTH;
}
