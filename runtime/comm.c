#include "runtime/comm.h"

#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "runtime/comm_nccl.h"
#include "runtime/context.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_TIMEOUT_MS 30000
#define SIGNAL_ALIGNMENT 16
#define ZERO_BYTES 16 /* the widest element */

static llrt_status check_ranks(int32_t ranks) {
  LLRT_REQUIRE(ranks >= 1 && ranks <= LLRT_MAX_RANKS, "%d ranks, not 1 to %d", ranks,
               LLRT_MAX_RANKS);
  return LLRT_OK;
}

llrt_status llrt_comm_signal_bytes(int32_t ranks, size_t *bytes) {
  LLRT_ENTRY();
  LLRT_REQUIRE(bytes, "bytes is NULL");
  *bytes = 0;
  LLRT_TRY(check_ranks(ranks));
  *bytes = meet_pad_bytes(ranks);
  return LLRT_OK;
}

static llrt_status check_params(const llrt_comm_params *params) {
  LLRT_TRY(check_ranks(params->ranks));
  LLRT_REQUIRE(params->rank >= 0 && params->rank < params->ranks, "rank %d of %d", params->rank,
               params->ranks);
  LLRT_REQUIRE(params->signals || params->nccl || params->nccl_id,
               "params: signals is NULL, and so are nccl and nccl_id");
  LLRT_REQUIRE(params->timeout_ms >= 0 && params->timeout_ms <= INT64_MAX / 1000000,
               "a time-out of %lld ms", (long long)params->timeout_ms);
  for (int r = 0; r < params->ranks && params->signals; r++)
    LLRT_REQUIRE(params->signals[r] && (uintptr_t)params->signals[r] % SIGNAL_ALIGNMENT == 0,
                 "params: signals[%d] is %p, no address that is a multiple of %d", r,
                 params->signals[r], SIGNAL_ALIGNMENT);
  return LLRT_OK;
}

/* A kernel that waits for another rank's must not keep that one from being launched. */
static llrt_status check_launches(const llrt_device *device) {
  const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
  if (device->backend != &llrt_backend_host && blocking && strcmp(blocking, "0") != 0)
    return llrt_error(LLRT_UNSUPPORTED,
                      "CUDA_LAUNCH_BLOCKING is set: a rank would wait in its launch for others");
  if (!device->backend->meet)
    return llrt_error(LLRT_UNSUPPORTED, "%s has no kernel by which ranks wait for each other",
                      device->info.name);
  return LLRT_OK;
}

llrt_status llrt_comm_upload(llrt_device *device, const void *data, size_t bytes, void *stream,
                             void **memory) {
  const llrt_backend *backend = device->backend;
  *memory = NULL;
  LLRT_TRY(backend->allocate(device, bytes, memory));
  llrt_status status = backend->copy(device, *memory, data, bytes, LLRT_COPY_TO_DEVICE, stream);
  if (status == LLRT_OK) status = backend->synchronize(device, stream);
  if (status == LLRT_OK) return LLRT_OK;
  backend->release(device, *memory);
  *memory = NULL;
  return status;
}

static llrt_status open_signals(llrt_comm *comm, const llrt_comm_params *params) {
  size_t bytes = (size_t)comm->ranks * sizeof *params->signals;
  comm->pad = params->signals[params->rank];
  LLRT_TRY(llrt_comm_upload(comm->device, params->signals, bytes, NULL, &comm->table));
  if (!comm->device->backend->note_create) return LLRT_OK;
  return comm->device->backend->note_create(comm->device, &comm->note);
}

/* The kernel is there without signals, too: it writes lists. */
static llrt_status open_comm(llrt_comm *comm, const llrt_comm_params *params) {
  static const uint8_t zeros[ZERO_BYTES];
  const llrt_backend *backend = comm->device->backend;
  LLRT_TRY(llrt_comm_upload(comm->device, zeros, sizeof zeros, NULL, &comm->zero));
  if (params->signals) LLRT_TRY(open_signals(comm, params));
  if (backend->meet_load) LLRT_TRY(backend->meet_load(comm->device, &comm->module));
  return comm_nccl_open(comm, params);
}

