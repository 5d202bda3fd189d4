/* Where a path leads that a thread of the session gives to the kernel. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "mounts.h"

/* Who calls, as far as paths go. */
struct caller {
    pid_t thread;
    int root; /* its root directory */
    bool is_bound; /* by rules of its own: it reaches no other process of the session */
    int from[2], number[2]; /* directories taken beforehand, and what they are called */
};

/* A name in a directory, and what is there. The end that a path without a name has is
 * ".", ".." or "/". */
struct spot {
    int parent;                /* NONE where it was reached without a name */
    char name[NAME_MAX + 1];   /* "" where it is the directory itself */
    const char *end;           /* what the path has after it: "/", or ""; or instead */
    int object;                /* what is there; -1: nothing is */
    bool is_by_proc;           /* a link of /proc was followed on the way */
    struct stat about;         /* of the object */
    uint64_t mount;            /* by which that is reached (mounts.h) */
    struct look around;        /* at the parent */
    unsigned long system; /* the file system of the object, or else of the parent; 0: nobody
                           * knows */
    bool is_nameless;          /* the object has no name in any directory: it never had one,
                                * or has none any more */
};

enum { HERE = -100 }; /* AT_FDCWD */

/* Without a root, which a caller needs that gives paths. */
void caller_take(struct caller *caller, pid_t thread);

/* These tell by an errno, 0 for success, why they cannot. */
int caller_find_root(struct caller *caller);
/* Takes a directory of its descriptors beforehand: by the rights of this process. */
void caller_hold(struct caller *caller, int number);
/* What a descriptor of its stands for, for looking; -1 and errno. */
int caller_open(const struct caller *caller, int number);
void caller_leave(struct caller *caller);
int caller_string(const struct caller *caller, uint64_t address, char *text, size_t size);
int caller_bytes(const struct caller *caller, uint64_t address, void *bytes, size_t size);

/* What becomes of a link at the end of a path. */
enum end {
    END_NAMED,  /* it is the end */
    END_STAYS,  /* the same, but for a slash after it */
    END_FOLLOWED,
};

/* Once, before any. */
void walk_prepare(void);
/* Finds the spot of a path. */
int walk_path(const struct caller *caller, int directory, const char *path, enum end end,
              struct spot *spot);
/* Finds the spot of what a descriptor of the caller's stands for. */
int walk_open(const struct caller *caller, int number, struct spot *spot);
void spot_leave(struct spot *spot);
/* Whether something has been mounted where its name is. */
bool spot_is_mounted(const struct spot *spot);
/* Whether the object is of a /proc, for all that is known. */
bool spot_is_of_proc(const struct spot *spot);
