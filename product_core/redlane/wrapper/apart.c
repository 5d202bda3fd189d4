/* Whether programs of the session see other files by the same paths: in another root, or in
 * a namespace of mounts of their own. It takes a call to get there, which is told; until
 * there has been one, nobody has to be looked at. */
#define _GNU_SOURCE
#include "apart.h"

#include "processes.h"

#include <stdatomic.h>
#include <unistd.h>

static atomic_bool has_departed;

void apart_note(void) { atomic_store(&has_departed, true); }

/* Root of the session may have moved the mounts of all. */
bool apart_is(pid_t thread) {
    if (!atomic_load(&has_departed)) return false;
    return geteuid() == 0 || !process_shares(thread, "user") ||
           !process_has_our_files(thread);
}
