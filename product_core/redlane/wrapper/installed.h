/* Scripts that are installed programs. */
#pragma once

#include "locate.h"

#include <stdbool.h>

/* What the name begins with by which the guarded shell is called for a script: "script-sh". */
/* What stands before its name where it finds other files than redlane-run does. */
#define APART_NAME "apart-"
#define SCRIPT_NAME "script-"

bool installed_script(const struct place *place, const char *given, const char *seen);
