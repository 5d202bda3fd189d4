/* Answers for the calls that the leash has told, but for the starts of programs. */
#pragma once

#include "kept.h"
#include "report.h"

int keeper_start(int listener, struct kept *kept, const struct reporter *reporter);
