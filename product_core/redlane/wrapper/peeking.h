/* Processes of the session that look into others: not into those that may read what is
 * hidden, nor into the guarded shell. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "asked.h"

/* `owners`: the names of those between colons; `shell`: the guarded one, open. */
void peeking_prepare(const char *owners, int shell);
/* A process, and what it starts itself, are not looked into from now on. */
void peeking_close(pid_t process);
/* A thread is about to: an errno that this is to fail with; 0: it may, and does so from
 * then on. */
int peeking_take(pid_t thread, const struct asked *asked, const struct seccomp_data *data);
/* Whether anybody of the session has ever looked into another. */
bool peeking_has_begun(void);
/* One of those stands and has not run: whether nobody is looking into
 * what it was before. Those that ask meanwhile wait. */
bool peeking_is_over(void);
