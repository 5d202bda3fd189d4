/* What a session may not read, but by the programs that own it.
 *
 * Of two places that hold a path the longer one counts. What is hidden may not get another
 * path either, by which it could be read: neither it nor a directory above it, and not by
 * its owners, but for one within the same place; nor may others make links and directories
 * there. What is said in engine/hiding.py is said here again. */
#define _GNU_SOURCE
#include "hidden.h"

#include "bytes.h"
#include "call.h"
#include "file.h"
#include "message.h"
#include "mounts.h"
#include "owner.h"
#include "proc.h"
#include "processes.h"
#include "reached.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

const struct rule hidden_rule = {
    "builtin:hidden",
    "the session may not read that: its role hides it",
    "go on without it, or ask a person for what is needed",
    EPERM,
};

const struct rule unreachable_rule = {
    "builtin:hidden",
    "the session may not reach what listens there: its role hides it",
    "go on without it, or ask a person for what is needed",
    EACCES,
};

struct place {
    const char *path, *owners;
    size_t length, owners_length;
    bool is_beginning; /* of paths, whatever follows */
};

struct hidden {
    struct place *places;
    struct origin *origins;
    const char **shown;
    size_t count, origin_count;
    size_t file_origins; /* the first, of the first places */
    size_t files;  /* so many of the places, the first, are of files as well as of sockets */
    size_t common; /* characters that all of those begin with */
};

/* What programs add to the name of a file for another copy of it, beside it. */
static const char *const copies[] = {"", ".lock", ".new", ".bak", ".old", "~", NULL};

/* ---- what is given ---- */

/* How long the part of a path is that is the place, or a copy of it; 0: it is not in it. */
static size_t length_within(const char *path, const struct place *place) {
    if (strncmp(path, place->path, place->length) != 0) return 0;
    if (place->length == 1 || place->is_beginning) return place->length; /* the root */
    for (const char *const *copy = copies; *copy; copy++) {
        size_t length = place->length + strlen(*copy);
        if (strncmp(path + place->length, *copy, strlen(*copy)) == 0 &&
            (!path[length] || path[length] == '/'))
            return length;
    }
    return 0;
}

static struct place read_place(const char *text) {
    const char *end = strchr(text, '=');
    if (!end || end[1] != '/') fail(STATUS_USAGE, PRODUCT, "--hidden: %s: no place", text);
    size_t length = strlen(end + 1);
    bool is_beginning = end[length] == '*';
    const char *path = is_beginning ? strndup(end + 1, length - 1) : end + 1;
    if (!path) refuse("out of memory");
    return (struct place){path, text, strlen(path), (size_t)(end - text), is_beginning};
}

static struct origin origin_of(const char *path) {
    struct origin origin = mounts_origin(path);
    if (!origin.mount) refuse("the session cannot be bound: %s cannot be looked at", path);
    return origin;
}

static size_t in_common(const char *one, const char *other, size_t most) {
    size_t length = 0;
    while (length < most && one[length] == other[length]) length++;
    return length;
}

/* A place, and the paths that it has by other mounts. */
static void add_place(struct bytes *places, const char *text) {
    struct bytes others = {0};
    struct place place = read_place(text);
    bytes_add(places, &place, sizeof place);
    reached_aliases(place.path, &others); /* they stay */
    for (const char *each = others.data; each && each < others.data + others.length;
         each += strlen(each) + 1) {
        place.path = each;
        place.length = strlen(each);
        bytes_add(places, &place, sizeof place);
    }
}

/* Where the places are, and what is mounted in them. */
static void add_origins(struct bytes *origins, const struct place *places, size_t count) {
    struct origin origin;
    const char *point;
    for (size_t i = 0; i < count; i++) {
        origin = origin_of(places[i].path);
        bytes_add(origins, &origin, sizeof origin);
        for (size_t j = 0; (point = reached_point(j)); j++) {
            if (!length_within(point, &places[i])) continue;
            origin = origin_of(point);
            bytes_add(origins, &origin, sizeof origin);
        }
    }
}

struct hidden *hidden_prepare(struct hidden_given given, long filters) {
    struct hidden *hidden = allocate(sizeof *hidden);
    struct bytes places = {0}, origins = {0};
    reached_note();
    owner_prepare(filters);
    for (const char **text = given.places; *text; text++) add_place(&places, *text);
    size_t files = places.length / sizeof(struct place);
    for (const char **text = given.sockets; *text; text++) add_place(&places, *text);
    *hidden = (struct hidden){.shown = given.shown,
                              .places = (struct place *)places.data,
                              .files = files,
                              .count = places.length / sizeof(struct place)};
    add_origins(&origins, hidden->places, files);
    hidden->file_origins = origins.length / sizeof(struct origin);
    add_origins(&origins, hidden->places + files, hidden->count - files);
    hidden->origins = (struct origin *)origins.data;
    hidden->origin_count = origins.length / sizeof(struct origin);
    for (size_t i = 0; i < files; i++)
        hidden->common = i ? in_common(hidden->places[0].path, hidden->places[i].path,
                                       hidden->common)
                           : hidden->places[0].length;
    return hidden;
}

