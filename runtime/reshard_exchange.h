/* A re-shard by NCCL: kernels pack what others are to get into workspace, messages go as groups,
 * kernels unpack. What is one piece of memory at an end goes from there, or arrives there, by
 * itself (reshard_wire.h). Messages may be cut into parts, of which one is under way while, on a
 * stream of the re-shard's own, the one before is unpacked and the next one packed. */
#ifndef LLRT_RUNTIME_RESHARD_EXCHANGE_H
#define LLRT_RUNTIME_RESHARD_EXCHANGE_H

#include "runtime/nccl_rank.h"
#include "runtime/reshard_wire.h"

#include <pthread.h>

typedef struct reshard_transfer {
  int peer;
  bool sends;
  bool in_place;  /* `offset` counts from the own part, else from the workspace */
  int64_t offset; /* bytes */
  int64_t bytes;
} reshard_transfer;

typedef struct reshard_exchange {
  int n_parts;
  int n_transfers, capacity;
  reshard_transfer *transfer;
  int transfers_end[RESHARD_MAX_PARTS];
  /* Launches, in their order: fills, what packs each part, what stays on the rank, what unpacks
   * each part. */
  int packs_end[RESHARD_MAX_PARTS], stays_end, unpacks_end[RESHARD_MAX_PARTS];
  int64_t workspace_bytes;
  bool halves; /* elements of 4 bits: a message may end in half a byte, whose other half is kept */

  pthread_mutex_t mutex; /* over own_workspace */
  void *own_workspace;   /* NULL: no run has asked for it */
  nccl_transfer *queued; /* n_transfers: a run's */
  /* Where something runs beside messages, of devices with streams; else NULL: */
  void *stream;
  backend_event *packed[RESHARD_MAX_PARTS], *arrived[RESHARD_MAX_PARTS], *done;
} reshard_exchange;

struct llrt_reshard;
struct reshard_bases;

/* Prepares launches and messages. On failure some may be there; they are the re-shard's. */
llrt_status reshard_exchange_build(struct llrt_reshard *reshard, const llrt_reshard_desc *desc,
                                   void *stream);
void reshard_exchange_drop(struct llrt_reshard *reshard);

/* Without a workspace: in the re-shard's own. */
llrt_status reshard_exchange_run(const struct llrt_reshard *reshard,
                                 const struct reshard_bases *bases, void *stream);

#endif
