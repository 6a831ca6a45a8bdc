/* An operation's description as the library keeps it: llrt_op_desc with its arrays inside. */
#ifndef LLRT_JIT_PLAN_TYPES_DESCRIPTION_H
#define LLRT_JIT_PLAN_TYPES_DESCRIPTION_H

#include "expression/program.h"

#include <llrt/op.h>

#include <stddef.h>
#include <string.h>

/* llrt_op_dot. */
typedef struct op_dot {
  uint32_t roles;
  llrt_dtype accumulate;
  double alpha, beta;
  uint8_t scale_range[2][2];
  uint8_t word_bits[2][32];
  bool tf32, fast_accumulate, batch_invariant;
  bool has_alpha, has_beta;
  int32_t group[LLRT_MAX_TENSORS][LLRT_MAX_RANK];
} op_dot;

typedef struct op_description {
  llrt_op_kind kind;
  int32_t n_tensors, n_maps;
  bool in_place;
  bool any_order; /* numbers may be joined in any order: what may be chosen by measuring (tune.h) */
  bool linked;    /* the destination is memory of other devices (a convert's tiles) */
  llrt_op_combine combine;
  op_dot dot;
  const uint64_t *scalars; /* COMPUTE: codes of the run's numbers, borrowed */
  llrt_hash program_hash;  /* COMPUTE: of `program`, by who makes many keys; 0: not known */
  uint32_t merged; /* COMPUTE: axes whose positions another axis took (runtime/compute_merge.c) */
  llrt_map maps[LLRT_MAX_MAPS];
  llrt_tensor tensors[LLRT_MAX_TENSORS];
  llrt_tensor_promise promises[LLRT_MAX_TENSORS];
  expr_program program; /* COMPUTE; of other kinds nobody's to read */
} op_description;

/* Makes *description one of so many tensors, of which, as of promises and numbers, all is zero.
 * What is behind the last tensor is nobody's to read. */
static inline void op_description_begin(op_description *description, llrt_op_kind kind,
                                        int n_tensors) {
  memset(description, 0, offsetof(op_description, tensors));
  memset(description->tensors, 0, (size_t)n_tensors * sizeof *description->tensors);
  memset(description->promises, 0, (size_t)n_tensors * sizeof *description->promises);
  description->kind = kind;
  description->n_tensors = n_tensors;
}

/* The description as callers see it; its arrays are `description`'s. */
static inline llrt_op_desc op_description_show(op_description *description) {
  const op_dot *dot = &description->dot;
  llrt_op_desc shown = {.size = sizeof shown,
                        .kind = description->kind,
                        .n_tensors = description->n_tensors,
                        .tensors = description->tensors,
                        .promises = description->promises,
                        .maps = description->maps,
                        .n_maps = description->n_maps,
                        .in_place = description->in_place,
                        .combine = description->combine,
                        .dot = {.roles = dot->roles,
                                .accumulate = dot->accumulate,
                                .group = (const int32_t(*)[LLRT_MAX_RANK])dot->group,
                                .alpha = dot->alpha,
                                .beta = dot->beta,
                                .tf32 = dot->tf32,
                                .fast_accumulate = dot->fast_accumulate,
                                .has_alpha = dot->has_alpha,
                                .has_beta = dot->has_beta,
                                .batch_invariant = dot->batch_invariant}};
  if (description->kind == LLRT_OP_COMPUTE) shown.scalars = description->scalars;
  if (description->kind == LLRT_OP_COMPUTE) shown.program = &description->program;
  for (int i = 0; i < 4; i++) shown.dot.scale_range[i / 2][i % 2] = dot->scale_range[i / 2][i % 2];
  for (int i = 0; i < 64; i++) shown.dot.word_bits[i / 32][i % 32] = dot->word_bits[i / 32][i % 32];
  return shown;
}

#endif
