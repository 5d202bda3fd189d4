/* What a process runs, told by the file itself: a name proves nothing.
 *
 * A shell is a file that one of the shells' paths named when the session began, a copy
 * of one, or one that says of itself that it is bash, dash or BusyBox. The guarded shell
 * is the file beside this program, or one with the same bytes, as the shims are. A file
 * that is changed gets another change time, which nobody can set back, and is looked at
 * anew; while it runs, nobody can change it. */
#define _GNU_SOURCE
#include "images.h"

#include "bytes.h"
#include "installed.h"
#include "locate.h"
#include "message.h"
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    REMEMBERED = 1024,
    LARGEST_SHELL = 32 * 1024 * 1024,
    LINE_READ = 64 * 1024,
    PIECE = 256 * 1024,
    LONGEST_SIGNATURE = 64,
    VECTOR = 64,
};

enum kind { KIND_OTHER, KIND_BASH, KIND_SH, KIND_BUSYBOX, KIND_GUARDED };

struct identity {
    dev_t device;
    ino_t inode;
    struct timespec changed;
};

struct known {
    struct identity identity;
    enum kind kind;
};

struct images {
    struct known known[REMEMBERED];
    size_t count, next;
    int guarded_shell;
    struct timespec began;
};

static struct identity identity_of(const struct stat *file) {
    return (struct identity){file->st_dev, file->st_ino, file->st_ctim};
}

static bool same(const struct identity *one, const struct identity *other) {
    return one->device == other->device && one->inode == other->inode &&
           one->changed.tv_sec == other->changed.tv_sec &&
           one->changed.tv_nsec == other->changed.tv_nsec;
}

/* Keeps what a file is; the oldest that was merely met makes room. */
static void remember(struct images *images, const struct stat *file, enum kind kind) {
    size_t place = images->count < REMEMBERED
                       ? images->count++
                       : REMEMBERED / 2 + images->next++ % (REMEMBERED / 2);
    images->known[place] = (struct known){identity_of(file), kind};
}

static const struct known *recall(const struct images *images, const struct stat *file) {
    struct identity wanted = identity_of(file);
    for (size_t i = 0; i < images->count; i++)
        if (same(&images->known[i].identity, &wanted)) return &images->known[i];
    return NULL;
}

static void know_shells(struct images *images) {
    static const char *const directories[] = {"/bin", "/usr/bin", "/usr/local/bin"};
    static const struct {
        const char *name;
        enum kind kind;
    } shells[] = {
        {"bash", KIND_BASH}, {"rbash", KIND_BASH},      {"dash", KIND_SH},
        {"ash", KIND_SH},    {"busybox", KIND_BUSYBOX}, {"sh", KIND_SH},
    };
    char path[PATH_MAX];
    struct stat file;
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
        for (size_t j = 0; j < sizeof shells / sizeof *shells; j++) {
            snprintf(path, sizeof path, "%s/%s", directories[i], shells[j].name);
            if (stat(path, &file) == 0 && !recall(images, &file))
                remember(images, &file, shells[j].kind);
        }
}

/* Reads as much as there is, up to length; files may be cut short meanwhile, so that
 * none is mapped. */
static size_t read_at(int file, char *into, size_t length, off_t from) {
    size_t got = 0;
    while (got < length) {
        ssize_t now = pread(file, into + got, length - got, from + (off_t)got);
        if (now < 0 && errno == EINTR) continue;
        if (now <= 0) break;
        got += (size_t)now;
    }
    return got;
}

static bool has_bytes_of(int file, int other) {
    static char one[PIECE], two[PIECE];
    struct stat first, second;
    if (fstat(file, &first) != 0 || fstat(other, &second) != 0) return false;
    if (first.st_size != second.st_size) return false;
    for (off_t from = 0;; from += PIECE) {
        size_t length = read_at(file, one, PIECE, from);
        if (length != read_at(other, two, PIECE, from)) return false;
        if (memcmp(one, two, length) != 0) return false;
        if (length < PIECE) return true;
    }
}

