/* Where a session may change files: what is elsewhere stays as it is.
 *
 * Places are directories with all that is below them, or single files. Of two that hold a
 * path the longer one counts. The names that lead to them stay what they are, or another
 * session would be led elsewhere by the same words. What is said in engine/places.py is
 * said here again. */
#define _GNU_SOURCE
#include "places.h"

#include "call.h"
#include "devices.h"
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const struct rule places_rule = {
    "builtin:writable",
    "the session may not write there: its role says where it may",
    "write below the working directory, or to a temporary directory",
    EACCES,
};

/* What a person has allowed meanwhile is asked for so often at most. */
enum { ASKED_A_SECOND = 20 };

struct places {
    struct places_given given, now; /* from the start; with what has been allowed since */
    const struct daemon *daemon;
    pthread_rwlock_t lock;
    pthread_mutex_t asking;
    time_t second; /* in which it was asked last, and how often */
    int asked;
    struct bytes allowed; /* paths that each end with NUL */
};

/* What drivers are for. */
static const char *const drivers[] = {
    "/dev/fuse",    "/dev/kvm",   "/dev/kfd",         "/dev/dri/*",
    "/dev/nvidia*", "/dev/snd/*", "/dev/video[0-9]*", NULL,
};

struct places *places_prepare(struct places_given given, const struct daemon *daemon) {
    struct places *places = allocate(sizeof *places);
    *places = (struct places){.given = given, .now = given, .daemon = daemon};
    pthread_rwlock_init(&places->lock, NULL);
    pthread_mutex_init(&places->asking, NULL);
    reached_note();
    return places;
}

/* ---- paths ---- */

/* Whether a path is in a place; a star at its end stands for any continuation. */
static bool is_in(const char *path, const char *place) {
    size_t length = strlen(place);
    if (length && place[length - 1] == '*')
        return strncmp(path, place, length - 1) == 0;
    return path_is_within(path, place);
}

static size_t longest(const char *path, const char *const *among) {
    size_t most = 0;
    for (; *among; among++)
        if (is_in(path, *among) && strlen(*among) > most) most = strlen(*among);
    return most;
}

static bool is_below(const char *path, const char *const *among) {
    for (; *among; among++)
        if (strcmp(path, *among) != 0 && path_is_within(*among, path)) return true;
    return false;
}

static bool is_one(const char *path, const char *const *among) {
    for (; *among; among++)
        if (strcmp(path, *among) == 0) return true;
    return false;
}

/* ---- what becomes of a path ---- */

/* What a call does to one of its spots. */
struct deal {
    bool makes_directory, names, takes_away;
};

static struct deal deal_of(const struct call *call) {
    enum change change = call->asked->change;
    return (struct deal){
        .makes_directory = change == MAKES_DIRECTORY,
        .names = change == MOVES || change == REMOVES || change == LINKS ||
                 call->asked->deed == SYMLINK,
        .takes_away = change == REMOVES || change == MOVES,
    };
}

static bool is_way(const struct places_given *given, struct deal deal, const char *path) {
    if (!deal.names) return false;
    return is_below(path, given->writable) || is_below(path, given->closed) ||
           (deal.takes_away && is_one(path, given->tops));
}

static bool is_held(const struct places_given *given, struct deal deal, const char *path) {
    if (deal.makes_directory && is_below(path, given->writable)) return true;
    return longest(path, given->writable) > longest(path, given->closed);
}

/* Of the paths by which it was reached one is enough; none of them may be a way. */
static bool are_held(const struct places_given *given, struct deal deal,
                     const struct bytes *paths, const char *name) {
    char path[3 * PATH_MAX];
    const char *end = paths->data + paths->length;
    bool held = false;
    for (const char *each = paths->data; each < end; each += strlen(each) + 1) {
        snprintf(path, sizeof path, "%s%s%s", each, *name && each[1] ? "/" : "", name);
        if (is_way(given, deal, path)) return false;
        held = held || is_held(given, deal, path);
    }
    return held;
}

/* ---- what keeps nothing ---- */

/* What a process tells the kernel of itself: in a directory that is named by a number. */
static bool is_of_process(const char *inside) {
    size_t digits = strspn(inside + 1, "0123456789");
    return digits && inside[1 + digits] == '/';
}

static bool is_driver(const struct bytes *paths) {
    const char *end = paths->data + paths->length;
    for (const char *each = paths->data; each < end; each += strlen(each) + 1)
        for (const char *const *known = drivers; *known; known++)
            if (fnmatch(*known, each, 0) == 0) return true;
    return false;
}

/* Whether it is opened, and a file only by its name. */
static bool is_opened_device(const struct call *call, const struct spot *spot) {
    mode_t mode = spot->about.st_mode;
    return call->asked->change == OPENS && spot->object >= 0 &&
           (S_ISCHR(mode) || S_ISBLK(mode) || spot_is_of_proc(spot));
}

/* Whether that is one that keeps nothing. */
static bool is_harmless(const struct call *call, const struct spot *spot) {
    return is_opened_device(call, spot) && S_ISCHR(spot->about.st_mode) &&
           device_keeps_nothing(spot->about.st_rdev);
}

