/* Where a path leads that a thread of the session gives to the kernel.
 *
 * It is walked as the kernel walks it for that thread: from its directories, within its
 * root, and with its own /proc/self. Most paths have no link in them, and the kernel
 * says so in one go. */
#define _GNU_SOURCE
#include "walk.h"

#include "bytes.h"
#include "file.h"
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { NO_LINKS = 0x2000 }; /* ST_NOSYMFOLLOW */
enum { PAGE = 4096, MOST_LINKS = 40, PIN = O_PATH | O_CLOEXEC };

struct walk {
    const struct caller *caller;
    int at; /* a directory, or what a link of /proc stands for */
    int links;
    bool is_by_proc;
    const char *end; /* what has been read last: ".", "..", or "/" */
    char left[2 * PATH_MAX];
};

static int open_of_caller(const struct caller *caller, const char *what, int number) {
    char path[64];
    int length = snprintf(path, sizeof path, "/proc/%ld/%s", (long)caller->thread, what);
    if (number >= 0) snprintf(path + length, sizeof path - (size_t)length, "/%d", number);
    return open(path, PIN);
}

int caller_open(const struct caller *caller, int number) {
    for (int i = 0; i < 2; i++)
        if (caller->from[i] >= 0 && caller->number[i] == number)
            return fcntl(caller->from[i], F_DUPFD_CLOEXEC, 0);
    if (number == HERE) return open_of_caller(caller, "cwd", -1);
    int file = number < 0 ? -1 : open_of_caller(caller, "fd", number);
    if (number < 0 || (file < 0 && errno == ENOENT)) errno = EBADF;
    return file;
}

/* Whether two are the same directory in the same mount: bound to another place, it has
 * another one above it. */
static bool is_same(int one, int other) {
    struct stat first, second;
    return fstat(one, &first) == 0 && fstat(other, &second) == 0 &&
           first.st_dev == second.st_dev && first.st_ino == second.st_ino &&
           mounts_are_same(one, other);
}

void caller_take(struct caller *caller, pid_t thread) {
    *caller = (struct caller){.thread = thread, .root = -1, .from = {-1, -1}};
}

int caller_find_root(struct caller *caller) {
    caller->root = open_of_caller(caller, "root", -1);
    return caller->root < 0 ? errno : 0;
}

void caller_hold(struct caller *caller, int number) {
    int free = caller->from[0] < 0 ? 0 : 1;
    int file = caller_open(caller, number);
    caller->number[free] = number;
    caller->from[free] = file;
}

void caller_leave(struct caller *caller) {
    for (int i = 0; i < 2; i++)
        if (caller->from[i] >= 0) close(caller->from[i]);
    if (caller->root >= 0) close(caller->root);
}

/* Not beyond the page: what lies there may not be mapped. */
static size_t up_to_page(uint64_t address, size_t most) {
    size_t left = PAGE - address % PAGE;
    return left < most ? left : most;
}

int caller_bytes(const struct caller *caller, uint64_t address, void *bytes, size_t size) {
    struct iovec here = {bytes, size}, there = {(void *)(uintptr_t)address, size};
    ssize_t got = process_vm_readv(caller->thread, &here, 1, &there, 1, 0);
    if (got < 0) return errno;
    return (size_t)got == size ? 0 : EFAULT;
}

int caller_string(const struct caller *caller, uint64_t address, char *text, size_t size) {
    size_t had = 0;
    while (had < size) {
        size_t now = up_to_page(address + had, size - had);
        int error = caller_bytes(caller, address + had, text + had, now);
        if (error) return error;
        if (memchr(text + had, 0, now)) return 0;
        had += now;
    }
    return ENAMETOOLONG;
}

static void move(struct walk *walk, int to) {
    close(walk->at);
    walk->at = to;
}

static int go_to(struct walk *walk, int from, const char *name) {
    int next = openat(from, name, PIN);
    if (next < 0) return errno;
    move(walk, next);
    return 0;
}

/* Puts a link's text in front of what is left of the path. */
static int put_before(struct walk *walk, const char *text) {
    size_t length = strlen(text), left = strlen(walk->left);
    if (++walk->links > MOST_LINKS) return ELOOP;
    if (length + left + 2 >= sizeof walk->left) return ENAMETOOLONG; /* with a slash */
    memmove(walk->left + length + 1, walk->left, left + 1);
    memcpy(walk->left, text, length);
    walk->left[length] = left ? '/' : '\0';
    return *text == '/' ? go_to(walk, walk->caller->root, ".") : 0;
}

