/* Devices, by their numbers.
 *
 * Groups of processes (cgroups) may have some closed to them, whoever they are. That goes
 * by who opens one, which is this process. */
#include "devices.h"

#include "bytes.h"

#include <linux/major.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { ALL_GROUPS = 64 * 1024 };

/* Of memory: null, zero, full, random, urandom. Of terminals: tty, console, ptmx. */
bool device_keeps_nothing(dev_t device) {
    unsigned kind = major(device), number = minor(device);
    if (kind == MEM_MAJOR)
        return number == 3 || number == 5 || (number >= 7 && number <= 9);
    if (kind == TTYAUX_MAJOR) return number <= 2;
    return kind >= UNIX98_PTY_SLAVE_MAJOR &&
           kind < UNIX98_PTY_SLAVE_MAJOR + UNIX98_PTY_MAJOR_COUNT;
}

bool device_leads_out(dev_t device) {
    enum { TUN = 200, VHOST_NET = 238, VHOST_VSOCK = 241, PPP_MAJOR = 108 };
    unsigned kind = major(device), number = minor(device);
    return kind == PPP_MAJOR ||
           (kind == MISC_MAJOR &&
            (number == TUN || number == VHOST_NET || number == VHOST_VSOCK));
}

bool devices_differ(pid_t thread) {
    char path[64];
    struct bytes ours = {0}, theirs = {0};
    snprintf(path, sizeof path, "/proc/%ld/cgroup", (long)thread);
    bool is_alike = bytes_read_file(&ours, "/proc/self/cgroup", ALL_GROUPS) &&
                    bytes_read_file(&theirs, path, ALL_GROUPS) &&
                    strcmp(ours.data, theirs.data) == 0;
    free(ours.data);
    free(theirs.data);
    return !is_alike;
}
