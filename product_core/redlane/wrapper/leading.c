/* Leads connections of the session's into its proxy: programs that take no notice of it are
 * judged as those that do, and need no change.
 *
 * The caller's own socket is connected to the proxy, and the tunnel asked for here: when the
 * call is over there is the server at the other end, or an error as the server's would be. A
 * caller that does not wait (O_NONBLOCK) waits for that too, but not for long. Then its socket
 * is full, as none is that connects: the proxy takes in what fills it once the tunnel is open,
 * or closes. So the caller finds out by that it can write, or by an error, as ever. */
#define _GNU_SOURCE
#include "leading.h"

#include "bytes.h"
#include "connecting.h"
#include "datagrams.h"
#include "egress.h"
#include "internet.h"
#include "session_proxy.h"
#include "sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LONGEST_HEAD = 16 * 1024, LONGEST_TARGET = 320 };
enum { WAIT_OTHERWISE = 102, OPENED = 200, UNREACHABLE = 502 };
enum { SLICE = 50, LONG_SLICE = 250, MANY = 1000, SIGNALS = 2000, SOON = 5000 }; /* ms */
enum { PADDING = 256 * 1024, MOST_UNSENT = 16 * 1024 };

/* ---- the tunnel ---- */

struct leading {
    int file;
    bool waits;
    long waited, most; /* milliseconds; 0: as many as it takes */
    const struct leading_caller *caller;
};

enum { SLICE_OVER = -1 };

/* A signal that its handler returns from would have the call begin anew, or leave a
 * connection to itself that goes on natively: most are made before that matters. */
static bool is_wanted(const struct leading *leading) {
    const struct leading_caller *caller = leading->caller;
    bool (*ask)(const void *) = leading->waited < SIGNALS ? caller->is_there : caller->is_wanted;
    return ask(caller->about);
}

/* 0: it is there; or what the call fails with that waits no longer. */
static int await(struct leading *leading, short event) {
    struct pollfd watched = {.fd = leading->file, .events = event};
    if (!is_wanted(leading)) return EINTR;
    int slice = leading->waited < MANY ? SLICE : LONG_SLICE;
    if (poll(&watched, 1, slice) > 0) return 0;
    leading->waited += slice;
    return leading->most && leading->waited >= leading->most ? ETIMEDOUT : SLICE_OVER;
}

/* Where a socket leads; false: nowhere. */
static bool find_peer(int file, union internet *peer) {
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    return getpeername(file, (struct sockaddr *)&address, &size) == 0 &&
           internet_read(peer, &address, size);
}

/* Other threads of the caller's have the socket too. Wherever they connect it to is judged as
 * that; what is said to the proxy is for the proxy. */
static bool leads_there(int file) {
    union internet peer;
    return find_peer(file, &peer) && session_proxy_is(&peer);
}

static int reach(struct leading *leading) {
    union internet peer;
    for (int state = SLICE_OVER;;) {
        if (find_peer(leading->file, &peer))
            return session_proxy_is(&peer) ? 0 : EISCONN;
        int failed = socket_option(leading->file, SO_ERROR);
        if (failed > 0) return failed;
        if (state == 0) return ECONNABORTED; /* another thread's doing */
        state = await(leading, POLLOUT);
        if (state > 0) return state;
    }
}

/* Whether a caller that does not wait gets a socket that is full (see `fill`). */
static bool can_be_filled(const struct leading *leading) {
    return !leading->waits && socket_option(leading->file, SO_SNDBUF) >= 2 * PADDING;
}

static int ask(struct leading *leading, const char *target) {
    char head[LONGEST_TARGET * 2 + sizeof session_proxy_credentials + 128];
    int error = reach(leading);
    if (error) return error;
    int length = snprintf(head, sizeof head,
                          "CONNECT %s HTTP/1.1\r\nHost: %s\r\n"
                          "Proxy-Authorization: Basic %s\r\n"
                          "Redlane-Led: yes\r\n%s\r\n",
                          target, target, session_proxy_credentials,
                          can_be_filled(leading) ? "Redlane-Waits: no\r\n" : "");
    bool is_sent = send(leading->file, head, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL) == length;
    return is_sent ? 0 : ECONNRESET;
}

/* The head of the answer, and none of what the server may have sent behind it: whoever else
 * has the socket may take bytes of it meanwhile, so that each is looked at once it is here. */
static int read_head(struct leading *leading, char head[LONGEST_HEAD]) {
    static const char end[] = "\r\n\r\n";
    const size_t size = strlen(end);
    for (size_t length = 0; length < LONGEST_HEAD - 1;) {
        ssize_t got = recv(leading->file, head + length, 1, MSG_DONTWAIT);
        int error = got < 0 && errno == EAGAIN ? await(leading, POLLIN) : 0;
        if (error > 0) return error;
        if (got == 0 || (got < 0 && errno != EAGAIN)) return ECONNRESET;
        if (got < 0) continue;
        head[++length] = '\0';
        if (length >= size && memcmp(head + length - size, end, size) == 0) return 0;
    }
    return EPROTO;
}

/* A line of the head, or what stands for it. */
static void read_line(const char *head, const char *name, const char *otherwise, char *to,
                      size_t size) {
    const char *at = strcasestr(head, name);
    const char *from = at ? at + strlen(name) : otherwise;
    snprintf(to, size, "%.*s", (int)strcspn(from, "\r\n"), from);
}

