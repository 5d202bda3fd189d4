/* What holds every process of a session, with nobody to ask. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>

struct sock_fprog leash_filter(bool asks);
void leash_put_on(void);
