/* A plain open done in the caller's place, step for step as Python does it.
 *
 * Plain: a regular file or directory of an ordinary file system, or a name in one where
 * nothing is yet. What is there is found in what the kernel has cached alone, and then
 * nothing here waits for a disk, a server or a peer. */
#define _GNU_SOURCE
#include "hot.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { KERNEL_LARGEFILE = 0100000, RIGHTS = 07777 };

/* O_PATH, O_TMPFILE and what is rare are not among them. */
static const uint32_t PLAIN_FLAGS = O_ACCMODE | O_APPEND | O_CLOEXEC | O_DIRECTORY |
                                    O_DSYNC | KERNEL_LARGEFILE | O_NOCTTY | O_NOFOLLOW |
                                    O_NONBLOCK | O_SYNC;
static const uint32_t MAKING_FLAGS = O_CREAT | O_EXCL | O_TRUNC;

static bool writes(uint32_t flags) {
    return (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
}

static bool are_plain(uint32_t flags) {
    /* What is opened by its name is known when it is open, and that is too late then. */
    bool is_by_name = flags & O_NOFOLLOW && flags & O_TRUNC;
    if ((flags & O_ACCMODE) == O_ACCMODE || is_by_name) return false;
    return !(flags & ~(flags & O_DIRECTORY ? PLAIN_FLAGS : PLAIN_FLAGS | MAKING_FLAGS));
}

/* ---- what is to be opened ---- */

static enum outcome find_pinned(struct hot *hot, struct call *call, bool is_direct) {
    struct stat about;
    if (fstat(call->pin, &about)) return PASS_ON;
    call->is_directory = S_ISDIR(about.st_mode);
    if (call->is_directory && call->subject.changes) return PASS_ON; /* it will fail */
    if ((!call->is_directory && !S_ISREG(about.st_mode)) ||
        !is_on_plain_device(hot, call->pin, about.st_dev))
        return PASS_ON;
    call->subject.canonical_length =
        canonical_path(hot, call->pin, call->literal, call->subject.literal_length,
                       is_direct, call->canonical);
    return call->subject.canonical_length ? ASK : PASS_ON;
}

static enum outcome find_existing(struct hot *hot, struct call *call, int from) {
    bool is_direct;
    call->pin = pinned(from, call->literal, call->flags, &is_direct);
    if (call->pin >= 0) return find_pinned(hot, call, is_direct);
    if (errno != ENOENT || !is_direct) return PASS_ON;
    call->subject.changes = false;
    return ASK;
}

/* The file at the end of a path that may be made: the name itself, no link followed. In a
 * sticky directory it is for the kernel to say whether such an open may have what is there
 * (proc_sys_fs(5), protected_regular). */
static enum outcome find_unmade(struct call *call, const struct entry *entry) {
    struct stat about;
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
                           .resolve = RESOLVE_NO_SYMLINKS};
    call->pin = (int)syscall(__NR_openat2, entry->directory, entry->name, &how, sizeof how);
    if (call->pin < 0) {
        if (errno != ENOENT) return PASS_ON;
        call->deed = MAKE;
        call->subject.changes = true;
        return ASK;
    }
    if (call->flags & O_EXCL || entry->about.st_mode & S_ISVTX ||
        fstat(call->pin, &about) || !S_ISREG(about.st_mode) ||
        about.st_dev != entry->about.st_dev)
        return PASS_ON;
    call->is_directory = false;
    return ASK;
}

enum outcome find_opened(struct hot *hot, struct call *call, int from) {
    struct entry *entry = &call->entries[0];
    if (!are_plain(call->flags)) return PASS_ON;
    call->subject.changes = writes(call->flags);
    if (!(call->flags & O_CREAT)) return find_existing(hot, call, from);
    if (!placed(hot, from, call->literal, entry, call->canonical,
                &call->subject.canonical_length))
        return PASS_ON;
    return find_unmade(call, entry);
}

/* ---- the answer ---- */

/* With O_NOFOLLOW, which the open file shows, the kernel's own link to the pin cannot be
 * used: the name is, and what it opens has to be what was pinned. */
