/* An agent whose system calls are filtered. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "leash.h"

struct filtered;

struct filtered *filtered_leash(struct asks asks);
struct filtered *filtered_receive(int socket);
pid_t filtered_fork(void);
void filtered_load(const struct filtered *filtered);
int filtered_hand_over(struct filtered *filtered, pid_t agent, uint64_t token);
int filtered_socket(const struct filtered *filtered);
void filtered_take_from(struct filtered *filtered, int socket);
bool filtered_pass_on(int socket, uint64_t id, int32_t thread);
bool filtered_allowed(struct filtered *filtered, uint64_t *id, int32_t *thread);
bool filtered_is_lost(const struct filtered *filtered);
void filtered_tell_stop(const struct filtered *filtered);
void filtered_tell_end(const struct filtered *filtered);
