/* Where the session's proxy is, and by what the session is known there. */
#pragma once

#include "connecting.h"
#include "internet.h"

#include <stdbool.h>

enum { SESSION_PROXY_CREDENTIALS = 401 };
/* As HTTP has them (Basic). */
extern char session_proxy_credentials[SESSION_PROXY_CREDENTIALS];

/* Takes it from the environment (HTTP_PROXY). */
void session_proxy_prepare(void);
bool session_proxy_is_there(void);
bool session_proxy_is(const union internet *address);
/* As a socket of that family is connected to it. False: it cannot be. */
bool session_proxy_for(int file, struct connecting_to *to);
