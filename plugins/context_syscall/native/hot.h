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
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/* ---- rulings.c: what was allowed before ---- */

/* A call as policies see it; without a canonical path where nothing is. Of a call with
 * two paths both stand there, the NUL of the first between them. */
struct subject {
    int number;
    bool changes; /* what is there, or that nothing is */
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

/* Whether it may have one more open file, as far as that can be told at once. */
bool has_room(uint32_t thread);

/* Be as its umask says, in this thread, for what is made; the one of before, or -1. */
int take_umask(uint32_t thread);

/* ---- paths.c: where a path leads ---- */

/* A name in a directory, which is held by O_PATH and may be written to. */
struct entry {
    int directory;
    struct stat about; /* the directory */
    const char *name;
};

struct hot;

/* The file pinned, and whether the path has no links in it; -1 with errno. */
int pinned(int from, const char *path, uint32_t flags, bool *is_direct);

/* Whether a file's file system is one whose opens have no effect and wait for no peer. */
bool is_on_plain_device(struct hot *hot, int pin, dev_t device);

/* The path of what is pinned: its length; 0 where it has none, or one that is not plain. */
size_t canonical_path(const struct hot *hot, int pin, const char *literal, size_t length,
                      bool is_direct, char path[PATH_MAX]);

/* The entry that a path names, whether or not anything is there, and its canonical path;
 * false for what is not plain. The directory is to be closed unless it is -1. */
bool placed(struct hot *hot, int from, const char *literal, struct entry *entry,
            char path[PATH_MAX], size_t *length);

/* ---- serving.c: from the registers to the answer ---- */

enum { KNOWN_DEVICES = 16 };

enum outcome {
    ANSWERED,
    ASK,        /* plain, and nobody has ruled on it yet: literal, canonical, pin */
    PASS_ON,    /* for Python to do from the start: nothing has been done */
    INTERRUPTED /* nothing was received */
};

enum deed { OPEN, MAKE, MAKE_DIRECTORY, REMOVE, RENAME };

/* What is held of it is held until it is answered, or passed on. */
struct call {
    struct seccomp_notif notification;
    struct subject subject;
    uint64_t epoch;
    enum deed deed;
    uint32_t flags, mode; /* as its registers have them */
    bool is_directory;
    int pin; /* what is to be opened, as O_PATH; -1: nothing is there (ENOENT) */
    struct entry entries[2];
    char literal[2 * PATH_MAX], canonical[2 * PATH_MAX];
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
 * time; waits for nothing but the next call, the memory of callers, and disks. */
enum outcome hot_serve(struct hot *hot, struct call *call);

/* Answer what was asked about last; false where Python has to do it from the start. */
bool hot_allow(struct hot *hot, struct call *call, bool lasts);

/* ---- answering.c: what is held, told and given ---- */

/* Close it, unless it is none, and know that it is. */
void close_held(int *descriptor);
/* Begin without, and end with whatever a call holds. */
void hold_nothing(struct call *call);
void let_go(struct call *call);

/* Whether the caller still waits: then all that was read of it was its own. To be asked
 * before anything is changed. */
bool is_waiting(const struct hot *hot, const struct call *call);

/* The caller goes on, and nothing of it is held any more: it may unmount what it is on. */
enum outcome respond(const struct hot *hot, struct call *call, int value, int reason);

/* The number that a file gets in the caller's table; -1 with errno. */
int handed_in(const struct hot *hot, const struct call *call, int file);

/* ---- opening.c: a file that is there, or that comes to be ---- */

/* Find what is to be opened, and have it ruled on with `subject`; or another outcome. */
enum outcome find_opened(struct hot *hot, struct call *call, int from);
enum outcome give_opened(const struct hot *hot, struct call *call);
enum outcome give_made(const struct hot *hot, struct call *call);

/* ---- entries.c: a directory made, a name that goes, or comes to be another ---- */

enum outcome find_entry(struct hot *hot, struct call *call, int from);
enum outcome find_renamed(struct hot *hot, struct call *call, int from, int to);
enum outcome give_changed(const struct hot *hot, struct call *call);

#endif
