/* The programs that are being started. */
#include "starts.h"

#include "message.h"

#include <stdlib.h>
#include <unistd.h>

struct start *starts_find(struct starts *starts, pid_t thread) {
    for (size_t i = 0; i < starts->count; i++)
        if (starts->each[i].thread == thread) return &starts->each[i];
    return NULL;
}

/* One more; what was found before may lie elsewhere from now on. */
struct start *starts_add(struct starts *starts, pid_t thread) {
    if (starts->count == starts->room) {
        starts->room = starts->room * 2 + 64;
        starts->each = realloc(starts->each, starts->room * sizeof *starts->each);
        if (!starts->each) refuse("out of memory");
    }
    starts->each[starts->count] = (struct start){.thread = thread, .real = -1, .program = -1};
    return &starts->each[starts->count++];
}

void starts_forget(struct starts *starts, pid_t thread) {
    struct start *start = starts_find(starts, thread);
    if (!start) return;
    if (start->program >= 0) close(start->program);
    if (start->real >= 0) close(start->real);
    free(start->alone);
    free(start->text.data);
    *start = starts->each[--starts->count];
}

/* The start of a thread, which bears the name of its process from now on; NULL: there is
 * none. */
struct start *starts_rename(struct starts *starts, pid_t thread, pid_t process) {
    struct start *start = starts_find(starts, thread);
    if (thread == process || !start) return starts_find(starts, process);
    starts_forget(starts, process);
    start = starts_find(starts, thread);
    start->thread = process;
    return start;
}

/* Whether another thread of the process starts a program. */
bool starts_have_other(const struct starts *starts, pid_t thread, long process) {
    for (size_t i = 0; i < starts->count; i++)
        if (starts->each[i].process == process && starts->each[i].thread != thread)
            return true;
    return false;
}
