/* The mounts that were there before a session: of the others it may have made each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

void mounts_note(void);
bool mounts_are_old(int file);
uint64_t mounts_number(int file);
bool mounts_is_root(int file);
bool mounts_are_same(int one, int other);
bool mounts_root_born(int file, struct timespec *born);
bool mounts_hide(pid_t process, int file);
