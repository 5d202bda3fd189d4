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
#include "message.h"
#include "mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <libgen.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const struct rule kept_rule = {
    "builtin:own-files",
    "the files that a session is judged by are out of its reach",
    "change them from outside of the session",
    EACCES,
};

/* It is looked up again after so long, and never for more than a part of the time. */
enum { FRESH_MILLISECONDS = 1000, PART = 20 };

struct identity {
    dev_t device;
    ino_t inode;
};

/* A name that is kept, and what is there. */
struct entry {
    struct identity directory, object;
    bool is_way; /* a directory, not there yet, that others are to be kept in */
    char name[NAME_MAX + 1];
};

/* What was there when it was looked up; it stays as long as somebody uses it. */
struct table {
    size_t users;
    bool is_deep;     /* it has the content */
    bool is_complete; /* all of it */
    long fresh;       /* for so many milliseconds */
    struct timespec looked;
    struct bytes ways;    /* paths of directories that are not there and may be made */
    struct bytes entries; /* an array of struct entry */
    struct bytes above;   /* of struct identity: what leads there */
    struct bytes content; /* the same, in order: all that lies below */
};

struct kept {
    pthread_mutex_t lock;
    const char *const *paths;
    size_t count;
    struct table *tables[2]; /* the one and the other depth */
};

struct kept *kept_prepare(const char *const *paths, size_t count) {
    struct kept *kept = allocate(sizeof *kept);
    *kept = (struct kept){.paths = paths, .count = count};
    pthread_mutex_init(&kept->lock, NULL);
    mounts_note();
    return kept;
}

static struct identity identity_of(const struct stat *about) {
    return (struct identity){about->st_dev, about->st_ino};
}

static bool is(struct identity one, struct identity other) {
    return one.inode == other.inode && one.device == other.device && one.inode;
}

static const struct entry *entry_at(const struct table *table, size_t number) {
    size_t at = number * sizeof(struct entry);
    return at < table->entries.length ? (struct entry *)(table->entries.data + at) : NULL;
}

static bool is_above(const struct table *table, struct identity object) {
    const struct identity *above = (const struct identity *)table->above.data;
    for (size_t i = 0; i < table->above.length / sizeof *above; i++)
        if (is(above[i], object)) return true;
    return false;
}

static void add_above(struct table *table, const char *directory) {
    struct stat about;
    if (stat(directory, &about) != 0) return;
    struct identity one = identity_of(&about);
    if (!is_above(table, one)) bytes_add(&table->above, &one, sizeof one);
}

static void add_entry(struct table *table, const char *directory, const char *name,
                      const struct stat *object, bool leads_on) {
    struct stat about;
    if (stat(directory, &about) != 0) return;
    struct entry entry = {.directory = identity_of(&about)};
    if (object) entry.object = identity_of(object);
    else entry.is_way = leads_on;
    snprintf(entry.name, sizeof entry.name, "%s", name);
    bytes_add(&table->entries, &entry, sizeof entry);
}

/* Keeps a path: its end, the links on the way, and where the way ends before it. */
static void add_path(struct table *table, const char *path) {
    char upto[PATH_MAX] = "/", directory[PATH_MAX] = "/";
    const char *left = path;
    while (*(left += strspn(left, "/"))) {
        struct stat object;
        char name[NAME_MAX + 1];
        size_t length = strcspn(left, "/");
        snprintf(name, sizeof name, "%.*s", (int)length, left);
        left += length;
        snprintf(upto, sizeof upto, "%.*s", (int)(left - path), path);
        bool is_last = !left[strspn(left, "/")], exists = lstat(upto, &object) == 0;
        add_above(table, directory);
        if (!exists || is_last || S_ISLNK(object.st_mode))
            add_entry(table, directory, name, exists ? &object : NULL, !is_last);
        if (!exists && !is_last) bytes_add(&table->ways, upto, strlen(upto) + 1);
        if (!exists) return;
        snprintf(directory, sizeof directory, "%s", upto);
    }
}

static long milliseconds_since(const struct timespec *then) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (now.tv_sec - then->tv_sec) * 1000 + (now.tv_nsec - then->tv_nsec) / 1000000;
}

