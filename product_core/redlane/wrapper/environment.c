/* What the environment could make a shell do besides the command is taken out. */
#include "environment.h"

#include <string.h>

extern char **environ;

/* Each name with the reason; a star at the end stands for any continuation. The shells
 * that Python starts lose the same (running/environment.py): a test compares them. */
static const char *const unsafe[] = {
    "BASH_ENV",            /* a file that bash -c runs first */
    "ENV",                 /* the same for an interactive sh */
    "BASH_FUNC_*",         /* functions: one named ls replaces ls */
    "SHELLOPTS",           /* turns on xtrace, whose PS4 runs commands */
    "BASHOPTS",            /* turns on expand_aliases and other changes of meaning */
    "BASH_COMPAT",         /* changes how the command is read */
    "POSIXLY_CORRECT",     /* the same */
    "PROMPT_COMMAND",      /* runs before each prompt */
    "PS0",                 /* prompts are expanded, commands in them run */
    "PS1",                 /* as PS0 */
    "PS2",                 /* as PS0 */
    "PS4",                 /* as PS0, with -x */
    "BASH_XTRACEFD",       /* sends the trace, which PS4 words, anywhere */
    "BASH_LOADABLES_PATH", /* where `enable -f` finds code by a bare name */
    "CDPATH",              /* `cd build` goes elsewhere than it says */
    "EXECIGNORE",          /* hides a program, another of its name runs */
    "GLOBIGNORE",          /* changes what a pattern stands for */
    "HISTFILE",            /* a file that an interactive shell overwrites */
    "HISTFILESIZE",        /* empties that file */
    "histchars",           /* history expansion rewrites what was judged */
    "TEXTDOMAIN",          /* $"text" is replaced by its translation and expanded */
    "TEXTDOMAINDIR",       /* where that translation comes from */
    "LOCPATH",             /* the same, by locale */
    "NLSPATH",             /* the same, for messages */
    "GCONV_PATH",          /* code that the C library loads to convert text */
    "GLIBC_TUNABLES",      /* changes the loader and the allocator of the shell */
    "LD_*",                /* code loaded into the shell: LD_PRELOAD, LD_AUDIT,
                            * LD_LIBRARY_PATH (set it in the command) and the rest */
};

static bool names(const char *pattern, const char *entry) {
    size_t length = strcspn(entry, "=");
    size_t known = strlen(pattern);
    if (pattern[known - 1] == '*')
        return length >= known - 1 && strncmp(pattern, entry, known - 1) == 0;
    return length == known && strncmp(pattern, entry, known) == 0;
}

bool is_unsafe(const char *entry) {
    for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe; i++)
        if (names(unsafe[i], entry)) return true;
    return false;
}

bool is_repeated(const char *variables, const char *entry) {
    size_t length = strcspn(entry, "=");
    for (const char *each = variables; each < entry; each += strlen(each) + 1)
        if (strncmp(each, entry, length + 1) == 0) return true;
    return false;
}

static bool has(char **from, char **to, const char *entry) {
    size_t length = strcspn(entry, "=");
    for (; from < to; from++)
        if (strncmp(*from, entry, length + 1) == 0) return true;
    return false;
}

/* Keeps the first variable of each name: where there are several, programs differ in
 * which one they take, and nothing else says which was judged. */
void drop_repeated(void) {
    char **kept = environ;
    for (char **entry = environ; *entry; entry++)
        if (strchr(*entry, '=') && !has(environ, kept, *entry)) *kept++ = *entry;
    *kept = NULL;
}

void clean_environment(void) {
    char **kept = environ;
    for (char **entry = environ; *entry; entry++)
        if (!is_unsafe(*entry)) *kept++ = *entry;
    *kept = NULL;
}
