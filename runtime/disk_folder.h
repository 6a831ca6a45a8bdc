/* The files of a cache's folder: read, written, locked, counted, removed. Nothing here knows what a
 * kernel is. */
#ifndef LLRT_RUNTIME_DISK_FOLDER_H
#define LLRT_RUNTIME_DISK_FOLDER_H

#include "base/hash.h"

#include <llrt/status.h>

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* A whole file of a folder to be trusted, malloc'ed. NULL: *why NULL where there is none, else why
 * it is not to be read. */
char *llrt_disk_file_read(int folder, const char *name, size_t *size, const char **why);

/* Notes that the file is used, unless that was noted within the last minute. */
void llrt_disk_file_touch(int folder, const char *name);

/* Writes a file under another name and gives it its own when it is whole, so that whoever opens
 * `name` finds all of the old or all of the new one. durable: it is on the disk before it gets its
 * name. Returns 0 or errno; nothing is left then. RLIMIT_FSIZE's signal is not raised. */
int llrt_disk_file_write(int folder, const char *name, const void *bytes, size_t size,
                         bool durable);

/* Holds the key's lock among all threads and processes that use the folder, or gives up after so
 * many milliseconds. Returns what unlock takes; -1: not held. Ends with the process. */
int llrt_disk_lock(int folder, llrt_hash key, int milliseconds);
void llrt_disk_unlock(int lock);

typedef struct disk_file {
  char *name;
  uint64_t bytes;
  struct timespec used;
} disk_file;

typedef struct disk_list {
  disk_file *file;
  size_t n, capacity;
  uint64_t bytes; /* of all */
} disk_list;

/* The cache's files, by name; of what writers left that were killed, all that is older than ten
 * minutes is removed. Errors: IO, OUT_OF_MEMORY, with *list empty. */
llrt_status llrt_disk_list(int folder, disk_list *list);
void llrt_disk_list_fini(disk_list *list);

/* Removes files, those first that were not used for longest, until no more than `most` bytes are
 * left; returns how many files went. Where another process is doing so, that is left to it. */
uint64_t llrt_disk_shrink(int folder, disk_list *list, uint64_t most);

#endif
