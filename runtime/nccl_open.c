/* How a rank gets its communicator, and gives it up. */
#include "runtime/nccl_rank.h"

#include "base/memory.h"
#include "base/status.h"
#include "runtime/nccl_watch.h"

#include <stdlib.h>
#include <string.h>

static llrt_status check_given(nccl_rank *rank) {
  const nccl_library *library = &rank->library;
  int ranks, number;
  LLRT_TRY(nccl_check(library, library->ncclCommCount(rank->comm, &ranks), "ncclCommCount"));
  LLRT_TRY(nccl_check(library, library->ncclCommUserRank(rank->comm, &number), "ncclCommUserRank"));
  LLRT_REQUIRE(ranks == rank->ranks && number == rank->rank,
               "params: nccl is rank %d of %d, and this is rank %d of %d", number, ranks,
               rank->rank, rank->ranks);
  return LLRT_OK;
}

/* Makes a communicator of the ranks that have the id. The handle of one that does not block is
 * there at once, and is what is aborted where ranks do not come. One that blocks is not the rank's
 * yet. */
static llrt_status init(nccl_rank *rank, const nccl_id *id, bool blocks, void **comm) {
  nccl_config config = {.size = sizeof config,
                        .magic = NCCL_CONFIG_MAGIC,
                        .version = NCCL_CONFIG_VERSION,
                        .blocking = blocks};
  int entry;
  *comm = NULL;
  LLRT_TRY(nccl_enter(rank, "ncclCommInitRankConfig", &entry));
  nccl_result result =
      rank->library.ncclCommInitRankConfig(comm, rank->ranks, *id, rank->rank, &config);
  pthread_mutex_lock(&rank->mutex);
  bool late = rank->failure.kind != NCCL_NO_FAILURE;
  if (!late && !blocks) rank->comm = *comm;
  pthread_mutex_unlock(&rank->mutex);
  if (late && result != NCCL_RESULT_SUCCESS && blocks) *comm = NULL;
  if (late) nccl_abort(rank, *comm);
  return nccl_leave(rank, late ? NCCL_RESULT_SUCCESS : result, entry);
}

/* Rank 0's new id, on every rank. */
static llrt_status share_id(nccl_rank *rank, nccl_id *id) {
  const nccl_library *library = &rank->library;
  nccl_id own = {{0}};
  if (rank->rank == 0)
    LLRT_TRY(nccl_check(library, library->ncclGetUniqueId(&own), "ncclGetUniqueId"));
  nccl_id *all = memory_zeroed((size_t)rank->ranks, sizeof *all);
  if (!all) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %d ranks", rank->ranks);
  llrt_status status = nccl_rank_tell(rank, &own, all, sizeof own, rank->stream);
  *id = all[0];
  free(all);
  return status;
}

/* A byte to and from every other rank: NCCL connects two ranks at their first message, and calls
 * that do so wait for both. */
static llrt_status connect(nccl_rank *rank) {
  const llrt_backend *backend = rank->device->backend;
  int others = rank->ranks - 1, n = 0;
  void *bytes = NULL;
  if (others == 0) return LLRT_OK;
  nccl_transfer *transfers = memory_new(2 * (size_t)others * sizeof *transfers);
  if (!transfers) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %d ranks", rank->ranks);
  llrt_status status = backend->allocate(rank->device, 2 * (size_t)rank->ranks, &bytes);
  for (int peer = 0; peer < rank->ranks && status == LLRT_OK; peer++)
    for (int sends = 0; sends < 2 && peer != rank->rank; sends++)
      transfers[n++] = (nccl_transfer){
          .data = (char *)bytes + 2 * peer + sends, .bytes = 1, .peer = peer, .sends = sends};
  if (status == LLRT_OK) status = nccl_rank_exchange(rank, transfers, n, rank->stream);
  if (status == LLRT_OK) status = nccl_rank_wait(rank, rank->stream);
  if (bytes) backend->release(rank->device, bytes);
  free(transfers);
  return status;
}

