/* Landlock domains that programs of the session put on themselves: what is done in their
 * place is held by them as well.
 *
 * The kernel does not tell who is in which, but a program that is in one has put it on,
 * or was started by one that had. Of what has lost its parent that is not known, and it
 * is taken for held by each that was put on before it began. */
#define _GNU_SOURCE
#include "domains.h"

#include "processes.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { REMEMBERED = 256, PIDFD_OPEN = 434, PIDFD_GETFD = 438, DEEPEST = 4096 };

struct domain {
    struct process process;
    long thread;
    unsigned long long since; /* clock ticks since the machine's start */
    int ruleset;
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

static int take_ruleset(long process, int number) {
    int pidfd = (int)syscall(PIDFD_OPEN, process, 0);
    int ruleset = pidfd < 0 ? -1 : (int)syscall(PIDFD_GETFD, pidfd, number, 0);
    if (pidfd >= 0) close(pidfd);
    return ruleset;
}

/* Makes room for one more: whose program has ended goes first. */
static void make_room(void) {
    size_t out = 0;
    struct process now;
    for (size_t i = 0; i < count; i++) {
        const struct process *known = &domains[i].process;
        if (process_read(known->id, &now) && process_same(&now, known)) continue;
        out = i;
        break;
    }
    close(domains[out].ruleset);
    memmove(&domains[out], &domains[out + 1], (--count - out) * sizeof *domains);
}

void domains_add(pid_t thread, int number) {
    struct domain domain = {.thread = thread, .since = ticks()};
    long process = process_of(thread);
    if (process < 0 || !process_read(process, &domain.process)) return;
    domain.ruleset = take_ruleset(process, number);
    if (domain.ruleset < 0) return;
    pthread_mutex_lock(&lock);
    if (count == REMEMBERED) make_room();
    domains[count++] = domain;
    pthread_mutex_unlock(&lock);
}

/* Whether a thread's own process has put it on, for this thread too. */
static bool is_own(const struct domain *domain, const struct process *process,
                   const struct process *thread) {
    return process_same(&domain->process, process) &&
           (domain->thread == thread->id || thread->began >= domain->since);
}

/* Marks those that were put on above a process, or may have been. */
static void mark_above(struct process process, bool *holds) {
    struct process parent;
    for (int depth = 0; depth < DEEPEST; depth++) {
        bool is_orphan = process.parent == getpid();
        if (!is_orphan && !process_read(process.parent, &parent)) return;
        for (size_t i = 0; i < count; i++)
            if (process.began >= domains[i].since &&
                (is_orphan || process_same(&domains[i].process, &parent)))
                holds[i] = true;
        if (is_orphan) return;
        process = parent;
    }
}

size_t domains_of(pid_t thread, int rulesets[MOST_DOMAINS]) {
    struct process own, process;
    bool holds[REMEMBERED] = {false};
    size_t found = 0;
    pthread_mutex_lock(&lock);
    if (count && process_read(thread, &own) && process_read(process_of(thread), &process)) {
        for (size_t i = 0; i < count; i++) holds[i] = is_own(&domains[i], &process, &own);
        mark_above(process, holds);
    }
    for (size_t i = 0; i < count && found < MOST_DOMAINS; i++)
        if (holds[i])
            rulesets[found++] = fcntl(domains[i].ruleset, F_DUPFD_CLOEXEC, 0);
    pthread_mutex_unlock(&lock);
    return found;
}
