/* Every program that a session starts, seen before its first instruction. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct execs;

struct execs *execs_prepare(const char *control_socket, bool is_judged,
                            const char *owners, bool asks_where_they_stand);
uint64_t execs_token(const struct execs *execs);
void execs_serve(struct execs *execs, int listener);
/* The guarded shell, open. */
int execs_guarded_shell(const struct execs *execs);
int execs_listener(const struct execs *execs);
int execs_answers(const struct execs *execs);
void execs_receive(struct execs *execs);
void execs_take_answers(struct execs *execs);
void execs_take(struct execs *execs, uint64_t id, pid_t thread);
bool execs_changed(struct execs *execs, pid_t process, int status);
int execs_patience(const struct execs *execs);
void execs_let_go(struct execs *execs);
