/* A question as the daemon's shell socket takes it. */
#pragma once

#include "bytes.h"

#include <stdbool.h>
#include <sys/types.h>

#define QUESTION "REDLANE 1"
#define PREVIEW "REDLANE PREVIEW 1" /* whether it would pass as it is: "ALLOW\n" or not */
#define AS_IT_IS "REDLANE AS-IT-IS 1" /* the same, and it then runs: perhaps "OPEN\n" before */

/* `process`: whose command it is; 0: who asks. */
void frame_add(struct bytes *frame, const char *kind, const char *directory,
               const struct bytes *question, pid_t process);
void question_add_words(struct bytes *question, const char *name, char **arguments);
int link_to_shell_socket(const char *control_socket, double timeout);
bool shell_socket_is_for_all(const char *control_socket);
