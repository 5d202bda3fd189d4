/* A network of the session's own, in which its sockets for datagrams are. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>

/* Once, while this process has one thread. Where no such network is to be had there are no
 * such sockets: that is told. */
void datagrams_prepare(void);
/* A socket there; below zero: an errno. */
int datagrams_socket(int family, int kind, int protocol);
/* One there that takes what is sent to a port, by whatever address, and tells that
 * (IP_PKTINFO). */
int datagrams_taker(int family, in_port_t port);
/* Whether a socket is one of that network. */
bool datagrams_has(int file);
