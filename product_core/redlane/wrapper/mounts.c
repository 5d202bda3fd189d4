/* The mounts that were there before a session: of the others it may have made each.
 *
 * They are told by numbers that are not used again, where the kernel has such (Linux
 * 6.8), and by those that it shows otherwise. */
#define _GNU_SOURCE
#include "mounts.h"

#include "bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { STATMOUNT = 457, LISTMOUNT = 458, AT_ONCE = 512, UNIQUE_NUMBER = 0x4000 };

/* As in linux/mount.h of Linux 6.11. */
enum { TELL_DEVICE = 1, TELL_ROOT = 8 };

struct told {
    uint32_t size, options;
    uint64_t mask;
    uint32_t device_major, device_minor;
    uint64_t others[10];
    uint32_t root, point; /* where they begin in the text */
    uint64_t more[50];
    char text[2 * PATH_MAX];
};


static struct bytes numbers, devices; /* of uint64_t; of dev_t */
static unsigned kind = STATX_MNT_ID;  /* of the numbers */

/* All of them by their unique numbers; false: the kernel has none. */
static bool list_mounts(void) {
    static uint64_t found[AT_ONCE];
    struct {
        uint32_t size, spare;
        uint64_t mount, after;
    } request = {.size = sizeof request, .mount = UINT64_MAX};
    long count;
    do {
        count = syscall(LISTMOUNT, &request, found, AT_ONCE, 0);
        if (count > 0) bytes_add(&numbers, found, (size_t)count * sizeof *found);
        if (count > 0) request.after = found[count - 1];
    } while (count == AT_ONCE);
    return count >= 0 && numbers.length;
}

/* Each line has a mount's number, its parent's, and its device. */
static void read_mounts(bool has_numbers) {
    FILE *lines = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t room = 0;
    while (lines && getline(&line, &room, lines) > 0) {
        unsigned major, minor;
        unsigned long long number;
        if (sscanf(line, "%llu %*u %u:%u", &number, &major, &minor) != 3) continue;
        uint64_t one = number;
        dev_t device = makedev(major, minor);
        bytes_add(&devices, &device, sizeof device);
        if (!has_numbers) bytes_add(&numbers, &one, sizeof one);
    }
    free(line);
    if (lines) fclose(lines);
}

/* To be done before anything of the session runs. */
void mounts_note(void) {
    bool has_numbers = list_mounts();
    if (has_numbers) kind = UNIQUE_NUMBER;
    read_mounts(has_numbers);
}

static uint64_t number_of(int file) {
    struct statx about;
    return statx(file, "", AT_EMPTY_PATH, kind, &about) == 0 ? about.stx_mnt_id : 0;
}

bool mounts_look(int file, struct look *look) {
    struct statx told;
    errno = EIO;
    if (statx(file, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME | kind, &told) != 0)
        return false;
    look->about = (struct stat){
        .st_dev = makedev(told.stx_dev_major, told.stx_dev_minor),
        .st_ino = told.stx_ino,
        .st_mode = told.stx_mode,
        .st_nlink = told.stx_nlink,
        .st_uid = told.stx_uid,
        .st_gid = told.stx_gid,
        .st_rdev = makedev(told.stx_rdev_major, told.stx_rdev_minor),
        .st_size = (off_t)told.stx_size,
    };
    bool is_born = told.stx_mask & STATX_BTIME;
    look->born.tv_sec = is_born ? told.stx_btime.tv_sec : 0;
    look->born.tv_nsec = is_born ? told.stx_btime.tv_nsec : 0;
    look->mount = told.stx_mnt_id;
    return look->mount != 0;
}

struct origin mounts_origin(const char *path) {
    char text[PATH_MAX];
    struct look look;
    struct origin origin = {0};
    int file;
    snprintf(text, sizeof text, "%s", path);
    for (char *end; (file = open(*text ? text : "/", O_PATH | O_CLOEXEC)) < 0; *end = '\0')
        if (!(end = strrchr(text, '/'))) return origin;
    if (mounts_look(file, &look))
        origin = (struct origin){look.mount, look.about.st_dev};
    close(file);
    return origin;
}

/* Whether a mount was there before, by its number. */
bool mounts_have(uint64_t number) {
    const uint64_t *each = (const uint64_t *)numbers.data;
    for (size_t i = 0; number && i < numbers.length / sizeof *each; i++)
        if (each[i] == number) return true;
    return false;
}

