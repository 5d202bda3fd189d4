/* Has another thread change the path of a program while that is started. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static char path[64] = "/usr/bin/true", *names[] = {"true", "bash"};
static void *flip(void *unused) {
    volatile char *name = path + strlen("/usr/bin/");
    for (int i = 0; unused == NULL; i++)
        for (int j = 0; j < 4; j++) name[j] = names[i % 2][j];
    return unused;
}
int main(int argc, char **argv) {
    char *words[] = {"bash", "-c", argv[2], NULL};
    for (int i = 0; i < atoi(argv[1]); i++) {
        int status;
        if (!fork()) {
            pthread_t thread;
            pthread_create(&thread, NULL, flip, NULL);
            for (;;) execv((char *)path, words);
        }
        wait(&status);
    }
    return argc == 0;
}
