/* One line on standard error, in which no terminal control can hide.
 *
 * Whatever cannot be judged is not run: every failure ends in refuse(), exit 126. What a
 * shell would say itself, fail() says in its name. */
#pragma once

#include <stddef.h>

#define PRODUCT "redlane"

enum { STATUS_USAGE = 2, STATUS_REFUSED = 126, STATUS_NOT_FOUND = 127 };

void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void fail(int status, const char *speaker, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

enum { MOST_SHOWN = sizeof "\\x00" - 1 }; /* of one byte */
char *message_show(char *to, const char *text, size_t length);
_Noreturn void refuse_saying(const char *message, size_t length);
