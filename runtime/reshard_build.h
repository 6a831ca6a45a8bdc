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

/* Launches of copies, with the description's maps or without; alike ones are one where the device
 * can. */
llrt_status reshard_launch_copies(reshard_builder *b, reshard_copies *copies, bool maps);

/* Of a launch whose tensors and sides are there: the sum of tensors 0, 2, 3, … into tensor 1. */
llrt_status reshard_prepare_sum(const reshard_builder *b, reshard_launch *launch);

/* Zeros, and pads as the storage has them, into the own part, where it needs that. */
llrt_status reshard_build_fill(reshard_builder *b);

/* Last: what indices of the launches need. */
llrt_status reshard_finish(llrt_reshard *reshard, void *stream);

#endif
