/* How the values of a PLAN_DOT fall into its instruction's operands. Checks, the cost, the
 * interpreter and emission all use this description.
 *
 * Each value divides by the instruction's layout on the left: the instruction's register bits are
 * the value's lowest, its lanes are the value's, and all three operands agree on the tile vectors
 * at which they stand. Those need not be the tile's lowest bits: k may be permuted as loads like
 * it. What is left of the values are whole instructions.
 *
 * Of an operand in shared memory the value says what there is and the buffer's layout where it
 * lies. If the other operand has no registers that name k's bits, these are the lowest summed ones.
 */
#ifndef LLRT_JIT_PLAN_FACTS_DOT_TILING_H
#define LLRT_JIT_PLAN_FACTS_DOT_TILING_H

#include "jit/plan/facts/dot_shared.h"
#include "jit/plan/facts/tile_padding.h"
#include "jit/plan/kernel/plan.h"
#include "jit/plan/types/dot_instruction.h"

#define DOT_MAX_OUTER 12

typedef struct dot_tiling {
  const dot_instruction *row;
  dot_operand operand[3]; /* by DOT_A, DOT_B, DOT_ACC */
  int n_out;              /* log2 instructions of a warp with results of their own */
  int n_sum;              /* log2 instructions of a warp whose products are summed */
  /* Where instruction number (out, sum) finds an operand: the XOR of of_out over the set bits of
   * `out` and of of_sum over those of `sum`. In registers: the register index of its first element.
   * In shared memory: bytes from the buffer's beginning; of_warp adds what the warp's number does.
   */
  uint64_t of_out[3][DOT_MAX_OUTER], of_sum[3][DOT_MAX_OUTER], of_warp[2][8];
  /* Warpgroups: tile padding (tile_padding.h) is left out. skipped = 0: each instruction has fewer
   * columns. Else two bits of `out`: instructions whose number has both are not made. */
  bool leaves;
  uint64_t skipped;
  int columns;          /* of an instruction */
  bool shared[2];       /* by operand: it is in shared memory */
  dot_matrix matrix[2]; /* shared: how it lies there */
} dot_tiling;

/* The tiling of a PLAN_DOT. Errors: INTERNAL with what does not divide. */
llrt_status plan_dot_tiling(const plan_kernel *kernel, const plan_step *step, dot_tiling *out);

/* log2 instructions whose products are summed from 0 where sums of a turn stand beside those of all
 * (plan_step.fresh_sums): the tensor cores' sums of 8-bit floats keep few bits, so of at most 128
 * positions. Of more the products of the next ones are under way while these join. */
int plan_dot_fresh(const dot_tiling *tiling);

/* The tile padding that the step's products leave out (dot_tiling.leaves); n = 0: none. */
void plan_dot_left(const plan_kernel *kernel, const plan_step *step, plan_padding *out);

#endif
