/* What holds every process of a session, with nobody to ask: no privilege is needed for
 * it, and nobody below can take it off.
 *
 * A Landlock domain keeps the session from signalling, tracing or looking into processes
 * outside of it, and from their abstract sockets. The filter keeps it from typing into
 * terminals, and has every start of a program told to the session's supervisor, as every
 * call is that changes a file (asked.c). Whose child a process is tells whether its
 * shells have been judged: none can make another the child of its own parent. */
#define _GNU_SOURCE
#include "leash.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "asked.h"
#include "bpf.h"
#include "egress_filter.h"
#include "machine.h"
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

enum {
    OTHER_EXECVE = 11,
    OTHER_EXECVEAT = OF_OTHER(358, 387),
    OTHER_IOCTL = 54,
    OTHER_CLONE = 120,
    OTHER_PRCTL = 172,
    OTHER_FCNTL = 55,
    OTHER_FCNTL64 = 221,
    OTHER_ACCT = 51,
    OTHER_PRLIMIT = OF_OTHER(340, 369),
    OTHER_OPEN_BY_HANDLE = OF_OTHER(342, 371),
    OTHER_SETRLIMIT = 75,
    OTHER_SECCOMP = OF_OTHER(354, 383),
    OTHER_FANOTIFY_INIT = OF_OTHER(338, 367),
    OTHER_QUOTACTL = 131,
    OTHER_UNSHARE = OF_OTHER(310, 337),
    OTHER_SETNS = OF_OTHER(346, 375),
    OTHER_PERF_EVENT_OPEN = OF_OTHER(336, 364),
    OTHER_BPF = OF_OTHER(357, 386),
    OTHER_INIT_MODULE = 128,
    OTHER_FINIT_MODULE = OF_OTHER(350, 379),
    OTHER_KEXEC_LOAD = OF_OTHER(283, 347),
    OTHER_IOPL = OF_OTHER(110, -1),
    OTHER_IOPERM = OF_OTHER(101, -1),
    NO_CALL = -1,
};

/* Calls by which files are changed and which this program does not know how to look at:
 * programs do without. The same numbers everywhere. */
enum {
    IO_URING_SETUP = 425,
    QUOTACTL_FD = 443,
    SETXATTRAT = 463,
    REMOVEXATTRAT = 466,
    FILE_SETATTR = 469,
    UNKNOWN_FROM = 470,
};

/* Requests that change a file by a descriptor for reading: as of a 64-bit program and of
 * a 32-bit one. */
enum {
    SET_FLAGS = 0x40086602,
    SET_FLAGS_32 = 0x40046602,
    SET_VERSION = 0x40087602,
    SET_VERSION_32 = 0x40047602,
    EXT4_SET_VERSION = 0x40086604,
    EXT4_SET_VERSION_32 = 0x40046604,
    SET_FILE_ATTRIBUTES = 0x401c5820,
};

/* The same, of what lies below a directory or of a whole file system; and by which a file
 * is handed on to be written to. */
enum {
    FUSE_BACKING_OPEN = 0x4010e501,
    ENABLE_VERITY = 0x40806685,
    SET_ENCRYPTION_POLICY = 0x800c6613,
    FAT_SET_ATTRIBUTES = 0x40047211,
    F2FS_SET_PIN_FILE = 0x4004f50d,
    SUBVOLUME_CREATE = 0x5000940e,
    SUBVOLUME_DESTROY = 0x5000940f,
    SUBVOLUME_CREATE_2 = 0x50009418,
    SUBVOLUME_DESTROY_2 = 0x5000943f,
    SUBVOLUME_SET_FLAGS = 0x4008941a,
    SNAPSHOT_CREATE = 0x50009401,
    SNAPSHOT_CREATE_2 = 0x50009417,
    SET_RECEIVED_SUBVOLUME = 0xc0c89425,
    SET_LABEL = 0x41009432,
    EXT4_SET_UUID = 0x4008662c,
    SHUTDOWN = 0x8004587d,
    FREEZE = 0xc0045877,
    TRIM = 0xc0185879,
};

#define IF_REQUEST(request) IF(request, SECCOMP_RET_ERRNO | EACCES)

