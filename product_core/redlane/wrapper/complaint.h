/* Tells a process, on its standard error, why a call of its fails. */
#pragma once

#include "report.h"

struct complaint {
    int file; /* -1: there is nothing to tell, or nobody to tell it to */
    const struct refusal *refusal;
};

struct complaint complaint_prepare(const struct refusal *refusal);
void complaint_tell(const struct complaint *complaint);
