/* Planning a dot: its stages and variants. */
#include "jit/plan/dot.h"

#include "base/bits.h"
#include "base/status.h"

#include <string.h>

typedef struct planner {
  const llrt_op_desc *desc;
  const plan_target *target;
  const plan_options *options;
  plan *out;
  dot_job job; /* of one kernel that does everything */
} planner;

static bool scales_sums(const llrt_op_desc *desc, llrt_dot_role operand) {
  return dot_operand_of(desc, operand).on_sums;
}

static void begin_job(const llrt_op_desc *desc, dot_job *job) {
  *job = (dot_job){.desc = *desc, .rule = dot_rule_of(desc)};
  for (int r = 0; r < LLRT_DOT_ROLES; r++) job->tensor[r] = dot_tensor(&desc->dot, (llrt_dot_role)r);
  job->scaled_sums[0] = scales_sums(desc, LLRT_DOT_A);
  job->scaled_sums[1] = scales_sums(desc, LLRT_DOT_B);
}

/* ---- tiles ---- */

/* log2 K positions of a turn: 64 bytes of 16-bit operands on a GPU, fewer where each lane multiplies by itself. */
static dot_shape large_tile(const planner *p) {
  llrt_dtype sum = p->job.rule.sums;
  bool matrices = dot_has_matrices(&p->job, p->target);
  if (p->target->lanes_first) return (dot_shape){.bits = {2, bits_log2(p->target->vector_bytes / 2), 3}};
  int warps = bits_min(p->target->warp_bits, p->target->isa == PLAN_ISA_AMDGPU ? 2 : 3);
  if (!matrices) return (dot_shape){.bits = {6, 6, sum == LLRT_F32 || sum == LLRT_I32 ? 3 : 2}, .warps = warps};
  if (sum == LLRT_F64) return (dot_shape){.bits = {6, 6, 3}, .warps = warps};
  return (dot_shape){.bits = {7, 7, 5}, .warps = warps};
}

/* ---- the whole ---- */

llrt_status plan_dot_make(const llrt_op_desc *desc, const plan_target *target, const plan_options *options, plan *out) {
  planner p = {.desc = desc, .target = target, .options = options, .out = out};
  bool divided;
  out->n_variants = 0;
  begin_job(desc, &p.job);
  dot_shape shape = large_tile(&p);
  LLRT_TRY(dot_plan_kernel(&p.job, &shape, false, target, options, &out->variant[0], &divided));
  if (divided) return llrt_error(LLRT_UNSUPPORTED, "the operands' storages have no common refinement");
  out->n_variants = 1;
  return LLRT_OK;
}
