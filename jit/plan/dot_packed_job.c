/* Whether a dot's weights are packed, and what multiplies them: see dot_packed_kernel.h. */
#include "jit/plan/dot_packed_kernel.h"

#include "base/bits.h"
#include "base/status.h"

#include <string.h>

/* Whether what stands on A and W can be done where these kernels do it: scales of W as it is decoded, others on sums. */
static bool has_kernel(const dot_job *job) {
  const int *tensor = job->tensor;
  return job->desc.tensors[0].rank == 3 && !job->words[0] && tensor[LLRT_DOT_SCALE_B] >= 0 && !job->scaled_sums[1] &&
         tensor[LLRT_DOT_ZERO_A] < 0 && tensor[LLRT_DOT_ZERO_B] < 0 &&
         (tensor[LLRT_DOT_SCALE_A] < 0 || job->scaled_sums[0]) && job->rule.sums == LLRT_F32;
}

/* Whether a tensor's storage, of the operation's axes, is the packed one, of axes K and N. */
static bool is_stored_so(const llrt_op_desc *desc, int tensor, const llrt_storage *rule) {
  const llrt_storage *storage = desc->tensors[tensor].storage;
  const llrt_layout *tile = &rule->tile;
  if (storage->tile.n_out != 3 || storage->n_digits != rule->n_digits || storage->pad != rule->pad ||
      storage->pad_value != rule->pad_value || storage->swizzle.swizzle_len || storage->offset[0])
    return false;
  for (int i = 0; i < rule->n_digits; i++)
    if (storage->digit[i].axis != (rule->digit[i].axis == 0 ? PACKED_K : PACKED_N) ||
        storage->digit[i].extent != rule->digit[i].extent || storage->digit[i].stride != rule->digit[i].stride)
      return false;
  int n = llrt_layout_in_bits(tile);
  if (llrt_layout_in_bits(&storage->tile) != n) return false;
  for (int i = 0; i < n; i++)
    for (int axis = 0; axis < 2; axis++) {
      int a = llrt_layout_out_index(tile, axis ? "dim1" : "dim0");
      int b = llrt_layout_out_index(&storage->tile, axis ? "dim1" : "dim2");
      uint64_t x = tile->column[i] >> llrt_layout_out_shift(tile, a) & bits_mask(tile->out[a].bits);
      uint64_t y = storage->tile.column[i] >> llrt_layout_out_shift(&storage->tile, b) &
                   bits_mask(storage->tile.out[b].bits);
      if (x != y) return false;
    }
  return true;
}

static bool is_packed(packed *p) {
  const llrt_op_desc *desc = &p->job.desc;
  int weights = p->job.tensor[LLRT_DOT_B], scale = p->job.tensor[LLRT_DOT_SCALE_B];
  if (!has_kernel(&p->job) || llrt_dtype_bits(desc->tensors[weights].dtype) != 4) return false;
  int32_t positions = desc->dot.group[scale][PACKED_K];
  p->group = positions > 0 && bits_is_power_of_two(positions) ? bits_log2(positions) : 0;
  int bits = llrt_dtype_bits(desc->tensors[scale].dtype);
  if (desc->dot.group[scale][PACKED_N] != 1 || dot_packed_values(&p->values) != LLRT_OK ||
      dot_packed_scales(p->group, bits, &p->scales) != LLRT_OK)
    return false;
  return is_stored_so(desc, weights, &p->values) && is_stored_so(desc, scale, &p->scales);
}

/* Whether all values of W are numbers of a type, those that products with scales give, rounded once. */
static bool holds_weights(const dot_job *job, llrt_dtype type) {
  llrt_dtype scale = job->desc.tensors[job->tensor[LLRT_DOT_SCALE_B]].dtype;
  bool rounded = job->rule.b.rounded == type || job->rule.b.rounded == LLRT_DTYPE_NONE ||
                 (type == LLRT_F16 && scale == LLRT_E8M0);
  return rounded && (scale == type || scale == LLRT_E8M0) && dot_dtype_holds(type, &job->rule.b.values);
}

/* What the matrix instruction multiplies: A's own type, or one that holds it, where it holds all values of W. NONE: another
 * kernel's. */
static llrt_dtype compute_type(const dot_job *job) {
  static const llrt_dtype types[] = {LLRT_F16, LLRT_BF16};
  llrt_dtype rows = job->desc.tensors[job->tensor[LLRT_DOT_A]].dtype;
  for (int i = 0; i < 2; i++)
    if ((rows == types[i] || rows == LLRT_E4M3 || rows == LLRT_E5M2) && holds_weights(job, types[i])) return types[i];
  return LLRT_DTYPE_NONE;
}

int packed_instruction(const packed *p, const plan_target *target, bool group, int rows) {
  for (int i = 0; i < dot_instruction_count(); i++) {
    const dot_instruction *row = dot_instruction_at(i);
    bool fits = group ? row->family == DOT_WGMMA && row->n == rows
                      : row->family == DOT_MMA && row->m == 4 && row->n == 3;
    if (fits && row->a == p->compute && row->b == p->compute && row->k == 4 && dot_instruction_is_of(row, target))
      return i;
  }
  return -1;
}

bool packed_begin(packed *p, const plan_target *target) {
  if (target->isa != PLAN_ISA_NVPTX || !is_packed(p)) return false;
  p->compute = compute_type(&p->job);
  p->operand[PACKED_WEIGHTS].tensor = p->job.tensor[LLRT_DOT_B];
  p->operand[PACKED_SCALES].tensor = p->job.tensor[LLRT_DOT_SCALE_B];
  p->operand[PACKED_ROWS].tensor = p->job.tensor[LLRT_DOT_A];
  return p->compute && packed_instruction(p, target, false, 0) >= 0;
}
