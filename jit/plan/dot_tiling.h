/* How the values of a PLAN_DOT fall into its instruction's operands: checked, counted and emitted by one
 * description. Each value divides by the instruction's layout on the left: the instruction's register bits are the
 * value's lowest, its lanes are the value's, at tile vectors that all three operands agree on (which need not be
 * the tile's lowest bits: k may be permuted as loads like it). What is left are whole instructions. Of an operand in
 * shared memory the value says what there is, the buffer's layout where; k's bits are then the lowest summed ones, where
 * the other operand has no registers that say so. */
#ifndef LLRT_JIT_PLAN_DOT_TILING_H
#define LLRT_JIT_PLAN_DOT_TILING_H

#include "jit/plan/dot_instruction.h"
#include "jit/plan/dot_shared.h"
#include "jit/plan/own_bound.h"
#include "jit/plan/plan.h"

#define DOT_MAX_OUTER 12

typedef struct dot_tiling {
  const dot_instruction *row;
  dot_operand operand[3];
  int n_out, n_sum; /* log2 instructions of a warp: along results, and along what is summed */
  /* Register index of the first element of an operand's instruction: XOR over bits of the result's number, and of
   * the summed one's. In shared memory: bytes from the buffer's beginning, and what bits of a warp's number add. */
  uint64_t of_out[3][DOT_MAX_OUTER], of_sum[3][DOT_MAX_OUTER], of_warp[2][8];
  /* By warpgroups: whether what is of no block (own_bound.h) is left out. It is those numbers of the result that have both bits
   * of `skipped`, or 0, and each instruction has fewer columns. */
  bool leaves;
  uint64_t skipped;
  int columns; /* of an instruction */
  bool shared[2];       /* the operand is in shared memory, as */
  dot_matrix matrix[2];
} dot_tiling;

/* Errors: INTERNAL with what does not divide. */
llrt_status plan_dot_tiling(const plan_kernel *kernel, const plan_step *step, dot_tiling *out);

/* What the step's products leave out (dot_tiling.leaves). */
void plan_dot_left(const plan_kernel *kernel, const plan_step *step, plan_foreign *out);

/* The step executed: out = with + the sum, of exact products, rounded once. values: as in scan_eval.h. */
llrt_status plan_eval_dot(const plan_kernel *kernel, const plan_step *step, uint64_t *const *values);
llrt_status plan_verify_dot(const plan_kernel *kernel, int at);
void plan_cost_dot(const plan_kernel *kernel, const plan_step *step, plan_cost *cost);

#endif
