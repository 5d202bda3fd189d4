/* The least that a supervisor of seccomp notifications costs, written for speed alone.
 *
 *   floor_supervisor continue COMMAND…   every openat is let through unseen
 *   floor_supervisor emulate COMMAND…    it is done in the caller's place: the path read,
 *     pinned, made canonical, compared with one forbidden name, opened again, handed in
 *
 * It does no more than the measured programs need: same user, same root, openat alone.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
enum { SYNC_WAKE_UP = 1, PAGE = 4096 };

static const char FORBIDDEN[] = "/forbidden-by-the-benchmark";
static int own_descriptors; /* /proc/self/fd */

static void fail(const char *what) {
    perror(what);
    exit(126);
}

static int filtered(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) fail("no_new_privs");
    unsigned flags =
        SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    return (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static void pass_on(int socket, int listener) {
    char byte = 0, room[CMSG_SPACE(sizeof listener)] = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof listener);
    memcpy(CMSG_DATA(header), &listener, sizeof listener);
    if (sendmsg(socket, &message, 0) != 1) fail("sendmsg");
}

static int taken_over(int socket) {
    char byte, room[CMSG_SPACE(sizeof(int))];
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) exit(126);
    int listener;
    memcpy(&listener, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof listener);
    return listener;
}

static bool read_path(const struct seccomp_notif *call, char *path) {
    unsigned long address = call->data.args[1];
    size_t length = PAGE - address % PAGE;
    if (length > 256) length = 256;
    for (size_t had = 0; had < PAGE;) {
        struct iovec here = {path + had, length};
        struct iovec there = {(void *)(address + had), length}; // NOLINT
        ssize_t got = process_vm_readv((pid_t)call->pid, &here, 1, &there, 1, 0);
        if (got <= 0) return false;
        if (memchr(path + had, 0, (size_t)got)) return true;
        had += (size_t)got;
        length = PAGE - had;
        if (length > PAGE - (address + had) % PAGE) length = PAGE - (address + had) % PAGE;
    }
    return false;
}

static int directory(const struct seccomp_notif *call) {
    char place[64];
    int number = (int)call->data.args[0];
    if (number == AT_FDCWD)
        snprintf(place, sizeof place, "/proc/%u/cwd", call->pid);
    else
        snprintf(place, sizeof place, "/proc/%u/fd/%d", call->pid, number);
    return open(place, O_PATH | O_CLOEXEC);
}

static int pinned(const struct seccomp_notif *call, const char *path) {
    int flags = (int)call->data.args[2];
    struct open_how how = {
        .flags = (__u64)(O_PATH | O_CLOEXEC | (flags & (O_NOFOLLOW | O_DIRECTORY))),
        .resolve = RESOLVE_NO_MAGICLINKS};
    int from = *path == '/' ? AT_FDCWD : directory(call);
    int pin = (int)syscall(__NR_openat2, from, path, &how, sizeof how);
    int reason = errno;
    if (from >= 0) close(from);
    errno = reason;
    return pin;
}

static bool forbidden(int pin, const char *literal) {
    char number[16], canonical[PAGE];
    snprintf(number, sizeof number, "%d", pin);
    ssize_t length = readlinkat(own_descriptors, number, canonical, sizeof canonical - 1);
    if (length < 0) return true;
    canonical[length] = 0;
    return strstr(literal, FORBIDDEN) || strstr(canonical, FORBIDDEN);
}

/* The descriptor to hand in, or the errno for it, negative; 1 << 20: let the kernel. */
static int opened(const struct seccomp_notif *call) {
    char path[PAGE];
    int flags = (int)call->data.args[2];
    if (!read_path(call, path) || flags & (O_CREAT | O_PATH)) return 1 << 20;
    int pin = pinned(call, path);
    if (pin < 0) return errno == ELOOP ? 1 << 20 : -errno;
    char number[16];
    snprintf(number, sizeof number, "%d", pin);
    int file = forbidden(pin, path)
                   ? -EPERM
                   : openat(own_descriptors, number, (flags & ~O_NOFOLLOW) | O_CLOEXEC);
    if (file == -1) file = -errno;
    close(pin);
    return file;
}

static void reply(int listener, const struct seccomp_notif *call, bool emulate) {
    int file = emulate ? opened(call) : 1 << 20;
    if (file >= 0 && file < 1 << 20) {
        struct seccomp_notif_addfd handed = {
            .id = call->id,
            .flags = SECCOMP_ADDFD_FLAG_SEND,
            .srcfd = (__u32)file,
            .newfd_flags = (__u32)call->data.args[2] & O_CLOEXEC};
        ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &handed);
        close(file);
        return;
    }
    struct seccomp_notif_resp response = {.id = call->id};
    if (file < 0)
        response.error = file;
    else
        response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

/* Whether nobody is left under the filter: waiting for calls fails at once then. */
static bool is_deserted(int listener) {
    struct pollfd end = {.fd = listener};
    return poll(&end, 1, 0) > 0;
}

static void serve(int listener, bool emulate) {
    struct seccomp_notif call;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, (unsigned long)SYNC_WAKE_UP);
    do {
        memset(&call, 0, sizeof call);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) == 0) reply(listener, &call, emulate);
    } while (call.id || !is_deserted(listener));
}

int main(int count, char **words) {
    int sockets[2];
    if (count < 3 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets)) return 2;
    pid_t child = fork();
    if (child == 0) {
        char byte;
        int listener = filtered();
        if (listener < 0) fail("seccomp");
        pass_on(sockets[1], listener);
        close(listener);
        if (read(sockets[1], &byte, 1) != 1) return 126;
        execvp(words[2], words + 2);
        fail(words[2]);
    }
    int listener = taken_over(sockets[0]);
    own_descriptors = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
    pid_t server = fork(); /* so that its end is simply the command's */
    if (server == 0) {
        own_descriptors = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (write(sockets[0], "", 1) != 1) return 126;
        serve(listener, strcmp(words[1], "emulate") == 0);
        return 0;
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) < 0) return 126;
    kill(server, SIGKILL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
