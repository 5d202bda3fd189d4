/* Opens a file for reading in its caller's place, where nothing is in the way.
 *
 * Most calls of most programs are of that kind, and a look at each name of their paths
 * would cost more than the call. So the kernel walks the path by itself, once, to a file
 * that is held from then on; what it is called is what is judged. What is in any way
 * unusual is left to others: what is hidden or lies in a /proc, which says to many
 * processes something else; what is no plain file; and callers that do not see what this
 * process sees, or may do something else than it. */
#define _GNU_SOURCE
#include "reading.h"

#include "actor.h"
#include "apart.h"
#include "devices.h"
#include "file.h"
#include "mounts.h"
#include "proc.h"
#include "reached.h"
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/major.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const uint64_t KNOWN = O_APPEND | O_NONBLOCK | O_SYNC | O_ASYNC | O_DIRECT | O_NOATIME | 0100000;

struct reading {
    const struct hidden *hidden;
    const struct asked *asked;
    const struct seccomp_data *data;
    struct caller caller;
    uint64_t flags;
    bool has_links; /* on the way */
    int file;
};

bool reading_is(const struct asked *asked, const struct seccomp_data *data) {
    return asked->flags != NONE && asked_reads(asked, data->args[(int)asked->flags]);
}

/* ---- where it leads ---- */

static int look_up(const struct reading *reading, int from, const char *path,
                   uint64_t resolve) {
    struct open_how how = {
        .flags = O_PATH | O_CLOEXEC | (reading->flags & (O_NOFOLLOW | O_DIRECTORY)),
        .resolve = resolve};
    return (int)syscall(SYS_openat2, from, path, &how, sizeof how);
}

/* The file that a path leads to, opened for looking; -1 and an errno. Where a link is on
 * the way only success says anything: another process may have others in its /proc. */
static int find(struct reading *reading, const char *path, bool *is_sure) {
    const struct asked *asked = reading->asked;
    *is_sure = true;
    errno = ENOENT;
    if (!*path) return -1;
    int number = asked->directory == NONE ? HERE : (int)reading->data->args[asked->directory];
    int from = *path == '/' ? AT_FDCWD : caller_open(&reading->caller, number);
    if (*path != '/' && from < 0) return -1;
    int file = look_up(reading, from, path, RESOLVE_NO_SYMLINKS);
    if (file < 0 && errno == ELOOP) {
        file = look_up(reading, from, path, RESOLVE_NO_MAGICLINKS);
        *is_sure = file >= 0;
        reading->has_links = true;
    }
    int error = errno;
    if (from >= 0) close(from);
    errno = error;
    return file;
}

/* ---- what it is ---- */

static bool is_plain(const struct stat *about) {
    if (S_ISREG(about->st_mode)) return true;
    return S_ISCHR(about->st_mode) && major(about->st_rdev) == MEM_MAJOR &&
           device_keeps_nothing(about->st_rdev);
}

/* Whether its path is the only one by which it is hidden, and says that it is not. */
static bool is_free(const struct reading *reading, int file, const struct look *look) {
    const struct hidden *hidden = reading->hidden;
    char path[PATH_MAX];
    if (!file_path(file, path) || !reached_is_there(file, look->mount, path)) return false;
    if (proc_has(file)) return !reading->has_links && proc_file_tells_all(path);
    if (path_is_of_removed(path) || hidden_holds(hidden, path)) return false;
    return hidden_is_reached_by(hidden, look->mount) ||
           !hidden_may_be_on(hidden, look->about.st_dev);
}

/* ---- to open it ---- */

static int open_found(void *argument) {
    struct reading *reading = argument;
    char link[FILE_LINK];
    int flags = (int)(reading->flags & KNOWN) | O_RDONLY | O_CLOEXEC | O_NOCTTY;
    file_link(reading->file, link);
    int opened = open(link, flags);
    int error = opened < 0 ? errno : 0;
    close(reading->file);
    reading->file = opened;
    return error;
}

static int find_and_open(void *argument) {
    struct reading *reading = argument;
    struct look look;
    char path[PATH_MAX];
    bool is_sure;
    int error = caller_string(&reading->caller, reading->data->args[(int)reading->asked->path],
                              path, sizeof path);
    if (error) return error;
    reading->file = find(reading, path, &is_sure);
    if (reading->file < 0) return is_sure ? errno : READING_UNSURE;
    if (!mounts_look(reading->file, &look) || !is_plain(&look.about) ||
        !is_free(reading, reading->file, &look)) {
        close(reading->file);
        return READING_UNSURE;
    }
    return open_found(reading);
}

int reading_open(const struct hidden *hidden, const struct asked *asked,
                 const struct seccomp_data *data, pid_t thread, int *file) {
    struct reading reading = {.hidden = hidden,
                              .asked = asked,
                              .data = data,
                              .caller = {.thread = thread, .from = {-1, -1}},
                              .flags = data->args[(int)asked->flags],
                              .file = -1};
    *file = -1;
    if (apart_is(thread) || !actor_is_like_us(thread)) return READING_UNSURE;
    int error = find_and_open(&reading);
    if (!error) *file = reading.file;
    return error;
}