/* Learns what is there before the session begins; refuses without a guarded shell. */
struct images *images_know(void) {
    struct images *images = allocate(sizeof *images);
    char path[PATH_MAX + sizeof "/redlane-sh"];
    struct stat file;
    *images = (struct images){.guarded_shell = -1};
    clock_gettime(CLOCK_REALTIME, &images->began);
    if (!own_directory(path, PATH_MAX)) refuse("/proc cannot be read");
    strcat(path, "/redlane-sh");
    images->guarded_shell = open(path, O_RDONLY | O_CLOEXEC);
    if (images->guarded_shell < 0 || fstat(images->guarded_shell, &file) != 0)
        refuse("%s: %s: install Redlane again", path, strerror(errno));
    remember(images, &file, KIND_GUARDED);
    know_shells(images);
    return images;
}

/* The guarded shell, open; what a shell is made to become. */
int images_guarded_shell(const struct images *images) { return images->guarded_shell; }

/* Which shell a piece of a program says that it is. What it says stands here in two
 * halves: otherwise this program would say the same. */
static enum kind read_kind(const char *piece, size_t length) {
    static const struct {
        const char *says, *goes_on;
        enum kind kind;
    } signatures[] = {
        {"GNU bash,", " version ", KIND_BASH},
        {"BusyBox is a", " multi-call binary", KIND_BUSYBOX},
        {"trap: %s:", " bad trap", KIND_SH},
    };
    char says[LONGEST_SIGNATURE];
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        snprintf(says, sizeof says, "%s%s", signatures[i].says, signatures[i].goes_on);
        if (memmem(piece, length, says, strlen(says))) return signatures[i].kind;
    }
    return KIND_OTHER;
}

/* Pieces overlap, so that no signature lies between two of them. */
static enum kind read_program(int program) {
    static char piece[PIECE];
    enum kind kind = KIND_OTHER;
    for (off_t from = 0; kind == KIND_OTHER; from += PIECE - LONGEST_SIGNATURE) {
        size_t length = read_at(program, piece, PIECE, from);
        if (from == 0 && (length < 4 || memcmp(piece, "\177ELF", 4) != 0)) break;
        kind = read_kind(piece, length);
        if (length < PIECE) break;
    }
    return kind;
}

/* Whether nobody in the session can have made or changed a program: it is root's, and
 * where the session is root's too, it is installed and has not changed since that began. */
static bool is_systems(const struct images *images, const char *link,
                       const struct stat *file) {
    static const char installed[] = "/usr/";
    char path[sizeof installed] = {0};
    if (file->st_uid != 0 || (file->st_mode & (S_IWGRP | S_IWOTH))) return false;
    if (geteuid() != 0) return true;
    return readlink(link, path, sizeof installed - 1) == sizeof installed - 1 &&
           strcmp(path, installed) == 0 && file->st_ctim.tv_sec < images->began.tv_sec;
}

static enum kind look_into(const struct images *images, const char *link,
                           const struct stat *file) {
    if (!S_ISREG(file->st_mode) || file->st_size > LARGEST_SHELL) return KIND_OTHER;
    int program = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (program < 0) return KIND_OTHER;
    enum kind kind = KIND_OTHER;
    if (has_bytes_of(program, images->guarded_shell)) kind = KIND_GUARDED;
    else if (!is_systems(images, link, file)) kind = read_program(program);
    close(program);
    return kind;
}

