/* What a /proc that a caller uses says to it: not all that it says to this process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Once, in this process itself. `owners`: programs, their names between colons, whose
 * processes are open to none but themselves; NULL: there are none. */
void proc_prepare(const char *owners);

/* Whether a file of a process, by its name, says the same to whoever reads it. */
bool proc_tells_all(const char *name);
/* The same of a file of our /proc, by its path; and of one that is held. */
bool proc_file_tells_all(const char *path);
bool proc_is_told_to_all(int file);

/* Whether a file lies in a /proc; also when that cannot be told. */
bool proc_has(int file);
bool proc_is_top(int directory);

/* What `self` and `thread-self` mean for a thread; an errno, 0 for success. */
int proc_own_name(int proc, pid_t of, bool is_thread, char *name, size_t size);

/* Whether a directory is one of a process, or of one of its threads. */
bool proc_is_process(int directory);
/* Whether a directory of a /proc is that of the thread's own process, or of one that it
 * traces. */
bool proc_is_own(int directory, pid_t thread);

/* Whether a process is one of the session: it descends from this one, and does not act for
 * it. */
bool proc_is_below_us(long id);

/* Whether what the links of a directory of a /proc stand for is open to a thread: a process
 * of the session, or, for one that `is_bound`, its own. */
bool proc_is_open_to(int directory, pid_t thread, bool is_bound);
