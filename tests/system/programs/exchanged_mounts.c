/* Mounts what the keeper lets be mounted, while another thread makes it an overlay of what
 * is hidden: it ends with 1 once it has read that, and says whether there was one. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>
static char kind[8] = "overlay";
static volatile int ended;
static void *flip(void *nothing) {
    while (!ended) {
        memcpy(kind, "overlay", 8);
        __asm__ volatile("" ::: "memory");
        memcpy(kind, "nothing", 8);
        __asm__ volatile("" ::: "memory");
    }
    return nothing;
}
int main(void) {
    pthread_t thread;
    struct statfs about;
    int mounted = 0, found = 0;
    pthread_create(&thread, NULL, flip, NULL);
    for (int i = 0; i < 5000 && mounted < 10 && !found; i++) {
        if (mount("o", "at", kind, 0, "lowerdir=own:left") != 0) continue;
        if (statfs("at", &about) != 0 || about.f_type != OVERLAYFS_SUPER_MAGIC) return 2;
        mounted++;
        int file = open("at/file", O_RDONLY);
        found = file >= 0;
        close(file);
        if (umount2("at", MNT_DETACH) != 0) return 3;
    }
    ended = 1;
    pthread_join(thread, NULL);
    puts(mounted ? "mounted" : "not mounted");
    return found;
}
