/* Becoming the shell. */
#pragma once

#include "bytes.h"
#include "locate.h"
#include "options.h"

_Noreturn void run_command(const struct invocation *invocation, char *command);
_Noreturn void run_file(const struct invocation *invocation, char *path);
_Noreturn void run_input(const struct invocation *invocation, struct bytes *text);
_Noreturn void run_stream(const struct invocation *invocation,
                          const struct place *place, const struct bytes *begun);
_Noreturn void run_terminal(const struct place *place);
_Noreturn void run_information(const struct invocation *invocation);
