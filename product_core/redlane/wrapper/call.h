/* A call under way that changes files: what it asks for, read once. */
#pragma once

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "actor.h"
#include "asked.h"
#include "kept.h"
#include "places.h"
#include "walk.h"

struct call {
    const struct asked *asked;
    const struct seccomp_data *data;
    struct caller caller;
    struct actor actor;
    char texts[2][PATH_MAX]; /* the paths that it gives */
    struct spot spots[2];    /* what it is about, and where to */
    size_t spot_count;
    uint64_t flags;
    struct sockaddr_storage address;
    socklen_t address_length;
    int socket; /* the number of it */
    int file;   /* what was opened; -1: nothing is to be handed over */
};

/* An errno, 0 for success; `call` is to be left in any case. */
int call_take(struct call *call, const struct asked *asked, const struct seccomp_data *data,
              pid_t thread);
void call_leave(struct call *call);

/* What calls are judged by. */
struct bounds {
    struct kept *kept;
    struct places *places; /* NULL: everywhere */
};

/* Why a call is refused, and for which of its spots. */
struct judgement {
    const struct rule *rule; /* NULL: it is not */
    size_t which;
};

/* 0: it may go on; an errno that it fails with, as it would by itself where there is no
 * rule in the judgement. */
int call_judge(struct call *call, const struct bounds *bounds, struct judgement *judgement);
