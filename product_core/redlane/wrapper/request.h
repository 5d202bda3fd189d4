/* A request to the daemon about this session. */
#pragma once

#include "bytes.h"

struct daemon {
    const char *socket, *session; /* without a session nobody is asked */
};

/* What is asked: by which method, about what of the session ("" for the session itself,
 * or "/..."), with which JSON, or NULL. */
struct request {
    const char *method, *about;
    const struct bytes *body;
    double patience; /* seconds; 0: as ever */
};

/* Adds what is answered, if that is a success; false: it is not, or nobody answers in
 * time. */
bool request_send(const struct daemon *daemon, struct request request, struct bytes *answer);
