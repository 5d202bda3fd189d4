/* What a call that changes files or reads them asks for.
 *
 * Memory and links are read once, and where they lead is held from then on: what is
 * judged is what is done. */
#define _GNU_SOURCE
#include "call.h"

#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BIND_WORDS = 3 };

/* ---- where it leads ---- */

static bool makes(const struct call *call) {
    enum change change = call->asked->change;
    bool is_made = change == MAKES || change == MAKES_DIRECTORY ||
                   (asked_addresses(change) && !asked_connects(change));
    return is_made || (change == OPENS && call->flags & (O_CREAT | __O_TMPFILE));
}

static enum end end_of(const struct asked *asked, uint64_t flags) {
    bool is_new = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
    bool follows = true;
    switch (asked->following) {
    case NAMES: return END_NAMED;
    case FOLLOWS: break;
    case STAYS: follows = false; break;
    case STAYS_IF_FLAGGED: follows = !(flags & AT_SYMLINK_NOFOLLOW); break;
    case FOLLOWS_IF_FLAGGED: follows = flags & AT_SYMLINK_FOLLOW; break;
    case BY_OPEN_FLAGS: follows = !(flags & O_NOFOLLOW) && !is_new; break;
    }
    return follows ? END_FOLLOWED : END_STAYS;
}

static int find_path(struct call *call, int directory, enum end end) {
    int from = directory == NONE ? HERE : (int)call->data->args[directory];
    const char *text = call->texts[call->spot_count];
    struct spot *spot = &call->spots[call->spot_count];
    bool may_be_empty = end != END_NAMED && call->asked->change != OPENS &&
                        call->flags & AT_EMPTY_PATH;
    int error = !*text && may_be_empty
                    ? walk_open(&call->caller, from, spot)
                    : walk_path(&call->caller, from, text, end, spot);
    if (!error) call->spot_count++;
    return error;
}

