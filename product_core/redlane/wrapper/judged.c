/* Whose commands have been judged: what they start needs no judging of its own.
 *
 * A text is judged whole, so that each command that its shell starts has been, and the
 * shells' forks are the shell. What those commands start has not: a makefile, a script
 * of npm or a program of the agent's own may say anything. Nor has it been where a text
 * works out what it starts: its guarded shell tells so by the call that it makes. */
#include "judged.h"

#include <sys/syscall.h>

/* Whether a thread is that of a guarded shell: seen to start one, and nothing since.
 * What it says that it runs it may have changed (PR_SET_MM). */
static bool is_guarded_shell(const struct judged *judged, pid_t thread) {
    struct process process;
    return process_read(thread, &process) && processes_have(&judged->shells, &process);
}

/* Whether a thread starts a shell for the guarded shell: it is a child of what that has
 * left shells to, and has been nothing else. */
static bool is_runners(const struct judged *judged, pid_t thread) {
    struct process child, parent;
    return process_read(thread, &child) && process_read(child.parent, &parent) &&
           processes_have(&judged->runners, &parent) &&
           !processes_have(&judged->spent, &child);
}

/* Whether a process is one whose command has been judged, or a fork of the shell that
 * runs a judged text: nothing on the way there has been started as a program. */
static bool is_covered(const struct judged *judged, long process) {
    struct process now;
    while (process > 0 && process_read(process, &now)) {
        if (processes_have(&judged->texts, &now)) return true;
        if (processes_have(&judged->programs, &now)) return true;
        if (processes_have(&judged->others, &now)) return false;
        process = now.parent;
    }
    return false;
}

/* By what a thread starts the program that it asks for. */
struct starter judged_starter(const struct judged *judged, pid_t thread, long process) {
    bool is_guarded = is_guarded_shell(judged, thread);
    struct starter starter = {
        .is_judged = judged->is_first || is_guarded,
        .is_runners = is_runners(judged, thread),
        .is_open = is_guarded && process_call(thread) != SYS_execve,
    };
    starter.is_covered =
        !judged->has_begun || starter.is_judged || starter.is_runners ||
        is_covered(judged, process);
    return starter;
}

/* Remembers what a process has become by a start that goes on. */
void judged_started(struct judged *judged, pid_t process, const struct starter *starter,
                    const struct started *started) {
    bool is_trusted = starter->is_judged || starter->is_runners;
    bool is_text = started->image == IMAGE_SHELL && is_trusted;
    bool is_shell = started->image == IMAGE_SHELL && !started->is_script;
    processes_remove(&judged->shells, process);
    processes_remove(&judged->texts, process);
    processes_remove(&judged->programs, process);
    judged->is_first = false;
    judged->has_begun = true;
    if (started->image == IMAGE_GUARDED)
        processes_add(started->is_program ? &judged->programs : &judged->shells, process);
    else if (starter->is_judged && !is_shell) processes_add(&judged->runners, process);
    if (starter->is_runners) processes_add(&judged->spent, process);
    bool says_all = is_text && !starter->is_open;
    processes_add(says_all ? &judged->texts : &judged->others, process);
}
