/* redlane-run: the process at the top of a session.
 *
 *     redlane-run --socket PATH [--session ID] [OPTION VALUE]... -- COMMAND...
 *
 * It is an ancestor of everything that the agent starts, orphans included, and it is by
 * this process that the daemon and the shell wrapper tell who is in which session. It
 * passes signals and job control on, has every shell be the guarded one (execs.c), and
 * ends with the agent's status. */
#define _GNU_SOURCE
#include "bytes.h"
#include "connecting.h"
#include "datagrams.h"
#include "dns.h"
#include "execs.h"
#include "filtered.h"
#include "given.h"
#include "keeper.h"
#include "locate.h"
#include "message.h"
#include "peeking.h"
#include "processes.h"
#include "report.h"
#include "session_proxy.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_MILLISECONDS = 500, KILL_MILLISECONDS = 5000, LOOK_MILLISECONDS = 20, FILES = 65536 };

struct session {
    struct given given;
    struct filtered *filtered; /* NULL for one that nothing binds */
    struct execs *execs;       /* the same */
    struct bounds bounds;
    struct daemon daemon;
    struct rlimit files;       /* the agent's own limit of them */
    bool is_supervised;        /* by a supervisor of system calls */
    int signals;
    pid_t agent;
    int status; /* of the agent, as wait(2) gives it */
    bool ended;
};

static void take_filter(struct session *session) {
    char *end;
    long number = strtol(session->given.filter, &end, 10);
    if (number <= STDERR_FILENO || number > INT_MAX || *end)
        fail(STATUS_USAGE, PRODUCT, "--filter: %s: no descriptor", session->given.filter);
    session->filtered = filtered_receive((int)number);
    session->is_supervised = true;
}

/* Whether this process is in a session already, and is bound by that one's filter: a
 * second one cannot ask. */
static bool is_inside(void) {
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0 && session_supervisor() != 0;
}

/* This process has files open for the calls of all. */
static void raise_files(struct session *session) {
    struct rlimit most;
    if (getrlimit(RLIMIT_NOFILE, &session->files) != 0)
        refuse("the session cannot be supervised: %s", strerror(errno));
    most = session->files;
    most.rlim_cur = most.rlim_max < FILES ? most.rlim_max : FILES;
    if (most.rlim_cur > session->files.rlim_cur) setrlimit(RLIMIT_NOFILE, &most);
}

/* Prepares what binds the session. */
static void bind_session(struct session *session) {
    if (session->given.filter) {
        take_filter(session);
    } else if (session->given.is_bound && !is_inside()) {
        if (session->given.asks.egress) datagrams_prepare();
        session->filtered = filtered_leash(session->given.asks);
    }
    if (session->filtered)
        session->execs =
            execs_prepare(session->given.socket, session->given.is_judged, session->given.owners,
                          !session->is_supervised);
}

/* The signals that this process takes one at a time; its children do not. */
static sigset_t handled(const struct session *session) {
    static const int numbers[] = {SIGCHLD, SIGTERM, SIGHUP,  SIGINT,
                                  SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&set, numbers[i]);
    if (session->is_supervised) {
        sigaddset(&set, SIGTTIN); /* passed on by a supervisor that the */
        sigaddset(&set, SIGTTOU); /* terminal must not stop by itself */
    }
    return set;
}

static _Noreturn void become_agent(const struct session *session, pid_t supervisor) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) _exit(STATUS_REFUSED);
    if (session->given.asks.places || session->given.asks.reads) leash_leave_no_core();
    setrlimit(RLIMIT_NOFILE, &session->files);
    if (session->filtered) filtered_load(session->filtered);
    execvp(session->given.command[0], session->given.command);
    int status = errno == ENOENT ? STATUS_NOT_FOUND : STATUS_REFUSED;
    fail(status, PRODUCT, "%s: %s", session->given.command[0], strerror(errno));
}

