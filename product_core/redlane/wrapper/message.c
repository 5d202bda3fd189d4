/* One line on standard error, in which no terminal control can hide. */
#define _GNU_SOURCE
#include "message.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The length of the UTF-8 character at text, and its code point; 0 when malformed. */
static size_t decode(const unsigned char *text, size_t left, unsigned *point) {
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = *text < 0x80             ? 1
                    : (*text & 0xe0) == 0xc0 ? 2
                    : (*text & 0xf0) == 0xe0 ? 3
                    : (*text & 0xf8) == 0xf0 ? 4
                                             : 0;
    if (!length || length > left) return 0;
    *point = length == 1 ? *text : *text & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) return 0;
        *point = *point << 6 | (text[i] & 0x3f);
    }
    bool surrogate = *point >= 0xd800 && *point <= 0xdfff;
    return *point < least[length] || *point > 0x10ffff || surrogate ? 0 : length;
}

/* Controls, separators, and what hides or reorders text on a screen. */
static bool misleads(unsigned point) {
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0xad ||
           (point >= 0x200b && point <= 0x200f) ||
           (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2060 && point <= 0x206f) || point == 0xfeff ||
           (point >= 0xe0000 && point <= 0xe007f);
}

/* Writes text to `to` as it is shown, which has room for it; where that ends. */
char *message_show(char *to, const char *text, size_t length) {
    const unsigned char *next = (const unsigned char *)text;
    while (length) {
        unsigned point = 0;
        size_t size = decode(next, length, &point);
        size_t taken = size ? size : 1;
        if (size && !misleads(point)) to = mempcpy(to, next, size);
        else
            for (size_t i = 0; i < taken; i++) to += sprintf(to, "\\x%02x", next[i]);
        next += taken;
        length -= taken;
    }
    return to;
}

/* Writes all of it; a reader that has gone away must not kill the wrapper. */
static void write_whole(const char *text, size_t length) {
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGPIPE, &ignore, &before);
    while (length) {
        ssize_t now = write(STDERR_FILENO, text, length);
        if (now < 0 && errno == EINTR) continue;
        if (now <= 0) break;
        text += now;
        length -= (size_t)now;
    }
    sigaction(SIGPIPE, &before, NULL);
}

/* Buffers that grow speak through this unit, so it has none of them. */
static void write_line(const char *speaker, const char *text, size_t length) {
    static const char between[] = ": ", too_much[] = PRODUCT ": out of memory; not run\n";
    size_t named = strlen(speaker);
    char *line = malloc((named + length + 1) * MOST_SHOWN + sizeof between);
    if (!line) {
        write_whole(too_much, sizeof too_much - 1);
        return;
    }
    char *end = message_show(line, speaker, named);
    end = stpcpy(end, between);
    end = message_show(end, text, length);
    *end++ = '\n';
    write_whole(line, (size_t)(end - line));
    free(line);
}

static void tell_arguments(const char *speaker, const char *format,
                           va_list arguments) {
    char text[PATH_MAX + 512];
    int length = vsnprintf(text, sizeof text, format, arguments);
    if (length < 0) length = 0;
    if ((size_t)length >= sizeof text) length = sizeof text - 1;
    write_line(speaker, text, (size_t)length);
}

void tell(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    tell_arguments(PRODUCT, format, arguments);
    va_end(arguments);
}

void refuse(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    tell_arguments(PRODUCT, format, arguments);
    va_end(arguments);
    _exit(STATUS_REFUSED);
}

void fail(int status, const char *speaker, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    tell_arguments(speaker, format, arguments);
    va_end(arguments);
    _exit(status);
}

void refuse_saying(const char *message, size_t length) {
    while (length && message[length - 1] == '\n') length--;
    write_line(PRODUCT, message, length);
    _exit(STATUS_REFUSED);
}
