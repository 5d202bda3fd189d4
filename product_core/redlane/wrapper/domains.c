/* Landlock domains that programs of the session put on themselves: what is done in their
 * place is held by them as well.
 *
 * The kernel does not tell who is in which, but a program that is in one has put it on,
 * or was started by one that had. Of what has lost its parent that is not known, and it
 * is taken for held by each that was put on before it began. Programs that take over such
 * processes of others (PR_SET_CHILD_SUBREAPER) are not known of. */
#define _GNU_SOURCE
#include "domains.h"

#include "bytes.h"
#include "processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    REMEMBERED = 256,
    MOST_OTHERS = 32,
    DEEPEST = 4096,
    RESTRICT_SELF = 446,
    FOR_ALL_THREADS = 8, /* LANDLOCK_RESTRICT_SELF_TSYNC */
    STATUS = 1024 * 1024,
    STACK = 64 * 1024,
};

struct domain {
    struct process process;
    long thread;
    unsigned long long since; /* clock ticks since the machine's start */
    int ruleset;
    size_t others; /* that it had begun to be before: they are not in it */
    struct process other[MOST_OTHERS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct domain domains[REMEMBERED];
static size_t count;

static unsigned long long ticks(void) {
    struct timespec now;
    unsigned long long second = (unsigned long long)sysconf(_SC_CLK_TCK);
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (unsigned long long)now.tv_sec * second +
           (unsigned long long)now.tv_nsec * second / 1000000000;
}

/* ---- what is remembered ---- */

static bool is_first_of_namespace(long id) {
    char path[64];
    struct bytes status = {0};
    bool is_first = false;
    snprintf(path, sizeof path, "/proc/%ld/status", id);
    if (bytes_read_file(&status, path, STATUS)) {
        const char *line = strstr(status.data, "\nNSpid:");
        const char *end = line ? strchr(line + 1, '\n') : NULL;
        is_first = end && end[-1] == '1' && end[-2] == '\t';
    }
    free(status.data);
    return is_first;
}

/* Whether a process takes over what has lost its parent. */
static bool is_reaper(long id) { return id == getpid() || is_first_of_namespace(id); }

static bool has_ended(const struct process *process) {
    struct process now;
    return !process_read(process->id, &now) || !process_same(&now, process);
}

/* Whether a process is of this session. */
static bool is_ours(struct process process) {
    for (int depth = 0; depth < DEEPEST && process.parent > 1; depth++) {
        if (process.parent == getpid()) return true;
        if (!process_read(process.parent, &process)) return true; /* it may have been */
    }
    return false;
}

/* When the last process began that has lost its parent; 0: there is none. */
static unsigned long long last_orphan(void) {
    DIR *list = opendir("/proc");
    unsigned long long last = list ? 0 : ULLONG_MAX;
    struct process process;
    for (struct dirent *each; list && (each = readdir(list));) {
        long id = strtol(each->d_name, NULL, 10);
        if (id > 0 && process_read(id, &process) && process.began > last &&
            is_reaper(process.parent) && is_ours(process))
            last = process.began;
    }
    if (list) closedir(list);
    return last;
}

/* Forgets those whose program has ended, and that nothing else can be in. */
static void forget_ended(void) {
    unsigned long long last = last_orphan();
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_over = domains[i].since > last && has_ended(&domains[i].process);
        if (is_over) close(domains[i].ruleset);
        else domains[left++] = domains[i];
    }
    count = left;
}

/* ---- what is added ---- */

struct trial {
    int ruleset;
    unsigned flags;
    int error;
};

static int put_on(void *argument) {
    struct trial *trial = argument;
    bool is_put_on = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                     syscall(RESTRICT_SELF, trial->ruleset, trial->flags) == 0;
    trial->error = is_put_on ? 0 : errno;
    _exit(0);
}

/* What the kernel says to it, of a process that is gone then. */
static int try_on(int ruleset, unsigned flags) {
    char stack[STACK] __attribute__((aligned(16)));
    struct trial trial = {ruleset, flags, EAGAIN};
    pid_t child = clone(put_on, stack + sizeof stack, CLONE_VM | CLONE_FILES | CLONE_VFORK,
                        &trial);
    if (child > 0) waitpid(child, NULL, __WALL);
    return trial.error;
}

static int add(struct domain *domain) {
    int error = 0;
    pthread_mutex_lock(&lock);
    if (count == REMEMBERED) forget_ended();
    if (count == REMEMBERED) error = E2BIG;
    else domains[count++] = *domain;
    pthread_mutex_unlock(&lock);
    return error;
}

/* The children of a process; those that began in the same moment could be taken for some
 * that began after. */
static void note_others(struct domain *domain, long process) {
    char path[64];
    struct bytes list = {0};
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", process, process);
    if (bytes_read_file(&list, path, STATUS))
        for (char *at = list.data; *at && domain->others < MOST_OTHERS;) {
            long child = strtol(at, &at, 10);
            struct process *other = &domain->other[domain->others];
            bool is_young = child > 0 && process_read(child, other) &&
                            other->began >= domain->since;
            if (is_young) domain->others++;
            at += strspn(at, " \n");
        }
    free(list.data);
}

static bool is_other(const struct domain *domain, const struct process *process) {
    for (size_t i = 0; i < domain->others; i++)
        if (process_same(&domain->other[i], process)) return true;
    return false;
}

int domains_add(pid_t thread, int number, unsigned flags) {
    struct domain domain = {.thread = flags & FOR_ALL_THREADS ? 0 : thread, .since = ticks()};
    long process = process_of(thread);
    if (number < 0) return 0; /* it says how the kernel logs, if anything */
    if (process < 0 || !process_read(process, &domain.process)) return ESRCH;
    note_others(&domain, process);
    domain.ruleset = process_file(thread, number);
    if (domain.ruleset < 0) return errno;
    int error = try_on(domain.ruleset, flags);
    if (!error) error = add(&domain);
    if (error) close(domain.ruleset);
    return error;
}

int domains_check(pid_t thread, int number) {
    int error = 0, ruleset = process_file(thread, number);
    if (ruleset < 0) return 0; /* the kernel says so */
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count && !error; i++)
        if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, domains[i].ruleset, ruleset) <= 0)
            error = EPERM; /* what it has bound would be let go here */
    pthread_mutex_unlock(&lock);
    close(ruleset);
    return error;
}

