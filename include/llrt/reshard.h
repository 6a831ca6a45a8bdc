/* llrt_reshard: the same tensor over several devices in another sharding, in one pass over links.
 *
 * Every device that takes part is a *rank*: device r of the meshes is rank r of a communicator.
 * Each rank brings its part, and the memory of the others as it sees it: addresses of peers'
 * memory, by peer access, NCCL's windows, torch's symmetric memory or IPC, which the caller has
 * opened. Kernels of one rank read its own part and write the others' directly, or read the others'
 * and write the own one; where parts are summands, they read all of them and write their own sums.
 * Two barriers, kernels of their own,
 * hold the ranks together: no byte is moved before all ranks have come, and the call's stream goes
 * on when all have moved theirs.
 *
 * Where ranks do not reach each other's memory, NCCL or RCCL carries the bytes: kernels pack them
 * into workspace and unpack them, except what is one piece of memory. docs/reshard.md. */
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

/* An ncclUniqueId: one rank makes it and gives it to the others. */
typedef struct llrt_nccl_id {
  char bytes[128];
} llrt_nccl_id;

/* An id for a communicator of NCCL's (on cuda devices) or RCCL's (hip). library: as in
 * llrt_comm_params. Errors: INVALID_ARGUMENT, UNAVAILABLE (no such library), UNSUPPORTED (the host,
 * an old library), DEVICE. */
LLRT_API llrt_status llrt_nccl_id_create(llrt_device *device, const char *library,
                                         llrt_nccl_id *id);

typedef struct llrt_comm_params {
  size_t size;
  int32_t rank, ranks; /* 0 <= rank < ranks <= LLRT_MAX_RANKS */
  void *const
      *signals;       /* [ranks]: rank r's signal memory (llrt_comm_signal_bytes, a multiple of
                         16) as this rank's device sees it. Zeroed before any rank's first call,
                         and nobody's else while the communicator lives; on hip fine-grained memory
                         (hipExtMallocWithFlags). NULL: ranks do not reach
                         each other's memory; NCCL carries the bytes */
  int64_t timeout_ms; /* that a rank waits for the others at a barrier, or a call of NCCL's and
                         what it queued take; 0: 30000 */
  void *nccl; /* the caller's ncclComm_t of the same ranks, which nobody else uses at the same time;
                 NULL: none */
  const llrt_nccl_id *nccl_id; /* the same one on all ranks, for a communicator of llrt's own, of
                                  which every rank drives another device; NULL: none */
  const char *nccl_library;    /* NULL: libnccl.so.2 or librccl.so.1, a copy that the process has
                                  loaded first; else the file to load */
} llrt_comm_params;

/* A communicator of this rank; one for each rank, made in any order, without waiting for the
 * others, except with nccl_id, where it returns when all have come. Calls that take it are made by
 * all ranks in the same order, each rank's by one thread at a time. Ownership: llrt_comm_destroy,
 * before the device is closed; the signal memory and `nccl` are the caller's, but a communicator
 * that has failed (llrt_comm_status) has aborted `nccl`, which is then no more. Errors:
 * INVALID_ARGUMENT, OUT_OF_MEMORY, DEVICE, UNAVAILABLE (no NCCL), UNSUPPORTED (with signals: a
 * device without the kernel by which ranks wait; launches that block, CUDA_LAUNCH_BLOCKING).
 */
LLRT_API llrt_status llrt_comm_create(llrt_device *device, const llrt_comm_params *params,
                                      llrt_comm **comm);

/* Clears *comm; NULL is accepted. Precondition: its launches are done. */
LLRT_API void llrt_comm_destroy(llrt_comm **comm);

/* OK while nothing went wrong; else DEVICE, the message naming the rank that did not come in time,
 * that described something else or that failed, or with NCCL's words. It reads the device's memory,
 * and waits for what is queued on `stream`; by NCCL no longer than the time-out, behind which the
 * communicator has failed. A communicator that has failed stays so, on every rank within the
 * time-out: destroy it, zero the signal memory, make another. What destinations hold is then
 * undefined. Thread: any. Errors: INVALID_ARGUMENT for NULL, DEVICE. */
