/* A program that has just been started: its stack, and making it become another. */
#pragma once

#include "images.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { LONGEST_NAME = 4096 }; /* that another can be given, with its end */

bool program_stack(pid_t process, unsigned long *stack);
bool program_word(pid_t process, unsigned long at, unsigned long *word);
bool program_exit(pid_t process, int status);
/* `leaves`: it is traced no longer, and stays stopped where it is. */
bool redirect(pid_t process, const struct started *started, int descriptor,
              uint64_t token, bool leaves);
