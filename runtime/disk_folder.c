#include "runtime/disk_folder.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/trusted_folder.h"
#include "runtime/disk_entry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_FILE "lock"
#define TEMPORARY ".tmp-"
#define MOST_BYTES ((off_t)1 << 30) /* of a file */
#define STALE_SECONDS 600           /* a temporary file that nobody is writing any more */
#define NOTED_SECONDS 60

/* ---- files ---- */

static bool read_bytes(int file, char *bytes, size_t size) {
  while (size > 0) {
    ssize_t got = read(file, bytes, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    size -= (size_t)got;
  }
  return true;
}

/* Read, not mapped: a mapped file that somebody cuts short would end the process. */
char *llrt_disk_file_read(int folder, const char *name, size_t *size, const char **why) {
  off_t length;
  int file = llrt_trusted_file_open(folder, name, &length, why);
  if (file < 0) return NULL;
  char *bytes = length <= MOST_BYTES ? memory_new((size_t)length + 1) : NULL;
  if (!bytes) *why = "it is too large";
  if (bytes && !read_bytes(file, bytes, (size_t)length)) {
    *why = "it cannot be read";
    free(bytes);
    bytes = NULL;
  }
  close(file);
  *size = (size_t)length;
  return bytes;
}

void llrt_disk_file_touch(int folder, const char *name) {
  struct stat info;
  if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (time(NULL) - info.st_mtime < NOTED_SECONDS) return;
  utimensat(folder, name, NULL, AT_SYMLINK_NOFOLLOW);
}

static int write_bytes(int file, const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t put = write(file, bytes, size);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    if (put == 0) return EIO;
    bytes += put;
    size -= (size_t)put;
  }
  return 0;
}

/* A file that grows past RLIMIT_FSIZE raises a signal of this thread, which would end a program
 * that knows nothing of it. */
static int write_unsignalled(int file, const char *bytes, size_t size) {
  sigset_t over, before, pending;
  sigemptyset(&over);
  sigaddset(&over, SIGXFSZ);
  sigpending(&pending);
  if (pthread_sigmask(SIG_BLOCK, &over, &before) != 0) return EINVAL;
  int code = write_bytes(file, bytes, size);
  const struct timespec now = {0, 0};
  if (code == EFBIG && !sigismember(&pending, SIGXFSZ)) sigtimedwait(&over, NULL, &now);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return code;
}

static int errno_of(int result) { return result == 0 ? 0 : errno; }

int llrt_disk_file_write(int folder, const char *name, const void *bytes, size_t size,
                         bool durable) {
  static atomic_uint counter;
  char temporary[64];
  snprintf(temporary, sizeof temporary, TEMPORARY "%ld-%u-%llx", (long)getpid(),
           atomic_fetch_add(&counter, 1), (unsigned long long)time(NULL));
  int file = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0) return errno;
  int code = write_unsignalled(file, bytes, size);
  if (code == 0) code = errno_of(fchmod(file, 0644)); /* whatever the umask lets others write */
  if (code == 0 && durable) code = errno_of(fsync(file));
  int closed = errno_of(close(file));
  if (code == 0) code = closed;
  if (code == 0) code = errno_of(renameat(folder, temporary, folder, name));
  if (code != 0) unlinkat(folder, temporary, 0);
  else if (durable) fsync(folder);
  return code;
}

/* ---- locks ---- */

static int try_lock(int file, off_t at) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
  return fcntl(file, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
}

