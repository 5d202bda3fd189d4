/* Which system calls change files or read them, and where their arguments say which. */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

enum change {
    OPENS,    /* a file */
    MAKES,    /* a name that is not there */
    MAKES_DIRECTORY,
    REMOVES,  /* a name */
    MOVES,    /* a name to another */
    LINKS,    /* a second name for a file */
    ALTERS,   /* size, rights, owner or attributes of what a path leads to */
    ALTERS_OPEN, /* the same of what a descriptor stands for */
    BINDS,       /* a socket to a path */
    BINDS_BY_MEMORY, /* the same, its arguments in memory */
    CONNECTS,        /* none: a socket with where an address leads */
    CONNECTS_BY_MEMORY,
    RESTRICTS,       /* none: the caller binds itself */
    MOUNTS,          /* none: a new file system */
    DEPARTS,         /* none: the caller sees other files by its paths from then on */
    LOOKS_INTO,      /* none: another process's memory */
    MAKES_SOCKET,    /* none: for datagrams */
    BECOMES,         /* none: the caller has other rights from then on */
};

/* What it does then, if it may. */
enum deed {
    OPEN,
    MKDIR,
    MKNOD,
    SYMLINK,
    UNLINK,
    RMDIR,
    RENAME,
    LINK,
    TRUNCATE,
    TRUNCATE_64, /* with a length in two halves */
    CHMOD,
    CHOWN,
    SETXATTR,
    REMOVEXATTR,
    TIMES_IN_NANOSECONDS, /* of pairs; each word is as wide as the machine's */
    TIMES_IN_MICROSECONDS,
    TIMES_IN_SECONDS,  /* two words */
    TIMES_OF_64_BITS,  /* as the first, whatever the machine */
    BIND,
    CONNECT,
    RESTRICT,
    ADD_RULE,
    MOUNT,
    DEPART,
    CLONE,
    BECOME,
    ATTACH,
    COPY_MEMORY,
    SOCKET,
};

/* Whether the end of a path is followed where it is a link. */
enum following { NAMES, STAYS, FOLLOWS, STAYS_IF_FLAGGED, FOLLOWS_IF_FLAGGED, BY_OPEN_FLAGS };

enum { NONE = -1 };

struct asked {
    const char *name; /* as events tell it */
    enum change change;
    enum following following;
    /* Which argument is which, NONE where there is none. */
    signed char directory, path, to_directory, to_path, flags;
    enum deed deed;
    signed char rest; /* the first of the arguments that the deed has besides */
};

/* Whether a call is about a socket: it has an address. */
bool asked_addresses(enum change change);
bool asked_connects(enum change change);

/* Whether a deed changes the times of a file. */
bool asked_times(enum deed deed);

/* Whether a call with such flags opens a file for nothing but reading. */
bool asked_reads(const struct asked *asked, uint64_t flags);

/* The call of a notification; NULL for one that is not asked about. */
const struct asked *asked_find(const struct seccomp_data *data);

/* Adds to a filter what asks about them, where a number has been loaded; how many
 * instructions that is. `reads`: also about files that are opened for reading, and what
 * that takes; `connects`: about connections. `code` has room for ASKED_MOST. */
enum { ASKED_MOST = 384 };
unsigned asked_filter(struct sock_filter *code, bool is_own, bool reads, bool connects);
