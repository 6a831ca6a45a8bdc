#include "runtime/description.h"

#include "base/params.h"
#include "base/status.h"
#include "runtime/compute_axes.h"
#include "runtime/compute_promises.h"

#include <stdlib.h>
#include <string.h>

llrt_status llrt_description_take_maps(const llrt_map *maps, int n_maps, op_description *out) {
  LLRT_REQUIRE(n_maps >= 0 && n_maps <= LLRT_MAX_MAPS, "%d maps, not 0 to %d", n_maps,
               LLRT_MAX_MAPS);
  LLRT_REQUIRE(maps || n_maps == 0, "maps is NULL, n_maps %d", n_maps);
  out->n_maps = n_maps;
  if (n_maps > 0) memcpy(out->maps, maps, (size_t)n_maps * sizeof *maps);
  return LLRT_OK;
}

static void take_dot(const llrt_op_dot *dot, int n_tensors, op_dot *out) {
  out->roles = dot->roles;
  out->accumulate = dot->accumulate;
  out->alpha = dot->alpha;
  out->beta = dot->beta;
  memcpy(out->scale_range, dot->scale_range, sizeof out->scale_range);
  memcpy(out->word_bits, dot->word_bits, sizeof out->word_bits);
  out->tf32 = dot->tf32;
  out->fast_accumulate = dot->fast_accumulate;
  out->batch_invariant = dot->batch_invariant != 0;
  out->has_alpha = dot->has_alpha;
  out->has_beta = dot->has_beta;
  if (dot->group) memcpy(out->group, dot->group, (size_t)n_tensors * sizeof *dot->group);
}

/* 0, which promises nothing, is 1; a fixed extent is its own multiple, and bounds are multiples
 * themselves. Of what contradicts itself nothing changes: it is refused, or never holds. */
static void normalise(llrt_promise *promise) {
  int64_t multiple = promise->multiple, least = promise->min, most = promise->max;
  if (multiple < 0 || least < 0 || most < 0) return;
  if (multiple == 0) multiple = 1;
  if (least > 0 && least <= INT64_MAX - multiple)
    least = (least + multiple - 1) / multiple * multiple;
  most -= most % multiple;
  if (promise->max > 0 && (most == 0 || least > most)) return;
  if (most > 0 && least == most) multiple = most;
  *promise = (llrt_promise){.multiple = multiple, .min = least, .max = most};
}

void llrt_description_normalise(op_description *description) {
  if (description->kind == LLRT_OP_COMPUTE) compute_gather_promises(description);
  for (int t = 0; t < description->n_tensors; t++) {
    llrt_tensor_promise *promises = &description->promises[t];
    if (promises->address.multiple == 0) promises->address.multiple = 1;
    for (int axis = 0; axis < LLRT_MAX_RANK; axis++) {
      normalise(&promises->shape[axis]);
      if (promises->stride[axis].multiple == 0) promises->stride[axis].multiple = 1;
    }
  }
}

llrt_status llrt_description_take(const llrt_op_desc *desc, op_description *out) {
  llrt_op_desc own;
  LLRT_REQUIRE(desc, "desc is NULL");
  LLRT_TRY(LLRT_PARAMS_READ(llrt_op_desc, desc, &own));
  LLRT_REQUIRE(own.n_tensors >= 2 && own.n_tensors <= LLRT_MAX_TENSORS,
               "an operation of %d tensors, not 2 to %d", own.n_tensors, LLRT_MAX_TENSORS);
  LLRT_REQUIRE(own.tensors, "desc: tensors is NULL");
  LLRT_REQUIRE(llrt_params_are_zero(own.combine.reserved, sizeof own.combine.reserved) &&
                   llrt_params_are_zero(own.dot.reserved, sizeof own.dot.reserved),
               "desc: a reserved field of combine or dot is not 0");
  LLRT_REQUIRE(own.dot.batch_invariant == 0 || own.dot.batch_invariant == 1,
               "desc: dot.batch_invariant is %lld, not 0 or 1", (long long)own.dot.batch_invariant);
  op_description_begin(out, own.kind, own.n_tensors);
  out->in_place = own.in_place != 0;
  out->combine = own.combine;
  take_dot(&own.dot, own.n_tensors, &out->dot);
  LLRT_REQUIRE((own.kind == LLRT_OP_COMPUTE) == (own.program != NULL),
               "desc: a program is a compute's (llrt_compute_describe)");
  out->scalars = own.scalars;
  if (own.program) {
    out->program = *own.program;
    compute_set_groups(out);
  }
  LLRT_TRY(llrt_description_take_maps(own.maps, own.n_maps, out));
  memcpy(out->tensors, own.tensors, (size_t)own.n_tensors * sizeof *own.tensors);
  if (own.promises)
    memcpy(out->promises, own.promises, (size_t)own.n_tensors * sizeof *own.promises);
  return LLRT_OK;
}

void llrt_op_desc_destroy(llrt_op_desc **desc) {
  if (!desc) return;
  free(*desc);
  *desc = NULL;
}
