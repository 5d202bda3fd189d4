/* The places where a session may change files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "request.h"
#include "rule.h"

struct call;
struct places;

/* Canonical paths, each list with NULL at its end. */
struct places_given {
    const char **writable, **closed; /* closed: exceptions within others */
    const char **tops;               /* by whose names places are found again */
};

extern const struct rule places_rule;

struct places *places_prepare(struct places_given given, const struct daemon *daemon);

/* Whether a call would change anything elsewhere: which of its spots that is. A call that
 * only reads may be made one that can do nothing else. */
bool places_are_left(struct places *places, struct call *call, size_t *which);
