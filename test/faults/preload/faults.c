/*
 * Faults of the disk and of the clock, put between a process and its C library by LD_PRELOAD.
 *
 *     test ── mode ──► control file ◄── mmap ── this, in the server ──► the C library
 *          ◄─ counts ─┘
 *
 * Only files below one directory are hit. The control file lies elsewhere, is shared memory for both sides, and is
 * laid out as `struct control` says, in the machine's byte order.
 *
 *     FAULTS_DIRECTORY   files below it are hit; absolute, without links, without a slash at the end
 *     FAULTS_CONTROL     path of the control file, as long as the struct
 *     FAULTS_RECEIVE_BUFFER  bytes that a client's sockets hold of what it does not read, so that it stalls soon
 *     FAULTS_SEND_BUFFER     bytes that a server's sockets hold of what its clients do not read
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum mode {
  NO_FAULT = 0,
  /* Every call that makes a file longer fails with ENOSPC, as on a full disk. */
  DISK_FULL = 1,
  /* A flush fails with EIO, as after a write-back that failed. */
  SYNC_FAILS = 2,
  /* A write fails with EIO. */
  WRITE_FAILS = 3,
  /* Every write writes a part of its bytes, as POSIX allows. */
  SHORT_WRITES = 4,
  /* A read of certain bytes of the store fails with EIO, as in a bad sector. */
  READ_FAILS = 5,
};

struct control {
  /* The test sets these. */
  _Atomic uint32_t mode;
  /* Calls that succeed before the fault begins. Counts down to 0. */
  _Atomic int32_t pass;
  /* Offset of the wall clock. The clock for durations is never changed. */
  _Atomic int32_t clock_seconds;
  /* The library sets these: 1 once it is loaded, then the hits. */
  _Atomic uint32_t loaded;
  _Atomic uint32_t full;
  _Atomic uint32_t syncs;
  _Atomic uint32_t writes;
  _Atomic uint32_t shorts;
  /* The test sets these: the range of the store in which reads fail, the end exclusive. */
  _Atomic uint64_t bad_from;
  _Atomic uint64_t bad_to;
  /* The library sets this. */
  _Atomic uint32_t reads;
};

static struct control *control;
static int receive_buffer;
static int send_buffer;
static const char *directory;
static size_t directory_length;

__attribute__((constructor)) static void load(void) {
  const char *path = getenv("FAULTS_CONTROL");
  const char *buffer = getenv("FAULTS_RECEIVE_BUFFER");
  receive_buffer = buffer == NULL ? 0 : atoi(buffer);
  buffer = getenv("FAULTS_SEND_BUFFER");
  send_buffer = buffer == NULL ? 0 : atoi(buffer);
  directory = getenv("FAULTS_DIRECTORY");
  if (path == NULL || directory == NULL) return;
  directory_length = strlen(directory);
  int (*real_open)(const char *, int, ...) = dlsym(RTLD_NEXT, "open64");
  int fd = real_open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *mapped = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped == MAP_FAILED) return;
  control = mapped;
  atomic_store(&control->loaded, 1);
}

/* The next function of this name after the one here. */
#define NEXT(result, name, ...)                                     \
  static result (*next)(__VA_ARGS__) = NULL;                        \
  if (next == NULL) next = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static enum mode current(void) { return control == NULL ? NO_FAULT : (enum mode)atomic_load(&control->mode); }

static int is_below(const char *path) {
  return strncmp(path, directory, directory_length) == 0 && path[directory_length] == '/';
}

/* The path of an open file, and its length; 0 when there is none. */
static ssize_t path_of(int fd, char *path, size_t room) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, room - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return length;
}

static int is_hit_file(int fd) {
  char path[4096];
  return path_of(fd, path, sizeof path) > 0 && is_below(path);
}

static int is_store(int fd) {
  char path[4096];
  ssize_t length = path_of(fd, path, sizeof path);
  return length > 3 && is_below(path) && strcmp(path + length - 3, ".db") == 0;
}

/* True while calls succeed before the fault begins. */
static int passes(void) {
  return atomic_load(&control->pass) > 0 && atomic_fetch_sub(&control->pass, 1) > 0;
}

