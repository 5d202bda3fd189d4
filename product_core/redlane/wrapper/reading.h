/* Opens a file for reading in its caller's place, where nothing is in the way. */
#pragma once

#include <stdbool.h>

#include "asked.h"
#include "hidden.h"

/* Whether a call opens a file for nothing but reading. */
bool reading_is(const struct asked *asked, const struct seccomp_data *data);

/* Opens it: an errno, and 0 with the file in `file`. READING_UNSURE: the call has to be
 * looked at in full. */
enum { READING_UNSURE = -1 };
int reading_open(const struct hidden *hidden, const struct asked *asked,
                 const struct seccomp_data *data, pid_t thread, int *file);
