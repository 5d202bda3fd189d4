/* The shell wrapper (redlane-sh): asks the daemon about a command, then becomes the real shell.
 *
 * Whatever cannot be judged is not run: every failure ends in refuse(), exit 126. */
#ifndef REDLANE_WRAPPER_H
#define REDLANE_WRAPPER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define BASH "/bin/bash"
#define SH "/bin/sh"
#define PRODUCT "redlane"

enum {
    STATUS_USAGE = 2,
    STATUS_REFUSED = 126,
    STATUS_NOT_FOUND = 127,
    SCRIPT_MAX = 8 * 1024 * 1024, /* bytes of a command or script that is judged */
    ANSWER_MAX = 16 * 1024 * 1024,
};

/* ---- bytes.c: growing buffers ---- */

struct bytes {
    char *data;
    size_t length, capacity;
};

void *allocate(size_t size);
void bytes_add(struct bytes *bytes, const void *data, size_t length);
void bytes_add_text(struct bytes *bytes, const char *text);
void bytes_add_quoted(struct bytes *bytes, const char *word);
bool bytes_read_file(struct bytes *bytes, const char *path, size_t most);

/* ---- message.c: one line on standard error ----
 *
 * What a shell would say itself, fail() says in its name. */

void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void fail(int status, const char *speaker, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void refuse_saying(const char *message, size_t length);

/* ---- options.c: what the command line asks for ---- */

enum kind { RUN_COMMAND, RUN_FILE, RUN_INPUT, RUN_TERMINAL, RUN_INFORMATION };

struct invocation {
    enum kind kind;
    bool is_sh;      /* called by the name sh: /bin/sh runs it */
    bool is_shim;    /* called by the name of a shell: no leniency */
    bool from_input; /* -s */
    bool command;    /* -c */
    bool login, interactive;
    bool add_norc;   /* see startup.c */
    const char *called;  /* argv[0] for the shell */
    char *subject;       /* the command, or the script's path */
    char **arguments;    /* what follows it, NULL at the end */
    const char *rcfile;  /* --rcfile, --init-file */
    const char **options; /* the shell's other options, one idea a word */
    size_t option_count;
    const char *role;   /* whose session is to supervise the shell; NULL: none */
    const char *socket; /* of the daemon that says so */
};

void parse_invocation(struct invocation *invocation, int argc, char **argv);

/* ---- environment.c: what would run before the command ---- */

void clean_environment(void);

/* ---- locate.c: which daemon to ask ---- */

struct place {
    char socket[PATH_MAX]; /* the control socket; the wrapper's own lies beside it */
    double timeout; /* seconds that the daemon has for an answer */
};

void locate(struct place *place);
bool own_directory(char *directory, size_t size);

/* ---- ask.c, answer.c: the question and what is said to it ---- */

struct answer {
    bool rewritten;
    struct bytes command; /* when rewritten; NUL-terminated beyond its length */
    struct bytes role;    /* whose session is to supervise it; empty: none */
};

enum progress { WAITING, COMPLETE, MALFORMED };

enum progress reply_held(struct bytes *reply, char *review, size_t size, long *seconds);
enum progress reply_supervise(struct bytes *reply, struct bytes *role);
enum progress reply_progress(const struct bytes *reply);
void reply_verdict(const struct bytes *reply, struct answer *answer);
_Noreturn void refuse_not_understood(void);

void ask(const struct place *place, const struct bytes *question,
         struct answer *answer);

/* ---- link.c: a connection to a Unix socket, -1 and errno without one ---- */

int link_to(const char *path, double timeout);

/* ---- filtered.c: an agent whose system calls are filtered ---- */

struct filtered;

struct filtered *filtered_receive(int socket);
pid_t filtered_fork(void);
void filtered_load(const struct filtered *filtered);
void filtered_hand_over(struct filtered *filtered, pid_t agent);
bool filtered_is_lost(const struct filtered *filtered);
void filtered_tell_stop(const struct filtered *filtered);
void filtered_tell_end(const struct filtered *filtered);

/* ---- startup.c: files that the shell would run before the command ---- */

void judge_startup(struct invocation *invocation, const struct place *place);

/* ---- descriptors.c: nothing of ours on 0, 1 or 2, nothing left open ---- */

int out_of_the_way(int descriptor);
int memory_file(const struct bytes *content);

/* ---- input.c: a script that is no file the daemon could open ---- */

bool read_script(int descriptor, struct bytes *script, bool may_stall);

/* ---- script.c: a script file ---- */

struct script {
    bool is_text;      /* judged by its text, because the daemon cannot open the file */
    struct bytes text;
    char path[PATH_MAX]; /* what the shell is told to run */
    char seen[PATH_MAX]; /* what the daemon is told to open */
};

void open_script(const struct invocation *invocation, struct script *script);
void replace_script(struct script *script, const struct bytes *text);

/* ---- become.c: becoming the shell ---- */

void add_question(struct bytes *question, const char *name, char **arguments);
_Noreturn void run_command(const struct invocation *invocation, char *command);
_Noreturn void run_file(const struct invocation *invocation, char *path);
_Noreturn void run_input(const struct invocation *invocation, struct bytes *text);
_Noreturn void run_stream(const struct invocation *invocation,
                          const struct place *place, const struct bytes *begun);
_Noreturn void run_terminal(const struct place *place);
_Noreturn void run_information(const struct invocation *invocation);

#endif
