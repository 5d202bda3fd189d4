/* The two sets of numbers that a machine knows system calls by. */
#pragma once

#include <linux/audit.h>

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#define OTHER_MACHINE AUDIT_ARCH_I386
#define OF_OTHER(i386, arm) (i386)
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#define OTHER_MACHINE AUDIT_ARCH_ARM
#define OF_OTHER(i386, arm) (arm)
#else
#error "the system calls of this machine are not known"
#endif