/* Whether a file is reached through a mount that was there before. */
bool mounts_are_old(int file) { return mounts_have(number_of(file)); }

/* The number of a file's mount by which mountinfo has it; 0: nobody knows. */
uint64_t mounts_number(int file) {
    struct statx about;
    return statx(file, "", AT_EMPTY_PATH, STATX_MNT_ID, &about) == 0 ? about.stx_mnt_id : 0;
}

/* Whether a file is the root of the mount that it is reached through. */
bool mounts_is_root(int file) {
    struct statx about;
    return statx(file, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &about) == 0 &&
           about.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* Of a thread's namespace of mounts; 0: the kernel does not tell. */
static uint64_t namespace_of(pid_t thread) {
    char path[64];
    uint64_t number = 0;
    snprintf(path, sizeof path, "/proc/%ld/ns/mnt", (long)thread);
    int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space >= 0 && ioctl(space, _IOR(0xb7, 5, uint64_t), &number) != 0) number = 0;
    if (space >= 0) close(space);
    return number;
}

bool mounts_tell_root(pid_t thread, int file, char root[PATH_MAX], dev_t *device) {
    struct told told = {0};
    const struct {
        uint32_t size, spare;
        uint64_t mount, wanted, space;
    } request = {sizeof request, 0, number_of(file), TELL_DEVICE | TELL_ROOT,
                 namespace_of(thread)};
    if (kind != UNIQUE_NUMBER || !request.space ||
        syscall(STATMOUNT, &request, &told, sizeof told, 0) != 0 ||
        (told.mask & request.wanted) != request.wanted || told.root >= sizeof told.text)
        return false;
    *device = makedev(told.device_major, told.device_minor);
    snprintf(root, PATH_MAX, "%s", told.text + told.root);
    return *root == '/';
}

/* Whether two files are reached through the same mount. */
bool mounts_are_same(int one, int other) {
    uint64_t first = number_of(one);
    return first && first == number_of(other);
}

/* The device of the mount that a file is reached through, for a process; 0: the mount is
 * in no place. */
static dev_t device_of_mount(pid_t process, int file) {
    char path[64], *line = NULL;
    uint64_t wanted = mounts_number(file);
    size_t room = 0;
    dev_t found = 0;
    unsigned major, minor;
    unsigned long long number;
    snprintf(path, sizeof path, "/proc/%ld/mountinfo", (long)process);
    FILE *lines = fopen(path, "re");
    while (wanted && lines && !found && getline(&line, &room, lines) > 0)
        if (sscanf(line, "%llu %*u %u:%u", &number, &major, &minor) == 3 &&
            number == wanted)
            found = makedev(major, minor);
    free(line);
    if (lines) fclose(lines);
    return found;
}

static bool is_same_file(int one, int other) {
    struct stat first, second;
    return fstat(one, &first) == 0 && fstat(other, &second) == 0 &&
           first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/* When the root was made of the mount that a directory is in, or as far up as there is a way
 * from here: to this process's own root. False: it is no directory, and where that is not
 * known at all, now. */
bool mounts_root_born(int file, struct timespec *born) {
    const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_NO_XDEV};
    struct statx about = {0};
    int at = openat(file, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0) return false;
    while (!mounts_is_root(at)) {
        int up = (int)syscall(SYS_openat2, at, "..", &how, sizeof how);
        if (up < 0) break;
        bool is_there = is_same_file(at, up);
        close(at);
        at = up;
        if (is_there) break;
    }
    bool is_known = statx(at, "", AT_EMPTY_PATH, STATX_BTIME, &about) == 0 &&
                    about.stx_mask & STATX_BTIME;
    close(at);
    clock_gettime(CLOCK_REALTIME, born);
    if (is_known)
        *born = (struct timespec){about.stx_btime.tv_sec, about.stx_btime.tv_nsec};
    return true;
}

/* Whether a file may be another one that nobody sees there: of an overlay that was not
 * there before. */
bool mounts_hide(pid_t process, int file) {
    struct statfs system;
    if (fstatfs(file, &system) != 0) return true;
    if (system.f_type != OVERLAYFS_SUPER_MAGIC) return false;
    dev_t device = device_of_mount(process, file);
    const dev_t *each = (const dev_t *)devices.data;
    for (size_t i = 0; device && i < devices.length / sizeof *each; i++)
        if (each[i] == device) return false;
    return true;
}
