/* Has 200 threads start the same program at once, five times. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *start(void *words) {
    usleep(20000);
    execv("/bin/sh", words);
    return NULL;
}
int main(int argc, char **argv) {
    char *words[] = {"sh", "-c", argv[argc - 1], NULL};
    for (int i = 0; i < 5; i++) {
        int status = 0;
        if (!fork()) {
            pthread_t thread;
            for (int j = 0; j < 200; j++) pthread_create(&thread, NULL, start, words);
            for (;;) pause();
        }
        wait(&status);
        if (status) return 1;
    }
    return 0;
}
