/* A turn's elements of an operand: loaded as memory likes it, made numbers of the instruction's
 * type, brought where it wants them. What moves between threads is the narrower of both. */
#include "jit/plan/dot/dot.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/exchange/exchange.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/value.h"

#include <string.h>

static const plan_value *wanted(const dot_draft *x, int operand) {
  return operand ? &x->how.b : &x->how.a;
}

static llrt_dtype product_type(const dot_draft *x, int operand) {
  return operand ? x->types.b : x->types.a;
}

static uint64_t mask_of(const dot_draft *x, int operand) {
  return x->bits[operand ? DOT_DIM_N : DOT_DIM_M] | x->bits[DOT_DIM_K];
}

/* On the host an operand that lanes share is read where it is wanted, number by number. */
static bool reads_numbers(const dot_draft *x, int operand) {
  const plan_value *value = wanted(x, operand);
  bool shared = x->d.kernel->target.simd_lanes;
  for (int i = 0; i < plan_value_bits(value, PLAN_LANE); i++)
    shared &= plan_value_columns(value, PLAN_LANE)[i] == 0;
  return shared;
}

llrt_status dot_load_operand(dot_draft *x, int operand, int *value) {
  int tensor = dot_operand_tensor(x, operand);
  dot_access access;
  if (reads_numbers(x, operand)) {
    access.value = draft_retyped(&x->d, wanted(x, operand), x->d.kernel->tensor_bits[tensor]);
    access.vector = access.align = access.value.word;
    if (access.value.word > 0) access.vector = access.align = 0;
  } else {
    LLRT_TRY(dot_memory_value(x, tensor, mask_of(x, operand), &access));
  }
  return dot_load(x, tensor, &access, value);
}

/* ---- numbers ---- */

/* Elements as they were before the bits of their words were permuted: words have to be whole in a
 * thread (host: in lanes), as memory has them. */
static llrt_status form_words(dot_draft *x, int operand, int *value) {
  plan_kernel *kernel = x->d.kernel;
  int tensor = dot_operand_tensor(x, operand);
  uint8_t type = (uint8_t)x->job->desc.tensors[tensor].dtype;
  plan_map map = {.kind = PLAN_MAP_WORD_BITS, .from = type, .to = type};
  if (!x->job->words[operand]) return LLRT_OK;
  if (reads_numbers(x, operand) || !plan_keeps_words(kernel, &kernel->value[*value], tensor))
    return llrt_error(LLRT_UNSUPPORTED,
                      "operand %s: no thread reads the words whole whose bits are permuted "
                      "(word_bits): not as llrt_dot_pack "
                      "packs them for %s",
                      operand ? "B" : "A", kernel->target.name);
  memcpy(map.perm, x->job->desc.dot.word_bits[operand], sizeof map.perm);
  LLRT_TRY(dot_map(x, map, -1, value));
  kernel->step[kernel->n_steps - 1].tensor = (uint8_t)tensor;
  return LLRT_OK;
}

/* What products with scales are rounded to. On the host those of e2m1 with e8m0, which are numbers
 * of bf16, are at once numbers of the sums' type. */
static llrt_dtype rounded_to(const dot_draft *x, int operand, llrt_dtype type, llrt_dtype scale) {
  const dot_operand_rule *rule = operand ? &x->job->rule.b : &x->job->rule.a;
  bool exact = type == LLRT_E2M1 && scale == LLRT_E8M0 && rule->rounded == LLRT_BF16;
  bool at_once = exact && x->d.kernel->target.simd_lanes && product_type(x, operand) == LLRT_F32;
  return at_once ? LLRT_F32 : rule->rounded;
}

/* What the elements become first, by their zero points and scales; *type: of that. */
static llrt_status scale_steps(dot_draft *x, int operand, llrt_dtype *type, int *value) {
  const dot_job *job = x->job;
  LLRT_TRY(form_words(x, operand, value));
  const dot_operand_rule *rule = operand ? &job->rule.b : &job->rule.a;
  int scale = job->tensor[operand ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A];
  int zero = job->tensor[operand ? LLRT_DOT_ZERO_B : LLRT_DOT_ZERO_A];
  if (job->scaled_sums[operand]) scale = -1;
  if (zero >= 0) {
    llrt_dtype of = job->desc.tensors[zero].dtype, to = LLRT_F32;
    if (scale < 0 && (of == LLRT_F16 || of == LLRT_BF16)) to = rule->rounded;
    LLRT_TRY(dot_map(x,
                     (plan_map){.kind = PLAN_MAP_SCALE,
                                .subtracts = true,
                                .from = (uint8_t)*type,
                                .to = (uint8_t)to,
                                .scale = (uint8_t)of},
                     zero, value));
    *type = to;
  }
  if (scale < 0) return LLRT_OK;
  llrt_dtype of = job->desc.tensors[scale].dtype;
  llrt_dtype to = rounded_to(x, operand, *type, of);
  LLRT_TRY(dot_map(x,
                   (plan_map){.kind = PLAN_MAP_SCALE,
                              .from = (uint8_t)*type,
                              .to = (uint8_t)to,
                              .any_nan = to == LLRT_F32 && x->d.kernel->target.simd_lanes,
                              .scale = (uint8_t)of},
                   scale, value));
  *type = to;
  return LLRT_OK;
}

/* Whether the two 4-bit elements of every byte go together to where they are wanted. */
static bool keeps_bytes(const dot_draft *x, int operand, int value) {
  const plan_value *in = &x->d.kernel->value[value], *out = wanted(x, operand);
  bool registers =
      plan_value_bits(in, PLAN_REGISTER) > 0 && plan_value_bits(out, PLAN_REGISTER) > 0;
  return registers &&
         plan_value_columns(in, PLAN_REGISTER)[0] == plan_value_columns(out, PLAN_REGISTER)[0];
}

plan_value dot_wanted_value(const dot_draft *x, int operand) {
  return draft_retyped(&x->d, wanted(x, operand),
                       x->d.kernel->tensor_bits[dot_operand_tensor(x, operand)]);
}

llrt_status dot_widen_operand(dot_draft *x, int operand, int *value) {
  return dot_cast(x, x->job->desc.tensors[dot_operand_tensor(x, operand)].dtype,
                  product_type(x, operand), value);
}

llrt_status dot_decode_operand(dot_draft *x, int operand, int *value) {
  llrt_dtype type = x->job->desc.tensors[dot_operand_tensor(x, operand)].dtype;
  if (type == LLRT_BOOL) type = LLRT_U8;
  LLRT_TRY(scale_steps(x, operand, &type, value));
  return dot_cast(x, type, product_type(x, operand), value);
}

llrt_status dot_prepare_operand(dot_draft *x, int operand, int *value) {
  llrt_dtype type = x->job->desc.tensors[dot_operand_tensor(x, operand)].dtype,
             to = product_type(x, operand);
  if (type == LLRT_BOOL) type = LLRT_U8;
  LLRT_TRY(scale_steps(x, operand, &type, value));
  bool early = llrt_dtype_bits(to) <= llrt_dtype_bits(type) || reads_numbers(x, operand);
  early |= llrt_dtype_bits(type) < 8 && !keeps_bytes(x, operand, *value);
  if (early) LLRT_TRY(dot_cast(x, type, to, value));
  plan_value target = draft_retyped(&x->d, wanted(x, operand), x->d.kernel->value[*value].bits);
  if (!reads_numbers(x, operand)) LLRT_TRY(draft_exchange(&x->d, *value, &target, value));
  return early ? LLRT_OK : dot_cast(x, type, to, value);
}
