/* The mounts that were there before a session: of the others it may have made each. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

void mounts_note(void);
bool mounts_are_old(int file);
/* A file, and by which mount it is reached: by its number it is told whether that is old. */
struct look {
    struct stat about; /* but for the times */
    struct timespec born; /* 0: that is not known */
    uint64_t mount;
};
/* False and errno: that cannot be told. */
bool mounts_look(int file, struct look *look);
bool mounts_have(uint64_t number);
/* By which mount a path, or what is there of it, is reached, and of which device it is. */
struct origin {
    uint64_t mount; /* as a look has it; 0: there is nothing of it */
    dev_t device;
};
struct origin mounts_origin(const char *path);
uint64_t mounts_number(int file);
bool mounts_is_root(int file);
/* What a file's mount is the root of within its file system, as a thread's namespace has
 * it, and the device; false: the kernel does not tell (Linux 6.11). */
bool mounts_tell_root(pid_t thread, int file, char root[PATH_MAX], dev_t *device);
bool mounts_are_same(int one, int other);
bool mounts_root_born(int file, struct timespec *born);
bool mounts_hide(pid_t process, int file);
