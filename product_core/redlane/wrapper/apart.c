/* Whether programs of the session see other files by the same paths: in another root, or in
 * a namespace of mounts of their own. It takes a call to get there, which is told; until
 * there has been one, nobody has to be looked at. */
#define _GNU_SOURCE
#include "apart.h"

#include "message.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_bool has_departed;
static struct stat our_root, our_mounts, our_users;

void apart_prepare(void) {
    if (stat("/", &our_root) != 0 || stat("/proc/self/ns/mnt", &our_mounts) != 0 ||
        stat("/proc/self/ns/user", &our_users) != 0)
        refuse("the session cannot be supervised: /proc does not tell who this is");
}

void apart_note(void) { atomic_store(&has_departed, true); }

static bool is_ours(pid_t thread, const char *what, const struct stat *ours) {
    char path[64];
    struct stat about;
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)thread, what);
    return stat(path, &about) == 0 && about.st_ino == ours->st_ino &&
           about.st_dev == ours->st_dev;
}

/* Root of the session may have moved the mounts of all. */
bool apart_is(pid_t thread) {
    if (!atomic_load(&has_departed)) return false;
    return geteuid() == 0 || !is_ours(thread, "ns/mnt", &our_mounts) ||
           !is_ours(thread, "ns/user", &our_users) || !is_ours(thread, "root", &our_root);
}
