/* Tells the daemon of calls that were refused: an event as it happens, and for those that
 * a process goes on with, one a second with their number. */
#define _GNU_SOURCE
#include "report.h"

#include "command_line.h"
#include "message.h"
#include "processes.h"

#include <limits.h>
#include <stdint.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_OF_COMMAND = 900,
    MOST_OF_PATH = 2000,
    LONGEST_LINE = 64 * 1024,
    REMEMBERED = 64,
    PAUSE_SECONDS = 1,
};

/* What a process is refused again and again. */
struct kind {
    const struct rule *rule;
    const char *call;
    struct process process;
    time_t told;        /* when the daemon was told last, in seconds */
    size_t count;       /* not told yet */
    struct bytes event; /* of the last one, without the number */
};

static struct kind kinds[REMEMBERED];
static size_t next;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- what is told ---- */

/* A JSON string; controls and what is no UTF-8 are written out, as on a terminal. */
static void add_string(struct bytes *to, const char *text, size_t length) {
    char *shown = allocate(length * MOST_SHOWN + 1);
    char *end = message_show(shown, text, length);
    bytes_add_text(to, "\"");
    for (const char *at = shown; at < end; at++) {
        if (*at == '"' || *at == '\\') bytes_add_text(to, "\\");
        bytes_add(to, at, 1);
    }
    bytes_add_text(to, "\"");
    free(shown);
}

static void add_named(struct bytes *to, const char *name, const char *text, size_t most) {
    bytes_add_text(to, name);
    add_string(to, text, strnlen(text, most));
}

/* What the process was started as; "" where that is not known. */
static void add_command(struct bytes *to, pid_t process) {
    char path[64], program[PATH_MAX];
    struct bytes words = {0}, text = {0};
    bytes_add(&text, "", 0);
    snprintf(path, sizeof path, "/proc/%ld/exe", (long)process);
    ssize_t length = readlink(path, program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)process);
    if (bytes_read_file(&words, path, LONGEST_LINE))
        command_line_add(&text, program, words.data, words.length);
    add_named(to, ",\"command\":", text.data, MOST_OF_COMMAND / MOST_SHOWN);
    free(words.data);
    free(text.data);
}

static struct bytes event_of(const struct refusal *refusal, long process) {
    char number[64];
    struct bytes event = {0};
    const struct rule *rule = refusal->rule;
    add_named(&event, "{\"verdict\":\"BLOCK\",\"policy\":", rule->policy, SIZE_MAX);
    add_named(&event, ",\"reason\":", rule->reason, SIZE_MAX);
    add_named(&event, ",\"call\":{\"syscall\":", refusal->call, SIZE_MAX);
    add_named(&event, ",\"paths\":[", refusal->path, MOST_OF_PATH);
    snprintf(number, sizeof number, "],\"pid\":%ld",
             process > 0 ? process : (long)refusal->thread);
    bytes_add_text(&event, number);
    add_command(&event, refusal->thread);
    bytes_add_text(&event, "}");
    return event;
}

/* Waits until the daemon has it, so that it is told of before the caller goes on; a
 * daemon that does not answer is not waited for long. */
static void tell_daemon(const struct daemon *daemon, const struct bytes *event,
                        size_t count) {
    char number[64];
    struct bytes body = {0}, answer = {0};
    bytes_add_text(&body, "{\"events\":[");
    bytes_add(&body, event->data, event->length);
    snprintf(number, sizeof number, ",\"count\":%zu}]}", count);
    bytes_add_text(&body, number);
    const struct request request = {.method = "POST", .about = "/syscalls", .body = &body};
    request_send(daemon, request, &answer);
    free(body.data);
    free(answer.data);
}

/* ---- how often ---- */

static time_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

static struct kind *find_kind(const struct refusal *refusal, const struct process *process) {
    for (size_t i = 0; i < REMEMBERED; i++)
        if (kinds[i].rule == refusal->rule && kinds[i].call == refusal->call &&
            process_same(&kinds[i].process, process))
            return &kinds[i];
    return NULL;
}

/* Takes what a kind has to tell; false: nothing. */
static bool take_told(struct kind *kind, struct bytes *event, size_t *count) {
    *event = kind->event;
    *count = kind->count;
    kind->event = (struct bytes){0};
    kind->count = 0;
    kind->told = now();
    return *count > 0;
}

/* Counts a refusal of a kind that is known, which takes the event. */
static bool count_again(struct kind *kind, struct bytes *event, size_t *count) {
    free(kind->event.data);
    kind->event = *event;
    kind->count++;
    *event = (struct bytes){0};
    return now() - kind->told >= PAUSE_SECONDS && take_told(kind, event, count);
}

void report_refused(const struct daemon *daemon, const struct refusal *refusal) {
    struct process process = {0};
    struct bytes older = {0};
    size_t count = 1, older_count = 0;
    long of = process_of(refusal->thread);
    bool is_known = of > 0 && process_read(of, &process), is_told = true;
    struct bytes event = event_of(refusal, of);
    pthread_mutex_lock(&lock);
    struct kind *kind = is_known ? find_kind(refusal, &process) : NULL;
    if (kind) {
        is_told = count_again(kind, &event, &count);
    } else if (is_known) {
        kind = &kinds[next++ % REMEMBERED];
        take_told(kind, &older, &older_count);
        *kind = (struct kind){refusal->rule, refusal->call, process, now(), 0, {0}};
    }
    pthread_mutex_unlock(&lock);
    if (older_count) tell_daemon(daemon, &older, older_count);
    if (is_told) tell_daemon(daemon, &event, count);
    free(older.data);
    free(event.data);
}

void report_rest(const struct daemon *daemon) {
    for (size_t i = 0; i < REMEMBERED; i++) {
        struct bytes event;
        size_t count;
        pthread_mutex_lock(&lock);
        bool is_there = take_told(&kinds[i], &event, &count);
        pthread_mutex_unlock(&lock);
        if (is_there) tell_daemon(daemon, &event, count);
        free(event.data);
    }
}
