/* The daemon's own files, which no session changes: told by what they are, not by how
 * they are called.
 *
 * A file is kept that has the name of one in the directory that this lies in, or that is
 * one of them by another way; and all that lies below one. What a session has mounted may
 * be some of it in another place, and is looked at by what it is. Directories above, and links on the way,
 * are neither moved nor removed. What the daemon makes anew is another file
 * by then: what is kept is looked up again now and then. */
#define _GNU_SOURCE
#include "kept.h"

#include "bytes.h"
#include "file.h"
#include "message.h"
#include "mounts.h"
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

const struct rule kept_rule = {
    "builtin:own-files",
    "the files that a session is judged by are out of its reach",
    "change them from outside of the session",
    EACCES,
};

struct kept {
    pthread_mutex_t lock;
    struct origin *origins;
    size_t origin_count;
    const char *const *paths;
    size_t count;
    struct table *tables[2]; /* the one and the other depth */
};

struct kept *kept_prepare(const char *const *paths, size_t count) {
    struct kept *kept = allocate(sizeof *kept);
    *kept = (struct kept){.paths = paths, .count = count, .origin_count = count};
    kept->origins = allocate((count + 1) * sizeof *kept->origins);
    mounts_note();
    for (size_t i = 0; i < count; i++) kept->origins[i] = mounts_origin(paths[i]);
    pthread_mutex_init(&kept->lock, NULL);
    return kept;
}

/* What is kept now: nobody waits for one that looks at a file. */
static struct table *take_table(struct kept *kept, bool is_deep, bool is_new) {
    pthread_mutex_lock(&kept->lock);
    struct table **table = &kept->tables[is_deep];
    if (!*table || is_new || !table_is_fresh(*table)) {
        if (*table) table_leave(*table);
        *table = table_make(kept->paths, kept->count, is_deep);
    }
    struct table *taken = *table;
    taken->users++;
    pthread_mutex_unlock(&kept->lock);
    return taken;
}

static void give_table(struct kept *kept, struct table *table) {
    pthread_mutex_lock(&kept->lock);
    table_leave(table);
    pthread_mutex_unlock(&kept->lock);
}

/* Whether a file is called so, or as it is while it is written, before it is put in
 * place: `.NAME.new`, `.NAME-RANDOM`. */
static bool is_named(const struct entry *entry, const char *name) {
    size_t length = strlen(entry->name);
    if (strcmp(entry->name, name) == 0) return true;
    if (*name != '.' || entry->is_way || strncmp(name + 1, entry->name, length) != 0)
        return false;
    const char *rest = name + 1 + length;
    return *rest == '-' || strcmp(rest, ".new") == 0;
}

/* Whether what has this name, or is `object`, is kept in a directory. */
static bool is_kept(const struct table *table, struct identity directory,
                    const char *name, struct identity object, enum touch touch) {
    const struct entry *each;
    if (table_has(table, object)) return true;
    for (size_t i = 0; (each = table_entry(table, i)); i++) {
        if (identity_is(each->object, object)) return true;
        if (each->is_way && touch == MADE) continue;
        if (identity_is(each->directory, directory) && *name && is_named(each, name)) return true;
    }
    return false;
}

