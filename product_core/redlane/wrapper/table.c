/* What is kept by paths, as it was when it was looked up. */
#define _GNU_SOURCE
#include "table.h"

#include <errno.h>
#include <fts.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* It is looked up again after so long, and never for more than a part of the time. */
enum { FRESH_MILLISECONDS = 1000, PART = 20, MOST_LINKS = 40 };

struct identity identity_of(const struct stat *about) {
    return (struct identity){about->st_dev, about->st_ino};
}

bool identity_is(struct identity one, struct identity other) {
    return one.inode == other.inode && one.device == other.device && one.inode;
}

const struct entry *table_entry(const struct table *table, size_t number) {
    size_t at = number * sizeof(struct entry);
    return at < table->entries.length ? (struct entry *)(table->entries.data + at) : NULL;
}

bool table_leads(const struct table *table, struct identity object) {
    const struct identity *above = (const struct identity *)table->above.data;
    for (size_t i = 0; i < table->above.length / sizeof *above; i++)
        if (identity_is(above[i], object)) return true;
    return false;
}

static void add_above(struct table *table, const char *directory) {
    struct stat about;
    if (stat(directory, &about) != 0) return;
    struct identity one = identity_of(&about);
    if (!table_leads(table, one)) bytes_add(&table->above, &one, sizeof one);
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

static void add_path(struct table *table, const char *path, int links);

static void add_way(struct table *table, const char *path) {
    const char *end = table->ways.data + table->ways.length;
    for (const char *each = table->ways.data; each < end; each += strlen(each) + 1)
        if (strcmp(each, path) == 0) return;
    bytes_add(&table->ways, path, strlen(path) + 1);
}

/* Keeps what leads on where a link does: `left` comes after it. */
static void add_target(struct table *table, const char *directory, const char *link,
                       const char *left, int links) {
    char target[PATH_MAX], path[3 * PATH_MAX];
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length <= 0 || links >= MOST_LINKS) return;
    target[length] = '\0';
    snprintf(path, sizeof path, "%s/%s%s", *target == '/' ? "" : directory, target, left);
    if (strlen(path) < PATH_MAX) add_path(table, path, links + 1);
}

/* Keeps a path: its end, the links on the way, and where the way ends before it. */
static void add_path(struct table *table, const char *path, int links) {
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
        if (exists && S_ISLNK(object.st_mode))
            add_target(table, directory, upto, left, links);
        if (!exists && !is_last) add_way(table, upto);
        if (!exists) return;
        snprintf(directory, sizeof directory, "%s", upto);
    }
}

static long milliseconds_since(const struct timespec *then) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (now.tv_sec - then->tv_sec) * 1000 + (now.tv_nsec - then->tv_nsec) / 1000000;
}

void table_leave(struct table *table) {
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

bool table_has(const struct table *table, struct identity object) {
    size_t count = table->content.length / sizeof object;
    return count && bsearch(&object, table->content.data, count, sizeof object, compare);
}

static struct beside *place_beside(struct table *table, ino_t inode) {
    return &table->beside[inode % BESIDE];
}

bool table_is_beside(struct table *table, const struct look *directory) {
    const struct beside *known = place_beside(table, directory->about.st_ino);
    pthread_mutex_lock(&table->lock);
    bool is_it = identity_is(known->directory, identity_of(&directory->about)) &&
                 known->mount == directory->mount &&
                 known->born.tv_sec == directory->born.tv_sec &&
                 known->born.tv_nsec == directory->born.tv_nsec;
    pthread_mutex_unlock(&table->lock);
    return is_it;
}

/* One that has come by the same number since was born later: of the youngest that could not
 * be told. */
void table_put_beside(struct table *table, const struct look *directory) {
    struct beside *place = place_beside(table, directory->about.st_ino);
    if (!directory->born.tv_sec || directory->born.tv_sec >= table->since.tv_sec) return;
    pthread_mutex_lock(&table->lock);
    place->directory = identity_of(&directory->about);
    place->born = directory->born;
    place->mount = directory->mount;
    pthread_mutex_unlock(&table->lock);
}

/* Keeps all that lies below a path by what it is. */
static void add_content(struct table *table, const char *path) {
    char *const paths[] = {(char *)(uintptr_t)path, NULL};
    if (strncmp(path, "/proc/", 6) == 0) return; /* what is there is made when looked at */
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!tree) {
        table->is_complete = false;
        return;
    }
    for (FTSENT *each; errno = 0, (each = fts_read(tree));) {
        bool is_failure = each->fts_info == FTS_DNR || each->fts_info == FTS_ERR ||
                          each->fts_info == FTS_NS;
        /* What lies further down and may not be read, the daemon does not read either. */
        bool is_closed = each->fts_errno == EACCES && each->fts_level > 0;
        bool is_gone = each->fts_errno == ENOENT;
        if (is_failure && !is_closed && !is_gone) table->is_complete = false;
        bool is_there = each->fts_info == FTS_D || each->fts_info == FTS_F ||
                        each->fts_info == FTS_SL || each->fts_info == FTS_DEFAULT;
        if (!is_there) continue;
        struct identity one = identity_of(each->fts_statp);
        bytes_add(&table->content, &one, sizeof one);
    }
    if (errno) table->is_complete = false;
    fts_close(tree);
}

struct table *table_make(const char *const *paths, size_t count, bool is_deep) {
    struct table *table = allocate(sizeof *table);
    *table = (struct table){.users = 1, .is_deep = is_deep, .is_complete = true};
    pthread_mutex_init(&table->lock, NULL);
    clock_gettime(CLOCK_MONOTONIC_COARSE, &table->looked);
    clock_gettime(CLOCK_REALTIME_COARSE, &table->since);
    for (size_t i = 0; i < count; i++) {
        add_path(table, paths[i], 0);
        if (is_deep) add_content(table, paths[i]);
    }
    if (table->content.length)
        qsort(table->content.data, table->content.length / sizeof(struct identity),
              sizeof(struct identity), compare);
    table->fresh = milliseconds_since(&table->looked) * PART;
    if (table->fresh < FRESH_MILLISECONDS) table->fresh = FRESH_MILLISECONDS;
    return table;
}

/* Whether a directory was made in which others are to be kept. */
static bool has_way_come(const struct table *table) {
    struct stat about;
    const char *end = table->ways.data + table->ways.length;
    for (const char *way = table->ways.data; way < end; way += strlen(way) + 1)
        if (lstat(way, &about) == 0) return true;
    return false;
}

bool table_is_fresh(const struct table *table) {
    return !has_way_come(table) && milliseconds_since(&table->looked) <= table->fresh;
}
