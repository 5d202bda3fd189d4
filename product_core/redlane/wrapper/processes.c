/* What /proc says of processes. */
#define _GNU_SOURCE
#include "processes.h"

#include "bytes.h"
#include "message.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of a record: it has all groups. */
enum { STATUS = 1024 * 1024 };

static bool read_record(struct bytes *record, long thread) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/status", thread);
    return bytes_read_file(record, path, STATUS);
}

/* A number in the record of a thread, so many others after a text; -1 when that cannot be
 * told. */
static long read_status_at(long thread, const char *before, int others) {
    struct bytes record = {0};
    if (!read_record(&record, thread)) return -1;
    char *found = strstr(record.data, before);
    char *at = found ? found + strlen(before) : NULL;
    long number = -1;
    for (int i = 0; at && i <= others; i++) number = strtol(at, &at, 10);
    free(record.data);
    return number;
}

static long read_status(long thread, const char *before) {
    return read_status_at(thread, before, 0);
}

enum { PIDFD_OPEN = 434, PIDFD_GETFD = 438, PIDFD_THREAD = O_EXCL };

/* The process that a thread is of; -1 when that cannot be told. Of the thread that began
 * it the kernel says so much faster than its record. */
long process_of(long thread) {
    int pidfd = (int)syscall(PIDFD_OPEN, thread, 0);
    if (pidfd < 0) return read_status(thread, "\nTgid:");
    close(pidfd);
    return thread;
}

static int file_by(int pidfd, int number) {
    if (pidfd < 0) return -1;
    int file = (int)syscall(PIDFD_GETFD, pidfd, number, 0), error = errno;
    close(pidfd);
    errno = error;
    return file;
}

/* Whether a file is what a thread has by a number. */
static bool is_of_thread(int file, pid_t thread, int number) {
    char path[64];
    struct stat ours, theirs;
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)thread, number);
    return fstat(file, &ours) == 0 && stat(path, &theirs) == 0 &&
           ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

/* A thread may have a table of its own; kernels before 6.9 know that of its process. */
int process_file(pid_t thread, int number) {
    int pidfd = (int)syscall(PIDFD_OPEN, thread, PIDFD_THREAD);
    if (pidfd >= 0 || errno != EINVAL) return file_by(pidfd, number);
    int file = file_by((int)syscall(PIDFD_OPEN, process_of(thread), 0), number);
    if (file < 0 || is_of_thread(file, thread, number)) return file;
    close(file);
    errno = EBADF;
    return -1;
}

/* Whether a descriptor of a thread's reads a file, about which `about` is. */
static bool reads_by(pid_t thread, int number, const struct stat *about) {
    struct stat found;
    int file = process_file(thread, number);
    int flags = file < 0 ? O_PATH : fcntl(file, F_GETFL);
    bool reads = flags >= 0 && !(flags & O_PATH) && (flags & O_ACCMODE) != O_WRONLY &&
                 fstat(file, &found) == 0 && found.st_dev == about->st_dev &&
                 found.st_ino == about->st_ino;
    if (file >= 0) close(file);
    return reads;
}

bool process_reads(pid_t thread, const struct stat *about) {
    char path[64];
    struct stat found;
    bool reads = false;
    snprintf(path, sizeof path, "/proc/%ld/fd", (long)thread);
    DIR *each = opendir(path);
    for (struct dirent *entry; each && !reads && (entry = readdir(each));)
        reads = fstatat(dirfd(each), entry->d_name, &found, 0) == 0 &&
                found.st_ino == about->st_ino && found.st_dev == about->st_dev &&
                reads_by(thread, atoi(entry->d_name), about);
    if (each) closedir(each);
    return reads;
}

/* How many filters hold a thread's system calls; -1 when that cannot be told. */
long process_filters(long thread) { return read_status(thread, "\nSeccomp_filters:"); }

long process_user(long thread) {
    return read_status_at(thread, "\nUid:", 1); /* the first is the real user */
}

long process_tracer(long thread) { return read_status(thread, "\nTracerPid:"); }

/* Signals of a line of the record of a thread. */
static unsigned long long signals_of(const char *status, const char *before) {
    const char *found = strstr(status, before);
    return found ? strtoull(found + strlen(before), NULL, 16) : 0;
}

/* The signals that are there for a thread, its own and those of its process, and that it does
 * not hold back or ignore. */
struct pending_signals {
    bool is_told;
    unsigned long long own, shared;
    bool has_others; /* threads */
};

static struct pending_signals signals_for(long thread) {
    struct bytes status = {0};
    struct pending_signals there = {.has_others = true};
    if (!read_record(&status, thread)) return there;
    unsigned long long open = ~signals_of(status.data, "\nSigBlk:") &
                              ~signals_of(status.data, "\nSigIgn:");
    const char *threads = strstr(status.data, "\nThreads:");
    there.own = signals_of(status.data, "\nSigPnd:") & open;
    there.shared = signals_of(status.data, "\nShdPnd:") & open;
    there.has_others = !threads || strtol(threads + strlen("\nThreads:"), NULL, 10) != 1;
    there.is_told = true;
    free(status.data);
    return there;
}

