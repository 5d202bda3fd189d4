/* What a /proc that a caller uses says to it.
 *
 * Its own namespace of processes may be another, and so may be that of the /proc. */
#define _GNU_SOURCE
#include "proc.h"

#include "apart.h"
#include "bytes.h"
#include "file.h"
#include "mounts.h"
#include "owner.h"
#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { STATUS = 16 * 1024, DEEPEST = 40, PROC_ROOT = 1, MOST_ANCESTORS = 4096 };

bool proc_has(int directory) {
    struct statfs about;
    return fstatfs(directory, &about) != 0 || about.f_type == PROC_SUPER_MAGIC;
}

static bool is_one_of(const char *name, const char *const *names) {
    for (; *names; names++)
        if (strcmp(*names, name) == 0) return true;
    return false;
}

bool proc_tells_all(const char *name) {
    static const char *const names[] = {
        "stat",     "statm",     "status",        "cmdline",   "comm",      "cgroup",
        "limits",   "oom_score", "oom_score_adj", "sched",     "schedstat", "cpuset",
        "loginuid", "sessionid", "mounts",        "mountinfo", "uid_map",   "gid_map",
        NULL,
    };
    return is_one_of(name, names);
}

/* What is behind a number and a slash; NULL: there is none. */
static const char *behind_number(const char *path) {
    size_t digits = strspn(path, "0123456789");
    return digits && path[digits] == '/' ? path + digits + 1 : NULL;
}

bool proc_file_tells_all(const char *path) {
    static const char *const names[] = {
        "cmdline", "cpuinfo", "devices",    "diskstats",  "filesystems", "interrupts",
        "loadavg", "meminfo", "partitions", "softirqs",   "stat",        "swaps",
        "uptime",  "version", "vmstat",     NULL,
    };
    if (strncmp(path, "/proc/", 6) != 0) return false;
    const char *rest = behind_number(path + 6);
    if (!rest) return is_one_of(path + 6, names);
    const char *thread = strncmp(rest, "task/", 5) == 0 ? behind_number(rest + 5) : NULL;
    return proc_tells_all(thread ? thread : rest);
}

bool proc_is_told_to_all(int file) {
    char path[PATH_MAX];
    return mounts_are_old(file) && file_path(file, path) && proc_file_tells_all(path);
}

bool proc_is_top(int directory) {
    struct stat about;
    return fstat(directory, &about) != 0 || about.st_ino == PROC_ROOT;
}

/* The numbers of a line of a status, from the machine's namespace to the process's own;
 * how many. */
static size_t numbers_of(const char *status, const char *name, long *numbers) {
    const char *line = strstr(status, name);
    size_t count = 0;
    if (!line) return 0;
    for (char *at = (char *)line + strlen(name), *end; count < DEEPEST; at = end) {
        numbers[count] = strtol(at, &end, 10);
        if (end == at || *at == '\n') break;
        count++;
    }
    return count;
}

/* Of that very /proc: what has been mounted there may say anything. */
static bool read_status_at(int directory, const char *path, struct bytes *status) {
    char text[STATUS];
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC,
                           .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS};
    int file = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    if (length > 0) bytes_add(status, text, (size_t)length);
    return length > 0;
}

static bool read_status(int proc, long number, struct bytes *status) {
    char path[64];
    snprintf(path, sizeof path, "%ld/status", number);
    return read_status_at(proc, path, status);
}

static pid_t redlane_run;
static const char *owner_names;

void proc_prepare(const char *owners) {
    redlane_run = getpid();
    owner_names = owners;
}

/* The top of the /proc that a directory is of; -1: it cannot be told. */
static int top_of(int directory) {
    const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_NO_XDEV};
    int at = openat(directory, ".", O_PATH | O_CLOEXEC);
    while (at >= 0 && !proc_is_top(at)) {
        int up = (int)syscall(SYS_openat2, at, "..", &how, sizeof how);
        close(at);
        at = up;
    }
    return at;
}

/* Whose processes a /proc shows. Each mount of one may be another device. */
enum processes_of { OURS, BELOW_US, UNKNOWN };

static enum processes_of processes_in(int directory) {
    char own[16] = "";
    int top = top_of(directory);
    ssize_t length = top < 0 ? 0 : readlinkat(top, "self", own, sizeof own - 1);
    int error = errno;
    if (top >= 0) close(top);
    if (length > 0) return strtol(own, NULL, 10) == getpid() ? OURS : UNKNOWN;
    return length < 0 && error == ENOENT ? BELOW_US : UNKNOWN;
}

