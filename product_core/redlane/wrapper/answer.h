/* What the daemon says to a question. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "bytes.h"

struct answer {
    bool rewritten;
    bool is_open; /* not all that it runs is known: its programs are to be asked about */
    struct bytes command; /* when rewritten; NUL-terminated beyond its length */
    struct bytes why;     /* the same, in words */
    struct bytes role;    /* whose session is to supervise it; empty: none */
};

enum { HELD_WORD = 65 };

struct held {
    char review[HELD_WORD];
    char whose[HELD_WORD]; /* who decides, in words */
    long seconds;
};

enum progress { WAITING, COMPLETE, MALFORMED };

enum progress reply_held(struct bytes *reply, struct held *held);
enum progress reply_supervise(struct bytes *reply, struct bytes *role);
bool reply_open(struct bytes *reply);
enum progress reply_why_rewritten(struct bytes *reply, struct bytes *why);
enum progress reply_progress(const struct bytes *reply);
/* What a complete answer says: why nothing is run, or NULL. */
const char *reply_verdict(const struct bytes *reply, struct answer *answer);
extern const char not_understood[];
