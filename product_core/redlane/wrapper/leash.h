/* What holds every process of a session, with nobody to ask. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>

/* What a session's supervisor is asked about: each has what the one before has. */
enum asks {
    ASKS_STARTS, /* of programs */
    ASKS_FILES,  /* and calls that change files */
    ASKS_PLACES, /* nothing changes them past that */
};

struct sock_fprog leash_filter(enum asks asks);
void leash_put_on(void);
