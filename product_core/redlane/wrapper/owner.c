/* Which program a thread runs: by a name that nobody in the session can have given it.
 *
 * It is the name of a file below /usr or /opt that is root's alone, as everything above it
 * is; and where the session is root's too, it has not changed since that began. What a
 * session has mounted there is another file; and in a root or in namespaces of its own a
 * program may have been started by a loader of the session's, so that it is none there;
 * nor where a filter of the session's tells it that calls are done which are not. */
#define _GNU_SOURCE
#include "owner.h"

#include "apart.h"
#include "processes.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static time_t began;
static long own_filters;

void owner_prepare(long filters) {
    began = time(NULL);
    own_filters = filters;
}

/* The path of what a process runs; false: it is not installed. */
static bool read_path(pid_t process, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/%ld/exe", (long)process);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    return strncmp(path, "/usr/", 5) == 0 || strncmp(path, "/opt/", 5) == 0;
}

static bool is_one_of(const char *names, size_t length, const char *path) {
    const char *name = strrchr(path, '/') + 1, *end = names + length;
    size_t size = strlen(name);
    for (const char *at = names, *next; at < end; at = next + 1) {
        next = memchr(at, ':', (size_t)(end - at));
        if (!next) next = end;
        if ((size_t)(next - at) == size && memcmp(at, name, size) == 0) return true;
    }
    return false;
}

bool owner_may_be(const char *names, pid_t process) {
    char path[PATH_MAX];
    return read_path(process, path) && is_one_of(names, strlen(names), path);
}

static bool is_roots_alone(const char *path) {
    struct stat about;
    return lstat(path, &about) == 0 && !S_ISLNK(about.st_mode) && about.st_uid == 0 &&
           !(about.st_mode & (S_IWGRP | S_IWOTH));
}

/* Whether that is the file itself, and it is as it was. */
static bool is_the_file(pid_t thread, const char *path) {
    struct stat there, run;
    return lstat(path, &there) == 0 && process_program(thread, &run) &&
           there.st_dev == run.st_dev && there.st_ino == run.st_ino &&
           (geteuid() != 0 || there.st_ctime < began);
}

bool owner_is(const char *names, size_t length, pid_t thread) {
    char path[PATH_MAX];
    if (!length || apart_is(thread) || own_filters <= 0 ||
        process_filters(thread) != own_filters || !read_path(thread, path) || !is_one_of(names, length, path) ||
        !is_the_file(thread, path) || process_tracer(thread) != 0)
        return false;
    for (char *end = path + strlen(path); end > path; end = strrchr(path, '/')) {
        *end = '\0';
        if (!is_roots_alone(path)) return false;
    }
    return is_roots_alone("/");
}
