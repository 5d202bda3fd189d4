/* The programs that are being started. */
#pragma once

#include "alone.h"
#include "bytes.h"
#include "judged.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* STARTING: seized, its start under way. PARTING: made to be alone. WAITING: a program, until it is known whether
 * its command passes. BECOMING: made to become the guarded shell. LEAVING: asked to
 * stop, to be let go. ENDING: made to end. */
enum state { STARTING, PARTING, WAITING, BECOMING, LEAVING, ENDING };

struct start {
    pid_t thread;
    long process; /* whose thread that is */
    enum state state;
    int shell_descriptor;   /* by which it becomes the guarded shell */
    int real;               /* an open shell that it becomes in that one's place; or -1 */
    int program;            /* what that asks for, an open file; -1: for a text */
    int program_descriptor; /* by which it has that */
    struct starter by;
    struct started started; /* what waits for a verdict, if it does */
    bool is_instead;        /* that is asked for in its place */
    struct alone *alone;    /* a shell whose line says whole what it runs; or NULL */
    struct bytes text;      /* of that */
    int looks;    /* at which it was there already */
    long patience; /* looks after which no verdict is waited for */
    bool is_left; /* stopped in the middle, and seized no longer */
};

struct starts {
    struct start *each;
    size_t count, room;
};

struct start *starts_find(struct starts *starts, pid_t thread);
struct start *starts_add(struct starts *starts, pid_t thread);
void starts_forget(struct starts *starts, pid_t thread);
struct start *starts_rename(struct starts *starts, pid_t thread, pid_t process);
bool starts_have_other(const struct starts *starts, pid_t thread, long process);
