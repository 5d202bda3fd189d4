/* What /proc says of processes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { PROCESS_NAME = 64 };

/* A process, or a thread of one. No other has both its number and its beginning. */
struct process {
    long id, parent;
    unsigned long long began; /* clock ticks since the machine's start */
    char name[PROCESS_NAME];
};

/* Processes; those that have ended make room. */
struct processes {
    struct process *each;
    size_t count, room;
};

long process_of(long thread);
/* A copy of what a thread has by a number; -1 and errno when there is none. */
int process_file(pid_t thread, int number);
/* Whether a thread can read a file by a descriptor that it has. */
bool process_reads(pid_t thread, const struct stat *about);
long process_filters(long thread);
/* By which user's rights it acts; -1 when that cannot be told. */
long process_user(long thread);
long process_call(long thread);
/* Whether a signal that it handles, or that ends it, is there for a thread. */
bool process_is_signalled(long thread);
/* Whether it looks after such a signal as soon as its call returns: no other thread does. */
bool process_is_about_to_handle(long thread);
/* The same for one that handles none: whether it would end by it. */
bool process_is_to_end(long thread);
/* Who traces a thread; 0: nobody does. */
long process_tracer(long thread);
/* Whether a thread is in the namespace of this process, of a kind as /proc calls it. */
bool process_shares(long thread, const char *kind);
/* Whether a thread finds under each path what this process does. */
bool process_has_our_files(long thread);
/* Which file the program is that a process runs. */
bool process_program(long id, struct stat *about);
bool process_read(long id, struct process *process);
/* Whether a process is the first in its namespace of processes, which adopts orphans. */
bool process_is_first(long id);
/* Whether a process that has one thread has children; yes if that cannot be told. */
bool process_has_children(long id);
bool process_same(const struct process *one, const struct process *other);
bool processes_have(const struct processes *list, const struct process *process);
void processes_add(struct processes *list, long id);
/* Adds all children of a process, which are not its threads'. */
void processes_add_children(struct processes *list, long of);
void processes_remove(struct processes *list, long id);
