/* Processes of the session that look into others: not into those that may read what is
 * hidden, nor into the guarded shell, which could be made to ask for something else.
 *
 * A call that may go on is done by the kernel, and by then what it looks into may have
 * become another program. So each is remembered, and none of those programs runs
 * before they have come back. */
#define _GNU_SOURCE
#include "peeking.h"

#include "bytes.h"
#include "message.h"
#include "owner.h"
#include "processes.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    REMEMBERED = 64,
    MOST_LOOKS = 500,
    LOOK_NANOSECONDS = 1000 * 1000,
    LONG_NANOSECONDS = 20 * 1000 * 1000,
};

/* A thread that has been let go on. */
struct peek {
    struct process process; /* the thread, as a process is told */
    int call;
    unsigned long long run; /* for so long, by then */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static struct peek peeks[REMEMBERED];
static size_t count;
static bool is_closed;
static atomic_bool has_begun;
static struct process closed[REMEMBERED];
static size_t closed_count;
static const char *owner_names = "";
static struct stat guarded_shell;

void peeking_prepare(const char *owners, int shell) {
    owner_names = owners ? owners : "";
    if (fstat(shell, &guarded_shell) != 0)
        refuse("the session cannot be supervised: %s", strerror(errno));
}

/* ---- who is looked into ---- */

static bool is_guarded_shell(pid_t process) {
    struct stat about;
    return process_program(process, &about) && about.st_dev == guarded_shell.st_dev &&
           about.st_ino == guarded_shell.st_ino;
}

void peeking_close(pid_t process) {
    pthread_mutex_lock(&lock);
    if (process_read(process, &closed[closed_count % REMEMBERED])) closed_count++;
    pthread_mutex_unlock(&lock);
}

/* Whether a process is one that is closed, or a child of one. */
static bool is_closed_one(pid_t process) {
    struct process now, parent;
    if (!process_read(process_of(process), &now)) return false;
    bool has_parent = process_read(now.parent, &parent);
    for (size_t i = 0; i < closed_count && i < REMEMBERED; i++)
        if (process_same(&closed[i], &now) ||
            (has_parent && process_same(&closed[i], &parent)))
            return true;
    return false;
}

static int check(pid_t thread, const struct asked *asked, const struct seccomp_data *data) {
    pid_t of = (pid_t)data->args[(int)asked->rest];
    if (!process_shares(thread, "pid")) return EPERM; /* it has other numbers */
    bool is_closed_to_all = of > 0 && (owner_may_be(owner_names, of) ||
                                       is_guarded_shell(of) || is_closed_one(of));
    return is_closed_to_all ? EPERM : 0;
}

/* ---- who looks ---- */

/* The time that a thread itself has had a processor for, in nanoseconds. */
static unsigned long long time_run(long thread) {
    char path[64];
    struct bytes text = {0};
    unsigned long long run = 0;
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/schedstat", process_of(thread), thread);
    if (bytes_read_file(&text, path, 1024)) sscanf(text.data, "%llu", &run);
    free(text.data);
    return run;
}

static bool has_ended(long thread) {
    char path[64];
    struct stat about;
    snprintf(path, sizeof path, "/proc/%ld", thread);
    return stat(path, &about) != 0 && errno == ENOENT;
}

/* Whether a thread is back from its call: it has ended, waits in another one, or has run
 * for longer than it takes to find whom it looks into. One that gets no processor has not
 * come as far. */
static bool is_back(const struct peek *peek) {
    struct process now;
    long id = peek->process.id, call = process_call(id);
    if (!process_read(id, &now)) return has_ended(id);
    if (!process_same(&now, &peek->process)) return true;
    if (call >= 0) return call != peek->call;
    unsigned long long run = time_run(id);
    return peek->run && run > peek->run + LONG_NANOSECONDS;
}

static void forget(size_t number) { peeks[number] = peeks[--count]; }

static void forget_those_back(void) {
    for (size_t i = count; i-- > 0;)
        if (is_back(&peeks[i])) forget(i);
}

/* One that asks has come back from what it did before. */
static void forget_thread(pid_t thread) {
    for (size_t i = count; i-- > 0;)
        if (peeks[i].process.id == thread) forget(i);
}

int peeking_take(pid_t thread, const struct asked *asked, const struct seccomp_data *data) {
    int error = EAGAIN;
    atomic_store(&has_begun, true);
    pthread_mutex_lock(&lock);
    forget_thread(thread);
    while (is_closed) pthread_cond_wait(&opened, &lock);
    if (count == REMEMBERED) forget_those_back();
    struct peek peek = {.call = data->nr, .run = time_run(thread)};
    if (count < REMEMBERED && process_read(thread, &peek.process)) {
        peeks[count++] = peek;
        error = check(thread, asked, data);
    }
    if (error) forget_thread(thread);
    pthread_mutex_unlock(&lock);
    return error;
}

bool peeking_has_begun(void) { return atomic_load(&has_begun); }

bool peeking_is_over(void) {
    const struct timespec pause = {.tv_nsec = LOOK_NANOSECONDS};
    pthread_mutex_lock(&lock);
    is_closed = true;
    for (int looks = 0; count && looks < MOST_LOOKS; looks++) {
        forget_those_back();
        pthread_mutex_unlock(&lock);
        if (count) nanosleep(&pause, NULL);
        pthread_mutex_lock(&lock);
    }
    bool is_over = !count;
    is_closed = false;
    pthread_cond_broadcast(&opened);
    pthread_mutex_unlock(&lock);
    return is_over;
}
