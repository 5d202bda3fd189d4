/* Where the sockets of a session lead, that leaves the machine by its proxy.
 *
 * A connection is made in its caller's place, so that what is judged here is where it
 * leads. Sockets for datagrams are in a network of the session's own (datagrams.c). */
#define _GNU_SOURCE
#include "egress.h"

#include "datagrams.h"
#include "processes.h"
#include "sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct rule egress_rule = {
    "builtin:egress",
    "the session leaves this machine by its proxy, and by nothing else",
    "have the program use HTTP_PROXY and HTTPS_PROXY, which are set",
    EACCES,
};

/* The loopback interface is the first of each network. */
enum { LOOPBACK = 1, BOUND_TO_INDEX = 62 };
enum { LOOPBACK_NET = 127, SHORTEST = offsetof(struct sockaddr_in6, sin6_scope_id) };

union internet {
    struct sockaddr_storage any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

/* One of version 4 in the clothes of version 6 is that. */
static bool read_internet(union internet *to, const struct sockaddr_storage *address,
                          socklen_t length) {
    to->any = *address;
    if (address->ss_family == AF_INET) return length >= sizeof to->four;
    if (address->ss_family != AF_INET6 || length < SHORTEST) return false;
    if (!IN6_IS_ADDR_V4MAPPED(&to->six.sin6_addr)) return true;
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = to->six.sin6_port};
    memcpy(&four.sin_addr, &to->six.sin6_addr.s6_addr[12], sizeof four.sin_addr);
    to->any = (struct sockaddr_storage){0};
    to->four = four;
    return true;
}

/* That of the interface for it, and none, which stands for it. */
static bool is_loopback(const union internet *address) {
    if (address->any.ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&address->six.sin6_addr) ||
               IN6_IS_ADDR_UNSPECIFIED(&address->six.sin6_addr);
    uint32_t number = ntohl(address->four.sin_addr.s_addr);
    return !number || number >> 24 == LOOPBACK_NET;
}

static bool is_same(const union internet *one, const union internet *other) {
    if (one->any.ss_family == AF_INET6)
        return IN6_ARE_ADDR_EQUAL(&one->six.sin6_addr, &other->six.sin6_addr);
    return one->four.sin_addr.s_addr == other->four.sin_addr.s_addr;
}

/* What goes to an address of this machine comes from that address. */
static bool is_of_this_machine(int probe, const union internet *address) {
    union internet from = {0};
    socklen_t size = sizeof from;
    return connect(probe, (const struct sockaddr *)&address->any, sizeof *address) == 0 &&
           getsockname(probe, (struct sockaddr *)&from.any, &size) == 0 &&
           is_same(address, &from);
}

/* An address of one link binds a socket to the interface of that, even where it cannot be
 * connected: from then on any other is looked for there. */
static bool is_of_link(const union internet *address) {
    return address->any.ss_family == AF_INET6 &&
           IN6_IS_ADDR_LINKLOCAL(&address->six.sin6_addr);
}

bool egress_binds_out(const struct sockaddr_storage *given, socklen_t length) {
    union internet address;
    return read_internet(&address, given, length) && is_of_link(&address);
}

/* A network of the session's own leads to none but that: but where root may have entered
 * any. */
bool egress_leaves(int file, const struct sockaddr_storage *given, socklen_t length) {
    union internet address;
    if (!read_internet(&address, given, length)) return false;
    bool is_apart = datagrams_has(file);
    if (!is_apart && socket_option(file, BOUND_TO_INDEX) > LOOPBACK) return true;
    if (is_loopback(&address)) return false;
    if (is_apart || is_of_link(&address)) return true;
    int probe = socket(address.any.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool leaves = true;
    if (probe < 0) return true;
    if (socket_shares_network(probe, file)) leaves = !is_of_this_machine(probe, &address);
    else leaves = geteuid() == 0;
    close(probe);
    return leaves;
}

void egress_show(const struct sockaddr_storage *given, char *text, size_t size) {
    char number[INET6_ADDRSTRLEN] = "";
    union internet address;
    if (!read_internet(&address, given, sizeof *given)) *text = '\0';
    else if (address.any.ss_family == AF_INET)
        snprintf(text, size, "%s:%u",
                 inet_ntop(AF_INET, &address.four.sin_addr, number, sizeof number),
                 ntohs(address.four.sin_port));
    else
        snprintf(text, size, "[%s]:%u",
                 inet_ntop(AF_INET6, &address.six.sin6_addr, number, sizeof number),
                 ntohs(address.six.sin6_port));
}

int egress_socket(pid_t thread, const struct seccomp_data *data) {
    if (!process_shares(thread, "net")) return geteuid() == 0 ? -EACCES : EGRESS_APART;
    return datagrams_socket((int)data->args[0], (int)data->args[1], (int)data->args[2]);
}
