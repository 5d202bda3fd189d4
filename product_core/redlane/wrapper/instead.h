/* Programs that cannot ask for themselves. */
#pragma once

#include "images.h"
#include "questions.h"

#include <stdbool.h>
#include <sys/types.h>

/* UNJUDGED: it may run as it is, and what it starts is asked about. */
enum instead { INSTEAD_ASKED, INSTEAD_UNJUDGED, INSTEAD_REFUSED };

/* Asks for a process that stands at its start; one that is refused has been told why. */
enum instead instead_ask(struct questions *questions, pid_t process,
                         const struct started *started);
/* Whether a process is still about to run what was asked; then only that is done. */
bool instead_is_ready(const struct questions *questions, pid_t process,
                      const struct started *started);

