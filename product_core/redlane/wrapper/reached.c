/* By which paths a file was reached before the session began.
 *
 * What a session mounts elsewhere, in namespaces of its own or not, has other paths there:
 * those that count are told by where the file lies within its file system. It may move its
 * mounts while that is found out. */
#define _GNU_SOURCE
#include "reached.h"

#include "apart.h"
#include "file.h"
#include "mounts.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { FUSE_MAGIC = 0x65735546, MQUEUE_MAGIC = 0x19800202 };

/* A line of a mountinfo. */
struct mount {
    uint64_t number;
    _Atomic uint64_t known; /* the other number that it has (mounts.h), once that was met */
    dev_t device;
    const char *root, *point; /* within the file system; where it is */
    char *line;
};

static struct bytes noted; /* of struct mount; each has the line that it points into */

/* Blanks and the like are written as three octal digits. */
static void unescape(char *text) {
    char *to = text;
    for (const char *at = text; *at; to++) {
        bool is_octal = at[0] == '\\' && at[1] && at[2] && at[3];
        *to = is_octal ? (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0')) : *at;
        at += is_octal ? 4 : 1;
    }
    *to = '\0';
}

static bool read_line(char *line, struct mount *mount) {
    enum { NUMBER, PARENT, DEVICE, ROOT, POINT, FIELDS };
    char *fields[FIELDS], *left = line, *kind = strstr(line, " - ");
    unsigned device_major, device_minor;
    if (!kind) return false;
    *kind = '\0';
    for (int i = 0; i < FIELDS; i++) fields[i] = strsep(&left, " ");
    if (!fields[POINT] ||
        sscanf(fields[DEVICE], "%u:%u", &device_major, &device_minor) != 2)
        return false;
    unescape(fields[ROOT]);
    unescape(fields[POINT]);
    mount->number = strtoull(fields[NUMBER], NULL, 10);
    mount->device = makedev(device_major, device_minor);
    mount->root = fields[ROOT];
    mount->point = fields[POINT];
    return true;
}

/* All the mounts that this process has. */
static struct bytes read_own(void) {
    FILE *lines = fopen("/proc/self/mountinfo", "re");
    struct bytes mounts = {0};
    struct mount mount;
    size_t room = 0;
    for (char *line = NULL; lines; line = NULL) {
        bool is_read = getline(&line, &room, lines) > 0;
        mount.line = line;
        if (is_read && read_line(line, &mount)) bytes_add(&mounts, &mount, sizeof mount);
        else free(line);
        room = 0;
        if (!is_read) break;
    }
    if (lines) fclose(lines);
    return mounts;
}

void reached_note(void) {
    if (!noted.length) noted = read_own();
}

static const struct mount *mount_at(const struct bytes *mounts, size_t number) {
    size_t at = number * sizeof(struct mount);
    return at < mounts->length ? (const struct mount *)(mounts->data + at) : NULL;
}

/* What of a path is below another, with its slash; NULL: it is not. */
static const char *below(const char *path, const char *above) {
    if (!above[1]) return path; /* the root */
    return path_is_within(path, above) ? path + strlen(above) : NULL;
}

const char *reached_point(size_t number) {
    const struct mount *mount = mount_at(&noted, number);
    return mount ? mount->point : NULL;
}

/* The mount that a path leads through: of those at the same point the last. */
static const struct mount *mount_of(const char *path) {
    const struct mount *each, *found = NULL;
    for (size_t i = 0; (each = mount_at(&noted, i)); i++)
        if (below(path, each->point) && (!found || strlen(each->point) >= strlen(found->point)))
            found = each;
    return found;
}

void reached_aliases(const char *path, struct bytes *paths) {
    const struct mount *own = mount_of(path), *each;
    char inside[2 * PATH_MAX];
    if (!own) return;
    const char *rest = own->point[1] ? below(path, own->point) : path;
    snprintf(inside, sizeof inside, "%s%s", own->root[1] ? own->root : "", rest);
    for (size_t i = 0; (each = mount_at(&noted, i)); i++) {
        if (each == own || each->device != own->device) continue;
        const char *left = below(inside, each->root);
        bool holds_mount = !left && below(each->root, inside);
        if (!left && !holds_mount) continue; /* none of it is there */
        if (each->point[1] || holds_mount) bytes_add_text(paths, each->point);
        if (left) bytes_add_text(paths, left);
        bytes_add(paths, "", 1);
    }
}

/* ---- what was there before ---- */

static struct mount *mount_known(uint64_t number) {
    struct mount *each = (struct mount *)noted.data;
    for (size_t left = noted.length / sizeof *each; left; left--, each++)
        if (atomic_load(&each->known) == number) return each;
    return NULL;
}

/* The mount that a file is reached through, if it was there before. */
static const struct mount *old_mount(int file, uint64_t mount) {
    if (!mounts_have(mount)) return NULL;
    struct mount *found = mount_known(mount), *each = (struct mount *)noted.data;
    if (found) return found;
    uint64_t number = mounts_number(file);
    for (size_t left = noted.length / sizeof *each; left && !found; left--, each++)
        if (each->number == number) found = each;
    if (found) atomic_store(&found->known, mount);
    return found;
}

bool reached_is_there(int file, uint64_t number, const char *path) {
    const struct mount *mount = old_mount(file, number);
    return mount && below(path, mount->point);
}

/* Puts a path below a mount's root in its file system. */
static bool set_inside(struct reached *reached, const char *root, const char *rest) {
    int length = snprintf(reached->inside, sizeof reached->inside, "%s%s",
                          root[1] ? root : "", rest[0] || root[1] ? rest : "/");
    return length > 0 && (size_t)length < sizeof reached->inside;
}

/* ---- what a session has mounted ---- */

static bool is_same(const struct stat *one, const struct stat *other) {
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* The directory that a file is in, in the same mount; -1: it cannot be told. */
static int directory_of(const struct caller *caller, int file, const char *path) {
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_NO_XDEV};
    struct stat about;
    char text[PATH_MAX];
    if (fstat(file, &about) != 0) return -1;
    if (S_ISDIR(about.st_mode)) return (int)syscall(SYS_openat2, file, "..", &how, sizeof how);
    snprintf(text, sizeof text, "%s", path);
    *strrchr(text, '/') = '\0';
    for (int i = 0; i < 2; i++) { /* as its namespace has it, and as the caller does */
        how.resolve = i ? RESOLVE_IN_ROOT : 0;
        int directory = (int)syscall(SYS_openat2, i ? caller->root : AT_FDCWD,
                                     *text ? text : "/", &how, sizeof how);
        if (directory >= 0 && mounts_are_same(directory, file)) return directory;
        if (directory >= 0) close(directory);
    }
    return -1;
}

/* Whether a name in a directory is a file. */
static bool is_name_of(int directory, const char *name, int file) {
    struct stat here, there;
    return fstat(file, &here) == 0 &&
           fstatat(directory, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           is_same(&here, &there);
}

/* What of a path is below the root of the mount, told by going up there: where that is
 * mounted may change at any time. NULL: it cannot be told. */
static const char *below_root(const struct caller *caller, int file, const char *path) {
    char left[PATH_MAX];
    int at = dup(file);
    snprintf(left, sizeof left, "%s", path);
    while (at >= 0 && !mounts_is_root(at)) {
        char *name = strrchr(left, '/');
        int above = name && name[1] ? directory_of(caller, at, left) : -1;
        bool is_it = above >= 0 && is_name_of(above, name + 1, at);
        close(at);
        if (above >= 0 && !is_it) close(above);
        at = is_it ? above : -1;
        if (is_it) *name = '\0';
    }
    if (at < 0) return NULL;
    close(at);
    return path + strlen(left);
}

/* Only root moves the mounts that were there before, which is told. */
static bool find_old(struct reached *reached, const struct caller *caller, int file,
                     const struct mount *mount, const char *path) {
    bool may_be_moved = geteuid() == 0 && apart_has_begun();
    const char *rest = may_be_moved ? below_root(caller, file, path)
                                    : below(path, mount->point);
    if (!rest) return false;
    if (mount->point[1] || !*rest) bytes_add_text(&reached->paths, mount->point);
    bytes_add(&reached->paths, rest, strlen(rest) + 1);
    return set_inside(reached, mount->root, rest);
}

/* The root of a file's mount in its file system, as a process sees it; whose device. */
static dev_t root_of(const char *list, uint64_t number, char *root) {
    FILE *lines = fopen(list, "re");
    char *line = NULL;
    size_t room = 0;
    struct mount mount;
    dev_t device = 0;
    while (lines && !device && getline(&line, &room, lines) > 0) {
        if (!read_line(line, &mount) || mount.number != number) continue;
        device = mount.device;
        snprintf(root, PATH_MAX, "%s", mount.root);
    }
    free(line);
    if (lines) fclose(lines);
    return device;
}

static dev_t find_inside(struct reached *reached, const struct caller *caller, int file,
                         const char *path) {
    char list[64], root[PATH_MAX];
    uint64_t number = mounts_number(file);
    snprintf(list, sizeof list, "/proc/%ld/mountinfo", (long)caller->thread);
    dev_t device = root_of(list, number, root);
    if (!device) device = root_of("/proc/self/mountinfo", number, root);
    if (!device && !mounts_tell_root(caller->thread, file, root, &device)) return 0;
    const char *rest = device ? below_root(caller, file, path) : NULL;
    return rest && set_inside(reached, root, rest) ? device : 0;
}

/* Adds the paths that a file has in mounts; whether its file system is there. */
static bool add_paths(struct reached *reached, const struct bytes *mounts, dev_t device) {
    const struct mount *each;
    bool is_known = false;
    for (size_t i = 0; (each = mount_at(mounts, i)); i++) {
        if (each->device != device) continue;
        is_known = true;
        const char *rest = below(reached->inside, each->root);
        if (!rest) continue;
        bool is_top = !rest[0] || !rest[1];
        if (each->point[1] || is_top) bytes_add_text(&reached->paths, each->point);
        if (!is_top) bytes_add_text(&reached->paths, rest);
        bytes_add(&reached->paths, "", 1);
    }
    return is_known;
}

/* The same in the mounts that are here now: what somebody outside has mounted since. Root
 * of the session may have, too, but what is in memory. */
static bool add_present_paths(struct reached *reached, dev_t device) {
    const struct mount *each;
    struct bytes mounts = read_own();
    bool is_known = add_paths(reached, &mounts, device);
    for (size_t i = 0; (each = mount_at(&mounts, i)); i++) free(each->line);
    free(mounts.data);
    return is_known;
}

/* Whether what is written there goes nowhere else. */
static bool is_in_memory(int file) {
    struct statfs system;
    if (fstatfs(file, &system) != 0) return false;
    switch ((unsigned long)system.f_type) {
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
    case DEVPTS_SUPER_MAGIC:
    case PROC_SUPER_MAGIC:
    case MQUEUE_MAGIC:
    case FUSE_MAGIC: return true;
    default: return false;
    }
}

static enum reach find(struct reached *reached, const struct caller *caller, int file,
                       uint64_t number) {
    char path[PATH_MAX];
    if (!file_path(file, path)) return UNREACHED;
    const struct mount *mount = old_mount(file, number);
    if (mount) return find_old(reached, caller, file, mount, path) ? REACHED : UNREACHED;
    dev_t device = find_inside(reached, caller, file, path);
    if (!device) return UNREACHED;
    bool is_memory = is_in_memory(file);
    if (add_paths(reached, &noted, device)) return reached->paths.length ? REACHED : UNREACHED;
    if (!is_memory && geteuid() == 0) return UNREACHED;
    if (add_present_paths(reached, device))
        return reached->paths.length ? REACHED : UNREACHED;
    return is_memory ? IN_MEMORY : UNREACHED;
}

void reached_find(const struct caller *caller, int file, uint64_t mount,
                  struct reached *reached) {
    reached->paths = (struct bytes){0};
    *reached->inside = '\0';
    reached->reach = find(reached, caller, file, mount);
}

void reached_leave(struct reached *reached) {
    free(reached->paths.data);
    reached->paths = (struct bytes){0};
}
