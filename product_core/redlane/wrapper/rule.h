/* Why a call is refused. */
#pragma once

struct rule {
    const char *policy, *reason, *advice; /* as events and the session's programs get them */
    int error;                            /* what the call fails with */
};
