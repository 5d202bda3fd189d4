/* Pipes with names are opened for both ends at once: who opens one waits for the other.
 *
 * This process does so in place of others, who may end meanwhile. */
#define _GNU_SOURCE
#include "pipes.h"

#include "file.h"
#include "message.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MILLISECONDS = 50 };

#define ALARM SIGRTMIN

static void ignore(int number) { (void)number; } /* it ends what the thread waits in */

void pipes_prepare(void) {
    const struct sigaction action = {.sa_handler = ignore};
    if (sigaction(ALARM, &action, NULL) != 0)
        refuse("the session cannot be supervised: %s", strerror(errno));
}

/* ---- to write ---- */

/* Whether somebody has opened the other end of a pipe, or may have. */
static void await_opening(int watch) {
    struct pollfd opened = {.fd = watch, .events = POLLIN};
    char events[4096];
    if (poll(&opened, 1, LOOK_MILLISECONDS) == 1 &&
        read(watch, events, sizeof events) < 0) { /* it is looked at again anyway */
    }
}

int pipe_open_writing(int (*open)(void *), void *argument, int object,
                      bool (*is_wanted)(const void *), const void *about) {
    char link[FILE_LINK];
    int error = open(argument);
    int watch = error == ENXIO ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1;
    file_link(object, link);
    if (watch >= 0 && inotify_add_watch(watch, link, IN_OPEN) < 0) {
        close(watch);
        watch = -1;
    }
    for (bool again = false; error == ENXIO; again = true) {
        if (again) await_opening(watch);
        error = is_wanted(about) ? open(argument) : EINTR;
    }
    if (watch >= 0) close(watch);
    return error;
}

/* ---- to read ---- */

int pipe_open_reading(int (*open)(void *), void *argument, bool (*is_wanted)(const void *),
                      const void *about) {
    int error;
    do error = open(argument);
    while (error == EINTR && is_wanted(about));
    return error;
}

int pipe_for_a_while(int (*deed)(void *), void *argument) {
    const struct itimerspec while_ = {
        .it_interval = {.tv_nsec = LOOK_MILLISECONDS * 1000000L},
        .it_value = {.tv_nsec = LOOK_MILLISECONDS * 1000000L}};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = ALARM};
    timer_t timer;
    sigset_t alarm, before;
    event._sigev_un._tid = gettid();
    sigemptyset(&alarm);
    sigaddset(&alarm, ALARM);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return errno;
    pthread_sigmask(SIG_UNBLOCK, &alarm, &before);
    timer_settime(timer, 0, &while_, NULL);
    int result = deed(argument);
    timer_delete(timer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}
