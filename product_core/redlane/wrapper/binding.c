/* Binds a socket in its caller's place, to the very address that it gave: others see it.
 *
 * The kernel walks its path once more, from the caller's directories, where nobody else
 * changes names meanwhile: what the session's calls do to names is done by this process
 * (keeper.c). */
#define _GNU_SOURCE
#include "binding.h"

#include "processes.h"

#include <errno.h>
#include <linux/landlock.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATH = 64, LANDLOCK_CREATE = 444, LANDLOCK_ADD = 445, LANDLOCK_RESTRICT = 446 };

/* What a link of /proc stands for in a path is not the same for this process. */
static int bind_name(const struct call *call) {
    const struct spot *spot = &call->spots[0];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (spot->parent < 0 || !*spot->name || *spot->end) return ENOENT;
    if (strlen(spot->name) >= sizeof address.sun_path) return ENAMETOOLONG;
    strcpy(address.sun_path, spot->name);
    if (fchdir(spot->parent) != 0) return errno;
    const struct sockaddr *name = (const struct sockaddr *)&address;
    return bind(call->held, name, sizeof address) == 0 ? 0 : errno;
}

/* Mounts may have changed meanwhile: the socket is made below the directory that was
 * looked at, or nowhere. An older kernel does without. */
static bool stay_below(const struct spot *spot) {
    struct landlock_ruleset_attr handled = {.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_SOCK};
    struct landlock_path_beneath_attr below = {LANDLOCK_ACCESS_FS_MAKE_SOCK, spot->parent};
    int rules = (int)syscall(LANDLOCK_CREATE, &handled, sizeof handled, 0);
    if (rules < 0) return errno == ENOSYS || errno == EOPNOTSUPP;
    bool is_bound = spot->parent >= 0 &&
                    syscall(LANDLOCK_ADD, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0) == 0 &&
                    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                    syscall(LANDLOCK_RESTRICT, rules, 0) == 0;
    close(rules);
    return is_bound;
}

static int bind_it(void *argument) {
    const struct call *call = argument;
    if (call->spot_count && call->spots[0].is_by_proc) return bind_name(call);
    if (call->spot_count && !stay_below(&call->spots[0])) return EACCES;
    const struct sockaddr *address = (const struct sockaddr *)&call->address;
    return bind(call->held, address, call->address_length) == 0 ? 0 : errno;
}

/* The kernel has a socket's number be that of the process that binds it. */
static void number_as_caller(struct call *call) {
    struct sockaddr_nl *address = (struct sockaddr_nl *)&call->address;
    bool is_free = address->nl_family == AF_NETLINK && !address->nl_pid;
    if (is_free && call->address_length >= sizeof *address)
        address->nl_pid = (unsigned)process_of(call->caller.thread);
}

int binding_do(struct call *call) {
    struct sockaddr_storage given = call->address;
    int error = call->spot_count ? actor_take_place(&call->actor, &call->caller) : 0;
    if (!error) number_as_caller(call);
    if (!error) error = actor_do(&call->actor, bind_it, call);
    if (error == EADDRINUSE && memcmp(&given, &call->address, sizeof given) != 0) {
        call->address = given;
        error = actor_do(&call->actor, bind_it, call);
    }
    return error;
}