static bool protects_links; /* fs.protected_symlinks */

void walk_prepare(void) {
    struct bytes text = {0};
    protects_links = bytes_read_file(&text, "/proc/sys/fs/protected_symlinks", 16) &&
                     text.data[0] != '0';
    free(text.data);
}

/* Whether the kernel would follow a link for this thread, which is who calls, or acts for
 * it. */
static int check_follow(const struct walk *walk, const struct spot *spot, bool is_last) {
    struct statfs system;
    struct stat directory;
    if (fstatfs(walk->at, &system) != 0 || system.f_flags & NO_LINKS) return ELOOP;
    if (!protects_links || !is_last || fstat(walk->at, &directory) != 0) return 0;
    bool is_shared = (directory.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH);
    bool is_trusted = spot->about.st_uid == directory.st_uid ||
                      spot->about.st_uid == (uid_t)syscall(SYS_setfsuid, -1);
    return is_shared && !is_trusted ? EACCES : 0;
}

/* Follows a link, which `spot` is: by its text, or where the kernel says it leads. */
static int follow_link(struct walk *walk, const struct spot *spot, bool is_last) {
    char text[PATH_MAX];
    if (!mounts_are_same(spot->object, walk->at)) return EACCES; /* a link, mounted */
    int error = check_follow(walk, spot, is_last);
    if (error) return error;
    bool is_proc = proc_has(walk->at), is_top = is_proc && proc_is_top(walk->at);
    if (is_proc && !is_top) {
        const struct caller *caller = walk->caller;
        if (!proc_is_open_to(walk->at, caller->thread, caller->is_bound)) return EACCES;
        if (++walk->links > MOST_LINKS) return ELOOP;
        walk->is_by_proc = true;
        return go_to(walk, walk->at, spot->name);
    }
    bool is_thread = strcmp(spot->name, "thread-self") == 0;
    if (is_top && (is_thread || strcmp(spot->name, "self") == 0)) {
        error = proc_own_name(walk->at, walk->caller->thread, is_thread, text, sizeof text);
        return error ? error : put_before(walk, text);
    }
    ssize_t length = readlinkat(spot->object, "", text, sizeof text - 1);
    if (length < 0) return errno;
    text[length] = '\0';
    return put_before(walk, text);
}

/* Takes the next name off the path: true while it has one. */
static bool take_name(struct walk *walk, struct spot *spot, bool *is_last, bool *is_dir) {
    const char *from = walk->left + strspn(walk->left, "/");
    size_t length = strcspn(from, "/");
    const char *after = from + length + strspn(from + length, "/");
    *is_last = !*after;
    *is_dir = from[length] == '/';
    if (!length || length > NAME_MAX) {
        *spot->name = '\0';
        return false;
    }
    memcpy(spot->name, from, length);
    spot->name[length] = '\0';
    memmove(walk->left, after, strlen(after) + 1);
    return true;
}

/* The object is a file, which is held from then on. */
static int take_object(struct spot *spot, int file) {
    struct look look;
    spot->object = file;
    if (file < 0 || !mounts_look(file, &look)) return errno;
    spot->about = look.about;
    spot->mount = look.mount;
    return 0;
}

/* The spot is that file. */
static int take_file(struct spot *spot, int file) {
    int error = take_object(spot, file);
    if (error || !S_ISDIR(spot->about.st_mode)) return error;
    if (!mounts_look(file, &spot->around)) return errno;
    spot->parent = dup(file);
    return spot->parent < 0 ? errno : 0;
}

/* The spot is what the walk has come to. */
static int stay(struct walk *walk, struct spot *spot) {
    *spot->name = '\0';
    spot->end = walk->end;
    int file = walk->at;
    walk->at = -1;
    return take_file(spot, file);
}

/* The spot is a name in the directory that the walk has come to. */
static int take_name_in(struct walk *walk, struct spot *spot, const char *end) {
    spot->end = end;
    spot->parent = walk->at;
    walk->at = -1;
    return mounts_look(spot->parent, &spot->around) ? 0 : errno;
}

static int look_at(const struct walk *walk, struct spot *spot) {
    return take_object(spot, openat(walk->at, spot->name, PIN | O_NOFOLLOW));
}

/* At the root it stays there; what a session has mounted may lie on that. */
static int go_up(struct walk *walk) {
    if (!is_same(walk->at, walk->caller->root)) return go_to(walk, walk->at, "..");
    return mounts_are_old(walk->at) ? 0 : EACCES;
}

