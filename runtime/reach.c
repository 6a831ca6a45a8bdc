#include "runtime/reach.h"

#include "base/status.h"
#include "runtime/index_check.h"

/* Drivers map device memory in blocks of this size, of which the host's heap has no part. */
enum { BLOCK_BITS = 21 };

static uintptr_t block_of(const void *address) { return ((uintptr_t)address >> BLOCK_BITS) + 1; }

static atomic_uintptr_t *place_of(llrt_device *device, uintptr_t block) {
  return &device->known_block[(block ^ block >> 6) % BACKEND_KNOWN_BLOCKS];
}

/* Not while a graph is captured: memory of the graph's own is not there yet. */
static llrt_status ask(llrt_device *device, const void *address, void *stream, bool *reached) {
  uintptr_t block = block_of(address);
  atomic_uintptr_t *known = place_of(device, block);
  *reached = true;
  if (atomic_load_explicit(known, memory_order_relaxed) == block) return LLRT_OK;
  LLRT_TRY(device->backend->reaches(device, address, reached));
  if (*reached) {
    atomic_store_explicit(known, block, memory_order_relaxed);
    return LLRT_OK;
  }
  backend_stream state;
  LLRT_TRY(device->backend->stream_state(device, stream, &state));
  *reached = state.capturing;
  return LLRT_OK;
}

llrt_status llrt_check_reach(const op_call *call, const storage_set *set, void *stream) {
  llrt_device *device = call->tensor[0].device;
  if (!device->backend->reaches) return LLRT_OK;
  for (int i = 0; i < call->n; i++) {
    const llrt_tensor *tensor = &call->tensor[i];
    const char *role = op_tensor_called(set->roles, i);
    int64_t alignment;
    bool reached = true;
    if (call->binding[i].span > 0 && !llrt_index_has_pointers(tensor, &alignment))
      LLRT_TRY(ask(device, tensor->data, stream, &reached));
    LLRT_REQUIRE(reached, "the %s's data %p is host memory, which %s does not reach", role,
                 tensor->data, device->info.name);
    for (int j = 0; j < tensor->n_indices; j++) {
      if (!tensor->indices[j].data) continue; /* the tensor has no elements */
      LLRT_TRY(ask(device, tensor->indices[j].data, stream, &reached));
      LLRT_REQUIRE(reached,
                   "the values of the %s's index %d are in host memory, which %s does not "
                   "reach",
                   role, j, device->info.name);
    }
  }
  return LLRT_OK;
}
