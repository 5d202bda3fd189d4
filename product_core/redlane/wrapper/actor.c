/* Acts as a thread of the session would: with its rights, in its namespace of users.
 *
 * Most threads of a session have the rights of this process, and nothing is to be done.
 * For another a child does it, which shares memory and descriptors with this process and
 * has become what that thread is. The C library would have every thread of this process
 * follow, so that it is not asked. */
#define _GNU_SOURCE
#include "actor.h"

#include "apart.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <linux/securebits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATUS = 1024 * 1024, STACK = 192 * 1024, RESTRICT_SELF = 446 };

/* Whether the thread that acts has a mask and directories for itself. */
static _Thread_local bool is_alone;

void actor_prepare_thread(void) { is_alone = unshare(CLONE_FS) == 0; }

/* ---- who a thread is ---- */

static const char *line_of(const char *status, const char *name) {
    const char *line = strstr(status, name);
    return line ? line + strlen(name) : NULL;
}

static bool read_four(const char *line, unsigned *numbers) {
    return line && sscanf(line, "%u %u %u %u", &numbers[0], &numbers[1], &numbers[2],
                          &numbers[3]) == 4;
}

static void read_groups(const char *line, struct bytes *groups) {
    for (char *end;; line = end) {
        line += strspn(line, " \t");
        if (*line == '\n' || !*line) return;
        gid_t group = (gid_t)strtoul(line, &end, 10);
        if (end == line) return;
        bytes_add(groups, &group, sizeof group);
    }
}

static bool read_thread(struct actor *actor, const char *status) {
    const char *groups = line_of(status, "\nGroups:");
    const char *mask = line_of(status, "\nUmask:");
    const char *capabilities = line_of(status, "\nCapEff:");
    if (!read_four(line_of(status, "\nUid:"), actor->uids) ||
        !read_four(line_of(status, "\nGid:"), actor->gids) || !groups || !mask ||
        !capabilities)
        return false;
    read_groups(groups, &actor->groups);
    actor->mask = (mode_t)strtoul(mask, NULL, 8);
    actor->capabilities = strtoull(capabilities, NULL, 16);
    return true;
}

static int read_status(struct actor *actor, const char *thread) {
    char path[64];
    struct bytes status = {0};
    snprintf(path, sizeof path, "/proc/%s/status", thread);
    if (!bytes_read_file(&status, path, STATUS)) return ESRCH;
    bool is_read = read_thread(actor, status.data);
    free(status.data);
    return is_read ? 0 : ESRCH;
}

/* This process, which does not change. */
static struct actor us;
static struct stat our_users, our_mounts, our_root;
static bool is_plain; /* without any privilege, and with one number for all */

const struct actor nobody = {
    .users = -1, .root = -1, .directory = -1, .mounts = -1, .owner = -1};

void actor_prepare(void) {
    if (stat("/proc/self/ns/user", &our_users) != 0 ||
        stat("/proc/self/ns/mnt", &our_mounts) != 0 || stat("/", &our_root) != 0 ||
        read_status(&us, "self") != 0)
        refuse("the session cannot be supervised: /proc does not tell who this is");
    is_plain = !us.capabilities;
    for (int i = 1; i < 4; i++)
        is_plain = is_plain && us.uids[i] == us.uids[0] && us.gids[i] == us.gids[0];
}

static bool is_same_user(const struct actor *actor) {
    return memcmp(us.uids, actor->uids, sizeof us.uids) == 0 &&
           memcmp(us.gids, actor->gids, sizeof us.gids) == 0 &&
           us.groups.length == actor->groups.length &&
           (!us.groups.length ||
            memcmp(us.groups.data, actor->groups.data, us.groups.length) == 0);
}

static bool has_same_rights(const struct actor *actor) {
    return is_same_user(actor) && us.capabilities == actor->capabilities;
}

/* Whether a thread may have other rights than this process. Only root is told of whatever
 * changes them, and that not in every session (asked.c). */
