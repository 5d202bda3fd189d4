/* Files that this process holds, and paths: what leads where. */
#include "file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void file_link(int file, char link[FILE_LINK]) {
    snprintf(link, FILE_LINK, "/proc/self/fd/%d", file);
}

bool file_path(int file, char path[PATH_MAX]) {
    char link[FILE_LINK];
    file_link(file, link);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    return *path == '/';
}

bool path_is_within(const char *path, const char *above) {
    size_t length = strlen(above);
    if (length == 1) return true; /* the root */
    return length && strncmp(path, above, length) == 0 &&
           (!path[length] || path[length] == '/');
}

bool path_is_of_removed(char *path) {
    static const char removed[] = " (deleted)";
    char *end = strrchr(path, ' ');
    if (!end || strcmp(end, removed) != 0) return false;
    *end = '\0';
    return true;
}
