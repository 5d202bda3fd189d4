/* An agent whose system calls are filtered, and asked about at the session's supervisor.
 *
 * The supervisor has made a socket. From it come the filter's length (4 bytes, little
 * endian) and the filter; the agent loads it; one byte goes back with the filter's
 * listener, and one comes when calls are being answered. From then on the socket tells
 * by its end that nobody answers any more.
 *
 * A filter may stop any call. From loading it until it is served the agent therefore
 * makes none: it shares the table of descriptors with this process, writes the
 * listener's number into a page of both, and watches the page. */
#define _GNU_SOURCE
#include "wrapper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

enum { FILTER_MAX = 4096 * sizeof(struct sock_filter), PATIENT_LOOKS = 1 << 20 };

static const char STOPPED = 's', ENDED = 'e', HAS_LISTENER = 'l';

struct page {
    _Atomic int listener; /* its number, and 1 more: 0 is none yet */
    _Atomic int reason;   /* why there is none */
    _Atomic int served;
};

struct filtered {
    int socket;
    struct sock_fprog program;
    struct page *page;
};

static void receive(int socket, void *into, size_t length) {
    if (recv(socket, into, length, MSG_WAITALL) != (ssize_t)length)
        refuse("no filter has come for the session's system calls");
}

/* Takes the filter; the supervisor's death ends this process in order, not by signal.
 * Where the session is frozen, and this process with it, it wakes to do so. */
struct filtered *filtered_receive(int socket) {
    struct filtered *filtered = allocate(sizeof *filtered);
    unsigned char size[4];
    prctl(PR_SET_PDEATHSIG, SIGCONT);
    if (fcntl(socket, F_SETFD, FD_CLOEXEC) != 0)
        fail(STATUS_USAGE, PRODUCT, "--filter: %s", strerror(errno));
    receive(socket, size, sizeof size);
    size_t length = size[0] | (size_t)size[1] << 8 | (size_t)size[2] << 16 |
                    (size_t)size[3] << 24;
    if (!length || length > FILTER_MAX || length % sizeof(struct sock_filter))
        refuse("the filter of the session's system calls has %zu bytes", length);
    filtered->socket = socket;
    filtered->program.len = (unsigned short)(length / sizeof(struct sock_filter));
    filtered->program.filter = allocate(length);
    receive(socket, filtered->program.filter, length);
    filtered->page = mmap(NULL, sizeof *filtered->page, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (filtered->page == MAP_FAILED) refuse("no memory: %s", strerror(errno));
    return filtered;
}

/* A fork that shares the table of descriptors until the child becomes a program. */
pid_t filtered_fork(void) {
    return (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
}

static int load(const struct sock_fprog *program) {
    unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    int listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, program);
    if (listener >= 0 || errno != EINVAL) return listener;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
}

/* In the agent: loads the filter and returns when it is served.
 *
 * It can be looked into from now on, as a program can: the supervisor has to read what
 * the agent is about to become. On a processor that it has for itself alone it gives way
 * now and then, by a call that is answered as soon as anything is. */
void filtered_load(const struct filtered *filtered) {
    struct page *page = filtered->page;
    prctl(PR_SET_DUMPABLE, 1);
    int listener = load(&filtered->program);
    if (listener < 0) {
        page->reason = errno;
        _exit(STATUS_REFUSED);
    }
    page->listener = listener + 1;
    for (unsigned looks = 0; !page->served; looks++) {
        if (looks > PATIENT_LOOKS) sched_yield();
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
}

static bool has_ended(pid_t agent) {
    siginfo_t info = {0};
    waitid(P_PID, (id_t)agent, &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid == agent;
}

/* The listener, once the agent has it; -1 when the agent has ended without. */
static int await_listener(const struct filtered *filtered, pid_t agent) {
    const struct timespec pause = {.tv_nsec = 50 * 1000};
    bool ended = false;
    while (!filtered->page->listener && !ended) {
        ended = has_ended(agent);
        nanosleep(&pause, NULL);
    }
    return filtered->page->listener - 1;
}

static bool send_listener(int socket, int listener) {
    char byte = HAS_LISTENER, control[CMSG_SPACE(sizeof listener)] = {0};
    struct iovec text = {&byte, 1};
    struct msghdr message = {.msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof listener);
    memcpy(CMSG_DATA(header), &listener, sizeof listener);
    return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

/* Gives the listener away and lets the agent go on once it is served. Whether it was is
 * told by filtered_is_lost(); an agent that has ended before is no loss. */
void filtered_hand_over(struct filtered *filtered, pid_t agent) {
    char byte;
    int listener = await_listener(filtered, agent);
    if (filtered->page->reason)
        refuse("the session's system calls cannot be supervised: %s",
               strerror(filtered->page->reason));
    if (listener < 0) return;
    bool sent = send_listener(filtered->socket, listener);
    close(listener);
    if (sent && recv(filtered->socket, &byte, 1, 0) == 1) filtered->page->served = 1;
    else shutdown(filtered->socket, SHUT_RDWR);
    fcntl(filtered->socket, F_SETOWN, getpid());
    fcntl(filtered->socket, F_SETFL, O_ASYNC | O_NONBLOCK); /* SIGIO at its end */
}

/* Whether the supervisor has ended. */
bool filtered_is_lost(const struct filtered *filtered) {
    char byte;
    ssize_t got;
    while ((got = recv(filtered->socket, &byte, 1, MSG_DONTWAIT)) > 0) continue;
    return got == 0 || (errno != EAGAIN && errno != EINTR);
}

/* Tells the supervisor that this process stops because the agent has, and not because
 * the daemon freezes the session. */
void filtered_tell_stop(const struct filtered *filtered) {
    send(filtered->socket, &STOPPED, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Tells the supervisor that this process ends because the agent has: when it is killed,
 * that is said by nobody. */
void filtered_tell_end(const struct filtered *filtered) {
    send(filtered->socket, &ENDED, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}