/* Other ranks may be gone: the end of a communicator of our own is watched as calls are. */
static llrt_status end_comm(nccl_rank *rank) {
  int entry;
  LLRT_TRY(nccl_enter(rank, "ncclCommFinalize", &entry));
  nccl_result result = NCCL_RESULT_SUCCESS;
  if (rank->library.ncclCommFinalize) result = rank->library.ncclCommFinalize(rank->comm);
  LLRT_TRY(nccl_leave(rank, result, entry));
  pthread_mutex_lock(&rank->mutex);
  void *comm = rank->comm;
  rank->comm = NULL;
  pthread_mutex_unlock(&rank->mutex);
  const llrt_backend *backend = rank->device->backend;
  bool entered = backend->enter && backend->enter(rank->device, &entry) == LLRT_OK;
  rank->library.ncclCommDestroy(comm);
  if (entered) backend->leave(rank->device, entry, LLRT_OK);
  return LLRT_OK;
}

/* Of our own: while ranks come, one that does not block, as it can be given up; behind that one
 * that blocks, in the first one's place. NCCL starts a thread for each group of one that does not
 * block (of a call 70 us more than of one that does: docs/history/resharding-links.md). */
static llrt_status make_comm(nccl_rank *rank, const void *id_bytes) {
  nccl_id id;
  void *comm;
  memcpy(id.bytes, id_bytes, sizeof id.bytes);
  LLRT_TRY(init(rank, &id, false, &comm));
  LLRT_TRY(share_id(rank, &id));
  LLRT_TRY(init(rank, &id, true, &comm));
  llrt_status status = end_comm(rank);
  if (status != LLRT_OK) {
    nccl_abort(rank, comm);
    return status;
  }
  pthread_mutex_lock(&rank->mutex);
  rank->comm = comm;
  pthread_mutex_unlock(&rank->mutex);
  rank->blocks = true;
  return connect(rank);
}

static llrt_status make_events(nccl_rank *rank) {
  const llrt_backend *backend = rank->device->backend;
  if (!backend->event_done) return LLRT_OK;
  LLRT_TRY(backend->event_create(rank->device, &rank->probe));
  LLRT_TRY(backend->event_create(rank->device, &rank->turn));
  LLRT_TRY(backend->stream_create(rank->device, &rank->stream));
  for (int i = 0; i < NCCL_MAX_FLIGHTS; i++) {
    LLRT_TRY(backend->event_create(rank->device, &rank->flight[i].begin));
    LLRT_TRY(backend->event_create(rank->device, &rank->flight[i].end));
  }
  return LLRT_OK;
}

static void drop_events(nccl_rank *rank) {
  const llrt_backend *backend = rank->device->backend;
  if (rank->probe) backend->event_destroy(rank->device, rank->probe);
  if (rank->turn) backend->event_destroy(rank->device, rank->turn);
  if (rank->stream) backend->stream_destroy(rank->device, rank->stream);
  for (int i = 0; i < NCCL_MAX_FLIGHTS; i++) {
    if (rank->flight[i].begin) backend->event_destroy(rank->device, rank->flight[i].begin);
    if (rank->flight[i].end) backend->event_destroy(rank->device, rank->flight[i].end);
  }
}

static llrt_status open_rank(nccl_rank *rank, const nccl_rank_params *params) {
  LLRT_TRY(make_events(rank));
  if (rank->own) return make_comm(rank, params->id);
  rank->comm = params->comm;
  return check_given(rank);
}

llrt_status nccl_rank_open(const nccl_rank_params *params, nccl_rank **out) {
  *out = NULL;
  nccl_rank *rank = memory_zeroed(1, sizeof *rank);
  if (!rank) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a communicator");
  rank->device = params->device;
  rank->own = !params->comm;
  rank->rank = params->rank;
  rank->ranks = params->ranks;
  rank->timeout = params->timeout;
  llrt_status status = nccl_library_open(params->device, params->library, &rank->library);
  if (status != LLRT_OK) {
    free(rank);
    return status;
  }
  status = nccl_watch_start(rank);
  if (status == LLRT_OK) status = open_rank(rank, params);
  if (status == LLRT_OK) *out = rank;
  else nccl_rank_close(rank);
  return status;
}

void nccl_rank_close(nccl_rank *rank) {
  if (!rank) return;
  if (rank->own && rank->comm) end_comm(rank);
  nccl_watch_stop(rank);
  drop_events(rank);
  nccl_library_close(&rank->library);
  free(rank);
}
