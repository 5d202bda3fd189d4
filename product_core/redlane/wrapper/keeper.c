/* Answers for the calls that the leash has told: none of them changes what is kept, or
 * reads what is hidden.
 *
 * Each is done here, in its caller's place, on what was looked at: there is nothing in
 * between that a thread of the caller could change. Starts of programs are passed on
 * (execs.c).
 */
#define _GNU_SOURCE
#include "keeper.h"

#include "apart.h"
#include "binding.h"
#include "bytes.h"
#include "bounds.h"
#include "complaint.h"
#include "connecting.h"
#include "crew.h"
#include "domains.h"
#include "doing.h"
#include "egress.h"
#include "file.h"
#include "filtered.h"
#include "leading.h"
#include "message.h"
#include "notified.h"
#include "opening.h"
#include "peeking.h"
#include "pipes.h"
#include "proc.h"
#include "processes.h"
#include "reading.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_LOOKS = 8, PATIENCE_SECONDS = 5 };
enum { FEW_CONNECTIONS = 8, MOST_CONNECTIONS = 4096 };

#define OVERLAY "overlay"

struct keeper {
    int listener, starts;
    const struct bounds *bounds;
    const struct daemon *daemon;
    int most_waiting; /* at one end of pipes */
    atomic_int waiting[2], connections;
    pthread_rwlock_t names;
};

/* A call that waits for its answer. */
struct asking {
    const struct keeper *keeper;
    struct notified call;
};

static bool is_there(const void *argument) {
    const struct asking *asking = argument;
    return notified_is_there(&asking->call);
}

/* Whether it still does, and no signal is there for it: those that end it do so at once,
 * and the kernel holds others back. */
static bool is_wanted(const void *argument) {
    const struct asking *asking = argument;
    return is_there(asking) && !process_is_signalled(asking->call.thread);
}

static struct asking asking_of(const struct keeper *keeper, const struct seccomp_notif *call) {
    return (struct asking){keeper, {keeper->listener, call->id, (pid_t)call->pid}};
}

static void respond(const struct asking *asking, int value, int error) {
    notified_respond(&asking->call, value, error);
}

static int hand_over(const struct asking *asking, int file, uint64_t flags, int place) {
    return notified_hand_over(&asking->call, file, flags, place);
}

/* A third of the threads each may wait for others to open the one end of a pipe or the other:
 * these will, by the rest. */
static int open_file(struct keeper *keeper, struct call *call, const struct asking *asking) {
    const struct spot *spot = &call->spots[0];
    bool is_pipe = spot->object >= 0 && S_ISFIFO(spot->about.st_mode);
    atomic_int *waiting = &keeper->waiting[call_reads(call)];
    int error = ENFILE;
    if (!is_pipe) return opening_do(call, is_wanted, asking);
    if (atomic_fetch_add(waiting, 1) < keeper->most_waiting)
        error = opening_do(call, is_wanted, asking);
    atomic_fetch_sub(waiting, 1);
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
    /* What was read may have been another's. */
    if (!notified_is_there(&asking->call)) return EINTR;
    if (call->asked->change == OPENS) return open_file(keeper, call, asking);
    if (call->asked->deed == BIND) return binding_do(call); /* they are held */
    if (call->leaves) {
        const struct leading_caller caller = {is_there, is_wanted, asking};
        return leading_do(call, &caller);
    }
    if (call->asked->deed == CONNECT) return connecting_do(call, is_wanted, asking);
    if (pthread_rwlock_timedrdlock(&keeper->names, &until) != 0) return EBUSY;
    int error = doing_do(call);
    pthread_rwlock_unlock(&keeper->names);
    return error;
}

/* Where a spot is, to be told. */
static void show_spot(const struct spot *spot, char path[PATH_MAX]) {
    file_path(spot->parent >= 0 ? spot->parent : spot->object, path);
    size_t end = strlen(path);
    if (*spot->name && spot->parent >= 0)
        snprintf(path + end, PATH_MAX - end, "%s%s", end == 1 ? "" : "/", spot->name);
}

static void refuse_call(const struct asking *asking, const struct call *call,
                        const struct judgement *judgement) {
    char path[PATH_MAX];
    struct refusal refusal = {judgement->rule, asking->call.thread, call->asked->name, path};
    if (!call->spot_count) egress_show(&call->address, path, sizeof path);
    else show_spot(&call->spots[judgement->which], path);
    if (judgement->rule != &call->led.rule) /* the proxy has told of that */
        report_refused(asking->keeper->daemon, &refusal);
    struct complaint complaint = complaint_prepare(&refusal);
    respond(asking, 0, judgement->rule->error);
    complaint_tell(&complaint);
}

