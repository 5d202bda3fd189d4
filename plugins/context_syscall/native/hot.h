/* The part of the loop that answers plain calls without Python; see module.c. */
#ifndef HOT_H
#define HOT_H

#include <linux/limits.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* ---- rulings.c: what was allowed before ---- */

/* A call as policies see it; without a canonical path where nothing is. */
struct subject {
    int number;
    bool writes;
    const char *literal, *canonical;
    size_t literal_length, canonical_length;
};

struct rulings {
    pthread_mutex_t lock;
    struct ruling *kept; /* WAYS to a bucket */
    uint64_t epoch;      /* counts how often all was forgotten */
};

bool rulings_init(struct rulings *rulings);
void rulings_free(struct rulings *rulings);

/* Whether such a call was allowed; the epoch in which that was looked up. */
bool rulings_hold(struct rulings *rulings, const struct subject *subject, uint64_t *epoch);

/* Keep that such a call is allowed, unless all was forgotten since that epoch. */
void rulings_add(struct rulings *rulings, const struct subject *subject, uint64_t epoch);

void rulings_forget(struct rulings *rulings);

/* ---- caller.c: what belongs to the process that calls ---- */

enum { KNOWN_THREADS = 256 };

struct threads {
    struct {
        uint32_t id;
        int pidfd;
    } known[KNOWN_THREADS];
    bool by_path; /* this kernel has no descriptors of single threads (before 6.9) */
};

void threads_init(struct threads *threads);
void threads_free(struct threads *threads);

/* The string at an address of a thread: its length without the NUL; -1 when it cannot be
 * read or is no path. */
ssize_t read_path(pid_t thread, uint64_t address, char path[PATH_MAX]);

/* A descriptor of ours for a directory that a thread has open, or for its working
 * directory with AT_FDCWD; -1 when there is none. */
int directory_of(struct threads *threads, uint32_t thread, int number);

/* ---- opening.c: a plain open, from its registers to the answer ---- */

enum { KNOWN_DEVICES = 16 };

enum outcome {
    ANSWERED,
    ASK,        /* plain, and nobody has ruled on it yet: literal, canonical, pin */
    PASS_ON,    /* for Python to do from the start: nothing has been done */
    INTERRUPTED /* nothing was received */
};

struct call {
    struct seccomp_notif notification;
    struct subject subject;
    uint64_t epoch;
    uint32_t flags;
    bool is_directory;
    int pin; /* what the path leads to, as O_PATH, to be closed by whoever is asked;
              * -1: nothing is there (ENOENT) */
    char literal[PATH_MAX], canonical[PATH_MAX];
};

struct hot {
    int listener;
    bool polls;      /* waiting for calls does not end with the tree (before 6.11) */
    int descriptors; /* /proc/self/fd */
    int mounts;      /* /proc/self/mountinfo, which tells of changes */
    struct rulings rulings;
    struct threads threads;
    struct {
        dev_t number;
        time_t until; /* in seconds of CLOCK_MONOTONIC */
    } devices[KNOWN_DEVICES]; /* of plain file systems */
    atomic_bool stands_down;      /* everything is for Python */
    /* For whoever watches that no call hangs here: reading a caller's memory may wait. */
    _Atomic uint64_t under_way; /* the call that is being answered; 0: none */
    atomic_ulong calls;         /* how many there have been */
    atomic_int wake;            /* an eventfd to write to at the next call; -1: none */
};

bool hot_init(struct hot *hot, int listener, bool polls);
void hot_free(struct hot *hot);

/* Receive calls and answer them, until one is not to be answered here. One thread at a
 * time; waits for nothing but the next call, and for the memory of callers. */
enum outcome hot_serve(struct hot *hot, struct call *call);

/* Answer what was asked about last; false where Python has to do it from the start. */
bool hot_allow(struct hot *hot, const struct call *call, bool lasts);

#endif
