/* redlane-sh: a shell whose every command is judged before it runs. */
#define _GNU_SOURCE
#include "ask.h"
#include "become.h"
#include "bytes.h"
#include "environment.h"
#include "frame.h"
#include "input.h"
#include "installed.h"
#include "locate.h"
#include "message.h"
#include "options.h"
#include "program.h"
#include "script.h"
#include "startup.h"

#include <sched.h>
#include <string.h>
#include <sys/prctl.h>

/* Asks about the command itself, and learns whether its session has to be another. */
static void ask_about(struct invocation *invocation, const struct place *place,
                      const struct bytes *question, struct answer *answer) {
    ask(place, question, answer);
    invocation->is_open |= answer->is_open;
    if (!answer->role.length) return;
    invocation->role = answer->role.data;
    invocation->socket = place->socket;
}

static _Noreturn void judge_command(struct invocation *invocation,
                                    const struct place *place) {
    struct bytes question = {0};
    struct answer answer = {0};
    bytes_add_text(&question, invocation->subject);
    question_add_words(&question, NULL, invocation->arguments);
    ask_about(invocation, place, &question, &answer);
    run_command(invocation,
                answer.rewritten ? answer.command.data : invocation->subject);
}

static void add_words(struct bytes *question, char **words) {
    for (; *words; words++) {
        bytes_add_text(question, " ");
        bytes_add_quoted(question, *words);
    }
}

/* A rewritten line replaces the whole of `bash FILE ARGUMENTS`. */
static _Noreturn void judge_named_file(struct invocation *invocation,
                                       const struct place *place,
                                       struct script *script) {
    struct bytes question = {0};
    struct answer answer = {0};
    bytes_add_text(&question, invocation->is_sh ? "sh " : "bash ");
    bytes_add_quoted(&question, script->seen);
    add_words(&question, invocation->arguments);
    ask_about(invocation, place, &question, &answer);
    if (answer.rewritten) run_command(invocation, answer.command.data);
    run_file(invocation, invocation->subject);
}

/* A script that is an installed program is asked about as one: by its name and its words.
 * What it starts is asked about as well. */
static _Noreturn void judge_installed(struct invocation *invocation,
                                      const struct place *place) {
    const char *name = strrchr(invocation->subject, '/');
    struct bytes question = {0};
    struct answer answer = {0};
    bytes_add_quoted(&question, name ? name + 1 : invocation->subject);
    add_words(&question, invocation->arguments);
    if (!passes(place, &question)) ask_about(invocation, place, &question, &answer);
    if (answer.rewritten) run_command(invocation, answer.command.data);
    invocation->is_open = true;
    run_file(invocation, invocation->subject);
}

static _Noreturn void judge_file(struct invocation *invocation,
                                 const struct place *place) {
    static struct script script;
    struct bytes question = {0};
    struct answer answer = {0};
    open_script(invocation, &script);
    if (invocation->is_script && !invocation->is_apart && !script.is_text &&
        installed_script(place, invocation->subject, script.seen))
        judge_installed(invocation, place);
    if (!script.is_text) judge_named_file(invocation, place, &script);
    bytes_add(&question, script.text.data, script.text.length);
    question_add_words(&question, invocation->subject, invocation->arguments);
    ask_about(invocation, place, &question, &answer);
    replace_script(&script, answer.rewritten ? &answer.command : &script.text);
    run_file(invocation, script.path);
}

static _Noreturn void judge_input(struct invocation *invocation,
                                  const struct place *place) {
    struct bytes script = {0}, question = {0};
    struct answer answer = {0};
    if (!read_script(0, &script, true)) run_stream(invocation, place, &script);
    bytes_add(&question, script.data, script.length);
    question_add_words(&question, invocation->called, invocation->arguments);
    ask_about(invocation, place, &question, &answer);
    run_input(invocation, answer.rewritten ? &answer.command : &script);
}

/* What it becomes is no parent but of what it has started itself: see judged.c. */
static void adopt_nobody(void) {
    int adopts = 0;
    if (prctl(PR_GET_CHILD_SUBREAPER, &adopts) != 0 || adopts)
        prctl(PR_SET_CHILD_SUBREAPER, 0);
}

int main(int argc, char **argv) {
    struct invocation invocation;
    struct place place;
    drop_repeated();
    adopt_nobody();
    unshare(CLONE_FS); /* another process could change the directory after a verdict */
    if (argc > 0 && is_program(argv[0])) judge_program(argv);
    parse_invocation(&invocation, argc, argv);
    if (*invocation.problem)
        fail(STATUS_USAGE, invocation.called, "%s", invocation.problem);
    if (invocation.kind == RUN_INFORMATION) run_information(&invocation);
    locate(&place);
    if (invocation.kind == RUN_TERMINAL) run_terminal(&place);
    judge_startup(&invocation, &place);
    switch (invocation.kind) {
    case RUN_COMMAND: judge_command(&invocation, &place);
    case RUN_FILE: judge_file(&invocation, &place);
    default: judge_input(&invocation, &place);
    }
}