static atomic_bool may_have_become = true;

/* Of a root whose programs do not get its rights with their start, that takes them away. */
void actor_is_told(void) {
    int bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
    bool starts_take_none = bits >= 0 && !(bits & SECBIT_NOROOT);
    if (geteuid() == 0 && starts_take_none) atomic_store(&may_have_become, false);
}

void actor_note(void) { atomic_store(&may_have_become, true); }

/* In our namespace of users; of a process without any rights none can have others. */
static bool all_are_like_us(void) { return is_plain || !atomic_load(&may_have_become); }

int actor_take(struct actor *actor, pid_t thread, bool makes) {
    char path[64], number[24];
    struct stat users;
    *actor = nobody;
    actor->makes = makes;
    actor->domain_count = domains_of(thread, actor->domains);
    bool is_unknown = actor->domain_count > MOST_DOMAINS;
    if (is_unknown) actor->domain_count = MOST_DOMAINS;
    for (size_t i = 0; i < actor->domain_count; i++)
        is_unknown = is_unknown || actor->domains[i] < 0;
    if (is_unknown) return EACCES;
    snprintf(number, sizeof number, "%ld", (long)thread);
    snprintf(path, sizeof path, "/proc/%s/ns/user", number);
    bool may_be_elsewhere = apart_has_begun();
    if (may_be_elsewhere && stat(path, &users) != 0) return errno;
    bool is_elsewhere = may_be_elsewhere && users.st_ino != our_users.st_ino;
    actor->is_alike = !is_elsewhere && all_are_like_us();
    if (actor->is_alike && !makes) return 0;
    if (is_elsewhere) actor->users = open(path, O_RDONLY | O_CLOEXEC);
    if (is_elsewhere && actor->users < 0) return errno;
    int error = read_status(actor, number);
    if (error || actor->is_alike) return error;
    actor->is_alike = !is_elsewhere && has_same_rights(actor);
    return 0;
}

bool actor_is_like_us(pid_t thread) {
    struct actor actor;
    if (all_are_like_us() && !domains_are_there()) return true;
    bool is_like = actor_take(&actor, thread, false) == 0 && actor.is_alike &&
                   !actor.domain_count;
    actor_leave(&actor);
    return is_like;
}

static int open_of(pid_t thread, const char *what, int flags) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)thread, what);
    return open(path, flags | O_CLOEXEC);
}

static bool is_namespace(int file, const struct stat *space) {
    struct stat about;
    return fstat(file, &about) == 0 && about.st_ino == space->st_ino;
}

int actor_take_place(struct actor *actor, const struct caller *caller) {
    int mounts = open_of(caller->thread, "ns/mnt", O_RDONLY);
    if (mounts < 0) return errno;
    actor->root = fcntl(caller->root, F_DUPFD_CLOEXEC, 0);
    actor->directory = fcntl(caller->from[0], F_DUPFD_CLOEXEC, 0);
    if (is_namespace(mounts, &our_mounts)) {
        close(mounts);
    } else {
        actor->mounts = mounts;
        actor->owner = ioctl(mounts, NS_GET_USERNS);
        if (actor->owner >= 0 && is_namespace(actor->owner, &our_users)) {
            close(actor->owner);
            actor->owner = -1;
        }
    }
    return actor->root < 0 || actor->directory < 0 ? errno : 0;
}

void actor_leave(struct actor *actor) {
    const int files[] = {actor->users, actor->root, actor->directory, actor->mounts,
                         actor->owner};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i] >= 0) close(files[i]);
    for (size_t i = 0; i < actor->domain_count; i++) close(actor->domains[i]);
    free(actor->groups.data);
    *actor = nobody;
}

/* ---- to be it ---- */

struct part {
    const struct actor *actor;
    int (*deed)(void *);
    void *about;
    bool is_look;
    int result;
    pid_t supervisor;
};

