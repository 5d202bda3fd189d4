/* What a filter asks about and refuses where a session leaves the machine by its proxy.
 *
 * Sockets of other families than these lead to other machines by ways that nobody here
 * knows, and raw ones by any. Those for datagrams are made for the caller (datagrams.c). To
 * send with the first packet is to connect, without the call of that name: programs fall
 * back on that call. A connection over several paths chooses some by itself. And what is
 * sent to an address leads elsewhere by another interface, or by a route that it names. */
#define _GNU_SOURCE
#include "egress_filter.h"

#include "bpf.h"
#include "machine.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the headers of Debian 12, or not in them. */
enum { KIND = 0xf, BIND_TO_INDEX = 62 };

enum {
    OTHER_SOCKET = OF_OTHER(359, 281),
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
        IF_OPTION(BIND_TO_INDEX), RETURN(SECCOMP_RET_ALLOW), SKIP_UNLESS(IPPROTO_IP, 6), \
        LOAD(args[2]), IF_OPTION(IP_OPTIONS), IF_OPTION(IP_UNICAST_IF), \
        RETURN(SECCOMP_RET_ALLOW), SKIP_UNLESS(IPPROTO_IPV6, 10), LOAD(args[2]), \
        IF_OPTION(IPV6_RTHDR), IF_OPTION(IPV6_RTHDRDSTOPTS), IF_OPTION(IPV6_2292PKTOPTIONS), \
        IF_OPTION(IPV6_UNICAST_IF), RETURN(SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_ALLOW)

/* SOCKET is 27 instructions, SEND 4, OPTION 27. */
#define HELD(socket, sendto, sendmsg, sendmmsg, setsockopt, socketcall) \
    SKIP_UNLESS(socket, 27), SOCKET, SKIP_UNLESS(setsockopt, 27), OPTION, SKIP_UNLESS(sendto, 4), SEND(3), \
        SKIP_UNLESS(sendmsg, 4), SEND(2), SKIP_UNLESS(sendmmsg, 4), SEND(3), \
        IF(socketcall, SECCOMP_RET_ERRNO | ENOSYS)

static const struct sock_filter own[] = {HELD(SYS_socket, SYS_sendto, SYS_sendmsg,
                                              SYS_sendmmsg, SYS_setsockopt, -1)};
static const struct sock_filter other[] = {HELD(OTHER_SOCKET, OTHER_SENDTO, OTHER_SENDMSG,
                                                OTHER_SENDMMSG, OTHER_SETSOCKOPT,
                                                OTHER_SOCKETCALL)};

unsigned egress_filter(struct sock_filter *code, bool is_own) {
    const unsigned count = sizeof own / sizeof *own;
    _Static_assert(sizeof own <= EGRESS_MOST * sizeof *own, "there is room for it");
    _Static_assert(sizeof own == sizeof other, "they are parts of the same kind");
    for (unsigned i = 0; i < count; i++) code[i] = is_own ? own[i] : other[i];
    return count;
}