static bool is_ours(int directory) { return processes_in(directory) == OURS; }

/* What the caller is called in the /proc that stands there: in ours by the first of its
 * numbers, elsewhere by the one that has as many below it there. */
int proc_own_name(int proc, pid_t of, bool is_thread, char *name, size_t size) {
    char path[64];
    struct bytes status = {0};
    long process[DEEPEST], thread[DEEPEST], others[DEEPEST];
    bool ours = is_ours(proc);
    long found = ours ? 0 : -1;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)of);
    if (!bytes_read_file(&status, path, STATUS)) return ESRCH;
    long depth = (long)numbers_of(status.data, "\nNStgid:", process);
    if (numbers_of(status.data, "\nNSpid:", thread) != (size_t)depth) depth = 0;
    free(status.data);
    for (long i = 0; i < depth && !ours; i++) {
        struct bytes there = {0};
        bool is_it = read_status(proc, process[i], &there) &&
                     (long)numbers_of(there.data, "\nNStgid:", others) == depth - i;
        free(there.data);
        if (is_it && found >= 0) return EACCES; /* nobody knows which */
        if (is_it) found = i;
    }
    if (found < 0 || !depth) return EACCES;
    if (is_thread) snprintf(name, size, "%ld/task/%ld", process[found], thread[found]);
    else snprintf(name, size, "%ld", process[found]);
    return 0;
}

/* In ours all the numbers are the same; elsewhere, those that are told there. */
static bool is_same_process(const char *there, const char *own, bool ours) {
    long theirs[DEEPEST], mine[DEEPEST];
    size_t told = numbers_of(there, "\nNStgid:", theirs);
    size_t depth = numbers_of(own, "\nNStgid:", mine);
    if (!told || told > depth || (ours && told != depth)) return false;
    return memcmp(theirs, mine + depth - told, told * sizeof *mine) == 0;
}

static long number_of(const char *status, const char *name) {
    const char *line = strstr(status, name);
    return line ? strtol(line + strlen(name), NULL, 10) : -1;
}

static bool is_own(const char *there, pid_t thread, bool ours) {
    char path[64];
    struct bytes own = {0};
    snprintf(path, sizeof path, "/proc/%ld/status", (long)thread);
    long tracer = ours ? number_of(there, "\nTracerPid:") : 0;
    bool is_it = bytes_read_file(&own, path, STATUS) &&
                 (is_same_process(there, own.data, ours) ||
                  (tracer > 0 && process_of(tracer) == process_of(thread)));
    free(own.data);
    return is_it;
}

bool proc_is_process(int directory) {
    struct bytes there = {0};
    bool is_it = read_status_at(directory, "status", &there) ||
                 read_status_at(directory, "../status", &there);
    free(there.data);
    return is_it;
}

bool proc_is_own(int directory, pid_t thread) {
    struct bytes there = {0};
    bool is_it = read_status_at(directory, "status", &there) &&
                 is_own(there.data, thread, is_ours(directory));
    free(there.data);
    return is_it;
}

/* Whether two processes run the same program. */
static bool are_alike(long id, long other) {
    struct stat one, two;
    return process_program(id, &one) && process_program(other, &two) &&
           one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

/* Whether nobody but an owner itself looks into a process. */
static bool is_closed(long id, pid_t thread) {
    return owner_names && owner_may_be(owner_names, (pid_t)id) &&
           (apart_is(thread) || !are_alike(id, thread));
}

bool proc_is_below_us(long id) {
    struct process process = {.parent = id};
    if (are_alike(id, redlane_run)) return false;
    for (int depth = 0; depth < MOST_ANCESTORS && process.parent > 1; depth++) {
        if (!process_read(process.parent, &process)) return false;
        if (process.parent == redlane_run) return true;
    }
    return false;
}

/* A /proc that the session has mounted has its own processes, and no others. */
bool proc_is_open_to(int directory, pid_t thread, bool is_bound) {
    struct bytes there = {0};
    enum processes_of shown = processes_in(directory);
    bool is_open = false;
    if (read_status_at(directory, "status", &there) ||
        read_status_at(directory, "../status", &there))
        is_open = is_own(there.data, thread, shown == OURS) ||
                  (!is_bound && shown == OURS &&
                   proc_is_below_us(number_of(there.data, "\nTgid:")) &&
                   !is_closed(number_of(there.data, "\nTgid:"), thread)) ||
                  (!is_bound && shown == BELOW_US && !mounts_are_old(directory));
    free(there.data);
    return is_open;
}
