/* A program that stands at its start, made to be alone. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct alone;

/* Has a process share its directory with nobody and adopt nobody, before its first
 * instruction; it stops by a trap when that is done. NULL: it cannot be had to. */
struct alone *alone_begin(pid_t process);
/* ALONE_NOT_YET: something else has stopped it. */
enum alone_state { ALONE_NOT_YET, ALONE_FAILED, ALONE_DONE };

/* It stands where it stood, wherever it has come to meanwhile; false: it does not. */
bool alone_back(pid_t process, struct alone *alone);
/* At a trap: it stands where it stood again, unless it is not done. */
enum alone_state alone_end(pid_t process, struct alone *alone);
