/* Growing buffers; running out of memory is a refusal. */
#include "bytes.h"

#include "message.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *allocate(size_t size) {
    void *memory = malloc(size);
    if (!memory) refuse("out of memory; not run");
    return memory;
}

void bytes_add(struct bytes *bytes, const void *data, size_t length) {
    if (bytes->capacity - bytes->length <= length) { /* one more for a final NUL */
        size_t capacity = (bytes->length + length) * 2 + 256;
        char *grown = realloc(bytes->data, capacity);
        if (!grown) refuse("out of memory; not run");
        bytes->data = grown;
        bytes->capacity = capacity;
    }
    if (length) memcpy(bytes->data + bytes->length, data, length);
    bytes->length += length;
    bytes->data[bytes->length] = '\0';
}

void bytes_add_text(struct bytes *bytes, const char *text) {
    bytes_add(bytes, text, strlen(text));
}

/* The word as a POSIX shell reads it back: bare when that is safe, else quoted. */
void bytes_add_quoted(struct bytes *bytes, const char *word) {
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789_@%+=:,./-";
    if (*word && word[strspn(word, safe)] == '\0') {
        bytes_add_text(bytes, word);
        return;
    }
    bytes_add_text(bytes, "'");
    for (; *word; word++) {
        if (*word == '\'') bytes_add_text(bytes, "'\\''");
        else bytes_add(bytes, word, 1);
    }
    bytes_add_text(bytes, "'");
}

/* At least the beginning of a small file or record; a short read is the last. */
bool bytes_read_file(struct bytes *bytes, const char *path, size_t most) {
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0) return false;
    char piece[4096];
    ssize_t got;
    do {
        got = read(file, piece, sizeof piece);
        if (got > 0) bytes_add(bytes, piece, (size_t)got);
    } while (got == sizeof piece && bytes->length < most);
    close(file);
    return bytes->length > 0;
}