static bool set_capabilities(unsigned long long capabilities) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};
    for (int half = 0; half < 2; half++)
        data[half].effective = data[half].permitted =
            (uint32_t)(capabilities >> (32 * half));
    return syscall(SYS_capset, &header, data) == 0;
}

static bool set_numbers(const struct actor *actor) {
    const uid_t *uids = actor->uids;
    const gid_t *gids = actor->gids;
    return prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_setgroups, actor->groups.length / sizeof(gid_t),
                   actor->groups.data) == 0 &&
           syscall(SYS_setresgid, gids[0], gids[1], gids[2]) == 0 &&
           syscall(SYS_setresuid, uids[0], uids[1], uids[2]) == 0 &&
           set_capabilities(us.capabilities) &&
           syscall(SYS_setfsgid, gids[3]) >= 0 && syscall(SYS_setfsuid, uids[3]) >= 0 &&
           (uid_t)syscall(SYS_setfsuid, -1) == uids[3];
}

/* Paths lead where they lead for the thread. */
static bool go_to_place(const struct actor *actor) {
    struct stat root;
    if (actor->root < 0) return true;
    if (actor->owner >= 0 && setns(actor->owner, CLONE_NEWUSER) != 0) return false;
    if (actor->mounts >= 0 && setns(actor->mounts, CLONE_NEWNS) != 0) return false;
    if (fstat(actor->root, &root) != 0) return false;
    bool is_ours = actor->mounts < 0 && root.st_ino == our_root.st_ino &&
                   root.st_dev == our_root.st_dev;
    if (!is_ours && (fchdir(actor->root) != 0 || chroot(".") != 0)) return false;
    return fchdir(actor->directory) == 0;
}

static bool has_entered_users(const struct actor *actor) {
    struct stat owner;
    return actor->owner >= 0 && fstat(actor->owner, &owner) == 0 &&
           is_namespace(actor->users, &owner);
}

static bool become(const struct actor *actor) {
    bool is_other = !actor->is_alike && !is_same_user(actor);
    if (is_other && !set_numbers(actor)) return false;
    if (!go_to_place(actor)) return false;
    if (actor->is_alike) return true;
    if (actor->users >= 0 && !has_entered_users(actor) &&
        setns(actor->users, CLONE_NEWUSER) != 0)
        return false;
    return set_capabilities(actor->capabilities);
}

static bool put_on_domains(const struct actor *actor) {
    if (actor->domain_count && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    for (size_t i = 0; i < actor->domain_count; i++)
        if (syscall(RESTRICT_SELF, actor->domains[i], 0) != 0) return false;
    return true;
}

/* It may wait in the kernel for as long as a file system likes, and ends with this process:
 * else it would keep the listener of the session's calls, and all that ask wait for ever.
 * To become another user takes that back. */
static bool ends_with(pid_t supervisor) {
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == supervisor;
}

static int play(void *argument) {
    struct part *part = argument;
    if (become(part->actor) && ends_with(part->supervisor) && (part->is_look || put_on_domains(part->actor))) {
        umask(part->actor->mask);
        part->result = part->deed(part->about);
    }
    _exit(0);
}

static int do_in_child(struct part *part) {
    char stack[STACK] __attribute__((aligned(16)));
    pid_t child = clone(play, stack + sizeof stack, CLONE_VM | CLONE_FILES | CLONE_VFORK,
                        part);
    if (child < 0) return EAGAIN;
    waitpid(child, NULL, __WALL);
    return part->result;
}

int actor_look(const struct actor *actor, int (*deed)(void *), void *about) {
    struct part part = {actor, deed, about, true, EPERM, getpid()};
    return actor->is_alike ? deed(about) : do_in_child(&part);
}

int actor_do(const struct actor *actor, int (*deed)(void *), void *about) {
    struct part part = {actor, deed, about, false, EPERM, getpid()};
    if (!actor->is_alike || actor->root >= 0 || actor->domain_count ||
        (actor->makes && !is_alone))
        return do_in_child(&part);
    if (actor->makes) umask(actor->mask);
    return deed(about);
}