/* True when the call must fail; then errno says how. */
static int fails(_Atomic uint32_t *count, int error) {
  if (passes()) return 0;
  atomic_fetch_add(count, 1);
  errno = error;
  return 1;
}

static int grows(int fd, off_t offset, size_t length) {
  struct stat status;
  return length > 0 && fstat(fd, &status) == 0 && offset + (off_t)length > status.st_size;
}

static off_t place_of(int fd) {
  struct stat status;
  int flags = fcntl(fd, F_GETFL);
  if (flags >= 0 && (flags & O_APPEND) != 0 && fstat(fd, &status) == 0) return status.st_size;
  off_t place = lseek(fd, 0, SEEK_CUR);
  return place < 0 ? 0 : place;
}

/* The length that may be written, or -1 with errno. */
static ssize_t allowed(int fd, off_t offset, size_t length) {
  enum mode mode = current();
  if (mode == NO_FAULT || mode == SYNC_FAILS || !is_hit_file(fd)) return (ssize_t)length;
  int saved = errno;
  if (mode == DISK_FULL && grows(fd, offset, length) && fails(&control->full, ENOSPC)) return -1;
  if (mode == WRITE_FAILS && fails(&control->writes, EIO)) return -1;
  errno = saved;
  if (mode != SHORT_WRITES || length < 2 || passes()) return (ssize_t)length;
  atomic_fetch_add(&control->shorts, 1);
  return (ssize_t)(length / 2);
}

/* The length that may be read of the store, or -1 with errno. As of a disk, what lies before a bad sector is read. */
static ssize_t readable(int fd, off_t offset, size_t length) {
  if (current() != READ_FAILS || length == 0) return (ssize_t)length;
  off_t from = (off_t)atomic_load(&control->bad_from), to = (off_t)atomic_load(&control->bad_to);
  if (offset >= to || offset + (off_t)length <= from || !is_store(fd)) return (ssize_t)length;
  if (offset < from) return (ssize_t)(from - offset);
  return fails(&control->reads, EIO) ? -1 : (ssize_t)length;
}

ssize_t read(int fd, void *bytes, size_t length) {
  NEXT(ssize_t, "read", int, void *, size_t);
  if (current() != READ_FAILS) return next(fd, bytes, length);
  ssize_t part = readable(fd, place_of(fd), length);
  return part < 0 ? -1 : next(fd, bytes, (size_t)part);
}

ssize_t pread64(int fd, void *bytes, size_t length, off64_t offset) {
  NEXT(ssize_t, "pread64", int, void *, size_t, off64_t);
  ssize_t part = readable(fd, offset, length);
  return part < 0 ? -1 : next(fd, bytes, (size_t)part, offset);
}

ssize_t pread(int fd, void *bytes, size_t length, off_t offset) { return pread64(fd, bytes, length, offset); }

static ssize_t length_of(const struct iovec *parts, int count) {
  ssize_t length = 0;
  for (int at = 0; at < count; at += 1) length += (ssize_t)parts[at].iov_len;
  return length;
}

