/* Files that the shell would run before the command. */
#pragma once

#include "locate.h"
#include "options.h"

void judge_startup(struct invocation *invocation, const struct place *place);
