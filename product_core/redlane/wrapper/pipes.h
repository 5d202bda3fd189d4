/* Pipes with names are opened for both ends at once: who opens one waits for the other. */
#pragma once

#include <stdbool.h>

/* Once, before any. */
void pipes_prepare(void);

/* Opens with `open`, which fails with ENXIO as long as nobody reads what `object` is. Both
 * return its errno; EINTR: it `is_wanted` no more. */
int pipe_open_writing(int (*open)(void *), void *argument, int object,
                      bool (*is_wanted)(const void *), const void *about);
/* Opens with `open`, which waits until somebody writes, and is done again and again. It is
 * to do so within pipe_for_a_while. */
int pipe_open_reading(int (*open)(void *), void *argument, bool (*is_wanted)(const void *),
                      const void *about);
/* What `deed` returns: EINTR where it waits for long. */
int pipe_for_a_while(int (*deed)(void *), void *argument);
