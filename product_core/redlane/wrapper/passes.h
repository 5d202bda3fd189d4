/* Commands that are known to pass. */
#pragma once

#include "bytes.h"

#include <stdbool.h>

struct passes;

struct passes *passes_prepare(void);
/* Whether it is known of a command that it passes, and that holds. */
bool passes_have(struct passes *passes, const struct bytes *command);
/* Keeps that it passes for as long as a lease lasts, which is taken over. */
void passes_keep(struct passes *passes, const struct bytes *command, int lease);
