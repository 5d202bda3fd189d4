/* A connection to the daemon's Unix socket, wherever that lies. */
#define _GNU_SOURCE
#include "link.h"

#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* A path too long for an address goes through its directory, opened and kept. */
static bool set_long_address(struct sockaddr_un *address, const char *path) {
    char directory[PATH_MAX];
    int wrote = snprintf(directory, sizeof directory, "%s", path);
    char *slash = strrchr(directory, '/');
    errno = ENAMETOOLONG;
    if (wrote < 0 || (size_t)wrote >= sizeof directory || !slash) return false;
    *slash = '\0';
    int opened = out_of_the_way(open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (opened < 0) return false;
    wrote = snprintf(address->sun_path, sizeof address->sun_path,
                     "/proc/self/fd/%d/%s", opened, slash + 1);
    errno = ENAMETOOLONG;
    return wrote > 0 && (size_t)wrote < sizeof address->sun_path;
}

int link_to(const char *path, double timeout) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) < sizeof address.sun_path) strcpy(address.sun_path, path);
    else if (!set_long_address(&address, path)) return -1;
    int link = out_of_the_way(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (link < 0) return -1;
    struct timeval limit = {
        .tv_sec = (time_t)timeout,
        .tv_usec = (suseconds_t)((timeout - (double)(time_t)timeout) * 999999),
    };
    if (!limit.tv_sec && !limit.tv_usec) limit.tv_usec = 1; /* 0 would be no limit */
    /* A full backlog makes connect wait; this is what bounds that wait. */
    setsockopt(link, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(link, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(link, (struct sockaddr *)&address, sizeof address) == 0) return link;
    int reason = errno;
    close(link);
    errno = reason;
    return -1;
}
