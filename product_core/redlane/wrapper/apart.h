/* Whether programs of the session see other files by the same paths. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* From now on it is told of whatever takes one there. */
void apart_is_told(void);
/* One is about to. */
void apart_note(void);
/* Whether any may have been, or root of the session may have moved the mounts of all. */
bool apart_has_begun(void);
/* Whether a thread may. */
bool apart_is(pid_t thread);
/* Whether a process finds under each path what this one does. */
bool apart_sees_our_files(pid_t process);
