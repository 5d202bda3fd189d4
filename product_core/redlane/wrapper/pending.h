/* Programs that stand at their start and wait. */
#pragma once

#include "questions.h"
#include "starts.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { LOOK_MILLISECONDS = 50 }; /* between two looks */

struct pending {
    struct questions *questions;
    uint64_t token;
    long filters; /* how many hold the agent's calls; 0: that is not known yet */
    struct starts starts;
};

void pending_let_go(struct pending *pending, pid_t thread, int signal);
void pending_end(struct pending *pending, pid_t thread, const char *why);
bool pending_is_filtered(const struct pending *pending, pid_t process);
void pending_ask(struct pending *pending, struct start *start);
void pending_ask_instead(struct pending *pending, struct start *start,
                         const struct started *started);
/* Takes what the daemon says. */
void pending_take_answers(struct pending *pending);
/* A look at one whose answer does not come, or which is to end meanwhile. */
void pending_look(struct pending *pending, struct start *start);
