/* A script that comes through a descriptor, read whole before any of it runs. */
#include "input.h"

#include "ask.h"
#include "message.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { STALL_MILLISECONDS = 100 };

/* Adds what the shell would read: it skips NUL bytes. */
static void add_without_nul(struct bytes *script, const char *piece, size_t length) {
    while (length) {
        const char *nul = memchr(piece, '\0', length);
        size_t plain = nul ? (size_t)(nul - piece) : length;
        bytes_add(script, piece, plain);
        size_t taken = nul ? plain + 1 : plain;
        piece += taken;
        length -= taken;
    }
    if (script->length > SCRIPT_MAX)
        refuse("the script is longer than %d bytes; not run", SCRIPT_MAX);
}

static bool ends_a_line(const struct bytes *script) {
    return script->length && script->data[script->length - 1] == '\n';
}

/* Reads to the end of file, true; or, where the writer may be waiting for an answer,
 * until it has written whole lines and then nothing for a while, false. */
bool read_script(int descriptor, struct bytes *script, bool may_stall) {
    char piece[16384];
    bytes_add(script, "", 0);
    for (;;) {
        struct pollfd entry = {.fd = descriptor, .events = POLLIN};
        bool impatient = may_stall && ends_a_line(script);
        int ready = poll(&entry, 1, impatient ? STALL_MILLISECONDS : -1);
        if (ready == 0) return false;
        ssize_t got = ready < 0 ? -1 : read(descriptor, piece, sizeof piece);
        if (got == 0 || (got < 0 && errno == EBADF)) return true;
        if (got > 0) add_without_nul(script, piece, (size_t)got);
        else if (errno != EINTR && errno != EAGAIN)
            refuse("the script cannot be read (%s); not run", strerror(errno));
    }
}
