/* What would run before the command, or could be judged as another. */
#pragma once

#include <stdbool.h>

/* Whether a variable, NAME=VALUE, is taken out. */
bool is_unsafe(const char *entry);
/* Whether another stands before it among variables that each end with NUL. */
bool is_repeated(const char *variables, const char *entry);
void clean_environment(void);
void drop_repeated(void);
