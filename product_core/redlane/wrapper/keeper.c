/* Answers for the calls that the leash has told: none of them changes what is kept.
 *
 * A path is looked at as the caller gives it, and the kernel then reads it once more: a
 * thread that changes it meanwhile, or a link on its way, can have it mean another file.
 * Starts of programs are passed on (execs.c).
 *
 * To look at a file may take as long as its file system likes, which the session itself
 * may serve. So there is one thread more than there are calls, up to a bound. */
#define _GNU_SOURCE
#include "keeper.h"

#include "asked.h"
#include "bytes.h"
#include "complaint.h"
#include "filtered.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST_THREADS = 512, STACK = 256 * 1024 };
enum { WRITING = O_ACCMODE | O_CREAT | O_TRUNC, OTHERS_WRITE = S_IWGRP | S_IWOTH };

struct keeper {
    int listener, starts;
    struct kept *kept;
    const struct reporter *reporter;
    atomic_int idle, threads;
};

/* A call under way. */
struct call {
    struct keeper *keeper;
    const struct asked *asked;
    const struct seccomp_data *data;
    struct caller caller;
    char paths[2][PATH_MAX]; /* where it leads, to be told */
    size_t path_count;
};

/* ---- one path of a call ---- */

/* What an open says that it wants; an errno where that cannot be read. */
static int open_flags(const struct call *call, uint64_t *flags, uint64_t *resolve) {
    struct open_how how = {0};
    const __u64 *args = call->data->args;
    *resolve = 0;
    if (call->asked->flags != NONE) {
        *flags = args[(int)call->asked->flags];
    } else if (call->asked->directory == NONE) {
        *flags = O_CREAT | O_WRONLY | O_TRUNC; /* creat */
    } else {
        int error = caller_bytes(&call->caller, args[2], &how, sizeof how);
        if (error) return error;
        *flags = how.flags;
        *resolve = how.resolve;
    }
    return 0;
}

static bool is_followed(const struct asked *asked, uint64_t flags) {
    bool is_new = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
    switch (asked->following) {
    case FOLLOWS: return true;
    case STAYS: return false;
    case STAYS_IF_FLAGGED: return !(flags & AT_SYMLINK_NOFOLLOW);
    case FOLLOWS_IF_FLAGGED: return flags & AT_SYMLINK_FOLLOW;
    case BY_OPEN_FLAGS: return !(flags & O_NOFOLLOW) && !is_new;
    }
    return true;
}

/* Keeps the path of a spot, to be told. */
static void note_path(struct call *call, const struct spot *spot) {
    char link[64], *path = call->paths[call->path_count];
    int place = spot->parent >= 0 ? spot->parent : spot->object;
    snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    size_t end = length > 0 ? (size_t)length : 0;
    path[end] = '\0';
    if (*spot->name && spot->parent >= 0)
        snprintf(path + end, PATH_MAX - end, "%s%s", end == 1 ? "" : "/", spot->name);
    call->path_count++;
}

/* Whether there is nothing that the call could change. */
static bool is_vain(const struct asked *asked, const struct spot *spot) {
    if (asked->change == MAKES || asked->change == MAKES_DIRECTORY)
        return spot->object >= 0;
    return asked->change == REMOVES && spot->object < 0;
}

/* Rights by which nobody else can change it, and its owner can. */
static bool are_plain_rights(const struct call *call) {
    const struct asked *asked = call->asked;
    int mode = asked->path == NONE ? 1 : asked->path + 1;
    return strncmp(asked->name, "chmod", 5) == 0 || strncmp(asked->name, "fchmod", 6) == 0
               ? (call->data->args[mode] & (OTHERS_WRITE | S_IRWXU)) == S_IRWXU
               : false;
}

static enum touch touch_of(const struct call *call) {
    switch (call->asked->change) {
    case MAKES_DIRECTORY: return MADE;
    case REMOVES:
    case MOVES: return REPLACED;
    case ALTERS:
    case ALTERS_OPEN: return are_plain_rights(call) ? CHANGED : REPLACED;
    default: return CHANGED;
    }
}

/* EACCES for what is kept; an errno that the call is to fail with; 0: it may go on. */
static int judge_spot(struct call *call, struct spot *spot, enum touch touch) {
    bool is_touched = !is_vain(call->asked, spot) &&
                      kept_touched(call->keeper->kept, &call->caller, spot, touch);
    if (is_touched) note_path(call, spot);
    spot_leave(spot);
    return is_touched ? EACCES : 0;
}

static int judge_path(struct call *call, int directory, int path, uint64_t flags,
                      bool is_source) {
    const __u64 *args = call->data->args;
    int from = directory == NONE ? HERE : (int)args[directory];
    bool follow = is_source && is_followed(call->asked, flags);
    bool may_be_empty = call->asked->change != OPENS && (flags & AT_EMPTY_PATH);
    char text[PATH_MAX];
    struct spot spot;
    int error = caller_string(&call->caller, args[path], text, sizeof text);
    if (!error && !*text && is_source && may_be_empty)
        error = walk_open(&call->caller, from, &spot);
    else if (!error) error = walk_path(&call->caller, from, text, follow, &spot);
    if (error) return error;
    return judge_spot(call, &spot, touch_of(call));
}

/* ---- each kind of call ---- */

static int judge_open(struct call *call) {
    uint64_t flags, resolve;
    int error = open_flags(call, &flags, &resolve);
    if (error) return error;
    if (flags & O_PATH || !(flags & WRITING)) return 0;
    if (resolve & RESOLVE_IN_ROOT) return ENOSYS; /* programs do without */
    return judge_path(call, call->asked->directory, call->asked->path, flags, true);
}

