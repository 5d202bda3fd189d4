/* Which system calls change files or read them, and where their arguments say which.
 *
 * Numbers are those of linux/unistd.h, some of which Debian 12 does not have yet. Those
 * of the 32-bit calls of x86_64 and aarch64 machines are written out. */
#define _GNU_SOURCE
#include "asked.h"

#include "machine.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define LEGACY(name) SYS_##name
#define RENAMEAT SYS_renameat
#else
#define RENAMEAT 38
#define LEGACY(name) NONE /* aarch64 has those with a directory only */
#endif

struct row {
    int own, other;
    struct asked asked;
};

#define ROW(own, i386, arm, ...) {own, OF_OTHER(i386, arm), {__VA_ARGS__}}

/* The same numbers on both 32-bit machines. */
#define BECOME_ROW(own, other, name) \
    ROW(own, other, other, name, BECOMES, STAYS, NONE, NONE, NONE, NONE, NONE, BECOME, NONE)

static const struct row rows[] = {
    ROW(LEGACY(open), 5, 5, "open", OPENS, BY_OPEN_FLAGS, NONE, 0, NONE, NONE, 1, OPEN, 2),
    ROW(SYS_openat, 295, 322, "openat", OPENS, BY_OPEN_FLAGS, 0, 1, NONE, NONE, 2, OPEN, 3),
    ROW(LEGACY(creat), 8, 8, "creat", OPENS, FOLLOWS, NONE, 0, NONE, NONE, NONE, OPEN, 1),
    ROW(LEGACY(mkdir), 39, 39, "mkdir", MAKES_DIRECTORY, NAMES, NONE, 0, NONE, NONE, NONE,
        MKDIR, 1),
    ROW(SYS_mkdirat, 296, 323, "mkdirat", MAKES_DIRECTORY, NAMES, 0, 1, NONE, NONE, NONE,
        MKDIR, 2),
    ROW(LEGACY(mknod), 14, 14, "mknod", MAKES, NAMES, NONE, 0, NONE, NONE, NONE, MKNOD, 1),
    ROW(SYS_mknodat, 297, 324, "mknodat", MAKES, NAMES, 0, 1, NONE, NONE, NONE, MKNOD, 2),
    ROW(LEGACY(symlink), 83, 83, "symlink", MAKES, NAMES, NONE, 1, NONE, NONE, NONE,
        SYMLINK, 0),
    ROW(SYS_symlinkat, 304, 331, "symlinkat", MAKES, NAMES, 1, 2, NONE, NONE, NONE,
        SYMLINK, 0),
    ROW(LEGACY(unlink), 10, 10, "unlink", REMOVES, NAMES, NONE, 0, NONE, NONE, NONE,
        UNLINK, NONE),
    ROW(SYS_unlinkat, 301, 328, "unlinkat", REMOVES, NAMES, 0, 1, NONE, NONE, 2, UNLINK,
        NONE),
    ROW(LEGACY(rmdir), 40, 40, "rmdir", REMOVES, NAMES, NONE, 0, NONE, NONE, NONE, RMDIR,
        NONE),
    ROW(LEGACY(rename), 38, 38, "rename", MOVES, NAMES, NONE, 0, NONE, 1, NONE, RENAME,
        NONE),
    ROW(RENAMEAT, 302, 329, "renameat", MOVES, NAMES, 0, 1, 2, 3, NONE, RENAME, NONE),
    ROW(SYS_renameat2, 353, 382, "renameat2", MOVES, NAMES, 0, 1, 2, 3, 4, RENAME, NONE),
    ROW(LEGACY(link), 9, 9, "link", LINKS, STAYS, NONE, 0, NONE, 1, NONE, LINK, NONE),
    ROW(SYS_linkat, 303, 330, "linkat", LINKS, FOLLOWS_IF_FLAGGED, 0, 1, 2, 3, 4, LINK,
        NONE),
    ROW(SYS_truncate, 92, 92, "truncate", ALTERS, FOLLOWS, NONE, 0, NONE, NONE, NONE,
        TRUNCATE, 1),
    ROW(NONE, 193, 193, "truncate", ALTERS, FOLLOWS, NONE, 0, NONE, NONE, NONE,
        TRUNCATE_64, 1),
    ROW(LEGACY(chmod), 15, 15, "chmod", ALTERS, FOLLOWS, NONE, 0, NONE, NONE, NONE, CHMOD,
        1),
    ROW(SYS_fchmodat, 306, 333, "fchmodat", ALTERS, FOLLOWS, 0, 1, NONE, NONE, NONE,
        CHMOD, 2),
    ROW(452, 452, 452, "fchmodat2", ALTERS, STAYS_IF_FLAGGED, 0, 1, NONE, NONE, 3, CHMOD,
        2),
    ROW(LEGACY(chown), 182, 182, "chown", ALTERS, FOLLOWS, NONE, 0, NONE, NONE, NONE,
        CHOWN, 1),
    ROW(NONE, 212, 212, "chown", ALTERS, FOLLOWS, NONE, 0, NONE, NONE, NONE, CHOWN, 1),
    ROW(LEGACY(lchown), 16, 16, "lchown", ALTERS, STAYS, NONE, 0, NONE, NONE, NONE, CHOWN,
        1),
    ROW(NONE, 198, 198, "lchown", ALTERS, STAYS, NONE, 0, NONE, NONE, NONE, CHOWN, 1),
    ROW(SYS_fchownat, 298, 325, "fchownat", ALTERS, STAYS_IF_FLAGGED, 0, 1, NONE, NONE, 4,
        CHOWN, 2),
    ROW(SYS_setxattr, 226, 226, "setxattr", ALTERS, FOLLOWS, NONE, 0, NONE, NONE, NONE,
        SETXATTR, 1),
    ROW(SYS_lsetxattr, 227, 227, "lsetxattr", ALTERS, STAYS, NONE, 0, NONE, NONE, NONE,
        SETXATTR, 1),
    ROW(SYS_removexattr, 235, 235, "removexattr", ALTERS, FOLLOWS, NONE, 0, NONE, NONE,
        NONE, REMOVEXATTR, 1),
    ROW(SYS_lremovexattr, 236, 236, "lremovexattr", ALTERS, STAYS, NONE, 0, NONE, NONE,
        NONE, REMOVEXATTR, 1),
    ROW(SYS_fchmod, 94, 94, "fchmod", ALTERS_OPEN, STAYS, 0, NONE, NONE, NONE, NONE,
        CHMOD, 1),
    ROW(SYS_fchown, 95, 95, "fchown", ALTERS_OPEN, STAYS, 0, NONE, NONE, NONE, NONE,
        CHOWN, 1),
    ROW(NONE, 207, 207, "fchown", ALTERS_OPEN, STAYS, 0, NONE, NONE, NONE, NONE, CHOWN, 1),
    ROW(SYS_fsetxattr, 228, 228, "fsetxattr", ALTERS_OPEN, STAYS, 0, NONE, NONE, NONE,
        NONE, SETXATTR, 1),
    ROW(SYS_fremovexattr, 237, 237, "fremovexattr", ALTERS_OPEN, STAYS, 0, NONE, NONE,
        NONE, NONE, REMOVEXATTR, 1),
    ROW(SYS_utimensat, 320, 348, "utimensat", ALTERS, STAYS_IF_FLAGGED, 0, 1, NONE, NONE, 3,
        TIMES_IN_NANOSECONDS, 2),
    ROW(NONE, 412, 412, "utimensat", ALTERS, STAYS_IF_FLAGGED, 0, 1, NONE, NONE, 3,
        TIMES_OF_64_BITS, 2),
    ROW(LEGACY(futimesat), 299, 326, "futimesat", ALTERS, FOLLOWS, 0, 1, NONE, NONE, NONE,
        TIMES_IN_MICROSECONDS, 2),
    ROW(LEGACY(utimes), 271, 269, "utimes", ALTERS, FOLLOWS, NONE, 0, NONE, NONE, NONE,
        TIMES_IN_MICROSECONDS, 1),
    ROW(LEGACY(utime), 30, 30, "utime", ALTERS, FOLLOWS, NONE, 0, NONE, NONE, NONE,
        TIMES_IN_SECONDS, 1),
    ROW(SYS_bind, 361, 282, "bind", BINDS, STAYS, NONE, 1, NONE, NONE, NONE, BIND, NONE),
    ROW(NONE, 102, NONE, "bind", BINDS_BY_MEMORY, STAYS, NONE, 1, NONE, NONE, NONE, BIND,
        NONE),
    ROW(SYS_connect, 362, 283, "connect", CONNECTS, FOLLOWS, NONE, 1, NONE, NONE, NONE, CONNECT,
        NONE),
    ROW(NONE, 102, NONE, "connect", CONNECTS_BY_MEMORY, FOLLOWS, NONE, 1, NONE, NONE, NONE,
        CONNECT, NONE),
    ROW(446, 446, 446, "landlock_restrict_self", RESTRICTS, STAYS, NONE, NONE, NONE, NONE,
        NONE, RESTRICT, 0),
    ROW(445, 445, 445, "landlock_add_rule", RESTRICTS, STAYS, NONE, NONE, NONE, NONE, NONE,
        ADD_RULE, 0),
    ROW(SYS_mount, 21, 21, "mount", MOUNTS, STAYS, NONE, 2, NONE, NONE, 3, MOUNT, NONE),
    ROW(430, 430, 430, "fsopen", MOUNTS, STAYS, NONE, 0, NONE, NONE, NONE, MOUNT, NONE),
    ROW(SYS_unshare, 310, 337, "unshare", DEPARTS, STAYS, NONE, NONE, NONE, NONE, 0, DEPART,
        NONE),
    ROW(SYS_clone, 120, 120, "clone", DEPARTS, STAYS, NONE, NONE, NONE, NONE, 0, CLONE, NONE),
    ROW(SYS_setns, 346, 375, "setns", DEPARTS, STAYS, NONE, NONE, NONE, NONE, NONE, DEPART,
        NONE),
    ROW(SYS_chroot, 61, 61, "chroot", DEPARTS, STAYS, NONE, NONE, NONE, NONE, NONE, DEPART,
        NONE),
    ROW(SYS_pivot_root, 217, 218, "pivot_root", DEPARTS, STAYS, NONE, NONE, NONE, NONE, NONE,
        DEPART, NONE),
    ROW(429, 429, 429, "move_mount", DEPARTS, STAYS, NONE, NONE, NONE, NONE, NONE, DEPART,
        NONE),
    ROW(SYS_ptrace, 26, 26, "ptrace", LOOKS_INTO, STAYS, NONE, NONE, NONE, NONE, NONE, ATTACH,
        1),
    ROW(SYS_process_vm_readv, 347, 376, "process_vm_readv", LOOKS_INTO, STAYS, NONE, NONE,
        NONE, NONE, NONE, COPY_MEMORY, 0),
    ROW(SYS_process_vm_writev, 348, 377, "process_vm_writev", LOOKS_INTO, STAYS, NONE, NONE,
        NONE, NONE, NONE, COPY_MEMORY, 0),
    ROW(SYS_socket, 359, 281, "socket", MAKES_SOCKET, STAYS, NONE, NONE, NONE, NONE, NONE,
        SOCKET, 0),
    BECOME_ROW(SYS_setuid, 213, "setuid"),
    BECOME_ROW(NONE, 23, "setuid"),
    BECOME_ROW(SYS_setgid, 214, "setgid"),
    BECOME_ROW(NONE, 46, "setgid"),
    BECOME_ROW(SYS_setreuid, 203, "setreuid"),
    BECOME_ROW(NONE, 70, "setreuid"),
    BECOME_ROW(SYS_setregid, 204, "setregid"),
    BECOME_ROW(NONE, 71, "setregid"),
    BECOME_ROW(SYS_setgroups, 206, "setgroups"),
    BECOME_ROW(NONE, 81, "setgroups"),
    BECOME_ROW(SYS_setresuid, 208, "setresuid"),
    BECOME_ROW(NONE, 164, "setresuid"),
    BECOME_ROW(SYS_setresgid, 210, "setresgid"),
    BECOME_ROW(NONE, 170, "setresgid"),
    BECOME_ROW(SYS_setfsuid, 215, "setfsuid"),
    BECOME_ROW(NONE, 138, "setfsuid"),
    BECOME_ROW(SYS_setfsgid, 216, "setfsgid"),
    BECOME_ROW(NONE, 139, "setfsgid"),
    BECOME_ROW(SYS_capset, 185, "capset"),
    BECOME_ROW(SYS_prctl, 172, "prctl"),
};

