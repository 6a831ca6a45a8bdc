/* A run of a re-shard: addresses, strides and tables in the place of stand-ins, and the launches
 * between two meetings of all ranks. By NCCL it is reshard_exchange.c. */
#include "runtime/reshard.h"

#include "base/params.h"
#include "base/status.h"
#include "runtime/context.h"
#include "runtime/prepared.h"

#include <string.h>

/* From which on links, not launches, are what a kernel that writes peers' memory waits for. */
#define LINKED_BYTES (INT64_C(64) << 20)

#define ADDRESS_MULTIPLE 16
#define WORKSPACE_ALIGNMENT 256

/* Bytes by which a box begins further behind its rank's address than with the description's
 * strides.
 */
static llrt_status find_more(const llrt_reshard *reshard, const reshard_bases *run,
                             const reshard_spot *spot, int64_t *bytes) {
  const int64_t *strides = spot->rank < 0 ? NULL : run->strides[spot->list];
  int64_t elements = 0;
  *bytes = 0;
  if (!strides) return LLRT_OK;
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++) {
    int64_t at = spot->rank * LLRT_MAX_RANK + axis;
    if (spot->steps[axis] == 0) continue;
    elements += spot->steps[axis] * (strides[at] - reshard->strides[spot->list][at]);
  }
  if (elements * spot->bits % 8 != 0)
    return llrt_error(LLRT_OUT_OF_CLASS, "strides by which a box of rank %d begins inside a byte",
                      spot->rank);
  *bytes = elements * spot->bits / 8;
  return LLRT_OK;
}

/* The address of a box. */
static llrt_status locate(const llrt_reshard *reshard, const reshard_bases *run,
                          const reshard_spot *spot, char **address) {
  static const char *const names[RESHARD_LISTS] = {"sources", "destinations", "scales"};
  const char *name = names[spot->list];
  void *const *list = run->list[spot->list];
  int rank = spot->rank;
  LLRT_REQUIRE(rank < 0 || list, "%s is NULL", name);
  char *base = rank == RESHARD_ZEROS       ? reshard->comm->zero
               : rank == RESHARD_WORKSPACE ? run->workspace
               : rank == RESHARD_SUMS      ? reshard->sums
               : rank == RESHARD_TAKEN     ? reshard->taken
                                           : list[rank];
  LLRT_REQUIRE(base, "%s[%d] is NULL", name, rank);
  if ((uintptr_t)base % ADDRESS_MULTIPLE != 0)
    return llrt_error(LLRT_OUT_OF_CLASS, "%s[%d] is %p, no multiple of %d", name, rank,
                      (void *)base, ADDRESS_MULTIPLE);
  int64_t more;
  LLRT_TRY(find_more(reshard, run, spot, &more));
  *address = base + spot->offset + more;
  return LLRT_OK;
}

/* The run's strides of a launch's tensor, in place of the description's. */
static void bring_strides(const reshard_launch *launch, const reshard_bases *run, int t,
                          llrt_tensor *tensor) {
  const reshard_side *side = &launch->side[t];
  const reshard_spot *spot =
      launch->n_boxes > 0 && t < 2 ? &launch->spot[t * launch->n_boxes] : &side->spot;
  const int64_t *strides = spot->rank < 0 ? NULL : run->strides[spot->list];
  for (int axis = 0; axis < tensor->rank && strides; axis++)
    if (side->open >> axis & 1) tensor->strides[axis] = strides[spot->rank * LLRT_MAX_RANK + axis];
}

typedef struct launch_tensors {
  llrt_tensor tensor[LLRT_MAX_TENSORS];
  llrt_index index[LLRT_MAX_TENSORS][LLRT_MAX_INDICES]; /* of those whose values a run brings */
} launch_tensors;

