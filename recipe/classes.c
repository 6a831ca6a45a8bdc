/* Kernels of a plan, one for all moves that are alike. */
#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "recipe/plan.h"

#include <stddef.h>
#include <stdlib.h>

void repack_tensors(const llrt_repack *plan, const repack_class *class, void *source,
                    void *destination, llrt_tensor tensors[2]) {
  tensors[0] = (llrt_tensor){.data = source,
                             .dtype = class->from,
                             .rank = class->rank,
                             .storage = &class->source,
                             .device = plan->device};
  memcpy(tensors[0].shape, class->shape, sizeof class->shape);
  tensors[1] = tensors[0];
  tensors[1].data = destination;
  tensors[1].dtype = class->to;
  tensors[1].storage = &class->destination;
}

/* An address that is a multiple of what all that a run may bring are multiples of, and of no more:
 * of 16 bytes on a GPU, of a cache line on the host. */
static void *least_aligned(const llrt_repack *plan, int32_t alignment) {
  int32_t whole = plan->on_host ? 64 : 16;
  return (void *)(uintptr_t)(4096 + (alignment < whole ? alignment : whole));
}

static llrt_status prepare(llrt_repack *plan, repack_class *class) {
  llrt_tensor tensors[2];
  llrt_tensor_promise promises[2] = {0};
  void *source = least_aligned(plan, class->source_alignment);
  void *destination = least_aligned(plan, class->destination_alignment);
  repack_tensors(plan, class, source, class->in_place ? source : destination, tensors);
  llrt_op_desc desc = {.kind = LLRT_OP_CONVERT,
                       .n_tensors = 2,
                       .tensors = tensors,
                       .promises = promises,
                       .maps = class->map,
                       .n_maps = class->n_maps,
                       .in_place = class->in_place};
  llrt_status status = llrt_op_promise_coarse(&desc);
  if (!status) status = llrt_op_prepare(plan->device, &desc, &class->op);
  if (status != LLRT_UNSUPPORTED || !class->in_place) return status;
  class->refused = 1;
  return LLRT_OK;
}

static repack_class least(const repack_class *class) {
  repack_class out;
  memcpy(&out, class, sizeof out);
  if (out.source_alignment > LISTS_ALIGNMENT) out.source_alignment = LISTS_ALIGNMENT;
  if (out.destination_alignment > LISTS_ALIGNMENT) out.destination_alignment = LISTS_ALIGNMENT;
  return out;
}

/* The first class whose lists may have this one's tensors, too. */
static int first_alike(const llrt_repack *plan, const repack_class *class) {
  repack_class wanted = least(class);
  for (int i = 0; i < plan->classes.n; i++) {
    repack_class other = least(*PLAN_AT(plan->classes, repack_class *, i));
    if (memcmp(&other, &wanted, offsetof(repack_class, refused)) == 0) return i;
  }
  return plan->classes.n - 1;
}

llrt_status plan_class(llrt_repack *plan, const repack_class *wanted, int32_t *number) {
  size_t bytes = offsetof(repack_class, refused);
  uint64_t hash = llrt_hash_bytes(wanted, bytes).low;
  for (*number = 0; *number < plan->classes.n; ++*number) {
    const repack_class *class = *PLAN_AT(plan->classes, repack_class *, *number);
    if (class->hash == hash && memcmp(class, wanted, bytes) == 0) return LLRT_OK;
  }
  repack_class *class = memory_new(sizeof *class);
  repack_class **kept = class ? plan_append(&plan->classes, sizeof *kept) : NULL;
  if (!kept) {
    free(class);
    return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
  }
  *kept = class;
  memcpy(class, wanted, sizeof *class);
  class->hash = hash;
  class->alike = first_alike(plan, class);
  return plan->device ? prepare(plan, class) : LLRT_OK;
}
