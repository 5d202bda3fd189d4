/* What the daemon is asked about programs that are being started.
 *
 * Nobody waits here: each question has a connection of its own, and whatever goes wrong
 * with it is a no. Whether a command would pass as it is, is asked about every program;
 * of one that does not pass the program itself asks, and waits (program.c of the guarded
 * shell). Where it cannot, its verdict is asked for here (instead.c). */
#define _GNU_SOURCE
#include "questions.h"

#include "answer.h"
#include "apart.h"
#include "command_line.h"
#include "file.h"
#include "frame.h"
#include "message.h"
#include "passes.h"
#include "processes.h"

#include <limits.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST_LINE = 4 * 1024 * 1024, PIECE = 16 * 1024 };
static const double patience = 0.05; /* seconds, for a daemon that accepts nobody */
static const char pass[] = "ALLOW\n", open_pass[] = "OPEN\nALLOW\n";

struct question {
    pid_t process;
    int link;
    bool is_preview, is_held;
    struct bytes asked, reply;
    struct bytes known; /* by what a command that passes is known; empty: by nothing */
};

struct questions {
    const char *control_socket;
    int epoll;
    struct passes *passes;
    struct question *each;
    size_t count, room;
};

struct questions *questions_prepare(const char *control_socket) {
    struct questions *questions = allocate(sizeof *questions);
    *questions = (struct questions){
        .control_socket = control_socket,
        .epoll = epoll_create1(EPOLL_CLOEXEC),
        .passes = passes_prepare(),
    };
    if (questions->epoll < 0) refuse("the session cannot be supervised: no epoll");
    return questions;
}

int questions_descriptor(const struct questions *questions) { return questions->epoll; }

static bool read_link(pid_t process, const char *name, char *to) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)process, name);
    ssize_t length = readlink(path, to, PATH_MAX - 1);
    to[length > 0 ? length : 0] = '\0';
    return length > 0;
}

/* What a process runs; its words have to be freed. */
struct command {
    char program[PATH_MAX];
    struct bytes words;
};

static bool read_command(struct command *command, pid_t process) {
    char path[64];
    command->words = (struct bytes){0};
    bytes_add(&command->words, "", 0);
    snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)process);
    return bytes_read_file(&command->words, path, LONGEST_LINE) &&
           command->words.length < LONGEST_LINE &&
           read_link(process, "exe", command->program);
}

static void add_command(struct bytes *text, const struct command *command) {
    command_line_add(text, command->program, command->words.data, command->words.length);
}

bool questions_add_program(struct bytes *text, pid_t process) {
    struct command command;
    bool is_read = read_command(&command, process);
    if (is_read) add_command(text, &command);
    free(command.words.data);
    return is_read;
}

/* As the process has it: what the link says of a root that is one of our directories is a
 * path of ours. Nothing where it is not in its root, or that cannot be told. */
static void read_directory(pid_t process, char *directory) {
    char root[PATH_MAX];
    bool is_read = read_link(process, "root", root) && read_link(process, "cwd", directory) &&
                   *directory == '/' && path_is_within(directory, root);
    size_t above = is_read && root[1] ? strlen(root) : 0;
    if (!is_read) *directory = '\0';
    else if (above && !directory[above]) strcpy(directory, "/");
    else memmove(directory, directory + above, strlen(directory + above) + 1);
}

/* All that says what a command is, if that is a program which is named by itself, or by
 * the path of its file: the file, the directory, and the text. Else nothing is added. */
static void add_known(struct bytes *known, const struct command *command, pid_t process,
                      const struct bytes *text) {
    char directory[PATH_MAX];
    struct stat program, named;
    const char *called = command->words.data;
    if (!apart_sees_our_files(process) || !process_program(process, &program)) return;
    if (strchr(called, '/') &&
        (*called != '/' || stat(called, &named) != 0 || named.st_dev != program.st_dev ||
         named.st_ino != program.st_ino))
        return;
    read_directory(process, directory);
    bytes_add(known, &program.st_dev, sizeof program.st_dev);
    bytes_add(known, &program.st_ino, sizeof program.st_ino);
    bytes_add(known, &program.st_ctim, sizeof program.st_ctim);
    bytes_add(known, command->program, strlen(command->program) + 1);
    bytes_add(known, directory, strlen(directory) + 1);
    bytes_add(known, text->data, text->length);
}

static void add(struct questions *questions, const struct question *question) {
    if (questions->count == questions->room) {
        questions->room = questions->room * 2 + 16;
        questions->each =
            realloc(questions->each, questions->room * sizeof *questions->each);
        if (!questions->each) refuse("out of memory");
    }
    questions->each[questions->count++] = *question;
}

static struct question *find(const struct questions *questions, pid_t process) {
    for (size_t i = 0; i < questions->count; i++)
        if (questions->each[i].process == process) return &questions->each[i];
    return NULL;
}

static void release(struct question *question) {
    free(question->asked.data);
    free(question->reply.data);
    free(question->known.data);
}

void questions_forget(struct questions *questions, pid_t process) {
    struct question *question = find(questions, process);
    if (!question) return;
    close(question->link);
    release(question);
    *question = questions->each[--questions->count];
}

static bool ask(struct questions *questions, struct question question, const char *kind) {
    char directory[PATH_MAX];
    struct bytes frame = {0};
    struct epoll_event event = {.events = EPOLLIN, .data.fd = question.process};
    questions_forget(questions, question.process); /* an earlier one's of that number */
    read_directory(question.process, directory);
    frame_add(&frame, kind, directory, &question.asked, question.process);
    question.link = link_to_shell_socket(questions->control_socket, patience);
    bool is_asked =
        question.link >= 0 &&
        send(question.link, frame.data, frame.length, MSG_NOSIGNAL | MSG_DONTWAIT) ==
            (ssize_t)frame.length &&
        epoll_ctl(questions->epoll, EPOLL_CTL_ADD, question.link, &event) == 0;
    free(frame.data);
    if (is_asked) {
        add(questions, &question);
        return true;
    }
    if (question.link >= 0) close(question.link);
    release(&question);
    return false;
}

