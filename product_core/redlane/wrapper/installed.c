/* Scripts that are installed programs: what they do is judged where they are called, as
 * it is with every other program, and not line by line.
 *
 * Such a script lies below /usr, and nobody in the session can have made or changed it:
 * it and all above it are root's alone, and where the session is root's too, it has not
 * changed since that began. */
#define _GNU_SOURCE
#include "installed.h"

#include "processes.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool is_roots_alone(const struct stat *file) {
    return file->st_uid == 0 && !(file->st_mode & (S_IWGRP | S_IWOTH));
}

/* Whether it is root's alone, and every directory above it. */
static bool is_out_of_reach(const char *path) {
    char above[PATH_MAX];
    struct stat file;
    int length = snprintf(above, sizeof above, "%s", path);
    if (length < 0 || (size_t)length >= sizeof above) return false;
    for (char *slash; (slash = strrchr(above, '/')) && slash != above; *slash = '\0')
        if (stat(above, &file) != 0 || !is_roots_alone(&file)) return false;
    return stat("/", &file) == 0 && is_roots_alone(&file);
}

/* When the session began, in seconds since 1970; 0: there is none. */
static time_t session_began(const struct place *place) {
    struct process supervisor;
    struct timespec now, up;
    long second = sysconf(_SC_CLK_TCK);
    if (!place->supervisor || second <= 0) return 0;
    if (!process_read(place->supervisor, &supervisor)) return 0;
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &up);
    return now.tv_sec - up.tv_sec +
           (time_t)(supervisor.began / (unsigned long long)second);
}

/* `given` is what the shell will open, `seen` the same file with no link on its way. */
bool installed_script(const struct place *place, const char *given, const char *seen) {
    struct stat file;
    if (strncmp(seen, "/usr/", 5) != 0 || !is_out_of_reach(seen)) return false;
    if (*given != '/' || !is_out_of_reach(given)) return false;
    if (geteuid() != 0) return true;
    return stat(seen, &file) == 0 && file.st_ctim.tv_sec < session_began(place);
}
