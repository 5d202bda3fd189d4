/* Threads that take calls, each of which may take long: to look at a file may take as
 * long as its file system likes, which the session itself may serve.
 *
 * One of them leads: it waits for calls and does what they ask for, so that nobody else
 * wakes for most of them. Another is made to lead as soon as there is more than one call,
 * or one takes long; whoever led before goes on with what it has, and then waits for its
 * turn. There is one thread more than there are calls, up to a bound. */
#define _GNU_SOURCE
#include "crew.h"

#include "actor.h"
#include "message.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

/* So many threads at most, as there are descriptors for; some are left for what is no
 * call. */
enum {
    MOST_THREADS = 512,
    FEWEST_THREADS = 8,
    DESCRIPTORS = 16, /* of a call */
    DESCRIPTORS_LEFT = 256,
    STACK = 512 * 1024,
    LONG_NANOSECONDS = 5 * 1000 * 1000,
    QUIET_LOOKS = 10,
    CALL = 128, /* bytes */
};

static const struct crew_work *work;
static int most_threads;
static atomic_int idle, threads;
static atomic_uint leader; /* the number of its turn */
static atomic_uint steps;  /* odd while the leader does what a call asks for */
static atomic_bool is_watch_asleep;
static sem_t turn, activity;

int crew_most(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < DESCRIPTORS_LEFT)
        return FEWEST_THREADS;
    rlim_t most = (limit.rlim_cur - DESCRIPTORS_LEFT) / DESCRIPTORS;
    if (most > MOST_THREADS) return MOST_THREADS;
    return most < FEWEST_THREADS ? FEWEST_THREADS : (int)most;
}

static void await(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0 && errno == EINTR) continue;
}

/* ---- the threads ---- */

static void *serve(void *nothing);

/* Signals are for the main thread; that a reader has gone is an error, and no signal. */
bool crew_add(void *(*part)(void *), void *about) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = pthread_create(&thread, &attributes, part, about) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return is_started;
}

static void add_thread(void) {
    if (atomic_load(&threads) >= most_threads) return;
    atomic_fetch_add(&threads, 1);
    atomic_fetch_add(&idle, 1);
    if (crew_add(serve, NULL)) return;
    atomic_fetch_sub(&threads, 1);
    atomic_fetch_sub(&idle, 1);
}

/* Whoever has that turn leads no more. */
static void hand_on(unsigned mine) {
    if (!atomic_compare_exchange_strong(&leader, &mine, mine + 1)) return;
    if (atomic_load(&idle) == 0) add_thread();
    sem_post(&turn);
}

/* What the leader does is another thing than before. */
static void step(bool is_busy) {
    unsigned next = atomic_load(&steps) + 1;
    atomic_store(&steps, is_busy ? next | 1 : (next + 1) & ~1U);
}

/* Until another leads; false: there will be no calls. */
static bool lead(void) {
    char call[CALL] __attribute__((aligned(16)));
    unsigned mine = atomic_load(&leader);
    step(false);
    while (atomic_load(&leader) == mine) {
        if (!work->receive(work->about, call)) return false;
        step(true);
        if (atomic_load(&is_watch_asleep) && atomic_exchange(&is_watch_asleep, false))
            sem_post(&activity);
        if (work->is_more(work->about)) hand_on(mine);
        work->take(work->about, call);
        if (atomic_load(&leader) == mine) step(false);
    }
    return true;
}

static void *serve(void *nothing) {
    bool goes_on = true;
    (void)nothing;
    actor_prepare_thread();
    while (goes_on) {
        await(&turn);
        atomic_fetch_sub(&idle, 1);
        goes_on = lead();
        atomic_fetch_add(&idle, 1);
    }
    sem_post(&turn); /* the others find out, too */
    return NULL;
}

/* ---- who watches the leader ---- */

static void sleep_until_active(void) {
    atomic_store(&is_watch_asleep, true);
    if (!(atomic_load(&steps) & 1)) await(&activity);
    else atomic_store(&is_watch_asleep, false);
}

static void *watch(void *nothing) {
    const struct timespec pause = {.tv_nsec = LONG_NANOSECONDS};
    (void)nothing;
    for (int quiet = 0;;) {
        unsigned before = atomic_load(&steps), whose = atomic_load(&leader);
        nanosleep(&pause, NULL);
        if (atomic_load(&steps) != before) quiet = 0;
        else if (before & 1) hand_on(whose);
        else if (++quiet > QUIET_LOOKS) sleep_until_active();
    }
    return NULL;
}

void crew_start(const struct crew_work *given) {
    work = given;
    most_threads = crew_most();
    if (work->call_size > CALL || sem_init(&turn, 0, 1) != 0 || sem_init(&activity, 0, 0) != 0)
        refuse("the session cannot be supervised: no threads");
    /* Some at once: there may be no room for more processes later. */
    for (int i = 0; i < FEWEST_THREADS; i++) add_thread();
    if (!atomic_load(&threads) || !crew_add(watch, NULL))
        refuse("the session cannot be supervised: no thread");
}