/* The second argument of ioctl has its low half first on both machines. */
#define REQUEST \
    LOAD(args[1]), IF(TIOCSTI, SECCOMP_RET_ERRNO | EACCES), \
        IF(TIOCLINUX, SECCOMP_RET_ERRNO | EACCES), \
        IF(SET_FLAGS, SECCOMP_RET_ERRNO | EACCES), \
        IF(SET_FLAGS_32, SECCOMP_RET_ERRNO | EACCES), \
        IF(SET_VERSION, SECCOMP_RET_ERRNO | EACCES), \
        IF(SET_VERSION_32, SECCOMP_RET_ERRNO | EACCES), \
        IF(EXT4_SET_VERSION, SECCOMP_RET_ERRNO | EACCES), \
        IF(EXT4_SET_VERSION_32, SECCOMP_RET_ERRNO | EACCES), \
        IF(SET_FILE_ATTRIBUTES, SECCOMP_RET_ERRNO | EACCES), IF_REQUEST(FUSE_BACKING_OPEN), \
        IF_REQUEST(ENABLE_VERITY), IF_REQUEST(SET_ENCRYPTION_POLICY), \
        IF_REQUEST(FAT_SET_ATTRIBUTES), IF_REQUEST(F2FS_SET_PIN_FILE), \
        IF_REQUEST(SUBVOLUME_CREATE), IF_REQUEST(SUBVOLUME_DESTROY), \
        IF_REQUEST(SUBVOLUME_CREATE_2), IF_REQUEST(SUBVOLUME_DESTROY_2), \
        IF_REQUEST(SUBVOLUME_SET_FLAGS), IF_REQUEST(SNAPSHOT_CREATE), \
        IF_REQUEST(SNAPSHOT_CREATE_2), IF_REQUEST(SET_RECEIVED_SUBVOLUME), \
        IF_REQUEST(SET_LABEL), IF_REQUEST(EXT4_SET_UUID), IF_REQUEST(SHUTDOWN), \
        IF_REQUEST(FREEZE), IF_REQUEST(TRIM), RETURN(SECCOMP_RET_ALLOW)

/* A lease has others wait who would write: the daemon, for one. */
#define LEASE \
    LOAD(args[1]), IF(F_SETLEASE, SECCOMP_RET_ERRNO | EACCES), RETURN(SECCOMP_RET_ALLOW)

/* Limits are the caller's own business; those of the daemon would end it. */
#define LIMIT \
    LOAD(args[0]), IF(0, SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_ERRNO | EPERM)

/* The flags of clone are its first argument everywhere. Those of clone3 are in memory,
 * and programs fall back on clone. */
#define SIBLING \
    LOAD(args[0]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_PARENT, 0, 1), \
        RETURN(SECCOMP_RET_ERRNO | EPERM), RETURN(SECCOMP_RET_ALLOW)

/* The supervisor looks into what calls: that it can, stays so. To forbid it succeeds,
 * and changes nothing. Nor does a program say that it is another one, which it could in
 * a namespace of users. */
#define CLOSING \
    LOAD(args[0]), IF(PR_SET_DUMPABLE, SECCOMP_RET_ERRNO | 0), \
        IF(PR_SET_MM, SECCOMP_RET_ERRNO | EPERM), RETURN(SECCOMP_RET_ALLOW)

/* A core file lies where the process is: the limit stays at none. To raise it succeeds,
 * and changes nothing; prlimit has the address of a new one where there is one. */
#define CORE LOAD(args[0]), IF(RLIMIT_CORE, SECCOMP_RET_ERRNO | 0), LOAD(nr)
#define CORE_AT \
    LOAD(args[1]), SKIP_UNLESS(RLIMIT_CORE, 5), LOAD(args[2]), SKIP_UNLESS(0, 2), \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, UPPER(2)), \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0), RETURN(SECCOMP_RET_ERRNO | 0), LOAD(nr)

/* What is refused where a session changes files in places only. */
#define PLACED(setrlimit, prlimit, quotactl) \
    SKIP_UNLESS(setrlimit, 4), CORE, SKIP_UNLESS(prlimit, 8), CORE_AT, \
        IF(quotactl, SECCOMP_RET_ERRNO | EPERM), IF(QUOTACTL_FD, SECCOMP_RET_ERRNO | EPERM)

/* In namespaces of its own a session has other rights and other names. */
#define IF_SPACES(spaces) \
    LOAD(args[0]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (spaces), 0, 1), \
        RETURN(SECCOMP_RET_ERRNO | EPERM), LOAD(nr)
#define HERE_ONLY(clone, unshare, setns) \
    SKIP_UNLESS(clone, 4), IF_SPACES(SPACES), SKIP_UNLESS(unshare, 4), \
        IF_SPACES(SPACES | NEW_TIME), IF(setns, SECCOMP_RET_ERRNO | EPERM)

