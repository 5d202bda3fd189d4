/* Tells the daemon of calls that were refused. */
#pragma once

#include <sys/types.h>

#include "request.h"
#include "rule.h"

struct refusal {
    const struct rule *rule;
    pid_t thread;
    const char *call, *path;
};

/* The first of its kind at once; of those that follow how many they were, now and then. */
void report_refused(const struct daemon *daemon, const struct refusal *refusal);
/* What has not been told yet, at the end of the session. */
void report_rest(const struct daemon *daemon);