static int open_locks(int folder) {
  return openat(folder, LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* Byte 0 is the removers'; each key has a byte of the others, of a file that has none. */
static off_t byte_of(llrt_hash key) { return (off_t)(1 + (key.low & INT64_MAX >> 1)); }

int llrt_disk_lock(int folder, llrt_hash key, int milliseconds) {
  struct timespec pause = {0, 500000};
  int file = open_locks(folder), code;
  if (file < 0) return -1;
  int64_t left = (int64_t)milliseconds * 1000000;
  while ((code = try_lock(file, byte_of(key))) == EAGAIN || code == EACCES) {
    if (left <= 0) break;
    nanosleep(&pause, NULL);
    left -= pause.tv_nsec;
    if (pause.tv_nsec < 8000000) pause.tv_nsec *= 2;
  }
  if (code == 0) return file;
  close(file);
  return -1;
}

void llrt_disk_unlock(int lock) {
  if (lock >= 0) close(lock);
}

/* ---- the folder ---- */

static bool add_file(disk_list *list, const char *name, const struct stat *info) {
  if (list->n == list->capacity) {
    size_t capacity = list->capacity ? 2 * list->capacity : 64;
    disk_file *grown = memory_resize(list->file, capacity * sizeof *grown);
    if (!grown) return false;
    list->file = grown;
    list->capacity = capacity;
  }
  char *copy = memory_text(name);
  if (!copy) return false;
  list->file[list->n++] = (disk_file){copy, (uint64_t)info->st_size, info->st_mtim};
  list->bytes += (uint64_t)info->st_size;
  return true;
}

/* False: no memory. */
static bool see_file(int folder, const char *name, disk_list *list) {
  llrt_hash key;
  struct stat info;
  bool temporary = strncmp(name, TEMPORARY, sizeof TEMPORARY - 1) == 0;
  if (!temporary && !llrt_disk_entry_key(name, &key)) return true;
  if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return true;
  if (!temporary) return add_file(list, name, &info);
  if (time(NULL) - info.st_mtime > STALE_SECONDS) unlinkat(folder, name, 0);
  return true;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const disk_file *)a)->name, ((const disk_file *)b)->name);
}

static int by_use(const void *a, const void *b) {
  const struct timespec x = ((const disk_file *)a)->used, y = ((const disk_file *)b)->used;
  if (x.tv_sec != y.tv_sec) return x.tv_sec < y.tv_sec ? -1 : 1;
  return x.tv_nsec < y.tv_nsec ? -1 : x.tv_nsec > y.tv_nsec;
}

llrt_status llrt_disk_list(int folder, disk_list *list) {
  *list = (disk_list){0};
  int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *stream = own >= 0 ? fdopendir(own) : NULL;
  if (!stream) {
    if (own >= 0) close(own);
    return llrt_error_vendor(LLRT_IO, errno, "cannot list the folder: %s", strerror(errno));
  }
  bool whole = true;
  for (struct dirent *row; whole && (row = readdir(stream)) != NULL;)
    whole = see_file(folder, row->d_name, list);
  closedir(stream);
  if (list->n > 0) qsort(list->file, list->n, sizeof *list->file, by_name);
  if (whole) return LLRT_OK;
  llrt_disk_list_fini(list);
  return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a folder's list");
}

void llrt_disk_list_fini(disk_list *list) {
  for (size_t i = 0; i < list->n; i++) free(list->file[i].name);
  free(list->file);
  *list = (disk_list){0};
}

uint64_t llrt_disk_shrink(int folder, disk_list *list, uint64_t most) {
  uint64_t removed = 0;
  int locks = open_locks(folder);
  if (locks < 0) return 0;
  if (list->n > 0) qsort(list->file, list->n, sizeof *list->file, by_use);
  for (size_t i = 0; i < list->n && list->bytes > most && (i > 0 || try_lock(locks, 0) == 0); i++) {
    const disk_file *file = &list->file[i];
    struct stat now;
    if (fstatat(folder, file->name, &now, AT_SYMLINK_NOFOLLOW) == 0) {
      bool used_since =
          now.st_mtim.tv_sec != file->used.tv_sec || now.st_mtim.tv_nsec != file->used.tv_nsec;
      if (used_since) continue;
      removed += unlinkat(folder, file->name, 0) == 0;
    }
    list->bytes -= file->bytes;
  }
  close(locks);
  return removed;
}
