/* Where the path of a plain call leads, from what the kernel has cached alone. */
#define _GNU_SOURCE
#include "hot.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { XFS = 0x58465342, ZFS = 0x2fc12fc1 };

static int resolved(int from, const char *path, uint32_t flags, uint64_t how) {
    struct open_how asked = {
        .flags = O_PATH | O_CLOEXEC | (flags & (O_NOFOLLOW | O_DIRECTORY)),
        .resolve = how | RESOLVE_CACHED};
    return (int)syscall(__NR_openat2, from, path, &asked, sizeof asked);
}

int pinned(int from, const char *path, uint32_t flags, bool *is_direct) {
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

/* A device's number is believed for a second only: it may pass to another file system. */
bool is_on_plain_device(struct hot *hot, int pin, dev_t device) {
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

/* What the kernel tells of where an open file is; 0 where that is no plain path. */
static size_t told(const struct hot *hot, int descriptor, char path[PATH_MAX]) {
    char number[16];
    snprintf(number, sizeof number, "%d", descriptor);
    ssize_t length = readlinkat(hot->descriptors, number, path, PATH_MAX);
    if (length <= 0 || length >= PATH_MAX) return 0;
    path[length] = 0;
    return is_plain_path(path, (size_t)length) ? (size_t)length : 0;
}

size_t canonical_path(const struct hot *hot, int pin, const char *literal, size_t length,
                      bool is_direct, char path[PATH_MAX]) {
    if (!is_direct || *literal != '/' || !is_normal(literal, length))
        return told(hot, pin, path);
    memcpy(path, literal, length);
    path[length] = 0;
    return is_plain_path(path, length) ? length : 0;
}

/* Whether it can stand for an entry: with a slash behind it, other rules hold. */
static bool is_name(const char *name) {
    return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

bool placed(struct hot *hot, int from, const char *literal, struct entry *entry,
            char path[PATH_MAX], size_t *length) {
    char stem[PATH_MAX + 1];
    bool is_direct;
    const char *slash = strrchr(literal, '/');
    size_t before = slash ? (size_t)(slash - literal) : 0;
    entry->name = slash ? slash + 1 : literal;
    if (!is_name(entry->name)) return false;
    memcpy(stem, literal, before);
    /* With the dot, a link before it is one on the way, for which other rules hold. */
    strcpy(stem + before, slash ? "/." : ".");
    entry->directory = pinned(from, stem, O_DIRECTORY, &is_direct);
    if (entry->directory < 0 || fstat(entry->directory, &entry->about) ||
        !is_on_plain_device(hot, entry->directory, entry->about.st_dev))
        return false;
    size_t above = 0; /* of the root */
    if (!is_direct || slash != literal) {
        stem[before] = 0;
        above = canonical_path(hot, entry->directory, stem, before, is_direct, path);
        if (!above) return false;
        if (above == 1) above = 0; /* the root by another name */
    }
    size_t named = strlen(entry->name);
    if (above + 1 + named >= PATH_MAX) return false;
    path[above] = '/';
    memcpy(path + above + 1, entry->name, named + 1);
    *length = above + 1 + named;
    return is_plain_path(path, *length);
}
