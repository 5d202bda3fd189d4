/* Asks for a name while other threads make its path another, a kept one: it ends with 1
 * once that is there. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
static const char good[] = "plain/new", bad[] = "own/absent";
static struct sockaddr_un address = {AF_UNIX, "plain/new"};
static volatile int ended;
static void *flip(void *nothing) {
    while (!ended) {
        memcpy(address.sun_path, bad, sizeof bad);
        memcpy(address.sun_path, good, sizeof good);
    }
    return nothing;
}
static void *exchange(void *nothing) {
    symlink("../own/absent", "plain/link");
    close(open("plain/file", O_CREAT | O_WRONLY, 0600));
    while (!ended)
        renameat2(AT_FDCWD, "plain/link", AT_FDCWD, "plain/file", RENAME_EXCHANGE);
    return nothing;
}
int main(int count, char **words) {
    pthread_t threads[2];
    if (count < 2 || chdir(words[1]) != 0) return 2;
    pthread_create(&threads[0], NULL, flip, NULL);
    pthread_create(&threads[1], NULL, exchange, NULL);
    for (int i = 0; i < 2000 && access("own/absent", F_OK) != 0; i++) {
        char *path = address.sun_path;
        int file = socket(AF_UNIX, SOCK_STREAM, 0);
        bind(file, (void *)&address, sizeof address);
        close(file);
        close(open(path, O_WRONLY | O_CREAT, 0600));
        close(open("plain/link", O_WRONLY | O_CREAT, 0600));
        mkdir(path, 0700);
        link("plain/mine", path);
        unlink(good);
        rmdir(good);
    }
    ended = 1;
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return access("own/absent", F_OK) == 0;
}
