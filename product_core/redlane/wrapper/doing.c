/* Does in its caller's place what a call asks for that changes names, rights or
 * attributes: of what was judged, which is held.
 *
 * A name is one in a directory that is held. What is not a name is reached by the link
 * that /proc has for what this process holds. */
#define _GNU_SOURCE
#include "doing.h"

#include "devices.h"
#include "file.h"
#include "machine.h"
#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { END = 2, OLD_CHOWN = 182, OLD_LCHOWN = 16, OLD_FCHOWN = 95 };

/* A name as its path has it. */
struct name {
    int directory;
    char text[NAME_MAX + END];
};

/* What is read before, by the rights of this process. */
struct doing {
    struct call *call;
    char text[PATH_MAX]; /* of a link; the name of an attribute */
    char *value;
    size_t value_size;
    struct timespec times[2];
    bool is_now; /* they are not given */
};

static struct name name_of(const struct spot *spot) {
    struct name name = {.directory = spot->parent >= 0 ? spot->parent : spot->object};
    snprintf(name.text, sizeof name.text, "%s%s", spot->name, spot->end);
    return name;
}

static uint64_t rest(const struct call *call, int number) {
    return call->data->args[call->asked->rest + number];
}

/* What the path leads to is there, and is a directory where the path says so. */
static int check_object(const struct spot *spot) {
    if (spot->object < 0) return ENOENT;
    bool is_wrong = *spot->name && *spot->end && !S_ISDIR(spot->about.st_mode);
    return is_wrong ? ENOTDIR : 0;
}

/* ---- names ---- */

