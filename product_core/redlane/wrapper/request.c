/* A request to the daemon about this session, over its control socket. */
#define _GNU_SOURCE
#include "request.h"

#include "link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const double patience = 2; /* seconds */
static const char success[] = "HTTP/1.1 2", end_of_head[] = "\r\n\r\n";
enum { MOST_ANSWERED = 1024 * 1024 };

static bool send_all(int link, const char *data, size_t length, int more) {
    return send(link, data, length, MSG_NOSIGNAL | more) == (ssize_t)length;
}

static bool ask(int link, const struct daemon *daemon, const struct request *request) {
    char head[1024];
    size_t size = request->body ? request->body->length : 0;
    int length = snprintf(head, sizeof head,
                          "%s /api/sessions/%s%s HTTP/1.1\r\nHost: redlane\r\n"
                          "Connection: close\r\nContent-Type: application/json\r\n"
                          "Content-Length: %zu\r\n\r\n",
                          request->method, daemon->session, request->about, size);
    return length > 0 && (size_t)length < sizeof head &&
           send_all(link, head, (size_t)length, size ? MSG_MORE : 0) &&
           (!size || send_all(link, request->body->data, size, 0));
}

static bool read_answer(int link, struct bytes *answer) {
    struct bytes all = {0};
    char piece[4096];
    ssize_t got;
    while ((got = recv(link, piece, sizeof piece, 0)) > 0 && all.length < MOST_ANSWERED)
        bytes_add(&all, piece, (size_t)got);
    const char *rest = all.length ? strstr(all.data, end_of_head) : NULL;
    bool is_whole = got == 0 && rest && strncmp(all.data, success, strlen(success)) == 0;
    if (is_whole) {
        rest += strlen(end_of_head);
        bytes_add(answer, rest, all.length - (size_t)(rest - all.data));
    }
    free(all.data);
    return is_whole;
}

bool request_send(const struct daemon *daemon, struct request request,
                  struct bytes *answer) {
    if (!daemon->session) return false;
    int link = link_to(daemon->socket, request.patience > 0 ? request.patience : patience);
    if (link < 0) return false;
    bool answered = ask(link, daemon, &request) && read_answer(link, answer);
    close(link);
    return answered;
}
