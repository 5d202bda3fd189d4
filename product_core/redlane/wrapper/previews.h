/* Whether the commands of programs that are being started would pass as they are. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct previews;

struct previews *previews_prepare(const char *control_socket);
int previews_descriptor(const struct previews *previews);
bool previews_ask(struct previews *previews, pid_t process);
bool previews_answered(struct previews *previews, pid_t *process, bool *passes);
