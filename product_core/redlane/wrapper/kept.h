/* The daemon's own files, which no session changes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rule.h"
#include "walk.h"

struct kept;

extern const struct rule kept_rule;

struct kept *kept_prepare(const char *const *paths, size_t count);

/* What is to become of a spot. */
enum touch {
    MADE,     /* it is an empty directory from then on */
    CHANGED,  /* it is made, or written to, or gets a second name */
    REPLACED, /* it is taken away, or others can change it from then on */
};

/* Whether that would change one of the files, or take away what leads to them. */
bool kept_touched(struct kept *kept, const struct caller *caller,
                  const struct spot *spot, enum touch touch);
