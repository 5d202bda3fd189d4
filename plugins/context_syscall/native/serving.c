/* Receives calls, and does the plain ones in their callers' place.
 *
 * Plain is what the kernel can resolve from what it has cached, on an ordinary file
 * system. Whatever else turns up is passed on before it had an effect, and Python begins
 * again: there is one judgement of what is unusual, and it is there. */
#define _GNU_SOURCE
#include "hot.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "only Python serves here"
#endif

enum { NONE = -1 };

/* Which register has what; NONE: no register has it. */
static const struct form {
    int number;
    enum deed deed;
    int directory, path, flags, mode;
    int new_directory, new_path;
} forms[] = {
    {__NR_openat, OPEN, 0, 1, 2, 3, NONE, NONE},
    {__NR_unlinkat, REMOVE, 0, 1, 2, NONE, NONE, NONE},
    {__NR_mkdirat, MAKE_DIRECTORY, 0, 1, NONE, 2, NONE, NONE},
    {__NR_renameat, RENAME, 0, 1, NONE, NONE, 2, 3},
    {__NR_renameat2, RENAME, 0, 1, 4, NONE, 2, 3},
#ifdef __NR_open
    {__NR_open, OPEN, NONE, 0, 1, 2, NONE, NONE},
    {__NR_unlink, REMOVE, NONE, 0, NONE, NONE, NONE, NONE},
    {__NR_rmdir, REMOVE, NONE, 0, NONE, NONE, NONE, NONE},
    {__NR_mkdir, MAKE_DIRECTORY, NONE, 0, NONE, 1, NONE, NONE},
    {__NR_rename, RENAME, NONE, 0, NONE, NONE, NONE, 1},
#endif
};

bool hot_init(struct hot *hot, int listener, bool polls) {
    memset(hot, 0, sizeof *hot);
    hot->listener = listener;
    hot->polls = polls;
    atomic_init(&hot->wake, -1);
    threads_init(&hot->threads);
    hot->descriptors = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
    hot->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    return hot->descriptors >= 0 && hot->mounts >= 0 && rulings_init(&hot->rulings);
}

void hot_free(struct hot *hot) {
    rulings_free(&hot->rulings);
    threads_free(&hot->threads);
    close_held(&hot->descriptors);
    close_held(&hot->mounts);
}

static const struct form *form_of(const struct seccomp_data *data) {
    if (data->arch != OWN_ARCHITECTURE) return NULL;
    for (size_t at = 0; at < sizeof forms / sizeof *forms; at++)
        if (forms[at].number == data->nr) return &forms[at];
    return NULL;
}

static uint32_t word(const struct seccomp_data *data, int which) {
    return which == NONE ? 0 : (uint32_t)data->args[which];
}

/* Whether its flags are among those that are known here; those of opens are not yet. */
static bool take_flags(struct call *call, const struct form *form) {
    const struct seccomp_data *data = &call->notification.data;
    call->flags = word(data, form->flags);
    call->mode = word(data, form->mode);
#ifdef __NR_rmdir
    if (data->nr == __NR_rmdir) call->flags = AT_REMOVEDIR;
#endif
    switch (form->deed) {
    case REMOVE: return !(call->flags & ~(uint32_t)AT_REMOVEDIR);
    case RENAME: return !(call->flags & ~(uint32_t)RENAME_NOREPLACE);
    default: return true;
    }
}

/* Read its path, or both: that of a renaming stands behind the first. */
static bool take_paths(struct call *call, const struct form *form) {
    pid_t thread = (pid_t)call->notification.pid;
    const struct seccomp_data *data = &call->notification.data;
    ssize_t first = read_path(thread, data->args[form->path], call->literal), second = 0;
    if (first <= 0) return false;
    if (form->new_path != NONE) {
        char *behind = call->literal + first + 1;
        second = read_path(thread, data->args[form->new_path], behind) + 1;
        if (second <= 1) return false;
    }
    call->subject = (struct subject){.number = data->nr,
                                     .literal = call->literal,
                                     .literal_length = (size_t)(first + second),
                                     .canonical = call->canonical};
    return true;
}

