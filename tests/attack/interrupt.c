/* Opens a file through an entry into the kernel that is not the usual one.

   Usage: interrupt int80|x32 FILE. Prints what it read; exits with 1 when refused. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static long interrupted(char *path) {
    long result;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(5L), "b"(path), "c"(0L), "d"(0L)
                     : "memory", "r8", "r9", "r10", "r11");
    return (int)result;
}

int main(int count, char **words) {
    if (count != 3) return 2;
    char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (low == MAP_FAILED) return 3;
    strncpy(low, words[2], 4095);
    long file = strcmp(words[1], "x32")
                    ? interrupted(low)
                    : syscall(0x40000000L | SYS_openat, -100, low, 0);
    if (file < 0) return 1;
    char text[100] = "";
    if (read(file, text, sizeof text - 1) < 0) return 4;
    puts(text);
    return 0;
}
