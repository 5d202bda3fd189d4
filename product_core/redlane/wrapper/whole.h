/* Shells whose line says whole what they run. */
#pragma once

#include "bytes.h"
#include "images.h"

#include <stdbool.h>
#include <sys/types.h>

/* Adds the question about a shell that stands at its start; false: the guarded shell has to
 * ask, and to call it otherwise. */
bool whole_question(pid_t process, const struct started *started, struct bytes *text);
