/* Whose files a shell runs at its start. */
#define _GNU_SOURCE
#include "home.h"

#include "bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const startup_files[] = {".bashrc", ".bash_profile", ".bash_login",
                                     ".profile", ".bash_logout", NULL};

/* The home in a line of passwd(5), if it is a user's; or NULL. */
static const char *home_in(char *line, uid_t user) {
    char number[16], *fields[7] = {0};
    for (int i = 0; i < 7 && line; i++) fields[i] = strsep(&line, ":");
    snprintf(number, sizeof number, "%u", (unsigned)user);
    return fields[5] && strcmp(fields[2], number) == 0 ? fields[5] : NULL;
}

/* Looks for a home among a user's own, or, for NULL, for the first of them. */
static bool find(uid_t user, const char *home, char *to, size_t size) {
    struct bytes passwd = {0};
    if (!bytes_read_file(&passwd, "/etc/passwd", 1024 * 1024)) return false;
    bool is_found = false;
    char *rest = passwd.data;
    for (char *line; !is_found && (line = strsep(&rest, "\n"));) {
        const char *own = home_in(line, user);
        is_found = own && (!home || strcmp(own, home) == 0);
        if (is_found && to) snprintf(to, size, "%s", own);
    }
    free(passwd.data);
    return is_found;
}

bool home_is_of(uid_t user, const char *home) {
    return !home || find(user, home, NULL, 0);
}

bool home_is_own(const char *home) { return home_is_of(geteuid(), home); }

bool home_of_user(uid_t user, char *home, size_t size) {
    return find(user, NULL, home, size);
}
