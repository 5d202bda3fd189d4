/* Whose commands have been judged: what they start needs no judging of its own.
 *
 * A text is judged whole, so that each command that its shell starts has been, and the
 * shells' forks are the shell. What those commands start has not: a makefile, a script
 * of npm or a program of the agent's own may say anything. Nor has it been where a text
 * works out what it starts: its guarded shell tells so by the call that it makes. */
#include "judged.h"

#include "peeking.h"

#include <sched.h>
#include <sys/syscall.h>

enum { MOST_LOOKS = 1000 };

/* Whether a thread starts a shell for the guarded shell: it is a child of what that has
 * left shells to, and has been nothing else. */
static bool is_runners(const struct judged *judged, const struct process *child) {
    struct process parent;
    return judged->runners.count && process_read(child->parent, &parent) &&
           processes_have(&judged->runners, &parent) &&
           !processes_have(&judged->spent, child);
}

/* Whether a process is one whose command has been judged, or a fork of the shell that
 * runs a judged text: nothing on the way there has been started as a program. Once any
 * process has looked into another, what it is may have been changed. */
static bool is_covered(const struct judged *judged, struct process now) {
    if (processes_have(&judged->programs, &now)) return true;
    if (peeking_has_begun()) return false;
    do {
        if (processes_have(&judged->texts, &now)) return true;
        if (processes_have(&judged->others, &now)) return false;
    } while (now.parent > 0 && process_read(now.parent, &now));
    return false;
}

/* Whether a guarded shell tells, by the call that it waits in, that it does not know all.
 * Having made it, it may not have come to a stand. */
static bool tells_open(pid_t thread) {
    for (int looks = 0; looks < MOST_LOOKS; looks++) {
        long call = process_call(thread);
        if (call >= 0) return call != SYS_execve;
        sched_yield();
    }
    return true;
}

/* By what a thread starts the program that it asks for. A guarded shell is one that was
 * seen to start, and is nothing since: what it says that it runs it may have changed
 * (PR_SET_MM). */
struct starter judged_starter(const struct judged *judged, pid_t thread, long process) {
    struct process itself, leader;
    bool is_known = process_read(thread, &itself);
    bool is_led = thread == process ? is_known : process_read(process, &leader);
    bool is_guarded = is_known && processes_have(&judged->shells, &itself);
    struct starter starter = {
        .is_judged = judged->is_first || is_guarded,
        .is_runners = is_known && is_runners(judged, &itself),
        .is_open = is_guarded && tells_open(thread),
    };
    starter.is_covered =
        !judged->has_begun || starter.is_judged || starter.is_runners ||
        (is_led && is_covered(judged, thread == process ? itself : leader));
    return starter;
}

/* Whether shells are left to what a guarded shell starts. */
bool judged_is_runner(const struct starter *starter, const struct started *started) {
    return starter->is_judged && started->image != IMAGE_GUARDED &&
           (started->image != IMAGE_SHELL || started->is_script);
}

/* Whether all that stands below a shell is a fork of it: it has no children from before
 * it became the shell, and does not adopt those of others. The guarded shell sees to it
 * that it is no subreaper. */
static bool has_forks_alone(pid_t process) {
    return !process_is_first(process) && !process_has_children(process);
}

void judged_text(struct judged *judged, pid_t process) {
    if (!has_forks_alone(process)) return;
    processes_remove(&judged->others, process);
    processes_add(&judged->texts, process);
}

/* Remembers what a process has become by a start that goes on. */
void judged_started(struct judged *judged, pid_t process, const struct starter *starter,
                    const struct started *started) {
    bool is_trusted = starter->is_judged || starter->is_runners;
    bool is_text = started->image == IMAGE_SHELL && is_trusted;
    processes_remove(&judged->shells, process);
    processes_remove(&judged->texts, process);
    processes_remove(&judged->programs, process);
    judged->is_first = false;
    judged->has_begun = true;
    if (started->image == IMAGE_GUARDED)
        processes_add(started->is_program ? &judged->programs : &judged->shells, process);
    else if (judged_is_runner(starter, started)) {
        processes_add(&judged->runners, process);
        peeking_close(process);
        processes_add_children(&judged->spent, process); /* they are none of its own */
    }
    if (starter->is_runners) processes_add(&judged->spent, process);
    bool says_all = is_text && !starter->is_open && has_forks_alone(process);
    processes_add(says_all ? &judged->texts : &judged->others, process);
}
