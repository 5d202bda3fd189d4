/* Answers for the calls that the leash has told, but for the starts of programs. */
#pragma once

#include "bounds.h"
#include "request.h"

int keeper_start(int listener, const struct bounds *bounds, const struct daemon *daemon,
                 const char *owners);
