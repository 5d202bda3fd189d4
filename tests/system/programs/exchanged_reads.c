/* Opens a name while other threads make its path another, a hidden one: it ends with 1
 * once it has read that, and says whether both were met, what is read and a refusal. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>
enum { ROUNDS = 3000 };
static const char good[] = "left/file", bad[] = "own//file";
static char path[] = "left/file";
static volatile int ended;
static int shared, refused, opened, found;
static void *flip(void *nothing) {
    while (!ended) {
        memcpy(path, bad, sizeof bad);
        __asm__ volatile("" ::: "memory");
        memcpy(path, good, sizeof good);
        __asm__ volatile("" ::: "memory");
    }
    return nothing;
}
static void *exchange(void *nothing) {
    while (!ended) {
        renameat2(AT_FDCWD, "links/link", AT_FDCWD, "links/file", RENAME_EXCHANGE);
        renameat2(AT_FDCWD, "links/way", AT_FDCWD, "links/directory", RENAME_EXCHANGE);
    }
    return nothing;
}
static void *renumber(void *nothing) {
    int one = open("left", O_PATH), other = open("own", O_PATH);
    while (!ended) {
        dup2(other, shared);
        dup2(one, shared);
    }
    return nothing;
}
static void *move(void *nothing) {
    while (!ended) {
        if (chdir("own") != 0 || chdir("../left") != 0 || chdir("..") != 0) break;
    }
    return nothing;
}
/* What is hidden is longer than what is not. */
static void look(int file) {
    struct stat about;
    if (file < 0) {
        refused += errno == EPERM;
        return;
    }
    opened++;
    if (fstat(file, &about) == 0 && about.st_size > 1) found = 1;
    close(file);
}
static void *look_from_there(void *nothing) {
    for (int i = 0; i < ROUNDS && !found; i++) look(open("file", O_RDONLY));
    return nothing;
}
static void write_one(const char *name) {
    int file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    if (write(file, "x", 1) != 1) perror(name);
    close(file);
}
static void with_paths(void) {
    pthread_t threads[3];
    shared = open("left", O_PATH);
    pthread_create(&threads[0], NULL, flip, NULL);
    pthread_create(&threads[1], NULL, exchange, NULL);
    pthread_create(&threads[2], NULL, renumber, NULL);
    for (int i = 0; i < ROUNDS && !found; i++) {
        look(open(path, O_RDONLY));
        look(open("links/link", O_RDONLY));
        look(open("links/way/file", O_RDONLY));
        look(open("links/directory/file", O_RDONLY));
        look(openat(shared, "file", O_RDONLY));
    }
    ended = 1;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
}
static void with_directories(void) {
    pthread_t threads[2];
    ended = 0;
    pthread_create(&threads[0], NULL, move, NULL);
    pthread_create(&threads[1], NULL, look_from_there, NULL);
    pthread_join(threads[1], NULL);
    ended = 1;
    pthread_join(threads[0], NULL);
}
int main(void) {
    mkdir("links/directory", 0700);
    for (const char *const *each = (const char *[]){"left/file", "links/file",
                                                    "links/directory/file", NULL};
         *each; each++)
        write_one(*each);
    if (symlink("../own/file", "links/link") || symlink("../own", "links/way")) return 2;
    with_paths();
    with_directories();
    puts(opened && refused ? "both" : "not both");
    return found;
}
