/* What is asked of sockets. */
#define _GNU_SOURCE
#include "sockets.h"

#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE /* Linux 5.14 */
#define SO_NETNS_COOKIE 71
#endif

int socket_option(int file, int option) {
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(file, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

bool socket_shares_network(int one, int other) {
    unsigned long long cookies[2] = {0};
    socklen_t size = sizeof *cookies;
    return getsockopt(one, SOL_SOCKET, SO_NETNS_COOKIE, &cookies[0], &size) == 0 &&
           getsockopt(other, SOL_SOCKET, SO_NETNS_COOKIE, &cookies[1], &size) == 0 &&
           cookies[0] == cookies[1];
}

bool socket_is_in_our_network(int file) {
    int ours = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_ours = ours < 0 || socket_shares_network(ours, file);
    if (ours >= 0) close(ours);
    return is_ours;
}
