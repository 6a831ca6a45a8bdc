/* llrt_reshard, from the description to the launches:
 *   reshard_moves.c    which boxes go from where to where
 *   reshard_build.c    each as a convert between two boxes, or a sum of several, prepared
 *   comm.c             barriers of all ranks, before and behind
 * or, where ranks do not reach each other's memory, by NCCL:
 *   reshard_wire.c     what each message looks like
 *   reshard_exchange*  packs, messages, unpacks
 *   nccl_rank.c        a communicator, and who watches over it */
#include "runtime/reshard.h"

#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "runtime/comm_nccl.h"
#include "runtime/context.h"
#include "runtime/reshard_access.h"
#include "runtime/reshard_cost.h"
#include "runtime/reshard_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESS_MULTIPLE 16
#define WORKSPACE_ALIGNMENT 256
#define REFUSAL_BYTES 500 /* of a message */

static llrt_status check_ranks(const llrt_reshard_desc *desc, int32_t ranks) {
  static const char *const role[] = {"source", "destination", "scales"};
  const llrt_sharding *side[] = {desc->source, desc->destination, desc->scale};
  for (int i = 0; i < 3 && side[i]; i++) {
    int64_t last = side[i]->mesh.first + llrt_mesh_devices(&side[i]->mesh) - 1;
    LLRT_REQUIRE(last < ranks, "the mesh of the %s has device %lld, and there are %d ranks",
                 role[i], (long long)last, ranks);
  }
  return LLRT_OK;
}

/* Ranks wait for each other in prepare, which a capture cannot. */
static llrt_status check_stream(const llrt_comm *comm, void *stream) {
  backend_stream state;
  LLRT_TRY(llrt_validate_stream(comm->device, stream));
  LLRT_TRY(comm->device->backend->stream_state(comm->device, stream, &state));
  if (state.capturing)
    return llrt_error(LLRT_NOT_PREPARED, "ranks wait for each other, and the stream captures");
  return LLRT_OK;
}

/* By what the communicator has; of both, by cost. All ranks come to the same, as long as their
 * communicators have the same. */
static llrt_status choose_path(const llrt_comm *comm, const llrt_reshard_desc *desc,
                               llrt_reshard_path *path) {
  *path = (llrt_reshard_path)desc->path;
  if (*path == LLRT_RESHARD_CHOOSE) {
    if (comm->pad && comm->nccl) return reshard_choose_path(desc, comm->ranks, path);
    *path = comm->nccl ? LLRT_RESHARD_NCCL : LLRT_RESHARD_PEERS;
  }
  LLRT_REQUIRE(*path != LLRT_RESHARD_PEERS || comm->pad,
               "desc: path is by peers' memory, and the communicator has no signals");
  LLRT_REQUIRE(*path != LLRT_RESHARD_NCCL || comm->nccl,
               "desc: path is by NCCL, and the communicator has none");
  return LLRT_OK;
}

static llrt_status build(llrt_reshard *reshard, llrt_reshard_desc *desc, llrt_reshard_path path,
                         void *stream) {
  int32_t ranks = reshard->comm->ranks;
  if (path == LLRT_RESHARD_NCCL) {
    desc->access = LLRT_RESHARD_WRITE; /* for the order of messages alone */
  } else {
    const reshard_crossing crossing = reshard_count_crossing(desc);
    desc->access = reshard->access = reshard_choose_access(desc, &crossing);
  }
  reshard->crosses = reshard_crosses(desc);
  for (int32_t r = 0; r < ranks && desc->access == LLRT_RESHARD_WRITE && !reshard->fills; r++)
    reshard->fills = reshard_fills(desc, r);
  if (path == LLRT_RESHARD_NCCL && reshard_count_summands(desc->source) > RESHARD_LAUNCH_SUMMANDS)
    return llrt_error(LLRT_UNSUPPORTED, "%lld summands; by NCCL at most %d are added",
                      (long long)reshard_count_summands(desc->source), RESHARD_LAUNCH_SUMMANDS);
  return path == LLRT_RESHARD_NCCL ? reshard_exchange_build(reshard, desc, stream)
                                   : reshard_build(reshard, desc, stream);
}

