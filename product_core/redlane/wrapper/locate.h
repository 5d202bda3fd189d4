/* Which daemon to ask. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct place {
    char socket[PATH_MAX]; /* the control socket; the wrapper's own lies beside it */
    long supervisor;       /* of the session; 0: the question is asked outside of one */
    double timeout;        /* seconds after which no answer is waited for */
};

long session_supervisor(void);
void locate(struct place *place);
bool own_directory(char *directory, size_t size);
