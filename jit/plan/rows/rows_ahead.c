/* Rows of later blocks are asked for while blocks work on theirs: loads then find them in the
 * second-level cache, and memory has work while all of a multiprocessor's blocks are past their
 * loads. */
#include "jit/plan/rows/rows.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/value.h"

/* Multiprocessors of the GPUs that this was measured on. */
#define UNITS 132
#define PIECE_BITS 128

/* Whether a block's elements of the tensor are one run of memory. */
static bool is_one_run(const rows *r, int tensor) {
  const plan_kernel *kernel = r->d.kernel;
  plan_address_map map;
  uint64_t moved = 0;
  plan_address_of_tensor(kernel, tensor, &map);
  for (int i = 0; i < kernel->n_digits; i++)
    if (kernel->digit[i].bits > 0 && kernel->digit[i].side[tensor].kind != PLAN_COLUMNS)
      return false;
  for (int b = 0; b < r->d.tile_bits; b++) {
    if (!bits_is_power_of_two((int64_t)map.column[b]) || (moved & map.column[b])) return false;
    moved |= map.column[b];
  }
  return moved == bits_mask(r->d.tile_bits);
}

/* Whether the block is all of one row. */
static bool is_one_row(const rows *r) {
  return rows_bits_of(r, r->program->reduced) == bits_mask(r->d.tile_bits) &&
         r->held[PLAN_WARP].n > 0;
}

/* Of norms, whose weights wait, too: with two tensors of rows what is asked for leaves the cache
 * before it is loaded. */
llrt_status rows_ask_ahead(rows *r) {
  plan_kernel *kernel = r->d.kernel;
  int node[PROGRAM_MAX_NODES];
  if (rows_loaded_first(r, node) != 1 || rows_count_weights(r) == 0 || !r->resident || r->few ||
      r->clusters || kernel->target.cluster_bits == 0 || kernel->n_indices > 0 ||
      kernel->n_bounds > 0 || !is_one_row(r))
    return LLRT_OK;
  int tensor = r->program->node[node[0]].slot;
  draft_runs runs;
  draft_runs_of(&r->d, tensor, &runs);
  if (kernel->tensor_bits[tensor] << runs.align < PIECE_BITS || !is_one_run(r, tensor))
    return LLRT_OK;
  return draft_step(kernel, (plan_step){.kind = PLAN_PREFETCH,
                                        .tensor = (uint8_t)tensor,
                                        .in = (uint8_t)r->loaded[node[0]],
                                        .turns = UNITS,
                                        .reach = 1 << r->d.tile_bits});
}
