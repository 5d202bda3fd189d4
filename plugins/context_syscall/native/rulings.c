/* Which calls were allowed, kept in buckets of a few places: bounded in number and size,
 * whatever a program asks for. Whole keys are compared, never hashes alone. */
#define _GNU_SOURCE
#include "hot.h"

#include <stdlib.h>
#include <string.h>

enum { WAYS = 4, BUCKETS = 4096, LONGEST_KEY = 1024 };

struct ruling {
    uint64_t hash;
    struct subject subject; /* its strings in one block, the literal first */
    char *block;            /* NULL: this place is empty */
};

bool rulings_init(struct rulings *rulings) {
    rulings->epoch = 1;
    rulings->kept = calloc((size_t)WAYS * BUCKETS, sizeof *rulings->kept);
    return rulings->kept && pthread_mutex_init(&rulings->lock, NULL) == 0;
}

static void drop(struct ruling *ruling) {
    free(ruling->block);
    ruling->block = NULL;
}

static void drop_all(struct rulings *rulings) {
    for (size_t place = 0; place < (size_t)WAYS * BUCKETS; place++)
        drop(&rulings->kept[place]);
}

void rulings_free(struct rulings *rulings) {
    if (!rulings->kept) return;
    drop_all(rulings);
    free(rulings->kept);
    rulings->kept = NULL;
    pthread_mutex_destroy(&rulings->lock);
}

/* FNV-1a. Whoever makes keys collide only has a bucket of his own turned over. */
static uint64_t hashed(uint64_t hash, const char *bytes, size_t length) {
    for (size_t at = 0; at < length; at++) {
        hash ^= (unsigned char)bytes[at];
        hash *= 0x100000001b3U;
    }
    return hash;
}

static uint64_t hash_of(const struct subject *subject) {
    uint64_t hash = 0xcbf29ce484222325U ^ (uint64_t)(unsigned)subject->number;
    hash ^= (uint64_t)subject->changes << 32;
    hash = hashed(hash, subject->literal, subject->literal_length + 1); /* with its NUL */
    hash = hashed(hash, subject->canonical, subject->canonical_length);
    return hash ^ hash >> 32;
}

static struct ruling *bucket_of(const struct rulings *rulings, uint64_t hash) {
    return &rulings->kept[hash % BUCKETS * WAYS];
}

static bool is_of(const struct ruling *ruling, const struct subject *subject, uint64_t hash) {
    const struct subject *kept = &ruling->subject;
    return ruling->block && ruling->hash == hash && kept->number == subject->number &&
           kept->changes == subject->changes &&
           kept->literal_length == subject->literal_length &&
           kept->canonical_length == subject->canonical_length &&
           memcmp(kept->literal, subject->literal, kept->literal_length) == 0 &&
           memcmp(kept->canonical, subject->canonical, kept->canonical_length) == 0;
}

bool rulings_hold(struct rulings *rulings, const struct subject *subject, uint64_t *epoch) {
    uint64_t hash = hash_of(subject);
    bool found = false;
    pthread_mutex_lock(&rulings->lock);
    const struct ruling *bucket = bucket_of(rulings, hash);
    for (int way = 0; way < WAYS && !found; way++) found = is_of(&bucket[way], subject, hash);
    *epoch = rulings->epoch;
    pthread_mutex_unlock(&rulings->lock);
    return found;
}

static struct ruling copied(const struct subject *subject, uint64_t hash) {
    struct ruling ruling = {.hash = hash, .subject = *subject};
    size_t length = subject->literal_length + subject->canonical_length;
    if (length > LONGEST_KEY || !(ruling.block = malloc(length + 1))) return ruling;
    memcpy(ruling.block, subject->literal, subject->literal_length);
    memcpy(ruling.block + subject->literal_length, subject->canonical,
           subject->canonical_length);
    ruling.subject.literal = ruling.block;
    ruling.subject.canonical = ruling.block + subject->literal_length;
    return ruling;
}

void rulings_add(struct rulings *rulings, const struct subject *subject, uint64_t epoch) {
    uint64_t hash = hash_of(subject);
    struct ruling added = copied(subject, hash);
    if (!added.block) return;
    pthread_mutex_lock(&rulings->lock);
    struct ruling *bucket = bucket_of(rulings, hash);
    if (epoch == rulings->epoch) {
        drop(&bucket[WAYS - 1]); /* the oldest: new ones come in at the front */
        memmove(&bucket[1], &bucket[0], (WAYS - 1) * sizeof *bucket);
        bucket[0] = added;
        added.block = NULL;
    }
    pthread_mutex_unlock(&rulings->lock);
    drop(&added);
}

void rulings_forget(struct rulings *rulings) {
    pthread_mutex_lock(&rulings->lock);
    rulings->epoch++;
    drop_all(rulings);
    pthread_mutex_unlock(&rulings->lock);
}