static long link_object(const struct call *call) {
    char link[FILE_LINK];
    struct name to = name_of(&call->spots[1]);
    if (call->flags & ~(uint64_t)(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) {
        errno = EINVAL;
        return -1;
    }
    file_link(call->spots[0].object, link);
    return linkat(AT_FDCWD, link, to.directory, to.text, AT_SYMLINK_FOLLOW);
}

static long rename_to(const struct call *call, const struct name *name) {
    struct name to = name_of(&call->spots[1]);
    return syscall(SYS_renameat2, name->directory, name->text, to.directory, to.text,
                   (unsigned)call->flags);
}

/* Whether a device is made that the caller's group may be kept from. */
static bool is_closed_device(const struct call *call) {
    mode_t mode = (mode_t)rest(call, 0);
    dev_t device = (dev_t)rest(call, 1); /* 0 for what overlays have removed */
    errno = EPERM;
    return (S_ISCHR(mode) || S_ISBLK(mode)) && device && !device_keeps_nothing(device) &&
           devices_differ(call->caller.thread);
}

static long do_names(const struct doing *doing) {
    const struct call *call = doing->call;
    struct name name = name_of(&call->spots[0]);
    switch (call->asked->deed) {
    case MKDIR: return mkdirat(name.directory, name.text, (mode_t)rest(call, 0));
    case MKNOD:
        if (is_closed_device(call)) return -1;
        return syscall(SYS_mknodat, name.directory, name.text, (mode_t)rest(call, 0),
                       (unsigned)rest(call, 1));
    case SYMLINK: return symlinkat(doing->text, name.directory, name.text);
    case UNLINK: return unlinkat(name.directory, name.text, (int)call->flags);
    case RMDIR: return unlinkat(name.directory, name.text, AT_REMOVEDIR);
    case RENAME: return rename_to(call, &name);
    default: return link_object(call);
    }
}

/* ---- rights and attributes ---- */

static bool is_of_16_bits(const struct call *call) {
    int number = call->data->nr;
    return call->data->arch != MACHINE &&
           (number == OLD_CHOWN || number == OLD_LCHOWN || number == OLD_FCHOWN);
}

/* A number of an owner; the highest one stands for none in each width. */
static uid_t owner(const struct call *call, int number) {
    uint64_t given = rest(call, number);
    if (!is_of_16_bits(call)) return (uid_t)given;
    return (uint16_t)given == UINT16_MAX ? (uid_t)-1 : (uint16_t)given;
}

static off_t length_of(const struct call *call) {
    if (call->data->arch == MACHINE) return (off_t)rest(call, 0);
    if (call->asked->deed == TRUNCATE) return (int32_t)rest(call, 0);
    int low = OF_OTHER(0, 1); /* in an even register there */
    return (off_t)(rest(call, low) | rest(call, low + 1) << 32);
}

/* The limit of the caller, which is not that of this process. */
static long truncate_within(const struct call *call, const char *link) {
    off_t length = length_of(call);
    struct rlimit limit;
    pid_t thread = call->caller.thread;
    bool is_over = prlimit(thread, RLIMIT_FSIZE, NULL, &limit) == 0 && length > 0 &&
                   (rlim_t)length > limit.rlim_cur && length > call->spots[0].about.st_size;
    if (!is_over) return truncate(link, length);
    syscall(SYS_tgkill, process_of(thread), thread, SIGXFSZ);
    errno = EFBIG;
    return -1;
}

static long do_object(const struct doing *doing) {
    const struct call *call = doing->call;
    char link[FILE_LINK];
    file_link(call->spots[0].object, link);
    switch (call->asked->deed) {
    case TRUNCATE:
    case TRUNCATE_64: return truncate_within(call, link);
    case CHMOD: return chmod(link, (mode_t)rest(call, 0));
    case CHOWN: return chown(link, owner(call, 0), owner(call, 1));
    case SETXATTR:
        return setxattr(link, doing->text, doing->value, doing->value_size,
                        (int)rest(call, 3));
    case REMOVEXATTR: return removexattr(link, doing->text);
    default: return utimensat(AT_FDCWD, link, doing->is_now ? NULL : doing->times, 0);
    }
}

static int act(void *argument) {
    const struct doing *doing = argument;
    enum change change = doing->call->asked->change;
    bool is_object = change == ALTERS || change == ALTERS_OPEN;
    long result = is_object ? do_object(doing) : do_names(doing);
    return result < 0 ? errno : 0;
}

/* ---- what it needs besides ---- */

static int read_name(struct doing *doing) {
    char *name = doing->text;
    int error = caller_string(&doing->call->caller, rest(doing->call, 0), name, PATH_MAX);
    if (error) return error == ENAMETOOLONG ? ERANGE : error;
    return *name && strlen(name) <= XATTR_NAME_MAX ? 0 : ERANGE;
}

static int read_value(struct doing *doing) {
    uint64_t at = rest(doing->call, 1), size = rest(doing->call, 2);
    if (size > XATTR_SIZE_MAX) return E2BIG;
    doing->value_size = size;
    if (!size) return 0;
    doing->value = allocate(size);
    return caller_bytes(&doing->call->caller, at, doing->value, size);
}

enum { WORDS = 4, MICROSECONDS = 1000000 };

/* The two times, as words of one width or the other. */
static int read_words(const struct call *call, size_t count, int64_t *words) {
    bool is_wide = call->data->arch == MACHINE || call->asked->deed == TIMES_OF_64_BITS;
    int32_t narrow[WORDS];
    if (is_wide) return caller_bytes(&call->caller, rest(call, 0), words, count * sizeof *words);
    int error = caller_bytes(&call->caller, rest(call, 0), narrow, count * sizeof *narrow);
    for (size_t i = 0; i < count && !error; i++) words[i] = narrow[i];
    return error;
}

static int read_times(struct doing *doing) {
    enum deed deed = doing->call->asked->deed;
    int64_t words[WORDS];
    size_t pace = deed == TIMES_IN_SECONDS ? 1 : 2;
    doing->is_now = !rest(doing->call, 0);
    if (doing->is_now) return 0;
    int error = read_words(doing->call, 2 * pace, words);
    for (size_t i = 0; i < 2 && !error; i++) {
        int64_t part = pace == 1 ? 0 : words[i * pace + 1];
        if (deed == TIMES_IN_MICROSECONDS && (part < 0 || part >= MICROSECONDS))
            error = EINVAL;
        doing->times[i].tv_sec = words[i * pace];
        doing->times[i].tv_nsec = deed == TIMES_IN_MICROSECONDS ? part * 1000 : part;
    }
    return error;
}

static int read_rest(struct doing *doing) {
    const struct call *call = doing->call;
    int error = 0;
    switch (call->asked->deed) {
    case SYMLINK:
        return caller_string(&call->caller, call->data->args[0], doing->text, PATH_MAX);
    case SETXATTR: error = read_value(doing); /* fall through */
    case REMOVEXATTR: return error ? error : read_name(doing);
    default: return asked_times(call->asked->deed) ? read_times(doing) : 0;
    }
}

int doing_do(struct call *call) {
    struct doing doing = {.call = call};
    enum change change = call->asked->change;
    int error = 0;
    if (change == ALTERS || change == ALTERS_OPEN || change == LINKS)
        error = check_object(&call->spots[0]);
    if (!error) error = read_rest(&doing);
    if (!error) error = actor_do(&call->actor, act, &doing);
    free(doing.value);
    return error;
}