ssize_t write(int fd, const void *bytes, size_t length) {
  NEXT(ssize_t, "write", int, const void *, size_t);
  if (current() == NO_FAULT) return next(fd, bytes, length);
  ssize_t part = allowed(fd, place_of(fd), length);
  return part < 0 ? -1 : next(fd, bytes, (size_t)part);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
  NEXT(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
  ssize_t part = allowed(fd, offset, length);
  return part < 0 ? -1 : next(fd, bytes, (size_t)part, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  return pwrite64(fd, bytes, length, offset);
}

/* Of what is written in parts, none is cut short: who writes so here is not the store. */
ssize_t writev(int fd, const struct iovec *parts, int count) {
  NEXT(ssize_t, "writev", int, const struct iovec *, int);
  if (current() == NO_FAULT) return next(fd, parts, count);
  return allowed(fd, place_of(fd), (size_t)length_of(parts, count)) < 0 ? -1 : next(fd, parts, count);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  NEXT(ssize_t, "pwritev", int, const struct iovec *, int, off_t);
  return allowed(fd, offset, (size_t)length_of(parts, count)) < 0 ? -1 : next(fd, parts, count, offset);
}

static int sync_fails(int fd) {
  return current() == SYNC_FAILS && is_hit_file(fd) && fails(&control->syncs, EIO);
}

int fsync(int fd) {
  NEXT(int, "fsync", int);
  return sync_fails(fd) ? -1 : next(fd);
}

int fdatasync(int fd) {
  NEXT(int, "fdatasync", int);
  return sync_fails(fd) ? -1 : next(fd);
}

int ftruncate64(int fd, off64_t length) {
  NEXT(int, "ftruncate64", int, off64_t);
  enum mode mode = current();
  /* A file that is made longer in this way has a hole, which needs no room. */
  if (mode == WRITE_FAILS && is_hit_file(fd) && fails(&control->writes, EIO)) return -1;
  return next(fd, length);
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int fallocate64(int fd, int how, off64_t offset, off64_t length) {
  NEXT(int, "fallocate64", int, int, off64_t, off64_t);
  if (current() == DISK_FULL && is_hit_file(fd) && grows(fd, offset, (size_t)length) && fails(&control->full, ENOSPC))
    return -1;
  return next(fd, how, offset, length);
}

int fallocate(int fd, int how, off_t offset, off_t length) { return fallocate64(fd, how, offset, length); }

/* Answers the error, and leaves errno alone. */
int posix_fallocate64(int fd, off64_t offset, off64_t length) {
  NEXT(int, "posix_fallocate64", int, off64_t, off64_t);
  int saved = errno;
  int isFull = current() == DISK_FULL && is_hit_file(fd) && grows(fd, offset, (size_t)length) &&
               fails(&control->full, ENOSPC);
  errno = saved;
  return isFull ? ENOSPC : next(fd, offset, length);
}

int posix_fallocate(int fd, off_t offset, off_t length) { return posix_fallocate64(fd, offset, length); }

static int open_fails(const char *path, int flags) {
  if (current() != DISK_FULL || (flags & O_CREAT) == 0 || path[0] != '/' || !is_below(path)) return 0;
  struct stat status;
  return stat(path, &status) != 0 && fails(&control->full, ENOSPC);
}

int open64(const char *path, int flags, ...) {
  NEXT(int, "open64", const char *, int, ...);
  va_list rest;
  va_start(rest, flags);
  mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_fails(path, flags) ? -1 : next(path, flags, mode);
}

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open64(path, flags, mode);
}

int openat64(int at, const char *path, int flags, ...) {
  NEXT(int, "openat64", int, const char *, int, ...);
  va_list rest;
  va_start(rest, flags);
  mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_fails(path, flags) ? -1 : next(at, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return openat64(at, path, flags, mode);
}

static int32_t clock_off(void) { return control == NULL ? 0 : atomic_load(&control->clock_seconds); }

int clock_gettime(clockid_t clock, struct timespec *now) {
  NEXT(int, "clock_gettime", clockid_t, struct timespec *);
  int result = next(clock, now);
  if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += clock_off();
  return result;
}

int gettimeofday(struct timeval *now, void *zone) {
  NEXT(int, "gettimeofday", struct timeval *, void *);
  int result = next(now, zone);
  if (result == 0) now->tv_sec += clock_off();
  return result;
}

time_t time(time_t *now) {
  NEXT(time_t, "time", time_t *);
  time_t result = next(NULL) + clock_off();
  if (now != NULL) *now = result;
  return result;
}

int socket(int domain, int type, int protocol) {
  NEXT(int, "socket", int, int, int);
  int fd = next(domain, type, protocol);
  if (fd >= 0 && receive_buffer > 0)
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  return fd;
}

int accept4(int listening, struct sockaddr *address, socklen_t *length, int flags) {
  NEXT(int, "accept4", int, struct sockaddr *, socklen_t *, int);
  int fd = next(listening, address, length, flags);
  if (fd >= 0 && send_buffer > 0) setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
  return fd;
}
