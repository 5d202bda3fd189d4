/* What a program was started as, written as a command. */
#pragma once

#include "bytes.h"

#include <stddef.h>

void command_line_add(struct bytes *text, const char *program, const char *words,
                      size_t length);
