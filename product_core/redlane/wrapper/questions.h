/* What the daemon is asked about programs that are being started. */
#pragma once

#include "bytes.h"

#include <stdbool.h>
#include <sys/types.h>

struct questions;

/* PASSES, ASKS: whether a command would pass as it is. HELD: somebody decides on it, and
 * another answer follows. ALLOWED, REFUSED: the verdict. */
enum told { PASSES, ASKS, HELD, ALLOWED, REFUSED };

struct told_of {
    enum told told;
    bool is_open;       /* it passes, and not all is known that it starts */
    long seconds;       /* for as long it may be held */
    struct bytes words; /* why it is refused; by whom it is held */
};

struct questions *questions_prepare(const char *control_socket);
/* Readable while there is an answer. */
int questions_descriptor(const struct questions *questions);
/* Adds what a program runs, that stands at its start; false: it cannot be told. */
bool questions_add_program(struct bytes *text, pid_t process);
/* ASKED: an answer will come. KNOWN: it passes. */
enum asking { NOT_ASKED, ASKED, KNOWN };

/* Asks about a process that stands at its start. */
enum asking questions_preview(struct questions *questions, pid_t process);
/* Whether a text runs as it is, as which it then counts; takes it. */
enum asking questions_allow(struct questions *questions, pid_t process, struct bytes *text);
/* The same for its verdict; false: an answer will not come. */
bool questions_judge(struct questions *questions, pid_t process,
                     const struct bytes *text);
/* What was asked about a process that waits for its verdict; NULL: nothing. */
const struct bytes *questions_asked(const struct questions *questions, pid_t process);
/* Takes an answer; false: there is none. What a verdict is about is known until it is
 * forgotten. */
bool questions_answered(struct questions *questions, pid_t *process,
                        struct told_of *answer);
void questions_forget(struct questions *questions, pid_t process);
