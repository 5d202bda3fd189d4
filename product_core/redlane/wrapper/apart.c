/* Whether programs of the session see other files by the same paths: in another root, or in
 * a namespace of mounts of their own. It takes a call to get there, which is told; until
 * there has been one, nobody has to be looked at. */
#define _GNU_SOURCE
#include "apart.h"

#include "message.h"
#include "processes.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_bool has_departed;
static struct stat our_root;

void apart_prepare(void) {
    if (stat("/", &our_root) != 0)
        refuse("the session cannot be supervised: the root cannot be looked at");
}

void apart_note(void) { atomic_store(&has_departed, true); }

static bool has_our_root(pid_t thread) {
    char path[64];
    struct stat about;
    snprintf(path, sizeof path, "/proc/%ld/root", (long)thread);
    return stat(path, &about) == 0 && about.st_ino == our_root.st_ino &&
           about.st_dev == our_root.st_dev;
}

/* Root of the session may have moved the mounts of all. */
bool apart_is(pid_t thread) {
    if (!atomic_load(&has_departed)) return false;
    return geteuid() == 0 || !process_shares(thread, "mnt") ||
           !process_shares(thread, "user") || !has_our_root(thread);
}
