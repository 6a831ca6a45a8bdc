/* The kernel cache of a context: operations by the hash of their description. An operation that is
 * being compiled is in the table already, under its own lock, so a lookup never waits for a compile
 * and two threads that ask for one kernel find one operation. */
#ifndef LLRT_RUNTIME_CACHE_H
#define LLRT_RUNTIME_CACHE_H

#include "runtime/storage_set.h"

#include <pthread.h>

#include <stdbool.h>

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
  hash_table sets;       /* storage_set by its key, held */
  hash_table ops; /* llrt_op by its key, and by keys of promises that it serves besides; kept until
                     its device closes */
  hash_table shapes; /* llrt_op by keys of calls of one shape that it has served. All are forgotten
                        when there are llrt_cache_most_shapes of them: a call that finds none
                        chooses anew */
  hash_table families; /* op_family: the operations that differ in promises alone, by the key
                          without any */
  llrt_op *pinned; /* operations that it does not know otherwise and that captures have launched; a
                      list */
  uint64_t hits, lookups;
  pthread_mutex_t choosing; /* held while a call's operation is chosen that no lookup finds: kernels
                               are planned then. Nothing is dropped meanwhile */
  uint64_t most_kernels, most_bytes; /* that it keeps loaded for one-line calls, and that these
                                        take; 0: any number. Set before the first call */
  bool limited;     /* the program said how many: operations go from the first one too many on */
  atomic_bool near; /* not limited: more than half of most_bytes was taken. What was launched before
                       stays: nobody asked whether a graph has it */
  uint64_t unloaded; /* operations let go for that */
  atomic_bool grown; /* code was loaded since the limit was looked at */
} kernel_cache;

/* Operations of one description, in the order in which they were made. */
typedef struct op_family {
  int n, capacity;
  int shapes;   /* for which one-line calls have asked whether a kernel of their own is worth it */
  llrt_op **op; /* borrowed of the table */
} op_family;

void llrt_cache_init(kernel_cache *cache);
void llrt_cache_fini(kernel_cache *cache);

/* The checked set of these tensors' storages: found, or checked now and kept. Held: the caller
 * releases it. */
llrt_status llrt_cache_get_set(kernel_cache *cache, const llrt_tensor *tensors, int n,
                               uint32_t roles, storage_set **set);

/* The set of that key, held, or NULL. */
storage_set *llrt_cache_find_set(kernel_cache *cache, llrt_hash key);

/* Operations that the functions below give are held: the caller releases them.
 *
 * The operation of a checked description with the set's storages on the device: found, or made now
 * without kernels. Errors: OUT_OF_MEMORY. */
llrt_status llrt_cache_get_op(kernel_cache *cache, llrt_device *device, const op_description *desc,
                              const storage_set *set, llrt_op **op);

/* The operation of that key, or NULL; counted as a hit. */
llrt_op *llrt_cache_find(kernel_cache *cache, llrt_hash key);

/* Finds `op` by this key, too. Without memory nothing happens. */
void llrt_cache_alias(kernel_cache *cache, llrt_hash key, llrt_op *op);

/* The same for calls of one shape, of which there may be any number: until they are too many. */
void llrt_cache_alias_shape(kernel_cache *cache, llrt_hash key, llrt_op *op);

/* How many of those are kept: 16,384, or as many as take a 16th of most_bytes; 32 at least. */
size_t llrt_cache_most_shapes(const kernel_cache *cache);

/* Keeps an operation that llrt_op_make made of the description, unless there is one of its key;
 * takes the caller's reference. *op: the one kept. Errors: OUT_OF_MEMORY. */
llrt_status llrt_cache_keep(kernel_cache *cache, llrt_op *made, const op_description *desc,
                            const storage_set *set, llrt_op **op);

/* Up to `most` operations of the description, whatever their promises, into op[]; returns their
 * number. Borrowed. Precondition: `choosing` is held. */
int llrt_cache_relatives(kernel_cache *cache, llrt_device *device, const op_description *desc,
                         const storage_set *set, llrt_op **op, int most);

/* op_family.shapes of the description's; count: from now on one more. INT_MAX without memory. */
int llrt_cache_shapes(kernel_cache *cache, const llrt_device *device, const op_description *desc,
                      const storage_set *set, bool count);

/* As llrt_cache_get_op, but *op = NULL where it would be made and the set has as many operations as
 * one-line calls may make of it with extents compiled in. */
llrt_status llrt_cache_get_fixed_op(kernel_cache *cache, llrt_device *device,
                                    const op_description *desc, storage_set *set, llrt_op **op);

/* The operation's code stays while its device is open: a graph has it. */
void llrt_cache_pin(kernel_cache *cache, llrt_op *op);

/* Before a launch: whether it has to be known if the stream captures, because the operation's code
 * may be unloaded while the device is open. Else it stays, whatever the stream does. */
bool llrt_cache_may_unload(const kernel_cache *cache, llrt_op *op);

/* Lets operations go whose kernels are too many or too large, those first that were not used for
 * longest: none that a capture has or may have launched, that a handle is held of, or that a call
 * is using; and sets that no operation has. Unloading waits for the device. Costs nothing where no
 * code was loaded since. */
void llrt_cache_enforce(kernel_cache *cache);

/* Lets go of the device's operations. */
void llrt_cache_drop_device(kernel_cache *cache, const llrt_device *device);

/* Kernels held, and what operations, sets and the tables of them take; lookups, and those that
 * found an operation; operations let go. */
typedef struct cache_count {
  uint64_t kernels, bytes, lookups, hits, unloaded;
} cache_count;
cache_count llrt_cache_count(kernel_cache *cache);

#endif
