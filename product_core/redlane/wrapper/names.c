/* Names that the session's programs look up, and the addresses that stand for them.
 *
 * Whoever connects tells an address, and what is judged are names. So a name that leads
 * elsewhere gets an address that stands for it alone, as long as the session runs: that
 * one leads nowhere by itself, and where it is connected to, the name is what the proxy is
 * asked for. Nothing that a name server says later leads past a judgement.
 *
 * The daemon tells whether there is such a name. It asks nobody about those that the
 * session may not ask for: these get an address too, and connecting is what is refused. */
#define _GNU_SOURCE
#include "names.h"

#include "bytes.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* 198.18.0.0/15 is for measurements of networks (RFC 2544), and routed nowhere. */
enum { FIRST = 0xC6120001u, MOST = 0x1FFFE, HEADS = 4096 };
enum { FRESH_SECONDS = 30, NONE_SECONDS = 2, TURNS = 256, MOST_AT_ONCE = 24 };
static const double patience = 20; /* seconds: resolvers have some */

struct name {
    char *text;
    unsigned next; /* of the same head, plus one */
    time_t until;  /* it is known to be there, in seconds */
};

static struct name names[MOST];
static unsigned heads[HEADS]; /* each plus one */
static unsigned count, oldest;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Of names that share it one at a time is asked for: most often all are the same. */
struct turn {
    pthread_mutex_t lock;
    char none[NAMES_LONGEST + 1]; /* what there was not of late */
    time_t until;
};
static struct turn turns[TURNS];
static sem_t room; /* for questions to the daemon */

static time_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

/* ---- the table ---- */

static uint32_t hash_of(const char *text) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

static unsigned *head_of(const char *text) { return &heads[hash_of(text) % HEADS]; }

static struct name *find(const char *text) {
    for (unsigned at = *head_of(text); at; at = names[at - 1].next)
        if (strcmp(names[at - 1].text, text) == 0) return &names[at - 1];
    return NULL;
}

static void forget(unsigned which) {
    unsigned *at = head_of(names[which].text);
    while (*at != which + 1) at = &names[*at - 1].next;
    *at = names[which].next;
    free(names[which].text);
}

/* The one that has stood longest makes room. */
static struct name *add(const char *text) {
    unsigned which = count < MOST ? count++ : oldest++ % MOST, *head = head_of(text);
    if (names[which].text) forget(which);
    names[which] = (struct name){.text = allocate(strlen(text) + 1), .next = *head};
    strcpy(names[which].text, text);
    *head = which + 1;
    return &names[which];
}

static struct in_addr address_of(const struct name *name) {
    return (struct in_addr){htonl(FIRST + (uint32_t)(name - names))};
}

/* Whether it stands for a name that is known to be there. */
static bool is_fresh(const char *text, struct in_addr *address) {
    pthread_mutex_lock(&lock);
    const struct name *name = find(text);
    bool is_known = name && now() < name->until;
    if (is_known) *address = address_of(name);
    pthread_mutex_unlock(&lock);
    return is_known;
}

static struct in_addr stand_for(const char *text) {
    pthread_mutex_lock(&lock);
    struct name *name = find(text);
    if (!name) name = add(text);
    name->until = now() + FRESH_SECONDS;
    struct in_addr address = address_of(name);
    pthread_mutex_unlock(&lock);
    return address;
}

static bool name_of(const union internet *address, char name[NAMES_LONGEST + 1]) {
    if (address->any.sa_family != AF_INET) return false;
    uint32_t which = ntohl(address->four.sin_addr.s_addr) - FIRST;
    pthread_mutex_lock(&lock);
    bool is_there = which < count;
    if (is_there) snprintf(name, NAMES_LONGEST + 1, "%s", names[which].text);
    pthread_mutex_unlock(&lock);
    return is_there;
}

bool names_stand(const union internet *address) {
    char name[NAMES_LONGEST + 1];
    return name_of(address, name);
}

void names_show(const union internet *address, char *text, size_t size) {
    char name[NAMES_LONGEST + 1];
    if (!name_of(address, name)) internet_show(address, text, size);
    else snprintf(text, size, "%s:%u", name, internet_port(address));
}

/* ---- what is asked ---- */

static bool take_here(const char *text, struct found *found) {
    union internet four = {.four.sin_family = AF_INET}, six = {.six.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &four.four.sin_addr) == 1 && internet_is_here(&four)) {
        found->has_four = true;
        found->four = four.four.sin_addr;
        return true;
    }
    if (inet_pton(AF_INET6, text, &six.six.sin6_addr) == 1 && internet_is_here(&six)) {
        found->has_six = true;
        found->six = six.six.sin6_addr;
        return true;
    }
    return false;
}

/* Addresses, each with NUL at its end; none: nobody was asked; an empty one: there is no
 * such name. */
static enum finding read_answer(const char *name, const struct bytes *answer,
                                struct found *found) {
    const char *end = answer->data + answer->length;
    bool is_here = false;
    if (answer->length && end[-1]) return FINDING_FAILED;
    if (answer->length && !*answer->data) return FINDING_NONE;
    for (const char *each = answer->data; each && each < end; each += strlen(each) + 1)
        is_here = take_here(each, found) || is_here;
    if (is_here) return FINDING_HERE;
    found->has_four = true;
    found->four = stand_for(name);
    return FINDING_STOOD;
}

/* What the daemon tells of a name. */
static bool tells(const struct daemon *daemon, const char *about, struct bytes *answer) {
    while (sem_wait(&room) != 0) continue;
    bool is_told =
        request_send(daemon, (struct request){"GET", about, NULL, patience}, answer);
    sem_post(&room);
    return is_told;
}

bool names_records(const struct daemon *daemon, const char *name, unsigned kind,
                   struct bytes *records) {
    char about[NAMES_LONGEST + 48];
    snprintf(about, sizeof about, "/addresses?name=%s&records=%u", name, kind);
    return tells(daemon, about, records);
}

static enum finding ask(const struct daemon *daemon, const char *name, struct found *found) {
    char about[NAMES_LONGEST + 32];
    struct bytes answer = {0};
    enum finding finding = FINDING_FAILED;
    snprintf(about, sizeof about, "/addresses?name=%s", name);
    if (tells(daemon, about, &answer)) finding = read_answer(name, &answer, found);
    free(answer.data);
    return finding;
}

static enum finding find_in_turn(const struct daemon *daemon, struct turn *turn,
                                 const char *name, struct found *found) {
    found->has_four = is_fresh(name, &found->four);
    if (found->has_four) return FINDING_STOOD;
    if (now() < turn->until && strcmp(turn->none, name) == 0) return FINDING_NONE;
    enum finding finding = ask(daemon, name, found);
    if (finding == FINDING_NONE) {
        strcpy(turn->none, name);
        turn->until = now() + NONE_SECONDS;
    }
    return finding;
}

bool names_are_known(const char *name) {
    struct in_addr address;
    return is_fresh(name, &address);
}

enum finding names_find(const struct daemon *daemon, const char *name, struct found *found) {
    struct turn *turn = &turns[hash_of(name) % TURNS];
    *found = (struct found){0};
    found->has_four = is_fresh(name, &found->four);
    if (found->has_four) return FINDING_STOOD;
    pthread_mutex_lock(&turn->lock);
    enum finding finding = find_in_turn(daemon, turn, name, found);
    pthread_mutex_unlock(&turn->lock);
    return finding;
}

void names_prepare(void) {
    sem_init(&room, 0, MOST_AT_ONCE);
    for (size_t i = 0; i < TURNS; i++) pthread_mutex_init(&turns[i].lock, NULL);
}
