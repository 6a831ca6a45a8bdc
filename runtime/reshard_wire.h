/* What a message between two ranks looks like: by the description and the move alone, so that both
 * ends come to the same. */
#ifndef LLRT_RUNTIME_RESHARD_WIRE_H
#define LLRT_RUNTIME_RESHARD_WIRE_H

#include "runtime/reshard_moves.h"

#define RESHARD_MAX_PARTS LLRT_RESHARD_MAX_PARTS

/* The box as a tensor of its own, from byte 0 of the message on. */
typedef struct reshard_wire {
  llrt_dtype dtype; /* the narrower one of both sides */
  llrt_storage storage;
  int64_t strides[LLRT_MAX_RANK]; /* of its RUN-TIME digits */
  int64_t bytes;
  bool sent_in_place, received_in_place;     /* the box is one piece of the part's memory, and the
                                                message is that piece: nothing packs, or unpacks */
  int64_t source_offset, destination_offset; /* bytes: where the piece begins in the part */
  bool maps_on_arrival;                      /* and the cast, where dtype is the source's */
} reshard_wire;

/* Of summand `summand` of the move (0 where there are none). Errors: INTERNAL. */
llrt_status reshard_wire_choose(const llrt_reshard_desc *desc, const reshard_move *move,
                                int summand, reshard_wire *wire);

/* Whether the scales of a move go to its destination as a message of their own, and its bytes. */
bool reshard_sends_scales(const llrt_reshard_desc *desc, const reshard_move *move);
int64_t reshard_scale_bytes(const llrt_reshard_desc *desc, const reshard_move *move);

/* Calls visit for what of a move is a message: the move itself, or, where a box is a few large
 * pieces of memory, each of these, as long as that saves packing, or unpacking. Stops at the first
 * error, which it returns. Errors: INTERNAL. */
llrt_status reshard_each_piece(const llrt_reshard_desc *desc, const reshard_move *move,
                               reshard_visit *visit, void *user);

/* Into how many parts messages are cut, so that one is under way while the next one is packed: as
 * many as the description says, or by the bytes that the busiest rank sends, where messages are
 * packed and unpacked. 1: they are not. Errors: OUT_OF_MEMORY, INTERNAL. */
llrt_status reshard_count_parts(const llrt_reshard_desc *desc, int64_t ranks, int *parts);

/* Part `part` of n of a move: *piece, and true; or false where it has no such part. A move that
 * cannot be cut without an index is part 0. */
bool reshard_cut_move(const llrt_reshard_desc *desc, const reshard_move *move, int part, int n,
                      reshard_move *piece);

/* Bytes of so many elements, the last byte filled up. */
int64_t reshard_bytes(int64_t elements, llrt_dtype dtype);
int64_t reshard_elements(const llrt_reshard_desc *desc, const reshard_move *move);

#endif
