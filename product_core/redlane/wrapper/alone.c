/* A program that stands at its start, made to be alone: another process could change its
 * directory after its command was judged (CLONE_FS), and it could adopt the orphans of
 * others, which then look like its own forks.
 *
 * The guarded shell sees to that by itself. Here the process is made to call for it, in the
 * place of its first instruction, and is put back. */
#define _GNU_SOURCE
#include "alone.h"

#include "bytes.h"
#include "registers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

/* unshare(CLONE_FS), prctl(PR_SET_CHILD_SUBREAPER, 0), and a trap; what they give, which is
 * zero, is kept in a register that a program finds empty. */
#if defined(__x86_64__)
static const unsigned char code[] = {
    0xb8, 0x10, 0x01, 0x00, 0x00, /* mov $272, %eax */
    0xbf, 0x00, 0x02, 0x00, 0x00, /* mov $0x200, %edi */
    0x0f, 0x05,                   /* syscall */
    0x49, 0x89, 0xc4,             /* mov %rax, %r12 */
    0xb8, 0x9d, 0x00, 0x00, 0x00, /* mov $157, %eax */
    0xbf, 0x24, 0x00, 0x00, 0x00, /* mov $36, %edi */
    0x31, 0xf6,                   /* xor %esi, %esi */
    0x0f, 0x05,                   /* syscall */
    0x49, 0x09, 0xc4,             /* or %rax, %r12 */
    0xcc,                         /* int3 */
};
enum { TRAP = 33 }; /* behind it */
static unsigned long result_of(const registers *now) { return now->r12; }
static void enter(registers *now) { now->orig_rax = (unsigned long)-1; }
#else
static const unsigned char code[] = {
    0x28, 0x0c, 0x80, 0xd2, /* mov x8, #97 */
    0x00, 0x40, 0x80, 0xd2, /* mov x0, #0x200 */
    0x01, 0x00, 0x00, 0xd4, /* svc #0 */
    0xf3, 0x03, 0x00, 0xaa, /* mov x19, x0 */
    0xe8, 0x14, 0x80, 0xd2, /* mov x8, #167 */
    0x80, 0x04, 0x80, 0xd2, /* mov x0, #36 */
    0x01, 0x00, 0x80, 0xd2, /* mov x1, #0 */
    0x01, 0x00, 0x00, 0xd4, /* svc #0 */
    0x73, 0x02, 0x00, 0xaa, /* orr x19, x19, x0 */
    0x00, 0x00, 0x20, 0xd4, /* brk #0 */
};
enum { TRAP = 36 }; /* at it */
static unsigned long result_of(const registers *now) { return now->regs[19]; }
static void enter(registers *now) { (void)now; }
#endif

enum { WORD = sizeof(long), ROOM = (sizeof code + WORD - 1) / WORD * WORD };

struct alone {
    registers before;
    unsigned char code[ROOM];
};

struct alone *alone_begin(pid_t process) {
    struct alone *alone = allocate(sizeof *alone);
    if (registers_read(process, &alone->before)) {
        registers now = alone->before;
        unsigned long at = next_of(&now);
        enter(&now);
        bool is_read = memory_read(process, at, alone->code, sizeof alone->code);
        if (is_read && memory_write(process, at, code, sizeof code) &&
            registers_set(process, &now) && ptrace(PTRACE_CONT, process, 0, 0) == 0)
            return alone;
        if (is_read) memory_write(process, at, alone->code, sizeof alone->code);
    }
    free(alone);
    return NULL;
}

bool alone_back(pid_t process, struct alone *alone) {
    unsigned long at = next_of(&alone->before);
    enter(&alone->before);
    return memory_write(process, at, alone->code, sizeof alone->code) &&
           registers_set(process, &alone->before);
}

enum alone_state alone_end(pid_t process, struct alone *alone) {
    registers now;
    if (!registers_read(process, &now) || next_of(&now) != next_of(&alone->before) + TRAP)
        return ALONE_NOT_YET;
    return alone_back(process, alone) && !result_of(&now) ? ALONE_DONE : ALONE_FAILED;
}
