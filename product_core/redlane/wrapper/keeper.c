/* Answers for the calls that the leash has told: none of them changes what is kept.
 *
 * Each is done here, in its caller's place, on what was looked at: there is nothing in
 * between that a thread of the caller could change. Starts of programs are passed on
 * (execs.c).
 *
 * To look at a file may take as long as its file system likes, which the session itself
 * may serve. So there is one thread more than there are calls, up to a bound. */
#define _GNU_SOURCE
#include "keeper.h"

#include "binding.h"
#include "bytes.h"
#include "bounds.h"
#include "complaint.h"
#include "domains.h"
#include "doing.h"
#include "filtered.h"
#include "message.h"
#include "opening.h"
#include "proc.h"
#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* So many threads at most, as there are descriptors for; some are left for what is no
 * call. */
enum {
    MOST_THREADS = 512,
    FEWEST_THREADS = 8,
    DESCRIPTORS = 32, /* of a call */
    DESCRIPTORS_LEFT = 512,
    STACK = 512 * 1024,
    MOST_LOOKS = 8,
    PATIENCE_SECONDS = 5,
};

#define OVERLAY "overlay"

struct keeper {
    int listener, starts;
    const struct bounds *bounds;
    const struct daemon *daemon;
    int most_threads;
    atomic_int idle, threads, waiting;
    pthread_rwlock_t names;
};

/* A call that waits for its answer. */
struct asking {
    const struct keeper *keeper;
    uint64_t id;
    pid_t thread;
};

/* Whether it still does, and no signal is there for it: those that end it do so at once,
 * and the kernel holds others back. */
static bool is_wanted(const void *argument) {
    const struct asking *asking = argument;
    return ioctl(asking->keeper->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &asking->id) == 0 &&
           !process_is_signalled(asking->thread);
}

static bool is_asking(const struct asking *asking) {
    return ioctl(asking->keeper->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &asking->id) == 0;
}

/* ---- the threads ---- */

static void respond(const struct asking *asking, int value, int error) {
    struct seccomp_notif_resp answer = {
        .id = asking->id, .val = value, .error = -error};
    while (ioctl(asking->keeper->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) != 0 &&
           errno == EINTR)
        continue;
}

/* The number that the caller has it by, or an errno below zero. Two steps: where one call
 * does both and this process is frozen in the middle of it, the kernel answers the caller
 * without the file. */
static int hand_over(const struct asking *asking, const struct call *call) {
    struct seccomp_notif_addfd handed = {.id = asking->id,
                                         .srcfd = (uint32_t)call->file,
                                         .newfd_flags = call->flags & O_CLOEXEC};
    int number;
    do number = ioctl(asking->keeper->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &handed);
    while (number < 0 && errno == EINTR);
    return number < 0 ? -errno : number;
}

/* Half of the threads may wait for others to open a pipe: they will, by the other half. */
static int open_file(struct keeper *keeper, struct call *call, const struct asking *asking) {
    const struct spot *spot = &call->spots[0];
    bool is_pipe = spot->object >= 0 && S_ISFIFO(spot->about.st_mode);
    int error = ENFILE;
    if (!is_pipe) return opening_do(call, is_wanted, asking);
    if (atomic_fetch_add(&keeper->waiting, 1) < keeper->most_threads / 2)
        error = opening_do(call, is_wanted, asking);
    atomic_fetch_sub(&keeper->waiting, 1);
    return error;
}

static struct timespec in_some_seconds(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_SECONDS;
    return until;
}

/* Names are changed by many at once, and by none while a socket is bound to a path. Its
 * file system may be one that waits for a call of the session. */
static int act(struct keeper *keeper, struct call *call, const struct asking *asking) {
    const struct timespec until = in_some_seconds();
    if (!is_asking(asking)) return EINTR; /* what was read may have been another's */
    if (call->asked->change == OPENS) return open_file(keeper, call, asking);
    if (call->asked->deed == BIND) return binding_do(call); /* they are held */
    if (pthread_rwlock_timedrdlock(&keeper->names, &until) != 0) return EBUSY;
    int error = doing_do(call);
    pthread_rwlock_unlock(&keeper->names);
    return error;
}

/* Where a spot is, to be told. */
static void show_spot(const struct spot *spot, char *path, size_t size) {
    char link[64];
    int place = spot->parent >= 0 ? spot->parent : spot->object;
    snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    ssize_t length = readlink(link, path, size - 1);
    size_t end = length > 0 ? (size_t)length : 0;
    path[end] = '\0';
    if (*spot->name && spot->parent >= 0)
        snprintf(path + end, size - end, "%s%s", end == 1 ? "" : "/", spot->name);
}

static void refuse_call(const struct asking *asking, const struct call *call,
                        const struct judgement *judgement) {
    char path[PATH_MAX];
    struct refusal refusal = {judgement->rule, asking->thread, call->asked->name, path};
    show_spot(&call->spots[judgement->which], path, sizeof path);
    report_refused(asking->keeper->daemon, &refusal);
    struct complaint complaint = complaint_prepare(&refusal);
    respond(asking, 0, judgement->rule->error);
    complaint_tell(&complaint);
}

