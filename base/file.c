#include "base/file.h"

#include "base/memory.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_READ 65536    /* bytes asked for when the size is not known (a pipe) */
#define TEMPORARY_TRIES 100 /* names tried before giving up on a free one */

static llrt_status file_error(const char *path, const char *what) {
  int code = errno;
  return llrt_error_vendor(LLRT_IO, code, "cannot %s %s: %s", what, path, strerror(code));
}

/* Reads until the end, doubling the buffer; fstat's size is only the first guess. */
static llrt_status read_all(int fd, const char *path, size_t guess, char **data, size_t *size) {
  size_t capacity = guess + 1;
  char *bytes = memory_new(capacity);
  size_t used = 0;
  while (bytes) {
    if (used + 1 == capacity) {
      char *larger = memory_resize(bytes, capacity *= 2);
      if (!larger) break;
      bytes = larger;
    }
    ssize_t got = read(fd, bytes + used, capacity - used - 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      free(bytes);
      return file_error(path, "read");
    }
    if (got == 0) {
      bytes[used] = 0;
      *data = bytes;
      *size = used;
      return LLRT_OK;
    }
    used += (size_t)got;
  }
  free(bytes);
  return llrt_error(LLRT_OUT_OF_MEMORY, "no memory to read %s", path);
}

llrt_status llrt_file_read(const char *path, char **data, size_t *size) {
  *data = NULL;
  *size = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return file_error(path, "open");
  struct stat info;
  bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  llrt_status status =
      read_all(fd, path, regular ? (size_t)info.st_size + 1 : FIRST_READ, data, size);
  close(fd);
  return status;
}

static bool write_all(int fd, const char *bytes, size_t size) {
  while (size) {
    ssize_t put = write(fd, bytes, size);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes += put;
    size -= (size_t)put;
  }
  return true;
}

/* Opens a new file beside `path` and writes its name into temporary[PATH_MAX]. */
static int open_temporary(const char *path, char *temporary) {
  for (int i = 0; i < TEMPORARY_TRIES; i++) {
    int length = snprintf(temporary, PATH_MAX, "%s.%ld-%d.tmp", path, (long)getpid(), i);
    if (length >= PATH_MAX) {
      errno = ENAMETOOLONG;
      return -1;
    }
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

static llrt_status write_in_place(const char *path, const void *data, size_t size) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return file_error(path, "open");
  bool written = write_all(fd, data, size);
  llrt_status status = written ? LLRT_OK : file_error(path, "write");
  if (close(fd) != 0 && written) return file_error(path, "write");
  return status;
}

llrt_status llrt_file_write(const char *path, const void *data, size_t size) {
  struct stat info;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) return write_in_place(path, data, size);
  char temporary[PATH_MAX];
  int fd = open_temporary(path, temporary);
  if (fd < 0) return file_error(path, "create");
  bool written = write_all(fd, data, size);
  llrt_status status = written ? LLRT_OK : file_error(path, "write");
  if (close(fd) != 0 && written) status = file_error(path, "write");
  if (status == LLRT_OK && rename(temporary, path) != 0) status = file_error(path, "replace");
  if (status != LLRT_OK) unlink(temporary);
  return status;
}
