/* Whether programs of the session see other files by the same paths: in another root, or in
 * a namespace of mounts of their own. It takes a call to get there, which is told; until
 * there has been one, nobody has to be looked at. */
#define _GNU_SOURCE
#include "apart.h"

#include "processes.h"

#include <stdatomic.h>
#include <unistd.h>

static atomic_bool may_have_departed = true;

void apart_is_told(void) { atomic_store(&may_have_departed, false); }

void apart_note(void) { atomic_store(&may_have_departed, true); }

bool apart_has_begun(void) { return atomic_load(&may_have_departed); }

bool apart_sees_our_files(pid_t process) {
    return !apart_has_begun() || process_has_our_files(process);
}

/* Root of the session may have moved the mounts of all. */
bool apart_is(pid_t thread) {
    if (!apart_has_begun()) return false;
    return geteuid() == 0 || !process_shares(thread, "user") ||
           !process_has_our_files(thread);
}
