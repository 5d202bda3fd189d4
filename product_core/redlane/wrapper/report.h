/* Tells the daemon of a call that was refused. */
#pragma once

#include <sys/types.h>

struct reporter {
    const char *socket, *session; /* without a session nobody is told */
};

void report_refused(const struct reporter *reporter, pid_t thread, const char *call,
                    const char *const *paths, size_t count);
