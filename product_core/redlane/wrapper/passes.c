/* Commands that are known to pass, so that the daemon is not asked about each once more.
 *
 * The daemon says of a command that passes whether it does so until something changes,
 * and gives a lease with that: a socket. It lasts until its other end is shut, by the
 * daemon as soon as the rules change, or the session, or by its end. That is looked at
 * each time. A lease that has ended takes with it all that was kept. */
#define _GNU_SOURCE
#include "passes.h"

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 512, LONGEST = 8 * 1024 };

struct pass {
    uint64_t digest;
    struct bytes command;
};

struct passes {
    int lease; /* -1: there is none, and nothing is kept */
    struct pass each[MOST];
    size_t count, next;
};

struct passes *passes_prepare(void) {
    struct passes *passes = allocate(sizeof *passes);
    memset(passes, 0, sizeof *passes);
    passes->lease = -1;
    return passes;
}

/* FNV-1a: it only spares comparisons. */
static uint64_t digest_of(const struct bytes *command) {
    uint64_t digest = 0xcbf29ce484222325;
    for (size_t i = 0; i < command->length; i++)
        digest = (digest ^ (unsigned char)command->data[i]) * 0x100000001b3;
    return digest;
}

static bool lasts(int lease) {
    struct pollfd end = {.fd = lease, .events = POLLIN | POLLRDHUP};
    return lease >= 0 && poll(&end, 1, 0) == 0;
}

static void forget_all(struct passes *passes) {
    for (size_t i = 0; i < passes->count; i++) free(passes->each[i].command.data);
    memset(passes->each, 0, sizeof passes->each);
    passes->count = passes->next = 0;
    if (passes->lease >= 0) close(passes->lease);
    passes->lease = -1;
}

static struct pass *find(struct passes *passes, const struct bytes *command) {
    uint64_t digest = digest_of(command);
    for (size_t i = 0; i < passes->count; i++) {
        struct pass *pass = &passes->each[i];
        if (pass->digest == digest && pass->command.length == command->length &&
            memcmp(pass->command.data, command->data, command->length) == 0)
            return pass;
    }
    return NULL;
}

bool passes_have(struct passes *passes, const struct bytes *command) {
    if (!passes->count || !find(passes, command)) return false;
    if (lasts(passes->lease)) return true;
    forget_all(passes);
    return false;
}

/* All leases of a session that last are one and the same. */
void passes_keep(struct passes *passes, const struct bytes *command, int lease) {
    if (!lasts(passes->lease)) forget_all(passes);
    if (!lasts(lease) || command->length > LONGEST || find(passes, command)) {
        close(lease);
        return;
    }
    if (passes->lease < 0) passes->lease = lease;
    else close(lease);
    struct pass *pass = &passes->each[passes->next++ % MOST];
    if (passes->count < MOST) passes->count++;
    pass->digest = digest_of(command);
    pass->command.length = 0;
    bytes_add(&pass->command, command->data, command->length);
}
