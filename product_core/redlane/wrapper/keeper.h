/* Answers for the calls that the leash has told, but for the starts of programs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kept.h"
#include "report.h"

struct keeper;

struct keeper *keeper_start(int listener, struct kept *kept,
                            const struct reporter *reporter);
int keeper_starts(const struct keeper *keeper);
bool keeper_take_start(const struct keeper *keeper, uint64_t *id, int32_t *thread);