/* The run's values of a tensor's indices. */
static llrt_status bring_tables(const llrt_reshard *reshard, const reshard_side *side,
                                const reshard_bases *run, llrt_index *indices,
                                llrt_tensor *tensor) {
  reshard_list list = side->spot.list;
  const char *name = list == RESHARD_SOURCES ? "source_tables" : "destination_tables";
  int rank = side->spot.rank;
  memcpy(indices, side->index, sizeof side->index);
  LLRT_REQUIRE(run->tables[list], "params: %s is NULL", name);
  for (int i = 0; i < side->given; i++) {
    const char *values = run->tables[list][rank * reshard->n_tables[list] + i];
    LLRT_REQUIRE(values, "params: %s[%d][%d] is NULL", name, rank, i);
    if ((uintptr_t)values % ADDRESS_MULTIPLE != 0)
      return llrt_error(LLRT_OUT_OF_CLASS, "params: %s[%d][%d] is %p, no multiple of %d", name,
                        rank, i, (const void *)values, ADDRESS_MULTIPLE);
    indices[i].data = values + ((uintptr_t)side->index[i].data - RESHARD_TABLES);
  }
  tensor->indices = indices;
  return LLRT_OK;
}

/* The tensors of a launch with the run's addresses; source and destination of several boxes have
 * theirs in lists. */
static llrt_status place(const llrt_reshard *reshard, const reshard_launch *launch,
                         const reshard_bases *run, launch_tensors *out) {
  llrt_tensor *tensors = out->tensor;
  for (int t = 0; t < launch->n; t++) {
    char *address = NULL;
    if (launch->n_boxes == 0 || t > 1)
      LLRT_TRY(locate(reshard, run, &launch->side[t].spot, &address));
    tensors[t] = launch->tensor[t];
    tensors[t].data = address;
    bring_strides(launch, run, t, &tensors[t]);
    if (launch->side[t].given > 0)
      LLRT_TRY(bring_tables(reshard, &launch->side[t], run, out->index[t], &tensors[t]));
  }
  return LLRT_OK;
}

/* Boxes of one launch have one set of strides. */
static llrt_status check_alike(const reshard_launch *launch, const reshard_bases *run, int t,
                               int box) {
  const reshard_spot *first = &launch->spot[t * launch->n_boxes], *other = &first[box];
  const int64_t *strides = first->rank < 0 ? NULL : run->strides[first->list];
  for (int axis = 0; axis < LLRT_MAX_RANK && strides; axis++)
    LLRT_REQUIRE(!(launch->side[t].open >> axis & 1) ||
                     strides[first->rank * LLRT_MAX_RANK + axis] ==
                         strides[other->rank * LLRT_MAX_RANK + axis],
                 "params: ranks %d and %d have other strides along axis %d, and the description "
                 "has equal ones",
                 first->rank, other->rank, axis);
  return LLRT_OK;
}

llrt_status reshard_list_boxes(const llrt_reshard *reshard, const reshard_bases *run,
                               uint64_t *words) {
  memset(words, 0, (size_t)reshard->n_words * sizeof *words);
  for (int i = 0; i < reshard->n; i++) {
    const reshard_launch *launch = &reshard->launch[i];
    for (int t = 0; t < 2; t++)
      for (int k = 0; k < launch->n_boxes; k++) {
        char *address;
        LLRT_TRY(check_alike(launch, run, t, k));
        LLRT_TRY(locate(reshard, run, &launch->spot[t * launch->n_boxes + k], &address));
        int64_t alignment = launch->side[t].index[0].alignment;
        if ((uintptr_t)address % (uintptr_t)alignment != 0)
          return llrt_error(LLRT_OUT_OF_CLASS, "a box of rank %d begins at %p, no multiple of %lld",
                            launch->spot[t * launch->n_boxes + k].rank, (void *)address,
                            (long long)alignment);
        words[launch->first_word + t * launch->n_places + k] = (uintptr_t)address;
      }
  }
  return LLRT_OK;
}

bool reshard_writes_peers(const llrt_reshard *reshard, const reshard_launch *launch) {
  const reshard_spot *written = launch->spot + launch->n_boxes;
  if (reshard->exchange || reshard->access != LLRT_RESHARD_WRITE) return false;
  int n = launch->n_boxes > 0 ? launch->n_boxes : 1, own = reshard->comm->rank;
  if (launch->n_boxes == 0) written = &launch->side[1].spot;
  for (int k = 0; k < n; k++)
    if (written[k].rank >= 0 && written[k].rank != own) return true;
  return false;
}

/* A kernel whose blocks have as little under way as links need: casts to fewer bits read more for
 * each byte that they write there. */
