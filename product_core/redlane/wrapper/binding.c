/* Binds a socket in its caller's place, to the very address that it gave: others see it.
 *
 * The kernel walks its path once more, from the caller's directories, where nobody else
 * changes names meanwhile: what the session's calls do to names is done by this process
 * (keeper.c). */
#define _GNU_SOURCE
#include "binding.h"

#include "processes.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH = 64, PIDFD_OPEN = 434, PIDFD_GETFD = 438 };

struct binding {
    const struct call *call;
    int socket;
};

/* The caller's socket: a thread may have a table of its own, so it is looked at. */
static int take_socket(const struct call *call) {
    char path[PATH];
    struct stat ours, theirs;
    long process = process_of(call->caller.thread);
    int pidfd = process < 0 ? -1 : (int)syscall(PIDFD_OPEN, process, 0);
    int file = pidfd < 0 ? -1 : (int)syscall(PIDFD_GETFD, pidfd, call->socket, 0);
    if (pidfd >= 0) close(pidfd);
    if (file < 0) return -1;
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)call->caller.thread, call->socket);
    if (fstat(file, &ours) == 0 && stat(path, &theirs) == 0 &&
        ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev)
        return file;
    close(file);
    errno = EBADF;
    return -1;
}

static int bind_it(void *argument) {
    const struct binding *binding = argument;
    const struct call *call = binding->call;
    const struct sockaddr *address = (const struct sockaddr *)&call->address;
    return bind(binding->socket, address, call->address_length) == 0 ? 0 : errno;
}

int binding_do(struct call *call) {
    struct binding binding = {call, take_socket(call)};
    int error = binding.socket < 0 ? errno : 0;
    if (!error && call->spot_count)
        error = actor_take_place(&call->actor, call->caller.thread, call->caller.root);
    if (!error) error = actor_do(&call->actor, bind_it, &binding);
    if (binding.socket >= 0) close(binding.socket);
    return error;
}
