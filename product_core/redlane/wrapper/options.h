/* What the command line asks for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum kind { RUN_COMMAND, RUN_FILE, RUN_INPUT, RUN_TERMINAL, RUN_INFORMATION };

struct invocation {
    enum kind kind;
    bool is_sh;      /* called by the name sh: /bin/sh runs it */
    bool is_shim;    /* called by the name of a shell: no leniency */
    bool is_apart;   /* what lies in the home may be anybody's */
    bool is_script;  /* called for a script, by the first line of that */
    bool from_input; /* -s */
    bool command;    /* -c */
    bool has_long;   /* options of bash alone */
    bool login, interactive;
    bool add_norc;   /* see startup.c */
    bool is_open;    /* see answer.h */
    const char *called;  /* argv[0] for the shell */
    char *subject;       /* the command, or the script's path */
    char **arguments;    /* what follows it, NULL at the end */
    const char *rcfile;  /* --rcfile, --init-file */
    const char **options; /* the shell's other options, one idea a word */
    size_t option_count;
    const char *role;   /* whose session is to supervise the shell; NULL: none */
    const char *socket; /* of the daemon that says so */
    char problem[128];  /* why the shells would not take it, as they say it; or "" */
};

/* Whether the guarded shell, called so, is the shell `sh`. */
bool names_sh(const char *called);
void parse_invocation(struct invocation *invocation, int argc, char **argv);
