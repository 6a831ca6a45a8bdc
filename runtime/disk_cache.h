/* A context's cache on disk: its folders, and an operation's kernels there (docs/cache.md). */
#ifndef LLRT_RUNTIME_DISK_CACHE_H
#define LLRT_RUNTIME_DISK_CACHE_H

#include "base/hash.h"
#include "runtime/disk_entry.h"
#include "runtime/log.h"
#include "runtime/storage_set.h"

#include <llrt/cache.h>
#include <llrt/device.h>

#include <pthread.h>
#include <stdatomic.h>

#define DISK_CACHE_BYTES ((uint64_t)1 << 30) /* unless params say otherwise */

struct llrt_op;

typedef struct disk_cache {
  char *path;      /* of `folder`; NULL: none */
  int folder;      /* files are read and written here; -1: none */
  atomic_bool off; /* nothing is written any more: it failed once */
  int n_read, read_folder[LLRT_MAX_READ_DIRS];
  uint64_t most_bytes;
  context_log *log;
  pthread_mutex_t mutex; /* over what follows */
  uint64_t bytes;        /* of the folder's files, as far as this context knows */
  unsigned unseen;       /* files written since it looked */
  bool looked;
  atomic_uint_fast64_t hits, misses, written, rejected, removed;
} disk_cache;

/* Opens the folders; those that cannot be used are told and left out. Errors: INVALID_ARGUMENT,
 * OUT_OF_MEMORY. */
llrt_status llrt_disk_cache_init(const llrt_cache_params *params, context_log *log,
                                 disk_cache *cache);
void llrt_disk_cache_fini(disk_cache *cache);

static inline bool llrt_disk_cache_is_on(const disk_cache *cache) {
  return cache->folder >= 0 || cache->n_read > 0;
}

/* The name of an operation's kernels: of what they compute and promise, the device's facts, and the
 * build that makes them. */
llrt_hash llrt_disk_key(const llrt_device *device, const op_description *desc,
                        const storage_set *set);

/* Gives an operation the recipes and the code that the disk has and it has not; loads nothing.
 * False: nothing was added. Precondition: op->build is held, or nobody else knows the operation. */
bool llrt_disk_fetch(struct llrt_op *op);

/* Writes an operation's recipes and code over what the disk has of it. durable:
 * llrt_disk_file_write. What goes wrong is told, and nothing is written from then on. Precondition:
 * as llrt_disk_fetch's.
 */
void llrt_disk_store(struct llrt_op *op, bool durable);

/* An entry of a folder by its name: its bytes, malloc'ed, into which *entry points; NULL where
 * there is none. *why: what makes it none for this build, or NULL. */
char *llrt_disk_read_entry(const disk_cache *cache, int folder, llrt_hash key, disk_entry *entry,
                           const char **why);
/* Counts and tells an entry that is not used. */
void llrt_disk_reject(disk_cache *cache, llrt_hash key, const char *why);
/* Writes an entry for the device's target; as llrt_disk_store. */
void llrt_disk_write_entry(disk_cache *cache, const llrt_device *device, llrt_hash key,
                           const llrt_text *line, const llrt_text *content, bool durable);

/* Held while an operation's kernels are compiled, so that other processes wait for them instead of
 * compiling as well; -1: not held. */
int llrt_disk_begin(const struct llrt_op *op);

#endif