/* Where not all may be read: what sees into other programs, or past the kernel. */
#define BLIND(perf_event_open, bpf, init_module, finit_module, kexec_load, kexec_file_load, \
              iopl, ioperm, fanotify_init, pidfd_getfd) \
    IF(perf_event_open, SECCOMP_RET_ERRNO | EPERM), IF(bpf, SECCOMP_RET_ERRNO | EPERM), \
        IF(init_module, SECCOMP_RET_ERRNO | EPERM), \
        IF(finit_module, SECCOMP_RET_ERRNO | EPERM), \
        IF(kexec_load, SECCOMP_RET_ERRNO | EPERM), \
        IF(kexec_file_load, SECCOMP_RET_ERRNO | EPERM), \
        IF(iopl, SECCOMP_RET_ERRNO | EPERM), IF(ioperm, SECCOMP_RET_ERRNO | EPERM), \
        IF(fanotify_init, SECCOMP_RET_ERRNO | EPERM), \
        IF(pidfd_getfd, SECCOMP_RET_ERRNO | EPERM)

/* Who has a filter's listener answers in place of this session's supervisor, once that is
 * gone. */
#define LISTENING \
    LOAD(args[1]), \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0, 1), \
        RETURN(SECCOMP_RET_ERRNO | EBUSY), RETURN(SECCOMP_RET_ALLOW)

/* The kernel opens the files of such a group's events itself. */
#define WATCHING \
    LOAD(args[1]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_ACCMODE, 0, 1), \
        RETURN(SECCOMP_RET_ERRNO | EPERM), RETURN(SECCOMP_RET_ALLOW)

/* REQUEST is 56 instructions, CLOSING 6, the others are 4. */
#define HELD(execve, execveat, ioctl, clone, prctl, fcntl, fcntl64, prlimit, acct, \
             open_by_handle, seccomp, fanotify_init) \
    IF(execve, SECCOMP_RET_USER_NOTIF), IF(execveat, SECCOMP_RET_USER_NOTIF), \
        IF(CLONE3, SECCOMP_RET_ERRNO | ENOSYS), \
        IF(IO_URING_SETUP, SECCOMP_RET_ERRNO | ENOSYS), \
        IF(SETXATTRAT, SECCOMP_RET_ERRNO | ENOSYS), \
        IF(REMOVEXATTRAT, SECCOMP_RET_ERRNO | ENOSYS), \
        IF(FILE_SETATTR, SECCOMP_RET_ERRNO | ENOSYS), SKIP_UNLESS(clone, 4), SIBLING, \
        SKIP_UNLESS(prctl, 6), CLOSING, SKIP_UNLESS(ioctl, 56), REQUEST, \
        SKIP_UNLESS(fcntl, 4), LEASE, SKIP_UNLESS(fcntl64, 4), LEASE, \
        SKIP_UNLESS(prlimit, 4), LIMIT, IF(acct, SECCOMP_RET_ERRNO | EPERM), \
        IF(open_by_handle, SECCOMP_RET_ERRNO | EPERM), SKIP_UNLESS(seccomp, 4), \
        LISTENING, SKIP_UNLESS(fanotify_init, 4), WATCHING, \
        SKIP_BELOW(UNKNOWN_FROM, 1), RETURN(SECCOMP_RET_ERRNO | ENOSYS)

enum { X32_CALLS = 0x40000000 };

#if defined(__x86_64__)
enum { OWN_IOPL = SYS_iopl, OWN_IOPERM = SYS_ioperm };
#else
enum { OWN_IOPL = NO_CALL, OWN_IOPERM = NO_CALL };
#endif

/* Kinds of namespaces. */
enum {
    SPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
             CLONE_NEWPID | CLONE_NEWNET,
    NEW_TIME = 0x80,
};

#define COUNT(code) (sizeof(code) / sizeof *(code))
#define PART(code) {code, COUNT(code)}

static struct sock_filter code[2 * (ASKED_MOST + EGRESS_MOST + 192)];
static unsigned length;

static void add(const struct sock_filter *from, size_t count) {
    for (size_t i = 0; i < count; i++) code[length++] = from[i];
}

struct part {
    const struct sock_filter *code;
    size_t count;
};

struct held {
    struct part here, blind, placed, always;
};

