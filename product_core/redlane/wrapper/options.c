/* The command line, read exactly as bash and dash read theirs.
 *
 * What is not understood is an error here and never reaches the shell: were this
 * reading and the shell's to differ, something else than the judged command would
 * run. The shell is therefore given a line of our own making, not the caller's. */
#include "options.h"

#include "bytes.h"
#include "installed.h"
#include "message.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char no_argument[] = "option requires an argument";
static const char invalid[] = "invalid option";

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The name decides which shell this is; a leading dash makes it a login shell. */
static void read_name(struct invocation *to, const char *called) {
    to->is_apart = strncmp(called, APART_NAME, strlen(APART_NAME)) == 0;
    if (to->is_apart) called += strlen(APART_NAME);
    const char *name = base_name(called);
    to->login = *called == '-' || *name == '-'; /* the shells look at the first */
    if (*name == '-') name++;
    to->is_script = strncmp(name, SCRIPT_NAME, strlen(SCRIPT_NAME)) == 0;
    if (to->is_script) called = name += strlen(SCRIPT_NAME);
    to->is_sh = strcmp(name, "sh") == 0;
    bool is_restricted = strcmp(name, "rbash") == 0; /* bash tells it by this name */
    to->is_shim = to->is_sh || is_restricted || strcmp(name, "bash") == 0;
    to->called = to->is_shim ? called : "bash";
}

bool names_sh(const char *called) {
    struct invocation named = {0};
    read_name(&named, called);
    return named.is_sh;
}

/* What is wrong is kept, and no more is read. */
static void note(struct invocation *to, const char *option, const char *problem) {
    if (!*to->problem)
        snprintf(to->problem, sizeof to->problem, "%.80s: %s", option, problem);
}

static void pass(struct invocation *to, const char *option) {
    to->options[to->option_count++] = option;
}

/* One of bash's long options, with one dash or two; false when it is none. */
static bool read_long_option(struct invocation *to, char **argv, int *index) {
    static const char *const plain[] = {
        "--debug",     "--debugger", "--dump-po-strings", "--dump-strings",
        "--login",     "--norc",     "--noediting",       "--noprofile",
        "--posix",     "--restricted", "--verbose",       "--pretty-print",
    };
    const char *name = argv[*index] + 1;
    if (*name == '-') name++;
    if (strcmp(name, "help") == 0 || strcmp(name, "version") == 0) {
        to->kind = RUN_INFORMATION;
        to->subject = *name == 'h' ? "--help" : "--version";
        return true;
    }
    if (strcmp(name, "rcfile") == 0 || strcmp(name, "init-file") == 0) {
        to->rcfile = argv[*index + 1];
        if (!to->rcfile) note(to, name, no_argument);
        else {
            ++*index;
            pass(to, "--rcfile");
            pass(to, to->rcfile);
        }
        return true;
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (strcmp(name, plain[i] + 2) != 0) continue;
        if (strcmp(name, "login") == 0) to->login = true;
        pass(to, plain[i]);
        return true;
    }
    return false;
}

static int read_long_options(struct invocation *to, char **argv) {
    int index = 1;
    for (; argv[index] && argv[index][0] == '-'; index++) {
        const char *word = argv[index];
        if (strcmp(word, "-") == 0 || strcmp(word, "--") == 0) break;
        if (read_long_option(to, argv, &index)) {
            to->has_long = true;
            continue;
        }
        if (word[1] == '-') note(to, word, invalid);
        break;
    }
    return index;
}

/* One letter of a word such as -elc; o and O take a word from further on. */
static void read_letter(struct invocation *to, char sign, char letter, char **argv,
                        int *next) {
    static char every[2][UCHAR_MAX + 1][3];
    char *option = every[sign == '+'][(unsigned char)letter];
    option[0] = sign;
    option[1] = letter;
    switch (letter) {
    case 'c': to->command = true; return; /* with either sign, as the shells do */
    case 's': to->from_input = true; return;
    case 'l': to->login = true; break;
    case 'i': to->interactive = true; break;
    case 'o':
    case 'O':
        if (!argv[*next]) {
            note(to, option, no_argument);
            return;
        }
        pass(to, option);
        pass(to, argv[(*next)++]);
        return;
    default:
        if (!strchr("abDefhkmnprtuvxBCEHPTIV", letter)) note(to, option, invalid);
    }
    pass(to, option);
}

static int read_letters(struct invocation *to, char **argv, int index) {
    while (argv[index] && (argv[index][0] == '-' || argv[index][0] == '+')) {
        const char *word = argv[index++];
        if (strcmp(word, "-") == 0 || strcmp(word, "--") == 0) break;
        int next = index;
        for (const char *letter = word + 1; *letter; letter++)
            read_letter(to, *word, *letter, argv, &next);
        index = next;
    }
    return index;
}

/* Whether the only argument is a whole command: agents call a shell prefix like that.
 * It is one when no such file exists, unless it reads like the name of a script. */
static bool is_command(const char *argument) {
    static const char *const directories[] = {"/usr/local/bin", "/usr/bin", "/bin",
                                              "/usr/sbin", "/sbin"};
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_./-";
    char path[PATH_MAX];
    struct stat found;
    if (stat(argument, &found) == 0) return false;
    if (argument[strspn(argument, plain)]) return true;
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        int length = snprintf(path, sizeof path, "%s/%s", directories[i], argument);
        bool fits = length > 0 && (size_t)length < sizeof path;
        if (fits && access(path, X_OK) == 0) return true;
    }
    return false;
}

/* What is left after the options: the command, the script, or neither. */
static void read_subject(struct invocation *to, char **argv, int index) {
    if (to->command) {
        to->kind = RUN_COMMAND;
        if (argv[index]) to->subject = argv[index++];
        else note(to, "-c", no_argument);
    } else if (argv[index] && !to->from_input) {
        to->kind = RUN_FILE;
        to->subject = argv[index++];
        bool bare = !to->is_shim && index == 2 && !argv[index];
        if (bare && is_command(to->subject)) to->kind = RUN_COMMAND;
    } else {
        to->kind = isatty(STDIN_FILENO) ? RUN_TERMINAL : RUN_INPUT;
    }
    to->arguments = argv + index;
}

void parse_invocation(struct invocation *invocation, int argc, char **argv) {
    static char *nothing[] = {"redlane-sh", NULL};
    if (argc < 1) argv = nothing;
    size_t letters = 2;
    for (char **word = argv; *word; word++) letters += strlen(*word) + 1;
    *invocation = (struct invocation){
        .kind = RUN_INPUT,
        .options = allocate(letters * sizeof(char *)),
    };
    read_name(invocation, argv[0]);
    int index = read_long_options(invocation, argv);
    index = read_letters(invocation, argv, index);
    if (invocation->kind != RUN_INFORMATION) read_subject(invocation, argv, index);
}
