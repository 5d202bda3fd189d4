/* One question to the daemon, over its Unix socket, within a deadline. */
#define _GNU_SOURCE
#include "wrapper.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
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
    int link = link_to(place->socket, place->timeout);
    if (link < 0)
        refuse("no daemon at %s (%s): start it with `redlane start`; not run",
               place->socket, strerror(errno));
    return link;
}

static void add_header(struct bytes *request, size_t length) {
    char text[256], directory[PATH_MAX];
    bytes_add_text(request, "POST /api/shell HTTP/1.1\r\nHost: redlane\r\n"
                            "Connection: close\r\n"
                            "Content-Type: application/octet-stream\r\n");
    snprintf(text, sizeof text, "Content-Length: %zu\r\n", length);
    bytes_add_text(request, text);
    if (getcwd(directory, sizeof directory) && *directory == '/') {
        bytes_add_text(request, "X-Redlane-Cwd: ");
        for (const unsigned char *at = (unsigned char *)directory; *at; at++) {
            bool plain = *at > ' ' && *at < 0x7f && *at != '%';
            snprintf(text, sizeof text, plain ? "%c" : "%%%02X", *at);
            bytes_add_text(request, text);
        }
        bytes_add_text(request, "\r\n");
    }
    bytes_add_text(request, "\r\n");
}

/* Sends all of it. A daemon that stops listening may have answered already. */
static void send_request(int link, const struct bytes *question, double deadline) {
    struct bytes request = {0};
    add_header(&request, question->length);
    bytes_add(&request, question->data, question->length);
    for (size_t sent = 0; sent < request.length;) {
        ssize_t done = send(link, request.data + sent, request.length - sent,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done >= 0) sent += (size_t)done;
        else if (errno == EAGAIN) wait_for(link, POLLOUT, deadline);
        else if (errno != EINTR) return;
    }
}

/* Receives a piece more; false at the end of the stream. */
static bool receive(int link, struct reply *reply, double deadline) {
    char piece[16384];
    for (;;) {
        ssize_t got = recv(link, piece, sizeof piece, MSG_DONTWAIT);
        if (got > 0) bytes_add(&reply->raw, piece, (size_t)got);
        if (got >= 0) return got > 0;
        if (errno == EAGAIN) wait_for(link, POLLIN, deadline);
        else if (errno != EINTR) return false;
    }
}

static enum progress advance(struct reply *reply, bool *held, double *deadline,
                             double timeout) {
    char review[65];
    long seconds;
    enum progress progress = reply_advance(reply);
    if (progress == MALFORMED || *held || reply->status != 200) return progress;
    switch (reply_held(reply, review, sizeof review, &seconds)) {
    case MALFORMED: return MALFORMED;
    case WAITING: return progress;
    case COMPLETE: break;
    }
    *held = true;
    *deadline = now() + (double)seconds + timeout;
    tell("held for review %s: redlane review allow %s", review, review);
    return progress;
}

void ask(const struct place *place, const struct bytes *question,
         struct answer *answer) {
    struct reply reply = {0};
    enum progress progress = WAITING;
    bool held = false;
    if (question->length > SCRIPT_MAX)
        refuse("the command is longer than %d bytes; not run", SCRIPT_MAX);
    double deadline = now() + place->timeout;
    int link = reach(place);
    send_request(link, question, deadline);
    while (progress == WAITING) {
        if (!receive(link, &reply, deadline))
            refuse("the daemon closed the connection without a verdict; not run");
        progress = advance(&reply, &held, &deadline, place->timeout);
    }
    if (progress == MALFORMED)
        refuse("the daemon's answer is not understood; not run");
    reply_verdict(&reply, answer);
    close(link);
}
