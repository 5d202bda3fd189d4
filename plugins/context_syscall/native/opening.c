/* A plain open done in the caller's place, step for step as Python does it.
 *
 * Plain: an existing regular file or directory of an ordinary file system, whose path
 * the kernel can resolve from what it has cached, so that nothing here ever waits for a
 * disk, a server or a peer. Whatever else turns up is passed on before it had an effect,
 * and Python begins again: there is one judgement of what is unusual, and it is there. */
#define _GNU_SOURCE
#include "hot.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "only Python serves here"
#endif

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif
enum { KERNEL_LARGEFILE = 0100000, XFS = 0x58465342, ZFS = 0x2fc12fc1 };

/* O_CREAT, O_TRUNC, O_PATH, O_TMPFILE and what is rare are not among them. */
static const uint32_t PLAIN_FLAGS = O_ACCMODE | O_APPEND | O_CLOEXEC | O_DIRECTORY |
                                    O_DSYNC | KERNEL_LARGEFILE | O_NOCTTY | O_NOFOLLOW |
                                    O_NONBLOCK | O_SYNC;

struct wanted {
    int from;
    uint64_t path;
    uint32_t flags;
};

bool hot_init(struct hot *hot, int listener, bool polls) {
    memset(hot, 0, sizeof *hot);
    hot->listener = listener;
    hot->polls = polls;
    atomic_init(&hot->wake, -1);
    threads_init(&hot->threads);
    hot->descriptors = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
    hot->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    return hot->descriptors >= 0 && hot->mounts >= 0 && rulings_init(&hot->rulings);
}

void hot_free(struct hot *hot) {
    rulings_free(&hot->rulings);
    threads_free(&hot->threads);
    if (hot->descriptors >= 0) close(hot->descriptors);
    if (hot->mounts >= 0) close(hot->mounts);
    hot->descriptors = hot->mounts = -1;
}

static bool is_plain(const struct seccomp_notif *notification, struct wanted *wanted) {
    const struct seccomp_data *data = &notification->data;
    if (data->arch != OWN_ARCHITECTURE || !notification->pid) return false;
    if (data->nr == __NR_openat) {
        *wanted = (struct wanted){(int)data->args[0], data->args[1], (uint32_t)data->args[2]};
#ifdef __NR_open
    } else if (data->nr == __NR_open) {
        *wanted = (struct wanted){AT_FDCWD, data->args[0], (uint32_t)data->args[1]};
#endif
    } else {
        return false;
    }
    return !(wanted->flags & ~PLAIN_FLAGS) && (wanted->flags & O_ACCMODE) != O_ACCMODE;
}

/* ---- where the path leads ---- */

static int resolved(int from, const char *path, uint32_t flags, uint64_t how) {
    struct open_how asked = {
        .flags = O_PATH | O_CLOEXEC | (flags & (O_NOFOLLOW | O_DIRECTORY)),
        .resolve = how | RESOLVE_CACHED};
    return (int)syscall(__NR_openat2, from, path, &asked, sizeof asked);
}

/* The file pinned, and whether the path has no links in it; -1 with errno. */
static int pinned(int from, const char *path, uint32_t flags, bool *is_direct) {
    int pin = resolved(from, path, flags, RESOLVE_NO_SYMLINKS);
    *is_direct = pin >= 0 || errno != ELOOP;
    return *is_direct ? pin : resolved(from, path, flags, RESOLVE_NO_MAGICLINKS);
}

static bool is_plain_kind(uint32_t kind) {
    static const uint32_t plain[] = {BTRFS_SUPER_MAGIC, EROFS_SUPER_MAGIC_V1,
                                     EXT4_SUPER_MAGIC,  F2FS_SUPER_MAGIC,
                                     ISOFS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC,
                                     RAMFS_MAGIC,       SQUASHFS_MAGIC,
                                     TMPFS_MAGIC,       XFS,
                                     ZFS};
    for (size_t at = 0; at < sizeof plain / sizeof *plain; at++)
        if (plain[at] == kind) return true;
    return false;
}

/* Whether a file's file system is one whose opens have no effect and do not wait. A
 * device's number is believed for a second only: it may pass to another file system. */
