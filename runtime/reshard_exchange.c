/* A run by NCCL. */
#include "runtime/reshard_exchange.h"

#include "base/status.h"
#include "runtime/context.h"
#include "runtime/reshard.h"

/* What a run is given. */
typedef struct exchange_run {
  const llrt_reshard *reshard;
  const reshard_exchange *exchange;
  nccl_rank *nccl;
  reshard_bases bases;
  void *stream;
} exchange_run;

/* Not of a stream's order: peers in the same process may write to it themselves (NCCL), which
 * memory of a device's own pool does not let them. */
static llrt_status take_workspace(const llrt_reshard *reshard, void *stream, void **workspace) {
  reshard_exchange *exchange = reshard->exchange;
  llrt_device *device = reshard->comm->device;
  llrt_status status = LLRT_OK;
  if (*workspace || exchange->workspace_bytes == 0) return LLRT_OK;
  pthread_mutex_lock(&exchange->mutex);
  if (!exchange->own_workspace) {
    size_t bytes = (size_t)exchange->workspace_bytes;
    status = device->backend->allocate(device, bytes, &exchange->own_workspace);
    if (status == LLRT_OK && exchange->halves)
      status = device->backend->set(device, exchange->own_workspace, 0, bytes, stream);
  }
  *workspace = exchange->own_workspace;
  pthread_mutex_unlock(&exchange->mutex);
  return status;
}

static llrt_status launch(const exchange_run *run, int begin, int end, void *stream) {
  reshard_bases bases = run->bases;
  bases.beside = run->exchange->stream && stream == run->exchange->stream;
  return reshard_run_launches(run->reshard, begin, end, true, &bases, stream);
}

/* ---- messages ---- */

static llrt_status place_transfers(const exchange_run *run) {
  const reshard_exchange *exchange = run->exchange;
  int own = run->reshard->comm->rank;
  for (int i = 0; i < exchange->n_transfers; i++) {
    const reshard_transfer *t = &exchange->transfer[i];
    char *part = run->bases.list[t->sends ? RESHARD_SOURCES : RESHARD_DESTINATIONS][own];
    char *base = t->in_place ? part : run->bases.workspace;
    LLRT_REQUIRE(base, "%s[%d] is NULL", t->sends ? "sources" : "destinations", own);
    exchange->queued[i] = (nccl_transfer){
        .data = base + t->offset, .bytes = (size_t)t->bytes, .peer = t->peer, .sends = t->sends};
  }
  return LLRT_OK;
}

static llrt_status exchange_part(const exchange_run *run, int part, void *stream) {
  const reshard_exchange *exchange = run->exchange;
  int begin = part ? exchange->transfers_end[part - 1] : 0;
  return nccl_rank_exchange(run->nccl, exchange->queued + begin,
                            exchange->transfers_end[part] - begin, stream);
}

static llrt_status pack(const exchange_run *run, int part, void *stream) {
  int begin = part ? run->exchange->packs_end[part - 1] : run->reshard->n_fills;
  return launch(run, begin, run->exchange->packs_end[part], stream);
}

static llrt_status unpack(const exchange_run *run, int part, void *stream) {
  int begin = part ? run->exchange->unpacks_end[part - 1] : run->exchange->stays_end;
  return launch(run, begin, run->exchange->unpacks_end[part], stream);
}

static llrt_status launch_stays(const exchange_run *run, void *stream) {
  const reshard_exchange *exchange = run->exchange;
  return launch(run, exchange->packs_end[exchange->n_parts - 1], exchange->stays_end, stream);
}

static llrt_status run_in_order(const exchange_run *run) {
  for (int part = 0; part < run->exchange->n_parts; part++) {
    LLRT_TRY(pack(run, part, run->stream));
    LLRT_TRY(exchange_part(run, part, run->stream));
  }
  LLRT_TRY(launch_stays(run, run->stream));
  for (int part = 0; part < run->exchange->n_parts; part++)
    LLRT_TRY(unpack(run, part, run->stream));
  return LLRT_OK;
}

