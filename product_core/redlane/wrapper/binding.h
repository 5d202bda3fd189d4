/* Binds a socket in its caller's place. */
#pragma once

#include "call.h"

/* An errno, 0 for success. */
int binding_do(struct call *call);
