/* Faults of a file system and a clock, for a program that is started with this library in LD_PRELOAD.
 *
 * Calls that change files below the folder FAULT_BELOW are counted, one after the other over all threads, and written to
 * the file FAULT_LOG. At the call number FAULT_AT, FAULT_HOW happens:
 *   once   the call fails with the error number FAULT_ERRNO
 *   from   this call and all later ones fail with it; removing files still works, unless the folder is read-only
 *   short  a write takes half of its bytes, then as `from`
 *   after  the call is carried out, and fails all the same
 *   kill   the process is killed before the call
 * With FAULT_NAME, that call is the third after a file was renamed to a path that ends so.
 * After the call number FAULT_CLOCK_AT, the clock of the day is FAULT_CLOCK seconds off.
 *
 * With FAULT_SHADOW, a folder, each synchronised file is copied to it as it then was, so that a test can tell what a
 * power loss leaves. Only the program whose name is FAULT_PROGRAM is disturbed, not those that it starts.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FILES 65536
#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

static pthread_mutex_t one_call = PTHREAD_MUTEX_INITIALIZER;
static const char *below, *how = "", *last_name = "", *shadow;
static size_t below_length;
static long at, number, handles, clock_at, clock_shift;
static int error_number, log_file = -1, is_failing;
/* The handle of each open file below the folder, counted from 1 in the order of opening; 0 for others. */
static long handle_of[FILES];

static const char *text(const char *name) { const char *value = getenv(name); return value ? value : ""; }

/* Reads the variables; called again by a process that sets them after it was forked. */
__attribute__((constructor)) void fault_begin(void) {
    char program[PATH_MAX] = "";
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) return;
    const char *name = strrchr(program, '/');
    if (!name || strcmp(name + 1, text("FAULT_PROGRAM"))) return;
    how = text("FAULT_HOW");
    last_name = text("FAULT_NAME");
    at = atol(text("FAULT_AT"));
    error_number = atoi(text("FAULT_ERRNO"));
    clock_at = atol(text("FAULT_CLOCK_AT"));
    clock_shift = atol(text("FAULT_CLOCK"));
    shadow = getenv("FAULT_SHADOW");
    if (*text("FAULT_LOG"))
        log_file = syscall(SYS_openat, AT_FDCWD, text("FAULT_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    below_length = strlen(text("FAULT_BELOW"));
    below = below_length ? text("FAULT_BELOW") : NULL;
}

/* The absolute path, in `whole`; NULL where it is not below the folder. */
static const char *inside(int folder, const char *path, char *whole) {
    if (!below || !path) return NULL;
    if (path[0] == '/') {
        snprintf(whole, PATH_MAX, "%s", path);
    } else {
        char link[64], base[PATH_MAX] = "";
        snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
        if (readlink(link, base, sizeof base - 1) < 0) return NULL;
        if (snprintf(whole, PATH_MAX, "%s/%s", base, path) >= PATH_MAX) return NULL;
    }
    int is_inside = !strncmp(whole, below, below_length) && (whole[below_length] == '/' || !whole[below_length]);
    return is_inside ? whole : NULL;
}

static void note(const char *form, ...) {
    char line[3 * PATH_MAX];
    va_list values;
    if (log_file < 0) return;
    va_start(values, form);
    int length = vsnprintf(line, sizeof line - 1, form, values);
    va_end(values);
    line[length++] = '\n';
    syscall(SYS_write, log_file, line, (size_t)length);
}

/* What is to happen to the call that comes now. */
enum fate { CARRY_OUT, FAIL, HALF, FAIL_AFTER };

static enum fate fate(int is_write, int removes) {
    number++;
    if (is_failing) {
        int has_room = removes && (error_number == ENOSPC || error_number == EDQUOT);
        return has_room ? CARRY_OUT : FAIL;
    }
    if (number != at) return CARRY_OUT;
    if (!strcmp(how, "kill")) {
        kill(getpid(), SIGKILL);
        pause();
    }
    if (!strcmp(how, "after")) return FAIL_AFTER;
    if (!strcmp(how, "once")) return FAIL;
    if (!strcmp(how, "short") && is_write) {
        is_failing = 1;
        return HALF;
    }
    if (!strcmp(how, "from") || !strcmp(how, "short")) {
        is_failing = 1;
        return fate(is_write, removes);
    }
    return CARRY_OUT;
}

/* Carries a call out as its fate says; `form` is its line in the log, separated by tabs. */
#define COUNTED(type, is_write, removes, call, ...) do { \
        pthread_mutex_lock(&one_call); \
        enum fate fate_now = fate(is_write, removes); \
        type result = -1; \
        if (fate_now != FAIL) { \
            result = call; \
            if (result >= 0) note(__VA_ARGS__); \
        } \
        int error_now = errno; \
        if (fate_now == FAIL || fate_now == FAIL_AFTER) { result = -1; error_now = error_number; } \
        pthread_mutex_unlock(&one_call); \
        errno = error_now; \
        return result; \
    } while (0)

