/* By which paths a file was reached before the session began. */
#pragma once

#include "bytes.h"
#include "walk.h"

enum reach {
    REACHED,   /* by these paths */
    IN_MEMORY, /* it is in a file system that the session has made, and in memory */
    UNREACHED, /* by none, or nobody knows */
};

struct reached {
    enum reach reach;
    struct bytes paths;       /* each ends with NUL */
    char inside[2 * PATH_MAX]; /* the path within its file system */
};

/* To be done before anything of the session runs. */
void reached_note(void);
/* Where the mounts are that were there then, by numbers from 0; NULL beyond the last. */
const char *reached_point(size_t number);
/* Whether a path that a file has now is where its mount was then: it has not been taken away. */
bool reached_is_there(int file, uint64_t mount, const char *path);
/* Adds the other paths that a path had then, each with NUL at its end. */
void reached_aliases(const char *path, struct bytes *paths);
/* Of a file and the number of the mount that it is reached by (mounts.h); to be left. */
void reached_find(const struct caller *caller, int file, uint64_t mount,
                  struct reached *reached);
void reached_leave(struct reached *reached);
