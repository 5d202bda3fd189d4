/* Scripts that are installed programs. */
#pragma once

#include "locate.h"

#include <stdbool.h>

/* What the name begins with by which the guarded shell is called for a script: "script-sh". */
#define SCRIPT_NAME "script-"

bool installed_script(const struct place *place, const char *given, const char *seen);