/* What a process runs; false when that cannot be seen. */
static bool kind_of(struct images *images, pid_t process, enum kind *kind) {
    char path[64];
    struct stat file;
    snprintf(path, sizeof path, "/proc/%ld/exe", (long)process);
    if (stat(path, &file) != 0) return false;
    const struct known *known = recall(images, &file);
    if (known) {
        *kind = known->kind;
        return true;
    }
    *kind = look_into(images, path, &file);
    remember(images, &file, *kind);
    return true;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_any(const char *name, const char *const *names) {
    for (; *names; names++)
        if (strcmp(name, *names) == 0) return true;
    return false;
}

/* The next word of a command line, "" behind the last. */
static const char *after(const char *word, const struct bytes *line) {
    const char *next = word + strlen(word) + 1;
    return next < line->data + line->length ? next : "";
}

/* BusyBox is a shell where its name or its first word says so. */
static void call_busybox(const struct bytes *line, struct started *started) {
    static const char *const shells[] = {"sh",   "-sh",  "ash", "-ash",
                                         "bash", "hush", NULL};
    started->name = "sh";
    if (is_any(base_name(line->data), shells)) return;
    started->skipped = 1;
    if (!is_any(base_name(after(line->data, line)), shells))
        started->image = IMAGE_OTHER;
}

/* Whether a shell was started for a script, whose path stands behind its own and one
 * option. That could as well be an argument to a shell which is started by that path;
 * the guarded shell starts its own by two, and by neither does it start a script. */
static bool is_for_script(const char *file, const struct bytes *line) {
    static const char *const shells[] = {"/bin/bash", "/bin/sh", NULL};
    const char *first = after(line->data, line);
    if (is_any(file, shells)) return false;
    return strcmp(file, first) == 0 || strcmp(file, after(first, line)) == 0;
}

/* How the guarded shell is called for a shell with this command line. */
static void call(enum kind kind, const char *file, const struct bytes *line,
                 struct started *started) {
    static const char *const names[] = {"sh", "-sh", "bash", "-bash", "rbash", NULL};
    const char *name = base_name(line->data);
    bool is_sh = is_any(name, names) ? strchr(name, 'b') == NULL : kind != KIND_BASH;
    bool is_script = is_for_script(file, line);
    started->image = IMAGE_SHELL;
    started->is_script = is_script;
    if (kind == KIND_BUSYBOX) call_busybox(line, started);
    else if (is_script) started->name = is_sh ? SCRIPT_NAME "sh" : SCRIPT_NAME "bash";
    else if (!is_any(name, names)) started->name = is_sh ? "sh" : "bash";
}

/* The path by which a process was started: for a script that of the script, though it
 * is a shell that runs. */
static bool read_file_started(pid_t process, char *path, size_t size) {
    char name[64];
    unsigned long vector[2 * VECTOR], at = 0;
    snprintf(name, sizeof name, "/proc/%ld/auxv", (long)process);
    int file = open(name, O_RDONLY | O_CLOEXEC);
    size_t got = file < 0 ? 0 : read_at(file, (char *)vector, sizeof vector, 0);
    if (file >= 0) close(file);
    for (size_t i = 0; i + 1 < got / sizeof *vector; i += 2)
        if (vector[i] == AT_EXECFN) at = vector[i + 1];
    struct iovec to = {path, size - 1}, from = {(void *)at, size - 1};
    ssize_t length = at ? process_vm_readv(process, &to, 1, &from, 1, 0) : -1;
    if (length <= 0) return false;
    path[length] = '\0';
    return true;
}

/* What a process has become that has just been started and has not run yet; false when
 * that cannot be seen. */
bool images_identify(struct images *images, pid_t process, struct started *started) {
    enum kind kind;
    char path[64], file[PATH_MAX];
    struct bytes line = {0};
    *started = (struct started){.image = IMAGE_OTHER};
    if (!kind_of(images, process, &kind)) return false;
    if (kind == KIND_OTHER) return true;
    snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)process);
    bytes_add(&line, "", 0);
    if (!bytes_read_file(&line, path, LINE_READ)) return false;
    bool is_seen = true;
    if (kind == KIND_GUARDED) {
        started->image = IMAGE_GUARDED;
        started->is_program = is_program(line.data);
        started->is_apart = strncmp(line.data, APART_NAME, strlen(APART_NAME)) == 0;
    } else {
        is_seen = read_file_started(process, file, sizeof file);
        if (is_seen) call(kind, file, &line, started);
    }
    free(line.data);
    return is_seen;
}
