/* Growing buffers; running out of memory is a refusal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct bytes {
    char *data;
    size_t length, capacity;
};

void *allocate(size_t size);
void bytes_add(struct bytes *bytes, const void *data, size_t length);
void bytes_add_text(struct bytes *bytes, const char *text);
void bytes_add_quoted(struct bytes *bytes, const char *word);
bool bytes_read_file(struct bytes *bytes, const char *path, size_t most);
