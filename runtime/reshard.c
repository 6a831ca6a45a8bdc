/* llrt_reshard, from the description to the launches:
 *   reshard_moves.c    which boxes go from where to where
 *   reshard_build.c    each as a convert between two boxes, or a sum of several, prepared
 *   comm.c             barriers of all ranks, before and behind */
#include "runtime/reshard.h"

#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "runtime/context.h"

#include <stdlib.h>
#include <string.h>

#define ADDRESS_MULTIPLE 16

static llrt_status check_ranks(const llrt_reshard_desc *desc, int32_t ranks) {
  const llrt_sharding *side[2] = {desc->source, desc->destination};
  for (int i = 0; i < 2; i++) {
    int64_t last = side[i]->mesh.first + llrt_mesh_devices(&side[i]->mesh) - 1;
    LLRT_REQUIRE(last < ranks, "the %s's mesh has device %lld, and there are %d ranks",
                 i ? "destination" : "source", (long long)last, ranks);
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

static llrt_status make(llrt_comm *comm, const llrt_reshard_desc *given, llrt_reshard **out,
                        void *stream) {
  llrt_reshard_desc own;
  LLRT_REQUIRE(given, "desc is NULL");
  LLRT_TRY(LLRT_PARAMS_READ(llrt_reshard_desc, given, &own));
  LLRT_TRY(reshard_check(&own));
  LLRT_TRY(check_ranks(&own, comm->ranks));
  llrt_reshard *reshard = memory_zeroed(1, sizeof *reshard);
  if (!reshard) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a re-shard");
  *out = reshard;
  reshard->comm = comm;
  reshard->hash = reshard_hash(&own, comm->ranks);
  return reshard_build(reshard, &own, stream);
}

/* Meets all other ranks, and waits until they have come. */
static llrt_status agree(llrt_comm *comm, const llrt_reshard *reshard, void *stream) {
  uint64_t error;
  LLRT_TRY(llrt_comm_meet(comm, reshard->hash, NULL, stream));
  LLRT_TRY(llrt_comm_read_error(comm, stream, &error));
  return llrt_comm_tell_error(error, LLRT_INVALID_ARGUMENT);
}

llrt_status llrt_reshard_prepare(llrt_comm *comm, const llrt_reshard_desc *desc, void *stream,
                                 llrt_reshard **out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "reshard is NULL");
  *out = NULL;
  LLRT_REQUIRE(comm, "comm is NULL");
  LLRT_TRY(check_stream(comm, stream));
  llrt_reshard *reshard = NULL;
  llrt_status status = make(comm, desc, &reshard, stream);
  if (status != LLRT_OK) {
    llrt_status told = llrt_comm_refuse(comm, stream);
    if (told == LLRT_OK) comm->device->backend->synchronize(comm->device, stream);
  } else {
    status = agree(comm, reshard, stream);
  }
  if (status == LLRT_OK) *out = reshard;
  else llrt_reshard_destroy(&reshard);
  return status;
}

void llrt_reshard_destroy(llrt_reshard **address) {
  if (!address || !*address) return;
  llrt_reshard *reshard = *address;
  llrt_device *device = reshard->comm->device;
  *address = NULL;
  for (int i = 0; i < reshard->n; i++) {
    llrt_op_destroy(&reshard->launch[i].op);
    llrt_op_desc_destroy(&reshard->launch[i].desc);
    free(reshard->launch[i].side);
  }
  if (reshard->positions) device->backend->release(device, reshard->positions);
  free(reshard->launch);
  free(reshard);
}

/* ---- a run ---- */

/* The tensors of a launch with the run's addresses. */
static llrt_status place(const llrt_reshard *reshard, const reshard_launch *launch,
                         void *const *sources, void *const *destinations, llrt_tensor *tensors) {
  for (int t = 0; t < launch->n; t++) {
    const reshard_side *side = &launch->side[t];
    void *const *list = t == 1 ? destinations : sources;
    const char *base = side->rank < 0 ? reshard->comm->zero : list[side->rank];
    LLRT_REQUIRE(base, "%s[%d] is NULL", t == 1 ? "destinations" : "sources", side->rank);
    if ((uintptr_t)base % ADDRESS_MULTIPLE != 0)
      return llrt_error(LLRT_OUT_OF_CLASS, "%s[%d] is %p, no multiple of %d",
                        t == 1 ? "destinations" : "sources", side->rank, (const void *)base,
                        ADDRESS_MULTIPLE);
    tensors[t] = launch->tensor[t];
    tensors[t].data = (char *)base + side->offset;
  }
  return LLRT_OK;
}

/* launch[begin..end); queue false: only looks whether addresses will do. */
static llrt_status run_launches(const llrt_reshard *reshard, int begin, int end, bool queue,
                                void *const *sources, void *const *destinations, void *stream) {
  llrt_tensor tensors[LLRT_MAX_TENSORS];
  for (int i = begin; i < end; i++) {
    const reshard_launch *launch = &reshard->launch[i];
    const llrt_run_params params = {.size = sizeof params, .own_workspace = 1};
    LLRT_TRY(place(reshard, launch, sources, destinations, tensors));
    if (queue) LLRT_TRY(llrt_op_run(launch->op, stream, tensors, launch->n, &params));
  }
  return LLRT_OK;
}

/* Moves what this rank moves; if it cannot, the others are told instead of being waited for. */
static llrt_status run_moves(const llrt_reshard *reshard, void *const *sources,
                             void *const *destinations, void *stream) {
  llrt_status status =
      run_launches(reshard, reshard->n_fills, reshard->n, true, sources, destinations, stream);
  if (status == LLRT_OK) return llrt_comm_meet(reshard->comm, reshard->hash, NULL, stream);
  llrt_comm_refuse(reshard->comm, stream);
  return status;
}

/* What went wrong before; on the host, up to now. */
static llrt_status check_comm(const llrt_comm *comm) {
  uint64_t error;
  LLRT_TRY(llrt_comm_known_error(comm, &error));
  return llrt_comm_tell_error(error, LLRT_DEVICE);
}

llrt_status llrt_reshard_run(const llrt_reshard *reshard, void *const *sources,
                             void *const *destinations, void *stream) {
  LLRT_ENTRY();
  LLRT_REQUIRE(reshard, "reshard is NULL");
  LLRT_REQUIRE(sources && destinations, "sources or destinations is NULL");
  const llrt_comm *comm = reshard->comm;
  LLRT_TRY(llrt_validate_stream(comm->device, stream));
  LLRT_TRY(check_comm(comm));
  llrt_status status = run_launches(reshard, 0, reshard->n, false, sources, destinations, stream);
  if (status == LLRT_OK)
    status = run_launches(reshard, 0, reshard->n_fills, true, sources, destinations, stream);
  if (status != LLRT_OK) {
    llrt_comm_refuse(comm, stream);
    return status;
  }
  LLRT_TRY(llrt_comm_meet(comm, reshard->hash, NULL, stream));
  LLRT_TRY(check_comm(comm));
  LLRT_TRY(run_moves(reshard, sources, destinations, stream));
  return check_comm(comm);
}
