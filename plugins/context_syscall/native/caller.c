/* What belongs to the thread that calls: its memory, its directories.
 *
 * A thread's number may pass to another while it is used here. Nothing follows from that:
 * only what the thread waits for is answered in the end, and the kernel knows whether it
 * still does; that it does so then means that it was there all the time. */
#define _GNU_SOURCE
#include "hot.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

enum { PAGE = 4096, FIRST_BYTES = 256 };

void threads_init(struct threads *threads) {
    threads->by_path = false;
    for (int place = 0; place < KNOWN_THREADS; place++) {
        threads->known[place].id = 0;
        threads->known[place].pidfd = -1;
    }
}

void threads_free(struct threads *threads) {
    for (int place = 0; place < KNOWN_THREADS; place++)
        if (threads->known[place].pidfd >= 0) close(threads->known[place].pidfd);
    threads_init(threads);
}

/* At most so many bytes, and not beyond the page: what lies there may not be mapped. */
static size_t up_to_page(uint64_t address, size_t most) {
    size_t left = PAGE - address % PAGE;
    return left < most ? left : most;
}

/* Always by the thread's number: a descriptor of its memory kept from an earlier call
 * would still show that of a parent, after vfork and exec, or of whoever had the number. */
ssize_t read_path(pid_t thread, uint64_t address, char path[PATH_MAX]) {
    size_t had = 0;
    size_t now = up_to_page(address, FIRST_BYTES);
    while (had < PATH_MAX) {
        struct iovec here = {path + had, now};
        struct iovec there = {(void *)(uintptr_t)(address + had), now};
        ssize_t got = process_vm_readv(thread, &here, 1, &there, 1, 0);
        if (got <= 0 || (size_t)got > now) return -1;
        const char *end = memchr(path + had, 0, (size_t)got);
        if (end) return end - path;
        had += (size_t)got;
        now = up_to_page(address + had, PATH_MAX - had);
    }
    return -1;
}

static int pidfd_of(uint32_t thread) {
    return (int)syscall(__NR_pidfd_open, thread, PIDFD_THREAD);
}

/* A duplicate of a descriptor of the thread's, through a descriptor of the thread that is
 * kept: it names that very thread for ever, and none that gets its number later. */
static int duplicate_of(struct threads *threads, uint32_t thread, int number) {
    size_t place = thread % KNOWN_THREADS;
    int *pidfd = &threads->known[place].pidfd;
    for (int attempt = 0; attempt < 2; attempt++) {
        if (*pidfd < 0 || threads->known[place].id != thread || attempt) {
            if (*pidfd >= 0) close(*pidfd);
            threads->known[place].id = thread;
            *pidfd = pidfd_of(thread);
            if (*pidfd < 0) return -1;
        }
        int found = (int)syscall(__NR_pidfd_getfd, *pidfd, number, 0);
        if (found >= 0 || errno != ESRCH) return found;
    }
    return -1;
}

static int directory_by_path(uint32_t thread, int number) {
    char path[64];
    if (number == AT_FDCWD)
        snprintf(path, sizeof path, "/proc/%u/cwd", thread);
    else
        snprintf(path, sizeof path, "/proc/%u/fd/%d", thread, number);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int directory_of(struct threads *threads, uint32_t thread, int number) {
    if (number != AT_FDCWD && !threads->by_path) {
        int found = duplicate_of(threads, thread, number);
        if (found >= 0 || errno != EINVAL) return found;
        threads->by_path = true;
    }
    return directory_by_path(thread, number);
}

/* The kernel tells how many are open as the size of their directory (since 6.2). */
bool has_room(uint32_t thread) {
    char path[64];
    struct stat table;
    struct rlimit limit;
    snprintf(path, sizeof path, "/proc/%u/fd", thread);
    return stat(path, &table) == 0 && table.st_size > 0 &&
           prlimit((pid_t)thread, RLIMIT_NOFILE, NULL, &limit) == 0 &&
           (rlim_t)table.st_size < limit.rlim_cur;
}

static ssize_t told_of(uint32_t thread, char *text, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/status", thread);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t length = read(file, text, size - 1);
    close(file);
    return length;
}

/* The second line of it; a program's name, in the first, has its line ends escaped. */
static int umask_of(uint32_t thread) {
    static const char before[] = "\nUmask:\t";
    char text[512];
    ssize_t length = told_of(thread, text, sizeof text);
    if (length <= 0) return -1;
    text[length] = 0;
    const char *found = strstr(text, before);
    return found ? (int)strtol(found + sizeof before - 1, NULL, 8) & 0777 : -1;
}

int take_umask(uint32_t thread) {
    static _Thread_local bool has_its_own;
    int theirs = umask_of(thread);
    if (theirs < 0 || (!has_its_own && unshare(CLONE_FS))) return -1;
    has_its_own = true;
    return (int)umask((mode_t)theirs);
}
