/* Descriptions by value, with the public calls on them: for tests and benchmarks, which build them
 * field by field. */
#ifndef LLRT_RUNTIME_DESCRIBED_H
#define LLRT_RUNTIME_DESCRIBED_H

#include "jit/plan/types/description.h"

#include <llrt/dot.h>

static inline llrt_op_desc described_as(const op_description *desc) {
  return op_description_show((op_description *)desc);
}

static inline llrt_status described_promise(op_description *desc) {
  const llrt_op_desc shown = described_as(desc);
  return llrt_op_promise_coarse(&shown);
}

static inline llrt_status described_prepare(llrt_device *device, const op_description *desc,
                                            llrt_op **op) {
  const llrt_op_desc shown = described_as(desc);
  return llrt_op_prepare(device, &shown, op);
}

static inline llrt_status described_compile(llrt_context *context, const char *target,
                                            const op_description *desc, llrt_emit emit,
                                            char **bytes, size_t *size) {
  const llrt_op_desc shown = described_as(desc);
  return llrt_op_compile(context, target, &shown, emit, bytes, size);
}

/* What llrt_dot_describe gives, with the storages that its tensors borrow: used where it lies, not
 * copied. */
typedef struct described_dot {
  op_description desc;
  llrt_storage storage[LLRT_MAX_TENSORS];
  llrt_index index[3][LLRT_MAX_INDICES]; /* of A, D, B */
} described_dot;

static inline void described_dot_take(const llrt_op_desc *made, described_dot *out) {
  op_description_begin(&out->desc, made->kind, made->n_tensors);
  out->desc.in_place = made->in_place != 0;
  out->desc.n_maps = made->n_maps;
  for (int i = 0; i < made->n_maps; i++) out->desc.maps[i] = made->maps[i];
  op_dot *dot = &out->desc.dot;
  dot->roles = made->dot.roles;
  dot->accumulate = made->dot.accumulate;
  dot->alpha = made->dot.alpha;
  dot->beta = made->dot.beta;
  dot->tf32 = made->dot.tf32;
  dot->fast_accumulate = made->dot.fast_accumulate;
  dot->batch_invariant = made->dot.batch_invariant != 0;
  dot->has_alpha = made->dot.has_alpha;
  dot->has_beta = made->dot.has_beta;
  memcpy(dot->scale_range, made->dot.scale_range, sizeof dot->scale_range);
  memcpy(dot->word_bits, made->dot.word_bits, sizeof dot->word_bits);
  memcpy(dot->group, made->dot.group, (size_t)made->n_tensors * sizeof *dot->group);
  for (int i = 0; i < made->n_tensors; i++) {
    out->storage[i] = *made->tensors[i].storage;
    out->desc.tensors[i] = made->tensors[i];
    out->desc.tensors[i].storage = &out->storage[i];
    if (made->tensors[i].n_indices == 0 || i >= 3) continue;
    memcpy(out->index[i], made->tensors[i].indices,
           (size_t)made->tensors[i].n_indices * sizeof *out->index[i]);
    out->desc.tensors[i].indices = out->index[i];
  }
}

static inline llrt_status described_dot_make(const llrt_tensor *a, const llrt_tensor *b,
                                             const llrt_tensor *d, const llrt_dot_params *params,
                                             described_dot *out) {
  llrt_op_desc *made;
  out->desc.n_tensors = 0;
  llrt_status status = llrt_dot_describe(a, b, d, params, &made);
  if (status == LLRT_OK) described_dot_take(made, out);
  llrt_op_desc_destroy(&made);
  return status;
}

#endif
