/* redlane-run: the process at the top of a session.
 *
 *     redlane-run --socket PATH [--session ID] [--filter FD] -- COMMAND...
 *
 * It is an ancestor of everything that the agent starts, orphans included, and it is by
 * this process that the daemon and the shell wrapper tell who is in which session. It
 * passes signals and job control on, and ends with the agent's status. With --filter it
 * is started by a supervisor of the session's system calls: see filtered.c. */
#define _GNU_SOURCE
#include "wrapper.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_MILLISECONDS = 500, KILL_MILLISECONDS = 5000 };

struct session {
    const char *socket, *id, *filter;
    char **command;
    struct filtered *filtered; /* NULL without --filter */
    pid_t agent;
    int status; /* of the agent, as wait(2) gives it */
    bool ended;
};

static void parse(struct session *session, char **argv) {
    char **word = argv[0] ? argv + 1 : argv;
    for (; *word && strcmp(*word, "--") != 0; word += 2) {
        if (!word[1])
            fail(STATUS_USAGE, PRODUCT, "%s: option requires an argument", *word);
        if (strcmp(*word, "--socket") == 0) session->socket = word[1];
        else if (strcmp(*word, "--session") == 0) session->id = word[1];
        else if (strcmp(*word, "--filter") == 0) session->filter = word[1];
        else fail(STATUS_USAGE, PRODUCT, "%s: invalid option", *word);
    }
    if (!session->socket || session->socket[0] != '/' || !*word || !word[1])
        fail(STATUS_USAGE, PRODUCT,
             "usage: redlane-run --socket PATH [--session ID] [--filter FD] -- "
             "COMMAND...");
    session->command = word + 1;
}

static void take_filter(struct session *session) {
    char *end;
    long number = strtol(session->filter, &end, 10);
    if (number <= STDERR_FILENO || number > INT_MAX || *end)
        fail(STATUS_USAGE, PRODUCT, "--filter: %s: no descriptor", session->filter);
    session->filtered = filtered_receive((int)number);
}

/* The signals that this process takes one at a time; its children do not. */
static sigset_t handled(const struct session *session) {
    static const int numbers[] = {SIGCHLD, SIGTERM, SIGHUP,  SIGINT,
                                  SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&set, numbers[i]);
    if (session->filtered) {
        sigaddset(&set, SIGIO);
        sigaddset(&set, SIGTTIN); /* passed on by a supervisor that the */
        sigaddset(&set, SIGTTOU); /* terminal must not stop by itself */
    }
    return set;
}

static _Noreturn void become_agent(const struct session *session, pid_t supervisor) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) _exit(STATUS_REFUSED);
    if (session->filtered) filtered_load(session->filtered);
    execvp(session->command[0], session->command);
    int status = errno == ENOENT ? STATUS_NOT_FOUND : STATUS_REFUSED;
    fail(status, PRODUCT, "%s: %s", session->command[0], strerror(errno));
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

/* Lets the agent go on when its system calls are answered. This process leaves the
 * terminal to it: a signal for the whole group of the agent must not reach both. */
static void hand_over(const struct session *session) {
    if (setsid() < 0) refuse("the session cannot be supervised: %s", strerror(errno));
    filtered_hand_over(session->filtered, session->agent);
}

/* The terminal has stopped the agent: so does this process, that the outer shell may
 * notice; when it is continued, the agent is. A SIGSTOP comes from the daemon, which
 * freezes the session and continues it by itself. */
static void stop_alike(const struct session *session) {
    if (session->filtered) filtered_tell_stop(session->filtered);
    raise(SIGSTOP);
    pid_t group = getpgid(session->agent);
    if (group > 0 && group != getpgrp()) kill(-group, SIGCONT);
    kill(session->agent, SIGCONT);
}

/* Takes every change of a child that is there, the orphans' included. */
static bool reap(struct session *session) {
    int status;
    pid_t child;
    while ((child = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
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
static void pass_on(const struct session *session, const siginfo_t *signal) {
    if (signal->si_code == SI_KERNEL) return;
    kill(session->agent, signal->si_signo);
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
static void end_tree(struct session *session, const sigset_t *set, long grace) {
    struct timespec start, pause = {.tv_nsec = 20 * 1000000};
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
        sigtimedwait(set, NULL, &pause);
    }
}

/* Nobody answers the session's system calls any more: it cannot go on. */
static _Noreturn void end_lost(struct session *session, const sigset_t *set) {
    tell("the supervisor of the session's system calls has ended; "
         "the session is ended with it");
    end_tree(session, set, 0);
    _exit(STATUS_REFUSED);
}

static void supervise(struct session *session, const sigset_t *set) {
    siginfo_t signal;
    while (!session->ended) {
        if (session->filtered && filtered_is_lost(session->filtered))
            end_lost(session, set);
        int number = sigwaitinfo(set, &signal);
        if (number == SIGCHLD) reap(session);
        else if (number > 0 && number != SIGIO) pass_on(session, &signal);
    }
}

/* Tells the daemon that the session is over; it would find out by itself later. */
static void end_session(const struct session *session) {
    char request[512], answer[512];
    if (!session->id) return;
    int length = snprintf(request, sizeof request,
                          "DELETE /api/sessions/%s HTTP/1.1\r\nHost: redlane\r\n"
                          "Connection: close\r\nContent-Length: 0\r\n\r\n",
                          session->id);
    int link = link_to(session->socket, 2);
    if (link < 0 || length < 0 || (size_t)length >= sizeof request) return;
    if (send(link, request, (size_t)length, MSG_NOSIGNAL) == length)
        while (recv(link, answer, sizeof answer, 0) > 0) continue;
    close(link);
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
    parse(&session, argv);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || prctl(PR_SET_DUMPABLE, 0) != 0)
        refuse("the session cannot be supervised: %s", strerror(errno));
    if (session.filter) take_filter(&session);
    sigset_t set = handled(&session);
    start_agent(&session, &set);
    if (session.filtered) hand_over(&session);
    supervise(&session, &set);
    end_tree(&session, &set, GRACE_MILLISECONDS);
    end_session(&session);
    if (session.filtered) filtered_tell_end(session.filtered);
    end_alike(session.status);
}
