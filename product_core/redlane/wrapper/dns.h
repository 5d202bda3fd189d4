/* Answers questions about names (RFC 1035). */
#pragma once

#include "request.h"

/* From now on, in the network of the session's datagrams, by whatever address. */
void dns_serve(const struct daemon *daemon);
