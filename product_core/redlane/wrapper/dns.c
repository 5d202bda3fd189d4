/* Answers questions about names (RFC 1035): with addresses, and with what name servers say
 * in which there are none. */
#define _GNU_SOURCE
#include "dns.h"

#include "bytes.h"
#include "crew.h"
#include "datagrams.h"
#include "names.h"

#include <ctype.h>
#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AT_ONCE = 256, LONGEST = 512, LONGEST_ANSWER = 4096 };
enum { HEAD = 12, MOST_OF_LABEL = 63, KIND_AND_CLASS = 4, LIFE_SECONDS = 60 };
enum { ADDRESS = 1, ADDRESS_6 = 28, INTERNET = 1 };
enum { NS = 2, CNAME = 5, SOA = 6, PTR = 12, MX = 15, TXT = 16, SRV = 33 };
enum { NAPTR = 35, DNAME = 39, OPTIONS = 41, SSHFP = 44, TLSA = 52, SPF = 99, CAA = 257 };
enum { IS_ANSWER = 0x80, OPERATION = 0x78, IS_RECURSIVE = 0x01, CAN_RECUR = 0x80 };
enum { IS_CUT = 0x02, COUNT = 6, RECORDS_HEAD = 3 };
enum code { FINE = 0, MALFORMED = 1, FAILED = 2, NO_SUCH_NAME = 3, NOT_DONE = 4 };

static const struct daemon *daemon_;
static atomic_int under_way;

/* A question as it came, and whose. */
struct asked {
    int file;
    struct sockaddr_storage from;
    socklen_t from_length;
    alignas(struct cmsghdr) char control[64]; /* to which address */
    size_t control_length;
    unsigned char data[LONGEST];
    size_t length;
};

struct question {
    char name[NAMES_LONGEST + 2]; /* small letters, without the last point */
    bool is_plain;                /* nothing else is in it than names of hosts have */
    unsigned kind, class;
    size_t end; /* of its bytes */
};

/* ---- what is asked ---- */

static unsigned number_at(const unsigned char *at) { return (unsigned)at[0] << 8 | at[1]; }

static bool is_plain(unsigned char byte) {
    return byte < 128 && (isalnum(byte) || byte == '-' || byte == '_');
}

/* Labels, each behind its length; no question has pointers among them. */
static bool read_name(const struct asked *asked, struct question *question) {
    size_t at = HEAD, length = 0;
    question->is_plain = true;
    for (;;) {
        if (at >= asked->length) return false;
        size_t label = asked->data[at++];
        if (!label) break;
        if (label > MOST_OF_LABEL || at + label > asked->length) return false;
        if (length + label + 1 > NAMES_LONGEST + 1) return false;
        for (size_t end = at + label; at < end; at++) {
            question->is_plain = question->is_plain && is_plain(asked->data[at]);
            question->name[length++] = (char)tolower(asked->data[at]);
        }
        question->name[length++] = '.';
    }
    question->name[length ? length - 1 : 0] = '\0';
    question->is_plain = question->is_plain && length;
    question->end = at;
    return true;
}

static bool read_question(const struct asked *asked, struct question *question) {
    if (asked->length < HEAD || asked->data[2] & IS_ANSWER || number_at(asked->data + 4) != 1 ||
        !read_name(asked, question) || question->end + KIND_AND_CLASS > asked->length)
        return false;
    question->kind = number_at(asked->data + question->end);
    question->class = number_at(asked->data + question->end + 2);
    question->end += KIND_AND_CLASS;
    return true;
}

/* Whether a name server is asked what there is of a name. */
static bool is_passed_on(const struct question *question) {
    switch (question->kind) {
    case NS: case CNAME: case SOA: case PTR: case MX: case TXT: case SRV:
    case NAPTR: case DNAME: case SSHFP: case TLSA: case SPF: case CAA:
        return question->is_plain && question->class == INTERNET;
    default: return false;
    }
}

/* What who asks can take (RFC 6891). */
static size_t room_for(const struct asked *asked, const struct question *question) {
    const unsigned char *at = asked->data + question->end;
    bool is_told = question->end + 5 <= asked->length && !number_at(asked->data + COUNT) &&
                   !number_at(asked->data + 8) && !at[0] && number_at(at + 1) == OPTIONS;
    size_t room = is_told ? number_at(at + 3) : LONGEST;
    if (room < LONGEST) return LONGEST;
    return room < LONGEST_ANSWER ? room : LONGEST_ANSWER;
}

/* ---- what is answered ---- */

/* One record, about the name of the question. */
static size_t add_address(unsigned char *to, unsigned kind, const void *address, size_t size) {
    const unsigned char head[] = {
        0xC0, HEAD, 0, (unsigned char)kind, 0, INTERNET, 0, 0, 0, LIFE_SECONDS,
        0, (unsigned char)size,
    };
    memcpy(to, head, sizeof head);
    memcpy(to + sizeof head, address, size);
    return sizeof head + size;
}

static enum code find(const struct question *question, struct found *found) {
    *found = (struct found){0};
    if (!question->is_plain || question->class != INTERNET) return NO_SUCH_NAME;
    switch (names_find(daemon_, question->name, found)) {
    case FINDING_FAILED: return FAILED;
    case FINDING_NONE: return NO_SUCH_NAME;
    default: return FINE;
    }
}