bool asked_times(enum deed deed) {
    return deed == TIMES_IN_NANOSECONDS || deed == TIMES_IN_MICROSECONDS ||
           deed == TIMES_IN_SECONDS || deed == TIMES_OF_64_BITS;
}

bool asked_connects(enum change change) {
    return change == CONNECTS || change == CONNECTS_BY_MEMORY;
}

bool asked_addresses(enum change change) {
    return change == BINDS || change == BINDS_BY_MEMORY || asked_connects(change);
}

bool asked_reads(const struct asked *asked, uint64_t flags) {
    return asked->change == OPENS && !(flags & (O_ACCMODE | O_CREAT | O_TRUNC));
}

enum { ROWS = sizeof rows / sizeof *rows, OPENAT2 = 437 };
enum { SOCKETCALL_BIND = 2, SOCKETCALL_CONNECT = 3 };

/* Of two rows with the number of socketcall the one that its first argument says. */
static bool is_other_part(const struct asked *asked, const struct seccomp_data *data) {
    if (asked->change == BINDS_BY_MEMORY) return (uint32_t)data->args[0] != SOCKETCALL_BIND;
    return asked->change == CONNECTS_BY_MEMORY && (uint32_t)data->args[0] != SOCKETCALL_CONNECT;
}

const struct asked *asked_find(const struct seccomp_data *data) {
    bool is_own = data->arch == MACHINE;
    for (size_t i = 0; i < ROWS; i++)
        if ((is_own ? rows[i].own : rows[i].other) == data->nr &&
            !is_other_part(&rows[i].asked, data))
            return &rows[i].asked;
    return NULL;
}