LLRT_API llrt_status llrt_comm_status(const llrt_comm *comm, void *stream);

/* Queues a meeting: what every rank has queued on its stream before it is done, and its memory
 * seen by all, before what any rank queues behind it. As runs it may be captured, and on the host
 * it waits. For callers of llrt_reshard_move. Errors: INVALID_ARGUMENT, DEVICE, also where a rank
 * did not come before; UNSUPPORTED without signals. */
LLRT_API llrt_status llrt_comm_barrier(const llrt_comm *comm, void *stream);

/* Lets kernels and copies of `device` reach the memory of `peer` that llrt_memory_allocate gave,
 * for as long as the process lives (cuCtxEnablePeerAccess). Nothing happens where they are one
 * device, or the host. Errors: UNSUPPORTED where they cannot, INVALID_ARGUMENT, DEVICE. */
LLRT_API llrt_status llrt_device_reach_peer(llrt_device *device, llrt_device *peer);

/* ---- the operation ---- */

typedef struct llrt_reshard llrt_reshard;

typedef enum llrt_reshard_path {
  LLRT_RESHARD_CHOOSE = 0, /* what the communicator has; of both, what takes less time by a model of
                              NVLink */
  LLRT_RESHARD_PEERS = 1,  /* kernels write peers' memory */
  LLRT_RESHARD_NCCL = 2
} llrt_reshard_path;

/* By peers' memory. */
typedef enum llrt_reshard_access {
  LLRT_RESHARD_ACCESS_CHOOSE =
      0,                  /* what puts less on the links: narrower elements, longer pieces */
  LLRT_RESHARD_WRITE = 1, /* ranks read their own memory and write the others' */
  LLRT_RESHARD_READ = 2   /* ranks read the others' memory and write their own: summands are
                             always moved so */
} llrt_reshard_access;

#define LLRT_RESHARD_MAX_PARTS 8

/* The same on every rank. Storages of parts have no digits on other targets than memory. */
typedef struct llrt_reshard_desc {
  size_t size;
  const llrt_sharding *source, *destination;  /* of one rank; devices of both meshes are ranks */
  const int64_t *shape;                       /* of the whole tensor, source->rank positions */
  llrt_dtype source_dtype, destination_dtype; /* other types: a cast (llrt/map.h) */
  const llrt_map *maps; /* n_maps of them: XOR, SCALE, WORD_BITS, as a convert has them; of
                           summands, on their sum: no XOR */
  int32_t n_maps;
  int32_t path;  /* llrt_reshard_path */
  int32_t parts; /* by NCCL: into how many parts each message is cut, one of which is under way
                    while the next one is packed; at most LLRT_RESHARD_MAX_PARTS. 0: by the bytes */
  int32_t reserved;
  const llrt_sharding *scale; /* of a SCALE map: how its scales lie, a tensor of ceil(extent /
                                 group) positions along each axis (LLRT_GROUP_ALL: 1); any sharding
                                 over the ranks but summands. Else NULL */
  llrt_dtype scale_dtype;
  int32_t access;                /* llrt_reshard_access; by NCCL without meaning */
  const int64_t *source_strides; /* [ranks][LLRT_MAX_RANK], elements: the strides of RUN-TIME digits
                                    of rank r's part, as llrt_tensor.strides; NULL where there are
                                    none. Nothing PACKED is outside such a digit */
  const int64_t *destination_strides; /* likewise */
  /* Indirections of every rank's part: COORDINATE, as llrt_index has them, x being coordinates in
   * the part; data and report are NULL, as a run brings each rank's values. REPORT is UNSUPPORTED,
   * by NCCL also SKIP on sources, and so are indices beside summands. */
  const llrt_index *source_indices, *destination_indices;
  int32_t n_source_indices, n_destination_indices; /* 0..LLRT_MAX_INDICES */
} llrt_reshard_desc;

