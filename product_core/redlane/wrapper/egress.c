/* Where the sockets of a session lead, that leaves the machine by its proxy.
 *
 * A connection is made in its caller's place, so that what is judged here is where it
 * leads. Sockets for datagrams are in a network of the session's own (datagrams.c). */
#define _GNU_SOURCE
#include "egress.h"

#include "datagrams.h"
#include "internet.h"
#include "names.h"
#include "processes.h"
#include "sockets.h"

#include <errno.h>
#include <unistd.h>

const struct rule egress_rule = {
    "builtin:egress",
    "the session leaves this machine by its proxy, and by nothing else",
    "have the program use HTTP_PROXY and HTTPS_PROXY, which are set",
    EACCES,
};

/* The loopback interface is the first of each network. */
enum { LOOPBACK = 1, BOUND_TO_INDEX = 62 };

bool egress_binds_out(const struct sockaddr_storage *given, socklen_t length) {
    union internet address;
    return internet_read(&address, given, length) && internet_is_of_link(&address);
}

static enum egress way_out(int file) {
    bool is_led = socket_option(file, SO_TYPE) == SOCK_STREAM &&
                  socket_option(file, SO_PROTOCOL) == IPPROTO_TCP;
    return is_led ? EGRESS_LEAVES : EGRESS_REFUSED;
}

/* The machine's resolver tells others what it is asked. */
static enum egress way_here(int file, const union internet *address) {
    bool is_resolver = internet_port(address) == NAMES_PORT && socket_is_in_our_network(file);
    return is_resolver ? EGRESS_REFUSED : EGRESS_STAYS;
}

/* A network of the session's own leads to none but that: but where root may have entered
 * any. */
enum egress egress_of(int file, const struct sockaddr_storage *given, socklen_t length) {
    union internet address;
    if (!internet_read(&address, given, length) || datagrams_has(file)) return EGRESS_STAYS;
    if (socket_option(file, BOUND_TO_INDEX) > LOOPBACK) return EGRESS_REFUSED;
    if (internet_is_loopback(&address)) return way_here(file, &address);
    if (internet_is_of_link(&address)) return EGRESS_REFUSED;
    if (!socket_is_in_our_network(file)) return geteuid() == 0 ? EGRESS_REFUSED : EGRESS_STAYS;
    if (names_stand(&address)) return way_out(file); /* this machine may have it, too */
    return internet_is_here(&address) ? way_here(file, &address) : way_out(file);
}

void egress_show(const struct sockaddr_storage *given, char *text, size_t size) {
    union internet address;
    if (internet_read(&address, given, sizeof *given)) names_show(&address, text, size);
    else if (size) *text = '\0';
}

int egress_socket(pid_t thread, const struct seccomp_data *data) {
    if (!process_shares(thread, "net")) return geteuid() == 0 ? -EACCES : EGRESS_APART;
    return datagrams_socket((int)data->args[0], (int)data->args[1], (int)data->args[2]);
}
