/* A network of the session's own, in which its sockets for datagrams are.
 *
 * In which network a socket is, never changes, whatever is done with it: so what is sent by
 * these stays here, by whatever call and to whatever address, and nobody needs to look. A
 * process apart makes them, which is all that it does. */
#define _GNU_SOURCE
#include "datagrams.h"

#include "internet.h"
#include "message.h"
#include "whole_network.h"
#include "sockets.h"

#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

struct wanted {
    int family, kind, protocol;
    in_port_t port; /* that it is bound to; 0: none */
};

static int maker = -1;   /* the link to who makes them */
static int example = -1; /* the first of them */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool datagrams_has(int file) { return example >= 0 && socket_shares_network(example, file); }

/* ---- who makes them ---- */

/* As an ordinary user one has to be root of users of one's own. */
static bool enter(void) {
    struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
    int file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_up = file >= 0 && ioctl(file, SIOCSIFFLAGS, &loopback) == 0;
    if (file >= 0) close(file);
    if (is_up) whole_network_keep();
    return is_up;
}

/* An errno with it, 0 where there is one. */
static bool give(int link, int file, int error) {
    alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof file)] = {0};
    struct iovec what = {&error, sizeof error};
    struct msghdr message = {.msg_iov = &what, .msg_iovlen = 1};
    if (file >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        *head = (struct cmsghdr){CMSG_LEN(sizeof file), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(head), &file, sizeof file);
    }
    return sendmsg(link, &message, MSG_NOSIGNAL) == sizeof error;
}

/* What comes to it came by some address: the answer is to come from there. */
static bool take_all(int file, const struct wanted *wanted) {
    const int yes = 1;
    union internet any = {.any.sa_family = (sa_family_t)wanted->family};
    any.four.sin_port = htons(wanted->port); /* in the same place in both */
    bool is_six = wanted->family == AF_INET6;
    int level = is_six ? IPPROTO_IPV6 : IPPROTO_IP;
    int option = is_six ? IPV6_RECVPKTINFO : IP_PKTINFO;
    return (!is_six || setsockopt(file, level, IPV6_V6ONLY, &yes, sizeof yes) == 0) &&
           setsockopt(file, level, option, &yes, sizeof yes) == 0 &&
           bind(file, &any.any, sizeof any) == 0;
}

static int socket_for(const struct wanted *wanted) {
    int file = socket(wanted->family, wanted->kind | SOCK_CLOEXEC, wanted->protocol);
    if (file < 0 || !wanted->port || take_all(file, wanted)) return file;
    int error = errno;
    close(file);
    errno = error;
    return -1;
}

static _Noreturn void make(int link, pid_t parent) {
    struct wanted wanted;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid(); /* what a terminal sends is for others */
    if (dup2(link, STDIN_FILENO) < 0 || getppid() != parent || !enter()) _exit(1);
    close_range(STDIN_FILENO + 1, ~0u, 0);
    while (recv(STDIN_FILENO, &wanted, sizeof wanted, 0) == sizeof wanted) {
        int file = socket_for(&wanted);
        bool is_given = give(STDIN_FILENO, file, file < 0 ? errno : 0);
        if (file >= 0) close(file);
        if (!is_given) break;
    }
    _exit(0);
}

/* ---- who has them made ---- */

static int receive(void) {
    int error = EACCES, file = -1;
    alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof file)];
    struct iovec to = {&error, sizeof error};
    struct msghdr message = {.msg_iov = &to, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t got;
    do got = recvmsg(maker, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got != sizeof error) return -EACCES; /* it is gone */
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_type == SCM_RIGHTS) memcpy(&file, CMSG_DATA(head), sizeof file);
    return file >= 0 ? file : -(error ? error : EACCES);
}

static int make_for_us(struct wanted wanted) {
    int file = -EACCES;
    pthread_mutex_lock(&lock);
    if (maker >= 0 && send(maker, &wanted, sizeof wanted, MSG_NOSIGNAL) == sizeof wanted)
        file = receive();
    pthread_mutex_unlock(&lock);
    return file;
}

int datagrams_socket(int family, int kind, int protocol) {
    return make_for_us((struct wanted){family, kind, protocol, 0});
}

int datagrams_taker(int family, in_port_t port) {
    return make_for_us((struct wanted){family, SOCK_DGRAM, 0, port});
}

void datagrams_prepare(void) {
    int ends[2];
    pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        refuse("the session cannot be supervised: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0) make(ends[1], parent);
    if (child < 0) refuse("cannot start a process: %s", strerror(errno));
    close(ends[1]);
    maker = ends[0];
    example = datagrams_socket(AF_INET, SOCK_DGRAM, 0);
    if (example < 0)
        tell("the session has no sockets for datagrams (UDP): a network of its own for "
             "them is not to be had here");
}
