/* A program that is being started, made to become the guarded shell. */
#pragma once

#include "images.h"
#include "starts.h"

#include <stdbool.h>
#include <stdint.h>

bool become_shell(struct start *start, const struct started *started, uint64_t token);
/* A shell in the place of a guarded one, which another asks for. */
bool become_real(struct start *start, uint64_t token);
bool become_asking(struct start *start, uint64_t token);
bool becoming_give(const struct start *start, int listener, uint64_t id, int shell);