/* ---- paths ---- */

static bool is_on(const struct hidden *hidden, size_t count, dev_t device) {
    for (size_t i = 0; i < count; i++)
        if (hidden->origins[i].device == device) return true;
    return false;
}

bool hidden_may_be_on(const struct hidden *hidden, dev_t device) {
    return is_on(hidden, hidden->file_origins, device);
}

bool hidden_is_reached_by(const struct hidden *hidden, unsigned long long mount) {
    for (size_t i = 0; i < hidden->file_origins; i++)
        if (hidden->origins[i].mount == mount) return true;
    return false;
}

static bool is_shown(const struct hidden *hidden, const char *path, size_t most) {
    for (const char **shown = hidden->shown; *shown; shown++)
        if (strlen(*shown) > most && path_is_within(path, *shown)) return true;
    return false;
}

/* The longest of the first places that holds a path; 0: none does. */
static size_t longest_of(const struct hidden *hidden, size_t count, const char *path) {
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = length_within(path, &hidden->places[i]);
        if (length > most) most = length;
    }
    return most && !is_shown(hidden, path, most) ? most : 0;
}

bool hidden_holds(const struct hidden *hidden, const char *path) {
    if (!hidden->files || strncmp(path, hidden->places[0].path, hidden->common) != 0)
        return false;
    return longest_of(hidden, hidden->files, path) > 0;
}

/* How many of the places a call is about: a socket is not to get another path either. */
static size_t concerned(const struct hidden *hidden, const struct call *call) {
    enum change change = call->asked->change;
    bool is_of_sockets = change == LINKS || change == MOVES || asked_connects(change);
    return is_of_sockets ? hidden->count : hidden->files;
}

static size_t longest(const struct hidden *hidden, const struct call *call, const char *path) {
    return longest_of(hidden, concerned(hidden, call), path);
}

/* Whether a thread's program owns what the longest places are, each of them. */
static bool is_owned(const struct hidden *hidden, const char *path, size_t most,
                     pid_t thread) {
    for (size_t i = 0; i < hidden->count; i++) {
        const struct place *place = &hidden->places[i];
        if (length_within(path, place) == most &&
            !owner_is(place->owners, place->owners_length, thread))
            return false;
    }
    return true;
}

static bool is_above(const struct hidden *hidden, const char *path) {
    for (size_t i = 0; i < hidden->count; i++)
        if (strcmp(hidden->places[i].path, path) != 0 &&
            path_is_within(hidden->places[i].path, path))
            return true;
    return false;
}

/* ---- the call ---- */

/* Where the contents of files are found, past their names: on a disk, or in a memory. A
 * program's own memory holds what it has read itself. */
static bool is_raw(const struct call *call, const struct spot *spot) {
    mode_t mode = spot->about.st_mode;
    unsigned kind = major(spot->about.st_rdev), number = minor(spot->about.st_rdev);
    if (spot->object < 0) return false;
    if (S_ISBLK(mode)) return true;
    if (S_ISCHR(mode))
        return (kind == MEM_MAJOR && (number == 1 || number == 2 || number == 4)) ||
               kind == SCSI_GENERIC_MAJOR || kind == RAW_MAJOR || kind == MTD_CHAR_MAJOR;
    /* binfmt_misc has the kernel open programs for others. */
    if (!call_reads(call) && (!spot->system || spot->system == BINFMTFS_MAGIC)) return true;
    if (!spot_is_of_proc(spot)) return false;
    if (spot->parent < 0) return !S_ISDIR(mode) && !proc_is_told_to_all(spot->object);
    return strcmp(spot->name, "kcore") == 0 ||
           (strcmp(spot->name, "mem") == 0 && !proc_is_own(spot->parent, call->caller.thread));
}

/* Devices whose numbers are given out as they come. */
static bool is_raw_path(const char *path) {
    return strncmp(path, "/dev/bsg/", 9) == 0 || strncmp(path, "/dev/ng", 7) == 0;
}

/* Where a spot is: by what paths. */
struct found {
    const struct reached *reached;
    const char *name;
};