static bool is_on_plain_device(struct hot *hot, int pin, dev_t device) {
    struct statfs about;
    struct timespec now;
    size_t place = (size_t)device % KNOWN_DEVICES;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (hot->devices[place].number == device && hot->devices[place].until > now.tv_sec)
        return true;
    if (fstatfs(pin, &about) || !is_plain_kind((uint32_t)about.f_type)) return false;
    hot->devices[place].number = device;
    hot->devices[place].until = now.tv_sec + 1;
    return true;
}

static bool is_below(const char *path, const char *directory) {
    size_t length = strlen(directory);
    return strncmp(path, directory, length) == 0 && (path[length] == '/' || !path[length]);
}

/* A name that leads back to the file, not what the kernel tells of one without a name. */
static bool is_plain_path(const char *path, size_t length) {
    static const char deleted[] = " (deleted)";
    size_t end = sizeof deleted - 1;
    if (*path != '/' || (length >= end && !strcmp(path + length - end, deleted)))
        return false;
    return !is_below(path, "/proc") && !is_below(path, "/sys") && !is_below(path, "/dev");
}

/* Whether a path without links in it has nothing else either that makes it another. */
static bool is_normal(const char *path, size_t length) {
    return path[length - 1] != '/' && *path != '.' && !strstr(path, "//") &&
           !strstr(path, "/.");
}

static bool is_told(const struct hot *hot, struct call *call, int descriptor) {
    char number[16];
    snprintf(number, sizeof number, "%d", descriptor);
    ssize_t length =
        readlinkat(hot->descriptors, number, call->canonical, sizeof call->canonical);
    if (length <= 0 || (size_t)length >= sizeof call->canonical) return false;
    call->canonical[length] = 0;
    call->subject.canonical_length = (size_t)length;
    return is_plain_path(call->canonical, (size_t)length);
}

static bool is_literal(struct call *call) {
    size_t length = call->subject.literal_length;
    memcpy(call->canonical, call->literal, length + 1);
    call->subject.canonical_length = length;
    return is_plain_path(call->canonical, length);
}

