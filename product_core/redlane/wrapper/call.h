/* A call under way that changes files or reads them: what it asks for, read once. */
#pragma once

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "actor.h"
#include "asked.h"
#include "reached.h"
#include "rule.h"
#include "walk.h"

/* Why the proxy refuses a connection. */
struct led {
    struct rule rule;
    char policy[128], reason[900];
};

struct call {
    const struct asked *asked;
    const struct seccomp_data *data;
    struct caller caller;
    struct actor actor;
    char texts[2][PATH_MAX]; /* the paths that it gives */
    struct spot spots[2];    /* what it is about, and where to */
    size_t spot_count;
    struct reached reached[2]; /* see call_reached */
    int reached_of[2];
    uint64_t flags;
    struct sockaddr_storage address;
    socklen_t address_length;
    int socket; /* the number of it */
    int family;
    bool stays_inside; /* it connects to what the session itself serves, or not */
    int held;   /* the socket itself; -1: the call is about none */
    bool leaves;    /* it connects by the session's proxy */
    struct led led;
    int file;   /* what was opened; -1: nothing is to be handed over */
};

/* One that asks for nothing. */
void call_clear(struct call *call);
/* An errno, 0 for success; `call` is to be left in any case. */
int call_take(struct call *call, const struct asked *asked, const struct seccomp_data *data,
              pid_t thread);
void call_leave(struct call *call);
/* By which paths a file is reached: the object of one of its spots, or the directory that has
 * its name. Until the call is left. */
const struct reached *call_reached(struct call *call, const struct spot *spot,
                                   bool is_object);
/* Whether it opens a file for nothing but reading. */
bool call_reads(const struct call *call);