static void leave_table(struct table *table) {
    if (--table->users) return;
    free(table->entries.data);
    free(table->above.data);
    free(table->content.data);
    free(table->ways.data);
    free(table);
}

static int compare(const void *one, const void *other) {
    return memcmp(one, other, sizeof(struct identity));
}

static bool is_content(const struct table *table, struct identity object) {
    size_t count = table->content.length / sizeof object;
    return count && bsearch(&object, table->content.data, count, sizeof object, compare);
}

/* Keeps all that lies below a path by what it is. */
static void add_content(struct table *table, const char *path) {
    char *const paths[] = {(char *)(uintptr_t)path, NULL};
    if (strncmp(path, "/proc/", 6) == 0) return; /* what is there is made when looked at */
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!tree) return;
    for (FTSENT *each; (each = fts_read(tree));) {
        /* What lies further down and cannot be read, the daemon does not read either. */
        if (each->fts_level == 0 && each->fts_info == FTS_DNR) table->is_complete = false;
        bool is_there = each->fts_info == FTS_D || each->fts_info == FTS_F ||
                        each->fts_info == FTS_SL || each->fts_info == FTS_DEFAULT;
        if (!is_there) continue;
        struct identity one = identity_of(each->fts_statp);
        bytes_add(&table->content, &one, sizeof one);
    }
    fts_close(tree);
}

static void look_again(struct kept *kept, bool is_deep) {
    struct table *table = allocate(sizeof *table);
    *table = (struct table){.users = 1, .is_deep = is_deep, .is_complete = true};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &table->looked);
    for (size_t i = 0; i < kept->count; i++) {
        add_path(table, kept->paths[i]);
        if (is_deep) add_content(table, kept->paths[i]);
    }
    if (table->content.length)
        qsort(table->content.data, table->content.length / sizeof(struct identity),
              sizeof(struct identity), compare);
    table->fresh = milliseconds_since(&table->looked) * PART;
    if (table->fresh < FRESH_MILLISECONDS) table->fresh = FRESH_MILLISECONDS;
    if (kept->tables[is_deep]) leave_table(kept->tables[is_deep]);
    kept->tables[is_deep] = table;
}

/* Whether a directory was made in which others are to be kept. */
static bool has_way_come(const struct table *table) {
    struct stat about;
    const char *end = table->ways.data + table->ways.length;
    for (const char *way = table->ways.data; way < end; way += strlen(way) + 1)
        if (lstat(way, &about) == 0) return true;
    return false;
}

/* What is kept now: nobody waits for one that looks at a file. */
static struct table *take_table(struct kept *kept, bool is_deep, bool is_new) {
    pthread_mutex_lock(&kept->lock);
    const struct table *known = kept->tables[is_deep];
    if (!known || is_new || has_way_come(known) ||
        milliseconds_since(&known->looked) > known->fresh)
        look_again(kept, is_deep);
    struct table *table = kept->tables[is_deep];
    table->users++;
    pthread_mutex_unlock(&kept->lock);
    return table;
}

static void give_table(struct kept *kept, struct table *table) {
    pthread_mutex_lock(&kept->lock);
    leave_table(table);
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
    if (is_content(table, object)) return true;
    for (size_t i = 0; (each = entry_at(table, i)); i++) {
        if (is(each->object, object)) return true;
        if (each->is_way && touch == MADE) continue;
        if (is(each->directory, directory) && *name && is_named(each, name)) return true;
    }
    return false;
}

enum where { ELSEWHERE, WITHIN, UNKNOWN };

/* Whether a directory is kept, or lies in one that is. */
static enum where place_of(const struct table *table, int directory) {
    struct identity before = {0};
    struct stat about;
    enum where where = UNKNOWN;
    int at = dup(directory);
    while (at >= 0 && where == UNKNOWN && fstat(at, &about) == 0) {
        struct identity here = identity_of(&about);
        if (is(here, before)) where = ELSEWHERE;
        else if (is_kept(table, here, "", here, CHANGED)) where = WITHIN;
        int up = openat(at, "..", O_PATH | O_CLOEXEC);
        close(at);
        at = up;
        before = here;
    }
    if (at >= 0) close(at);
    return where;
}

