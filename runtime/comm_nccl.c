#include "runtime/comm_nccl.h"

#include "backends/nccl/nccl_library.h"
#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "runtime/context.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(llrt_nccl_id) == NCCL_ID_BYTES, "ncclUniqueId");

llrt_status llrt_nccl_id_create(llrt_device *device, const char *library, llrt_nccl_id *id) {
  LLRT_ENTRY();
  nccl_library nccl;
  nccl_id made;
  LLRT_REQUIRE(id, "id is NULL");
  memset(id, 0, sizeof *id);
  LLRT_REQUIRE(device, "device is NULL");
  LLRT_TRY(nccl_library_open(device, library, &nccl));
  llrt_status status = nccl_check(&nccl, nccl.ncclGetUniqueId(&made), "ncclGetUniqueId");
  nccl_library_close(&nccl);
  if (status == LLRT_OK) memcpy(id->bytes, made.bytes, sizeof id->bytes);
  return status;
}

llrt_status comm_nccl_open(llrt_comm *comm, const llrt_comm_params *params) {
  const nccl_rank_params own = {.device = comm->device,
                                .library = params->nccl_library,
                                .comm = params->nccl,
                                .id = params->nccl_id,
                                .rank = comm->rank,
                                .ranks = comm->ranks,
                                .timeout = comm->timeout};
  LLRT_REQUIRE(!params->nccl || !params->nccl_id, "params: both nccl and nccl_id are given");
  if (!params->nccl && !params->nccl_id) return LLRT_OK;
  return nccl_rank_open(&own, &comm->nccl);
}

/* What ranks tell each other. */
typedef struct ballot {
  uint64_t hash_low, hash_high, refuses, reserved;
} ballot;

static llrt_status compare(const llrt_comm *comm, const ballot *all) {
  const ballot *own = &all[comm->rank];
  for (int r = 0; r < comm->ranks; r++) LLRT_REQUIRE(!all[r].refuses, "rank %d refused", r);
  for (int r = 0; r < comm->ranks; r++)
    LLRT_REQUIRE(all[r].hash_low == own->hash_low && all[r].hash_high == own->hash_high,
                 "rank %d described something else", r);
  return LLRT_OK;
}

llrt_status comm_nccl_agree(llrt_comm *comm, llrt_hash hash, bool refuses, void *stream) {
  const ballot own = {.hash_low = hash.low, .hash_high = hash.high, .refuses = refuses};
  LLRT_TRY(nccl_rank_status(comm->nccl));
  ballot *all = memory_zeroed((size_t)comm->ranks, sizeof *all);
  if (!all) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %d ranks", comm->ranks);
  llrt_status status = nccl_rank_tell(comm->nccl, &own, all, sizeof own, stream);
  if (status == LLRT_OK) status = compare(comm, all);
  free(all);
  return status;
}
