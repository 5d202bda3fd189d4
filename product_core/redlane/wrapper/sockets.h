/* What is asked of sockets. */
#pragma once

#include <stdbool.h>

/* An option that is a number, of the socket itself; -1: it has none. */
int socket_option(int file, int option);
/* Whether two of them are in the same network. */
bool socket_shares_network(int one, int other);
/* Whether one is in the network of this process; yes if that cannot be told. */
bool socket_is_in_our_network(int file);