static bool make_canonical(const struct hot *hot, struct call *call, bool is_direct) {
    if (is_direct && *call->literal == '/' &&
        is_normal(call->literal, call->subject.literal_length))
        return is_literal(call);
    return is_told(hot, call, call->pin);
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

/* The pinned file opened with the caller's flags; -1 with errno. */
static int reopened(const struct hot *hot, const struct call *call) {
    int flags = (int)(call->flags & ~(uint32_t)KERNEL_LARGEFILE) | O_CLOEXEC | O_NOCTTY;
    if (call->is_directory) {
        int file = openat(call->pin, ".", flags); /* quicker; asks for more permission */
        if (file >= 0) return file;
    }
    flags |= O_NONBLOCK; /* a lease on it would have the opener wait for its holder */
    int file = flags & O_NOFOLLOW
                   ? reopen_by_name(call->pin, call->canonical, (uint64_t)flags)
                   : reopen_by_pin(hot, call->pin, flags);
    if (file < 0 || call->flags & O_NONBLOCK) return file;
    if (fcntl(file, F_SETFL, flags & O_APPEND) == 0) return file;
    close(file);
    return -1;
}

/* The number that the file gets in the caller's table; -1 with errno. In two steps, this
 * and the answer: where one call does both (SECCOMP_ADDFD_FLAG_SEND) and we are stopped or
 * frozen in the middle of it, the kernel answers the caller without the file, with 0. */
static int handed_in(const struct hot *hot, const struct call *call, int file) {
    struct seccomp_notif_addfd handed = {.id = call->notification.id,
                                         .srcfd = (uint32_t)file,
                                         .newfd_flags = call->flags & O_CLOEXEC};
    int number;
    do {
        number = ioctl(hot->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &handed);
    } while (number < 0 && errno == EINTR);
    return number;
}

static enum outcome respond(const struct hot *hot, const struct call *call, int value,
                            int reason) {
    struct seccomp_notif_resp response = {
        .id = call->notification.id, .val = value, .error = -reason};
    int result;
    do {
        result = ioctl(hot->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
    } while (result < 0 && errno == EINTR);
    return ANSWERED; /* or the caller has gone */
}

/* What is there is opened by the pin; what is not, which programs look for in many
 * places, is just that. */
static enum outcome give(const struct hot *hot, const struct call *call) {
    if (call->pin < 0) return respond(hot, call, 0, ENOENT);
    int file = reopened(hot, call);
    if (file < 0) return PASS_ON;
    int number = handed_in(hot, call, file), reason = errno;
    close(file);
    if (number >= 0) return respond(hot, call, number, 0);
    /* The caller may have gone, and that is no concern of anybody's. A full table of
     * descriptors and the like is for Python to tell. */
    return reason == ENOENT ? ANSWERED : PASS_ON;
}

static enum outcome judge(struct hot *hot, struct call *call) {
    if (!rulings_hold(&hot->rulings, &call->subject, &call->epoch)) return ASK;
    return give(hot, call);
}

bool hot_allow(struct hot *hot, const struct call *call, bool lasts) {
    if (lasts) rulings_add(&hot->rulings, &call->subject, call->epoch);
    return give(hot, call) == ANSWERED;
}

static enum outcome answer_pinned(struct hot *hot, struct call *call, bool is_direct) {
    struct stat about;
    if (fstat(call->pin, &about)) return PASS_ON;
    call->is_directory = S_ISDIR(about.st_mode);
    if (call->is_directory && call->subject.writes) return PASS_ON; /* it will fail */
    if ((!call->is_directory && !S_ISREG(about.st_mode)) ||
        !is_on_plain_device(hot, call->pin, about.st_dev) ||
        !make_canonical(hot, call, is_direct))
        return PASS_ON;
    return judge(hot, call);
}

static enum outcome answer_from(struct hot *hot, struct call *call, int from) {
    bool is_direct;
    call->pin = pinned(from, call->literal, call->flags, &is_direct);
    if (call->pin < 0) return errno == ENOENT && is_direct ? judge(hot, call) : PASS_ON;
    enum outcome outcome = answer_pinned(hot, call, is_direct);
    if (outcome != ASK) close(call->pin);
    return outcome;
}

static enum outcome answer(struct hot *hot, struct call *call) {
    const struct seccomp_notif *notification = &call->notification;
    struct wanted wanted;
    if (atomic_load(&hot->stands_down) || !is_plain(notification, &wanted)) return PASS_ON;
    ssize_t length = read_path((pid_t)notification->pid, wanted.path, call->literal);
    if (length <= 0) return PASS_ON;
    call->subject = (struct subject){.number = notification->data.nr,
                                     .writes = (wanted.flags & O_ACCMODE) != O_RDONLY,
                                     .literal = call->literal,
                                     .literal_length = (size_t)length,
                                     .canonical = call->canonical};
    call->flags = wanted.flags;
    if (*call->literal == '/') return answer_from(hot, call, AT_FDCWD);
    int from = directory_of(&hot->threads, notification->pid, wanted.from);
    if (from < 0) return PASS_ON;
    enum outcome outcome = answer_from(hot, call, from);
    close(from);
    return outcome;
}

static bool received(const struct hot *hot, struct seccomp_notif *notification) {
    if (hot->polls) {
        struct pollfd waiting = {.fd = hot->listener, .events = POLLIN};
        if (poll(&waiting, 1, -1) < 1 || !(waiting.revents & POLLIN)) return false;
    }
    memset(notification, 0, sizeof *notification); /* or it is EINVAL */
    return ioctl(hot->listener, SECCOMP_IOCTL_NOTIF_RECV, notification) == 0;
}

static void note_begin(struct hot *hot, uint64_t identity) {
    static const uint64_t once = 1;
    atomic_store(&hot->under_way, identity);
    atomic_fetch_add(&hot->calls, 1);
    if (atomic_load(&hot->wake) < 0) return;
    int wake = atomic_exchange(&hot->wake, -1);
    if (wake >= 0 && write(wake, &once, sizeof once) < 0) return; /* it is awake */
}

/* Files are at other paths once something was mounted: each is to be ruled on anew. */
static void heed_mounts(struct hot *hot) {
    struct pollfd changes = {.fd = hot->mounts, .events = POLLPRI};
    if (poll(&changes, 1, 0) != 0) rulings_forget(&hot->rulings);
}

enum outcome hot_serve(struct hot *hot, struct call *call) {
    while (received(hot, &call->notification)) {
        heed_mounts(hot);
        note_begin(hot, call->notification.id);
        enum outcome outcome = answer(hot, call);
        atomic_store(&hot->under_way, 0);
        if (outcome != ANSWERED) return outcome;
    }
    return INTERRUPTED;
}
