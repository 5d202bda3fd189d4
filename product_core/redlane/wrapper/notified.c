/* A call of which the kernel has told, and its answer. */
#define _GNU_SOURCE
#include "notified.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>

bool notified_is_there(const struct notified *call) {
    return ioctl(call->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id) == 0;
}

void notified_respond(const struct notified *call, int value, int error) {
    struct seccomp_notif_resp answer = {.id = call->id, .val = value, .error = -error};
    while (ioctl(call->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) != 0 && errno == EINTR)
        continue;
}

void notified_let_go_on(const struct notified *call) {
    struct seccomp_notif_resp answer = {.id = call->id,
                                        .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    ioctl(call->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* Two steps: where one call does both and this process is frozen in the middle of it, the
 * kernel answers the caller without the file. */
int notified_hand_over(const struct notified *call, int file, uint64_t flags, int place) {
    struct seccomp_notif_addfd handed = {.id = call->id,
                                         .flags = place < 0 ? 0 : SECCOMP_ADDFD_FLAG_SETFD,
                                         .srcfd = (uint32_t)file,
                                         .newfd = place < 0 ? 0 : (uint32_t)place,
                                         .newfd_flags = flags & O_CLOEXEC};
    int number;
    do number = ioctl(call->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &handed);
    while (number < 0 && errno == EINTR);
    if (number < 0) return -errno;
    return place < 0 ? number : 0;
}
