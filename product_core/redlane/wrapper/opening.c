/* Opens a file in its caller's place.
 *
 * What was judged is opened: a name in the directory that is held, without links and
 * without what may have been mounted there since; or, where it has no name or another
 * mount lies there, the file that is held.
 *
 * A terminal does not become the caller's own by being opened: programs ask for that by
 * TIOCSCTTY. */
#define _GNU_SOURCE
#include "opening.h"

#include "devices.h"
#include "file.h"
#include "pipes.h"
#include "proc.h"
#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { OWN_PATH = 64, LOOK_MILLISECONDS = 50, TUN_MINOR = 200, LARGE = 0100000 };

/* The flags that openat2 knows: open pays no attention to others. */
static const uint64_t KNOWN = O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND |
                              O_NONBLOCK | O_SYNC | O_ASYNC | O_DIRECT | LARGE |
                              O_DIRECTORY | O_NOFOLLOW | O_NOATIME | __O_TMPFILE;

struct opening {
    struct call *call;
    uint64_t flags;
    int file;
};

static uint64_t mode_of(const struct opening *opening) {
    const struct call *call = opening->call;
    bool makes = opening->flags & (O_CREAT | __O_TMPFILE);
    return makes ? call->data->args[(int)call->asked->rest] & 07777 : 0;
}

/* ---- the open itself ---- */

/* What the kernel says of a file that is there, before it is opened. */
static int check_there(const struct opening *opening) {
    const struct spot *spot = &opening->call->spots[0];
    bool is_directory = S_ISDIR(spot->about.st_mode);
    bool makes = opening->flags & O_CREAT;
    if (*spot->name && *spot->end && makes) return EISDIR;
    if (*spot->name && makes && opening->flags & O_EXCL) return EEXIST;
    if (is_directory && makes) return EISDIR;
    if (!is_directory && *spot->name && *spot->end) return ENOTDIR;
    return !is_directory && opening->flags & __O_TMPFILE ? ENOTDIR : 0;
}

static int open_held(const struct opening *opening) {
    char link[FILE_LINK];
    struct open_how how = {
        .flags = opening->flags & ~(uint64_t)(O_NOFOLLOW | O_CREAT | O_EXCL),
        .mode = mode_of(opening) * !!(opening->flags & __O_TMPFILE)};
    if (opening->flags & __O_TMPFILE) how.flags |= opening->flags & O_EXCL;
    errno = check_there(opening);
    if (errno) return -1;
    file_link(opening->call->spots[0].object, link);
    return (int)syscall(SYS_openat2, AT_FDCWD, link, &how, sizeof how);
}

