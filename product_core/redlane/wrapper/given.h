/* What redlane-run is started with. */
#pragma once

#include "hidden.h"
#include "leash.h"
#include "places.h"

#include <stdbool.h>
#include <stddef.h>

struct given {
    const char *socket, *id, *filter, *owners;
    bool is_bound, is_judged;
    char **command;
    const char **kept; /* paths */
    size_t kept_count;
    bool is_placed; /* it changes files in places only */
    struct places_given places;
    struct hidden_given hidden;
    struct asks asks;
};

/* Reads the words of a command line; ends with a line where they are none. */
void given_read(struct given *given, int argc, char **argv);
