/* Launches of a re-shard from boxes: what both paths are built of. */
#ifndef LLRT_RUNTIME_RESHARD_BUILD_H
#define LLRT_RUNTIME_RESHARD_BUILD_H

#include "runtime/reshard.h"

typedef struct reshard_builder {
  llrt_reshard *reshard;
  const llrt_reshard_desc *desc;
} reshard_builder;

/* Appends a launch of n tensors, all zero. */
llrt_status reshard_add_launch(llrt_reshard *reshard, int n, reshard_launch **out);

/* What stands for the address of a launch's tensor t until a run brings it: tells tensors apart,
 * too. */
#define RESHARD_STAND_IN_SHIFT 48
static inline uintptr_t reshard_stand_in(int t, int64_t offset) {
  return ((uintptr_t)(t + 1) << RESHARD_STAND_IN_SHIFT) + (uintptr_t)offset;
}

/* Points tensors at what is theirs, with stand-ins for addresses. */
void reshard_connect(reshard_launch *launch);

/* Prepares the operation of a launch that is connected, by what its tensors promise. */
llrt_status reshard_prepare_op(const reshard_builder *b, llrt_op_desc *desc,
                               reshard_launch *launch);

/* Launches of copies, with the description's maps or without; alike ones are one where the device
 * can. */
llrt_status reshard_launch_copies(reshard_builder *b, reshard_copies *copies, bool maps);

/* Sums of a move's summands, as this rank sees them. */
llrt_status reshard_build_sum(reshard_builder *b, const reshard_move *move);

/* Where the last sum of a move goes, as a tensor: to the destination, or, where maps act on it, to
 * memory of the re-shard's own, which reshard_map_sum reads. scale NULL: the scales as a rank has
 * them. */
llrt_status reshard_make_sum(reshard_builder *b, const reshard_move *move, int turn,
                             llrt_tensor *tensor, reshard_side *side);
llrt_status reshard_map_sum(reshard_builder *b, const reshard_move *move, int turn,
                            const llrt_tensor *scale, const reshard_side *scale_side);

/* Of a launch whose tensors and sides are there: the sum of tensors 0, 2, 3, … into tensor 1. */
llrt_status reshard_prepare_sum(const reshard_builder *b, reshard_launch *launch);

/* Zeros, and pads as the storage has them, into the own part, where it needs that. */
llrt_status reshard_build_fill(reshard_builder *b);

/* Last: memory that the launches need. */
llrt_status reshard_finish(llrt_reshard *reshard, void *stream);

#endif
