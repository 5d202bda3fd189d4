/* Connects a socket in its caller's place: what was judged is where it leads, whatever the
 * caller writes to its memory or puts in its socket's place meanwhile.
 *
 * Who listens sees that this process has connected. To Redlane's daemons that would be a
 * supervisor, which has more rights than its session: they are told first whom it is for,
 * on a socket of its own that then takes the place of the caller's.
 *
 * Names without a file are known to all. Landlock keeps the session from those of others,
 * and not this process: so it looks at who listens. */
#define _GNU_SOURCE
#include "connecting.h"

#include "file.h"
#include "proc.h"
#include "processes.h"
#include "sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD /* Linux 6.5 */
#define SO_PEERPIDFD 77
#endif

enum { SLICE = 50 * 1000, SECOND = 1000 * 1000 }; /* microseconds */

enum { LANDLOCK_CREATE = 444, ASK_VERSION = 1, SCOPES_FROM = 6 };

static const char *const *kept_paths;
static size_t kept_count;
static bool has_scopes; /* Landlock */

void connecting_prepare(const char *const *kept, size_t count) {
    kept_paths = kept;
    kept_count = count;
    has_scopes = syscall(LANDLOCK_CREATE, NULL, 0, ASK_VERSION) >= SCOPES_FROM;
}

/* By now: a daemon that starts makes its sockets anew. */
static bool is_own(const struct stat *about) {
    struct stat own;
    for (size_t i = 0; i < kept_count; i++)
        if (stat(kept_paths[i], &own) == 0 && own.st_dev == about->st_dev &&
            own.st_ino == about->st_ino)
            return true;
    return false;
}

/* ---- who listens ---- */

/* A file that is held, whatever its path leads to by now. */
static void set_file(struct connecting_to *connecting, int file) {
    struct sockaddr_un *address = (struct sockaddr_un *)&connecting->address;
    char link[FILE_LINK];
    file_link(file, link);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    strcpy(address->sun_path, link);
    connecting->length = sizeof *address;
}

static struct connecting_to connecting_of(const struct call *call, int file) {
    struct connecting_to connecting = {file, call->address, call->address_length};
    if (call->spot_count) set_file(&connecting, call->spots[0].object);
    return connecting;
}

/* Whether the session has who listens at the other end. Who began to may be dead by now, and
 * its number another's. */
static bool stays_inside(int file) {
    struct ucred whose = {0};
    int process = socket_option(file, SO_PEERPIDFD);
    socklen_t size = sizeof whose;
    struct pollfd end = {.fd = process, .events = POLLIN};
    bool is_inside = process >= 0 &&
                     getsockopt(file, SOL_SOCKET, SO_PEERCRED, &whose, &size) == 0 &&
                     proc_is_below_us(whose.pid) && poll(&end, 1, 0) == 0;
    if (process >= 0) close(process);
    return is_inside;
}

/* Whether the address is a name that is no path. */
static bool is_name(const struct call *call) {
    const struct sockaddr_un *address = (const struct sockaddr_un *)&call->address;
    return !call->spot_count && socket_option(call->held, SO_DOMAIN) == AF_UNIX &&
           address->sun_family == AF_UNIX && call->address_length <= sizeof *address &&
           call->address_length > offsetof(struct sockaddr_un, sun_path);
}

/* Whether Landlock would keep the caller from a name of others. A socket in a network of the
 * session's own finds none of those. */
static bool is_name_in_question(const struct call *call) {
    return has_scopes && is_name(call) && socket_is_in_our_network(call->held);
}

/* ---- the connection ---- */

static int connect_once(void *argument) {
    struct connecting_to *to = argument;
    return connect(to->socket, (struct sockaddr *)&to->address, to->length) == 0 ? 0 : errno;
}

static long long microseconds(struct timeval time) {
    return (long long)time.tv_sec * SECOND + time.tv_usec;
}

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (long long)time.tv_sec * SECOND + time.tv_nsec / 1000;
}

static bool goes_on(int error) {
    return error == EINPROGRESS || error == EALREADY || error == EAGAIN || error == EINTR;
}

/* As long as the caller would, who may be sent a signal meanwhile: the kernel waits a little
 * at a time. */
static int connect_by_slices(const struct actor *actor, struct connecting_to *to,
                             bool (*is_wanted)(const void *), const void *about) {
    struct timeval whole = {0}, slice = {.tv_usec = SLICE};
    socklen_t size = sizeof whole;
    getsockopt(to->socket, SOL_SOCKET, SO_SNDTIMEO, &whole, &size);
    long long until = microseconds(whole) ? now() + microseconds(whole) : 0, left = SLICE;
    int first = 0, error;
    do {
        if (until) left = until - now();
        if (left > 0 && left < SLICE) slice.tv_usec = (suseconds_t)left;
        setsockopt(to->socket, SOL_SOCKET, SO_SNDTIMEO, &slice, sizeof slice);
        error = actor_do(actor, connect_once, to);
        if (!first) first = error;
        if (until) left = until - now();
    } while (goes_on(error) && left > 0 && is_wanted(about));
    setsockopt(to->socket, SOL_SOCKET, SO_SNDTIMEO, &whole, sizeof whole);
    if (!goes_on(error)) return error;
    if (left <= 0) return first;
    return until ? CONNECTING_ENDED : EINTR;
}

