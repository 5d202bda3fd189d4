/* Every address is one of this network's own: what is sent to any comes back to it. */
#define _GNU_SOURCE
#include "whole_network.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct asked {
    struct nlmsghdr head;
    struct rtmsg route;
    char attributes[64];
};

static void add(struct asked *asked, unsigned short kind, const void *value, size_t size) {
    struct rtattr *to = (struct rtattr *)((char *)asked + NLMSG_ALIGN(asked->head.nlmsg_len));
    to->rta_type = kind;
    to->rta_len = (unsigned short)RTA_LENGTH(size);
    memcpy(RTA_DATA(to), value, size);
    asked->head.nlmsg_len = NLMSG_ALIGN(asked->head.nlmsg_len) + RTA_ALIGN(to->rta_len);
}

/* Those who send have the address of the loopback interface. */
static void keep(int link, sa_family_t family, const void *from, size_t size) {
    const unsigned loopback = if_nametoindex("lo");
    struct asked asked = {
        .head = {.nlmsg_len = NLMSG_LENGTH(sizeof asked.route),
                 .nlmsg_type = RTM_NEWROUTE,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE},
        .route = {.rtm_family = (unsigned char)family,
                  .rtm_table = RT_TABLE_LOCAL,
                  .rtm_protocol = RTPROT_STATIC,
                  .rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
                  .rtm_type = RTN_LOCAL},
    };
    add(&asked, RTA_OIF, &loopback, sizeof loopback);
    add(&asked, RTA_PREFSRC, from, size);
    (void)!send(link, &asked, asked.head.nlmsg_len, 0);
}

void whole_network_keep(void) {
    const struct in_addr four = {htonl(INADDR_LOOPBACK)};
    const struct in6_addr six = IN6ADDR_LOOPBACK_INIT;
    int link = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (link < 0) return;
    keep(link, AF_INET, &four, sizeof four);
    keep(link, AF_INET6, &six, sizeof six);
    close(link);
}
