/* A program that may read what is hidden from others, started with variables by which
 * its loader or a library would run others' code in it.
 *
 * It stands before its first instruction, traced by us, and is told in its auxiliary
 * vector that it has privileges of its own (AT_SECURE), as the kernel tells a setuid
 * program: then the loader and the libraries pay no attention to these variables. */
#define _GNU_SOURCE
#include "secure.h"

#include "bytes.h"
#include "redirect.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <unistd.h>

enum { LARGEST_ENVIRONMENT = 8 * 1024 * 1024, MOST_ENTRIES = 64, WORD = sizeof(long) };

/* Whether a variable has a loader or a library run, or show, what it names. */
static bool is_loading(const char *variable) {
    static const char *const begins[] = {
        "LD_",         "GCONV_PATH=", "GETCONF_DIR=", "GLIBC_TUNABLES=", "HOSTALIASES=",
        "LOCALDOMAIN=", "LOCPATH=",   "MALLOC_",      "NIS_PATH=",       "NLSPATH=",
        "RESOLV_",     "RES_OPTIONS=", "TZDIR=",      "OPENSSL_",        "KRB5_",
        "P11_KIT_",    "GIO_",        "GNUTLS_",      "GSS_",            "SASL_",
    };
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(variable, begins[i], strlen(begins[i])) == 0) return true;
    return false;
}

/* Whether a file can be opened, and there is nothing in it. */
static bool is_empty(const char *path) {
    char byte;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool empty = file >= 0 && read(file, &byte, 1) == 0;
    if (file >= 0) close(file);
    return empty;
}

/* Counts the variables that a program was started with; false: they cannot be told. */
static bool read_variables(pid_t process, size_t *count, bool *are_loading) {
    char path[64];
    struct bytes all = {0};
    bytes_add(&all, "", 0);
    snprintf(path, sizeof path, "/proc/%ld/environ", (long)process);
    bool is_read = (bytes_read_file(&all, path, LARGEST_ENVIRONMENT) || is_empty(path)) &&
                   all.length < LARGEST_ENVIRONMENT;
    *count = 0;
    *are_loading = false;
    for (size_t at = 0; is_read && at < all.length; at += strlen(all.data + at) + 1) {
        *are_loading = *are_loading || is_loading(all.data + at);
        ++*count;
    }
    free(all.data);
    return is_read;
}

/* Sets AT_SECURE behind so many variables on the program's stack. */
static bool set_secure(pid_t process, size_t variables) {
    unsigned long stack, count, end, kind = 1;
    if (!program_stack(process, &stack) || !program_word(process, stack, &count))
        return false;
    unsigned long at = stack + WORD * (count + 2 + variables);
    if (!program_word(process, at, &end) || end) return false;
    at += WORD;
    for (int i = 0; i < MOST_ENTRIES && kind != AT_NULL; i++, at += 2 * WORD) {
        if (!program_word(process, at, &kind)) return false;
        if (kind == AT_SECURE)
            return ptrace(PTRACE_POKEDATA, process, at + WORD, 1L) == 0;
    }
    return false;
}

/* Has an owner that has just been started run no code of others; false: that is not to be
 * had. */
bool secure_owner(pid_t process) {
    size_t variables;
    bool are_loading;
    if (!read_variables(process, &variables, &are_loading)) return false;
    return !are_loading || set_secure(process, variables);
}
