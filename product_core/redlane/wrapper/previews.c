/* Whether the commands of programs that are being started would pass as they are.
 *
 * Nobody waits here: each question has a connection of its own, and whatever goes wrong
 * with it is a no. Of what does not pass the program itself asks, and waits (program.c
 * of the guarded shell). */
#define _GNU_SOURCE
#include "previews.h"

#include "bytes.h"
#include "command_line.h"
#include "frame.h"
#include "message.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LONGEST_LINE = 4 * 1024 * 1024 };
static const double patience = 0.05; /* seconds, for a daemon that accepts nobody */
static const char pass[] = "ALLOW\n";

struct preview {
    pid_t process;
    int link;
};

struct previews {
    const char *control_socket;
    int epoll;
    struct preview *each;
    size_t count, room;
};

struct previews *previews_prepare(const char *control_socket) {
    struct previews *previews = allocate(sizeof *previews);
    *previews = (struct previews){
        .control_socket = control_socket,
        .epoll = epoll_create1(EPOLL_CLOEXEC),
    };
    if (previews->epoll < 0) refuse("the session cannot be supervised: no epoll");
    return previews;
}

/* Readable while there is an answer. */
int previews_descriptor(const struct previews *previews) { return previews->epoll; }

static bool read_link(pid_t process, const char *name, char *to) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)process, name);
    ssize_t length = readlink(path, to, PATH_MAX - 1);
    to[length > 0 ? length : 0] = '\0';
    return length > 0;
}

/* What a process asks that stands at its start; false: it cannot be told. */
static bool add_question(struct bytes *frame, pid_t process) {
    char path[64], program[PATH_MAX], directory[PATH_MAX];
    struct bytes words = {0}, text = {0};
    bytes_add(&words, "", 0);
    snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)process);
    bool is_read = bytes_read_file(&words, path, LONGEST_LINE) &&
                   words.length < LONGEST_LINE && read_link(process, "exe", program);
    if (is_read) {
        command_line_add(&text, program, words.data, words.length);
        if (!read_link(process, "cwd", directory) || *directory != '/') *directory = '\0';
        frame_add(frame, PREVIEW, directory, &text);
    }
    free(words.data);
    free(text.data);
    return is_read;
}

static void add(struct previews *previews, pid_t process, int link) {
    if (previews->count == previews->room) {
        previews->room = previews->room * 2 + 16;
        previews->each = realloc(previews->each, previews->room * sizeof *previews->each);
        if (!previews->each) refuse("out of memory");
    }
    previews->each[previews->count++] = (struct preview){process, link};
}

static void forget(struct previews *previews, pid_t process) {
    for (size_t i = 0; i < previews->count; i++) {
        if (previews->each[i].process != process) continue;
        close(previews->each[i].link);
        previews->each[i] = previews->each[--previews->count];
        return;
    }
}

/* Asks about a process that stands at its start; false: an answer will not come. */
bool previews_ask(struct previews *previews, pid_t process) {
    struct bytes frame = {0};
    struct epoll_event event = {.events = EPOLLIN, .data.fd = process};
    forget(previews, process); /* of an earlier one with the same number */
    if (!add_question(&frame, process)) return false;
    int link = link_to_shell_socket(previews->control_socket, patience);
    bool is_asked =
        link >= 0 &&
        send(link, frame.data, frame.length, MSG_NOSIGNAL | MSG_DONTWAIT) ==
            (ssize_t)frame.length &&
        epoll_ctl(previews->epoll, EPOLL_CTL_ADD, link, &event) == 0;
    free(frame.data);
    if (is_asked) add(previews, process, link);
    else if (link >= 0) close(link);
    return is_asked;
}

static bool has_passed(int link) {
    char answer[sizeof pass];
    ssize_t got = recv(link, answer, sizeof answer, MSG_DONTWAIT);
    return got == sizeof pass - 1 && memcmp(answer, pass, sizeof pass - 1) == 0;
}

/* Takes an answer; false: there is none. */
bool previews_answered(struct previews *previews, pid_t *process, bool *passes) {
    struct epoll_event event;
    if (epoll_wait(previews->epoll, &event, 1, 0) != 1) return false;
    *process = event.data.fd;
    *passes = false;
    for (size_t i = 0; i < previews->count; i++)
        if (previews->each[i].process == *process)
            *passes = has_passed(previews->each[i].link);
    forget(previews, *process);
    return true;
}
