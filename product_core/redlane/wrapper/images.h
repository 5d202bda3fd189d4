/* What a process runs: a shell, the guarded shell, or another program. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum image { IMAGE_OTHER, IMAGE_SHELL, IMAGE_GUARDED };

struct images;

/* A started program: which image it is, and, for a shell, how the guarded shell is to
 * be called in its place. */
struct started {
    enum image image;
    bool is_script;   /* a shell that was started for a script */
    bool is_program;  /* a guarded shell, in the place of a program that asks */
    bool is_apart;    /* a guarded shell that was told that it is */
    const char *name; /* its argv[0], where the given one does not name the shell */
    int skipped;      /* words at the beginning that are not the shell's own */
};

struct images *images_know(void);
int images_guarded_shell(const struct images *images);
bool images_identify(struct images *images, pid_t process, struct started *started);
