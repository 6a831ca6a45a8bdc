/* One rank's end of a communicator of NCCL's or RCCL's, the caller's or one of our own, and the
 * thread that watches over it: calls that do not return and work that does not end within the
 * time-out, and errors that NCCL tells asynchronously, abort the communicator, which ends both.
 *
 * Only the first failure is kept. A rank that has failed has no communicator any more. */
#ifndef LLRT_RUNTIME_NCCL_RANK_H
#define LLRT_RUNTIME_NCCL_RANK_H

#include "backends/backend.h"

typedef struct nccl_rank nccl_rank;

typedef struct nccl_rank_params {
  llrt_device *device;
  const char *library; /* NULL: by soname */
  void *comm;          /* the caller's; NULL: one of our own, by */
  const void *id;      /* NCCL_ID_BYTES bytes that all ranks have */
  int rank, ranks;
  uint64_t timeout; /* nanoseconds */
} nccl_rank_params;

/* Of our own: returns when all ranks have come. Errors: UNAVAILABLE, UNSUPPORTED (no library),
 * INVALID_ARGUMENT (the caller's communicator has other ranks), OUT_OF_MEMORY, DEVICE. */
llrt_status nccl_rank_open(const nccl_rank_params *params, nccl_rank **out);
/* NULL is accepted. Precondition: what was queued is done, or the rank has failed. */
void nccl_rank_close(nccl_rank *rank);

/* A message: bytes at an address of this rank's, to or from another one. */
typedef struct nccl_transfer {
  void *data;
  size_t bytes;
  int peer;
  bool sends;
} nccl_transfer;

/* Queues n messages as one group. Errors: DEVICE; the rank has failed then. */
llrt_status nccl_rank_exchange(nccl_rank *rank, const nccl_transfer *transfers, int n,
                               void *stream);
/* Queues that every rank gets all ranks' `bytes` bytes, by rank. Errors as above. */
llrt_status nccl_rank_gather(nccl_rank *rank, const void *own, void *all, size_t bytes,
                             void *stream);

/* The same from and to the host, and waits for it. Errors: OUT_OF_MEMORY, DEVICE. */
llrt_status nccl_rank_tell(nccl_rank *rank, const void *own, void *all, size_t bytes, void *stream);

/* Work that is queued between these two is watched: from when what is before it has ended, it may
 * take the time-out. Not while the stream captures. Errors: DEVICE. */
llrt_status nccl_rank_begin(nccl_rank *rank, void *stream);
llrt_status nccl_rank_end(nccl_rank *rank, void *stream);

/* OK, or what has failed (DEVICE), without waiting. */
llrt_status nccl_rank_status(nccl_rank *rank);
/* The same after all that is queued on the stream, no longer than the time-out. */
llrt_status nccl_rank_wait(nccl_rank *rank, void *stream);

/* This rank cannot do what the others do: aborts its communicator, so that they do not wait for
 * longer than they have to. */
void nccl_rank_refuse(nccl_rank *rank);

#endif
