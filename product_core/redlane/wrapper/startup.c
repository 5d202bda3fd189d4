/* The files that a shell runs at its start.
 *
 * The user's own are theirs and run unjudged. With HOME elsewhere, or named by --rcfile,
 * they are the caller's, and each must be allowed as a script would be. */
#define _GNU_SOURCE
#include "startup.h"

#include "ask.h"
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Whether a line of passwd(5) is this user's and names home. */
static bool is_home_in(char *line, const char *home) {
    char *fields[7] = {0};
    for (int i = 0; i < 7 && line; i++) fields[i] = strsep(&line, ":");
    if (!fields[5]) return false;
    char user[16];
    snprintf(user, sizeof user, "%u", (unsigned)geteuid());
    return strcmp(fields[2], user) == 0 && strcmp(fields[5], home) == 0;
}

static bool home_is_own(void) {
    const char *home = getenv("HOME");
    if (!home) return true;
    struct bytes passwd = {0};
    if (!bytes_read_file(&passwd, "/etc/passwd", 1024 * 1024)) return false;
    bool own = false;
    char *rest = passwd.data;
    for (char *line; !own && (line = strsep(&rest, "\n"));)
        own = is_home_in(line, home);
    free(passwd.data);
    return own;
}

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
    static const char *const files[] = {".bashrc", ".bash_profile", ".bash_login",
                                        ".profile", ".bash_logout"};
    char path[PATH_MAX];
    if (invocation->rcfile) judge_file(place, invocation->rcfile);
    bool starts = invocation->login || invocation->interactive;
    if ((!starts && !looks_remote()) || home_is_own()) return;
    /* A command needs none of them: only its start as if by a remote shell does. */
    invocation->add_norc = !starts;
    for (size_t i = 0; starts && i < sizeof files / sizeof *files; i++) {
        int length = snprintf(path, sizeof path, "%s/%s", getenv("HOME"), files[i]);
        if (length > 0 && (size_t)length < sizeof path) judge_file(place, path);
    }
}
