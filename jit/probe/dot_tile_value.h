/* Operands and result of a product of tiles as matrices, and the values that memory or the caller
 * has of them. Private to jit/probe. */
#ifndef LLRT_JIT_PROBE_DOT_TILE_VALUE_H
#define LLRT_JIT_PROBE_DOT_TILE_VALUE_H

#include "jit/plan/draft/draft.h"
#include "jit/probe/plan_dot_tile.h"

/* The kernel's tensors. */
enum { TENSOR_A = 0, TENSOR_D = 1, TENSOR_B = 2 };

/* Extents of an operand of A, B, D: bits along its rows and columns, and the kernel's tile bits of
 * both. The tile has m's bits lowest, then n's, then k's. */
typedef struct matrix {
  int tensor, rows, columns, row_bit, column_bit;
} dot_tile_matrix;

/* operand: 0: A, 1: B, 2: D. */
dot_tile_matrix dot_tile_matrix_of(const plan_dot_tile *tile, int operand);

/* An operand's elements, of `type`, as the caller lays them out (tile->layout), else in memory's
 * order, the highest `parts` bits of k counted by iterations. Errors: INVALID_ARGUMENT for a layout
 * of another matrix; UNSUPPORTED for more lanes, warps or registers than there are. */
llrt_status dot_tile_value(const draft *d, const plan_dot_tile *tile, int operand, int parts,
                           llrt_dtype type, plan_value *value);

#endif