llrt_status llrt_comm_create(llrt_device *device, const llrt_comm_params *params, llrt_comm **out) {
  LLRT_ENTRY();
  llrt_comm_params own;
  LLRT_REQUIRE(out, "comm is NULL");
  *out = NULL;
  LLRT_REQUIRE(device, "device is NULL");
  LLRT_TRY(LLRT_PARAMS_READ(llrt_comm_params, params, &own));
  LLRT_TRY(check_params(&own));
  if (own.signals) LLRT_TRY(check_launches(device));
  llrt_comm *comm = memory_zeroed(1, sizeof *comm);
  if (!comm) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a communicator");
  comm->device = device;
  comm->rank = own.rank;
  comm->ranks = own.ranks;
  comm->timeout = (uint64_t)(own.timeout_ms ? own.timeout_ms : DEFAULT_TIMEOUT_MS) * 1000000u;
  llrt_status status = open_comm(comm, &own);
  if (status == LLRT_OK) *out = comm;
  else llrt_comm_destroy(&comm);
  return status;
}

void llrt_comm_destroy(llrt_comm **address) {
  if (!address || !*address) return;
  llrt_comm *comm = *address;
  const llrt_backend *backend = comm->device->backend;
  *address = NULL;
  reshard_drop_kept(comm);
  nccl_rank_close(comm->nccl);
  if (comm->module) backend->unload(comm->device, comm->module);
  if (comm->table) backend->release(comm->device, comm->table);
  if (comm->zero) backend->release(comm->device, comm->zero);
  if (comm->note) backend->note_destroy(comm->device, comm->note);
  free(comm);
}

static llrt_status queue_meet(const llrt_comm *comm, const backend_meet *meet, void *stream) {
  return comm->device->backend->meet(comm->device, comm->module, meet, stream);
}

static backend_meet meet_of(const llrt_comm *comm, llrt_hash hash, uint64_t refusal) {
  return (backend_meet){.pad = (uintptr_t)comm->pad,
                        .table = (uintptr_t)comm->table,
                        .rank = (uint64_t)comm->rank,
                        .ranks = (uint64_t)comm->ranks,
                        .hash_low = hash.low,
                        .hash_high = hash.high,
                        .timeout = comm->timeout,
                        .refusal = refusal,
                        .note = (uintptr_t)comm->note};
}

static void put_words(backend_meet *meet, const comm_words *words, int begin) {
  int n = words->n - begin < MEET_MAX_WORDS ? words->n - begin : MEET_MAX_WORDS;
  meet->list = (uintptr_t)words->list + (uint64_t)begin * sizeof *words->word;
  meet->n_words = (uint64_t)n;
  memcpy(meet->words, &words->word[begin], (size_t)n * sizeof *words->word);
}

/* Words from `begin` on, so many at a time, down to `leave` that are left. */
static llrt_status write_words(const llrt_comm *comm, const comm_words *words, int leave,
                               int *begin, void *stream) {
  for (; words && words->n - *begin > leave; *begin += MEET_MAX_WORDS) {
    backend_meet alone = {.pad = 0};
    put_words(&alone, words, *begin);
    LLRT_TRY(queue_meet(comm, &alone, stream));
  }
  return LLRT_OK;
}

llrt_status llrt_comm_write(const llrt_comm *comm, const comm_words *words, void *stream) {
  int begin = 0;
  return write_words(comm, words, 0, &begin, stream);
}

llrt_status llrt_comm_meet(const llrt_comm *comm, llrt_hash hash, const comm_words *words,
                           void *stream) {
  backend_meet meet = meet_of(comm, hash, 0);
  int begin = 0;
  LLRT_TRY(write_words(comm, words, MEET_MAX_WORDS, &begin, stream));
  if (words && words->n > begin) put_words(&meet, words, begin);
  return queue_meet(comm, &meet, stream);
}