/* A descriptor of ours for where a path begins: AT_FDCWD for one that begins at the root;
 * -1 where there is none. */
static int start_of(struct hot *hot, const struct call *call, int which, const char *path) {
    const struct seccomp_notif *notification = &call->notification;
    if (*path == '/') return AT_FDCWD;
    int number = which == NONE ? AT_FDCWD : (int)word(&notification->data, which);
    return directory_of(&hot->threads, notification->pid, number);
}

static enum outcome find(struct hot *hot, struct call *call, const struct form *form) {
    int from = start_of(hot, call, form->directory, call->literal), to = NONE;
    enum outcome outcome = PASS_ON;
    if (from != NONE) switch (form->deed) {
        case OPEN: outcome = find_opened(hot, call, from); break;
        case RENAME:
            to = start_of(hot, call, form->new_directory,
                          call->literal + strlen(call->literal) + 1);
            if (to != NONE) outcome = find_renamed(hot, call, from, to);
            break;
        default: outcome = find_entry(hot, call, from);
        }
    close_held(&from);
    close_held(&to);
    return outcome;
}

static enum outcome give(const struct hot *hot, struct call *call) {
    switch (call->deed) {
    case OPEN: return give_opened(hot, call);
    case MAKE: return give_made(hot, call);
    default: return give_changed(hot, call);
    }
}

static enum outcome answer(struct hot *hot, struct call *call) {
    const struct form *form = form_of(&call->notification.data);
    if (atomic_load(&hot->stands_down) || !form || !call->notification.pid) return PASS_ON;
    call->deed = form->deed;
    if (!take_flags(call, form) || !take_paths(call, form)) return PASS_ON;
    enum outcome outcome = find(hot, call, form);
    if (outcome != ASK) return outcome;
    if (!rulings_hold(&hot->rulings, &call->subject, &call->epoch)) return ASK;
    return give(hot, call);
}

bool hot_allow(struct hot *hot, struct call *call, bool lasts) {
    if (lasts) rulings_add(&hot->rulings, &call->subject, call->epoch);
    return give(hot, call) == ANSWERED;
}

static bool received(const struct hot *hot, struct seccomp_notif *notification) {
    if (hot->polls) {
        struct pollfd waiting = {.fd = hot->listener, .events = POLLIN};
        if (poll(&waiting, 1, -1) < 1 || !(waiting.revents & POLLIN)) return false;
    }
    memset(notification, 0, sizeof *notification); /* or it is EINVAL */
    return ioctl(hot->listener, SECCOMP_IOCTL_NOTIF_RECV, notification) == 0;
}

static void note_begin(struct hot *hot, uint64_t identity) {
    static const uint64_t once = 1;
    atomic_store(&hot->under_way, identity);
    atomic_fetch_add(&hot->calls, 1);
    if (atomic_load(&hot->wake) < 0) return;
    int wake = atomic_exchange(&hot->wake, -1);
    if (wake >= 0 && write(wake, &once, sizeof once) < 0) return; /* it is awake */
}

/* Files are at other paths once something was mounted: each is to be ruled on anew. */
static void heed_mounts(struct hot *hot) {
    struct pollfd changes = {.fd = hot->mounts, .events = POLLPRI};
    if (poll(&changes, 1, 0) != 0) rulings_forget(&hot->rulings);
}

enum outcome hot_serve(struct hot *hot, struct call *call) {
    hold_nothing(call);
    while (received(hot, &call->notification)) {
        heed_mounts(hot);
        note_begin(hot, call->notification.id);
        enum outcome outcome = answer(hot, call);
        atomic_store(&hot->under_way, 0);
        if (outcome == ASK) return ASK;
        let_go(call);
        if (outcome != ANSWERED) return outcome;
    }
    return INTERRUPTED;
}
