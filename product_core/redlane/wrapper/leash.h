/* What holds every process of a session, with nobody to ask. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>

/* What a session's supervisor is asked about beside the starts of programs, and what is
 * refused. */
struct asks {
    bool files;   /* calls that change files */
    bool places;  /* nothing changes them past that */
    bool reads;   /* files that are opened for reading */
    bool is_here; /* it enters no namespaces */
    bool egress;  /* it leaves the machine by its proxy */
};

struct sock_fprog leash_filter(struct asks asks);
void leash_put_on(void);
void leash_leave_no_core(void);
