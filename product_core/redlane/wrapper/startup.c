/* The files that a shell runs at its start.
 *
 * The user's own are theirs and run unjudged. With HOME elsewhere, or named by --rcfile,
 * or where the caller may have mounted others in their place, they are the caller's, and
 * each must be allowed as a script would be. */
#define _GNU_SOURCE
#include "startup.h"

#include "ask.h"
#include "home.h"
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void judge_file(const struct place *place, const char *path) {
    struct bytes question = {0};
    struct answer answer = {0};
    if (access(path, F_OK) != 0) return;
    bytes_add_text(&question, "bash ");
    bytes_add_quoted(&question, path);
    ask(place, &question, &answer);
    if (answer.rewritten) refuse("the startup file %s cannot be rewritten", path);
    free(question.data);
}

/* Whether bash takes itself for started by a remote shell: it then reads ~/.bashrc. */
static bool looks_remote(void) {
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;
    return getenv("SSH_CLIENT") || getenv("SSH2_CLIENT") ||
           getpeername(STDIN_FILENO, (struct sockaddr *)&peer, &length) == 0;
}

void judge_startup(struct invocation *invocation, const struct place *place) {
    char path[PATH_MAX];
    if (invocation->rcfile) judge_file(place, invocation->rcfile);
    bool starts = invocation->login || invocation->interactive;
    bool is_own = !invocation->is_apart && home_is_own(getenv("HOME"));
    if ((!starts && !looks_remote()) || is_own) return;
    if (invocation->is_apart && starts) {
        if (!getenv("HOME")) refuse("a login shell in a sandbox needs HOME; not run");
        judge_file(place, "/etc/profile");
        invocation->is_open = true; /* it goes on to what may be mounted below /etc */
    }
    /* A command needs none of them: only its start as if by a remote shell does. */
    invocation->add_norc = !starts;
    for (const char *const *file = startup_files; starts && *file; file++) {
        int length = snprintf(path, sizeof path, "%s/%s", getenv("HOME"), *file);
        if (length > 0 && (size_t)length < sizeof path) judge_file(place, path);
    }
}
