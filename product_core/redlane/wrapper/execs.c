/* Every program that a session starts, seen before its first instruction: a shell, at
 * whatever path, becomes the guarded shell, and what no judged text has started is
 * judged by its command line.
 *
 * To look at the arguments of execve when it is called would prove nothing: another
 * thread may change them before the kernel reads them. So the caller is only seized
 * then. Once the new program stands, alone in memory of its own and without having run,
 * it is looked at: what it is now, it is. A start that fails leaves the caller seized,
 * which it does not notice, and which a look a little later undoes.
 *
 * Of the threads of a process one is seized at a time, and the others wait: a start ends
 * them first, and to seize one meanwhile, or to leave a seized one unburied, would have
 * the kernel wait for us and us for the kernel.
 *
 * The shells that the guarded shell itself starts are let go: it has had their commands
 * judged. So are those of the program that it leaves interactive shells and streams of
 * commands to. */
#define _GNU_SOURCE
#include "execs.h"

#include "apart.h"
#include "becoming.h"
#include "bytes.h"
#include "complaint.h"
#include "frame.h"
#include "images.h"
#include "instead.h"
#include "message.h"
#include "owner.h"
#include "peeking.h"
#include "pending.h"
#include "processes.h"
#include "secure.h"
#include "starts.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, uint64_t)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1UL
#endif

/* A call that waits for another thread of its process. */
struct waiting {
    uint64_t id;
    pid_t thread;
};

struct execs {
    struct images *images;
    const char *owners; /* see secure.c */
    int listener;
    struct judged judged;
    struct pending pending;
    struct waiting *waiting;
    size_t waiting_count;
    long look_at; /* when those are let go whose start has not come about */
};

/* Learns the shells. `is_judged`: the command of the agent itself has been. `owners` are
 * the programs that may read what is hidden from others. `asks_where_they_stand`: shells are
 * not all to become the guarded shell (pending.c). */
struct execs *execs_prepare(const char *control_socket, bool is_judged,
                            const char *owners, bool asks_where_they_stand) {
    struct execs *execs = allocate(sizeof *execs);
    *execs = (struct execs){.listener = -1, .owners = owners,
                             .judged.is_first = is_judged};
    execs->images = images_know();
    execs->pending.questions = questions_prepare(control_socket);
    execs->pending.judged = &execs->judged;
    execs->pending.is_roots = geteuid() == 0 && !shell_socket_is_for_all(control_socket);
    execs->pending.asks_where_they_stand = asks_where_they_stand;
    uint64_t *token = &execs->pending.token;
    if (getrandom(token, sizeof *token, 0) != sizeof *token)
        refuse("no random number is to be had");
    return execs;
}

uint64_t execs_token(const struct execs *execs) { return execs->pending.token; }