/* ---- whom it holds ---- */

/* Whether a thread's own process has put it on, for this thread too. */
static bool is_own(const struct domain *domain, const struct process *process,
                   const struct process *thread) {
    return process_same(&domain->process, process) &&
           (!domain->thread || domain->thread == thread->id || thread->began >= domain->since);
}

/* Marks those that were put on above a process, or may have been. */
static void mark_above(struct process process, bool *holds) {
    struct process parent;
    for (int depth = 0; depth < DEEPEST; depth++) {
        bool is_last = process.parent == getpid(), is_orphan = is_reaper(process.parent);
        if (!is_last && !process_read(process.parent, &parent)) return;
        for (size_t i = 0; i < count; i++)
            if (process.began >= domains[i].since &&
                (is_orphan || (!is_last && process_same(&domains[i].process, &parent))) &&
                !is_other(&domains[i], &process))
                holds[i] = true;
        if (is_last) return;
        process = parent;
    }
}

bool domains_are_there(void) {
    pthread_mutex_lock(&lock);
    bool are = count > 0;
    pthread_mutex_unlock(&lock);
    return are;
}

size_t domains_of(pid_t thread, int rulesets[MOST_DOMAINS]) {
    struct process own, process;
    bool holds[REMEMBERED] = {false};
    size_t found = 0;
    pthread_mutex_lock(&lock);
    bool is_read = !count || (process_read(thread, &own) &&
                              process_read(process_of(thread), &process));
    if (!is_read) found = MOST_DOMAINS + 1;
    else if (count) {
        for (size_t i = 0; i < count; i++) holds[i] = is_own(&domains[i], &process, &own);
        mark_above(process, holds);
    }
    for (size_t i = 0; i < count; i++) {
        if (!holds[i]) continue;
        if (found < MOST_DOMAINS) rulesets[found] = fcntl(domains[i].ruleset, F_DUPFD_CLOEXEC, 0);
        found++;
    }
    pthread_mutex_unlock(&lock);
    return found;
}
