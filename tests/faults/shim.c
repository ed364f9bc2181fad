/* Faults of a disk, for one process: a library to be preloaded, in front of the C library's calls that write.

   The calls are counted that concern paths below a folder. The one with a given number fails with an error (fail), and so do
   those that follow it and need room (stay); or the process is killed before or after the call (kill-before, kill-after); or all writes are slow
   to get on: half of each, and an EINTR before it (slow). What calls the system without the C library is not seen. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { NONE, FAIL, STAY, SLOW, KILL_BEFORE, KILL_AFTER };

static char folder[PATH_MAX], calls[1 << 20];
static long number, seen;
static int error_number, interrupted;
static enum kind kind = NONE;
/* The path that the call at work concerns. */
static __thread char concerned[2 * PATH_MAX];

/* Starts anew: calls below the folder are counted from here on, and a fault of some kind is in the one with this number. */
void faults_set(const char *path, long which, const char *name, int error) {
    static const char *const names[] = {"none", "fail", "stay", "slow", "kill-before", "kill-after"};
    snprintf(folder, sizeof folder, "%s", path);
    number = which;
    error_number = error;
    seen = 0;
    calls[0] = 0;
    for (int at = 0; at < 6; at++)
        if (strcmp(name, names[at]) == 0) kind = (enum kind)at;
}

/* The calls so far, a line each: the name, and the path. */
const char *faults_calls(void) { return calls; }

static int is_below(void) {
    size_t length = strlen(folder);
    return length > 0 && strncmp(concerned, folder, length) == 0;
}

static int concerns_file(int file) {
    char link[64];
    if (!folder[0]) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, concerned, PATH_MAX - 1);
    if (length < 0) return 0;
    concerned[length] = 0;
    return is_below();
}

static int concerns(int at, const char *path) {
    if (!folder[0]) return 0;
    if (path[0] == '/') {
        snprintf(concerned, sizeof concerned, "%s", path);
        return is_below();
    }
    if (at != AT_FDCWD) concerns_file(at);
    else if (!getcwd(concerned, PATH_MAX)) return 0;
    size_t length = strlen(concerned);
    snprintf(concerned + length, sizeof concerned - length, "/%s", path);
    return is_below();
}

/* Counts a call that concerns the folder; whether it has to fail, with errno set. */
static int fails(const char *name) {
    size_t length = strlen(calls);
    snprintf(calls + length, sizeof calls - length, "%s %s\n", name, concerned);
    seen++;
    if (kind == KILL_BEFORE && seen == number) kill(getpid(), SIGKILL);
    /* A full disk lets files that are there be opened, cut and renamed. */
    int stays = kind == STAY && seen > number && !strstr("open ftruncate rename mmap", name);
    if (!stays && !((kind == FAIL || kind == STAY) && seen == number)) return 0;
    errno = error_number;
    return 1;
}

static void done(void) {
    if (kind == KILL_AFTER && seen == number) kill(getpid(), SIGKILL);
}

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))
/* A call of the C library, refused or done. */
#define GUARDED(condition, name, result, call)          \
    do {                                                \
        if (!(condition)) return call;                  \
        if (fails(name)) return result;                 \
        __auto_type value = call;                       \
        int kept = errno;                               \
        done();                                         \
        errno = kept;                                   \
        return value;                                   \
    } while (0)

static const char *named(int flags) { return flags & O_CREAT ? "create" : "open"; }
static int writes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT); }

#define MODE(flags)                                                    \
    mode_t mode = 0;                                                   \
    if (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) {              \
        va_list rest;                                                  \
        va_start(rest, flags);                                         \
        mode = va_arg(rest, mode_t);                                   \
        va_end(rest);                                                  \
    }

int open(const char *path, int flags, ...) {
    MODE(flags)
    GUARDED(writes(flags) && concerns(AT_FDCWD, path), named(flags), -1, REAL(open)(path, flags, mode));
}

int open64(const char *path, int flags, ...) {
    MODE(flags)
    GUARDED(writes(flags) && concerns(AT_FDCWD, path), named(flags), -1, REAL(open64)(path, flags, mode));
}

int openat(int at, const char *path, int flags, ...) {
    MODE(flags)
    GUARDED(writes(flags) && concerns(at, path), named(flags), -1, REAL(openat)(at, path, flags, mode));
}

int openat64(int at, const char *path, int flags, ...) {
    MODE(flags)
    GUARDED(writes(flags) && concerns(at, path), named(flags), -1, REAL(openat64)(at, path, flags, mode));
}

/* Half of what is to be written, and every other time none of it, for a signal has come. */
static int slow(size_t *count) {
    interrupted = !interrupted;
    if (interrupted) errno = EINTR;
    else if (*count > 1) *count /= 2;
    return interrupted;
}

ssize_t write(int file, const void *data, size_t count) {
    if (kind == SLOW && concerns_file(file) && slow(&count)) return -1;
    GUARDED(concerns_file(file), "write", -1, REAL(write)(file, data, count));
}

ssize_t pwrite64(int file, const void *data, size_t count, off64_t at) {
    if (kind == SLOW && concerns_file(file) && slow(&count)) return -1;
    GUARDED(concerns_file(file), "pwrite", -1, REAL(pwrite64)(file, data, count, at));
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    if (kind == SLOW && concerns_file(file)) return write(file, parts[0].iov_base, parts[0].iov_len);
    GUARDED(concerns_file(file), "writev", -1, REAL(writev)(file, parts, count));
}

int fsync(int file) { GUARDED(concerns_file(file), "fsync", -1, REAL(fsync)(file)); }
int fdatasync(int file) { GUARDED(concerns_file(file), "fdatasync", -1, REAL(fdatasync)(file)); }
int ftruncate(int file, off_t size) { GUARDED(concerns_file(file), "ftruncate", -1, REAL(ftruncate)(file, size)); }
int ftruncate64(int file, off64_t size) { GUARDED(concerns_file(file), "ftruncate", -1, REAL(ftruncate64)(file, size)); }
int rename(const char *from, const char *to) { GUARDED(concerns(AT_FDCWD, to), "rename", -1, REAL(rename)(from, to)); }
int mkdir(const char *path, mode_t mode) { GUARDED(concerns(AT_FDCWD, path), "mkdir", -1, REAL(mkdir)(path, mode)); }

int renameat(int at, const char *from, int there, const char *to) {
    GUARDED(concerns(there, to), "rename", -1, REAL(renameat)(at, from, there, to));
}

int renameat2(int at, const char *from, int there, const char *to, unsigned flags) {
    GUARDED(concerns(there, to), "rename", -1, REAL(renameat2)(at, from, there, to, flags));
}

void *mmap(void *place, size_t length, int protection, int flags, int file, off_t at) {
    GUARDED(file >= 0 && concerns_file(file), "mmap", MAP_FAILED, REAL(mmap)(place, length, protection, flags, file, at));
}

void *mmap64(void *place, size_t length, int protection, int flags, int file, off64_t at) {
    GUARDED(file >= 0 && concerns_file(file), "mmap", MAP_FAILED, REAL(mmap64)(place, length, protection, flags, file, at));
}
