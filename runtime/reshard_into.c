/* Re-shards by one call: each description is prepared once for a communicator, and kept with it. */
#include "base/params.h"
#include "base/status.h"
#include "runtime/reshard.h"

#include <string.h>

static bool is_of(const llrt_reshard *reshard, const llrt_text *described) {
  return reshard->described.length == described->length &&
         memcmp(reshard->described.data, described->data, described->length) == 0;
}

/* *out: the one that was kept for this description; NULL: none. The same on all ranks, which make
 * the same calls. */
static llrt_status find_kept(const llrt_comm *comm, const llrt_reshard_desc *given,
                             llrt_reshard **out) {
  llrt_reshard_desc own;
  llrt_text described;
  *out = NULL;
  LLRT_TRY(LLRT_PARAMS_READ(llrt_reshard_desc, given, &own));
  if (reshard_check(&own) != LLRT_OK) return LLRT_OK; /* preparing it says so, on all ranks */
  llrt_text_init(&described);
  reshard_description_write(&described, &own);
  llrt_status status = llrt_text_status(&described);
  for (llrt_reshard *one = comm->kept; one && !*out && status == LLRT_OK; one = one->next)
    if (is_of(one, &described)) *out = one;
  llrt_text_fini(&described);
  return status;
}

llrt_status llrt_reshard_into(llrt_comm *comm, const llrt_reshard_desc *desc,
                              const llrt_reshard_run_params *params, void *stream) {
  LLRT_ENTRY();
  llrt_reshard *reshard;
  LLRT_REQUIRE(comm, "comm is NULL");
  LLRT_REQUIRE(desc, "desc is NULL");
  LLRT_REQUIRE(params, "params is NULL");
  LLRT_TRY(find_kept(comm, desc, &reshard));
  if (!reshard) {
    LLRT_TRY(llrt_reshard_prepare(comm, desc, stream, &reshard));
    reshard->next = comm->kept;
    comm->kept = reshard;
  }
  return llrt_reshard_run_with(reshard, params, stream);
}

void reshard_drop_kept(llrt_comm *comm) {
  while (comm->kept) {
    llrt_reshard *reshard = comm->kept;
    comm->kept = reshard->next;
    llrt_reshard_destroy(&reshard);
  }
}
