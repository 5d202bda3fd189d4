/* A script file, which the daemon opens by name when both see the same file there. */
#define _GNU_SOURCE
#include "script.h"

#include "descriptors.h"
#include "input.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where bash finds a script: in the working directory, then along PATH. */
static int open_along_path(const char *name, char *path, size_t size) {
    const char *at = getenv("PATH");
    while (at && *at) {
        size_t length = strcspn(at, ":");
        int wrote = snprintf(path, size, "%.*s%s%s", (int)length, at,
                             length ? "/" : "", name);
        int script = wrote > 0 && (size_t)wrote < size
                         ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
                         : -1;
        if (script >= 0) return script;
        at += length + (at[length] == ':');
    }
    errno = ENOENT;
    return -1;
}

static int open_named(const struct invocation *invocation, struct script *to) {
    const char *name = invocation->subject;
    int length = snprintf(to->path, sizeof to->path, "%s", name);
    int script = -1;
    if (length < 0 || (size_t)length >= sizeof to->path) errno = ENAMETOOLONG;
    else script = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (script < 0 && errno == ENOENT && !invocation->is_sh && !strchr(name, '/'))
        script = open_along_path(name, to->path, sizeof to->path);
    if (script >= 0) return out_of_the_way(script);
    int status = errno == ENOENT && !invocation->is_sh ? STATUS_NOT_FOUND
                 : invocation->is_sh                   ? STATUS_USAGE
                                                       : STATUS_REFUSED;
    fail(status, invocation->called, "%s: %s", name, strerror(errno));
}

/* The name under which another process finds the opened file; false without one. */
static bool shared_name(int script, char *seen, size_t size) {
    char link[64];
    struct stat opened, named;
    snprintf(link, sizeof link, "/proc/self/fd/%d", script);
    ssize_t length = readlink(link, seen, size - 1);
    if (length <= 0 || (size_t)length >= size - 1 || *seen != '/') return false;
    seen[length] = '\0';
    if (strncmp(seen, "/proc/", 6) == 0 || strncmp(seen, "/dev/", 5) == 0)
        return false;
    return fstat(script, &opened) == 0 && stat(seen, &named) == 0 &&
           S_ISREG(opened.st_mode) && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

/* Keeps the name as it was given when it is plainly the same: no link on its way. A
 * script may look beside itself by it. */
static void prefer_given(const char *given, char *seen, size_t size) {
    char directory[PATH_MAX], whole[2 * PATH_MAX + 2];
    const char *plain = given;
    while (strncmp(plain, "./", 2) == 0) plain += 2;
    if (*plain == '/') snprintf(whole, sizeof whole, "%s", plain);
    else if (getcwd(directory, sizeof directory))
        snprintf(whole, sizeof whole, "%s/%s", directory, plain);
    else return;
    if (strcmp(whole, seen) != 0) return;
    snprintf(seen, size, "%s%s", *given == '-' ? "./" : "", given);
}

/* The descriptor that a name such as /dev/fd/63 stands for, -1 for another name. */
static int named_descriptor(const char *path) {
    static const char *const before[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdin") == 0) return STDIN_FILENO;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        size_t length = strlen(before[i]);
        if (strncmp(path, before[i], length) != 0) continue;
        char *end;
        long number = strtol(path + length, &end, 10);
        if (end != path + length && !*end && number >= 0 && number <= INT_MAX)
            return (int)number;
    }
    return -1;
}

/* Puts text where the shell will look: under the same name if that is a descriptor. */
void replace_script(struct script *script, const struct bytes *text) {
    int file = memory_file(text);
    int wanted = named_descriptor(script->path);
    if (file >= 0 && wanted >= 0 && wanted != file) {
        if (dup2(file, wanted) < 0) refuse("%s: %s", script->path, strerror(errno));
        close(file);
        return;
    }
    if (file < 0 || fcntl(file, F_SETFD, 0) != 0)
        refuse("the script cannot be kept (%s); not run", strerror(errno));
    snprintf(script->path, sizeof script->path, "/dev/fd/%d", file);
}

void open_script(const struct invocation *invocation, struct script *script) {
    int file = open_named(invocation, script);
    script->is_text = !shared_name(file, script->seen, sizeof script->seen);
    if (script->is_text) read_script(file, &script->text, false);
    else prefer_given(script->path, script->seen, sizeof script->seen);
    close(file);
}