static int reopen_by_name(int pin, const char *canonical, uint64_t flags) {
    struct open_how how = {.flags = flags, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_CACHED};
    struct stat judged, opened;
    int file = (int)syscall(__NR_openat2, AT_FDCWD, canonical, &how, sizeof how);
    if (file < 0) return -1;
    if (!fstat(pin, &judged) && !fstat(file, &opened) && judged.st_dev == opened.st_dev &&
        judged.st_ino == opened.st_ino)
        return file;
    close(file);
    errno = ESTALE;
    return -1;
}

static int reopen_by_pin(const struct hot *hot, int pin, int flags) {
    char number[16];
    snprintf(number, sizeof number, "%d", pin);
    return openat(hot->descriptors, number, flags);
}

static int ours(const struct call *call) {
    return (int)(call->flags & ~(uint32_t)KERNEL_LARGEFILE) | O_CLOEXEC | O_NOCTTY;
}

/* The pinned file opened with the caller's flags; -1 with errno. */
static int reopened(const struct hot *hot, const struct call *call) {
    int flags = ours(call) & ~(O_CREAT | O_EXCL);
    if (call->is_directory) {
        int file = openat(call->pin, ".", flags); /* quicker; asks for more permission */
        if (file >= 0) return file;
    }
    flags |= O_NONBLOCK; /* a lease on it would have the opener wait for its holder */
    /* By its name is quicker; nothing is emptied before it is known for what was pinned. */
    bool is_by_name = !(flags & O_TRUNC);
    int file = is_by_name ? reopen_by_name(call->pin, call->canonical, (uint64_t)flags) : -1;
    if (file < 0 && !(flags & O_NOFOLLOW)) file = reopen_by_pin(hot, call->pin, flags);
    if (file < 0 || call->flags & O_NONBLOCK) return file;
    if (fcntl(file, F_SETFL, flags & O_APPEND) == 0) return file;
    close(file);
    return -1;
}

/* What is there is opened by the pin; what is not, which programs look for in many
 * places, is just that. */
enum outcome give_opened(const struct hot *hot, struct call *call) {
    if (call->pin < 0) return respond(hot, call, 0, ENOENT);
    if (call->flags & O_TRUNC && !(has_room(call->notification.pid) && is_waiting(hot, call)))
        return PASS_ON;
    int file = reopened(hot, call);
    if (file < 0) return PASS_ON;
    int number = handed_in(hot, call, file), reason = errno;
    close(file);
    if (number >= 0) return respond(hot, call, number, 0);
    /* The caller may have gone, and that is no concern of anybody's. A full table of
     * descriptors and the like is for Python to tell. */
    return reason == ENOENT ? ANSWERED : PASS_ON;
}

static int made(const struct hot *hot, const struct call *call, const struct entry *entry) {
    struct open_how how = {.flags = (uint64_t)(unsigned)(ours(call) | O_EXCL),
                           .mode = call->mode & RIGHTS};
    int file = -1, own = take_umask(call->notification.pid);
    if (own < 0) return -1;
    if (is_waiting(hot, call))
        file = (int)syscall(__NR_openat2, entry->directory, entry->name, &how, sizeof how);
    umask((mode_t)own);
    return file;
}

/* Take away what was just made, unless it is another by now. */
static void undo(const struct entry *entry, int file) {
    struct stat about, there;
    if (!fstat(file, &about) &&
        !fstatat(entry->directory, entry->name, &there, AT_SYMLINK_NOFOLLOW) &&
        about.st_dev == there.st_dev && about.st_ino == there.st_ino)
        unlinkat(entry->directory, entry->name, 0);
}

enum outcome give_made(const struct hot *hot, struct call *call) {
    const struct entry *entry = &call->entries[0];
    if (!has_room(call->notification.pid)) return PASS_ON;
    int file = made(hot, call, entry);
    if (file < 0) return PASS_ON; /* somebody else has made it, it cannot be, or who asked
                                   * has gone */
    int number = handed_in(hot, call, file), reason = errno;
    if (number < 0) undo(entry, file);
    /* Whoever closes what it has written may run it at once: not while we have it. */
    close(file);
    return number < 0 ? respond(hot, call, 0, reason) : respond(hot, call, number, 0);
}
