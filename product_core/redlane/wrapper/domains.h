/* Landlock domains that programs of the session put on themselves. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { MOST_DOMAINS = 16 }; /* the kernel allows a program no more */

/* A thread is about to put one on: `number` is its ruleset, as it knows it. An errno that
 * this is to fail with; 0: it may. */
int domains_add(pid_t thread, int number, unsigned flags);

/* A thread is about to add to a ruleset: the same. */
int domains_check(pid_t thread, int number);

/* Whether there is one at all. */
bool domains_are_there(void);

/* The rulesets that hold a thread, the first first, to be closed; how many. More than
 * there is room for: it cannot be told. */
size_t domains_of(pid_t thread, int rulesets[MOST_DOMAINS]);