/* What name servers say, behind the question. */
static size_t add_records(const struct asked *asked, const struct question *question,
                          unsigned char *answer) {
    size_t length = question->end, rest = 0;
    struct bytes records = {0};
    bool is_told = names_records(daemon_, question->name, question->kind, &records) &&
                   records.length >= RECORDS_HEAD;
    answer[3] = (unsigned char)(CAN_RECUR | (is_told ? (unsigned char)records.data[0] : FAILED));
    if (is_told) rest = records.length - RECORDS_HEAD;
    if (length + rest > room_for(asked, question)) {
        answer[2] |= IS_CUT;
    } else if (rest) {
        memcpy(answer + COUNT, records.data + 1, 2);
        memcpy(answer + length, records.data + RECORDS_HEAD, rest);
        length += rest;
    }
    free(records.data);
    return length;
}

static size_t write_answer(const struct asked *asked, const struct question *question,
                           unsigned char *answer) {
    size_t length = question->end;
    struct found found = {0};
    bool is_done = !(asked->data[2] & OPERATION);
    memcpy(answer, asked->data, length);
    answer[2] = (unsigned char)(IS_ANSWER | (asked->data[2] & (OPERATION | IS_RECURSIVE)));
    memset(answer + COUNT, 0, HEAD - COUNT);
    if (is_done && is_passed_on(question)) return add_records(asked, question, answer);
    answer[3] = (unsigned char)(CAN_RECUR | (is_done ? find(question, &found) : NOT_DONE));
    bool has_four = question->kind == ADDRESS && found.has_four;
    bool has_six = question->kind == ADDRESS_6 && found.has_six;
    if (has_four) length += add_address(answer + length, ADDRESS, &found.four, sizeof found.four);
    if (has_six) length += add_address(answer + length, ADDRESS_6, &found.six, sizeof found.six);
    answer[7] = has_four || has_six;
    return length;
}

/* That it is no question. */
static size_t write_complaint(const struct asked *asked, unsigned char answer[HEAD]) {
    memset(answer, 0, HEAD);
    memcpy(answer, asked->data, 3);
    answer[2] = (unsigned char)(IS_ANSWER | (answer[2] & (OPERATION | IS_RECURSIVE)));
    answer[3] = CAN_RECUR | MALFORMED;
    return HEAD;
}

/* From where it was asked. */
static void send_answer(struct asked *asked, unsigned char *answer, size_t length) {
    struct iovec what = {answer, length};
    struct msghdr message = {.msg_name = &asked->from, .msg_namelen = asked->from_length,
                             .msg_iov = &what, .msg_iovlen = 1,
                             .msg_control = asked->control,
                             .msg_controllen = asked->control_length};
    (void)!sendmsg(asked->file, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void answer(struct asked *asked) {
    struct question question;
    unsigned char text[LONGEST_ANSWER];
    if (read_question(asked, &question))
        send_answer(asked, text, write_answer(asked, &question, text));
    else if (asked->length >= HEAD && !(asked->data[2] & IS_ANSWER))
        send_answer(asked, text, write_complaint(asked, text));
}

static void *answer_apart(void *about) {
    answer(about);
    atomic_fetch_sub(&under_way, 1);
    free(about);
    return NULL;
}

/* Whether nobody has to be asked. */
static bool is_quick(const struct asked *asked) {
    struct question question;
    return !read_question(asked, &question) || !question.is_plain ||
           (!is_passed_on(&question) && names_are_known(question.name));
}

/* ---- who asks ---- */

static bool receive(struct asked *asked) {
    struct iovec to = {asked->data, sizeof asked->data};
    struct msghdr message = {.msg_name = &asked->from, .msg_namelen = sizeof asked->from,
                             .msg_iov = &to, .msg_iovlen = 1,
                             .msg_control = asked->control,
                             .msg_controllen = sizeof asked->control};
    ssize_t got = recvmsg(asked->file, &message, MSG_CMSG_CLOEXEC);
    if (got < 0) return errno == EINTR;
    asked->length = (size_t)got; /* of a long one its beginning */
    asked->from_length = message.msg_namelen;
    asked->control_length = message.msg_controllen;
    return true;
}

/* To look a name up may take long: that is done by a thread of its own. Who is not answered
 * asks again. */
static void *listen_to(void *about) {
    for (;;) {
        struct asked *asked = allocate(sizeof *asked);
        *asked = (struct asked){.file = *(int *)about};
        if (!receive(asked)) {
            free(asked);
            return NULL;
        }
        bool is_answered = is_quick(asked);
        if (is_answered) answer(asked);
        bool has_room = !is_answered && atomic_fetch_add(&under_way, 1) < MOST_AT_ONCE;
        if (has_room && crew_add(answer_apart, asked)) continue;
        if (!is_answered) atomic_fetch_sub(&under_way, 1);
        free(asked);
    }
}

void dns_serve(const struct daemon *daemon) {
    static int files[2];
    const int families[] = {AF_INET, AF_INET6};
    daemon_ = daemon;
    names_prepare();
    for (int i = 0; i < 2; i++) {
        files[i] = datagrams_taker(families[i], NAMES_PORT);
        if (files[i] >= 0) crew_add(listen_to, &files[i]);
    }
}
