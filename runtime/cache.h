/* The kernel cache of a context: operations by the hash of their description. An operation that is
 * being compiled is in the table already, under its own lock, so a lookup never waits for a compile
 * and two threads that ask for one kernel find one operation. */
#ifndef LLRT_RUNTIME_CACHE_H
#define LLRT_RUNTIME_CACHE_H

#include "runtime/storage_set.h"

#include <pthread.h>

/* Open addressing, linear probing, at most half full; keys are hashes already. */
typedef struct hash_table {
  size_t count, capacity; /* capacity is a power of two, or 0 */
  struct hash_slot {
    llrt_hash key;
    void *value; /* NULL: free */
  } *slot;
} hash_table;

typedef struct kernel_cache {
  pthread_mutex_t mutex; /* held for a lookup or an insertion, never for a plan or a compile */
  hash_table sets;       /* storage_set by its key; kept until the context ends */
  hash_table ops;        /* llrt_op by its key, and by keys of promises that it serves besides; kept until its device
                            closes */
  hash_table families;   /* op_family: the operations that differ in promises alone, by the key without any */
  uint64_t hits;
  pthread_mutex_t choosing; /* held while a call's operation is chosen that no lookup finds: kernels are planned then */
} kernel_cache;

/* Operations of one description, in the order in which they were made. */
typedef struct op_family {
  int n, capacity;
  llrt_op **op; /* borrowed of the table */
} op_family;

void llrt_cache_init(kernel_cache *cache);
void llrt_cache_fini(kernel_cache *cache);

/* The checked set of these tensors' storages: found, or checked now and kept. */
llrt_status llrt_cache_get_set(kernel_cache *cache, const llrt_tensor *tensors, int n, uint32_t roles,
                               storage_set **set);

/* The operation of a checked description with the set's storages on the device: found, or made now
 * without kernels. The cache keeps a reference; the caller gets none, and needs none while it uses
 * the device. Errors: OUT_OF_MEMORY. */
llrt_status llrt_cache_get_op(kernel_cache *cache, llrt_device *device, const llrt_op_desc *desc,
                              const storage_set *set, llrt_op **op);

/* The operation of that key, or NULL; counted as a hit. */
llrt_op *llrt_cache_find(kernel_cache *cache, llrt_hash key);

/* Finds `op` by this key, too. Without memory nothing happens. */
void llrt_cache_alias(kernel_cache *cache, llrt_hash key, llrt_op *op);

/* Keeps an operation that llrt_op_make made of the description, unless there is one of its key; takes the caller's
 * reference. *op: the one kept. Errors: OUT_OF_MEMORY. */
llrt_status llrt_cache_keep(kernel_cache *cache, llrt_op *made, const llrt_op_desc *desc, const storage_set *set,
                            llrt_op **op);

/* Up to `most` operations of the description, whatever their promises, into op[]; returns their number. */
int llrt_cache_relatives(kernel_cache *cache, llrt_device *device, const llrt_op_desc *desc, const storage_set *set,
                         llrt_op **op, int most);

/* The same, but *op = NULL where it would be made and the set has as many operations as one-line calls
 * may make of it with extents compiled in. */
llrt_status llrt_cache_get_fixed_op(kernel_cache *cache, llrt_device *device,
                                    const llrt_op_desc *desc, storage_set *set, llrt_op **op);

/* Lets go of the device's operations. */
void llrt_cache_drop_device(kernel_cache *cache, const llrt_device *device);

/* Kernels held, and lookups that found an operation. */
void llrt_cache_count(kernel_cache *cache, uint64_t *kernels, uint64_t *hits);

#endif
