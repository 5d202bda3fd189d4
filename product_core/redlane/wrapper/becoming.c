/* A program that is being started, made to become the guarded shell: in the place of a
 * shell, or to ask for a program whose command does not pass as it is (program.c). */
#define _GNU_SOURCE
#include "becoming.h"

#include "apart.h"
#include "bytes.h"
#include "installed.h"
#include "options.h"
#include "program.h"
#include "redirect.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HIGHEST_DESCRIPTOR = 65535, LONGEST_LINE = 8 * 1024 * 1024 };

/* The lowest number above another that no open file of the process has. It is below its
 * limit if any is: that is not for us to read where the process is another user's. */
static int free_descriptor(pid_t process, int above) {
    char path[64];
    struct stat found;
    for (int number = above + 1; number <= HIGHEST_DESCRIPTOR; number++) {
        snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)process, number);
        if (lstat(path, &found) != 0) return errno == ENOENT ? number : -1;
    }
    return -1;
}

static bool add_first_word(struct bytes *called, pid_t process) {
    char path[64];
    struct bytes words = {0};
    bytes_add(&words, "", 0);
    snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)process);
    bool is_read = bytes_read_file(&words, path, LONGEST_NAME);
    bytes_add_text(called, words.data);
    free(words.data);
    return is_read && called->length < LONGEST_NAME;
}

/* The guarded shell, called as the shell was; and told where others' files may be ours. */
bool become_shell(struct start *start, const struct started *started, uint64_t token) {
    struct started called = *started;
    struct bytes name = {0};
    start->state = BECOMING;
    start->shell_descriptor = free_descriptor(start->thread, STDERR_FILENO);
    bool becomes = start->shell_descriptor >= 0;
    if (!apart_sees_our_files(start->thread)) {
        bytes_add_text(&name, APART_NAME);
        if (started->name) bytes_add_text(&name, started->name);
        else becomes = add_first_word(&name, start->thread) && becomes;
        called.name = name.data;
    }
    becomes = becomes && redirect(start->thread, &called, start->shell_descriptor, token,
                                   start->is_left);
    free(name.data);
    return becomes;
}

/* The shell that the guarded shell would become, by the name that it was called by. */
bool become_real(struct start *start, uint64_t token) {
    char path[64];
    struct bytes words = {0};
    struct started started = {0};
    start->state = BECOMING;
    snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)start->thread);
    bytes_add(&words, "", 0);
    bool is_read = bytes_read_file(&words, path, LONGEST_LINE);
    start->real = open(names_sh(words.data) ? "/bin/sh" : "/bin/bash", O_RDONLY | O_CLOEXEC);
    free(words.data);
    start->shell_descriptor = free_descriptor(start->thread, STDERR_FILENO);
    return is_read && start->real >= 0 && start->shell_descriptor >= 0 &&
           redirect(start->thread, &started, start->shell_descriptor, token, false);
}

/* The guarded shell, that asks for the program which stands there. */
bool become_asking(struct start *start, uint64_t token) {
    char path[64], prefix[64];
    struct bytes called = {0};
    pid_t process = start->thread;
    start->state = BECOMING;
    snprintf(path, sizeof path, "/proc/%ld/exe", (long)process);
    start->program = open(path, O_RDONLY | O_CLOEXEC);
    start->program_descriptor = free_descriptor(process, STDERR_FILENO);
    if (start->program < 0 || start->program_descriptor < 0) return false;
    start->shell_descriptor = free_descriptor(process, start->program_descriptor);
    snprintf(prefix, sizeof prefix, PROGRAM_NAME "%d-", start->program_descriptor);
    bytes_add_text(&called, prefix);
    bool becomes = start->shell_descriptor >= 0 && add_first_word(&called, process);
    struct started started = {.name = called.data};
    becomes = becomes && redirect(process, &started, start->shell_descriptor, token, false);
    free(called.data);
    return becomes;
}

static bool give(int listener, uint64_t id, int file, int descriptor, uint32_t flags) {
    struct seccomp_notif_addfd given = {
        .id = id,
        .flags = SECCOMP_ADDFD_FLAG_SETFD,
        .srcfd = (unsigned)file,
        .newfd = (unsigned)descriptor,
        .newfd_flags = flags,
    };
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &given) >= 0;
}

/* Gives the call that it has been made to make what it is about. */
bool becoming_give(const struct start *start, int listener, uint64_t id, int shell) {
    int file = start->real < 0 ? shell : start->real;
    return give(listener, id, file, start->shell_descriptor, O_CLOEXEC) &&
           (start->program < 0 ||
            give(listener, id, start->program, start->program_descriptor, 0));
}
