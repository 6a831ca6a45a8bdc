/* A communicator inside: one rank's end of barriers between devices (backends/meet.h). */
#ifndef LLRT_RUNTIME_COMM_H
#define LLRT_RUNTIME_COMM_H

#include "backends/backend.h"

#include <llrt/reshard.h>

struct nccl_rank;
struct llrt_reshard;

struct llrt_comm {
  llrt_device *device;
  int32_t rank, ranks;
  backend_module *module;    /* of the kernel that waits; NULL on the host */
  void *pad;                 /* the own signal memory; NULL: no rank reaches another's memory */
  void *table;               /* on the device: addresses of all ranks' signal memory */
  void *zero;                /* on the device: 16 bytes of zeros */
  uint64_t *note;            /* host memory with the error word; NULL: none */
  uint64_t timeout;          /* nanoseconds */
  struct nccl_rank *nccl;    /* NULL: none (runtime/comm_nccl.h) */
  struct llrt_reshard *kept; /* of one-line calls, the newest first */
};

/* Words that a meeting writes into device memory on its way. */
typedef struct comm_words {
  void *list; /* NULL: there are none */
  const uint64_t *word;
  int n;
} comm_words;

/* Queues a barrier of all ranks that are about to do what the hash says; words may be NULL. On the
 * host it returns when all have come, or one has failed. Errors: DEVICE. */
llrt_status llrt_comm_meet(const llrt_comm *comm, llrt_hash hash, const comm_words *words,
                           void *stream);

/* Queues that words are written, without meeting anybody; NULL, or none of them: nothing. Errors:
 * DEVICE. */
llrt_status llrt_comm_write(const llrt_comm *comm, const comm_words *words, void *stream);

/* Queues that all other ranks are told, where they meet next, that this one cannot do what they do:
 * the communicator has failed then. Errors: DEVICE. */
llrt_status llrt_comm_refuse(const llrt_comm *comm, void *stream);

/* What went wrong so far, after all that is queued on the stream: 0, or an error word of meet.h.
 * Errors: DEVICE. */
llrt_status llrt_comm_read_error(const llrt_comm *comm, void *stream, uint64_t *error);

/* What is known to have gone wrong, without waiting: 0, or an error word. Errors: DEVICE. */
llrt_status llrt_comm_known_error(const llrt_comm *comm, uint64_t *error);

/* The error word as a status with its message; a difference is `differs`. */
llrt_status llrt_comm_tell_error(uint64_t error, llrt_status differs);

/* Destroys what one-line calls keep (reshard_into.c). Precondition: their launches are done. */
void reshard_drop_kept(llrt_comm *comm);

/* Device memory with a copy of host memory in it, which the stream need not be waited for. Errors:
 * OUT_OF_MEMORY, DEVICE. */
llrt_status llrt_comm_upload(llrt_device *device, const void *data, size_t bytes, void *stream,
                             void **memory);

#endif