static int open_name(const struct opening *opening, int directory, const char *name) {
    struct open_how how = {.flags = opening->flags,
                           .mode = mode_of(opening),
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
    return (int)syscall(SYS_openat2, directory, name, &how, sizeof how);
}

/* Whether what has been opened is what was looked at, or a file that was made: another
 * may have come there by that name. */
static bool is_judged(const struct opening *opening, const struct spot *spot) {
    struct stat about;
    if (fstat(opening->file, &about) != 0) return false;
    if (spot->object < 0 || opening->flags & __O_TMPFILE) return S_ISREG(about.st_mode);
    return about.st_dev == spot->about.st_dev && about.st_ino == spot->about.st_ino;
}

static int open_it(void *argument) {
    struct opening *opening = argument;
    const struct spot *spot = &opening->call->spots[0];
    char name[NAME_MAX + 2];
    if (spot->parent < 0 || (*spot->name && spot_is_mounted(spot))) {
        opening->file = open_held(opening);
    } else if (!*spot->name) {
        opening->file = open_name(opening, spot->object, ".");
    } else {
        snprintf(name, sizeof name, "%s%s", spot->name, spot->end);
        opening->file = open_name(opening, spot->parent, name);
    }
    if (opening->file < 0) return errno;
    if (is_judged(opening, spot)) return 0;
    close(opening->file);
    opening->file = -1;
    return EXDEV; /* to be looked at again */
}

static int open_as_caller(struct opening *opening) {
    return actor_do(&opening->call->actor, open_it, opening);
}

/* A name that is no pipe may have become one, for which this does not wait. */
static int open_plain(struct opening *opening, bool (*is_wanted)(const void *),
                      const void *about) {
    const struct spot *spot = &opening->call->spots[0];
    bool is_other = spot->object >= 0 && !S_ISREG(spot->about.st_mode);
    uint64_t flags = opening->flags;
    if (is_other || flags & O_NONBLOCK) return open_as_caller(opening);
    opening->flags |= O_NONBLOCK;
    int error = open_as_caller(opening);
    while (error == EWOULDBLOCK && is_wanted(about)) { /* somebody has a lease on it */
        poll(NULL, 0, LOOK_MILLISECONDS);
        error = open_as_caller(opening);
    }
    opening->flags = flags;
    if (error == EWOULDBLOCK) return EINTR;
    if (!error) fcntl(opening->file, F_SETFL, (int)flags & ~O_NONBLOCK);
    return error == ENXIO ? EXDEV : error; /* to be looked at again */
}

/* ---- what has its own ways ---- */

/* The kernel looks at who opens a file of a process, and that is this process here: its
 * caller may have those of the session, and memory of its own and of what it traces. What
 * a file of /proc is, its name there tells: it is opened by no other. */
static bool is_of_others(const struct call *call) {
    const struct spot *spot = &call->spots[0];
    pid_t thread = call->caller.thread;
    if (!spot_is_of_proc(spot) || !S_ISREG(spot->about.st_mode)) return false;
    if (spot->parent < 0 || spot_is_mounted(spot))
        return !call_reads(call) || !proc_is_told_to_all(spot->object);
    if (strcmp(spot->name, "mem") == 0) return !proc_is_own(spot->parent, thread);
    if (call_reads(call) && proc_tells_all(spot->name)) return false;
    return proc_is_process(spot->parent) &&
           !proc_is_open_to(spot->parent, thread, call->caller.is_bound);
}

/* Whether the thread has a namespace of that kind for itself. */
static bool is_apart(const struct call *call, const char *kind) {
    return !process_shares(call->caller.thread, kind);
}

static bool is_in_proc(const struct spot *spot) {
    if (spot->parent < 0) return false;
    return spot_is_mounted(spot) ? proc_has(spot->parent)
                                 : !spot->system || spot->system == PROC_SUPER_MAGIC;
}

/* Whether it is of the kernel, and of no process. */
static bool is_setting(const struct spot *spot) {
    return is_in_proc(spot) && !proc_is_process(spot->parent);
}

/* Whether it is one of networks. */
static bool is_of_net(const struct spot *spot) {
    char path[PATH_MAX];
    if (!file_path(spot->parent, path)) return true;
    const char *end = strrchr(path, '/');
    return strstr(path, "/net/") || strcmp(end, "/net") == 0;
}

static bool is_device(const struct spot *spot, unsigned device_major, unsigned device_minor) {
    return spot->object >= 0 && S_ISCHR(spot->about.st_mode) &&
           major(spot->about.st_rdev) == device_major &&
           minor(spot->about.st_rdev) == device_minor;
}

/* Settings, and tunnels, are those of the namespaces of whoever opens them: from here
 * they would be the machine's. To read, those of networks differ. */
static bool is_of_machine(const struct call *call) {
    const struct spot *spot = &call->spots[0];
    if (is_device(spot, MISC_MAJOR, TUN_MINOR)) return is_apart(call, "net");
    if (call_reads(call)) return is_setting(spot) && is_of_net(spot) && is_apart(call, "net");
    return is_setting(spot) && (is_apart(call, "net") || is_apart(call, "user") ||
                                is_apart(call, "ipc") || is_apart(call, "uts") ||
                                is_apart(call, "pid") || is_apart(call, "cgroup"));
}

/* The terminal of a thread's session, as a device; 0: it has none. */
static dev_t terminal_of(const char *thread) {
    char path[OWN_PATH];
    struct bytes text = {0};
    int number = 0;
    snprintf(path, sizeof path, "/proc/%s/stat", thread);
    if (bytes_read_file(&text, path, 1024)) {
        const char *after = strrchr(text.data, ')');
        if (after) sscanf(after + 1, " %*c %*d %*d %*d %d", &number);
    }
    free(text.data);
    unsigned device = (unsigned)number;
    return device ? makedev(device >> 8 & 0xfff, (device & 0xff) | (device >> 12 & 0xfff00))
                  : 0;
}

struct terminal {
    struct opening *opening;
    dev_t device;
    char path[OWN_PATH]; /* from the caller's root */
};

/* It is looked at before it is opened: what lies there may have been mounted there. */
static int open_if_terminal(void *argument) {
    struct terminal *terminal = argument;
    struct opening *opening = terminal->opening;
    struct stat about;
    struct statfs system;
    char link[FILE_LINK];
    int flags = (int)opening->flags & ~(O_NOFOLLOW | O_CREAT | O_EXCL | O_TRUNC);
    int held = openat(opening->call->caller.root, terminal->path,
                      O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (held < 0) return errno;
    file_link(held, link);
    bool is_it = fstat(held, &about) == 0 && S_ISCHR(about.st_mode) &&
                 about.st_rdev == terminal->device && fstatfs(held, &system) == 0 &&
                 system.f_type == DEVPTS_SUPER_MAGIC;
    opening->file = is_it ? open(link, flags & ~__O_TMPFILE) : -1;
    int error = !is_it ? ENXIO : opening->file < 0 ? errno : 0;
    close(held);
    return error;
}

/* A pseudoterminal by its device, as its caller could by its name. */
static int open_terminal(struct opening *opening, dev_t device) {
    struct terminal terminal = {.opening = opening, .device = device};
    unsigned number = (major(device) - UNIX98_PTY_SLAVE_MAJOR) * 256 + minor(device);
    if (major(device) - UNIX98_PTY_SLAVE_MAJOR >= UNIX98_PTY_MAJOR_COUNT) return ENXIO;
    snprintf(terminal.path, sizeof terminal.path, "dev/pts/%u", number);
    return actor_do(&opening->call->actor, open_if_terminal, &terminal);
}

/* /dev/tty is the caller's terminal, which need not be that of this process. */
static int open_own_terminal(struct opening *opening) {
    char thread[OWN_PATH];
    snprintf(thread, sizeof thread, "%ld", (long)opening->call->caller.thread);
    dev_t theirs = terminal_of(thread);
    if (!theirs) return ENXIO;
    if (opening->flags & __O_TMPFILE) return ENOTDIR;
    return theirs == terminal_of("self") ? open_as_caller(opening)
                                         : open_terminal(opening, theirs);
}

static int open_again(void *opening) { return open_as_caller(opening); }

static int open_for_a_while(void *opening) { return pipe_for_a_while(open_it, opening); }

static int open_reading(void *argument) {
    struct opening *opening = argument;
    return actor_do(&opening->call->actor, open_for_a_while, opening);
}

/* A pipe is opened once the other end is, too: this never waits in the kernel for long, and
 * looks now and then whether the caller still does. */
static int open_pipe(struct opening *opening, bool (*is_wanted)(const void *),
                     const void *about) {
    bool waits = !(opening->flags & O_NONBLOCK);
    uint64_t ends = opening->flags & O_ACCMODE;
    if (!waits || ends == O_RDWR) return open_as_caller(opening);
    if (ends == O_RDONLY) return pipe_open_reading(open_reading, opening, is_wanted, about);
    opening->flags |= O_NONBLOCK;
    int error = pipe_open_writing(open_again, opening, opening->call->spots[0].object,
                                  is_wanted, about);
    if (!error) fcntl(opening->file, F_SETFL, (int)opening->flags & ~O_NONBLOCK);
    return error;
}

/* Whether it is a device that the caller's group may be kept from. */
static bool is_closed_device(const struct call *call) {
    const struct spot *spot = &call->spots[0];
    mode_t mode = spot->about.st_mode;
    return spot->object >= 0 && (S_ISCHR(mode) || S_ISBLK(mode)) &&
           !device_keeps_nothing(spot->about.st_rdev) && devices_differ(call->caller.thread);
}

int opening_do(struct call *call, bool (*is_wanted)(const void *), const void *about) {
    struct opening opening = {.call = call,
                              .flags = (call->flags & KNOWN) | O_CLOEXEC | O_NOCTTY,
                              .file = -1};
    const struct spot *spot = &call->spots[0];
    int error;
    if (is_of_others(call) || is_of_machine(call) || is_closed_device(call)) return EACCES;
    if (is_device(spot, TTYAUX_MAJOR, 0)) error = open_own_terminal(&opening);
    else if (spot->object >= 0 && S_ISFIFO(spot->about.st_mode))
        error = open_pipe(&opening, is_wanted, about);
    else error = open_plain(&opening, is_wanted, about);
    if (!error && is_of_others(call)) { /* by now: it may have become an owner */
        close(opening.file);
        return EACCES;
    }
    call->file = opening.file;
    return error;
}
