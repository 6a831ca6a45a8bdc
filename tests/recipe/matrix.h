/* What engines do to matrices of bytes at load, step by step, for tests of recipes. Every function
 * returns memory for free(). */
#ifndef LLRT_TESTS_RECIPE_MATRIX_H
#define LLRT_TESTS_RECIPE_MATRIX_H

#include <stdint.h>

typedef struct matrix {
  int rows, columns; /* columns in bytes */
  uint8_t *byte;
} matrix;

/* Rows r0 .. r1 - 1 and columns c0 .. c1 - 1 of bytes [.., columns], in a matrix of zeros. */
matrix matrix_cut(const uint8_t *bytes, int columns, int r0, int r1, int c0, int c1, int rows,
                  int padded);

/* Every two rows change places: vLLM's swap_every_two_rows. */
void matrix_swap_pairs(matrix *m);

/* FlashInfer's shuffle_matrix_a with an epilogue tile of 128: row r of 32 goes to 8 (r % 4) + r
 * / 4.
 */
void matrix_shuffle_32(matrix *m);

/* Scales as 128x4, by the formula of cuBLAS's documentation; rows and columns are whole tiles. */
void matrix_scale_128x4(matrix *m);

/* triton_kernels' HopperMXValueLayout.swizzle_data, mma 3: views, permute, _pack_bits. */
void matrix_hopper_values(matrix *m);

/* HopperMXScaleLayout.swizzle_data. */
void matrix_hopper_scales(matrix *m, int warps);

#endif