/* All where that cannot be told. */
static unsigned long long pending_for(long thread) {
    struct pending_signals there = signals_for(thread);
    return there.is_told ? there.own | there.shared : ~0ull;
}

bool process_is_about_to_handle(long thread) {
    struct pending_signals there = signals_for(thread);
    return there.own || (there.shared && !there.has_others);
}

bool process_is_signalled(long thread) { return pending_for(thread) != 0; }

/* One that is traced is left even those that do nothing. */
bool process_is_to_end(long thread) {
    static const int harmless[] = {SIGCHLD, SIGCONT, SIGURG,  SIGWINCH,
                                   SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
    unsigned long long there = pending_for(thread);
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        there &= ~(1ull << (harmless[i] - 1));
    return there != 0;
}

/* The system call that a thread waits in; -1 when that cannot be told. */
long process_call(long thread) {
    char path[64];
    struct bytes call = {0};
    long number = -1;
    snprintf(path, sizeof path, "/proc/%ld/syscall", thread);
    if (bytes_read_file(&call, path, 1024)) sscanf(call.data, "%ld", &number);
    free(call.data);
    return number;
}

bool process_shares(long thread, const char *kind) {
    char ours[64], theirs[64];
    struct stat one, other;
    snprintf(ours, sizeof ours, "/proc/self/ns/%s", kind);
    snprintf(theirs, sizeof theirs, "/proc/%ld/ns/%s", thread, kind);
    return stat(ours, &one) == 0 && stat(theirs, &other) == 0 && one.st_ino == other.st_ino;
}

bool process_has_our_files(long thread) {
    char path[64];
    struct stat ours, theirs;
    snprintf(path, sizeof path, "/proc/%ld/root", thread);
    return process_shares(thread, "mnt") && stat("/", &ours) == 0 &&
           stat(path, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
           ours.st_ino == theirs.st_ino;
}

bool process_is_first(long id) {
    char path[64];
    struct bytes status = {0};
    snprintf(path, sizeof path, "/proc/%ld/status", id);
    bool is_read = bytes_read_file(&status, path, STATUS);
    char *line = is_read ? strstr(status.data, "\nNSpid:") : NULL;
    char *end = line ? strchr(line + 1, '\n') : NULL;
    if (end) *end = '\0';
    char *last = line ? strrchr(line, '\t') : NULL;
    bool is_first = !last || strtol(last, NULL, 10) == 1;
    free(status.data);
    return is_first;
}

bool process_has_children(long id) {
    char path[64], digit;
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", id, id);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool has_none = file >= 0 && read(file, &digit, 1) == 0;
    if (file >= 0) close(file);
    return !has_none;
}

bool process_program(long id, struct stat *about) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/exe", id);
    return stat(path, about) == 0;
}

/* Reads "PID (NAME) STATE PARENT …"; the name may itself hold anything. */
bool process_read(long id, struct process *process) {
    char path[64];
    struct bytes stat = {0};
    *process = (struct process){.id = id};
    snprintf(path, sizeof path, "/proc/%ld/stat", id);
    if (!bytes_read_file(&stat, path, 1024)) return false;
    char *name = strchr(stat.data, '(');
    char *end = strrchr(stat.data, ')');
    bool read = name && end &&
                sscanf(end + 1,
                       " %*c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
                       "%*d %*d %*d %*d %llu",
                       &process->parent, &process->began) == 2;
    if (read) {
        *end = '\0';
        snprintf(process->name, sizeof process->name, "%s", name + 1);
    }
    free(stat.data);
    return read;
}

bool process_same(const struct process *one, const struct process *other) {
    return one->id == other->id && one->began == other->began;
}

/* Whether a process is on a list. */
bool processes_have(const struct processes *list, const struct process *process) {
    for (size_t i = 0; i < list->count; i++)
        if (process_same(&list->each[i], process)) return true;
    return false;
}

/* Makes room for one more. A process that goes on is never taken off for that: the
 * session could start so many others on purpose. */
static void make_room(struct processes *list) {
    struct process now;
    size_t left = 0;
    for (size_t i = 0; i < list->count; i++)
        if (process_read(list->each[i].id, &now) && process_same(&now, &list->each[i]))
            list->each[left++] = list->each[i];
    list->count = left;
    if (left * 2 < list->room) return;
    list->room = list->room * 2 + 64;
    list->each = realloc(list->each, list->room * sizeof *list->each);
    if (!list->each) refuse("out of memory");
}

/* Puts a process on a list, once. */
void processes_add(struct processes *list, long id) {
    struct process process;
    if (!process_read(id, &process) || processes_have(list, &process)) return;
    if (list->count == list->room) make_room(list);
    list->each[list->count++] = process;
}

/* Takes a process off a list. */
void processes_remove(struct processes *list, long id) {
    for (size_t i = 0; i < list->count; i++)
        if (list->each[i].id == id) list->each[i] = list->each[--list->count];
}

void processes_add_children(struct processes *list, long of) {
    DIR *all = opendir("/proc");
    struct process child;
    if (!all) refuse("/proc cannot be read");
    for (const struct dirent *entry; (entry = readdir(all));) {
        long id = strtol(entry->d_name, NULL, 10);
        if (id > 0 && process_read(id, &child) && child.parent == of)
            processes_add(list, id);
    }
    closedir(all);
}
