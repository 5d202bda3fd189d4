/* What a caller is told, and what it is given. */
#define _GNU_SOURCE
#include "hot.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

void close_held(int *descriptor) {
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
}

void hold_nothing(struct call *call) {
    call->pin = call->entries[0].directory = call->entries[1].directory = -1;
}

void let_go(struct call *call) {
    close_held(&call->pin);
    close_held(&call->entries[0].directory);
    close_held(&call->entries[1].directory);
}

bool is_waiting(const struct hot *hot, const struct call *call) {
    uint64_t identity = call->notification.id;
    int result;
    do {
        result = ioctl(hot->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &identity);
    } while (result < 0 && errno == EINTR);
    return result == 0;
}

/* In two steps, this and the answer: where one call does both (SECCOMP_ADDFD_FLAG_SEND)
 * and we are stopped or frozen in the middle of it, the kernel answers the caller without
 * the file, with 0. */
int handed_in(const struct hot *hot, const struct call *call, int file) {
    struct seccomp_notif_addfd handed = {.id = call->notification.id,
                                         .srcfd = (uint32_t)file,
                                         .newfd_flags = call->flags & O_CLOEXEC};
    int number;
    do {
        number = ioctl(hot->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &handed);
    } while (number < 0 && errno == EINTR);
    return number;
}

enum outcome respond(const struct hot *hot, struct call *call, int value, int reason) {
    struct seccomp_notif_resp response = {
        .id = call->notification.id, .val = value, .error = -reason};
    int result;
    let_go(call);
    do {
        result = ioctl(hot->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
    } while (result < 0 && errno == EINTR);
    return ANSWERED; /* or the caller has gone */
}
