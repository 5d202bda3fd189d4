/* A program that asks before it runs. */
#pragma once

#include <stdbool.h>
#include <string.h>

#define PROGRAM_NAME "program-"

static inline bool is_program(const char *called) {
    return strncmp(called, PROGRAM_NAME, strlen(PROGRAM_NAME)) == 0;
}

_Noreturn void judge_program(char **argv);
