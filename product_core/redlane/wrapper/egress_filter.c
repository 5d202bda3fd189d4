/* What a filter asks about and refuses where a session leaves the machine by its proxy.
 *
 * Sockets of other families than these lead to other machines by ways that nobody here
 * knows, and raw ones by any. Those for datagrams are made for the caller (datagrams.c). To
 * send with the first packet is to connect, without the call of that name: programs fall
 * back on that call. A connection over several paths chooses some by itself. And what is
 * sent to an address leads elsewhere by another interface, by a route that it names, or from
 * an address that is not this machine's. The kernel has names looked up for keys. */
#define _GNU_SOURCE
#include "egress_filter.h"

#include "bpf.h"
#include "machine.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the headers of Debian 12, or not in them. */
enum { KIND = 0xf, BIND_TO_INDEX = 62, FAST_OPEN_CONNECT = 30 };

enum {
    OTHER_SOCKET = OF_OTHER(359, 281),
    OTHER_SOCKETPAIR = OF_OTHER(360, 288),
    OTHER_IOCTL = 54,
    OTHER_REQUEST_KEY = OF_OTHER(287, 310),
    OTHER_SENDTO = OF_OTHER(369, 290),
    OTHER_SENDMSG = OF_OTHER(370, 296),
    OTHER_SENDMMSG = OF_OTHER(345, 374),
    OTHER_SETSOCKOPT = OF_OTHER(366, 294),
    OTHER_SOCKETCALL = OF_OTHER(102, -1), /* its arguments are in memory */
};

#define REFUSE(error) RETURN(SECCOMP_RET_ERRNO | (error))
#define FAMILY \
    LOAD(args[0]), IF(AF_UNIX, SECCOMP_RET_ALLOW), IF(AF_NETLINK, SECCOMP_RET_ALLOW), \
        IF(AF_ALG, SECCOMP_RET_ALLOW), \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 2, 0), \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 1, 0), REFUSE(EAFNOSUPPORT)
#define STREAM \
    LOAD(args[2]), IF(0, SECCOMP_RET_ALLOW), IF(IPPROTO_TCP, SECCOMP_RET_ALLOW), \
        REFUSE(EPROTONOSUPPORT)
#define DATAGRAMS \
    LOAD(args[2]), IF(0, SECCOMP_RET_USER_NOTIF), IF(IPPROTO_UDP, SECCOMP_RET_USER_NOTIF), \
        REFUSE(EPROTONOSUPPORT)
/* FAMILY is 10 instructions, STREAM and DATAGRAMS are 6. */
#define SOCKET \
    FAMILY, LOAD(args[1]), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, KIND), \
        SKIP_UNLESS(SOCK_STREAM, 6), STREAM, SKIP_UNLESS(SOCK_DGRAM, 6), DATAGRAMS, \
        REFUSE(EPERM)

#define SEND(flags) \
    LOAD(args[flags]), IF_SOME(MSG_FASTOPEN, SECCOMP_RET_ERRNO | EOPNOTSUPP), \
        RETURN(SECCOMP_RET_ALLOW)
#define IF_OPTION(option) IF(option, SECCOMP_RET_ERRNO | EPERM)
#define OPTION \
    LOAD(args[1]), SKIP_UNLESS(SOL_SOCKET, 6), LOAD(args[2]), IF_OPTION(SO_BINDTODEVICE), \
        IF_OPTION(BIND_TO_INDEX), RETURN(SECCOMP_RET_ALLOW), SKIP_UNLESS(IPPROTO_IP, 8), \
        LOAD(args[2]), IF_OPTION(IP_OPTIONS), IF_OPTION(IP_UNICAST_IF), \
        IF_OPTION(IP_TRANSPARENT), RETURN(SECCOMP_RET_ALLOW), SKIP_UNLESS(IPPROTO_IPV6, 12), \
        LOAD(args[2]), IF_OPTION(IPV6_RTHDR), IF_OPTION(IPV6_RTHDRDSTOPTS), \
        IF_OPTION(IPV6_2292PKTOPTIONS), IF_OPTION(IPV6_UNICAST_IF), \
        IF_OPTION(IPV6_TRANSPARENT), RETURN(SECCOMP_RET_ALLOW), SKIP_UNLESS(IPPROTO_TCP, 4), \
        LOAD(args[2]), IF_OPTION(FAST_OPEN_CONNECT), RETURN(SECCOMP_RET_ALLOW), \
        RETURN(SECCOMP_RET_ALLOW)
#define PAIR LOAD(args[0]), IF(AF_UNIX, SECCOMP_RET_ALLOW), REFUSE(EOPNOTSUPP)
/* By which a socket shows the network that it is in. */
#define IOCTL LOAD(args[1]), IF(SIOCGSKNS, SECCOMP_RET_ERRNO | EPERM), LOAD(nr)
/* What is to be told to who makes a key that is not there. */
#define KEY \
    LOAD(args[2]), SKIP_UNLESS(0, 3), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, UPPER(2)), \
        IF(0, SECCOMP_RET_ALLOW), REFUSE(ENOKEY)

/* SOCKET is 27 instructions, OPTION 36, KEY 6, the others are 4. */
#define HELD(socket, socketpair, sendto, sendmsg, sendmmsg, setsockopt, ioctl, request_key, \
             socketcall) \
    SKIP_UNLESS(socket, 27), SOCKET, SKIP_UNLESS(setsockopt, 36), OPTION, \
        SKIP_UNLESS(socketpair, 4), PAIR, SKIP_UNLESS(ioctl, 4), IOCTL, \
        SKIP_UNLESS(request_key, 6), KEY, SKIP_UNLESS(sendto, 4), SEND(3), \
        SKIP_UNLESS(sendmsg, 4), SEND(2), SKIP_UNLESS(sendmmsg, 4), SEND(3), \
        IF(socketcall, SECCOMP_RET_ERRNO | ENOSYS)

static const struct sock_filter own[] = {
    HELD(SYS_socket, SYS_socketpair, SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_setsockopt,
         SYS_ioctl, SYS_request_key, -1)};
static const struct sock_filter other[] = {
    HELD(OTHER_SOCKET, OTHER_SOCKETPAIR, OTHER_SENDTO, OTHER_SENDMSG, OTHER_SENDMMSG,
         OTHER_SETSOCKOPT, OTHER_IOCTL, OTHER_REQUEST_KEY, OTHER_SOCKETCALL)};

unsigned egress_filter(struct sock_filter *code, bool is_own) {
    const unsigned count = sizeof own / sizeof *own;
    _Static_assert(sizeof own <= EGRESS_MOST * sizeof *own, "there is room for it");
    _Static_assert(sizeof own == sizeof other, "they are parts of the same kind");
    for (unsigned i = 0; i < count; i++) code[i] = is_own ? own[i] : other[i];
    return count;
}
