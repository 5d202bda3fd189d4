/* Whether programs of the session see other files by the same paths. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* One is about to. */
void apart_note(void);
/* Whether a thread may. */
bool apart_is(pid_t thread);