static void start_agent(struct session *session, const sigset_t *set) {
    sigset_t before;
    struct sigaction child, standard = {.sa_handler = SIG_DFL};
    pid_t supervisor = getpid();
    sigprocmask(SIG_BLOCK, set, &before);
    sigaction(SIGCHLD, &standard, &child);
    session->agent = session->filtered ? filtered_fork() : fork();
    if (session->agent < 0) refuse("cannot start a process: %s", strerror(errno));
    if (session->agent > 0) return;
    sigaction(SIGCHLD, &child, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    become_agent(session, supervisor);
}

/* Lets the agent go on when its system calls are answered. With a supervisor of its own
 * this process leaves the terminal to it: a signal for the whole group of the agent must
 * not reach both. */
static void hand_over(struct session *session) {
    if (session->is_supervised && setsid() < 0)
        refuse("the session cannot be supervised: %s", strerror(errno));
    int listener = filtered_hand_over(session->filtered, session->agent,
                                      execs_token(session->execs));
    execs_serve(session->execs, listener);
    if (listener < 0 || session->is_supervised) return;
    if (!session->given.asks.files && !session->given.asks.reads) return;
    session->bounds.egress = session->given.asks.egress;
    session->bounds.kept = kept_prepare(session->given.kept, session->given.kept_count);
    connecting_prepare(session->given.kept, session->given.kept_count);
    if (session->given.is_placed)
        session->bounds.places = places_prepare(session->given.places, &session->daemon);
    if (session->given.asks.reads) {
        session->bounds.hidden = hidden_prepare(session->given.hidden, process_filters(session->agent));
        peeking_prepare(session->given.owners, execs_guarded_shell(session->execs));
    }
    if (session->given.asks.egress) {
        session_proxy_prepare();
        dns_serve(&session->daemon);
    }
    filtered_take_from(session->filtered,
                       keeper_start(listener, &session->bounds, &session->daemon,
                                    session->given.owners));
}

/* The terminal has stopped the agent: so does this process, that the outer shell may
 * notice; when it is continued, the agent is. A SIGSTOP comes from the daemon, which
 * freezes the session and continues it by itself. */
static void stop_alike(const struct session *session) {
    if (session->is_supervised) filtered_tell_stop(session->filtered);
    raise(SIGSTOP);
    pid_t group = getpgid(session->agent);
    if (group > 0 && group != getpgrp()) kill(-group, SIGCONT);
    kill(session->agent, SIGCONT);
}

/* Takes every change of a child that is there, the orphans' included. */
static bool reap(struct session *session) {
    int status;
    pid_t child;
    while ((child = waitpid(-1, &status, WNOHANG | WUNTRACED | __WALL)) > 0) {
        if (session->execs && execs_changed(session->execs, child, status)) continue;
        if (child != session->agent) continue;
        if (WIFSTOPPED(status)) {
            if (WSTOPSIG(status) != SIGSTOP) stop_alike(session);
            continue;
        }
        session->status = status;
        session->ended = true;
    }
    return child == 0; /* there are children left */
}

/* A signal that the terminal sends reaches the agent by itself; one that a process has
 * sent to this process is meant for the agent. */
static void pass_on(const struct session *session,
                    const struct signalfd_siginfo *signal) {
    if (signal->ssi_code == SI_KERNEL) return;
    kill(session->agent, (int)signal->ssi_signo);
}

static void take_signals(struct session *session) {
    struct signalfd_siginfo signal;
    while (read(session->signals, &signal, sizeof signal) == sizeof signal) {
        if (signal.ssi_signo == SIGCHLD) reap(session);
        else if (!session->ended) pass_on(session, &signal);
    }
}

static void take_starts(struct session *session) {
    uint64_t id;
    int32_t thread;
    while (filtered_allowed(session->filtered, &id, &thread))
        execs_take(session->execs, id, thread);
}

/* Waits for something to do, at most so long (-1: as long as it takes), and does it. */
static void step(struct session *session, int most) {
    int patience = session->execs ? execs_patience(session->execs) : -1;
    int starts = session->filtered ? filtered_socket(session->filtered) : -1;
    bool answers = session->execs && starts < 0;
    struct pollfd watched[] = {
        {session->signals, POLLIN, 0},
        {answers ? execs_listener(session->execs) : -1, POLLIN, 0},
        {starts, POLLIN, 0},
        {session->execs ? execs_answers(session->execs) : -1, POLLIN, 0},
    };
    bool looks = patience >= 0 && (most < 0 || patience < most);
    int ready = poll(watched, 4, looks ? patience : most);
    if (looks) execs_let_go(session->execs);
    if (ready <= 0) return;
    if (watched[1].revents & POLLIN) execs_receive(session->execs);
    else if (watched[1].revents) execs_serve(session->execs, -1); /* nobody is left */
    if (watched[2].revents) take_starts(session);
    if (watched[3].revents) execs_take_answers(session->execs);
    if (watched[0].revents) take_signals(session);
}

/* Sends a signal to each child; orphans become children as their parents end. */
static void signal_children(int number) {
    char path[64];
    struct bytes list = {0};
    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    if (bytes_read_file(&list, path, 1024 * 1024))
        for (char *at = list.data; *at;) {
            pid_t child = (pid_t)strtol(at, &at, 10);
            if (child > 0) kill(child, number);
            while (*at == ' ') at++;
        }
    free(list.data);
}

static long milliseconds_since(const struct timespec *start) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - start->tv_sec) * 1000 +
           (now.tv_nsec - start->tv_nsec) / 1000000;
}

