/* Opens a path while other threads change what the path is, and counts what came of it.

   Usage: flipping WAY COUNT BENIGN SECRET [unlink]. Both are files; the first byte of
   the benign one is 'b'. WAY is what the threads change: `bytes` of the path in memory,
   the `directory` behind a descriptor, the `working` directory, or nothing (`none`:
   somebody else changes a link). Prints how often the secret was read, how often the
   other one, how often the call was refused, and how often it failed. With `unlink` the
   path is removed instead, and the benign file made again before each round.

   It is tried COUNT times, and on until the benign file was met and there was a refusal
   as well: a busy machine may keep those who change the path from their work for long. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 3, NUMBER = 200, MOST_MORE = 500000 };

static char path[8192];
static char *from, *to;
static size_t place;
static int one, other;
static atomic_int ended;

static void *flip_bytes(void *unused) {
    volatile char *byte = path + place;
    while (!ended) {
        *byte = to[place];
        for (int i = 0; i < 40; i++) atomic_signal_fence(memory_order_seq_cst);
        *byte = from[place];
    }
    return unused;
}

static void *flip_directory(void *unused) {
    while (!ended) {
        dup2(other, NUMBER);
        dup2(one, NUMBER);
    }
    return unused;
}

static void *flip_working(void *unused) {
    while (!ended) {
        if (fchdir(other) || fchdir(one)) exit(3);
    }
    return unused;
}

static int directory_of(const char *file) {
    char copy[4096];
    strncpy(copy, file, sizeof copy - 1);
    copy[sizeof copy - 1] = 0;
    return open(dirname(copy), O_RDONLY | O_DIRECTORY);
}

int main(int count, char **words) {
    if (count < 5) return 2;
    int removes = count > 5;
    long rounds = atol(words[2]), read_secret = 0, benign = 0, refused = 0, failed = 0;
    int directory = AT_FDCWD;
    void *(*flip)(void *) = NULL;
    const char *way = words[1];
    from = words[3];
    to = words[4];
    strcpy(path, from);
    if (!strcmp(way, "bytes")) {
        if (strlen(from) != strlen(to)) return 2;
        while (from[place] == to[place]) place++;
        flip = flip_bytes;
    } else if (strcmp(way, "none")) {
        one = directory_of(from);
        other = directory_of(to);
        if (one < 0 || other < 0) return 4;
        char copy[4096];
        strcpy(copy, from);
        strcpy(path, basename(copy));
        if (!strcmp(way, "directory")) {
            directory = NUMBER;
            dup2(one, NUMBER);
            flip = flip_directory;
        } else {
            if (fchdir(one)) return 4;
            flip = flip_working;
        }
    }
    pthread_t threads[THREADS];
    for (int i = 0; flip && i < THREADS; i++)
        pthread_create(&threads[i], NULL, flip, NULL);
    long most = rounds + MOST_MORE;
    for (long i = 0; i < rounds || (i < most && !(benign && refused)); i++) {
        if (removes) {
            close(open(from, O_CREAT | O_WRONLY, 0600));
            if (!unlinkat(directory, path, 0)) benign++;
            else if (errno == EPERM) refused++;
            else failed++;
            continue;
        }
        int file = syscall(SYS_openat, directory, path, O_RDONLY);
        if (file < 0) {
            if (errno == EPERM) refused++;
            else failed++;
            continue;
        }
        char first = 0;
        if (read(file, &first, 1) == 1 && first == 'b') benign++;
        else read_secret++;
        close(file);
    }
    ended = 1;
    for (int i = 0; flip && i < THREADS; i++) pthread_join(threads[i], NULL);
    printf("%ld %ld %ld %ld\n", read_secret, benign, refused, failed);
    return 0;
}
