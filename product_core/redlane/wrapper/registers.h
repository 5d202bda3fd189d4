/* The registers of a process that stands, traced by us, and words of its memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/user.h>

typedef struct user_regs_struct registers;

#if defined(__x86_64__)
static inline unsigned long stack_of(const registers *now) { return now->rsp; }
static inline unsigned long next_of(const registers *now) { return now->rip; }
#elif defined(__aarch64__)
static inline unsigned long stack_of(const registers *now) { return now->sp; }
static inline unsigned long next_of(const registers *now) { return now->pc; }
#else
#error "no way is known to make a process of this machine become another program"
#endif

/* false: it has gone, or is of another machine. */
bool registers_read(pid_t process, registers *now);
bool registers_set(pid_t process, registers *wanted);
bool memory_read(pid_t process, unsigned long at, void *to, size_t length);
/* Whole words; what is beyond `length` in the last one becomes zero. */
bool memory_write(pid_t process, unsigned long at, const void *from, size_t length);
