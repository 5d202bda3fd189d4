/* Addresses of TCP and UDP. */
#define _GNU_SOURCE
#include "internet.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LOOPBACK_NET = 127, SHORTEST = offsetof(struct sockaddr_in6, sin6_scope_id) };

bool internet_read(union internet *to, const struct sockaddr_storage *address,
                   socklen_t length) {
    memcpy(to, address, sizeof *to);
    if (address->ss_family == AF_INET) return length >= sizeof to->four;
    if (address->ss_family != AF_INET6 || length < SHORTEST) return false;
    if (!IN6_IS_ADDR_V4MAPPED(&to->six.sin6_addr)) return true;
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = to->six.sin6_port};
    memcpy(&four.sin_addr, &to->six.sin6_addr.s6_addr[12], sizeof four.sin_addr);
    *to = (union internet){.four = four};
    return true;
}

bool internet_is_loopback(const union internet *address) {
    if (address->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&address->six.sin6_addr) ||
               IN6_IS_ADDR_UNSPECIFIED(&address->six.sin6_addr);
    uint32_t number = ntohl(address->four.sin_addr.s_addr);
    return !number || number >> 24 == LOOPBACK_NET;
}

bool internet_is_of_link(const union internet *address) {
    return address->any.sa_family == AF_INET6 &&
           IN6_IS_ADDR_LINKLOCAL(&address->six.sin6_addr);
}

static bool is_same_host(const union internet *one, const union internet *other) {
    if (one->any.sa_family != other->any.sa_family) return false;
    if (one->any.sa_family == AF_INET6)
        return IN6_ARE_ADDR_EQUAL(&one->six.sin6_addr, &other->six.sin6_addr);
    return one->four.sin_addr.s_addr == other->four.sin_addr.s_addr;
}

/* What goes to an address of this machine comes from that address. */
bool internet_is_here(const union internet *address) {
    union internet from = {0};
    socklen_t size = sizeof from;
    if (internet_is_loopback(address)) return true;
    int probe = socket(address->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_here = probe >= 0 && connect(probe, &address->any, sizeof *address) == 0 &&
                   getsockname(probe, &from.any, &size) == 0 && is_same_host(address, &from);
    if (probe >= 0) close(probe);
    return is_here;
}

bool internet_is_same(const union internet *one, const union internet *other) {
    return internet_port(one) == internet_port(other) && is_same_host(one, other);
}

/* It is in the same place in both. */
in_port_t internet_port(const union internet *address) { return ntohs(address->four.sin_port); }

void internet_show(const union internet *address, char *text, size_t size) {
    char number[INET6_ADDRSTRLEN] = "";
    bool is_six = address->any.sa_family == AF_INET6;
    const void *bytes = is_six ? (const void *)&address->six.sin6_addr
                               : (const void *)&address->four.sin_addr;
    inet_ntop(address->any.sa_family, bytes, number, sizeof number);
    snprintf(text, size, is_six ? "[%s]:%u" : "%s:%u", number, internet_port(address));
}
