/* Whether a call may go on: it changes nothing that is kept, and nothing outside of the
 * session's places. What the kernel would refuse by itself fails as it would there. */
#define _GNU_SOURCE
#include "bounds.h"

#include "devices.h"
#include "egress.h"
#include "file.h"
#include "session_proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/un.h>
#include <unistd.h>

enum { OTHERS_WRITE = S_IWGRP | S_IWOTH };

/* Rights by which nobody else can change it, and its owner can. */
static bool are_plain_rights(const struct call *call) {
    return call->asked->deed == CHMOD &&
           (call->data->args[(int)call->asked->rest] & (OTHERS_WRITE | S_IRWXU)) == S_IRWXU;
}

static enum touch touch_of(const struct call *call) {
    switch (call->asked->change) {
    case MAKES_DIRECTORY: return MADE;
    case REMOVES:
    case MOVES: return REPLACED;
    case ALTERS:
    case ALTERS_OPEN:
        return are_plain_rights(call) || asked_times(call->asked->deed) ? CHANGED : REPLACED;
    default: return CHANGED;
    }
}

/* Whether there is nothing that the call could change: what it fails with. */
static int vain_error(const struct call *call, const struct spot *spot) {
    bool is_there = spot->object >= 0;
    uint64_t flags = call->flags;
    bool is_directory = is_there && S_ISDIR(spot->about.st_mode);
    switch (call->asked->change) {
    case MAKES:
    case MAKES_DIRECTORY: return is_there ? EEXIST : 0;
    case BINDS:
    case BINDS_BY_MEMORY: return is_there ? EADDRINUSE : 0;
    case REMOVES: return is_there ? 0 : ENOENT;
    case MOVES:
        return is_there || (spot != call->spots && !(flags & RENAME_EXCHANGE)) ? 0 : ENOENT;
    case LINKS:
        if (spot == call->spots) return is_there ? 0 : ENOENT;
        return is_there ? EEXIST : 0;
    case OPENS:
        if (is_there && (flags & O_CREAT) && (flags & O_EXCL)) return EEXIST;
        if (is_directory && (flags & __O_TMPFILE) != __O_TMPFILE) return EISDIR;
        return is_there || flags & O_CREAT ? 0 : ENOENT;
    default: return is_there ? 0 : ENOENT;
    }
}

/* Whose rights are looked at: of what is there, or of the directory that has its name. */
struct access {
    int file;
    int mode;
};

static int look_at_access(void *argument) {
    const struct access *access = argument;
    char link[FILE_LINK];
    file_link(access->file, link);
    return faccessat(AT_FDCWD, link, access->mode, AT_EACCESS) == 0 ? 0 : errno;
}

/* What the kernel would say to the caller; 0: it would do so, or that is not known. */
static int own_error(const struct call *call, const struct spot *spot) {
    enum change change = call->asked->change;
    bool is_written = (change == OPENS || call->asked->deed == TRUNCATE ||
                       call->asked->deed == TRUNCATE_64) &&
                      spot->object >= 0;
    struct access access = {is_written || spot->parent < 0 ? spot->object : spot->parent,
                            is_written ? W_OK : W_OK | X_OK};
    bool is_source = change == LINKS && spot == call->spots;
    if (is_source || (!is_written && (change == ALTERS || change == ALTERS_OPEN))) return 0;
    return actor_do(&call->actor, look_at_access, &access);
}

static int judge_kept(const struct call *call, struct kept *kept,
                      struct judgement *judgement) {
    enum touch touch = touch_of(call);
    for (size_t i = 0; i < call->spot_count; i++) {
        const struct spot *spot = &call->spots[i];
        if (!kept_touched(kept, &call->caller, spot, touch)) continue;
        bool is_made = call->asked->change == MAKES || call->asked->change == MAKES_DIRECTORY;
        if (is_made || call->asked->change == REMOVES) { /* nor what comes there meanwhile */
            int error = vain_error(call, spot);
            if (error) return error;
        }
        *judgement = (struct judgement){&kept_rule, i};
        return kept_rule.error;
    }
    return 0;
}

