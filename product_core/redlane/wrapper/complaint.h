/* Tells a process, on its standard error, why a call of its fails. */
#pragma once

#include "report.h"

#include <stdbool.h>

struct complaint {
    int file; /* -1: there is nothing to tell, or nobody to tell it to */
    const struct refusal *refusal;
};

struct complaint complaint_prepare(const struct refusal *refusal);
/* Tells a process that stands, or waits; false: it has no standard error for that. */
bool complaint_say(pid_t process, const char *text);
void complaint_tell(const struct complaint *complaint);
