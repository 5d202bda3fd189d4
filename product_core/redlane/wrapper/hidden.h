/* What a session may not read, but by the programs that own it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "rule.h"

struct call;
struct hidden;

/* Each list with NULL at its end. */
struct hidden_given {
    const char **places; /* OWNERS=PATH: names of programs between colons, a canonical path */
    const char **shown;  /* paths within those that are not hidden */
    const char **sockets; /* as the first, of what is not connected to; `*` ends a beginning */
};

extern const struct rule hidden_rule, unreachable_rule; /* the second of sockets */

/* `filters` hold the calls of the session's programs from its start. */
struct hidden *hidden_prepare(struct hidden_given given, long filters);

/* Whether a canonical path is hidden, whoever owns it. */
bool hidden_holds(const struct hidden *hidden, const char *path);
/* Whether something hidden is, or would be, on a device, and is reached by a mount. */
bool hidden_may_be_on(const struct hidden *hidden, dev_t device);
bool hidden_is_reached_by(const struct hidden *hidden, unsigned long long mount);

/* Whether a call would show something hidden, or give it another path: which of its spots
 * that is. */
bool hidden_is_touched(const struct hidden *hidden, struct call *call, size_t *which);
