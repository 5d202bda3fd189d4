# needs: gcc
cat > s.c <<'END'
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
    int f = open("made", O_CREAT | O_EXCL | O_WRONLY, 0640);
    printf("%d\n", f); printf("%d\n", write(f, "text", 4) == 4 && !close(f));
    printf("%d", open("made", O_CREAT | O_EXCL, 0)); printf(" %d\n", errno == EEXIST);
    printf("%d\n", rename("made", "moved")); printf("%d\n", open("", O_RDONLY));
    printf("%d", openat(77, "moved", 0)); printf(" %d\n", errno == EBADF);
    return unlink("nothing") == -1 && errno == ENOENT ? 3 : 4;
}
END
gcc -static -o s s.c; ./s || echo $?