static bool has_no_room(int error) {
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

enum where { ELSEWHERE, WITHIN, UNKNOWN };
enum { REMEMBERED = 8 }; /* directories on the way up */

/* Whether a directory is kept, or lies in one that is. Those on the way up that do not are
 * remembered: many calls after each other are about the same ones. */
static enum where place_of(struct table *table, int directory) {
    struct look passed[REMEMBERED], here = {0};
    struct identity before = {0};
    enum where where = UNKNOWN;
    size_t count = 0;
    int at = dup(directory);
    if (at < 0) return WITHIN; /* there is no room to look */
    while (at >= 0 && where == UNKNOWN && mounts_look(at, &here)) {
        struct identity itself = identity_of(&here.about);
        if (identity_is(itself, before) || table_is_beside(table, &here)) where = ELSEWHERE;
        else if (is_kept(table, itself, "", itself, CHANGED)) where = WITHIN;
        else if (count < REMEMBERED) passed[count++] = here;
        int up = where == UNKNOWN ? openat(at, "..", O_PATH | O_CLOEXEC) : -1;
        if (where == UNKNOWN && up < 0 && has_no_room(errno)) where = WITHIN;
        close(at);
        at = up;
        before = itself;
    }
    if (at >= 0) close(at);
    while (where == ELSEWHERE && count) table_put_beside(table, &passed[--count]);
    return where;
}

/* Whether a path says where a file lies: the directory, opened, and its name there. */
static int directory_by_path(int from, const char *path, const struct stat *file,
                             char *own) {
    char directory[PATH_MAX], name[PATH_MAX];
    struct stat found;
    snprintf(directory, sizeof directory, "%s", path);
    snprintf(name, sizeof name, "%s", path);
    const char *start = dirname(directory);
    if (from != AT_FDCWD) start = start[1] ? start + 1 : ".";
    int parent = openat(from, start, O_PATH | O_CLOEXEC);
    if (parent < 0) return -1;
    snprintf(own, NAME_MAX + 1, "%s", basename(name));
    if (fstatat(parent, own, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
        identity_is(identity_of(&found), identity_of(file)))
        return parent;
    close(parent);
    return -1;
}

/* The directory that an open file lies in; -1 when that cannot be told. */
static int directory_of(const struct caller *caller, const struct spot *spot,
                        char *name) {
    char path[PATH_MAX];
    if (!file_path(spot->object, path)) return -1;
    int found = directory_by_path(AT_FDCWD, path, &spot->about, name);
    return found >= 0 ? found : directory_by_path(caller->root, path, &spot->about, name);
}

static enum where place_of_open(struct table *table, const struct caller *caller,
                                const struct spot *spot) {
    char name[NAME_MAX + 1];
    struct stat about;
    int directory = directory_of(caller, spot, name);
    if (directory < 0) return has_no_room(errno) ? WITHIN : UNKNOWN;
    enum where where = place_of(table, directory);
    if (fstat(directory, &about) != 0 || is_kept(table, identity_of(&about), name,
                                                 identity_of(&spot->about), CHANGED))
        where = WITHIN;
    close(directory);
    return where;
}

static enum where where_is(struct table *table, const struct caller *caller,
                           const struct spot *spot, enum touch touch) {
    struct identity object = {0};
    if (spot->object >= 0) object = identity_of(&spot->about);
    if (touch == REPLACED && table_leads(table, object)) return WITHIN;
    if (spot->parent < 0) {
        if (is_kept(table, object, "", object, touch)) return WITHIN;
        return spot->is_nameless ? ELSEWHERE : place_of_open(table, caller, spot);
    }
    if (is_kept(table, identity_of(&spot->around.about), spot->name, object, touch)) return WITHIN;
    return table_is_beside(table, &spot->around) ? ELSEWHERE
                                                 : place_of(table, spot->parent);
}

/* Whether a file may be reached by another mount than the kept ones are: by one that has
 * been made since, or, in a file system that has kept ones, by one that has none. */
static bool is_beside(const struct kept *kept, uint64_t mount, dev_t device) {
    bool shares = false;
    if (!mounts_have(mount)) return true;
    for (size_t i = 0; i < kept->origin_count; i++) {
        if (kept->origins[i].mount == mount) return false;
        shares = shares || kept->origins[i].device == device;
    }
    return shares;
}

/* Whether the file can have its place by a mount, or by another name. */
static bool may_be_elsewhere(const struct kept *kept, const struct spot *spot) {
    if (spot->parent < 0 && spot->is_nameless) return false;
    bool has_names = spot->object >= 0 && !S_ISDIR(spot->about.st_mode) &&
                     spot->about.st_nlink > 1;
    return has_names ||
           (spot->parent >= 0 &&
            is_beside(kept, spot->around.mount, spot->around.about.st_dev)) ||
           (spot->object >= 0 && is_beside(kept, spot->mount, spot->about.st_dev));
}

/* Whether what is there may be a file by itself that was mounted there. */
static bool is_mounted_file(const struct spot *spot) {
    return spot->object >= 0 && !S_ISDIR(spot->about.st_mode) &&
           (spot->parent < 0 || spot_is_mounted(spot));
}

static bool is_hidden(const struct caller *caller, const struct spot *spot) {
    return (spot->parent >= 0 && mounts_hide(caller->thread, spot->parent)) ||
           (spot->object >= 0 && mounts_hide(caller->thread, spot->object));
}

/* Whether what is mounted where a file is may have been made since the content was looked
 * up: it may be some of it. */
static bool is_young_mount(struct kept *kept, const struct spot *spot) {
    struct timespec born;
    bool is_named = spot->parent >= 0;
    if (mounts_have(is_named ? spot->around.mount : spot->mount) ||
        !mounts_root_born(is_named ? spot->parent : spot->object, &born))
        return false;
    pthread_mutex_lock(&kept->lock);
    const struct table *table = kept->tables[true];
    bool is_young = table && (born.tv_sec > table->since.tv_sec ||
                              (born.tv_sec == table->since.tv_sec &&
                               born.tv_nsec >= table->since.tv_nsec));
    pthread_mutex_unlock(&kept->lock);
    return is_young;
}

/* Whether a file of which nobody knows where it lies is one of them, or lies in one. */
static bool is_among(struct kept *kept, const struct spot *spot) {
    struct table *table = take_table(kept, true, true);
    const struct stat *about = spot->object >= 0 ? &spot->about : &spot->around.about;
    bool among = !table->is_complete || table_has(table, identity_of(about));
    give_table(kept, table);
    return among;
}

bool kept_touched(struct kept *kept, const struct caller *caller,
                  const struct spot *spot, enum touch touch) {
    bool is_deep = may_be_elsewhere(kept, spot);
    if (is_deep && is_hidden(caller, spot)) return true;
    bool is_new = is_deep && (is_mounted_file(spot) || is_young_mount(kept, spot));
    struct table *table = take_table(kept, is_deep, is_new);
    enum where where = table->is_complete ? where_is(table, caller, spot, touch) : WITHIN;
    give_table(kept, table);
    return where == WITHIN || (where == UNKNOWN && is_among(kept, spot));
}