enum asking questions_preview(struct questions *questions, pid_t process) {
    struct question question = {.process = process, .is_preview = true};
    struct command command;
    bool is_read = read_command(&command, process);
    if (is_read) {
        add_command(&question.asked, &command);
        add_known(&question.known, &command, process, &question.asked);
    }
    free(command.words.data);
    bool is_known = question.known.length && passes_have(questions->passes, &question.known);
    if (is_read && !is_known) return ask(questions, question, PREVIEW) ? ASKED : NOT_ASKED;
    release(&question);
    return is_known ? KNOWN : NOT_ASKED;
}

enum asking questions_allow(struct questions *questions, pid_t process, struct bytes *text) {
    struct question question = {.process = process, .is_preview = true, .asked = *text};
    *text = (struct bytes){0};
    return ask(questions, question, AS_IT_IS) ? ASKED : NOT_ASKED;
}

bool questions_judge(struct questions *questions, pid_t process,
                     const struct bytes *text) {
    struct question question = {.process = process};
    bytes_add(&question.asked, text->data, text->length);
    bytes_add(&question.reply, "", 0);
    return ask(questions, question, QUESTION);
}

const struct bytes *questions_asked(const struct questions *questions, pid_t process) {
    const struct question *question = find(questions, process);
    return question ? &question->asked : NULL;
}

static struct told_of says(enum told told, const char *words) {
    struct told_of answer = {.told = told};
    bytes_add_text(&answer.words, words);
    return answer;
}

/* The descriptor that has come with a message; -1: none. */
static int lease_of(struct msghdr *message) {
    const struct cmsghdr *head = CMSG_FIRSTHDR(message);
    int lease = -1;
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len == CMSG_LEN(sizeof lease))
        memcpy(&lease, CMSG_DATA(head), sizeof lease);
    return lease;
}

static bool is_answer(const char *answer, ssize_t length, const char *wanted) {
    return length == (ssize_t)strlen(wanted) && memcmp(answer, wanted, (size_t)length) == 0;
}

static struct told_of preview_of(struct questions *questions,
                                 const struct question *question) {
    char answer[sizeof open_pass];
    alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct iovec to = {answer, sizeof answer};
    struct msghdr message = {.msg_iov = &to, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t got = recvmsg(question->link, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    bool is_open = is_answer(answer, got, open_pass);
    bool passes = is_open || is_answer(answer, got, pass);
    int lease = got >= 0 ? lease_of(&message) : -1;
    if (lease >= 0 && passes && question->known.length)
        passes_keep(questions->passes, &question->known, lease);
    else if (lease >= 0) close(lease);
    return (struct told_of){.told = passes ? PASSES : ASKS, .is_open = is_open};
}

/* What may stand before the verdict; false: the verdict is to be read. */
static bool is_held(struct question *question, struct told_of *answer) {
    struct held held;
    char words[3 * HELD_WORD + 128];
    enum progress progress =
        question->is_held ? WAITING : reply_held(&question->reply, &held);
    if (progress != COMPLETE) return false;
    question->is_held = true;
    snprintf(words, sizeof words,
             "held for review %s: %s decides within %ld s (redlane review show %s)",
             held.review, held.whose, held.seconds, held.review);
    *answer = says(HELD, words);
    answer->seconds = held.seconds;
    return true;
}

static struct told_of verdict_of(const struct question *question) {
    struct answer answer = {0};
    const char *problem = reply_verdict(&question->reply, &answer);
    if (!problem && answer.rewritten)
        problem = "a policy rewrites it, which cannot be done for another user, or under a "
                  "filter of its own; not run";
    struct told_of told = problem ? says(REFUSED, problem) : says(ALLOWED, "");
    free(answer.command.data);
    return told;
}

/* Takes what has come of a verdict; false: it is not all there. */
static bool take(struct question *question, struct told_of *answer) {
    static char piece[PIECE];
    struct bytes role = {0}, why = {0};
    ssize_t got;
    while ((got = recv(question->link, piece, sizeof piece, MSG_DONTWAIT)) > 0)
        bytes_add(&question->reply, piece, (size_t)got);
    if (is_held(question, answer)) return true;
    enum progress progress = reply_supervise(&question->reply, &role);
    if (role.length) progress = MALFORMED; /* that is for who is in no session */
    free(role.data);
    if (progress == COMPLETE) {
        reply_open(&question->reply); /* of a shell that asks about no more */
        progress = reply_why_rewritten(&question->reply, &why);
    }
    free(why.data);
    if (progress == COMPLETE) progress = reply_progress(&question->reply);
    if (progress == COMPLETE) *answer = verdict_of(question);
    else if (progress == MALFORMED) *answer = says(REFUSED, not_understood);
    else if (got == 0) *answer = says(REFUSED, "the daemon gave no verdict; not run");
    else return false;
    return true;
}

bool questions_answered(struct questions *questions, pid_t *process,
                        struct told_of *answer) {
    struct epoll_event event;
    while (epoll_wait(questions->epoll, &event, 1, 0) == 1) {
        struct question *question = find(questions, event.data.fd);
        *process = event.data.fd;
        if (question->is_preview) {
            *answer = preview_of(questions, question);
            questions_forget(questions, *process);
            return true;
        }
        if (take(question, answer)) return true;
    }
    return false;
}