static bool waits_for_links(const llrt_reshard *reshard, const reshard_launch *launch) {
  const llrt_tensor *from = &launch->tensor[0], *to = &launch->tensor[1];
  int64_t elements = 1;
  for (int axis = 0; axis < to->rank; axis++) elements *= to->shape[axis];
  return llrt_dtype_bits(from->dtype) <= llrt_dtype_bits(to->dtype) &&
         elements * llrt_dtype_bits(to->dtype) / 8 >= LINKED_BYTES &&
         reshard_writes_peers(reshard, launch);
}

/* Half of a block's shared memory: two have no room, as each takes a KiB more of a
 * multiprocessor's. One block keeps links as busy as more do, which are in each other's way (0.5 %
 * of 1 GiB). Beside NCCL's messages more would multiply the latency of memory, for which its few
 * blocks wait (docs/history/resharding-links.md). */
static int32_t room_of(const llrt_reshard *reshard, const reshard_launch *launch,
                       const reshard_bases *run) {
  bool one = run->beside || waits_for_links(reshard, launch);
  return one ? reshard->comm->device->target.facts.shared_bytes / 2 : 0;
}

llrt_status reshard_run_launches(const llrt_reshard *reshard, int begin, int end, bool queue,
                                 const reshard_bases *run, void *stream) {
  launch_tensors at;
  for (int i = begin; i < end; i++) {
    const reshard_launch *launch = &reshard->launch[i];
    const llrt_run_params params = {.size = sizeof params, .own_workspace = 1};
    LLRT_TRY(place(reshard, launch, run, &at));
    if (queue)
      LLRT_TRY(llrt_op_run_sparsely(launch->op, stream, at.tensor, launch->n, &params,
                                    room_of(reshard, launch, run)));
  }
  return LLRT_OK;
}

/* Moves what this rank moves; if it cannot, the others are told instead of being waited for. */
static llrt_status run_moves(const llrt_reshard *reshard, const reshard_bases *run, void *stream) {
  llrt_status status =
      reshard_run_launches(reshard, reshard->n_fills, reshard->n, true, run, stream);
  if (status == LLRT_OK && reshard->crosses)
    status = llrt_comm_meet(reshard->comm, reshard->hash, NULL, stream);
  if (status == LLRT_OK) return LLRT_OK;
  llrt_comm_refuse(reshard->comm, stream);
  return status;
}

/* What went wrong before; on the host, up to now. */
static llrt_status check_comm(const llrt_comm *comm) {
  uint64_t error;
  LLRT_TRY(llrt_comm_known_error(comm, &error));
  return llrt_comm_tell_error(error, LLRT_DEVICE);
}

/* What comes before ranks meet. */
static llrt_status run_before(const llrt_reshard *reshard, const reshard_bases *run,
                              uint64_t *words, void *stream) {
  LLRT_TRY(reshard_run_launches(reshard, 0, reshard->n, false, run, stream));
  LLRT_TRY(reshard_list_boxes(reshard, run, words));
  return reshard_run_launches(reshard, 0, reshard->n_fills, true, run, stream);
}

static llrt_status run_by_peers(const llrt_reshard *reshard, const reshard_bases *run,
                                void *stream) {
  uint64_t words[RESHARD_MAX_WORDS];
  const comm_words list = {reshard->list, words, reshard->n_words};
  const llrt_comm *comm = reshard->comm;
  LLRT_TRY(check_comm(comm));
  llrt_status status = run_before(reshard, run, words, stream);
  if (status != LLRT_OK) {
    llrt_comm_refuse(comm, stream);
    return status;
  }
  if (reshard->crosses) LLRT_TRY(llrt_comm_meet(comm, reshard->hash, &list, stream));
  else LLRT_TRY(llrt_comm_write(comm, &list, stream));
  LLRT_TRY(check_comm(comm));
  LLRT_TRY(run_moves(reshard, run, stream));
  return check_comm(comm);
}

/* Between two meetings, or without them. */
static llrt_status run_alone(const llrt_reshard *reshard, const reshard_bases *run, void *stream) {
  uint64_t words[RESHARD_MAX_WORDS];
  const comm_words list = {reshard->list, words, reshard->n_words};
  if (reshard->exchange)
    return llrt_error(LLRT_UNSUPPORTED, "NCCL's messages have no meetings to be left out");
  if (reshard->fills)
    return llrt_error(LLRT_UNSUPPORTED, "parts have pads or zeros that are written before ranks "
                                        "meet: llrt_reshard_run");
  LLRT_TRY(check_comm(reshard->comm));
  LLRT_TRY(run_before(reshard, run, words, stream));
  LLRT_TRY(llrt_comm_write(reshard->comm, &list, stream));
  return reshard_run_launches(reshard, reshard->n_fills, reshard->n, true, run, stream);
}

