/* Programs that may read what others may not: no variable has them run others' code. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

bool secure_owner(pid_t process);
