/* Where the session's proxy is, and by what the session is known there. */
#define _GNU_SOURCE
#include "session_proxy.h"

#include "internet.h"
#include "sockets.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static union internet proxy;
char session_proxy_credentials[SESSION_PROXY_CREDENTIALS];

/* Three bytes are four characters, and NUL is behind them. */
enum { MOST_CREDENTIALS = (SESSION_PROXY_CREDENTIALS - 1) / 4 * 3 };

static void encode(const char *text, size_t length, char *to) {
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        unsigned bits = 0;
        for (size_t j = i; j < i + 3; j++)
            bits = bits << 8 | (j < length ? (unsigned char)text[j] : 0);
        for (int shift = 18; shift >= 0; shift -= 6) *to++ = digits[bits >> shift & 63];
        for (size_t j = length; j < i + 3; j++) to[(ptrdiff_t)(j - i) - 3] = '=';
    }
    *to = '\0';
}

/* "127.0.0.1:PORT" or "[::1]:PORT". */
static bool read_place(const char *text) {
    char host[INET6_ADDRSTRLEN] = "";
    unsigned port = 0;
    if (sscanf(text, "[%45[0-9a-f:]]:%u", host, &port) == 2) {
        proxy.six = (struct sockaddr_in6){.sin6_family = AF_INET6};
        if (inet_pton(AF_INET6, host, &proxy.six.sin6_addr) != 1) return false;
    } else {
        proxy.four = (struct sockaddr_in){.sin_family = AF_INET};
        if (sscanf(text, "%15[0-9.]:%u", host, &port) != 2 ||
            inet_pton(AF_INET, host, &proxy.four.sin_addr) != 1)
            return false;
    }
    proxy.four.sin_port = htons((in_port_t)port); /* in the same place in both */
    return port && port <= UINT16_MAX && internet_is_loopback(&proxy);
}

void session_proxy_prepare(void) {
    static const char scheme[] = "http://";
    const char *url = getenv("HTTP_PROXY");
    const char *from = url && strncmp(url, scheme, strlen(scheme)) == 0
                           ? url + strlen(scheme)
                           : "";
    const char *end = strchr(from, '@');
    size_t length = end ? (size_t)(end - from) : 0;
    if (length && length < MOST_CREDENTIALS && read_place(end + 1))
        encode(from, length, session_proxy_credentials);
}

bool session_proxy_is_there(void) { return *session_proxy_credentials; }

bool session_proxy_is(const union internet *address) {
    return internet_is_same(address, &proxy);
}

bool session_proxy_for(int file, struct connecting_to *to) {
    const int no = 0;
    bool is_six = socket_option(file, SO_DOMAIN) == AF_INET6;
    *to = (struct connecting_to){.socket = file, .length = sizeof proxy};
    memcpy(&to->address, &proxy, sizeof proxy);
    if (is_six == (proxy.any.sa_family == AF_INET6)) return true;
    if (!is_six) return false;
    struct sockaddr_in6 mapped = {.sin6_family = AF_INET6, .sin6_port = proxy.four.sin_port};
    memset(&mapped.sin6_addr.s6_addr[10], 0xFF, 2);
    memcpy(&mapped.sin6_addr.s6_addr[12], &proxy.four.sin_addr, sizeof proxy.four.sin_addr);
    memcpy(&to->address, &mapped, sizeof mapped);
    setsockopt(file, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    return true;
}
