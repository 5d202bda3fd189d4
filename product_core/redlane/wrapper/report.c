/* Tells the daemon of a call that was refused: an event, as it happens. */
#define _GNU_SOURCE
#include "report.h"

#include "bytes.h"
#include "command_line.h"
#include "link.h"
#include "message.h"
#include "processes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_OF_COMMAND = 900, MOST_OF_PATH = 2000, LONGEST_LINE = 64 * 1024 };
static const double patience = 2; /* seconds */
static const char start[] = "{\"events\":[{\"verdict\":\"BLOCK\","
                            "\"policy\":\"builtin:own-files\",\"reason\":\"the files "
                            "that a session is judged by are out of its reach\","
                            "\"call\":{\"syscall\":";

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
    add_string(to, text.data, text.length < MOST_OF_COMMAND / MOST_SHOWN
                                  ? text.length
                                  : MOST_OF_COMMAND / MOST_SHOWN);
    free(words.data);
    free(text.data);
}

static void add_body(struct bytes *body, pid_t thread, const char *call,
                     const char *const *paths, size_t count) {
    char number[64];
    long process = process_of(thread);
    bytes_add_text(body, start);
    add_string(body, call, strlen(call));
    bytes_add_text(body, ",\"paths\":[");
    for (size_t i = 0; i < count; i++) {
        if (i) bytes_add_text(body, ",");
        add_string(body, paths[i], strnlen(paths[i], MOST_OF_PATH));
    }
    snprintf(number, sizeof number, "],\"pid\":%ld,\"command\":",
             process > 0 ? process : (long)thread);
    bytes_add_text(body, number);
    add_command(body, thread);
    bytes_add_text(body, "}}]}");
}

static void send_request(int link, const char *session, const struct bytes *body) {
    char head[512], answer[512];
    int length = snprintf(head, sizeof head,
                          "POST /api/sessions/%s/syscalls HTTP/1.1\r\nHost: redlane\r\n"
                          "Connection: close\r\nContent-Type: application/json\r\n"
                          "Content-Length: %zu\r\n\r\n",
                          session, body->length);
    if (length < 0 || (size_t)length >= sizeof head) return;
    if (send(link, head, (size_t)length, MSG_NOSIGNAL | MSG_MORE) != length) return;
    if (send(link, body->data, body->length, MSG_NOSIGNAL) != (ssize_t)body->length)
        return;
    while (recv(link, answer, sizeof answer, 0) > 0) continue;
}

/* Waits until the daemon has it, so that it is told of before the caller goes on; a
 * daemon that does not answer is not waited for long. */
void report_refused(const struct reporter *reporter, pid_t thread, const char *call,
                    const char *const *paths, size_t count) {
    struct bytes body = {0};
    if (!reporter->session) return;
    int link = link_to(reporter->socket, patience);
    if (link < 0) return;
    add_body(&body, thread, call, paths, count);
    send_request(link, reporter->session, &body);
    free(body.data);
    close(link);
}
