/* What redlane-run is started with.
 *
 *     --filter FD      started by a supervisor of the session's system calls (filtered.c)
 *     --owners NAMES   programs that may read what is hidden, between colons
 *     --keep PATH      a file or directory that no program of the session changes
 *     --writable PATH  a place where it changes files, and nowhere else; '' is none
 *     --closed PATH    within those a place where it does not
 *     --top PATH       a place that is not given away by its name
 *     --hidden OWNERS=PATH  what it may not read, but by programs of these names
 *     --shown PATH     within those what it may
 *     --unreachable OWNERS=PATH  Unix sockets that none but those connect to
 *     --namespaces deny     it enters none
 *     --egress proxy   it leaves this machine by its proxy, and by nothing else
 *     --boundary none  nothing but its place in the tree binds the session
 *     --judged yes     COMMAND is a shell whose own command has been judged */
#define _GNU_SOURCE
#include "given.h"

#include "bytes.h"
#include "message.h"

#include <string.h>

/* Adds a word to a list that has NULL at its end. */
static void add_word(const char **list, const char *word) {
    while (*list) list++;
    *list = word;
}

static const char **words_for(int argc) {
    size_t size = ((size_t)argc + 1) * sizeof(char *);
    return memset(allocate(size), 0, size);
}

/* Whether it is one that has paths. */
static bool take_path(struct given *given, const char *option, const char *path) {
    if (strcmp(option, "--keep") == 0) given->kept[given->kept_count++] = path;
    else if (strcmp(option, "--writable") == 0) add_word(given->places.writable, path);
    else if (strcmp(option, "--closed") == 0) add_word(given->places.closed, path);
    else if (strcmp(option, "--top") == 0) add_word(given->places.tops, path);
    else if (strcmp(option, "--hidden") == 0) add_word(given->hidden.places, path);
    else if (strcmp(option, "--shown") == 0) add_word(given->hidden.shown, path);
    else if (strcmp(option, "--unreachable") == 0) add_word(given->hidden.sockets, path);
    else return false;
    return true;
}

void given_read(struct given *given, int argc, char **argv) {
    *given = (struct given){.is_bound = true};
    given->kept = words_for(argc);
    given->places = (struct places_given){words_for(argc), words_for(argc), words_for(argc)};
    given->hidden = (struct hidden_given){words_for(argc), words_for(argc), words_for(argc)};
    char **word = argv[0] ? argv + 1 : argv;
    for (; *word && strcmp(*word, "--") != 0; word += 2) {
        if (!word[1])
            fail(STATUS_USAGE, PRODUCT, "%s: option requires an argument", *word);
        if (strcmp(*word, "--socket") == 0) given->socket = word[1];
        else if (strcmp(*word, "--session") == 0) given->id = word[1];
        else if (strcmp(*word, "--filter") == 0) given->filter = word[1];
        else if (strcmp(*word, "--owners") == 0) given->owners = word[1];
        else if (strcmp(*word, "--boundary") == 0)
            given->is_bound = strcmp(word[1], "none") != 0;
        else if (strcmp(*word, "--namespaces") == 0)
            given->asks.is_here = strcmp(word[1], "deny") == 0;
        else if (strcmp(*word, "--egress") == 0)
            given->asks.egress = strcmp(word[1], "proxy") == 0;
        else if (strcmp(*word, "--judged") == 0)
            given->is_judged = strcmp(word[1], "yes") == 0;
        else if (!take_path(given, word[0], word[1]))
            fail(STATUS_USAGE, PRODUCT, "%s: invalid option", *word);
    }
    if (!given->socket || given->socket[0] != '/' || !*word || !word[1])
        fail(STATUS_USAGE, PRODUCT,
             "usage: redlane-run --socket PATH [--session ID] [OPTION VALUE]... -- "
             "COMMAND...");
    given->command = word + 1;
    given->is_placed = *given->places.writable != NULL;
    given->asks.places = given->is_placed;
    given->asks.files = given->is_placed || given->kept_count || given->asks.egress;
    given->asks.reads = *given->hidden.places || *given->hidden.sockets;
}