#define WORD(number) ((uint32_t)offsetof(struct seccomp_data, args[number]))
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define UNLESS(value, count) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, (count))
#define UNLESS_SOME(flags, count) \
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(flags), 0, (count))

static const uint32_t rearranging = MS_REMOUNT | MS_BIND | MS_MOVE | MS_SHARED | MS_PRIVATE |
                                   MS_SLAVE | MS_UNBINDABLE;
static const uint32_t writing = O_ACCMODE | O_CREAT | O_TRUNC;

static unsigned add(struct sock_filter *to, const struct sock_filter *from, size_t size) {
    unsigned count = (unsigned)(size / sizeof *from);
    for (unsigned i = 0; i < count; i++) to[i] = from[i];
    return count;
}

/* Each part of a call: the number stands in the accumulator, and does at its end. */
static unsigned add_open(struct sock_filter *code, int number, const struct asked *asked,
                         bool reads) {
    const struct sock_filter part[] = {
        UNLESS(number, 8),
        LOAD(WORD(asked->flags)),
        UNLESS_SOME(O_PATH, 1), /* which opens nothing, whatever else it says */
        RETURN(SECCOMP_RET_ALLOW),
        UNLESS_SOME(writing, 1),
        RETURN(SECCOMP_RET_USER_NOTIF),
        UNLESS_SOME(O_DIRECTORY, 1), /* nothing but names is read there */
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(reads ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW),
    };
    return add(code, part, sizeof part);
}

