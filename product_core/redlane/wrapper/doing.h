/* Does in its caller's place what a call of names, rights or attributes asks for. */
#pragma once

#include "call.h"

/* An errno, 0 for success. */
int doing_do(struct call *call);