/* What a pair of names fails with whatever they are: programs go on by that. */
static int pair_error(const struct call *call) {
    const struct spot *from = &call->spots[0], *to = &call->spots[1];
    if (call->spot_count < 2) return 0;
    if (from->object < 0) return ENOENT;
    uint64_t mount = from->parent >= 0 ? from->around.mount : from->mount;
    return to->parent >= 0 && mount != to->around.mount ? EXDEV : 0;
}

static int judge_places(struct call *call, struct places *places,
                        struct judgement *judgement) {
    size_t which;
    if (!places_are_left(places, call, &which)) return 0;
    int error = pair_error(call);
    if (!error) error = vain_error(call, &call->spots[which]);
    if (!error) error = own_error(call, &call->spots[which]);
    if (error) return error;
    *judgement = (struct judgement){&places_rule, which};
    return places_rule.error;
}

/* Whether something has been mounted where a name is that would go: seen by the caller,
 * and not by this process, which may be elsewhere. */
static bool is_busy(const struct call *call) {
    enum change change = call->asked->change;
    if (change != MOVES && change != REMOVES) return false;
    for (size_t i = 0; i < call->spot_count; i++) {
        const struct spot *spot = &call->spots[i];
        if (*spot->name && spot_is_mounted(spot)) return true;
    }
    return false;
}

/* A session reaches what it serves itself there: that turns out as it connects. */
static int judge_hidden(struct call *call, const struct hidden *hidden,
                        struct judgement *judgement) {
    size_t which;
    if (!hidden_is_touched(hidden, call, &which)) return 0;
    call->stays_inside = asked_connects(call->asked->change);
    if (call->stays_inside) return 0;
    *judgement = (struct judgement){&hidden_rule, which};
    return hidden_rule.error;
}

/* Who looks names up for others learns them; none is there, programs ask as in names.c. */
static bool is_resolver(const struct spot *spot) {
    static const char *const paths[] = {
        "/run/systemd/resolve/io.systemd.Resolve",
        "/run/nscd/socket",
        "/run/avahi-daemon/socket",
    };
    struct stat about;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (stat(paths[i], &about) == 0 && about.st_dev == spot->about.st_dev &&
            about.st_ino == spot->about.st_ino)
            return true;
    return false;
}

/* Whether a call has a socket lead out of the machine past the proxy, or opens what does. */
static bool leads_out(struct call *call) {
    const struct spot *spot = &call->spots[0];
    if (asked_connects(call->asked->change)) {
        enum egress way = egress_of(call->held, &call->address, call->address_length);
        call->leaves = way == EGRESS_LEAVES && session_proxy_is_there();
        return way != EGRESS_STAYS && !call->leaves;
    }
    if (call->asked->change == OPENS)
        return spot->object >= 0 && S_ISCHR(spot->about.st_mode) &&
               device_leads_out(spot->about.st_rdev);
    return asked_addresses(call->asked->change) &&
           egress_binds_out(&call->address, call->address_length);
}

int bounds_judge(struct call *call, const struct bounds *bounds, struct judgement *judgement) {
    *judgement = (struct judgement){0};
    if (bounds->egress && leads_out(call)) {
        judgement->rule = &egress_rule;
        return egress_rule.error;
    }
    bool is_path = asked_connects(call->asked->change) && call->spot_count;
    if (bounds->egress && is_path && is_resolver(&call->spots[0])) return ECONNREFUSED;
    int error = bounds->hidden ? judge_hidden(call, bounds->hidden, judgement) : 0;
    if (error || call_reads(call) || asked_connects(call->asked->change)) return error;
    error = is_busy(call) ? EBUSY : judge_kept(call, bounds->kept, judgement);
    if (error || !bounds->places) return error;
    return judge_places(call, bounds->places, judgement);
}
