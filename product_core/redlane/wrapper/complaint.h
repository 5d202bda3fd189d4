/* Tells a process, on its standard error, why a call of its fails. */
#pragma once

#include <sys/types.h>

struct complaint {
    int file; /* -1: there is nothing to tell, or nobody to tell it to */
    const char *call, *path;
};

struct complaint complaint_prepare(pid_t thread, const char *call, const char *path);
void complaint_tell(const struct complaint *complaint);
