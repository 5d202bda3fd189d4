/* Threads that take calls, each of which may take long. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What they do: functions of what they are given. */
struct crew_work {
    void *about;
    /* Waits for a call and puts it into what it is given; false: there will be none. */
    bool (*receive)(void *about, void *call);
    bool (*is_more)(void *about); /* whether another one is there */
    void (*take)(void *about, const void *call);
    size_t call_size;
};

/* How many there may be at once. */
int crew_most(void);
/* Has a thread of its own do what may wait for long; false: there is none to be had. */
bool crew_add(void *(*part)(void *), void *about);
/* `work` has to stay. */
void crew_start(const struct crew_work *work);