llrt_status llrt_comm_refuse(const llrt_comm *comm, void *stream) {
  uint64_t refusal = (uint64_t)MEET_REFUSED << 32 | (uint64_t)comm->rank;
  const backend_meet meet = meet_of(comm, (llrt_hash){0, 0}, refusal);
  return queue_meet(comm, &meet, stream);
}

llrt_status llrt_comm_read_error(const llrt_comm *comm, void *stream, uint64_t *error) {
  const llrt_backend *backend = comm->device->backend;
  *error = 0;
  LLRT_TRY(backend->copy(comm->device, error, (uint64_t *)comm->pad + MEET_ERROR, sizeof *error,
                         LLRT_COPY_FROM_DEVICE, stream));
  return backend->synchronize(comm->device, stream);
}

llrt_status llrt_comm_known_error(const llrt_comm *comm, uint64_t *error) {
  *error = comm->note ? __atomic_load_n(comm->note, __ATOMIC_ACQUIRE) : 0;
  if (comm->device->backend != &llrt_backend_host) return LLRT_OK;
  return llrt_comm_read_error(comm, NULL, error);
}

llrt_status llrt_comm_tell_error(uint64_t error, llrt_status differs) {
  int rank = (int)(uint32_t)error;
  if (error == 0) return LLRT_OK;
  if (error >> 32 == MEET_LATE)
    return llrt_error(LLRT_DEVICE, "rank %d did not come within the time-out", rank);
  if (error >> 32 == MEET_REFUSED) return llrt_error(differs, "rank %d refused", rank);
  return llrt_error(differs, "rank %d described something else", rank);
}

llrt_status llrt_comm_status(const llrt_comm *comm, void *stream) {
  LLRT_ENTRY();
  uint64_t error;
  LLRT_REQUIRE(comm, "comm is NULL");
  LLRT_TRY(llrt_validate_stream(comm->device, stream));
  if (comm->nccl) LLRT_TRY(nccl_rank_wait(comm->nccl, stream));
  if (!comm->pad) return LLRT_OK;
  LLRT_TRY(llrt_comm_read_error(comm, stream, &error));
  return llrt_comm_tell_error(error, LLRT_DEVICE);
}

/* Of barriers alone: no description has it. */
static const llrt_hash barrier_hash = {0x6c6c72742d626172ull, 0x726965722d303031ull};

llrt_status llrt_comm_barrier(const llrt_comm *comm, void *stream) {
  LLRT_ENTRY();
  uint64_t error;
  LLRT_REQUIRE(comm, "comm is NULL");
  LLRT_TRY(llrt_validate_stream(comm->device, stream));
  if (!comm->pad)
    return llrt_error(LLRT_UNSUPPORTED, "the communicator has no signals by which ranks meet");
  LLRT_TRY(llrt_comm_known_error(comm, &error));
  LLRT_TRY(llrt_comm_tell_error(error, LLRT_DEVICE));
  LLRT_TRY(llrt_comm_meet(comm, barrier_hash, NULL, stream));
  LLRT_TRY(llrt_comm_known_error(comm, &error));
  return llrt_comm_tell_error(error, LLRT_DEVICE);
}

llrt_status llrt_device_reach_peer(llrt_device *device, llrt_device *peer) {
  LLRT_ENTRY();
  LLRT_REQUIRE(device && peer, "device or peer is NULL");
  if (device->backend != peer->backend)
    return llrt_error(LLRT_UNSUPPORTED, "%s and %s are of two kinds", device->info.name,
                      peer->info.name);
  if (device == peer || device->backend == &llrt_backend_host) return LLRT_OK;
  if (!device->backend->reach_peer)
    return llrt_error(LLRT_UNSUPPORTED, "%s reaches no peers", device->info.name);
  return device->backend->reach_peer(device, peer);
}
