/* The daemon's answer: an HTTP response read by hand, then the verdict in its body.
 *
 * Only the forms that the daemon sends are understood. A truncated or surprising answer
 * is no verdict. */
#define _GNU_SOURCE
#include "wrapper.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { HEADERS, BODY, CHUNK_SIZE, CHUNK, CHUNK_END, TRAILER, DONE };
enum { HEADERS_MAX = 16 * 1024 };

/* The digits of a number that ends exactly at end; false for anything else. */
static bool read_number(const char *text, const char *end, int base, size_t *number) {
    if (text >= end || end - text > 8) return false;
    *number = 0;
    for (; text < end; text++) {
        int digit = isdigit((unsigned char)*text) ? *text - '0'
                    : base == 16 && isxdigit((unsigned char)*text)
                        ? tolower((unsigned char)*text) - 'a' + 10
                        : -1;
        if (digit < 0) return false;
        *number = *number * (size_t)base + (size_t)digit;
    }
    return *number <= ANSWER_MAX;
}

/* The next line that ends in CR LF, taken from what has come; NULL when not yet. */
static char *take_line(struct reply *reply, char **end) {
    char *start = reply->raw.data + reply->parsed;
    size_t left = reply->raw.length - reply->parsed;
    char *stop = left ? memmem(start, left, "\r\n", 2) : NULL;
    if (!stop) return NULL;
    *end = stop;
    reply->parsed = (size_t)(stop + 2 - reply->raw.data);
    return start;
}

static bool read_status(struct reply *reply, const char *line, const char *end) {
    size_t status;
    if (end - line < 12 || memcmp(line, "HTTP/1.", 7) != 0 || line[8] != ' ')
        return false;
    if (!read_number(line + 9, line + 12, 10, &status)) return false;
    if (end - line > 12 && line[12] != ' ') return false;
    reply->status = (int)status;
    return true;
}

/* How long the body is, from one header line; two statements of it are a lie. */
static bool read_header(const char *line, const char *end, int *state, size_t *length) {
    const char *colon = memchr(line, ':', (size_t)(end - line));
    if (!colon) return false;
    const char *value = colon + 1;
    while (value < end && *value == ' ') value++;
    size_t name = (size_t)(colon - line);
    if (name == 14 && strncasecmp(line, "content-length", name) == 0) {
        if (*state != HEADERS || !read_number(value, end, 10, length)) return false;
        *state = *length ? BODY : DONE;
    } else if (name == 17 && strncasecmp(line, "transfer-encoding", name) == 0) {
        if (*state != HEADERS || end - value != 7) return false;
        if (strncasecmp(value, "chunked", 7) != 0) return false;
        *state = CHUNK_SIZE;
    }
    return true;
}

/* Takes the whole head once it is there. */
static enum progress read_headers(struct reply *reply) {
    if (!reply->raw.length) return WAITING;
    char *stop = memmem(reply->raw.data, reply->raw.length, "\r\n\r\n", 4);
    if (!stop) return reply->raw.length > HEADERS_MAX ? MALFORMED : WAITING;
    char *end = NULL, *line = take_line(reply, &end);
    if (!line || !read_status(reply, line, end)) return MALFORMED;
    int state = HEADERS;
    while ((line = take_line(reply, &end)) && line != end)
        if (!read_header(line, end, &state, &reply->remaining)) return MALFORMED;
    if (state == HEADERS) return MALFORMED;
    reply->state = state;
    return COMPLETE;
}

/* Moves what has come of the body or chunk; COMPLETE when it has come whole. */
static enum progress take_data(struct reply *reply) {
    size_t there = reply->raw.length - reply->parsed;
    size_t taken = there < reply->remaining ? there : reply->remaining;
    bytes_add(&reply->body, reply->raw.data + reply->parsed, taken);
    reply->parsed += taken;
    reply->remaining -= taken;
    return reply->remaining ? WAITING : COMPLETE;
}

static enum progress read_chunked(struct reply *reply) {
    char *end, *line;
    if (reply->state == CHUNK) {
        enum progress progress = take_data(reply);
        if (progress == COMPLETE) reply->state = CHUNK_END;
        return progress;
    }
    if (!(line = take_line(reply, &end)))
        return reply->raw.length - reply->parsed > 16 ? MALFORMED : WAITING;
    if (reply->state == CHUNK_SIZE) {
        if (!read_number(line, end, 16, &reply->remaining)) return MALFORMED;
        reply->state = reply->remaining ? CHUNK : TRAILER;
        return COMPLETE;
    }
    if (line != end) return MALFORMED; /* no trailers, nothing after a chunk */
    reply->state = reply->state == TRAILER ? DONE : CHUNK_SIZE;
    return COMPLETE;
}

enum progress reply_advance(struct reply *reply) {
    enum progress progress = COMPLETE;
    while (progress == COMPLETE && reply->state != DONE) {
        if (reply->state == HEADERS) progress = read_headers(reply);
        else if (reply->state != BODY) progress = read_chunked(reply);
        else if ((progress = take_data(reply)) == COMPLETE) reply->state = DONE;
        if (reply->body.length > ANSWER_MAX) return MALFORMED;
    }
    if (reply->state == DONE && reply->parsed != reply->raw.length) return MALFORMED;
    return progress;
}

/* Takes "HELD <review> <seconds>\n" off the body's beginning, when it is there. */
enum progress reply_held(struct reply *reply, char *review, size_t size,
                         long *seconds) {
    struct bytes *body = &reply->body;
    char *end = body->length ? memchr(body->data, '\n', body->length) : NULL;
    if (!end || body->length < 5 || memcmp(body->data, "HELD ", 5) != 0)
        return WAITING;
    char *id = body->data + 5;
    size_t length = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789-_");
    size_t number;
    if (!length || length >= size || id[length] != ' ') return MALFORMED;
    if (!read_number(id + length + 1, end, 10, &number)) return MALFORMED;
    if (number > 7 * 86400) return MALFORMED;
    memcpy(review, id, length);
    review[length] = '\0';
    *seconds = (long)number;
    size_t taken = (size_t)(end + 1 - body->data);
    memmove(body->data, end + 1, body->length - taken);
    body->length -= taken;
    body->data[body->length] = '\0';
    return COMPLETE;
}

static _Noreturn void not_understood(void) {
    refuse("the daemon's answer is not understood; not run");
}

/* Whether the body is exactly "WORD <length>\n" and that many bytes. */
static bool has_payload(const struct bytes *body, const char *word, size_t *start) {
    size_t known = strlen(word), length;
    if (body->length < known || memcmp(body->data, word, known) != 0) return false;
    char *end = memchr(body->data, '\n', body->length);
    if (!end || !read_number(body->data + known, end, 10, &length)) return false;
    *start = (size_t)(end + 1 - body->data);
    return body->length - *start == length;
}

void reply_verdict(const struct reply *reply, struct answer *answer) {
    const struct bytes *body = &reply->body;
    size_t start;
    if (reply->status != 200)
        refuse("the daemon could not judge the command (HTTP %d); not run",
               reply->status);
    if (body->length == 6 && memcmp(body->data, "ALLOW\n", 6) == 0) return;
    if (has_payload(body, "BLOCK ", &start)) {
        if (start == body->length) refuse("blocked");
        refuse_saying(body->data + start, body->length - start);
    }
    if (!has_payload(body, "MODIFY ", &start)) not_understood();
    if (memchr(body->data + start, '\0', body->length - start)) not_understood();
    answer->rewritten = true;
    bytes_add(&answer->command, body->data + start, body->length - start);
}