static unsigned add_mount(struct sock_filter *code, int number, const struct asked *asked,
                          bool reads) {
    const struct sock_filter part[] = {
        UNLESS(number, 4),
        LOAD(WORD(asked->flags)),
        UNLESS_SOME(rearranging, 1),
        RETURN(reads ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_USER_NOTIF),
    };
    return add(code, part, sizeof part);
}

static unsigned add_departure(struct sock_filter *code, int number,
                              const struct asked *asked) {
    const struct sock_filter part[] = {
        UNLESS(number, 4),
        LOAD(WORD(asked->flags)),
        UNLESS_SOME(CLONE_NEWNS | CLONE_NEWUSER, 1),
        RETURN(SECCOMP_RET_USER_NOTIF),
        LOAD(offsetof(struct seccomp_data, nr)),
    };
    return add(code, part, sizeof part);
}

/* By its first argument: two of those that it may be. */
static unsigned add_words(struct sock_filter *code, int number, int one, int other) {
    const struct sock_filter part[] = {
        UNLESS(number, 6),
        LOAD(WORD(0)),
        UNLESS(one, 1),
        RETURN(SECCOMP_RET_USER_NOTIF),
        UNLESS(other, 1),
        RETURN(SECCOMP_RET_USER_NOTIF),
        LOAD(offsetof(struct seccomp_data, nr)),
    };
    return add(code, part, sizeof part);
}