/* Adds what holds for one set of numbers, and the test for it in front. */
static void add_machine(unsigned machine, const struct held *held, struct asks asks) {
    static const struct sock_filter number[] = {LOAD(nr)}, rest[] = {RETURN(SECCOMP_RET_ALLOW)};
    const struct sock_filter test[] = {
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, machine, 1, 0),
        BPF_STMT(BPF_JMP | BPF_JA, 0), /* how far, is not known yet */
    };
    add(test, COUNT(test));
    unsigned from = length;
    add(number, COUNT(number));
    if (asks.reads) add(held->blind.code, held->blind.count);
    if (asks.is_here) add(held->here.code, held->here.count);
    if (asks.egress) length += egress_filter(code + length, machine == MACHINE);
    if (asks.files || asks.reads)
        length += asked_filter(code + length, machine == MACHINE, asks.reads,
                               asks.reads || asks.egress);
    if (asks.places || asks.reads) add(held->placed.code, held->placed.count);
    add(held->always.code, held->always.count);
    add(rest, COUNT(rest));
    code[from - 1].k = length - from;
}

struct sock_fprog leash_filter(struct asks asks) {
    static const struct sock_filter own[] = {
        SKIP_BELOW(X32_CALLS, 1), /* x86_64's other calls; aarch64 has none as high */
        RETURN(SECCOMP_RET_ERRNO | ENOSYS),
        HELD(SYS_execve, SYS_execveat, SYS_ioctl, SYS_clone, SYS_prctl, SYS_fcntl,
             NO_CALL, SYS_prlimit64, SYS_acct, SYS_open_by_handle_at,
             SYS_seccomp, SYS_fanotify_init),
    };
    static const struct sock_filter other[] = {
        HELD(OTHER_EXECVE, OTHER_EXECVEAT, OTHER_IOCTL, OTHER_CLONE, OTHER_PRCTL,
             OTHER_FCNTL, OTHER_FCNTL64, OTHER_PRLIMIT, OTHER_ACCT,
             OTHER_OPEN_BY_HANDLE, OTHER_SECCOMP, OTHER_FANOTIFY_INIT),
    };
    static const struct sock_filter own_placed[] = {
        PLACED(SYS_setrlimit, SYS_prlimit64, SYS_quotactl)};
    static const struct sock_filter other_placed[] = {
        PLACED(OTHER_SETRLIMIT, OTHER_PRLIMIT, OTHER_QUOTACTL)};
    static const struct sock_filter own_here[] = {
        HERE_ONLY(SYS_clone, SYS_unshare, SYS_setns)};
    static const struct sock_filter other_here[] = {
        HERE_ONLY(OTHER_CLONE, OTHER_UNSHARE, OTHER_SETNS)};
    static const struct sock_filter own_blind[] = {
        BLIND(SYS_perf_event_open, SYS_bpf, SYS_init_module, SYS_finit_module, SYS_kexec_load,
              SYS_kexec_file_load, OWN_IOPL, OWN_IOPERM,
              SYS_fanotify_init, SYS_pidfd_getfd)};
    static const struct sock_filter other_blind[] = {
        BLIND(OTHER_PERF_EVENT_OPEN, OTHER_BPF, OTHER_INIT_MODULE, OTHER_FINIT_MODULE,
              OTHER_KEXEC_LOAD, OF_OTHER(NO_CALL, 401), OTHER_IOPL,
              OTHER_IOPERM, OTHER_FANOTIFY_INIT, SYS_pidfd_getfd)};
    static const struct held own_held = {PART(own_here), PART(own_blind), PART(own_placed), PART(own)},
                             other_held = {PART(other_here), PART(other_blind),
                                           PART(other_placed), PART(other)};
    static const struct sock_filter arch[] = {LOAD(arch)},
                                    neither[] = {RETURN(SECCOMP_RET_KILL_PROCESS)};
    length = 0;
    add(arch, COUNT(arch));
    add_machine(MACHINE, &own_held, asks);
    add_machine(OTHER_MACHINE, &other_held, asks);
    add(neither, COUNT(neither));
    return (struct sock_fprog){(unsigned short)length, code};
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

/* No program leaves a core. One byte: to a program that takes cores, zero would be no
 * limit (core(5)). */
void leash_leave_no_core(void) {
    struct rlimit cores;
    if (getrlimit(RLIMIT_CORE, &cores) != 0) refuse("the session may leave core files");
    cores.rlim_cur = cores.rlim_max = cores.rlim_max != 0;
    if (setrlimit(RLIMIT_CORE, &cores) != 0)
        refuse("the session cannot be bound: it may leave core files");
}