static int opened(int folder, const char *path, int flags, mode_t mode) {
    char whole[PATH_MAX];
    if (!inside(folder, path, whole)) return syscall(SYS_openat, folder, path, flags, mode);
    int changes = (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
    pthread_mutex_lock(&one_call);
    enum fate fate_now = changes ? fate(0, 0) : CARRY_OUT;
    int is_failed = fate_now == FAIL || fate_now == FAIL_AFTER;
    int file = fate_now == FAIL ? -1 : syscall(SYS_openat, folder, path, flags, mode), error_now = errno;
    if (file >= 0 && file < FILES && !(flags & O_PATH)) {
        handle_of[file] = ++handles;
        note("open\t%ld\t%ld\t%s\t%s", changes ? number : 0, handles, flags & O_TRUNC ? "new" : "old", whole);
    }
    if (is_failed) {
        if (file >= 0) { handle_of[file < FILES ? file : 0] = 0; syscall(SYS_close, file); }
        file = -1;
        error_now = error_number;
    }
    pthread_mutex_unlock(&one_call);
    errno = error_now;
    return file;
}

#define MODE(flags) mode_t mode = 0; \
    if (flags & (O_CREAT | __O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); }

int open(const char *path, int flags, ...) { MODE(flags) return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return opened(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE(flags) return opened(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE(flags) return opened(folder, path, flags, mode); }
int creat(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

int close(int file) {
    if (file >= 0 && file < FILES) handle_of[file] = 0;
    return syscall(SYS_close, file);
}

static long handle(int file) { return below && file >= 0 && file < FILES ? handle_of[file] : 0; }

ssize_t write(int file, const void *bytes, size_t count) {
    long of = handle(file);
    if (!of) return syscall(SYS_write, file, bytes, count);
    COUNTED(ssize_t, 1, 0, syscall(SYS_write, file, bytes, fate_now == HALF ? (count + 1) / 2 : count),
            "write\t%ld\t%ld", number, of);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    long of = handle(file);
    if (!of) return syscall(SYS_writev, file, parts, count);
    COUNTED(ssize_t, 1, 0, syscall(SYS_writev, file, parts, fate_now == HALF ? 1 : count), "write\t%ld\t%ld", number, of);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    long of = handle(file);
    if (!of) return syscall(SYS_pwrite64, file, bytes, count, offset);
    COUNTED(ssize_t, 1, 0, syscall(SYS_pwrite64, file, bytes, fate_now == HALF ? (count + 1) / 2 : count, offset),
            "write\t%ld\t%ld", number, of);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) { return pwrite64(file, bytes, count, offset); }

int ftruncate64(int file, off64_t length) {
    long of = handle(file);
    if (!of) return syscall(SYS_ftruncate, file, length);
    COUNTED(int, 0, 0, syscall(SYS_ftruncate, file, length), "write\t%ld\t%ld", number, of);
}

int ftruncate(int file, off_t length) { return ftruncate64(file, length); }

/* Copies a file that is about to be synchronised to `shadow`, under the number of the call. */
static void copy_to_shadow(int file) {
    struct stat about;
    char link[64], to[PATH_MAX], bytes[65536];
    if (!shadow || fstat(file, &about) || !S_ISREG(about.st_mode)) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    snprintf(to, sizeof to, "%s/%ld", shadow, number);
    int from = syscall(SYS_openat, AT_FDCWD, link, O_RDONLY), out = syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT, 0644);
    for (ssize_t n; (n = syscall(SYS_read, from, bytes, sizeof bytes)) > 0;) syscall(SYS_write, out, bytes, n);
    syscall(SYS_close, from);
    syscall(SYS_close, out);
}

static int synchronised(int file) { copy_to_shadow(file); return syscall(SYS_fsync, file); }

int fsync(int file) {
    long of = handle(file);
    if (!of) return syscall(SYS_fsync, file);
    COUNTED(int, 0, 0, synchronised(file), "sync\t%ld\t%ld", number, of);
}

int fdatasync(int file) { return fsync(file); }

static int renamed(int from_folder, const char *from, int to_folder, const char *to) {
    size_t length = strlen(to), end = strlen(last_name);
    if (end && length >= end && !strcmp(to + length - end, last_name)) at = number + 3;
    return syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    char a[PATH_MAX], b[PATH_MAX];
    if (!inside(from_folder, from, a) || !inside(to_folder, to, b))
        return syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
    COUNTED(int, 0, 0, renamed(from_folder, from, to_folder, to), "rename\t%ld\t%s\t%s", number, a, b);
}

int rename(const char *from, const char *to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    char a[PATH_MAX], b[PATH_MAX];
    if (!inside(from_folder, from, a) || !inside(to_folder, to, b))
        return syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    COUNTED(int, 0, 0, syscall(SYS_linkat, from_folder, from, to_folder, to, flags), "link\t%ld\t%s\t%s", number, a, b);
}

int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int folder, const char *path, int flags) {
    char a[PATH_MAX];
    if (!inside(folder, path, a)) return syscall(SYS_unlinkat, folder, path, flags);
    COUNTED(int, 0, 1, syscall(SYS_unlinkat, folder, path, flags), "unlink\t%ld\t%s", number, a);
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int folder, const char *path, mode_t mode) {
    char a[PATH_MAX];
    if (!inside(folder, path, a)) return syscall(SYS_mkdirat, folder, path, mode);
    COUNTED(int, 0, 0, syscall(SYS_mkdirat, folder, path, mode), "mkdir\t%ld\t%s", number, a);
}

int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

static time_t shift(void) { return clock_shift && number >= clock_at ? clock_shift : 0; }

int clock_gettime(clockid_t clock, struct timespec *time) {
    static __typeof__(clock_gettime) *real;
    if (!real) real = REAL(clock_gettime);
    int result = real(clock, time);
    if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += shift();
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    static __typeof__(gettimeofday) *real;
    if (!real) real = REAL(gettimeofday);
    int result = real(time, zone);
    if (!result) time->tv_sec += shift();
    return result;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}
