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
    struct judged *judged;
    bool is_roots;              /* others may be in it, to whom the daemon is closed */
    bool asks_where_they_stand; /* shells whose line says all, and not guarded shells */
};

void pending_let_go(struct pending *pending, pid_t thread, int signal);
void pending_end(struct pending *pending, pid_t thread, const char *why);
/* Whether a process cannot ask for itself, nor a shell of its. */
bool pending_is_mute(const struct pending *pending, pid_t process);
void pending_ask(struct pending *pending, struct start *start);
void pending_ask_instead(struct pending *pending, struct start *start,
                         const struct started *started);
/* Has a shell whose line says whole what it runs be asked about where it stands; false: it
 * is to become the guarded shell. */
bool pending_ask_whole(struct pending *pending, struct start *start,
                       const struct started *started);
/* A stop of one that is made to be alone for that, by a signal or an event; `stays`: it is
 * to stay stopped. */
void pending_part(struct pending *pending, struct start *start, int event, int signal,
                  bool stays);
/* Takes what the daemon says. */
void pending_take_answers(struct pending *pending);
/* A look at one whose answer does not come, or which is to end meanwhile. */
void pending_look(struct pending *pending, struct start *start);