/* Ends what the agent has left behind: asked first, then, after `grace`, made to. */
static void end_tree(struct session *session, long grace) {
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    signal_children(grace ? SIGTERM : SIGKILL);
    signal_children(SIGCONT);
    while (reap(session)) {
        long passed = milliseconds_since(&start);
        if (passed >= grace) signal_children(SIGKILL);
        if (passed > KILL_MILLISECONDS) {
            tell("some processes of the session could not be ended");
            return;
        }
        step(session, LOOK_MILLISECONDS);
    }
}

/* Nobody answers the session's system calls any more: it cannot go on. */
static _Noreturn void end_lost(struct session *session) {
    tell("the supervisor of the session's system calls has ended; "
         "the session is ended with it");
    end_tree(session, 0);
    _exit(STATUS_REFUSED);
}

static void supervise(struct session *session) {
    while (!session->ended) {
        step(session, -1);
        if (session->is_supervised && filtered_is_lost(session->filtered))
            end_lost(session);
    }
}

/* Tells the daemon that the session is over; it would find out by itself later. */
static void end_session(const struct session *session) {
    struct bytes answer = {0};
    report_rest(&session->daemon);
    request_send(&session->daemon, (struct request){.method = "DELETE", .about = ""}, &answer);
    free(answer.data);
}

/* Ends as the agent did; the core dump, if any, was the agent's. */
static _Noreturn void end_alike(int status) {
    if (!WIFSIGNALED(status)) _exit(WEXITSTATUS(status));
    int number = WTERMSIG(status);
    struct rlimit none = {0};
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t set;
    setrlimit(RLIMIT_CORE, &none);
    sigaction(number, &standard, NULL);
    sigemptyset(&set);
    sigaddset(&set, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    _exit(128 + number);
}

int main(int argc, char **argv) {
    struct session session = {0};
    if (argc < 1) return STATUS_USAGE;
    given_read(&session.given, argc, argv);
    session.daemon = (struct daemon){session.given.socket, session.given.id};
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || prctl(PR_SET_DUMPABLE, 0) != 0)
        refuse("the session cannot be supervised: %s", strerror(errno));
    raise_files(&session);
    bind_session(&session);
    sigset_t set = handled(&session);
    start_agent(&session, &set);
    session.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (session.signals < 0)
        refuse("the session cannot be supervised: %s", strerror(errno));
    if (session.filtered) hand_over(&session);
    supervise(&session);
    end_tree(&session, GRACE_MILLISECONDS);
    end_session(&session);
    if (session.is_supervised) filtered_tell_end(session.filtered);
    end_alike(session.status);
}
