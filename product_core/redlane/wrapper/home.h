/* Whose files a shell runs at its start. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Below the home, each if it is there; NULL at the end. */
extern const char *const startup_files[];

/* Whether a home is the user's own, as passwd(5) has it; NULL: none is named. */
bool home_is_own(const char *home);
bool home_is_of(uid_t user, const char *home);
/* A user's; false: that cannot be told. */
bool home_of_user(uid_t user, char *home, size_t size);
