/* A call of which the kernel has told, and its answer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct notified {
    int listener;
    uint64_t id;
    pid_t thread;
};

/* Whether it still waits. */
bool notified_is_there(const struct notified *call);
void notified_respond(const struct notified *call, int value, int error);
/* The kernel does what it asks for: as it asks then. */
void notified_let_go_on(const struct notified *call);
/* Gives the caller a file: the number that it has it by, or an errno below zero. `place`: of
 * the caller's own that it takes the place of, and then 0; below zero: it takes none. */
int notified_hand_over(const struct notified *call, int file, uint64_t flags, int place);