/* The file itself tells it where it has no name, or lies where another mount is. */
static struct found find(struct call *call, const struct spot *spot) {
    bool by_object = spot->object >= 0 &&
                     (spot->parent < 0 || !*spot->name || spot_is_mounted(spot));
    return (struct found){call_reached(call, spot, by_object), by_object ? "" : spot->name};
}

/* The next of the paths; false: there is none. */
static bool take_path(const struct found *found, size_t *at, char *path, size_t size) {
    const char *each = found->reached->paths.data + *at, *name = found->name;
    if (*at >= found->reached->paths.length) return false;
    *at += strlen(each) + 1;
    snprintf(path, size, "%s%s%s", each, *name && each[1] ? "/" : "", name);
    path_is_of_removed(path); /* that very name; the file may have others */
    return true;
}

/* Whether a file of which nobody knows where it is may be anything. */
static bool may_be_any(const struct hidden *hidden, const struct call *call,
                       const struct spot *spot) {
    bool is_made = spot->object < 0;
    const struct stat *about = is_made ? &spot->around.about : &spot->about;
    if (is_made && call->asked->change == OPENS && !(call->flags & O_CREAT)) return false;
    size_t count = asked_connects(call->asked->change) ? hidden->origin_count
                                                       : hidden->file_origins;
    return is_on(hidden, count, about->st_dev) ||
           mounts_hide(call->caller.thread, is_made ? spot->parent : spot->object);
}

/* Whether a call gives what is hidden there another path: whoever makes it. */
static bool leaves(const struct hidden *hidden, struct call *call, const char *path,
                   size_t most) {
    enum change change = call->asked->change;
    char other[3 * PATH_MAX];
    size_t at = 0;
    if (change != LINKS && change != MOVES) return false;
    bool stays = true;
    for (size_t i = 0; i < call->spot_count; i++) {
        struct found found = find(call, &call->spots[i]);
        at = 0;
        while (stays && take_path(&found, &at, other, sizeof other))
            stays = longest(hidden, call, other) == most && strncmp(other, path, most) == 0;
        stays = stays && at;
    }
    return !stays;
}

static bool is_path_touched(const struct hidden *hidden, struct call *call,
                            const struct spot *spot, const char *path) {
    size_t most = longest(hidden, call, path);
    if (spot->object >= 0 && S_ISCHR(spot->about.st_mode) && is_raw_path(path)) return true;
    if (!most) return call->asked->change == MOVES && is_above(hidden, path);
    return leaves(hidden, call, path, most) ||
           !is_owned(hidden, path, most, call->caller.thread);
}

/* What has been removed, and is held open: whether it was hidden. Where nobody can tell, it
 * is open to who reads it already, as by /dev/stdin. */
static bool is_removed_touched(const struct hidden *hidden, const struct call *call,
                               const struct spot *spot) {
    char path[PATH_MAX];
    if (!file_path(spot->object, path)) return false; /* it never had a name */
    path_is_of_removed(path);
    if (!mounts_have(spot->mount))
        return may_be_any(hidden, call, spot) &&
               !process_reads(call->caller.thread, &spot->about);
    size_t most = longest(hidden, call, path);
    return most && !is_owned(hidden, path, most, call->caller.thread);
}

static bool is_spot_touched(const struct hidden *hidden, struct call *call,
                            const struct spot *spot) {
    char path[3 * PATH_MAX];
    bool touched = false;
    size_t at = 0;
    if (call->asked->change == OPENS && is_raw(call, spot)) return true;
    if (spot->is_nameless) return is_removed_touched(hidden, call, spot);
    struct found found = find(call, spot);
    if (found.reached->reach == UNREACHED) touched = may_be_any(hidden, call, spot);
    while (found.reached->reach == REACHED && !touched &&
           take_path(&found, &at, path, sizeof path))
        touched = is_path_touched(hidden, call, spot, path);
    return touched;
}

/* Calls that show what is there, or give it a name. */
static bool is_about_names(const struct call *call) {
    switch (call->asked->change) {
    case OPENS:
    case LINKS:
    case MOVES:
    case MAKES:
    case MAKES_DIRECTORY: return true;
    case CONNECTS:
    case CONNECTS_BY_MEMORY: return call->spot_count && call->spots[0].object >= 0;
    default: return false;
    }
}

bool hidden_is_touched(const struct hidden *hidden, struct call *call, size_t *which) {
    if (!is_about_names(call)) return false;
    for (size_t i = 0; i < call->spot_count; i++) {
        *which = i;
        if (is_spot_touched(hidden, call, &call->spots[i])) return true;
    }
    return false;
}