/* Plans, compiles and loads what this rank launches. Collective: every rank of the communicator
 * calls it, and it returns when all have, their descriptions having been compared: where one
 * differs, it is INVALID_ARGUMENT on every rank, where one refuses or does not come, an error on
 * every rank within the time-out. Uses the stream and waits for it; NOT_PREPARED, with nobody told,
 * while it captures. Ownership: llrt_reshard_destroy. Thread: as llrt_comm_create says. Errors: as
 * llrt_op_prepare. */
LLRT_API llrt_status llrt_reshard_prepare(llrt_comm *comm, const llrt_reshard_desc *desc,
                                          void *stream, llrt_reshard **reshard);

/* Writes this rank's description and kernels into buffer[*size], the caller's, and the bytes used
 * into *size; with buffer NULL, only the size. Errors: as llrt_op_save. */
LLRT_API llrt_status llrt_reshard_save(const llrt_reshard *reshard, void *buffer, size_t *size);

/* What llrt_reshard_save wrote, of the same rank of as many ranks, which may be of another process;
 * the bytes are not used afterwards. Needs neither plan nor compiler. Collective, as
 * llrt_reshard_prepare, which other ranks may call for the same description. Errors: CORRUPT,
 * UNSUPPORTED (another target), INVALID_ARGUMENT (another rank, another path than the
 * communicator's), and as llrt_reshard_prepare. */
LLRT_API llrt_status llrt_reshard_load(llrt_comm *comm, const void *buffer, size_t size,
                                       void *stream, llrt_reshard **reshard);

/* Clears *reshard; NULL is accepted. Precondition: its launches are done. */
LLRT_API void llrt_reshard_destroy(llrt_reshard **reshard);

/* What a prepared re-shard of this rank is. */
typedef struct llrt_reshard_info {
  size_t size;                  /* set by the caller, or 0 */
  int32_t path;                 /* LLRT_RESHARD_PEERS or LLRT_RESHARD_NCCL */
  int32_t launches;             /* kernels of a run */
  int32_t parts;                /* of messages by NCCL; else 1 */
  int32_t access;               /* LLRT_RESHARD_WRITE or LLRT_RESHARD_READ; by NCCL 0 */
  int64_t messages, sent_bytes; /* that it sends by NCCL */
  int64_t workspace_bytes;      /* of llrt_reshard_run_in; 0: none */
} llrt_reshard_info;

LLRT_API llrt_status llrt_reshard_get(const llrt_reshard *reshard, llrt_reshard_info *info);

/* destination(x) = source(x), with the maps applied, for every coordinate x, in every copy that the
 * destination has; of copies in the source one is read. Summands are added in the order of the
 * mesh, in f32 (f64, integers: as docs/expressions.md has them), and cast once; of a destination of
 * summands the first gets the values and the others zeros. Pads are written as the storage says.
 *   sources        [ranks]: rank r's part as this rank sees it. The own one is read; the others
 *                  where ranks read (llrt_reshard_info.access), else they may be NULL. By NCCL: all
 *                  others may
 *   destinations   [ranks]: rank r's part as this rank sees it: the own one, and where ranks write
 *                  that of every rank that gets something from this one. By NCCL the own one. Parts
 *                  may not overlap sources
 *   stream         all launches are queued there; the call does not wait, and is legal in a
 *                  capture, of which every rank replays its graph. On the host NULL: it returns
 *                  when all ranks have moved theirs, so that ranks need a thread each
 * By NCCL the first run that is not given workspace allocates it, for as long as the re-shard
 * lives; runs of one re-shard follow each other then, on one stream or by events.
 * Addresses are multiples of 16 bytes. Where a rank did not come in time the communicator has
 * failed (llrt_comm_status), and the next call says so, too, without waiting for it. A call that
 * fails tells the other ranks, whose communicators have failed then, too, and moves nothing of its
 * own. Errors: INVALID_ARGUMENT, OUT_OF_CLASS (an address), DEVICE. */
