/* Tells a process, on its standard error, why a call of its fails: a model reads it with
 * the rest, and stops trying.
 *
 * It is told once. Nothing is written that the process could not write itself: what its
 * standard error is, it is through a copy of that very descriptor. */
#define _GNU_SOURCE
#include "complaint.h"

#include "bytes.h"
#include "message.h"
#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { REMEMBERED = 64, WAIT_MILLISECONDS = 100 };

/* Whether a process is told of the first time, as far as that is remembered. */
static bool is_first(const struct process *process) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct process told[REMEMBERED];
    static size_t next;
    bool first = true;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < REMEMBERED && first; i++)
        first = !process_same(&told[i], process);
    if (first) told[next++ % REMEMBERED] = *process;
    pthread_mutex_unlock(&lock);
    return first;
}

/* A copy of a process's standard error, of a kind that takes text and means nothing by
 * it; -1: it has none. */
static int standard_error(pid_t thread) {
    struct stat about;
    int file = process_file(thread, STDERR_FILENO);
    if (file < 0) return -1;
    int flags = fcntl(file, F_GETFL);
    bool is_written = flags >= 0 && !(flags & O_PATH) && (flags & O_ACCMODE) != O_RDONLY;
    if (is_written && fstat(file, &about) == 0 &&
        (S_ISFIFO(about.st_mode) || S_ISREG(about.st_mode) || isatty(file)))
        return file;
    close(file);
    return -1;
}

/* To be done while the thread waits for its answer: then it has a standard error. */
struct complaint complaint_prepare(const struct refusal *refusal) {
    struct complaint complaint = {.file = -1, .refusal = refusal};
    struct process process;
    long of = process_of(refusal->thread);
    if (of > 0 && process_read(of, &process) && is_first(&process))
        complaint.file = standard_error(refusal->thread);
    return complaint;
}

/* To be done once it has its answer: whoever reads there may be slow. */
void complaint_tell(const struct complaint *complaint) {
    char shown[PATH_MAX * MOST_SHOWN + 1], line[PIPE_BUF];
    const struct refusal *refusal = complaint->refusal;
    const struct rule *rule = refusal->rule;
    struct pollfd room = {.fd = complaint->file, .events = POLLOUT};
    if (complaint->file < 0) return;
    *message_show(shown, refusal->path, strlen(refusal->path)) = '\0';
    int length = snprintf(line, sizeof line,
                          PRODUCT ": refused %s %.2000s (%s): %s: %s\n", refusal->call,
                          shown, rule->policy, rule->reason, rule->advice);
    if (poll(&room, 1, WAIT_MILLISECONDS) == 1 && room.revents & POLLOUT && length > 0)
        if (write(complaint->file, line, (size_t)length) < 0) { /* then it goes without */
        }
    close(complaint->file);
}