/* Strides that the run brings. */
static llrt_status take_strides(const llrt_reshard *reshard, reshard_list list,
                                const int64_t *strides, reshard_bases *run) {
  const char *name = list == RESHARD_SOURCES ? "source_strides" : "destination_strides";
  if (!strides || !reshard->strides[list]) return LLRT_OK;
  if (reshard->adds)
    return llrt_error(LLRT_UNSUPPORTED, "params: %s of a re-shard of summands", name);
  run->strides[list] = strides;
  return LLRT_OK;
}

llrt_status llrt_reshard_run_with(const llrt_reshard *reshard,
                                  const llrt_reshard_run_params *params, void *stream) {
  LLRT_ENTRY();
  llrt_reshard_run_params own;
  LLRT_REQUIRE(reshard, "reshard is NULL");
  LLRT_TRY(LLRT_PARAMS_READ(llrt_reshard_run_params, params, &own));
  LLRT_REQUIRE(own.sources && own.destinations, "sources or destinations is NULL");
  LLRT_REQUIRE(own.reserved == 0, "params: a reserved field is not 0");
  LLRT_REQUIRE(own.alone == 0 || own.alone == 1, "params: alone is %d, not 0 or 1", own.alone);
  LLRT_REQUIRE((uintptr_t)own.workspace % WORKSPACE_ALIGNMENT == 0,
               "workspace is %p, no multiple of %d", own.workspace, WORKSPACE_ALIGNMENT);
  reshard_bases run = {{own.sources, own.destinations, own.scales},
                       own.workspace,
                       {own.source_tables, own.destination_tables, NULL},
                       {NULL},
                       false};
  LLRT_TRY(take_strides(reshard, RESHARD_SOURCES, own.source_strides, &run));
  LLRT_TRY(take_strides(reshard, RESHARD_DESTINATIONS, own.destination_strides, &run));
  LLRT_TRY(llrt_validate_stream(reshard->comm->device, stream));
  if (own.alone) return run_alone(reshard, &run, stream);
  return reshard->exchange ? reshard_exchange_run(reshard, &run, stream)
                           : run_by_peers(reshard, &run, stream);
}

llrt_status llrt_reshard_run_in(const llrt_reshard *reshard, void *const *sources,
                                void *const *destinations, void *workspace, void *stream) {
  LLRT_ENTRY();
  const llrt_reshard_run_params params = {.size = sizeof params,
                                          .sources = sources,
                                          .destinations = destinations,
                                          .workspace = workspace};
  return llrt_reshard_run_with(reshard, &params, stream);
}

llrt_status llrt_reshard_run(const llrt_reshard *reshard, void *const *sources,
                             void *const *destinations, void *stream) {
  LLRT_ENTRY();
  return llrt_reshard_run_in(reshard, sources, destinations, NULL, stream);
}

llrt_status llrt_reshard_get(const llrt_reshard *reshard, llrt_reshard_info *info) {
  LLRT_ENTRY();
  LLRT_REQUIRE(reshard && info, "reshard or info is NULL");
  llrt_reshard_info own = {.path = LLRT_RESHARD_PEERS,
                           .launches = reshard->n,
                           .parts = 1,
                           .access = (int32_t)reshard->access};
  const reshard_exchange *exchange = reshard->exchange;
  if (exchange) {
    own.path = LLRT_RESHARD_NCCL;
    own.parts = exchange->n_parts;
    own.workspace_bytes = exchange->workspace_bytes;
    for (int i = 0; i < exchange->n_transfers; i++) {
      own.messages += exchange->transfer[i].sends;
      own.sent_bytes += exchange->transfer[i].sends ? exchange->transfer[i].bytes : 0;
    }
  }
  return LLRT_PARAMS_WRITE(llrt_reshard_info, info, &own);
}

llrt_status llrt_reshard_move(const llrt_reshard *reshard, void *const *sources,
                              void *const *destinations, void *stream) {
  LLRT_ENTRY();
  const llrt_reshard_run_params params = {
      .size = sizeof params, .sources = sources, .destinations = destinations, .alone = 1};
  return llrt_reshard_run_with(reshard, &params, stream);
}
