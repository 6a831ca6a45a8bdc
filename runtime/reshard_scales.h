/* The scales of a re-shard with a SCALE map: a tensor of its own over the ranks, of an element for
 * each block of groups. Moves are cut so that each takes its scales from one rank's part. */
#ifndef LLRT_RUNTIME_RESHARD_SCALES_H
#define LLRT_RUNTIME_RESHARD_SCALES_H

#include "runtime/reshard_moves.h"

/* The SCALE map, or NULL. */
const llrt_map *reshard_scale_map(const llrt_reshard_desc *desc);

/* The scales' shape, shape[source->rank]. Precondition: there is a SCALE map. */
void reshard_scale_shape(const llrt_reshard_desc *desc, int64_t *shape);

/* The box of scales of a move: of the whole tensor of scales. */
void reshard_scale_box(const llrt_reshard_desc *desc, const reshard_move *move, int64_t *begin,
                       int64_t *extent);

/* Whether the rank's part of the scales has all of the move's. */
bool reshard_has_scales(const llrt_reshard_desc *desc, int64_t rank, const reshard_move *move);

/* Calls visit for the pieces of a move, with a rank that has all scales of each: the one that the
 * box comes from, if it has them, else the one that it goes to, else copies take turns. A piece
 * begins where a group does, or lies in one group, along every axis. Without a SCALE map the piece
 * is the move. Stops at the first error, which it returns. */
llrt_status reshard_each_scaled(const llrt_reshard_desc *desc, const reshard_move *move,
                                reshard_visit *visit, void *user);

#endif