static unsigned add_row(struct sock_filter *code, int number, const struct asked *asked,
                        bool reads) {
    const struct sock_filter whole[] = {
        UNLESS(number, 1),
        RETURN(SECCOMP_RET_USER_NOTIF),
    };
    bool is_of_reading = asked->change == DEPARTS || asked->change == LOOKS_INTO;
    bool has_flags = asked->flags != NONE;
    if (is_of_reading && !reads) return 0;
    if (asked->change == MAKES_SOCKET) return 0; /* egress_filter.c */
    if (asked->change == BECOMES) {
        if (!reads || geteuid() != 0) return 0; /* others have nothing to give up */
        if (strcmp(asked->name, "prctl") == 0)
            return add_words(code, number, PR_CAPBSET_DROP, PR_SET_SECUREBITS);
    }
    if (asked->change == OPENS && has_flags) return add_open(code, number, asked, reads);
    if (asked->change == MOUNTS && has_flags) return add_mount(code, number, asked, reads);
    if (asked->change == BINDS_BY_MEMORY)
        return add_words(code, number, SOCKETCALL_BIND, SOCKETCALL_BIND);
    if (asked->change == CONNECTS_BY_MEMORY)
        return add_words(code, number, SOCKETCALL_CONNECT, SOCKETCALL_CONNECT);
    if (asked->change == DEPARTS && has_flags) return add_departure(code, number, asked);
    if (asked->deed == ATTACH) return add_words(code, number, PTRACE_ATTACH, PTRACE_SEIZE);
    return add(code, whole, sizeof whole);
}

/* What openat2 is to open for is in memory: programs do without. */
unsigned asked_filter(struct sock_filter *code, bool is_own, bool reads, bool connects) {
    const struct sock_filter unknown[] = {
        UNLESS(OPENAT2, 1),
        RETURN(SECCOMP_RET_ERRNO | ENOSYS),
    };
    unsigned count = add(code, unknown, sizeof unknown);
    for (size_t i = 0; i < ROWS; i++) {
        int number = is_own ? rows[i].own : rows[i].other;
        if (number == NONE || (asked_connects(rows[i].asked.change) && !connects)) continue;
        count += add_row(code + count, number, &rows[i].asked, reads);
    }
    return count;
}
