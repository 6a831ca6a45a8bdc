/* The storages and indices of one operation's tensors, checked once and kept: what every later call
 * with the same builds on instead of checking again. */
#ifndef LLRT_RUNTIME_STORAGE_SET_H
#define LLRT_RUNTIME_STORAGE_SET_H

#include "jit/plan/types/description.h"
#include "jit/plan/types/tensor_role.h"

#include <stdatomic.h>

/* How many operations with extents compiled in a context keeps that one-line calls have made of one
 * set, all dtypes together; later shapes share the kernels that take any extent. */
#define STORAGE_SET_FIXED_OPS 16

typedef struct storage_set {
  atomic_int references; /* llrt_storage_set_retain; 0: of nobody who counts, as on a stack */
  llrt_hash key;         /* of storages and indices as written: llrt_storage_set_key */
  int32_t n, rank;
  uint32_t roles; /* of a dot's tensors (op_dot.roles), else 0: what messages call them */
  llrt_storage storage[LLRT_MAX_TENSORS];  /* storage_representative of each, all of one rank */
  llrt_hash hash[LLRT_MAX_TENSORS];        /* llrt_storage_hash: of the rules in canonical form */
  uint32_t open_strides[LLRT_MAX_TENSORS]; /* digits whose stride the rule leaves open: RUN-TIME, or
                                              PACKED outside one or outside a REST digit */
  bool packed[LLRT_MAX_TENSORS]; /* every stride is PACKED: no two elements share an offset */
  atomic_int fixed_ops;
  atomic_bool
      prepared; /* there are operations with promises that somebody chose: of extents, perhaps */
  uint32_t device_extents[LLRT_MAX_TENSORS]; /* bit a: the tensor's extent_ptr[a] is not NULL */
  int32_t n_indices[LLRT_MAX_TENSORS];
  llrt_index index[LLRT_MAX_TENSORS]
                  [LLRT_MAX_INDICES]; /* valid; what belongs to the class, else 0 */
} storage_set;

/* A hash of the storages and of the indices' class exactly as the tensors give them (a storage
 * NULL: row_major of the tensor's rank). Rules that are equal but written differently get different
 * keys. Cost: some tens of nanoseconds. Errors: INVALID_ARGUMENT where counts pass the arrays'
 * bounds. Precondition: ranks in range. */
llrt_status llrt_storage_set_key(const llrt_tensor *tensors, int n, uint32_t roles, llrt_hash *key);

/* Checks the storages in full and fills the set. Errors: INVALID_ARGUMENT naming the tensor. */
llrt_status llrt_storage_set_init(const llrt_tensor *tensors, int n, uint32_t roles,
                                  storage_set *set);

/* A set that is allocated: with one more reference, and with one less, freed with the last. */
storage_set *llrt_storage_set_retain(storage_set *set);
void llrt_storage_set_release(storage_set *set); /* NULL is accepted */

/* `set` retained where it counts references, else a copy. NULL without memory. */
storage_set *llrt_storage_set_hold(const storage_set *set);

/* The descriptions' form of tensor `index`: its storage and indices (borrowed from the set), no
 * data. */
llrt_tensor llrt_storage_set_tensor(const storage_set *set, int index, llrt_dtype dtype);

#endif
