/* Programs that stand at their start and wait until it is known what becomes of them.
 *
 * One whose command does not pass as it is asks itself, as a guarded shell. Where it could
 * not, it is asked for in its place. */
#define _GNU_SOURCE
#include "pending.h"

#include "becoming.h"
#include "complaint.h"
#include "instead.h"
#include "message.h"
#include "peeking.h"
#include "redirect.h"
#include "whole.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>

enum {
    MOST_LOOKS = 20,      /* at a program whose answer does not come */
    VERDICT_SECONDS = 60, /* that a verdict may take */
    LOOKS_A_SECOND = 1000 / LOOK_MILLISECONDS,
};

void pending_let_go(struct pending *pending, pid_t thread, int signal) {
    ptrace(PTRACE_DETACH, thread, 0, signal);
    starts_forget(&pending->starts, thread);
}

void pending_end(struct pending *pending, pid_t thread, const char *why) {
    struct process process;
    char line[PROCESS_NAME + 256];
    process_read(thread, &process);
    snprintf(line, sizeof line, "%s (process %ld) was ended: %s", process.name,
             (long)thread, why);
    if (!complaint_say(thread, line)) tell("%s", line);
    kill(thread, SIGKILL);
    starts_forget(&pending->starts, thread);
}

/* It has a filter of the session's own over it, or is another user's: the daemon is not
 * there for that one, or takes it for somebody else. */
bool pending_is_mute(const struct pending *pending, pid_t process) {
    return process_filters(process) != pending->filters ||
           (pending->is_roots && process_user(process) != 0);
}

static void wait_for(struct start *start, bool is_instead, long looks) {
    start->state = WAITING;
    start->is_instead = is_instead;
    start->looks = 0;
    start->patience = looks;
}

/* Has a program that is refused end. */
static void refuse_program(struct pending *pending, pid_t process) {
    struct start *start = starts_find(&pending->starts, process);
    if (!program_exit(process, STATUS_REFUSED)) kill(process, SIGKILL);
    questions_forget(pending->questions, process);
    if (start) start->state = ENDING;
}

/* Asks for one that cannot do so itself. */
void pending_ask_instead(struct pending *pending, struct start *start,
                        const struct started *started) {
    pid_t process = start->thread;
    start->started = *started;
    wait_for(start, true, VERDICT_SECONDS * LOOKS_A_SECOND);
    switch (instead_ask(pending->questions, process, started)) {
    case INSTEAD_ASKED: break;
    case INSTEAD_UNJUDGED: pending_let_go(pending, process, 0); break;
    case INSTEAD_REFUSED: refuse_program(pending, process);
    }
}

/* Has a program ask by itself, and wait: its command does not pass as it is. */
static void ask_itself(struct pending *pending, struct start *start) {
    struct started program = {.image = IMAGE_OTHER};
    if (pending_is_mute(pending, start->thread))
        pending_ask_instead(pending, start, &program);
    else if (!become_asking(start, pending->token))
        pending_end(pending, start->thread, "its command cannot be judged");
}

static void become_guarded(struct pending *pending, struct start *start) {
    if (!become_shell(start, &start->started, pending->token))
        pending_end(pending, start->thread, "its shell cannot be guarded");
}

bool pending_ask_whole(struct pending *pending, struct start *start,
                       const struct started *started) {
    if (!pending->asks_where_they_stand || peeking_has_begun() ||
        !whole_question(start->thread, started, &start->text))
        return false;
    start->alone = alone_begin(start->thread);
    start->started = *started;
    if (start->alone) start->state = PARTING;
    return start->alone;
}

void pending_part(struct pending *pending, struct start *start, int event, int signal,
                  bool stays) {
    enum alone_state state = ALONE_NOT_YET;
    pid_t process = start->thread;
    if (stays) {
        /* It is left, so that it is seen to be stopped, on its way to become guarded; and
         * seized again when it goes on (execs.c). */
        start->is_left = true;
        if (alone_back(process, start->alone)) become_guarded(pending, start);
        else pending_end(pending, process, "its shell cannot be guarded");
        return;
    }
    if (!event && signal == SIGTRAP) state = alone_end(process, start->alone);
    if (state == ALONE_DONE) {
        wait_for(start, false, MOST_LOOKS);
        if (questions_allow(pending->questions, process, &start->text) == ASKED) return;
    }
    if (state != ALONE_NOT_YET) become_guarded(pending, start);
    else ptrace(PTRACE_CONT, process, 0, event ? 0 : signal);
}

/* A shell runs as it stands. Once anybody has looked into another, what it is may have been
 * changed. */
static void run_whole(struct pending *pending, struct start *start, bool is_open) {
    if (peeking_has_begun()) {
        become_guarded(pending, start);
        return;
    }
    if (!is_open) judged_text(pending->judged, start->thread);
    pending_let_go(pending, start->thread, 0);
}

/* Asks whether the command of a program passes as it is. */
void pending_ask(struct pending *pending, struct start *start) {
    wait_for(start, false, MOST_LOOKS);
    switch (questions_preview(pending->questions, start->thread)) {
    case ASKED: break;
    case KNOWN: pending_let_go(pending, start->thread, 0); break;
    case NOT_ASKED: ask_itself(pending, start);
    }
}

/* Lets go what may run. What it starts is asked about as well, whatever its text says:
 * by its filter a shell can be led elsewhere than it was told to go. */
static void let_run(struct pending *pending, const struct start *start) {
    pid_t process = start->thread;
    if (instead_is_ready(pending->questions, process, &start->started)) {
        questions_forget(pending->questions, process);
        pending_let_go(pending, process, 0);
    } else {
        complaint_say(process, "it has changed while it was judged; not run");
        refuse_program(pending, process);
    }
}

/* Has one ask after all, which does not pass as it is. */
static void ask_after(struct pending *pending, struct start *start) {
    if (start->alone) become_guarded(pending, start);
    else ask_itself(pending, start);
}

static void take_answer(struct pending *pending, struct start *start,
                        const struct told_of *answer) {
    switch (answer->told) {
    case PASSES:
        if (start->alone) run_whole(pending, start, answer->is_open);
        else pending_let_go(pending, start->thread, 0);
        break;
    case ASKS: ask_after(pending, start); break;
    case HELD:
        complaint_say(start->thread, answer->words.data);
        wait_for(start, true, (answer->seconds + VERDICT_SECONDS) * LOOKS_A_SECOND);
        break;
    case ALLOWED: let_run(pending, start); break;
    case REFUSED:
        complaint_say(start->thread, answer->words.data);
        refuse_program(pending, start->thread);
    }
}

/* Takes what the daemon says of programs that wait for it. */
void pending_take_answers(struct pending *pending) {
    pid_t process;
    struct told_of answer;
    while (questions_answered(pending->questions, &process, &answer)) {
        struct start *start = starts_find(&pending->starts, process);
        if (start && start->state == WAITING) take_answer(pending, start, &answer);
        else questions_forget(pending->questions, process);
        free(answer.words.data);
    }
}

/* A look at one whose answer does not come, or which is to end meanwhile. */
void pending_look(struct pending *pending, struct start *start) {
    pid_t process = start->thread;
    start->looks++;
    if (start->is_instead && process_is_to_end(process)) {
        kill(process, SIGKILL);
    } else if (start->looks > start->patience && start->is_instead) {
        complaint_say(process, "the daemon did not answer in time; not run");
        refuse_program(pending, process);
    } else if (start->looks > start->patience) {
        questions_forget(pending->questions, process);
        ask_after(pending, start);
    }
}