/* One name further; `ended`: the spot has been found. */
static int step(struct walk *walk, enum end end, struct spot *spot, bool *ended) {
    bool is_last, is_dir;
    *ended = !take_name(walk, spot, &is_last, &is_dir);
    if (*ended) return *walk->left && walk->left[strspn(walk->left, "/")]
                           ? ENAMETOOLONG
                           : stay(walk, spot);
    if (strcmp(spot->name, ".") == 0 || strcmp(spot->name, "..") == 0) {
        if (fstat(walk->at, &spot->about) != 0) return errno;
        if (!S_ISDIR(spot->about.st_mode)) return ENOTDIR;
        walk->end = spot->name[1] ? ".." : ".";
        return spot->name[1] ? go_up(walk) : 0;
    }
    int error = look_at(walk, spot);
    bool is_link = !error && S_ISLNK(spot->about.st_mode);
    if (is_link && (!is_last || end == END_FOLLOWED || (is_dir && end == END_STAYS))) {
        error = follow_link(walk, spot, is_last);
        if (is_last && is_dir && !error) strcat(walk->left, "/");
    } else if (is_last && (!error || error == ENOENT)) {
        *ended = true;
        return take_name_in(walk, spot, is_dir ? "/" : "");
    } else if (!error) {
        move(walk, spot->object);
        spot->object = -1;
    }
    if (spot->object >= 0) close(spot->object);
    spot->object = -1;
    return error;
}

static int start_of(const struct caller *caller, int directory, const char *path) {
    if (*path == '/') return openat(caller->root, ".", PIN);
    return caller_open(caller, directory);
}

/* As far as the kernel goes without a link and without `..`, which stops at a root. */
static void go_straight(struct walk *walk) {
    struct open_how how = {.flags = PIN | O_DIRECTORY,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH};
    char *end = strrchr(walk->left, '/');
    char *start = walk->left + strspn(walk->left, "/");
    if (!end || end <= start || !end[1] || strstr(start, "..")) return;
    *end = '\0';
    int found = (int)syscall(SYS_openat2, walk->at, start, &how, sizeof how);
    *end = '/';
    if (found < 0) return;
    move(walk, found);
    memmove(walk->left, end + 1, strlen(end + 1) + 1);
}

/* What was found by its name has one, whatever was put in its place since. */
static bool is_nameless(const struct spot *spot) {
    char path[PATH_MAX];
    if (spot->object < 0 || *spot->name) return false;
    if (!file_path(spot->object, path)) return *path;
    return !spot->about.st_nlink && path_is_of_removed(path);
}

/* What is to be known of a spot that has been found. */
static void know(struct spot *spot) {
    struct statfs about;
    int file = spot->object >= 0 ? spot->object : spot->parent;
    spot->system = fstatfs(file, &about) == 0 ? (unsigned long)about.f_type : 0;
    spot->is_nameless = is_nameless(spot);
}

int walk_path(const struct caller *caller, int directory, const char *path, enum end end,
              struct spot *spot) {
    struct walk walk = {.caller = caller, .end = "/"};
    bool ended = false;
    int error = 0;
    *spot = (struct spot){.parent = -1, .object = -1};
    if (!*path) return ENOENT;
    if (strlen(path) >= PATH_MAX) return ENAMETOOLONG;
    walk.at = start_of(caller, directory, path);
    if (walk.at < 0) return errno;
    strcpy(walk.left, path);
    go_straight(&walk);
    while (!error && !ended) error = step(&walk, end, spot, &ended);
    if (walk.at >= 0) close(walk.at);
    spot->is_by_proc = walk.is_by_proc;
    if (error) spot_leave(spot);
    else know(spot);
    return error;
}

int walk_open(const struct caller *caller, int number, struct spot *spot) {
    *spot = (struct spot){.parent = -1, .object = -1};
    int error = take_file(spot, caller_open(caller, number));
    if (error) spot_leave(spot);
    else know(spot);
    return error;
}

bool spot_is_mounted(const struct spot *spot) {
    return spot->object >= 0 && spot->parent >= 0 && spot->mount != spot->around.mount;
}

bool spot_is_of_proc(const struct spot *spot) {
    return spot->object >= 0 && (!spot->system || spot->system == PROC_SUPER_MAGIC);
}

void spot_leave(struct spot *spot) {
    if (spot->parent >= 0) close(spot->parent);
    if (spot->object >= 0) close(spot->object);
    spot->parent = spot->object = -1;
}