/* From now on the listener is this one; -1: nobody asks any more. */
void execs_serve(struct execs *execs, int listener) {
    execs->listener = listener;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

int execs_guarded_shell(const struct execs *execs) {
    return images_guarded_shell(execs->images);
}

int execs_listener(const struct execs *execs) { return execs->listener; }

/* Readable while execs_take_answers has something to do. */
int execs_answers(const struct execs *execs) {
    return questions_descriptor(execs->pending.questions);
}

static long milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void answer(const struct execs *execs, uint64_t id, int error) {
    struct seccomp_notif_resp answer = {
        .id = id,
        .error = -error,
        .flags = error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE,
    };
    ioctl(execs->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

static bool seize(pid_t thread) {
    unsigned long options = PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    return ptrace(PTRACE_SEIZE, thread, 0, options) == 0;
}

/* Whether the thread still waits for the answer; another may have its number by now. */
static bool is_asking(const struct execs *execs, uint64_t id) {
    return ioctl(execs->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

static void refuse_start(const struct execs *execs, uint64_t id, pid_t thread) {
    struct process process;
    char line[PROCESS_NAME + 256];
    if (!is_asking(execs, id)) return;
    process_read(thread, &process);
    snprintf(line, sizeof line,
             "%s (process %ld) may not start a program, which could not be looked at: it "
             "is traced by another, or ptrace(2) is refused here",
             process.name, (long)thread);
    if (!complaint_say(thread, line)) tell("%s", line);
    answer(execs, id, EACCES);
}

/* Whether another thread of its process has to be let go first; then it waits. */
static bool has_to_wait(struct execs *execs, uint64_t id, pid_t thread, long process) {
    if (!starts_have_other(&execs->pending.starts, thread, process)) return false;
    size_t size = (execs->waiting_count + 1) * sizeof *execs->waiting;
    execs->waiting = realloc(execs->waiting, size);
    if (!execs->waiting) refuse("out of memory");
    execs->waiting[execs->waiting_count++] = (struct waiting){id, thread};
    return true;
}

/* Seizes a thread that is about to start a program and lets it go on. */
static void begin(struct execs *execs, uint64_t id, pid_t thread) {
    struct start *start = starts_find(&execs->pending.starts, thread);
    long process = process_of(thread);
    if (!is_asking(execs, id) || has_to_wait(execs, id, thread, process)) return;
    /* The first is the agent's own. */
    if (!execs->pending.filters) execs->pending.filters = process_filters(thread);
    if (!start) {
        if (!seize(thread)) {
            if (errno != ESRCH) refuse_start(execs, id, thread);
            return;
        }
        if (!execs->pending.starts.count)
            execs->look_at = milliseconds() + LOOK_MILLISECONDS;
        start = starts_add(&execs->pending.starts, thread);
        start->process = process;
    }
    start->state = STARTING;
    start->looks = 0;
    start->by = judged_starter(&execs->judged, thread, process);
    answer(execs, id, 0);
}

/* The call that redirect() has made of a program: it gets the guarded shell. */
static void give_guarded_shell(const struct execs *execs, struct start *start,
                               uint64_t id) {
    int shell = images_guarded_shell(execs->images);
    bool given = (!start->is_left || seize(start->thread)) &&
                 becoming_give(start, execs->listener, id, shell);
    start->is_left = false;
    answer(execs, id, given ? 0 : EACCES);
}

/* A thread is about to start a program, and may. */
void execs_take(struct execs *execs, uint64_t id, pid_t thread) {
    struct start *start = starts_find(&execs->pending.starts, thread);
    if (start && start->state == BECOMING) give_guarded_shell(execs, start, id);
    else begin(execs, id, thread);
}

/* Takes one call from the listener. */
void execs_receive(struct execs *execs) {
    struct seccomp_notif call = {0};
    if (ioctl(execs->listener, SECCOMP_IOCTL_NOTIF_RECV, &call) == 0)
        execs_take(execs, call.id, (pid_t)call.pid);
}

/* Has those try again that wait for another. */
static void take_waiting(struct execs *execs) {
    struct waiting *waiting = execs->waiting;
    size_t count = execs->waiting_count;
    execs->waiting = NULL;
    execs->waiting_count = 0;
    for (size_t i = 0; i < count; i++) begin(execs, waiting[i].id, waiting[i].thread);
    free(waiting);
}

/* Whether a program that owns something does so by itself, and nobody looks into it. */
static bool is_safe_owner(const struct execs *execs, pid_t process) {
    if (!execs->owners || !owner_may_be(execs->owners, process)) return true;
    return peeking_is_over() && secure_owner(process);
}

/* A new program stands and has not run. */
static void has_started(struct execs *execs, struct start *start) {
    struct pending *pending = &execs->pending;
    struct started started;
    pid_t process = start->thread;
    struct starter by = start->by;
    if (!images_identify(execs->images, process, &started)) {
        pending_end(pending, process, "what it has started cannot be told");
        return;
    }
    judged_started(&execs->judged, process, &by, &started); /* it has not run */
    if (started.image == IMAGE_OTHER && !is_safe_owner(execs, process)) {
        pending_end(pending, process, "others could have it show what only it may read");
    } else if (started.image == IMAGE_GUARDED && !peeking_is_over()) {
        pending_end(pending, process, "others could make its shell ask for something else");
    } else if (started.image == IMAGE_GUARDED && pending_is_mute(pending, process)) {
        if (started.is_program || !become_real(start, pending->token))
            pending_end(pending, process, "its shell cannot be told what to do");
    } else if (started.image == IMAGE_GUARDED && !started.is_apart &&
               !started.is_program && !apart_sees_our_files(process)) {
        if (!become_shell(start, &started, pending->token))
            pending_end(pending, process, "its shell cannot be guarded");
    } else if (started.image != IMAGE_GUARDED && start->state == BECOMING &&
               start->real < 0) {
        pending_end(pending, process, "its command cannot be judged");
    } else if (started.image == IMAGE_SHELL && !by.is_judged && !by.is_runners) {
        if (pending_is_mute(pending, process))
            pending_ask_instead(pending, start, &started);
        else if (!pending_ask_whole(pending, start, &started) &&
                 !become_shell(start, &started, pending->token))
            pending_end(pending, process, "its shell cannot be guarded");
    } else if (judged_is_runner(&by, &started) && process_is_first(process)) {
        pending_end(pending, process, "the first process of a namespace of processes adopts "
                                      "others, and runs no interactive shell");
    } else if (started.image == IMAGE_OTHER && !by.is_covered) {
        pending_ask(pending, start);
    } else {
        pending_let_go(pending, process, 0);
    }
}

/* The thread that has started a program is named by its process from then on. */
static struct start *renamed(struct execs *execs, pid_t process) {
    unsigned long before = 0;
    ptrace(PTRACE_GETEVENTMSG, process, 0, &before);
    return starts_rename(&execs->pending.starts, (pid_t)before, process);
}

static bool is_stop(int signal) {
    return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN ||
           signal == SIGTTOU;
}

/* A stop of one that is made to become the guarded shell: what it is sent has its
 * effect. One that is to stay stopped is left, so that it is seen to be, and is seized
 * again when it goes on to its call. */
static void keep_on(struct execs *execs, struct start *start, int event, int signal) {
    if (event == PTRACE_EVENT_STOP && is_stop(signal)) {
        start->is_left = ptrace(PTRACE_DETACH, start->thread, 0, 0) == 0;
    } else if (!event && signal == SIGILL) {
        pending_end(&execs->pending, start->thread, "its shell cannot be guarded");
    } else {
        ptrace(PTRACE_CONT, start->thread, 0, event ? 0 : signal);
    }
}

static bool take_change(struct execs *execs, pid_t process, int status) {
    struct start *start = starts_find(&execs->pending.starts, process);
    int event = WIFSTOPPED(status) ? status >> 16 : 0;
    if (event == PTRACE_EVENT_EXEC) {
        start = renamed(execs, process);
        if (start) has_started(execs, start);
        else
            pending_end(&execs->pending, process,
                        "what it has started was not asked about");
        return true;
    }
    if (!start) {
        if (event) ptrace(PTRACE_DETACH, process, 0, 0);
        return event != 0;
    }
    if (!WIFSTOPPED(status)) {
        questions_forget(execs->pending.questions, process);
        starts_forget(&execs->pending.starts, process);
        return false;
    }
    int signal = WSTOPSIG(status);
    if (start->state == ENDING) kill(process, SIGKILL);
    else if (start->state == BECOMING) keep_on(execs, start, event, signal);
    else if (start->state == PARTING) 
        pending_part(&execs->pending, start, event, signal,
                     event == PTRACE_EVENT_STOP && is_stop(signal));
    else pending_let_go(&execs->pending, process, event ? 0 : signal);
    return true;
}

/* What wait(2) says of a process; false where it is nothing of a program's start. */
bool execs_changed(struct execs *execs, pid_t process, int status) {
    size_t before = execs->pending.starts.count;
    bool taken = take_change(execs, process, status);
    if (execs->pending.starts.count < before && execs->waiting_count)
        take_waiting(execs);
    return taken;
}

/* Until starts are to be looked at that have not come about; -1: there are none. */
int execs_patience(const struct execs *execs) {
    long left = execs->look_at - milliseconds();
    if (!execs->pending.starts.count) return -1;
    return left > 0 ? (int)left : 0;
}

/* Lets those go whose start has failed: a start that goes on is not disturbed by it. */
void execs_let_go(struct execs *execs) {
    if (milliseconds() < execs->look_at) return;
    execs->look_at = milliseconds() + LOOK_MILLISECONDS;
    for (size_t i = 0; i < execs->pending.starts.count; i++) {
        struct start *start = &execs->pending.starts.each[i];
        if (start->state == STARTING && start->looks) {
            start->state = LEAVING;
            ptrace(PTRACE_INTERRUPT, start->thread, 0, 0);
        }
        if (start->state == WAITING) pending_look(&execs->pending, start);
        else start->looks++;
    }
}

/* Takes what the daemon says of programs that wait for it. */
void execs_take_answers(struct execs *execs) { pending_take_answers(&execs->pending); }
