/* Names that the session's programs look up, and the addresses that stand for them. */
#pragma once

#include "bytes.h"
#include "internet.h"
#include "request.h"

#include <stdbool.h>
#include <stddef.h>

enum { NAMES_PORT = 53, NAMES_LONGEST = 253 };

/* Once, before anybody looks one up. */
void names_prepare(void);
/* Whether one stands for a name. */
bool names_stand(const union internet *address);
/* Where an address leads, "HOST:PORT": by the name that it stands for, if it does. */
void names_show(const union internet *address, char *text, size_t size);

/* The rest is for who reads questions (dns.c). */

enum finding {
    FINDING_FAILED,
    FINDING_NONE,  /* there is no such name */
    FINDING_HERE,  /* it leads to this machine, by these addresses */
    FINDING_STOOD, /* the address of version 4 stands for it */
};

struct found {
    bool has_four, has_six;
    struct in_addr four;
    struct in6_addr six;
};

/* Whether that takes no question to the daemon. */
bool names_are_known(const char *name);
/* For a name in small letters, digits, hyphens, underscores and points. */
enum finding names_find(const struct daemon *daemon, const char *name, struct found *found);
/* Records of another kind, as the daemon tells them; false: nobody answers. */
bool names_records(const struct daemon *daemon, const char *name, unsigned kind,
                   struct bytes *records);
