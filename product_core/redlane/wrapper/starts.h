/* The programs that are being started. */
#pragma once

#include "judged.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* STARTING: seized, its start under way. WAITING: a program, until it is known whether
 * its command passes. BECOMING: made to become the guarded shell. LEAVING: asked to
 * stop, to be let go. */
enum state { STARTING, WAITING, BECOMING, LEAVING };

struct start {
    pid_t thread;
    long process; /* whose thread that is */
    enum state state;
    int shell_descriptor;   /* by which it becomes the guarded shell */
    int program;            /* what that asks for, an open file; -1: for a text */
    int program_descriptor; /* by which it has that */
    struct starter by;
    int looks;    /* at which it was there already */
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
