/* Where a path leads that a thread of the session gives to the kernel. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Who calls, as far as paths go. */
struct caller {
    pid_t thread;
    int root; /* its root directory */
};

/* A name in a directory, and what is there. */
struct spot {
    int parent;                /* NONE where it was reached without a name */
    char name[NAME_MAX + 1];   /* "" where it is the directory itself */
    int object;                /* what is there; -1: nothing is */
    struct stat about;         /* of the object */
};

enum { HERE = -100 }; /* AT_FDCWD */

/* These tell by an errno, 0 for success, why they cannot. */
int caller_take(struct caller *caller, pid_t thread);
void caller_leave(struct caller *caller);
int caller_string(const struct caller *caller, uint64_t address, char *text, size_t size);
int caller_bytes(const struct caller *caller, uint64_t address, void *bytes, size_t size);

/* Finds the spot of a path; `follow`: a link at its end is no end. */
int walk_path(const struct caller *caller, int directory, const char *path, bool follow,
              struct spot *spot);
/* Finds the spot of what a descriptor of the caller's stands for. */
int walk_open(const struct caller *caller, int number, struct spot *spot);
void spot_leave(struct spot *spot);