static int find_names(struct call *call) {
    const struct asked *asked = call->asked;
    if (asked->following == STAYS_IF_FLAGGED &&
        call->flags & ~(uint64_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
        return EINVAL;
    int error = find_path(call, asked->directory, end_of(asked, call->flags));
    if (error || asked->to_path == NONE) return error;
    return find_path(call, asked->to_directory, END_NAMED);
}

/* What a descriptor of the caller's is for; O_PATH where that cannot be told. */
static uint64_t flags_of_open(const struct call *call, int number) {
    char path[64];
    unsigned long flags = O_PATH;
    struct bytes text = {0};
    snprintf(path, sizeof path, "/proc/%ld/fdinfo/%d", (long)call->caller.thread, number);
    if (bytes_read_file(&text, path, 1024)) {
        const char *line = strstr(text.data, "flags:");
        if (line) flags = strtoul(line + strlen("flags:"), NULL, 8);
    }
    free(text.data);
    return flags;
}

static int find_open(struct call *call) {
    int number = (int)call->data->args[0];
    int error = walk_open(&call->caller, number, &call->spots[0]);
    if (!error) call->spot_count = 1;
    return error;
}

/* Of an address that is a path. */
static int find_address(struct call *call) {
    if (!*call->texts[0]) return 0;
    enum end end = asked_connects(call->asked->change) ? END_FOLLOWED : END_NAMED;
    int error = walk_path(&call->caller, HERE, call->texts[0], end, &call->spots[0]);
    if (!error) call->spot_count = 1;
    return error;
}

static int find(void *argument) {
    struct call *call = argument;
    switch (call->asked->change) {
    case ALTERS_OPEN: return find_open(call);
    case BINDS:
    case BINDS_BY_MEMORY:
    case CONNECTS:
    case CONNECTS_BY_MEMORY: return find_address(call);
    default: return find_names(call);
    }
}

/* ---- what it says ---- */

/* The caller's socket, and of what family it is. */
static int hold_socket(struct call *call, int number) {
    socklen_t size = sizeof call->family;
    call->socket = number;
    call->held = process_file(call->caller.thread, number);
    if (call->held < 0) return errno;
    return getsockopt(call->held, SOL_SOCKET, SO_DOMAIN, &call->family, &size) == 0 ? 0 : errno;
}

/* The kernel takes the length as an int. */
static int read_address(struct call *call, int socket, uint64_t at, int length) {
    const struct sockaddr_un *address = (const struct sockaddr_un *)&call->address;
    int error = hold_socket(call, socket);
    if (error) return error;
    if (length < 0 || (size_t)length > sizeof call->address) return EINVAL;
    call->address_length = (socklen_t)length;
    error = caller_bytes(&call->caller, at, &call->address, (size_t)length);
    if (error) return error;
    if (call->family == AF_UNIX && length > (int)offsetof(struct sockaddr_un, sun_path) &&
        length <= (int)sizeof *address && address->sun_family == AF_UNIX)
        memcpy(call->texts[0], address->sun_path, sizeof address->sun_path);
    return 0;
}

/* bind or connect of a 32-bit program: its arguments are in its memory. */
static int read_socketcall(struct call *call) {
    uint32_t words[BIND_WORDS];
    int error = caller_bytes(&call->caller, call->data->args[1], words, sizeof words);
    return error ? error : read_address(call, (int)words[0], words[1], (int)words[2]);
}

static int read_path(struct call *call, int number, int path) {
    if (path == NONE) return 0;
    return caller_string(&call->caller, call->data->args[path], call->texts[number],
                         PATH_MAX);
}

static int read_words(struct call *call) {
    const struct asked *asked = call->asked;
    const __u64 *args = call->data->args;
    if (asked->change == BINDS || asked->change == CONNECTS)
        return read_address(call, (int)args[0], args[1], (int)args[2]);
    if (asked_addresses(asked->change)) return read_socketcall(call);
    if (asked_times(asked->deed) && !args[(int)asked->path]) {
        if (asked->directory == NONE || (int)args[(int)asked->directory] == AT_FDCWD)
            return EFAULT;
        if (call->flags) return EINVAL;
        call->flags = AT_EMPTY_PATH; /* it stands for the descriptor */
        return 0;
    }
    int error = read_path(call, 0, asked->path);
    return error ? error : read_path(call, 1, asked->to_path);
}

static uint64_t flags_of(const struct asked *asked, const struct seccomp_data *data) {
    if (asked->flags != NONE) return (uint32_t)data->args[(int)asked->flags];
    return asked->change == OPENS ? O_CREAT | O_WRONLY | O_TRUNC : 0; /* creat */
}

/* What only this process may look up, for a caller that has other rights; an errno. */
static int hold(struct call *call) {
    const struct asked *asked = call->asked;
    int number = (int)call->data->args[0];
    if (asked->change == ALTERS_OPEN && (number < 0 || flags_of_open(call, number) & O_PATH))
        return EBADF;
    if (asked_addresses(asked->change)) {
        if (call->family != AF_UNIX) return 0; /* it has no path */
        if (caller_find_root(&call->caller) != 0) return EACCES;
        if (asked_connects(asked->change)) call->flags = flags_of_open(call, call->socket);
    } else if (call->actor.is_alike) {
        return 0;
    }
    const signed char at[] = {asked->directory, asked->to_directory};
    for (int i = 0; i < 2; i++)
        if (i == 0 || asked->to_path != NONE)
            caller_hold(&call->caller, at[i] == NONE ? HERE : (int)call->data->args[at[i]]);
    return 0;
}

void call_clear(struct call *call) {
    *call = (struct call){.caller = {.root = -1, .from = {-1, -1}}, .actor = nobody,
                          .held = -1, .file = -1, .reached_of = {-1, -1}};
}

int call_take(struct call *call, const struct asked *asked, const struct seccomp_data *data,
              pid_t thread) {
    call_clear(call);
    call->asked = asked;
    call->data = data;
    call->flags = flags_of(asked, data);
    caller_take(&call->caller, thread);
    int error = asked_addresses(asked->change) ? 0 : caller_find_root(&call->caller);
    if (!error) error = actor_take(&call->actor, thread, makes(call));
    if (error) return EACCES; /* nobody knows who it is */
    call->caller.is_bound = call->actor.domain_count > 0;
    error = read_words(call);
    if (!error) error = hold(call);
    if (error) return error;
    return actor_look(&call->actor, find, call);
}

const struct reached *call_reached(struct call *call, const struct spot *spot,
                                   bool is_object) {
    size_t number = (size_t)(spot - call->spots);
    struct reached *reached = &call->reached[number];
    int file = is_object ? spot->object : spot->parent;
    if (call->reached_of[number] == file) return reached;
    reached_leave(reached);
    reached_find(&call->caller, file, is_object ? spot->mount : spot->around.mount, reached);
    call->reached_of[number] = file;
    return reached;
}

bool call_reads(const struct call *call) {
    return asked_reads(call->asked, call->flags);
}

void call_leave(struct call *call) {
    for (size_t i = 0; i < call->spot_count; i++) {
        spot_leave(&call->spots[i]);
        reached_leave(&call->reached[i]);
    }
    actor_leave(&call->actor);
    caller_leave(&call->caller);
    if (call->held >= 0) close(call->held);
    if (call->file >= 0) close(call->file);
}