/* Of sides with RUN-TIME digits. */
static llrt_status keep_strides(const llrt_sharding *sharding, const int64_t *strides,
                                int64_t **own) {
  size_t n = (size_t)(sharding->mesh.first + llrt_mesh_devices(&sharding->mesh)) * LLRT_MAX_RANK;
  if (reshard_open_axes(&sharding->storage) == 0) return LLRT_OK;
  *own = memory_new(n * sizeof **own);
  if (!*own) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for strides");
  memcpy(*own, strides, n * sizeof **own);
  return LLRT_OK;
}

/* *desc is the library's own. head: of saved bytes, whose operations `saved` has; else NULL. */
static llrt_status make(llrt_comm *comm, llrt_reshard_desc *desc, const reshard_head *head,
                        reshard_saved *saved, llrt_reshard **out, void *stream) {
  llrt_reshard_path path;
  LLRT_TRY(reshard_check(desc));
  LLRT_TRY(check_ranks(desc, comm->ranks));
  LLRT_TRY(choose_path(comm, desc, &path));
  LLRT_REQUIRE(!head || (int)path == head->path,
               "the re-shard was saved by %s, which is not what this communicator takes",
               head->path == LLRT_RESHARD_NCCL ? "NCCL" : "peers' memory");
  llrt_reshard *reshard = memory_zeroed(1, sizeof *reshard);
  if (!reshard) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a re-shard");
  *out = reshard;
  reshard->comm = comm;
  reshard->hash = reshard_hash(desc, comm->ranks);
  llrt_text_init(&reshard->described);
  reshard_description_write(&reshard->described, desc);
  LLRT_TRY(llrt_text_status(&reshard->described));
  reshard->adds = reshard_count_summands(desc->source) > 1;
  LLRT_TRY(keep_strides(desc->source, desc->source_strides, &reshard->strides[RESHARD_SOURCES]));
  LLRT_TRY(keep_strides(desc->destination, desc->destination_strides,
                        &reshard->strides[RESHARD_DESTINATIONS]));
  reshard->saved = saved;
  llrt_status status = build(reshard, desc, path, stream);
  reshard->saved = NULL;
  return status;
}

static llrt_status make_described(llrt_comm *comm, const llrt_reshard_desc *given,
                                  llrt_reshard **out, void *stream) {
  llrt_reshard_desc own;
  LLRT_REQUIRE(given, "desc is NULL");
  LLRT_TRY(LLRT_PARAMS_READ(llrt_reshard_desc, given, &own));
  return make(comm, &own, NULL, NULL, out, stream);
}

static llrt_status make_saved(llrt_comm *comm, const void *buffer, size_t size, llrt_reshard **out,
                              void *stream) {
  reshard_head head;
  reshard_saved saved;
  LLRT_REQUIRE(buffer, "buffer is NULL");
  reshard_description *own = memory_zeroed(1, sizeof *own);
  if (!own) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a description");
  llrt_status status = reshard_bytes_read(buffer, size, &head, own, &saved);
  if (status == LLRT_OK && (head.rank != comm->rank || head.ranks != comm->ranks))
    status = llrt_error(LLRT_INVALID_ARGUMENT,
                        "the re-shard is rank %d's of %d, the communicator's rank is %d of %d",
                        head.rank, head.ranks, comm->rank, comm->ranks);
  if (status == LLRT_OK) status = make(comm, &own->desc, &head, &saved, out, stream);
  reshard_description_fini(own);
  free(own);
  return status;
}

/* Meets all other ranks, and waits until they have come. */
static llrt_status agree(llrt_comm *comm, const llrt_reshard *reshard, void *stream) {
  uint64_t error;
  if (comm->nccl) return comm_nccl_agree(comm, reshard->hash, false, stream);
  LLRT_TRY(llrt_comm_meet(comm, reshard->hash, NULL, stream));
  LLRT_TRY(llrt_comm_read_error(comm, stream, &error));
  return llrt_comm_tell_error(error, LLRT_INVALID_ARGUMENT);
}

/* Tells all other ranks, which are waited for where NCCL does it. What this thread's call said
 * stays what it says. */
