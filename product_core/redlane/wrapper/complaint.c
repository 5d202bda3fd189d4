/* Tells a process, on its standard error, why a call of its fails: a model reads it with
 * the rest, and stops trying.
 *
 * It is told once. Nothing is written that the process could not write itself: what its
 * standard error is, it is through a copy of that very descriptor. */
#define _GNU_SOURCE
#include "complaint.h"

#include "bytes.h"
#include "file.h"
#include "message.h"
#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
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

/* Whether it is one end of a pair of sockets, as Node gives to what it starts: a socket
 * that has a name may be a service, which would take the text for a request. */
static bool is_of_pair(int file) {
    struct sockaddr_un address;
    socklen_t length = sizeof address, other = sizeof address;
    int kind;
    socklen_t size = sizeof kind;
    return getsockopt(file, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 &&
           kind == SOCK_STREAM &&
           getsockname(file, (struct sockaddr *)&address, &length) == 0 &&
           address.sun_family == AF_UNIX && length == sizeof address.sun_family &&
           getpeername(file, (struct sockaddr *)&address, &other) == 0 &&
           other == sizeof address.sun_family;
}

/* Whether it is opened for writing. */
static bool is_written(int file) {
    int flags = fcntl(file, F_GETFL);
    return flags >= 0 && !(flags & O_PATH) && (flags & O_ACCMODE) != O_RDONLY;
}

/* Whether a file is one that a program of the session's keeps, who could make us wait. */
static bool is_served(int file) {
    enum { FUSE = 0x65735546 };
    struct statfs about;
    return fstatfs(file, &about) != 0 || about.f_type == FUSE;
}

/* What a standard error is written by, of a kind that takes text and means nothing by it:
 * a terminal is opened anew, so that it is not waited for. Takes over the file; -1: nothing. */
static int written_by(int file) {
    struct stat about;
    char link[FILE_LINK];
    int opened = -1;
    if (file < 0 || is_of_pair(file)) return file;
    bool is_ours = is_written(file) && !is_served(file) && fstat(file, &about) == 0;
    /* In a plain one it is to stand where the process writes next. */
    if (is_ours && (S_ISREG(about.st_mode) || S_ISFIFO(about.st_mode))) return file;
    file_link(file, link);
    if (is_ours && isatty(file))
        opened = open(link, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    close(file);
    return opened;
}

/* A copy of a process's standard error; -1: it has none for that. */
static int standard_error(pid_t thread) {
    return written_by(process_file(thread, STDERR_FILENO));
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

/* Writes to a pipe without waiting, whatever its descriptor says, and whoever may open it:
 * from another pipe. */
static void write_to_pipe(int file, const char *line, size_t length) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    if (write(ends[1], line, length) == (ssize_t)length)
        (void)!splice(ends[0], NULL, file, NULL, length, SPLICE_F_NONBLOCK);
    close(ends[0]);
    close(ends[1]);
}

static void write_to(int file, const char *line, size_t length) {
    struct stat about;
    if (fstat(file, &about) == 0 && S_ISFIFO(about.st_mode)) write_to_pipe(file, line, length);
    else (void)!write(file, line, length);
}

/* Whoever reads there may be slow, or gone: then it goes without. */
static void write_line(int file, const char *line, size_t length) {
    struct pollfd room = {.fd = file, .events = POLLOUT};
    struct timespec now = {0};
    sigset_t broken, before;
    if (poll(&room, 1, WAIT_MILLISECONDS) != 1 || !(room.revents & POLLOUT)) return;
    if (send(file, line, length, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 || errno != ENOTSOCK)
        return;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken, &before);
    write_to(file, line, length);
    while (sigtimedwait(&broken, NULL, &now) == SIGPIPE) continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool complaint_say(pid_t process, const char *text) {
    enum { MOST_TEXT = (PIPE_BUF - sizeof PRODUCT - 3) / MOST_SHOWN };
    char line[PIPE_BUF];
    int file = standard_error(process);
    if (file < 0) return false;
    char *end = stpcpy(line, PRODUCT ": ");
    end = message_show(end, text, strnlen(text, MOST_TEXT));
    *end++ = '\n';
    write_line(file, line, (size_t)(end - line));
    close(file);
    return true;
}

/* To be done once it has its answer. */
void complaint_tell(const struct complaint *complaint) {
    char shown[PATH_MAX * MOST_SHOWN + 1], line[PIPE_BUF];
    const struct refusal *refusal = complaint->refusal;
    const struct rule *rule = refusal->rule;
    if (complaint->file < 0) return;
    *message_show(shown, refusal->path, strlen(refusal->path)) = '\0';
    int length = snprintf(line, sizeof line,
                          PRODUCT ": refused %s %.2000s (%s): %s: %s\n", refusal->call,
                          shown, rule->policy, rule->reason, rule->advice);
    if (length > 0) write_line(complaint->file, line, (size_t)length);
    close(complaint->file);
}
