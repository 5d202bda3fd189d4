/* A script that is no file the daemon could open. */
#pragma once

#include <stdbool.h>

#include "bytes.h"

bool read_script(int descriptor, struct bytes *script, bool may_stall);