static int judge_descriptor(struct call *call) {
    struct spot spot;
    int error = walk_open(&call->caller, (int)call->data->args[0], &spot);
    if (error) return error;
    return judge_spot(call, &spot, touch_of(call));
}

/* The kernel takes the length as an int. */
static int judge_bind(struct call *call, uint64_t at, int length) {
    struct sockaddr_un address = {0};
    struct spot spot;
    if (length <= (int)offsetof(struct sockaddr_un, sun_path)) return 0;
    size_t size = (size_t)length < sizeof address ? (size_t)length : sizeof address;
    int error = caller_bytes(&call->caller, at, &address, size);
    if (error) return error;
    if (address.sun_family != AF_UNIX || !*address.sun_path) return 0;
    char path[sizeof address.sun_path + 1] = "";
    memcpy(path, address.sun_path, sizeof address.sun_path);
    error = walk_path(&call->caller, HERE, path, false, &spot);
    if (error) return error;
    return judge_spot(call, &spot, CHANGED);
}

/* bind of a 32-bit program: its arguments are in its memory. */
static int judge_socketcall(struct call *call) {
    uint32_t arguments[3];
    int error = caller_bytes(&call->caller, call->data->args[1], arguments,
                             sizeof arguments);
    if (error) return error;
    return judge_bind(call, arguments[1], (int)arguments[2]);
}

static int judge_names(struct call *call) {
    const struct asked *asked = call->asked;
    uint64_t flags = asked->flags == NONE ? 0 : call->data->args[(int)asked->flags];
    int error = judge_path(call, asked->directory, asked->path, flags, true);
    if (error || asked->to_path == NONE) return error;
    return judge_path(call, asked->to_directory, asked->to_path, flags, false);
}

static int judge(struct call *call) {
    switch (call->asked->change) {
    case OPENS: return judge_open(call);
    case ALTERS_OPEN: return judge_descriptor(call);
    case BINDS: return judge_bind(call, call->data->args[1], (int)call->data->args[2]);
    case BINDS_BY_MEMORY: return judge_socketcall(call);
    default: return judge_names(call);
    }
}

/* ---- the threads ---- */

static void answer(const struct keeper *keeper, uint64_t id, int error) {
    struct seccomp_notif_resp answer = {
        .id = id,
        .error = -error,
        .flags = error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE,
    };
    ioctl(keeper->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

static void keep(struct keeper *keeper, const struct seccomp_notif *notification,
                 const struct asked *asked) {
    struct call call = {.keeper = keeper, .asked = asked, .data = &notification->data};
    pid_t thread = (pid_t)notification->pid;
    int error = caller_take(&call.caller, thread);
    if (error) {
        answer(keeper, notification->id, EACCES);
        return;
    }
    error = judge(&call);
    caller_leave(&call.caller);
    struct complaint complaint = {.file = -1};
    if (error == EACCES && call.path_count) {
        const char *paths[] = {call.paths[0], call.paths[1]};
        report_refused(keeper->reporter, thread, asked->name, paths, call.path_count);
        complaint = complaint_prepare(thread, asked->name, call.paths[0]);
    }
    answer(keeper, notification->id, error);
    complaint_tell(&complaint);
}

static void take(struct keeper *keeper, const struct seccomp_notif *notification) {
    const struct asked *asked = asked_find(&notification->data);
    pid_t thread = (pid_t)notification->pid;
    if (asked) keep(keeper, notification, asked);
    else if (!filtered_pass_on(keeper->starts, notification->id, thread))
        answer(keeper, notification->id, EACCES);
}

/* Waits for a call; false once there will be none. */
static bool receive(const struct keeper *keeper, struct seccomp_notif *notification) {
    struct pollfd listener = {.fd = keeper->listener};
    for (;;) {
        memset(notification, 0, sizeof *notification); /* or it is EINVAL */
        if (ioctl(keeper->listener, SECCOMP_IOCTL_NOTIF_RECV, notification) == 0)
            return true;
        if (errno != EINTR && errno != ENOENT) return false;
        if (poll(&listener, 1, 0) == 1) return false;
    }
}

static void add_thread(struct keeper *keeper);

static void *serve(void *argument) {
    struct keeper *keeper = argument;
    struct seccomp_notif notification;
    while (receive(keeper, &notification)) {
        if (atomic_fetch_sub(&keeper->idle, 1) == 1) add_thread(keeper);
        take(keeper, &notification);
        atomic_fetch_add(&keeper->idle, 1);
    }
    return NULL;
}

/* Signals are for the main thread; that a reader has gone is an error, and no signal. */
static void add_thread(struct keeper *keeper) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    if (atomic_load(&keeper->threads) >= MOST_THREADS) return;
    atomic_fetch_add(&keeper->threads, 1);
    atomic_fetch_add(&keeper->idle, 1);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, &attributes, serve, keeper) != 0) {
        atomic_fetch_sub(&keeper->threads, 1);
        atomic_fetch_sub(&keeper->idle, 1);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* The socket over which starts of programs are passed on. */
int keeper_start(int listener, struct kept *kept, const struct reporter *reporter) {
    int ends[2];
    struct keeper *keeper = allocate(sizeof *keeper);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        refuse("the session cannot be supervised: %s", strerror(errno));
    *keeper = (struct keeper){.listener = listener,
                              .starts = ends[0],
                              .kept = kept,
                              .reporter = reporter};
    add_thread(keeper);
    if (!atomic_load(&keeper->threads)) refuse("the session cannot be supervised: no thread");
    return ends[1];
}
