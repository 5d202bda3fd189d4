/* What holds every process of a session, with nobody to ask: no privilege is needed for
 * it, and nobody below can take it off.
 *
 * A Landlock domain keeps the session from signalling, tracing or looking into processes
 * outside of it, and from their abstract sockets. The filter keeps it from typing into
 * terminals, and has every start of a program told to the session's supervisor. Whose
 * child a process is tells whether its shells have been judged: none can make another
 * the child of its own parent. */
#define _GNU_SOURCE
#include "leash.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "message.h"

/* Of every machine, and as in linux/landlock.h of Linux 6.12; Debian 12 has an older
 * one. */
enum {
    CLONE3 = 435,
    CREATE_RULESET = 444,
    RESTRICT_SELF = 446,
    ASK_VERSION = 1,
    SCOPES_FROM = 6,
    SCOPE_ABSTRACT_SOCKETS = 1,
    SCOPE_SIGNALS = 2,
};

struct ruleset {
    uint64_t files, network, scoped;
};

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#define OTHER_MACHINE AUDIT_ARCH_I386
enum {
    OTHER_EXECVE = 11,
    OTHER_EXECVEAT = 358,
    OTHER_IOCTL = 54,
    OTHER_CLONE = 120,
};
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#define OTHER_MACHINE AUDIT_ARCH_ARM
enum {
    OTHER_EXECVE = 11,
    OTHER_EXECVEAT = 387,
    OTHER_IOCTL = 54,
    OTHER_CLONE = 120,
};
#else
#error "the system calls of this machine are not known"
#endif

#define LOAD(field) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define SKIP_UNLESS(value, count) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, (count))
#define SKIP_BELOW(value, count) \
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)(value), 0, (count))
#define IF(value, result) SKIP_UNLESS(value, 1), RETURN(result)

/* The second argument of ioctl has its low half first on both machines. */
#define TYPING \
    LOAD(args[1]), IF(TIOCSTI, SECCOMP_RET_ERRNO | EACCES), \
        IF(TIOCLINUX, SECCOMP_RET_ERRNO | EACCES), RETURN(SECCOMP_RET_ALLOW)

/* The flags of clone are its first argument everywhere. Those of clone3 are in memory,
 * and programs fall back on clone. */
#define SIBLING \
    LOAD(args[0]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_PARENT, 0, 1), \
        RETURN(SECCOMP_RET_ERRNO | EPERM), RETURN(SECCOMP_RET_ALLOW)

/* TYPING is 6 instructions, SIBLING 4, and this is HELD_LENGTH. */
#define HELD(execve, execveat, ioctl, clone) \
    LOAD(nr), IF(execve, SECCOMP_RET_USER_NOTIF), \
        IF(execveat, SECCOMP_RET_USER_NOTIF), IF(CLONE3, SECCOMP_RET_ERRNO | ENOSYS), \
        SKIP_UNLESS(clone, 4), SIBLING, SKIP_UNLESS(ioctl, 6), TYPING, \
        RETURN(SECCOMP_RET_ALLOW)

enum { X32_CALLS = 0x40000000, HELD_LENGTH = 20 };

struct sock_fprog leash_filter(void) {
    static struct sock_filter code[] = {
        LOAD(arch),
        SKIP_UNLESS(MACHINE, HELD_LENGTH + 3),
        LOAD(nr),
        SKIP_BELOW(X32_CALLS, 1), /* x86_64's other calls; aarch64 has none as high */
        RETURN(SECCOMP_RET_ERRNO | ENOSYS),
        HELD(SYS_execve, SYS_execveat, SYS_ioctl, SYS_clone),
        SKIP_UNLESS(OTHER_MACHINE, HELD_LENGTH),
        HELD(OTHER_EXECVE, OTHER_EXECVEAT, OTHER_IOCTL, OTHER_CLONE),
        RETURN(SECCOMP_RET_KILL_PROCESS),
    };
    return (struct sock_fprog){sizeof code / sizeof *code, code};
}

static long landlock(long call, const void *first, long second, long third) {
    return syscall(call, first, second, third);
}

/* Binds this process and all that it will start. A kernel that cannot is no reason not
 * to start: what it lacks is told. */
void leash_put_on(void) {
    struct ruleset wanted = {.scoped = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        refuse("the session cannot be bound: its programs could gain privileges");
    if (landlock(CREATE_RULESET, NULL, 0, ASK_VERSION) < SCOPES_FROM) {
        tell("nothing keeps the session from signalling and tracing your other "
             "processes: Landlock of Linux 6.12 would, and is missing or not allowed");
        return;
    }
    int rules = (int)landlock(CREATE_RULESET, &wanted, sizeof wanted, 0);
    if (rules < 0 || syscall(RESTRICT_SELF, rules, 0) != 0)
        refuse("the session cannot be bound: Landlock refuses");
    close(rules);
}