int connecting_reach(const struct actor *actor, struct connecting_to *to,
                     bool (*is_wanted)(const void *), const void *about) {
    if (fcntl(to->socket, F_GETFL) & O_NONBLOCK) return actor_do(actor, connect_once, to);
    return connect_by_slices(actor, to, is_wanted, about);
}

/* ---- another socket in place of the caller's ---- */

static void copy_option(int from, int to, int option) {
    struct timeval value = {0}; /* or an int */
    socklen_t size = sizeof value;
    if (getsockopt(from, SOL_SOCKET, option, &value, &size) == 0)
        setsockopt(to, SOL_SOCKET, option, &value, size);
}

static int another(const struct call *call, int kind) {
    static const int options[] = {SO_SNDTIMEO, SO_RCVTIMEO, SO_PASSCRED};
    int file = socket(AF_UNIX, kind | SOCK_CLOEXEC, 0);
    if (file < 0) return -1;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        copy_option(call->held, file, options[i]);
    fcntl(file, F_SETFL, fcntl(call->held, F_GETFL));
    return file;
}

/* What a socket fails with that is connected, or listens. */
static int used_error(const struct call *call) {
    struct sockaddr_storage other;
    socklen_t size = sizeof other;
    if (socket_option(call->held, SO_ACCEPTCONN) == 1) return EINVAL;
    return getpeername(call->held, (struct sockaddr *)&other, &size) == 0 ? EISCONN : 0;
}

/* Of datagrams the kernel tells nobody who takes them. What is not connected to the session
 * has not been in the caller's hands. */
static int connect_inside(struct call *call, bool (*is_wanted)(const void *),
                          const void *about) {
    int kind = socket_option(call->held, SO_TYPE), error = used_error(call);
    if (kind != SOCK_STREAM && kind != SOCK_SEQPACKET) return CONNECTING_OUTSIDE;
    if (error) return error;
    int file = another(call, kind);
    if (file < 0) return errno;
    struct connecting_to to = connecting_of(call, file);
    error = connecting_reach(&call->actor, &to, is_wanted, about);
    if (!error && !stays_inside(file)) error = CONNECTING_OUTSIDE;
    if (error) close(file);
    else call->file = file;
    return error;
}

/* The first that is sent: for whom this process has connected. */
static int tell_whose(int file, pid_t thread) {
    char line[48];
    int length = snprintf(line, sizeof line, "REDLANE FOR %ld\n", process_of(thread));
    return send(file, line, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT) == length ? 0 : errno;
}

/* To a daemon, as the supervisor that this process is. */
static int connect_own(struct call *call, bool (*is_wanted)(const void *), const void *about) {
    struct actor supervisor = nobody;
    int error = used_error(call);
    supervisor.is_alike = true;
    if (socket_option(call->held, SO_TYPE) != SOCK_STREAM) return EPROTOTYPE;
    if (error) return error;
    int file = another(call, SOCK_STREAM);
    if (file < 0) return errno;
    struct connecting_to to = connecting_of(call, file);
    error = connecting_reach(&supervisor, &to, is_wanted, about);
    if (!error) error = tell_whose(file, call->caller.thread);
    if (error) close(file);
    else call->file = file;
    return error;
}

/* The kernel gives a socket of that family a number as it connects: its process's. */
static void number_as_caller(const struct call *call) {
    struct sockaddr_nl address = {0};
    socklen_t size = sizeof address;
    if (socket_option(call->held, SO_DOMAIN) != AF_NETLINK ||
        getsockname(call->held, (struct sockaddr *)&address, &size) != 0 || address.nl_pid)
        return;
    address.nl_pid = (unsigned)process_of(call->caller.thread);
    (void)!bind(call->held, (const struct sockaddr *)&address, sizeof address);
}

int connecting_do(struct call *call, bool (*is_wanted)(const void *), const void *about) {
    const struct spot *spot = &call->spots[0];
    if (call->spot_count && spot->object < 0) return ENOENT;
    if (call->spot_count && *spot->name && *spot->end && !S_ISDIR(spot->about.st_mode))
        return ENOTDIR;
    if (call->spot_count && is_own(&spot->about))
        return connect_own(call, is_wanted, about);
    if (call->stays_inside) return connect_inside(call, is_wanted, about);
    if (is_name_in_question(call)) {
        int error = connect_inside(call, is_wanted, about);
        return error == CONNECTING_OUTSIDE ? EPERM : error;
    }
    number_as_caller(call);
    struct connecting_to to = connecting_of(call, call->held);
    return connecting_reach(&call->actor, &to, is_wanted, about);
}
