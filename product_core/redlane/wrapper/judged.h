/* Whose commands have been judged: what they start needs no judging of its own. */
#pragma once

#include "images.h"
#include "processes.h"

#include <stdbool.h>
#include <sys/types.h>

struct judged {
    bool is_first;             /* the next program is: the agent's own command */
    bool has_begun;            /* that has been started: a person has typed it */
    struct processes shells;   /* guarded shells, seen to start */
    struct processes runners;  /* what those have left shells to */
    struct processes spent;    /* and their children that have become shells */
    struct processes texts;    /* shells that run a text which says what it starts */
    struct processes programs; /* guarded shells that ask for a program */
    struct processes others;   /* whatever else has been started */
};

/* What starts a program. */
struct starter {
    bool is_judged;  /* a guarded shell, or the command of the agent itself */
    bool is_runners; /* what a guarded shell has left shells to */
    bool is_covered; /* what has been judged says what it starts */
    bool is_open;    /* a guarded shell, whose text does not say all that it starts */
};

struct starter judged_starter(const struct judged *judged, pid_t thread, long process);
bool judged_is_runner(const struct starter *starter, const struct started *started);
/* The command of a shell that stands at its start was judged: it is a text from then on. */
void judged_text(struct judged *judged, pid_t process);
void judged_started(struct judged *judged, pid_t process, const struct starter *starter,
                    const struct started *started);
