/* mkdir, unlink, rmdir and rename in the caller's place: names in directories.
 *
 * Both directories are held, and the names in them are what is judged and acted on: a link
 * at the end is itself, and whatever a name stands for when the kernel looks, it stands
 * under the path that was ruled on. */
#define _GNU_SOURCE
#include "hot.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_there(const struct entry *entry, struct stat *about) {
    return fstatat(entry->directory, entry->name, about, AT_SYMLINK_NOFOLLOW) == 0;
}

/* What changes nothing as things are is judged otherwise, and that is for Python. */
enum outcome find_entry(struct hot *hot, struct call *call, int from) {
    struct stat about;
    if (!placed(hot, from, call->literal, &call->entries[0], call->canonical,
                &call->subject.canonical_length))
        return PASS_ON;
    bool found = is_there(&call->entries[0], &about);
    if (!found && errno != ENOENT) return PASS_ON;
    if (found == (call->deed == MAKE_DIRECTORY)) return PASS_ON;
    call->subject.changes = true;
    return ASK;
}

/* One file that stands at a path, with its second path behind the first, and behind the
 * NUL of that. */
static bool find_second(struct hot *hot, struct call *call, int to) {
    size_t length;
    const char *literal = call->literal + strlen(call->literal) + 1;
    char *canonical = call->canonical + call->subject.canonical_length + 1;
    if (!placed(hot, to, literal, &call->entries[1], canonical, &length)) return false;
    call->subject.canonical_length += 1 + length;
    return true;
}

/* Of directories all that lies below is judged, and that is for Python. */
static bool is_no_directory(const struct entry *entry, bool may_lack) {
    struct stat about;
    if (is_there(entry, &about)) return !S_ISDIR(about.st_mode);
    return may_lack && errno == ENOENT;
}

enum outcome find_renamed(struct hot *hot, struct call *call, int from, int to) {
    if (!placed(hot, from, call->literal, &call->entries[0], call->canonical,
                &call->subject.canonical_length) ||
        !find_second(hot, call, to) || !is_no_directory(&call->entries[0], false) ||
        !is_no_directory(&call->entries[1], true))
        return PASS_ON;
    call->subject.changes = true;
    return ASK;
}

static int changed(const struct call *call) {
    const struct entry *here = &call->entries[0], *there = &call->entries[1];
    switch (call->deed) {
    case MAKE_DIRECTORY: return mkdirat(here->directory, here->name, call->mode & 07777);
    case REMOVE: return unlinkat(here->directory, here->name, (int)call->flags);
    default:
        return renameat2(here->directory, here->name, there->directory, there->name,
                         call->flags);
    }
}

enum outcome give_changed(const struct hot *hot, struct call *call) {
    int own = -1, reason = 0;
    if (call->deed == MAKE_DIRECTORY && (own = take_umask(call->notification.pid)) < 0)
        return PASS_ON;
    bool waits = is_waiting(hot, call);
    if (waits && changed(call)) reason = errno;
    if (own >= 0) umask((mode_t)own);
    return waits ? respond(hot, call, 0, reason) : ANSWERED;
}
