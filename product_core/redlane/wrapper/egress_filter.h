/* What a filter asks about and refuses where a session leaves the machine by its proxy. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>

/* Adds it, where a number has been loaded; how many instructions that is. `is_own`: in the
 * machine's own numbers. `code` has room for EGRESS_MOST. */
enum { EGRESS_MOST = 112 };
unsigned egress_filter(struct sock_filter *code, bool is_own);
