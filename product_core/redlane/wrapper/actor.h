/* Acts as a thread of the session would: with its rights, in its namespace of users. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "bytes.h"
#include "domains.h"
#include "walk.h"

struct actor {
    bool is_alike; /* as this process itself, but for the mask */
    bool makes;    /* the mask is known */
    int users;     /* its namespace of users; -1: ours */
    uid_t uids[4]; /* real, effective, saved, of files */
    gid_t gids[4];
    struct bytes groups; /* of gid_t */
    unsigned long long capabilities;
    int domains[MOST_DOMAINS]; /* rulesets of Landlock */
    size_t domain_count;
    int root, directory; /* what it walks paths from; -1: it does not matter */
    int mounts, owner;   /* its namespace of mounts, and the users whose that is; -1: ours */
    mode_t mask; /* of the rights of what it makes */
};

extern const struct actor nobody; /* yet */

/* This process is told before one has other rights, as it is from now on. */
void actor_is_told(void);
/* One is about to have other rights. */
void actor_note(void);
/* Whether a thread has the rights of this process, and no domain. It is none that is apart
 * (apart.h). */
bool actor_is_like_us(pid_t thread);
/* `makes`: the mask is wanted. An errno, 0 for success. */
int actor_take(struct actor *actor, pid_t thread, bool makes);
/* Also what it walks paths from, for a deed that has the kernel do so. */
int actor_take_place(struct actor *actor, const struct caller *caller);
void actor_leave(struct actor *actor);

/* Once, and for each thread that acts, before it does. */
void actor_prepare(void);
void actor_prepare_thread(void);

/* What `deed` returns, done as the thread would do it; EPERM: that cannot be. `actor_look`
 * is for a deed that only finds out where paths lead: no domain keeps it from that. */
int actor_do(const struct actor *actor, int (*deed)(void *), void *about);
int actor_look(const struct actor *actor, int (*deed)(void *), void *about);
