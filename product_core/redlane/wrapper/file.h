/* Files that this process holds, and paths: what leads where. */
#pragma once

#include <limits.h>
#include <stdbool.h>

enum { FILE_LINK = 32 };

/* A path by which a file is opened once more. */
void file_link(int file, char link[FILE_LINK]);
/* The path of a file from the root of its namespace of mounts; false: it has none. */
bool file_path(int file, char path[PATH_MAX]);
/* Whether a canonical path is another one, or below it. */
bool path_is_within(const char *path, const char *above);
/* Takes off what the kernel adds to the path of a file that was removed; whether it did:
 * a name may end so, too. */
bool path_is_of_removed(char *path);
