/* llrt_reshard: the same tensor over several devices in another sharding, in one pass over links.
 *
 * Every device that takes part is a *rank*: device r of the meshes is rank r of a communicator.
 * Each rank brings its part, and the memory of the others as it sees it: addresses of peers'
 * memory, by peer access, NCCL's windows, torch's symmetric memory or IPC, which the caller has
 * opened. Kernels of one rank read its own part and write the others' directly; where parts are
 * summands, they read all of them and write their own sums. Two barriers, kernels of their own,
 * hold the ranks together: no byte is moved before all ranks have come, and the call's stream goes
 * on when all have moved theirs. docs/reshard.md. */
#ifndef LLRT_RESHARD_H
#define LLRT_RESHARD_H

#include <llrt/mesh.h>
#include <llrt/op.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LLRT_MAX_RANKS 1024

/* ---- ranks that wait for each other ---- */

typedef struct llrt_comm llrt_comm;

/* Bytes of the memory, one piece on each rank's device, through which `ranks` ranks tell each other
 * how far they are. Errors: INVALID_ARGUMENT. */
LLRT_API llrt_status llrt_comm_signal_bytes(int32_t ranks, size_t *bytes);

typedef struct llrt_comm_params {
  size_t size;
  int32_t rank, ranks;  /* 0 <= rank < ranks <= LLRT_MAX_RANKS */
  void *const *signals; /* [ranks]: rank r's signal memory (llrt_comm_signal_bytes, a multiple of
                           16) as this rank's device sees it. Zeroed before any rank's first call,
                           and nobody's else while the communicator lives */
  int64_t timeout_ms;   /* that a rank waits for the others at a barrier; 0: 30000 */
} llrt_comm_params;

/* A communicator of this rank; one for each rank, made in any order, without waiting for the
 * others. Calls that take it are made by all ranks in the same order, each rank's by one thread at
 * a time. Ownership: llrt_comm_destroy, before the device is closed; the signal memory is the
 * caller's. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY, DEVICE, UNSUPPORTED (a device without the
 * kernel by which ranks wait: hip; launches that block, CUDA_LAUNCH_BLOCKING). */
LLRT_API llrt_status llrt_comm_create(llrt_device *device, const llrt_comm_params *params,
                                      llrt_comm **comm);

/* Clears *comm; NULL is accepted. Precondition: its launches are done. */
LLRT_API void llrt_comm_destroy(llrt_comm **comm);

/* OK while nothing went wrong; else DEVICE, the message naming the rank that did not come in time,
 * that described something else or that failed. It reads the device's memory, and waits for what is
 * queued on `stream`. A communicator that has failed stays so, on every rank within the time-out:
 * destroy it, zero the signal memory, make another. What destinations hold is then undefined.
 * Thread: any. Errors: INVALID_ARGUMENT for NULL, DEVICE. */
LLRT_API llrt_status llrt_comm_status(const llrt_comm *comm, void *stream);

/* Lets kernels and copies of `device` reach the memory of `peer` that llrt_memory_allocate gave,
 * for as long as the process lives (cuCtxEnablePeerAccess). Nothing happens where they are one
 * device, or the host. Errors: UNSUPPORTED where they cannot, INVALID_ARGUMENT, DEVICE. */
LLRT_API llrt_status llrt_device_reach_peer(llrt_device *device, llrt_device *peer);

/* ---- the operation ---- */

typedef struct llrt_reshard llrt_reshard;

/* The same on every rank. Storages of parts have no RUN-TIME strides and no digits on other targets
 * than memory. */
typedef struct llrt_reshard_desc {
  size_t size;
  const llrt_sharding *source, *destination;  /* of one rank; devices of both meshes are ranks */
  const int64_t *shape;                       /* of the whole tensor, source->rank positions */
  llrt_dtype source_dtype, destination_dtype; /* other types: a cast (llrt/map.h) */
  const llrt_map *maps; /* n_maps of them: XOR and WORD_BITS; none with summands */
  int32_t n_maps;
  int32_t reserved;
} llrt_reshard_desc;

/* Plans, compiles and loads what this rank launches. Collective: every rank of the communicator
 * calls it, and it returns when all have, their descriptions having been compared: where one
 * differs, it is INVALID_ARGUMENT on every rank, where one refuses or does not come, an error on
 * every rank within the time-out. Uses the stream and waits for it; NOT_PREPARED, with nobody told,
 * while it captures. Ownership: llrt_reshard_destroy. Thread: as llrt_comm_create says. Errors: as
 * llrt_op_prepare. */
LLRT_API llrt_status llrt_reshard_prepare(llrt_comm *comm, const llrt_reshard_desc *desc,
                                          void *stream, llrt_reshard **reshard);

/* Clears *reshard; NULL is accepted. Precondition: its launches are done. */
LLRT_API void llrt_reshard_destroy(llrt_reshard **reshard);

/* destination(x) = source(x), with the maps applied, for every coordinate x, in every copy that the
 * destination has; of copies in the source one is read. Summands are added in the order of the
 * mesh, in f32 (f64, integers: as docs/expressions.md has them), and cast once; of a destination of
 * summands the first gets the values and the others zeros. Pads are written as the storage says.
 *   sources        [ranks]: rank r's part as this rank sees it. The own one is read; the others
 *                  where the source has summands, else they may be NULL
 *   destinations   [ranks]: rank r's part as this rank sees it, of every rank that gets something
 *                  from this one, or, of summands, the own one. Parts may not overlap sources
 *   stream         all launches are queued there; the call does not wait, and is legal in a
 *                  capture, of which every rank replays its graph. On the host NULL: it returns
 *                  when all ranks have moved theirs, so that ranks need a thread each
 * Addresses are multiples of 16 bytes. Where a rank did not come in time the communicator has
 * failed (llrt_comm_status), and the next call says so, too, without waiting for it. A call that
 * fails tells the other ranks, whose communicators have failed then, too, and moves nothing of its
 * own. Errors: INVALID_ARGUMENT, OUT_OF_CLASS (an address), DEVICE. */
LLRT_API llrt_status llrt_reshard_run(const llrt_reshard *reshard, void *const *sources,
                                      void *const *destinations, void *stream);

/* What moves between ranks, as text: messages and bytes of each rank, the busiest link, memory, and
 * the time that links of `link_gbps` GB/s (10^9 bytes a second, each way of each device; 0: 450)
 * and memory of `memory_gbps` (0: 3350) take at least. Needs no device. buffer, size and length as
 * llrt_layout_print. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
LLRT_API llrt_status llrt_reshard_explain(const llrt_reshard_desc *desc, double link_gbps,
                                          double memory_gbps, char *buffer, size_t size,
                                          size_t *length);

#ifdef __cplusplus
}
#endif
#endif