static void refuse(llrt_comm *comm, void *stream) {
  char said[REFUSAL_BYTES];
  llrt_status told;
  snprintf(said, sizeof said, "%s", llrt_error_text());
  if (comm->nccl) {
    told = comm_nccl_agree(comm, (llrt_hash){0, 0}, true, stream);
  } else {
    told = llrt_comm_refuse(comm, stream);
    if (told == LLRT_OK) told = comm->device->backend->synchronize(comm->device, stream);
  }
  if (told != LLRT_OK) llrt_error(told, "%s", said);
}

/* Behind `make`, as it went. */
static llrt_status settle(llrt_comm *comm, llrt_status status, llrt_reshard *reshard, void *stream,
                          llrt_reshard **out) {
  if (status != LLRT_OK) refuse(comm, stream);
  else status = agree(comm, reshard, stream);
  if (status == LLRT_OK) *out = reshard;
  else llrt_reshard_destroy(&reshard);
  return status;
}

llrt_status llrt_reshard_prepare(llrt_comm *comm, const llrt_reshard_desc *desc, void *stream,
                                 llrt_reshard **out) {
  LLRT_ENTRY();
  llrt_reshard *reshard = NULL;
  LLRT_REQUIRE(out, "reshard is NULL");
  *out = NULL;
  LLRT_REQUIRE(comm, "comm is NULL");
  LLRT_TRY(check_stream(comm, stream));
  llrt_status status = make_described(comm, desc, &reshard, stream);
  return settle(comm, status, reshard, stream, out);
}

llrt_status llrt_reshard_load(llrt_comm *comm, const void *buffer, size_t size, void *stream,
                              llrt_reshard **out) {
  LLRT_ENTRY();
  llrt_reshard *reshard = NULL;
  LLRT_REQUIRE(out, "reshard is NULL");
  *out = NULL;
  LLRT_REQUIRE(comm, "comm is NULL");
  LLRT_TRY(check_stream(comm, stream));
  llrt_status status = make_saved(comm, buffer, size, &reshard, stream);
  return settle(comm, status, reshard, stream, out);
}

void reshard_launch_fini(reshard_launch *launch) {
  llrt_op_destroy(&launch->op);
  llrt_op_desc_destroy(&launch->desc);
  free(launch->side);
  free(launch->spot);
}

void llrt_reshard_destroy(llrt_reshard **address) {
  if (!address || !*address) return;
  llrt_reshard *reshard = *address;
  llrt_device *device = reshard->comm->device;
  *address = NULL;
  for (int i = 0; i < reshard->n; i++) reshard_launch_fini(&reshard->launch[i]);
  reshard_exchange_drop(reshard);
  if (reshard->list) device->backend->release(device, reshard->list);
  for (int list = 0; list < RESHARD_LISTS; list++) free(reshard->strides[list]);
  if (reshard->taken) device->backend->release(device, reshard->taken);
  if (reshard->sums) device->backend->release(device, reshard->sums);
  if (reshard->positions) device->backend->release(device, reshard->positions);
  llrt_text_fini(&reshard->described);
  free(reshard->launch);
  free(reshard);
}

/* ---- a run ---- */

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

/* The tensors of a launch with the run's addresses; source and destination of several boxes have
 * theirs in lists. */
static llrt_status place(const llrt_reshard *reshard, const reshard_launch *launch,
                         const reshard_bases *run, llrt_tensor *tensors) {
  for (int t = 0; t < launch->n; t++) {
    char *address = NULL;
    if (launch->n_boxes == 0 || t > 1)
      LLRT_TRY(locate(reshard, run, &launch->side[t].spot, &address));
    tensors[t] = launch->tensor[t];
    tensors[t].data = address;
    bring_strides(launch, run, t, &tensors[t]);
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

llrt_status reshard_run_launches(const llrt_reshard *reshard, int begin, int end, bool queue,
                                 const reshard_bases *run, void *stream) {
  llrt_tensor tensors[LLRT_MAX_TENSORS];
  for (int i = begin; i < end; i++) {
    const reshard_launch *launch = &reshard->launch[i];
    const llrt_run_params params = {.size = sizeof params, .own_workspace = 1};
    LLRT_TRY(place(reshard, launch, run, tensors));
    if (queue) LLRT_TRY(llrt_op_run(launch->op, stream, tensors, launch->n, &params));
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
  reshard_bases run = {{own.sources, own.destinations, own.scales}, own.workspace, {NULL}};
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