/* Whether a name has become a link, or a mount lies there, since it was looked at. */
static bool has_changed(const struct call *call, int error) {
    return call->asked && call->asked->change == OPENS &&
           (error == EXDEV || (error == ELOOP && !(call->flags & O_NOFOLLOW)));
}

/* Until a socket is bound its path leads where it led when it was looked at. */
static int hold_names(struct keeper *keeper, const struct asked *asked) {
    const struct timespec until = in_some_seconds();
    if (asked->deed != BIND) return 0;
    return pthread_rwlock_timedwrlock(&keeper->names, &until) == 0 ? 0 : EBUSY;
}

static void keep(struct keeper *keeper, const struct seccomp_notif *notification,
                 const struct asked *asked) {
    struct asking asking = {keeper, notification->id, (pid_t)notification->pid};
    struct call call;
    bool again = false;
    for (int looks = 0; looks == 0 || (again && looks < MOST_LOOKS); looks++) {
        struct judgement judgement = {0};
        int error = hold_names(keeper, asked);
        bool is_held = !error && asked->deed == BIND;
        if (!error) error = call_take(&call, asked, &notification->data, asking.thread);
        else call_clear(&call);
        if (!error) error = bounds_judge(&call, keeper->bounds, &judgement);
        if (!error) error = act(keeper, &call, &asking);
        if (is_held) pthread_rwlock_unlock(&keeper->names);
        again = has_changed(&call, error) && looks + 1 < MOST_LOOKS;
        if (judgement.rule) refuse_call(&asking, &call, &judgement);
        int number = call.file < 0 ? -error : hand_over(&asking, &call);
        call_leave(&call); /* before the caller goes on: it may be what keeps it busy */
        if (!judgement.rule && !again)
            respond(&asking, number < 0 ? 0 : number, number < 0 ? -number : 0);
    }
}

/* The caller is held by its own rules from then on, and so is what is done for it. */
static void let_restrict(const struct asking *asking, const struct seccomp_data *data,
                         enum deed deed) {
    struct seccomp_notif_resp answer = {.id = asking->id,
                                        .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    int number = (int)data->args[0];
    int error = deed == ADD_RULE ? domains_check(asking->thread, number)
                                 : domains_add(asking->thread, number, (unsigned)data->args[1]);
    if (error) respond(asking, 0, error);
    else ioctl(asking->keeper->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* What an overlay has below may be anything: none is mounted. Where a thread exchanges the
 * word meanwhile there is one, in which nothing is changed. */
static void let_mount(const struct asking *asking, const struct seccomp_data *data,
                      const struct asked *asked) {
    struct seccomp_notif_resp answer = {.id = asking->id,
                                        .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    char kind[sizeof OVERLAY];
    const struct caller caller = {.thread = asking->thread};
    uint64_t at = data->args[(int)asked->path];
    bool is_overlay = caller_string(&caller, at, kind, sizeof kind) == 0 &&
                      strcmp(kind, OVERLAY) == 0;
    struct refusal refusal = {&kept_rule, asking->thread, asked->name, OVERLAY};
    if (!is_overlay) {
        ioctl(asking->keeper->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
        return;
    }
    report_refused(asking->keeper->daemon, &refusal);
    respond(asking, 0, kept_rule.error);
}

static void take(struct keeper *keeper, const struct seccomp_notif *notification) {
    const struct asked *asked = asked_find(&notification->data);
    pid_t thread = (pid_t)notification->pid;
    if (asked && asked->change == RESTRICTS)
        let_restrict(&(struct asking){keeper, notification->id, thread}, &notification->data,
                     asked->deed);
    else if (asked && asked->change == MOUNTS)
        let_mount(&(struct asking){keeper, notification->id, thread}, &notification->data, asked);
    else if (asked) keep(keeper, notification, asked);
    else if (!filtered_pass_on(keeper->starts, notification->id, thread))
        respond(&(struct asking){keeper, notification->id, thread}, 0, EACCES);
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
    actor_prepare_thread();
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
    if (atomic_load(&keeper->threads) >= keeper->most_threads) return;
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

static int most_threads(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < DESCRIPTORS_LEFT)
        return FEWEST_THREADS;
    rlim_t most = (limit.rlim_cur - DESCRIPTORS_LEFT) / DESCRIPTORS;
    if (most > MOST_THREADS) return MOST_THREADS;
    return most < FEWEST_THREADS ? FEWEST_THREADS : (int)most;
}

/* The socket over which starts of programs are passed on. */
int keeper_start(int listener, const struct bounds *bounds, const struct daemon *daemon) {
    int ends[2];
    struct keeper *keeper = allocate(sizeof *keeper);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        refuse("the session cannot be supervised: %s", strerror(errno));
    *keeper = (struct keeper){.listener = listener,
                              .starts = ends[0],
                              .bounds = bounds,
                              .daemon = daemon,
                              .most_threads = most_threads()};
    pthread_rwlock_init(&keeper->names, NULL);
    actor_prepare();
    proc_prepare();
    walk_prepare();
    /* Some at once: there may be no room for more processes later. */
    for (int i = 0; i < FEWEST_THREADS; i++) add_thread(keeper);
    if (!atomic_load(&keeper->threads)) refuse("the session cannot be supervised: no thread");
    return ends[1];
}
