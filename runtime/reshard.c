/* llrt_reshard, from the description to the launches:
 *   reshard_moves.c    which boxes go from where to where
 *   reshard_build.c    each as a convert between two boxes, or a sum of several, prepared
 *   reshard_run.c      addresses, and launches
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
    if (reshard->access == LLRT_RESHARD_WRITE && reshard_shares_bytes(desc))
      return llrt_error(LLRT_UNSUPPORTED,
                        "desc: access is to write, and bytes of the destination hold elements of "
                        "several ranks: they are to read");
  }
  reshard->crosses = reshard_crosses(desc);
  for (int32_t r = 0; r < ranks && desc->access == LLRT_RESHARD_WRITE && !reshard->fills; r++)
    reshard->fills = reshard_fills(desc, r);
  if (path == LLRT_RESHARD_NCCL && reshard_count_summands(desc->source) > RESHARD_LAUNCH_SUMMANDS)
    return llrt_error(LLRT_UNSUPPORTED, "%lld summands; by NCCL at most %d are added",
                      (long long)reshard_count_summands(desc->source), RESHARD_LAUNCH_SUMMANDS);
  for (int i = 0; i < desc->n_source_indices && path == LLRT_RESHARD_NCCL; i++)
    if (desc->source_indices[i].out_of_range == LLRT_RANGE_SKIP)
      return llrt_error(
          LLRT_UNSUPPORTED,
          "the source's index %d skips values out of range: messages by NCCL have all "
          "elements",
          i);
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
  reshard->n_tables[RESHARD_SOURCES] = desc->n_source_indices;
  reshard->n_tables[RESHARD_DESTINATIONS] = desc->n_destination_indices;
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
