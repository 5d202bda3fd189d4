/* Opens a file for more than reading in its caller's place. */
#pragma once

#include "call.h"

/* Fills the call's `file`; an errno, 0 for success. While it waits for the other end of a
 * pipe it asks `is_wanted` whether it still should. */
int opening_do(struct call *call, bool (*is_wanted)(const void *), const void *about);