/* A part's messages on the caller's stream, behind its packs. */
static llrt_status send_part(const exchange_run *run, int part) {
  const reshard_exchange *exchange = run->exchange;
  llrt_device *device = run->reshard->comm->device;
  if (part > 0) LLRT_TRY(device->backend->event_wait(device, exchange->packed[part], run->stream));
  LLRT_TRY(exchange_part(run, part, run->stream));
  return device->backend->event_record(device, exchange->arrived[part], run->stream);
}

static llrt_status pack_beside(const exchange_run *run, int part) {
  const reshard_exchange *exchange = run->exchange;
  llrt_device *device = run->reshard->comm->device;
  LLRT_TRY(pack(run, part, exchange->stream));
  return device->backend->event_record(device, exchange->packed[part], exchange->stream);
}

/* What runs while part `part`'s messages are under way. */
static llrt_status work_beside(const exchange_run *run, int part) {
  const reshard_exchange *exchange = run->exchange;
  llrt_device *device = run->reshard->comm->device;
  const llrt_backend *backend = device->backend;
  LLRT_TRY(backend->event_wait(device, part ? exchange->arrived[part - 1] : exchange->packed[0],
                               exchange->stream));
  if (part > 0) LLRT_TRY(unpack(run, part - 1, exchange->stream));
  if (part + 1 < exchange->n_parts) LLRT_TRY(pack_beside(run, part + 1));
  return part > 0 ? LLRT_OK : launch_stays(run, exchange->stream);
}

/* Messages on the caller's stream, all else but the first pack and the last unpack on the
 * re-shard's own. NCCL's few large blocks stay where they begin: beginning among other kernels'
 * they share multiprocessors, and take a third longer to their end. So what is beside a part's
 * messages waits, by an event, for what they wait for in their stream's order, which is sooner. */
static llrt_status run_beside(const exchange_run *run) {
  const reshard_exchange *exchange = run->exchange;
  llrt_device *device = run->reshard->comm->device;
  const llrt_backend *backend = device->backend;
  LLRT_TRY(pack(run, 0, run->stream));
  LLRT_TRY(backend->event_record(device, exchange->packed[0], run->stream));
  for (int part = 0; part < exchange->n_parts; part++) {
    LLRT_TRY(send_part(run, part));
    LLRT_TRY(work_beside(run, part));
  }
  LLRT_TRY(backend->event_record(device, exchange->done, exchange->stream));
  LLRT_TRY(unpack(run, exchange->n_parts - 1, run->stream));
  return backend->event_wait(device, exchange->done, run->stream);
}

static llrt_status run_all(const exchange_run *run) {
  LLRT_TRY(launch(run, 0, run->reshard->n_fills, run->stream));
  LLRT_TRY(nccl_rank_begin(run->nccl, run->stream));
  LLRT_TRY(run->exchange->stream ? run_beside(run) : run_in_order(run));
  return nccl_rank_end(run->nccl, run->stream);
}

/* What may be refused before anything is queued. */
static llrt_status begin(exchange_run *run, uint64_t *words) {
  const llrt_reshard *reshard = run->reshard;
  LLRT_TRY(take_workspace(reshard, run->stream, &run->bases.workspace));
  LLRT_TRY(reshard_run_launches(reshard, 0, reshard->n, false, &run->bases, run->stream));
  LLRT_TRY(reshard_list_boxes(reshard, &run->bases, words));
  return place_transfers(run);
}

llrt_status reshard_exchange_run(const llrt_reshard *reshard, const reshard_bases *bases,
                                 void *stream) {
  uint64_t words[RESHARD_MAX_WORDS];
  const comm_words list = {reshard->list, words, reshard->n_words};
  exchange_run run = {.reshard = reshard,
                      .exchange = reshard->exchange,
                      .nccl = reshard->comm->nccl,
                      .bases = *bases,
                      .stream = stream};
  LLRT_TRY(nccl_rank_status(run.nccl));
  llrt_status status = begin(&run, words);
  if (status == LLRT_OK) status = llrt_comm_write(reshard->comm, &list, stream);
  if (status == LLRT_OK) status = run_all(&run);
  if (status != LLRT_OK) nccl_rank_refuse(run.nccl);
  return status;
}
