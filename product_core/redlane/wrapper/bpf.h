/* Words of which a filter of system calls is written. The number of the call stands in the
 * accumulator at the beginning of each part, and at the end where it goes on. */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

#define LOAD(field) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define UPPER(number) ((uint32_t)offsetof(struct seccomp_data, args[number]) + 4)
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define SKIP_UNLESS(value, count) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, (count))
#define SKIP_BELOW(value, count) \
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)(value), 0, (count))
#define SKIP_UNLESS_SOME(flags, count) \
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(flags), 0, (count))
#define IF(value, result) SKIP_UNLESS(value, 1), RETURN(result)
#define IF_SOME(flags, result) SKIP_UNLESS_SOME(flags, 1), RETURN(result)
