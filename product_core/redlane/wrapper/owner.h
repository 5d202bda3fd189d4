/* Which program a thread runs: one that may read what is hidden. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The session begins: so many filters hold its programs' calls. */
void owner_prepare(long filters);
/* Whether it is an installed program of one of the names between colons. */
bool owner_is(const char *names, size_t length, pid_t thread);
/* The same by nothing but where it lies: some of those are none. */
bool owner_may_be(const char *names, pid_t process);
