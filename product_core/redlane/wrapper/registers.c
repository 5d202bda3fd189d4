/* The registers of a process that stands, traced by us, and words of its memory. */
#define _GNU_SOURCE
#include "registers.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

enum { WORD = sizeof(long) };

bool registers_read(pid_t process, registers *now) {
    struct iovec vector = {now, sizeof *now};
    return ptrace(PTRACE_GETREGSET, process, NT_PRSTATUS, &vector) == 0 &&
           vector.iov_len == sizeof *now; /* or it is of another machine */
}

bool registers_set(pid_t process, registers *wanted) {
    struct iovec vector = {wanted, sizeof *wanted};
    return ptrace(PTRACE_SETREGSET, process, NT_PRSTATUS, &vector) == 0;
}

bool memory_read(pid_t process, unsigned long at, void *to, size_t length) {
    for (size_t i = 0; i < length; i += WORD) {
        size_t left = length - i;
        errno = 0;
        long word = ptrace(PTRACE_PEEKDATA, process, at + i, 0);
        if (errno) return false;
        memcpy((char *)to + i, &word, left < sizeof word ? left : sizeof word);
    }
    return true;
}

bool memory_write(pid_t process, unsigned long at, const void *from, size_t length) {
    for (size_t i = 0; i < length; i += WORD) {
        long word = 0;
        size_t left = length - i;
        memcpy(&word, (const char *)from + i, left < sizeof word ? left : sizeof word);
        if (ptrace(PTRACE_POKEDATA, process, at + i, word) != 0) return false;
    }
    return true;
}
