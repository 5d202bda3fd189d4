/* Connects a socket in its caller's place. */
#pragma once

#include "call.h"

/* Of the paths that are kept, those of sockets are Redlane's own. */
void connecting_prepare(const char *const *kept, size_t count);

struct connecting_to {
    int socket;
    struct sockaddr_storage address;
    socklen_t length;
};

enum { CONNECTING_OUTSIDE = -1, CONNECTING_ENDED = -2 };

/* An errno, 0 for success; CONNECTING_OUTSIDE for a call that is to stay inside of the
 * session, and does not; CONNECTING_ENDED: by a signal, where a handler restarts nothing
 * (SO_SNDTIMEO), as EINTR says it of others. A file of the call is to take the place of its socket. */
/* As long as its caller would wait for it; one that does not wait gets EINPROGRESS. */
int connecting_reach(const struct actor *actor, struct connecting_to *to,
                     bool (*is_wanted)(const void *), const void *about);
int connecting_do(struct call *call, bool (*is_wanted)(const void *), const void *about);
