/* Whether a call may go on. */
#pragma once

#include "call.h"
#include "hidden.h"
#include "kept.h"
#include "places.h"

/* What calls are judged by. */
struct bounds {
    struct kept *kept;
    struct places *places; /* NULL: everywhere */
    struct hidden *hidden; /* NULL: nothing is */
    bool egress;           /* the session leaves this machine by its proxy */
};

/* Why a call is refused, and for which of its spots. */
struct judgement {
    const struct rule *rule; /* NULL: it is not */
    size_t which;
};

/* 0: it may go on; an errno that it fails with, as it would by itself where there is no
 * rule in the judgement. */
int bounds_judge(struct call *call, const struct bounds *bounds, struct judgement *judgement);
