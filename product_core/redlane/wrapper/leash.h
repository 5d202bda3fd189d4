/* What holds every process of a session, with nobody to ask. */
#pragma once

#include <linux/filter.h>

struct sock_fprog leash_filter(void);
void leash_put_on(void);