/* What the caller's call fails with. */
static int read_refusal(struct call *call, const char *head, int status) {
    struct led *led = &call->led;
    char number[12];
    read_line(head, "\r\nredlane-errno: ", "", number, sizeof number);
    int error = atoi(number);
    if (status == UNREACHABLE) return error > 0 && error <= EHWPOISON ? error : EHOSTUNREACH;
    read_line(head, "\r\nredlane-policy: ", "builtin:egress", led->policy, sizeof led->policy);
    read_line(head, "\r\nredlane-reason: ", "the proxy refuses it", led->reason,
              sizeof led->reason);
    led->rule = (struct rule){led->policy, led->reason, "do without it, or ask the user", EACCES};
    return LEADING_REFUSED;
}

/* With what the proxy leaves out, and more than is under way before it reads again. The rest
 * keeps the socket from being one that can be written to. */
static bool fill(int file) {
    const int most = MOST_UNSENT;
    char *padding = allocate(PADDING);
    memset(padding, 0, PADDING);
    bool is_full = send(file, padding, PADDING, MSG_DONTWAIT | MSG_NOSIGNAL) == PADDING &&
                   setsockopt(file, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most, sizeof most) == 0;
    free(padding);
    return is_full;
}

static int open_tunnel(struct call *call, struct leading *leading) {
    char target[LONGEST_TARGET], head[LONGEST_HEAD] = "";
    egress_show(&call->address, target, sizeof target);
    int error = ask(leading, target);
    if (!error) error = read_head(leading, head);
    if (error) return error;
    int status = strncmp(head, "HTTP/1.", 7) == 0 ? atoi(head + 9) : 0;
    if (status == WAIT_OTHERWISE) return fill(leading->file) ? EINPROGRESS : ETIMEDOUT;
    return status == OPENED ? 0 : read_refusal(call, head, status);
}

/* ---- the call ---- */

static struct leading leading_of(const struct call *call, const struct leading_caller *caller) {
    struct leading leading = {.file = call->held, .caller = caller};
    struct timeval most = {0};
    socklen_t size = sizeof most;
    leading.waits = !(fcntl(call->held, F_GETFL) & O_NONBLOCK);
    getsockopt(call->held, SOL_SOCKET, SO_SNDTIMEO, &most, &size);
    long milliseconds = most.tv_sec * 1000 + most.tv_usec / 1000;
    leading.most = leading.waits ? milliseconds : SOON;
    return leading;
}

static int connect_there(void *argument) {
    const struct connecting_to *to = argument;
    return connect(to->socket, (const struct sockaddr *)&to->address, to->length) == 0 ? 0 : errno;
}

/* Whether rules that the caller has bound itself by let it connect to there: where nothing
 * leaves by it. */
static bool lets_itself(const struct call *call) {
    if (!call->actor.domain_count) return true;
    struct connecting_to there = {
        datagrams_socket(call->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0),
        call->address, call->address_length};
    if (there.socket < 0) return false;
    int error = actor_do(&call->actor, connect_there, &there);
    close(there.socket);
    return error != EACCES && error != EPERM;
}

/* As it was before, so that it can be connected once more. */
static void disconnect(int file) {
    const struct sockaddr none = {.sa_family = AF_UNSPEC};
    (void)!connect(file, &none, sizeof none);
    (void)socket_option(file, SO_ERROR);
}

static int lead(struct call *call, const struct leading_caller *caller) {
    struct actor supervisor = nobody;
    struct connecting_to to;
    struct leading leading = leading_of(call, caller);
    union internet peer;
    supervisor.is_alike = true;
    if (find_peer(call->held, &peer)) return EISCONN;
    if (internet_read(&peer, &call->address, call->address_length) && !internet_port(&peer))
        return ECONNREFUSED; /* nobody listens there */
    if (!lets_itself(call) || !session_proxy_for(call->held, &to)) return EACCES;
    int error = connecting_reach(&supervisor, &to, caller->is_there, caller->about);
    if (error && error != EINPROGRESS) return error;
    error = open_tunnel(call, &leading);
    if (error == EINPROGRESS) return error;
    if (error && leads_there(call->held)) disconnect(call->held);
    else if (!leading.waits) (void)connect_there(&to); /* the kernel takes note that it is */
    return error;
}

/* Sockets that are being led. What is said to the proxy would go to the server, if it were
 * said once more. */
struct under_way {
    unsigned long long cookie; /* of the socket: no other ever has it */
    struct under_way *next;
};
static struct under_way *first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool begin(struct under_way *mine) {
    pthread_mutex_lock(&lock);
    const struct under_way *other = first;
    while (other && other->cookie != mine->cookie) other = other->next;
    mine->next = first;
    if (!other) first = mine;
    pthread_mutex_unlock(&lock);
    return !other;
}

static void end(const struct under_way *mine) {
    pthread_mutex_lock(&lock);
    struct under_way **at = &first;
    while (*at != mine) at = &(*at)->next;
    *at = mine->next;
    pthread_mutex_unlock(&lock);
}

int leading_do(struct call *call, const struct leading_caller *caller) {
    struct under_way mine = {0};
    socklen_t size = sizeof mine.cookie;
    if (getsockopt(call->held, SOL_SOCKET, SO_COOKIE, &mine.cookie, &size) != 0) return EACCES;
    if (!begin(&mine)) return EALREADY;
    int error = lead(call, caller);
    end(&mine);
    return error;
}
