/* One question to the daemon, over its shell socket, within a deadline. */
#define _GNU_SOURCE
#include "ask.h"

#include "frame.h"
#include "message.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double left(double deadline) {
    double seconds = deadline - now();
    if (seconds <= 0) refuse("the daemon did not answer in time; not run");
    return seconds;
}

static void wait_for(int descriptor, short events, double deadline) {
    struct pollfd entry = {.fd = descriptor, .events = events};
    int milliseconds = (int)(left(deadline) * 1000) + 1;
    if (poll(&entry, 1, milliseconds) < 0 && errno != EINTR)
        refuse("cannot wait for the daemon (%s); not run", strerror(errno));
}

static int reach(const struct place *place) {
    int link = link_to_shell_socket(place->socket, place->timeout);
    if (link < 0)
        refuse("no daemon at %s (%s): start it with `redlane start`; not run",
               place->socket, strerror(errno));
    return link;
}

/* Sends all of it. A daemon that stops listening may have answered already. */
static void send_request(int link, const char *kind, const struct bytes *question,
                         double deadline) {
    char directory[PATH_MAX];
    struct bytes request = {0};
    if (!getcwd(directory, sizeof directory) || *directory != '/') *directory = '\0';
    frame_add(&request, kind, directory, question, 0);
    for (size_t sent = 0; sent < request.length;) {
        ssize_t done = send(link, request.data + sent, request.length - sent,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done >= 0) sent += (size_t)done;
        else if (errno == EAGAIN) wait_for(link, POLLOUT, deadline);
        else if (errno != EINTR) return;
    }
}

/* Receives a piece more; false at the end of the stream. What has come counts, however
 * late it is: the session may have been frozen while it came. */
static bool receive(int link, struct bytes *reply, double deadline) {
    char piece[16384];
    for (;;) {
        ssize_t got = recv(link, piece, sizeof piece, MSG_DONTWAIT);
        if (got > 0) bytes_add(reply, piece, (size_t)got);
        if (got >= 0) return got > 0;
        if (errno == EAGAIN) wait_for(link, POLLIN, deadline);
        else if (errno != EINTR) return false;
    }
}

/* Takes what may come once before the verdict, and then waits on for that. */
static enum progress advance(struct bytes *reply, bool *held, double *deadline,
                             double timeout, struct answer *answer) {
    struct held told;
    enum progress progress = *held ? WAITING : reply_held(reply, &told);
    if (progress == MALFORMED) return MALFORMED;
    if (progress == COMPLETE) {
        *held = true;
        *deadline = now() + (double)told.seconds + timeout;
        tell("held for review %s: %s decides within %ld s (redlane review show %s)",
             told.review, told.whose, told.seconds, told.review);
    }
    progress = reply_supervise(reply, &answer->role);
    if (progress != COMPLETE) return progress;
    if (!answer->is_open) answer->is_open = reply_open(reply);
    progress = reply_why_rewritten(reply, &answer->why);
    return progress == COMPLETE ? reply_progress(reply) : progress;
}

bool passes(const struct place *place, const struct bytes *question) {
    struct bytes reply = {0};
    double deadline = now() + place->timeout;
    int link = reach(place);
    send_request(link, PREVIEW, question, deadline);
    while (receive(link, &reply, deadline)) continue;
    bool is_pass = reply.length == 6 && memcmp(reply.data, "ALLOW\n", 6) == 0;
    free(reply.data);
    close(link);
    return is_pass;
}

void ask(const struct place *place, const struct bytes *question,
         struct answer *answer) {
    struct bytes reply = {0};
    enum progress progress = WAITING;
    bool held = false;
    if (question->length > SCRIPT_MAX)
        refuse("the command is longer than %d bytes; not run", SCRIPT_MAX);
    double deadline = now() + place->timeout;
    int link = reach(place);
    send_request(link, QUESTION, question, deadline);
    while (progress == WAITING) {
        if (!receive(link, &reply, deadline))
            refuse("the daemon closed the connection without a verdict; not run");
        progress = advance(&reply, &held, &deadline, place->timeout, answer);
    }
    if (progress == MALFORMED) refuse("%s", not_understood);
    const char *problem = reply_verdict(&reply, answer);
    if (problem) refuse_saying(problem, strlen(problem));
    if (answer->rewritten && answer->why.length) tell("%s", answer->why.data);
    close(link);
}
