/* Which daemon to ask. Inside a session the kernel says so, not the environment.
 *
 * The topmost ancestor that is a session's supervisor comes first, so that a daemon or
 * a copy of the shim made inside a session decides nothing there. */
#define _GNU_SOURCE
#include "locate.h"

#include "bytes.h"
#include "message.h"
#include "processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUPERVISOR "redlane-run"
#define SOCKET "control.sock"
#define MACHINES_SOCKET "/run/redlane/" SOCKET

static bool is_supervisor(const struct process *process) {
    return strcmp(process->name, SUPERVISOR) == 0;
}

/* The topmost supervisor among this process's ancestors, 0 when there is none.
 *
 * A parent that ends in the middle of the walk is replaced by another in its child's
 * record; one that is hidden stays there, and nothing above it can be seen. */
long session_supervisor(void) {
    long topmost = 0, child = getpid();
    struct process now;
    if (!process_read(child, &now)) refuse("/proc cannot be read; not run");
    for (int steps = 0; now.parent > 0 && steps < 65536; steps++) {
        long parent = now.parent;
        if (process_read(parent, &now)) {
            if (is_supervisor(&now)) topmost = parent;
            child = parent;
        } else if (!process_read(child, &now)) {
            child = getpid();
            topmost = 0;
            if (!process_read(child, &now)) refuse("/proc cannot be read; not run");
        } else if (now.parent == parent) {
            break;
        }
    }
    return topmost;
}

static void set_socket(struct place *place, const char *directory, const char *rest) {
    int length = snprintf(place->socket, sizeof place->socket, "%s%s", directory, rest);
    if (length < 0 || (size_t)length >= sizeof place->socket)
        refuse("the path of the control socket is too long; not run");
}

/* The value after --socket in the supervisor's own command line. */
static bool from_supervisor(struct place *place) {
    long pid = place->supervisor = session_supervisor();
    if (!pid) return false;
    char path[64];
    struct bytes line = {0};
    snprintf(path, sizeof path, "/proc/%ld/cmdline", pid);
    if (bytes_read_file(&line, path, 64 * 1024)) {
        const char *end = line.data + line.length;
        for (const char *word = line.data; word < end; word += strlen(word) + 1) {
            if (strcmp(word, "--") == 0) break;
            if (strcmp(word, "--socket") != 0) continue;
            word += strlen(word) + 1;
            if (word >= end || *word != '/') break;
            set_socket(place, word, "");
            free(line.data);
            return true;
        }
    }
    refuse("the session's supervisor (process %ld) names no socket; not run", pid);
}

/* The directory that this very program lies in; false when it cannot be told. */
bool own_directory(char *directory, size_t size) {
    ssize_t length = readlink("/proc/self/exe", directory, size - 1);
    if (length <= 0 || (size_t)length >= size - 1) return false;
    directory[length] = '\0';
    char *slash = strrchr(directory, '/');
    if (!slash) return false;
    *slash = '\0';
    return true;
}

static bool is_socket(const char *path) {
    struct stat found;
    return stat(path, &found) == 0 && S_ISSOCK(found.st_mode);
}

/* As a shim in a run directory: the socket beside its bin/. */
static bool from_own_place(struct place *place) {
    char directory[PATH_MAX];
    if (!own_directory(directory, sizeof directory)) return false;
    char *slash = strrchr(directory, '/');
    if (!slash || strcmp(slash, "/bin") != 0) return false;
    *slash = '\0';
    set_socket(place, directory, "/" SOCKET);
    return is_socket(place->socket);
}

static bool from_variable(struct place *place, const char *name, const char *rest) {
    const char *value = getenv(name);
    if (!value || !*value) return false;
    set_socket(place, value, rest);
    return true;
}

/* The machine's daemon, where there is one and nobody asks for their own. */
static bool from_machine(struct place *place) {
    const char *home = getenv("REDLANE_HOME");
    if ((home && *home) || !is_socket(MACHINES_SOCKET)) return false;
    set_socket(place, MACHINES_SOCKET, "");
    return true;
}

/* The seconds in the file beside the socket; 7 when it says nothing usable. They are
 * more than the daemon has for a verdict, at most a day: see its runtime_files.py. */
static double read_timeout(const struct place *place) {
    char path[PATH_MAX + sizeof "shell-timeout"];
    struct bytes text = {0};
    snprintf(path, sizeof path, "%s", place->socket);
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, "shell-timeout");
    double seconds = 0;
    if (bytes_read_file(&text, path, 64)) seconds = strtod(text.data, NULL);
    free(text.data);
    return seconds > 0 && seconds <= 86460 ? seconds : 7;
}

void locate(struct place *place) {
    if (!from_supervisor(place) && !from_own_place(place) &&
        !from_variable(place, "REDLANE_SOCKET", "") && !from_machine(place) &&
        !from_variable(place, "XDG_RUNTIME_DIR", "/redlane/" SOCKET) &&
        !from_variable(place, "REDLANE_HOME", "/run/" SOCKET) &&
        !from_variable(place, "HOME", "/.redlane/run/" SOCKET))
        set_socket(place, "", "/.redlane/run/" SOCKET);
    place->timeout = read_timeout(place);
}
