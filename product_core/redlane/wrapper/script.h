/* A script file. */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "bytes.h"
#include "options.h"

struct script {
    bool is_text;      /* judged by its text, because the daemon cannot open the file */
    struct bytes text;
    char path[PATH_MAX]; /* what the shell is told to run */
    char seen[PATH_MAX]; /* what the daemon is told to open */
};

void open_script(const struct invocation *invocation, struct script *script);
void replace_script(struct script *script, const struct bytes *text);
