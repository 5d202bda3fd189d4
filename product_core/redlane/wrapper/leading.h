/* Leads connections of the session's into its proxy. */
#pragma once

#include "call.h"

enum { LEADING_REFUSED = -3 };

/* What is asked again and again about a caller: whether it is still there; and whether no
 * signal is there for it that it handles. */
struct leading_caller {
    bool (*is_there)(const void *), (*is_wanted)(const void *);
    const void *about;
};

/* Connects a call's socket to where it leads, by the proxy. An errno, 0 for success, or as
 * connecting_do; LEADING_REFUSED: the proxy says no, and `call` has why. */
int leading_do(struct call *call, const struct leading_caller *caller);
