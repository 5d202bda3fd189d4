/* An agent whose system calls are filtered.
 *
 * The filter is the leash's, and this process has its listener; or it comes from a
 * supervisor of system calls, which has made a socket. From that come the filter's length
 * (4 bytes, little endian) and the filter; the agent loads it; one byte goes back with
 * the token of execs.c and the filter's listener, and one comes when calls are being
 * answered. From then on each start of a program comes that the supervisor allows (the
 * call's id and its thread: 12 bytes), and the socket tells by its end that nobody
 * answers any more.
 *
 * A filter may stop any call. From loading it until it is served the agent therefore
 * makes none: it shares the table of descriptors with this process, writes the
 * listener's number into a page of both, and watches the page. */
#define _GNU_SOURCE
#include "filtered.h"

#include "bytes.h"
#include "message.h"

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

enum {
    FILTER_MAX = 4096 * sizeof(struct sock_filter),
    PATIENT_LOOKS = 1 << 20,
    ALLOWED = 12, /* bytes that tell of a start */
};

static const char STOPPED = 's', ENDED = 'e', HAS_LISTENER = 'l';

struct page {
    _Atomic int listener; /* its number, and 1 more: 0 is none yet */
    _Atomic int reason;   /* why there is none */
    _Atomic int served;
};

struct filtered {
    int socket; /* starts come over it; -1: from the listener itself */
    struct sock_fprog program;
    struct page *page;
    char told[ALLOWED]; /* as much of a start as has come */
    size_t told_length;
    bool is_lost;
};

static void receive(int socket, void *into, size_t length) {
    if (recv(socket, into, length, MSG_WAITALL) != (ssize_t)length)
        refuse("no filter has come for the session's system calls");
}

static struct page *shared_page(void) {
    struct page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) refuse("no memory: %s", strerror(errno));
    return page;
}

/* Takes the leash's own filter. */
struct filtered *filtered_leash(struct asks asks) {
    struct filtered *filtered = allocate(sizeof *filtered);
    *filtered = (struct filtered){.socket = -1, .program = leash_filter(asks)};
    filtered->page = shared_page();
    return filtered;
}

/* Takes the filter; the supervisor's death ends this process in order, not by signal.
 * Where the session is frozen, and this process with it, it wakes to do so. */
struct filtered *filtered_receive(int socket) {
    struct filtered *filtered = allocate(sizeof *filtered);
    unsigned char size[4];
    *filtered = (struct filtered){.socket = socket};
    prctl(PR_SET_PDEATHSIG, SIGCONT);
    if (fcntl(socket, F_SETFD, FD_CLOEXEC) != 0)
        fail(STATUS_USAGE, PRODUCT, "--filter: %s", strerror(errno));
    receive(socket, size, sizeof size);
    size_t length = size[0] | (size_t)size[1] << 8 | (size_t)size[2] << 16 |
                    (size_t)size[3] << 24;
    if (!length || length > FILTER_MAX || length % sizeof(struct sock_filter))
        refuse("the filter of the session's system calls has %zu bytes", length);
    filtered->program.len = (unsigned short)(length / sizeof(struct sock_filter));
    filtered->program.filter = allocate(length);
    receive(socket, filtered->program.filter, length);
    filtered->page = shared_page();
    return filtered;
}

/* A fork that shares the table of descriptors until the child becomes a program. */
pid_t filtered_fork(void) {
    return (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
}

static int load(const struct sock_fprog *program) {
    unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
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
    leash_put_on();
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

static bool send_listener(int socket, int listener, uint64_t token) {
    char byte = HAS_LISTENER, control[CMSG_SPACE(sizeof listener)] = {0};
    struct iovec text[] = {{&byte, 1}, {&token, sizeof token}};
    struct msghdr message = {.msg_iov = text,
                             .msg_iovlen = 2,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof listener);
    memcpy(CMSG_DATA(header), &listener, sizeof listener);
    return sendmsg(socket, &message, MSG_NOSIGNAL) == 1 + sizeof token;
}

/* Whether the supervisor has the listener and answers. Whether it goes on to do so is
 * told by filtered_is_lost(). */
static bool is_answered(const struct filtered *filtered, int listener, uint64_t token) {
    char byte;
    return send_listener(filtered->socket, listener, token) &&
           recv(filtered->socket, &byte, 1, 0) == 1;
}

/* The listener, and the agent goes on as soon as its calls are answered; -1 for an agent
 * that has ended before, which is no loss. */
int filtered_hand_over(struct filtered *filtered, pid_t agent, uint64_t token) {
    int listener = await_listener(filtered, agent);
    if (filtered->page->reason)
        refuse("the session's system calls cannot be supervised: %s",
               strerror(filtered->page->reason));
    if (listener < 0) return -1;
    if (filtered->socket < 0 || is_answered(filtered, listener, token))
        filtered->page->served = 1;
    else shutdown(filtered->socket, SHUT_RDWR);
    return listener;
}

/* What becomes readable when a start is allowed, or the supervisor has ended; -1: the
 * listener says all. */
int filtered_socket(const struct filtered *filtered) { return filtered->socket; }

/* From now on others of this process take from the listener (keeper.c), and pass the
 * starts on over this socket. */
void filtered_take_from(struct filtered *filtered, int socket) {
    filtered->socket = socket;
}

/* The other end: passes a start on that is allowed. */
bool filtered_pass_on(int socket, uint64_t id, int32_t thread) {
    char told[ALLOWED];
    memcpy(told, &id, sizeof id);
    memcpy(told + sizeof id, &thread, sizeof thread);
    return send(socket, told, ALLOWED, MSG_NOSIGNAL) == ALLOWED;
}

/* The next start of a program that the supervisor has allowed, if one has come. */
bool filtered_allowed(struct filtered *filtered, uint64_t *id, int32_t *thread) {
    if (filtered->socket < 0 || filtered->is_lost) return false;
    char *end = filtered->told + filtered->told_length;
    ssize_t got = recv(filtered->socket, end, ALLOWED - filtered->told_length,
                       MSG_DONTWAIT);
    if (got > 0) filtered->told_length += (size_t)got;
    else filtered->is_lost = got == 0 || (errno != EAGAIN && errno != EINTR);
    if (filtered->told_length < ALLOWED) return false;
    memcpy(id, filtered->told, sizeof *id);
    memcpy(thread, filtered->told + sizeof *id, sizeof *thread);
    filtered->told_length = 0;
    return true;
}

/* Whether the supervisor was found to have ended. */
bool filtered_is_lost(const struct filtered *filtered) { return filtered->is_lost; }

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