LLRT_API llrt_status llrt_reshard_run(const llrt_reshard *reshard, void *const *sources,
                                      void *const *destinations, void *stream);

/* The same in the caller's workspace: llrt_reshard_info.workspace_bytes of device memory, a
 * multiple of 256, that peers' devices of the same process reach where NCCL's do; of any content,
 * zeroed once for elements of 4 bits; nobody's else during the run. NULL: as llrt_reshard_run. */
LLRT_API llrt_status llrt_reshard_run_in(const llrt_reshard *reshard, void *const *sources,
                                         void *const *destinations, void *workspace, void *stream);

/* What a run is given; fields that are not said are NULL or 0. */
typedef struct llrt_reshard_run_params {
  size_t size;
  void *const *sources, *const *destinations; /* as of llrt_reshard_run */
  void *const *scales; /* of a SCALE map, [ranks]: rank r's part of the scales as this rank sees it.
                          By peers' memory that of every rank that has scales of what this one
                          moves, by NCCL the own one */
  void *workspace;     /* as of llrt_reshard_run_in */
  const int64_t *source_strides; /* as in the description, in place of those; NULL: those. Ranks
                                    that it gives equal strides have equal ones in a run, and what
                                    divides its strides (a power of two up to 16 bytes) divides a
                                    run's. Not of summands. The same on every rank */
  const int64_t *destination_strides; /* likewise */
  const void *const *source_tables; /* [ranks][n_source_indices]: value 0 of each index of rank r's
                                       part, multiples of 16 bytes, as this rank sees them: of all
                                       whose parts it reads. NULL: there are none */
  const void *const *destination_tables; /* [ranks][n_destination_indices], of all whose parts it
                                            writes */
  int32_t alone;                         /* 1: as llrt_reshard_move */
  int32_t reserved;
} llrt_reshard_run_params;

/* The same by params. Errors: as llrt_reshard_run, llrt_reshard_move. */
LLRT_API llrt_status llrt_reshard_run_with(const llrt_reshard *reshard,
                                           const llrt_reshard_run_params *params, void *stream);

/* By one call: what desc describes is prepared by its first call with the communicator, which is
 * collective and waits as llrt_reshard_prepare does, and kept until the communicator is destroyed;
 * later calls with an equal description only run it, and may be captured. Every rank makes the same
 * calls in the same order. Precondition of llrt_comm_destroy: also these launches are done. Errors:
 * as llrt_reshard_prepare (NOT_PREPARED: the first call, while the stream captures) and
 * llrt_reshard_run_with. */
LLRT_API llrt_status llrt_reshard_into(llrt_comm *comm, const llrt_reshard_desc *desc,
                                       const llrt_reshard_run_params *params, void *stream);

/* What lies between the two meetings of a run, alone: for several re-shards between one pair of
 * llrt_comm_barrier, or where the caller's ranks wait for each other anyway. Before it all ranks'
 * destinations may be written to, and sources are there; what it makes is complete behind all
 * ranks' calls. A call that fails tells nobody. Otherwise as llrt_reshard_run. Errors: also
 * UNSUPPORTED by NCCL, and where ranks fill their parts before others write to them: pads with a
 * value, a destination of summands, where ranks do not read. */
LLRT_API llrt_status llrt_reshard_move(const llrt_reshard *reshard, void *const *sources,
                                       void *const *destinations, void *stream);

/* What moves between ranks, as text: messages and bytes of each rank, the busiest link, memory, by
 * NCCL also what is packed and the workspace, which path is chosen, and the time that links of
 * `link_gbps` GB/s (10^9 bytes a second, each way of each device; 0: 450) and memory of
 * `memory_gbps` (0: 3350) take at least. Needs no device. buffer, size and length as
 * llrt_layout_print. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
LLRT_API llrt_status llrt_reshard_explain(const llrt_reshard_desc *desc, double link_gbps,
                                          double memory_gbps, char *buffer, size_t size,
                                          size_t *length);

#ifdef __cplusplus
}
#endif
#endif
