/* A re-shard inside: the launches of one rank. */
#ifndef LLRT_RUNTIME_RESHARD_H
#define LLRT_RUNTIME_RESHARD_H

#include "runtime/comm.h"
#include "runtime/reshard_moves.h"

/* One tensor of a launch: everything but its address. */
typedef struct reshard_side {
  llrt_storage storage;
  llrt_index index[LLRT_MAX_INDICES];
  int rank;       /* whose memory it is in; -1: the communicator's zeros */
  int64_t offset; /* bytes behind that rank's address */
} reshard_side;

typedef struct reshard_launch {
  llrt_op *op;
  int n;
  llrt_tensor tensor[LLRT_MAX_TENSORS]; /* with storages and indices; the second one is written */
  reshard_side *side;                   /* n of them */
  llrt_op_desc *desc;                   /* of sums: owns the tensors' storages */
} reshard_launch;

struct llrt_reshard {
  const llrt_comm *comm;
  llrt_hash hash;
  bool casts;
  int n, capacity;
  reshard_launch *launch; /* in the order in which they are queued */
  int n_fills;            /* of them, the first: before the ranks meet */
  void *positions;        /* on the device: 0, 1, 2, … of i32; NULL: no index needs them */
  int64_t n_positions;
};

/* Prepares this rank's launches. On failure some may be there; they are the struct's. */
llrt_status reshard_build(llrt_reshard *reshard, const llrt_reshard_desc *desc, void *stream);

#endif
