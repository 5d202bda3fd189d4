/* Addresses of TCP and UDP. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

union internet {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

/* One of version 4 in the clothes of version 6 is that. False: it is of neither. */
bool internet_read(union internet *to, const struct sockaddr_storage *address,
                   socklen_t length);
/* That of the interface for it, and none, which stands for it. */
bool internet_is_loopback(const union internet *address);
/* An address of one link binds a socket to the interface of that, even where it cannot be
 * connected: from then on any other is looked for there. */
bool internet_is_of_link(const union internet *address);
/* Whether this machine has it, as a socket sees that which shares this process's network. */
bool internet_is_here(const union internet *address);
bool internet_is_same(const union internet *one, const union internet *other);
in_port_t internet_port(const union internet *address);
/* As people write it. */
void internet_show(const union internet *address, char *text, size_t size);
