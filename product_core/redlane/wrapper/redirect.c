/* A program that has just been started, made to become another with the same arguments
 * and environment.
 *
 * The process stands before its first instruction, traced by us. There it is made to
 * call execveat: what it is to become is a descriptor that it gets meanwhile, so that
 * no path is looked up, and none has to lead there in the process's own view of the
 * file system. The pages that are written to are copies of the image's own, which goes
 * with the call. Should the call fail, what follows it stops the process. */
#define _GNU_SOURCE
#include "redirect.h"

#include "registers.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ptrace.h>

enum { BELOW_STACK = 512, WORD = sizeof(long) };

#if defined(__x86_64__)
/* mov $322, %eax; syscall; ud2. What is in rax does not outlive the stop. */
static const unsigned char code[16] = {0xb8, 0x42, 0x01, 0x00, 0x00,
                                       0x0f, 0x05, 0x0f, 0x0b};
/* mov $231, %eax; syscall; ud2 */
static const unsigned char leaving[16] = {0xb8, 0xe7, 0x00, 0x00, 0x00,
                                          0x0f, 0x05, 0x0f, 0x0b};
static void set(registers *now, const unsigned long *arguments) {
    now->orig_rax = (unsigned long)-1;
    now->rdi = arguments[0];
    now->rsi = arguments[1];
    now->rdx = arguments[2];
    now->r10 = arguments[3];
    now->r8 = arguments[4];
    now->r9 = arguments[5];
}
#elif defined(__aarch64__)
/* mov x0, x6; mov x8, #281; svc #0; udf #0. What is in x0 does not outlive the stop. */
static const unsigned char code[16] = {0xe0, 0x03, 0x06, 0xaa, 0x28, 0x23, 0x80, 0xd2,
                                       0x01, 0x00, 0x00, 0xd4, 0x00, 0x00, 0x00, 0x00};
/* mov x0, x6; mov x8, #94; svc #0; udf #0 */
static const unsigned char leaving[16] = {0xe0, 0x03, 0x06, 0xaa, 0xc8, 0x0b, 0x80, 0xd2,
                                          0x01, 0x00, 0x00, 0xd4, 0x00, 0x00, 0x00, 0x00};
static void set(registers *now, const unsigned long *arguments) {
    for (int i = 0; i < 6; i++) now->regs[i] = arguments[i];
    now->regs[6] = arguments[0];
}
#endif

/* Where its arguments stand; false: that cannot be told. */
bool program_stack(pid_t process, unsigned long *stack) {
    registers now;
    if (!registers_read(process, &now)) return false;
    *stack = stack_of(&now);
    return true;
}

/* Reads a word of its memory. */
bool program_word(pid_t process, unsigned long at, unsigned long *word) {
    errno = 0;
    *word = (unsigned long)ptrace(PTRACE_PEEKDATA, process, at, 0);
    return errno == 0;
}

/* Another name for the program, in the place of its first argument. */
static bool rename_program(pid_t process, unsigned long stack, const char *name,
                           unsigned long argument) {
    char text[LONGEST_NAME] = {0};
    size_t length = strlen(name);
    unsigned long at = stack - BELOW_STACK - LONGEST_NAME;
    if (length >= sizeof text) return false;
    memcpy(text, name, length);
    return memory_write(process, at, text, length + 1) &&
           memory_write(process, argument, &at, WORD);
}

/* Lets the process go on to call execveat on `descriptor`; `token` is an argument that
 * the call does not have, by which it is told from others. */
bool redirect(pid_t process, const struct started *started, int descriptor,
              uint64_t token, bool leaves) {
    registers now;
    unsigned long count, nothing[2] = {0};
    if (!registers_read(process, &now)) return false;
    unsigned long stack = stack_of(&now), words = stack + WORD;
    unsigned long empty = stack - BELOW_STACK;
    if (!program_word(process, stack, &count)) return false;
    unsigned long first = words + (unsigned long)started->skipped * WORD;
    if (started->name && !rename_program(process, stack, started->name, first))
        return false;
    if (!memory_write(process, empty, nothing, WORD)) return false;
    if (!memory_write(process, next_of(&now), code, sizeof code)) return false;
    set(&now, (unsigned long[]){(unsigned long)descriptor, empty, first,
                                words + (count + 1) * WORD, AT_EMPTY_PATH, token});
    return registers_set(process, &now) &&
           ptrace(leaves ? PTRACE_DETACH : PTRACE_CONT, process, 0, 0) == 0;
}

/* Has the process end by itself, with a status, in the place of its first instruction. It
 * stays traced until it has: whatever stops it meanwhile, it must not go on after that. */
bool program_exit(pid_t process, int status) {
    registers now;
    if (!registers_read(process, &now)) return false;
    if (!memory_write(process, next_of(&now), leaving, sizeof leaving)) return false;
    set(&now, (unsigned long[6]){(unsigned long)status});
    return registers_set(process, &now) && ptrace(PTRACE_CONT, process, 0, 0) == 0;
}
