/* File descriptors of our own stay away from the command's. */
#define _GNU_SOURCE
#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* The descriptor moved above 0, 1 and 2, which the caller may have left closed: our
 * messages would otherwise land in it, and the command would inherit it. */
int out_of_the_way(int descriptor) {
    if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int reason = errno;
    close(descriptor);
    errno = reason;
    return moved;
}

/* A nameless file that holds content, at its beginning, and does so for good: whoever may
 * look into the process could open it for writing. -1 when there is none. */
int memory_file(const struct bytes *content) {
    int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    int file = out_of_the_way(memfd_create("script", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (file < 0) return -1;
    for (size_t written = 0; written < content->length;) {
        ssize_t now = write(file, content->data + written, content->length - written);
        if (now < 0 && errno == EINTR) continue;
        if (now <= 0) {
            close(file);
            return -1;
        }
        written += (size_t)now;
    }
    if (fcntl(file, F_ADD_SEALS, seals) == 0 && lseek(file, 0, SEEK_SET) == 0) return file;
    close(file);
    return -1;
}
