/* Which program a thread runs: by a name that nobody in the session can have given it.
 *
 * It is the name of a file below /usr or /opt that is root's alone, as everything above it
 * is; and where the session is root's too, it has not changed since that began. What a
 * session has mounted there is another file; and in a root or in namespaces of its own a
 * program may have been started by a loader of the session's, so that it is none there;
 * nor where a filter of the session's tells it that calls are done which are not; nor as
 * long as it has code in its memory that is not installed, as of a library that an option
 * named (`ssh-keygen -D`). */
#define _GNU_SOURCE
#include "owner.h"

#include "apart.h"
#include "processes.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

static time_t began;
static long own_filters;

void owner_prepare(long filters) {
    began = time(NULL);
    own_filters = filters;
}

static bool is_below_usr(const char *path) {
    return strncmp(path, "/usr/", 5) == 0 || strncmp(path, "/opt/", 5) == 0;
}

/* The path of what a process runs; false: it is not installed. */
static bool read_path(pid_t process, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/%ld/exe", (long)process);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    return is_below_usr(path);
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

static bool is_below_lib(const char *path) {
    return strncmp(path, "/lib/", 5) == 0 || strncmp(path, "/lib64/", 7) == 0;
}

/* Whether a file is root's alone, as all above it is, and as it was. Cuts the path. */
static bool is_installed(char *path, struct stat *about) {
    if ((!is_below_usr(path) && !is_below_lib(path)) || lstat(path, about) != 0) return false;
    if (geteuid() == 0 && about->st_ctime >= began) return false;
    for (char *end = path + strlen(path); end > path; end = strrchr(path, '/')) {
        *end = '\0';
        if (!is_roots_alone(path)) return false;
    }
    return is_roots_alone("/");
}

/* The path is that of what the thread runs. */
static bool runs_what_is_installed(pid_t thread, char *path) {
    struct stat there, run;
    return is_installed(path, &there) && process_program(thread, &run) &&
           there.st_dev == run.st_dev && there.st_ino == run.st_ino;
}

/* A program as its map has it: there some file systems have another device than their files
 * say. */
struct mapped {
    char path[PATH_MAX];
    struct stat program;
    dev_t device; /* 0: not met yet */
};

/* Whether a line of the map is of no code, or of code that is installed. What is in no file
 * is the kernel's, or was made by the program itself. */
static bool is_harmless(struct mapped *mapped, char *line) {
    char rights[5];
    unsigned device_major, device_minor;
    unsigned long file;
    struct stat there;
    int at = 0;
    if (sscanf(line, "%*s %4s %*s %x:%x %lu %n", rights, &device_major, &device_minor, &file,
               &at) != 4)
        return false;
    char *name = line + at;
    dev_t device = makedev(device_major, device_minor);
    if (strcmp(name, mapped->path) == 0) mapped->device = device;
    if (rights[2] != 'x') return true;
    if (!file) return strcmp(name, "[vdso]") == 0 || strcmp(name, "[vsyscall]") == 0;
    bool is_there = is_installed(name, &there) && there.st_ino == file;
    return is_there && (there.st_dev == device || (device == mapped->device &&
                                                   there.st_dev == mapped->program.st_dev));
}

static bool has_only_installed_code(pid_t thread) {
    struct mapped mapped = {.device = 0};
    char path[64], *line = NULL;
    size_t room = 0;
    ssize_t length = -1;
    snprintf(path, sizeof path, "/proc/%ld/maps", (long)thread);
    FILE *map = fopen(path, "re");
    bool is_so = map && read_path(thread, mapped.path) &&
                 process_program(thread, &mapped.program);
    while (is_so && (length = getline(&line, &room, map)) > 0) {
        if (line[length - 1] == '\n') line[length - 1] = '\0';
        is_so = is_harmless(&mapped, line);
    }
    is_so = is_so && !ferror(map);
    if (map) fclose(map);
    free(line);
    return is_so;
}

bool owner_is(const char *names, size_t length, pid_t thread) {
    char path[PATH_MAX];
    return length && !apart_is(thread) && own_filters > 0 &&
           process_filters(thread) == own_filters && read_path(thread, path) &&
           is_one_of(names, length, path) && runs_what_is_installed(thread, path) &&
           process_tracer(thread) == 0 && has_only_installed_code(thread);
}
