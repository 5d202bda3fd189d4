/* Where the sockets of a session lead, that leaves the machine by its proxy. */
#pragma once

#include "rule.h"

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

extern const struct rule egress_rule;

enum egress {
    EGRESS_STAYS,   /* on this machine */
    EGRESS_LEAVES,  /* and may by the proxy (leading.c) */
    EGRESS_REFUSED, /* it may not at all */
};

/* Where a socket leads that is connected to an address; whether it leads out once it is
 * bound to one. */
enum egress egress_of(int socket, const struct sockaddr_storage *address, socklen_t length);
bool egress_binds_out(const struct sockaddr_storage *address, socklen_t length);
/* Where an address leads, as people write it: by the name that it stands for. */
void egress_show(const struct sockaddr_storage *address, char *text, size_t size);

/* A socket for datagrams as a thread asks for one; below zero: an errno. EGRESS_APART: that
 * is in a network of its own, and makes it itself. */
enum { EGRESS_APART = -0x7ffffff0 };
int egress_socket(pid_t thread, const struct seccomp_data *data);