/* Whether opening it changes nothing but what it is for. */
static bool is_free_device(const struct spot *spot, const struct reached *reached) {
    if (S_ISREG(spot->about.st_mode)) return is_of_process(reached->inside);
    return S_ISCHR(spot->about.st_mode) && is_driver(&reached->paths);
}

/* ---- the call ---- */

/* Whether the file itself tells where it is, and not the directory that has its name: it
 * has none, or something is mounted there; a device is known by its own path. */
static bool is_by_object(const struct call *call, const struct spot *spot) {
    enum change change = call->asked->change;
    bool is_asked = change == OPENS || change == ALTERS || change == ALTERS_OPEN;
    if (spot->object < 0) return false;
    return spot->parent < 0 || is_opened_device(call, spot) ||
           (is_asked && spot_is_mounted(spot));
}

/* What is opened for reading, or made where it is not there: what is there is read. */
static bool becomes_reading(struct call *call, const struct spot *spot) {
    bool only_reads = call->asked->change == OPENS && spot->object >= 0 &&
                      !S_ISDIR(spot->about.st_mode) &&
                      !(call->flags & (O_WRONLY | O_RDWR | O_TRUNC | O_EXCL)) &&
                      (call->flags & __O_TMPFILE) == 0;
    if (only_reads) call->flags &= ~(uint64_t)O_CREAT;
    return only_reads;
}

static bool is_left(const struct places_given *given, struct call *call, size_t number) {
    struct spot *spot = &call->spots[number];
    bool by_object = is_by_object(call, spot), is_proc = spot_is_of_proc(spot), held;
    struct deal deal = deal_of(call);
    if (spot->is_nameless || is_harmless(call, spot)) return false;
    const struct reached *reached = call_reached(call, spot, by_object);
    if (reached->reach == UNREACHED) held = false;
    else if (is_opened_device(call, spot)) held = is_free_device(spot, reached);
    else if (reached->reach == IN_MEMORY) held = !is_proc || is_of_process(reached->inside);
    else held = are_held(given, deal, &reached->paths, by_object ? "" : spot->name);
    return !held && !becomes_reading(call, spot);
}

static bool is_any_left(struct places *places, struct call *call, size_t *which) {
    bool found = false;
    pthread_rwlock_rdlock(&places->lock);
    for (size_t i = 0; i < call->spot_count && !found; i++) {
        found = is_left(&places->now, call, i);
        if (found) *which = i;
    }
    pthread_rwlock_unlock(&places->lock);
    return found;
}

/* ---- what a person allows meanwhile ---- */

static const char **list_of(size_t most) {
    const char **list = allocate((most + 1) * sizeof *list);
    *list = NULL;
    return list;
}

static size_t count_of(const char *const *list) {
    size_t count = 0;
    while (list[count]) count++;
    return count;
}

/* What is allowed is a place, and no exception any more. */
static void take_allowed(struct places *places, struct bytes *allowed) {
    const struct places_given *given = &places->given;
    const char *end = allowed->data + allowed->length;
    const char **writable = list_of(count_of(given->writable) + allowed->length);
    const char **closed = list_of(count_of(given->closed)), **to = writable;
    for (const char **each = given->writable; *each; each++) *to++ = *each;
    for (const char *each = allowed->data; each < end; each += strlen(each) + 1) *to++ = each;
    *to = NULL;
    to = closed;
    for (const char **each = given->closed; *each; each++)
        if (!is_one(*each, writable)) *to++ = *each;
    *to = NULL;
    pthread_rwlock_wrlock(&places->lock);
    if (places->now.writable != given->writable) {
        free(places->now.writable);
        free(places->now.closed);
    }
    places->now = (struct places_given){writable, closed, given->tops};
    free(places->allowed.data);
    places->allowed = *allowed;
    pthread_rwlock_unlock(&places->lock);
}

/* Whether there is a question left in this second. */
static bool may_ask(struct places *places) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec != places->second) places->asked = 0;
    places->second = now.tv_sec;
    return places->asked++ < ASKED_A_SECOND;
}

/* Asks the daemon; whether there is anything new. */
static bool renew(struct places *places) {
    struct bytes allowed = {0};
    bool is_new = false;
    pthread_mutex_lock(&places->asking);
    if (may_ask(places)) {
        const struct request request = {.method = "GET", .about = "/allowed"};
        bool is_told = request_send(places->daemon, request, &allowed) && allowed.length &&
                       !allowed.data[allowed.length - 1];
        is_new = is_told && (allowed.length != places->allowed.length ||
                             memcmp(allowed.data, places->allowed.data, allowed.length) != 0);
        if (is_new) take_allowed(places, &allowed);
        else free(allowed.data);
    }
    pthread_mutex_unlock(&places->asking);
    return is_new;
}

bool places_are_left(struct places *places, struct call *call, size_t *which) {
    if (!is_any_left(places, call, which)) return false;
    renew(places); /* or another has done so meanwhile */
    return is_any_left(places, call, which);
}
