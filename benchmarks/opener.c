/* What the benchmark of system calls runs: opens a file and closes it, again and again.
 *
 *   opener each PATH COUNT               nanoseconds for one open and close
 *   opener threads PATH THREADS SECONDS  how often each thread has opened it
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 64, WARM = 200 };

static const char *path;
static atomic_bool over;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void open_once(void) {
    int file = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        perror(path);
        exit(1);
    }
    close(file);
}

static int each(long count) {
    for (int turn = 0; turn < WARM; turn++) open_once();
    double start = now();
    for (long turn = 0; turn < count; turn++) open_once();
    printf("%.0f\n", (now() - start) / (double)count);
    return 0;
}

static void *count_opens(void *counter) {
    long *opened = counter;
    while (!atomic_load(&over)) {
        open_once();
        ++*opened;
    }
    return NULL;
}

static int all_at_once(int number, unsigned seconds) {
    static long opened[MOST_THREADS][8]; /* each in a cache line of its own */
    pthread_t threads[MOST_THREADS];
    if (number < 1 || number > MOST_THREADS) return 2;
    for (int thread = 0; thread < number; thread++)
        if (pthread_create(&threads[thread], NULL, count_opens, opened[thread])) return 1;
    sleep(seconds);
    atomic_store(&over, true);
    for (int thread = 0; thread < number; thread++) {
        pthread_join(threads[thread], NULL);
        printf("%ld\n", opened[thread][0]);
    }
    return 0;
}

int main(int count, char **words) {
    if (count < 4) return 2;
    path = words[2];
    if (strcmp(words[1], "each") == 0) return each(atol(words[3]));
    if (count < 5) return 2;
    return all_at_once(atoi(words[3]), (unsigned)atoi(words[4]));
}
