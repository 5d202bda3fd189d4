/* The daemon's answer: perhaps that the command is held, perhaps that its system calls
 * are to be supervised, perhaps that not all is known that it runs, then the verdict.
 *
 * Only the forms that the daemon sends are understood. A truncated or surprising answer
 * is no verdict. */
#define _GNU_SOURCE
#include "answer.h"

#include <ctype.h>
#include <string.h>

const char not_understood[] = "the daemon's answer is not understood; not run";

enum {
    ANSWER_MAX = 16 * 1024 * 1024,
    LINE_MAX_BYTES = 128,
    HELD_MAX = 7 * 86400,
    ROLE_MAX = 8192,
    WHY_MAX = 65536,
};

/* The digits of a number that ends exactly at end; false for anything else. */
static bool read_number(const char *text, const char *end, size_t *number) {
    if (text >= end || end - text > 8) return false;
    *number = 0;
    for (; text < end; text++) {
        if (!isdigit((unsigned char)*text)) return false;
        *number = *number * 10 + (size_t)(*text - '0');
    }
    return *number <= ANSWER_MAX;
}

static bool begins(const struct bytes *reply, const char *word) {
    size_t length = strlen(word);
    return reply->length >= length && memcmp(reply->data, word, length) == 0;
}

/* The end of the first line; NULL when it has not come. */
static char *line_end(const struct bytes *reply) {
    return reply->length ? memchr(reply->data, '\n', reply->length) : NULL;
}

/* Takes a word or words of these letters, and what ends them; 0 for anything else. */
static size_t take(const char *text, const char *letters, char end, char *word) {
    size_t length = strspn(text, letters);
    if (!length || length >= HELD_WORD || text[length] != end) return 0;
    memcpy(word, text, length);
    word[length] = '\0';
    return length + 1;
}

/* Takes "HELD <review> <seconds> <whose>\n" off the beginning, when it is there. */
enum progress reply_held(struct bytes *reply, struct held *held) {
    char *end = line_end(reply);
    if (!end || !begins(reply, "HELD ")) return WAITING;
    const char *text = reply->data + strlen("HELD ");
    size_t length = take(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789-_", ' ', held->review);
    if (!length) return MALFORMED;
    const char *digits = text + length, *space = memchr(digits, ' ', (size_t)(end - digits));
    size_t number;
    if (!space || !read_number(digits, space, &number)) return MALFORMED;
    if (number > HELD_MAX) return MALFORMED;
    if (!take(space + 1, "abcdefghijklmnopqrstuvwxyz ", '\n', held->whose))
        return MALFORMED;
    held->seconds = (long)number;
    size_t taken = (size_t)(end + 1 - reply->data);
    memmove(reply->data, end + 1, reply->length - taken);
    reply->length -= taken;
    reply->data[reply->length] = '\0';
    return COMPLETE;
}

/* Takes "<word><length>\n" and a text off the beginning, when it is there: COMPLETE says
 * that nothing of it is left to wait for. */
static enum progress take_text(struct bytes *reply, const char *word, size_t most,
                               struct bytes *text) {
    const char *end = line_end(reply);
    if (text->length || !end || !begins(reply, word)) return COMPLETE;
    size_t length, taken = (size_t)(end + 1 - reply->data);
    if (!read_number(reply->data + strlen(word), end, &length)) return MALFORMED;
    if (!length || length > most) return MALFORMED;
    if (reply->length - taken < length) return WAITING;
    if (memchr(end + 1, '\0', length)) return MALFORMED;
    bytes_add(text, end + 1, length);
    taken += length;
    memmove(reply->data, reply->data + taken, reply->length - taken);
    reply->length -= taken;
    reply->data[reply->length] = '\0';
    return COMPLETE;
}

enum progress reply_supervise(struct bytes *reply, struct bytes *role) {
    return take_text(reply, "SUPERVISE ", ROLE_MAX, role);
}

enum progress reply_why_rewritten(struct bytes *reply, struct bytes *why) {
    return take_text(reply, "BECAUSE ", WHY_MAX, why);
}

/* Whether "WORD <length>\n" and exactly that many bytes have come. */
static enum progress payload_progress(const struct bytes *reply, const char *word,
                                      const char *end) {
    size_t length, there = reply->length - (size_t)(end + 1 - reply->data);
    if (!begins(reply, word)) return MALFORMED;
    if (!read_number(reply->data + strlen(word), end, &length)) return MALFORMED;
    if (there < length) return WAITING;
    return there == length ? COMPLETE : MALFORMED;
}

/* Takes "OPEN\n" off the beginning, and tells whether it was there. */
bool reply_open(struct bytes *reply) {
    static const char line[] = "OPEN\n";
    size_t length = sizeof line - 1;
    if (!begins(reply, line)) return false;
    memmove(reply->data, reply->data + length, reply->length - length);
    reply->length -= length;
    reply->data[reply->length] = '\0';
    return true;
}

enum progress reply_progress(const struct bytes *reply) {
    const char *end = line_end(reply);
    if (!end) return reply->length > LINE_MAX_BYTES ? MALFORMED : WAITING;
    if (begins(reply, "ALLOW\n")) return reply->length == 6 ? COMPLETE : MALFORMED;
    enum progress blocked = payload_progress(reply, "BLOCK ", end);
    return blocked != MALFORMED ? blocked : payload_progress(reply, "MODIFY ", end);
}

const char *reply_verdict(const struct bytes *reply, struct answer *answer) {
    if (begins(reply, "ALLOW\n")) return NULL;
    const char *payload = line_end(reply) + 1;
    size_t length = reply->length - (size_t)(payload - reply->data);
    if (begins(reply, "BLOCK ")) return length ? payload : "blocked";
    if (memchr(payload, '\0', length)) return not_understood;
    answer->rewritten = true;
    bytes_add(&answer->command, payload, length);
    return NULL;
}
