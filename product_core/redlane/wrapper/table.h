/* What is kept by paths, as it was when it was looked up. */
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "bytes.h"
#include "mounts.h"

enum { BESIDE = 64 };

struct identity {
    dev_t device;
    ino_t inode;
};

/* A name that is kept, and what is there. */
struct entry {
    struct identity directory, object;
    bool is_way; /* a directory, not there yet, that others are to be kept in */
    char name[NAME_MAX + 1];
};

/* What was there when it was looked up; it stays as long as somebody uses it. */
struct table {
    size_t users;
    bool is_deep;     /* it has the content */
    bool is_complete; /* all of it */
    long fresh;       /* for so many milliseconds */
    struct timespec looked, since; /* by the one clock and by that of files */
    struct bytes ways;    /* paths of directories that are not there and may be made */
    struct bytes entries; /* an array of struct entry */
    struct bytes above;   /* of struct identity: what leads there */
    struct bytes content; /* the same, in order: all that lies below */
    pthread_mutex_t lock; /* of the following */
    struct beside {
        struct identity directory;
        struct timespec born;
        uint64_t mount;
    } beside[BESIDE];
};

struct identity identity_of(const struct stat *about);
bool identity_is(struct identity one, struct identity other);

/* Of `paths`; `is_deep`: with all that lies below them. One is using it. */
struct table *table_make(const char *const *paths, size_t count, bool is_deep);
void table_leave(struct table *table);
bool table_is_fresh(const struct table *table);

/* NULL beyond the last. */
const struct entry *table_entry(const struct table *table, size_t number);
/* Whether a directory leads to what is kept. */
bool table_leads(const struct table *table, struct identity object);
/* Whether a directory is known to be none of them, nor to lie below any. */
bool table_is_beside(struct table *table, const struct look *directory);
void table_put_beside(struct table *table, const struct look *directory);
/* Whether it lies below a path. */
bool table_has(const struct table *table, struct identity object);
