/* Every check of what callers pass to operations, in one place: nothing below the runtime repeats
 * one. */
#ifndef LLRT_RUNTIME_VALIDATE_H
#define LLRT_RUNTIME_VALIDATE_H

#include "runtime/storage_set.h"

/* One call's tensors, bound to their storages. */
typedef struct op_call {
  int32_t n;
  bool empty;                     /* no elements are written: nothing to launch */
  int32_t bits[LLRT_MAX_TENSORS]; /* of an element */
  int32_t room_bytes;             /* backend_launch.room_bytes */
  const char *cache; /* "hit", "disk", "miss"; NULL: the caller's operation (launch_log.h) */
  int64_t extents[LLRT_MAX_RANK]; /* of a compute's axes */
  const uint64_t *scalars;        /* of a compute, unless the run brings others */
  double alpha, beta;             /* of a dot: the description's, unless the run brings others */
  llrt_tensor tensor[LLRT_MAX_TENSORS];
  llrt_storage_binding binding[LLRT_MAX_TENSORS];
} op_call;

/* Checks a list of maps by itself: kinds, order, permutations; of a caller's also that there is
 * one. */
llrt_status llrt_validate_maps(const llrt_map *maps, int n_maps);
llrt_status llrt_validate_given_maps(const llrt_map *maps, int n_maps);
llrt_status llrt_validate_map_reserved(const llrt_map *map, int number);
/* The SCALE map of a description, or NULL. */
const llrt_map *llrt_map_of_scale(const op_description *desc);
/* Whether a convert's types can be cast; checks the types of a convert that scales; needs checked
 * maps. */
llrt_status llrt_validate_cast(const op_description *desc);
llrt_status llrt_validate_scale(const op_description *desc);
llrt_status llrt_validate_scale_types(llrt_dtype from, llrt_dtype to, llrt_dtype scale);

/* Checks a description without looking at its storages: kind, count, dtypes, ranks, maps, promises.
 */
llrt_status llrt_validate_desc(const op_description *desc);

/* Checks what can be said of tensors without their storages: dtypes, ranks, one device, a stream
 * that suits it. roles: of a dot's, else 0. */
llrt_status llrt_validate_tensors(const llrt_tensor *tensors, int n, uint32_t roles,
                                  const void *stream);

/* Binds the tensors' shapes, which must be equal (a scale's: divided by its groups), to the set of
 * their storages. Fills *call, where the shape of tensor 0 is that of the operation. */
llrt_status llrt_validate_shapes(const op_description *desc, const llrt_tensor *tensors,
                                 const storage_set *set, op_call *call);

/* validate_memory.c: checks the memory of a call that is not empty: addresses, overlap, a
 * destination with one offset for each element. */
llrt_status llrt_validate_memory(const op_description *desc, const storage_set *set,
                                 const op_call *call);
/* Whether tensors a and b, whose memory reaches into each other's, are known to share no byte: both
 * have columns of their own of rows that are one pitch apart, as slices of one buffer have. */
bool llrt_call_beside(const storage_set *set, const op_call *call, int a, int b);

/* A convert's own. */
llrt_status llrt_validate_convert(const op_description *desc);
/* validate_reduce.c: a reduce's combiner, types and axes; needs valid dtypes and ranks. */
llrt_status llrt_validate_reduce(const op_description *desc);
/* The shapes of its tensors: those written have one position along the reduced axes, where their
 * storages have no more. */
llrt_status llrt_validate_reduced_shapes(const op_description *desc, const llrt_tensor *tensors,
                                         const storage_set *set);

/* Axes along which a tensor has one position: its storage has no more. */
llrt_status llrt_validate_single(const llrt_storage *storage, int axis, const char *role);

/* validate_scan.c: the same of a scan. */
llrt_status llrt_validate_scan(const op_description *desc);

/* validate_compute.c: a compute's program, tensors and types; needs valid dtypes and ranks. */
llrt_status llrt_validate_compute(const op_description *desc);
/* The extents of its axes, in which all tensors that have them agree. */
llrt_status llrt_validate_compute_shapes(const op_description *desc, const llrt_tensor *tensors,
                                         const storage_set *set, int64_t extents[LLRT_MAX_RANK]);
/* Whether some output has elements where the axes have these extents. */
bool llrt_compute_has_elements(const expr_program *program, const int64_t *extents);
/* Outputs lie in memory of their own, or exactly where an input does. */
llrt_status llrt_validate_compute_memory(const op_description *desc, const storage_set *set,
                                         const op_call *call);
/* Before a compute runs so many kernels: outputs that two of them write, half a byte each, are in
 * no input's place. */
llrt_status llrt_validate_compute_halves(const op_description *desc, int kernels,
                                         const op_call *call);

/* validate_dot.c: a dot's tensors, types, groups and maps; needs valid dtypes and ranks. */
llrt_status llrt_validate_dot(const op_description *desc);
/* Extents that agree with each other and with the groups; set NULL: without looking at storages. */
llrt_status llrt_validate_dot_shapes(const op_description *desc, const llrt_tensor *tensors,
                                     const storage_set *set);
/* C in D's place lies as D does. */
llrt_status llrt_validate_dot_memory(const op_description *desc, const storage_set *set,
                                     const op_call *call);
/* dot_grouped.c: of a grouped product, what says whose positions are lies one behind the other. */
llrt_status llrt_validate_grouped_memory(const op_description *desc, const storage_set *set,
                                         const op_call *call);
/* The extents of the axes batch.., M, N, K. */
void llrt_dot_extents(const op_description *desc, const llrt_tensor *tensors,
                      int64_t shape[LLRT_MAX_RANK]);

#endif
