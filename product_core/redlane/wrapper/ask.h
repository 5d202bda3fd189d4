/* One question to the daemon. */
#pragma once

#include "answer.h"
#include "bytes.h"
#include "locate.h"

#include <stdbool.h>

enum { SCRIPT_MAX = 8 * 1024 * 1024 }; /* bytes of a command or script that is judged */

/* Whether a command passes as it is; of that nothing is written down. */
bool passes(const struct place *place, const struct bytes *question);
void ask(const struct place *place, const struct bytes *question,
         struct answer *answer);