/* Whether a path says where a file lies: the directory, opened. */
static int directory_by_path(int from, const char *path, const struct stat *file) {
    char directory[PATH_MAX], name[PATH_MAX];
    struct stat found;
    snprintf(directory, sizeof directory, "%s", path);
    snprintf(name, sizeof name, "%s", path);
    const char *start = dirname(directory);
    if (from != AT_FDCWD) start = start[1] ? start + 1 : ".";
    int parent = openat(from, start, O_PATH | O_CLOEXEC);
    if (parent < 0) return -1;
    if (fstatat(parent, basename(name), &found, AT_SYMLINK_NOFOLLOW) == 0 &&
        is(identity_of(&found), identity_of(file)))
        return parent;
    close(parent);
    return -1;
}

/* The directory that an open file lies in; -1 when that cannot be told. */
static int directory_of(const struct caller *caller, const struct spot *spot) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", spot->object);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    if (*path != '/') return -1;
    int found = directory_by_path(AT_FDCWD, path, &spot->about);
    return found >= 0 ? found : directory_by_path(caller->root, path, &spot->about);
}

/* What is in no directory keeps nothing: pipes, sockets, and what has been removed. */
static bool is_nowhere(const struct spot *spot) {
    mode_t kind = spot->about.st_mode & S_IFMT;
    return (kind != S_IFREG && kind != S_IFDIR) || !spot->about.st_nlink;
}

static enum where place_of_open(const struct table *table, const struct caller *caller,
                                const struct spot *spot) {
    int directory = directory_of(caller, spot);
    if (directory < 0) return UNKNOWN;
    enum where where = place_of(table, directory);
    close(directory);
    return where;
}

static enum where where_is(const struct table *table, const struct caller *caller,
                           const struct spot *spot, enum touch touch) {
    struct identity object = {0};
    struct stat about;
    if (spot->object >= 0) object = identity_of(&spot->about);
    if (touch == REPLACED && is_above(table, object)) return WITHIN;
    if (spot->parent < 0) {
        if (is_kept(table, object, "", object, touch)) return WITHIN;
        return is_nowhere(spot) ? ELSEWHERE : place_of_open(table, caller, spot);
    }
    if (fstat(spot->parent, &about) != 0) return WITHIN;
    if (is_kept(table, identity_of(&about), spot->name, object, touch)) return WITHIN;
    return place_of(table, spot->parent);
}

static bool is_in_new_mount(int file) { return file >= 0 && !mounts_are_old(file); }

/* Whether a session can have given the file its place by a mount. */
static bool may_be_elsewhere(const struct spot *spot) {
    if (spot->parent < 0 && is_nowhere(spot)) return false;
    return is_in_new_mount(spot->parent) || is_in_new_mount(spot->object);
}

/* Whether what is there may be a file by itself that was mounted there. */
static bool is_mounted_file(const struct spot *spot) {
    return spot->object >= 0 && !S_ISDIR(spot->about.st_mode) &&
           (spot->parent < 0 || !mounts_are_same(spot->parent, spot->object));
}

static bool is_hidden(const struct caller *caller, const struct spot *spot) {
    return (spot->parent >= 0 && mounts_hide(caller->thread, spot->parent)) ||
           (spot->object >= 0 && mounts_hide(caller->thread, spot->object));
}

/* Whether a file of which nobody knows where it lies is one of them, or lies in one. */
static bool is_among(struct kept *kept, const struct spot *spot) {
    struct table *table = take_table(kept, true, true);
    struct stat about = spot->about;
    bool among = !table->is_complete ||
                 (spot->object < 0 && fstat(spot->parent, &about) != 0) ||
                 is_content(table, identity_of(&about));
    give_table(kept, table);
    return among;
}

bool kept_touched(struct kept *kept, const struct caller *caller,
                  const struct spot *spot, enum touch touch) {
    bool is_deep = may_be_elsewhere(spot);
    if (is_deep && is_hidden(caller, spot)) return true;
    struct table *table = take_table(kept, is_deep, is_deep && is_mounted_file(spot));
    enum where where = table->is_complete ? where_is(table, caller, spot, touch) : WITHIN;
    give_table(kept, table);
    return where == WITHIN || (where == UNKNOWN && is_among(kept, spot));
}