/* What a call fails with that a signal has ended. The kernel begins it anew where its handler
 * restarts calls: that is known by a number that no program ever sees, since the caller looks
 * after the signal before it goes on. */
static int ended_error(const struct asking *asking, int error) {
    enum { ERESTARTSYS = 512 };
    if (error == CONNECTING_ENDED) return EINTR;
    if (error != EINTR) return error;
    return process_is_about_to_handle(asking->call.thread) ? ERESTARTSYS : EINTR;
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

/* Opens what lies open before everybody; false: the call has to be looked at. */
static bool read_at_once(const struct asking *asking, const struct seccomp_notif *notification,
                         const struct asked *asked) {
    const struct seccomp_data *data = &notification->data;
    const struct hidden *hidden = asking->keeper->bounds->hidden;
    int file;
    if (!hidden || !reading_is(asked, data)) return false;
    int error = reading_open(hidden, asked, data, asking->call.thread, &file);
    if (error == READING_UNSURE) return false;
    int number = error ? -error : hand_over(asking, file, data->args[(int)asked->flags], NONE);
    if (!error) close(file); /* before the caller goes on, as ever */
    respond(asking, number < 0 ? 0 : number, number < 0 ? -number : 0);
    return true;
}

static void keep(struct keeper *keeper, const struct seccomp_notif *notification,
                 const struct asked *asked) {
    struct asking asking = asking_of(keeper, notification);
    struct call call;
    bool again = false;
    if (read_at_once(&asking, notification, asked)) return;
    for (int looks = 0; looks == 0 || (again && looks < MOST_LOOKS); looks++) {
        struct judgement judgement = {0};
        int error = hold_names(keeper, asked);
        bool is_held = !error && asked->deed == BIND;
        if (!error) error = call_take(&call, asked, &notification->data, asking.call.thread);
        else call_clear(&call);
        if (!error) error = bounds_judge(&call, keeper->bounds, &judgement);
        if (!error) error = act(keeper, &call, &asking);
        if (error == CONNECTING_OUTSIDE) judgement.rule = &unreachable_rule;
        if (error == LEADING_REFUSED) judgement.rule = &call.led.rule;
        error = ended_error(&asking, error);
        if (is_held) pthread_rwlock_unlock(&keeper->names);
        again = has_changed(&call, error) && looks + 1 < MOST_LOOKS;
        if (judgement.rule) refuse_call(&asking, &call, &judgement);
        int place = asked->deed == CONNECT ? call.socket : NONE;
        int number = call.file < 0 ? -error : hand_over(&asking, call.file, call.flags, place);
        call_leave(&call); /* before the caller goes on: it may be what keeps it busy */
        if (!judgement.rule && !again)
            respond(&asking, number < 0 ? 0 : number, number < 0 ? -number : 0);
    }
}

/* A connection, in a thread of its own. */
struct apart {
    struct keeper *keeper;
    struct seccomp_notif notification;
    const struct asked *asked;
};

static void *keep_apart(void *about) {
    struct apart *apart = about;
    actor_prepare_thread();
    keep(apart->keeper, &apart->notification, apart->asked);
    atomic_fetch_sub(&apart->keeper->connections, 1);
    free(apart);
    return NULL;
}

/* Connections may each take minutes, and nobody else is to wait for them: a few are made by
 * the threads that do everything else. */
static void keep_connection(struct keeper *keeper, const struct seccomp_notif *notification,
                            const struct asked *asked) {
    const struct asking asking = asking_of(keeper, notification);
    int before = atomic_fetch_add(&keeper->connections, 1);
    if (before < FEW_CONNECTIONS) {
        keep(keeper, notification, asked);
    } else {
        struct apart *apart = allocate(sizeof *apart);
        *apart = (struct apart){keeper, *notification, asked};
        if (before < MOST_CONNECTIONS && crew_add(keep_apart, apart)) return;
        free(apart);
        respond(&asking, 0, EAGAIN);
    }
    atomic_fetch_sub(&keeper->connections, 1);
}

/* The kernel does what the caller asks for; or it fails. */
static void let_go_on(const struct asking *asking, int error) {
    if (error) respond(asking, 0, error);
    else notified_let_go_on(&asking->call);
}

/* The caller is held by its own rules from then on, and so is what is done for it. */
static void let_restrict(const struct asking *asking, const struct seccomp_data *data,
                         enum deed deed) {
    int number = (int)data->args[0];
    pid_t thread = asking->call.thread;
    int error = deed == ADD_RULE ? domains_check(thread, number)
                                 : domains_add(thread, number, (unsigned)data->args[1]);
    let_go_on(asking, error);
}

/* Who makes another the child of its own parent is refused it by the filter, which asks
 * instead where the child departs too. */
static void let_depart(const struct asking *asking, const struct seccomp_data *data,
                       enum deed deed) {
    apart_note();
    let_go_on(asking, deed == CLONE && data->args[0] & CLONE_PARENT ? EPERM : 0);
}

static void let_become(const struct asking *asking) {
    actor_note();
    let_go_on(asking, 0);
}

static void let_look_into(const struct asking *asking, const struct seccomp_data *data,
                          const struct asked *asked) {
    pid_t thread = asking->call.thread;
    int error = peeking_take(thread, asked, data);
    struct refusal refusal = {&hidden_rule, thread, asked->name, "another process"};
    if (error) report_refused(asking->keeper->daemon, &refusal);
    let_go_on(asking, error);
}

/* What an overlay has below may be anything: none is mounted. Where a thread exchanges the
 * word meanwhile there is one, in which nothing is changed. */
static void let_mount(const struct asking *asking, const struct seccomp_data *data,
                      const struct asked *asked) {
    char kind[sizeof OVERLAY];
    const struct caller caller = {.thread = asking->call.thread};
    uint64_t at = data->args[(int)asked->path];
    bool is_overlay = at && caller_string(&caller, at, kind, sizeof kind) == 0 &&
                      strcmp(kind, OVERLAY) == 0;
    struct refusal refusal = {&kept_rule, asking->call.thread, asked->name, OVERLAY};
    apart_note();
    if (is_overlay) report_refused(asking->keeper->daemon, &refusal);
    let_go_on(asking, is_overlay ? kept_rule.error : 0);
}

/* The caller gets one that was made for it. */
static void make_socket(const struct asking *asking, const struct seccomp_data *data) {
    int file = egress_socket(asking->call.thread, data);
    if (file == EGRESS_APART) {
        let_go_on(asking, 0);
        return;
    }
    int number = file < 0 ? file : hand_over(asking, file, data->args[1], NONE);
    if (file >= 0) close(file);
    respond(asking, number < 0 ? 0 : number, number < 0 ? -number : 0);
}

static void take(void *about, const void *call) {
    struct keeper *keeper = about;
    const struct seccomp_notif *notification = call;
    const struct seccomp_data *data = &notification->data;
    const struct asked *asked = asked_find(data);
    const struct asking asking = asking_of(keeper, notification);
    if (!asked) {
        if (!filtered_pass_on(keeper->starts, notification->id, asking.call.thread))
            respond(&asking, 0, EACCES);
        return;
    }
    switch (asked->change) {
    case RESTRICTS: let_restrict(&asking, data, asked->deed); break;
    case MOUNTS: let_mount(&asking, data, asked); break;
    case DEPARTS: let_depart(&asking, data, asked->deed); break;
    case BECOMES: let_become(&asking); break;
    case LOOKS_INTO: let_look_into(&asking, data, asked); break;
    case MAKES_SOCKET: make_socket(&asking, data); break;
    case CONNECTS:
    case CONNECTS_BY_MEMORY: keep_connection(keeper, notification, asked); break;
    default: keep(keeper, notification, asked);
    }
}

/* Waits for a call; false once there will be none. */
static bool receive(void *about, void *call) {
    const struct keeper *keeper = about;
    struct pollfd listener = {.fd = keeper->listener};
    for (;;) {
        memset(call, 0, sizeof(struct seccomp_notif)); /* or it is EINVAL */
        if (ioctl(keeper->listener, SECCOMP_IOCTL_NOTIF_RECV, call) == 0) return true;
        if (errno != EINTR && errno != ENOENT) return false;
        if (poll(&listener, 1, 0) == 1 && !(listener.revents & POLLIN)) return false;
    }
}

static bool is_more(void *about) {
    const struct keeper *keeper = about;
    struct pollfd listener = {.fd = keeper->listener, .events = POLLIN};
    return poll(&listener, 1, 0) == 1 && listener.revents & POLLIN;
}

/* The socket over which starts of programs are passed on. */
int keeper_start(int listener, const struct bounds *bounds, const struct daemon *daemon,
                 const char *owners) {
    static struct crew_work work = {NULL, receive, is_more, take, sizeof(struct seccomp_notif)};
    int ends[2];
    struct keeper *keeper = allocate(sizeof *keeper);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        refuse("the session cannot be supervised: %s", strerror(errno));
    *keeper = (struct keeper){.listener = listener,
                              .starts = ends[0],
                              .bounds = bounds,
                              .daemon = daemon,
                              .most_waiting = crew_most() / 3};
    pthread_rwlock_init(&keeper->names, NULL);
    if (bounds->hidden) {
        apart_is_told();
        actor_is_told();
    }
    actor_prepare();
    proc_prepare(owners);
    walk_prepare();
    pipes_prepare();
    work.about = keeper;
    crew_start(&work);
    return ends[1];
}
