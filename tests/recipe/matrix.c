#include "tests/recipe/matrix.h"

#include <stdlib.h>
#include <string.h>

matrix matrix_cut(const uint8_t *bytes, int columns, int r0, int r1, int c0, int c1, int rows,
                  int padded) {
  matrix m = {rows, padded, calloc((size_t)rows * padded + 1, 1)};
  for (int r = r0; r < r1; r++)
    memcpy(m.byte + (r - r0) * padded, bytes + r * columns + c0, (size_t)(c1 - c0));
  return m;
}

/* The rows in another order: row `from(r)` comes to r. */
static void take_rows(matrix *m, int (*from)(int)) {
  uint8_t *taken = malloc((size_t)m->rows * m->columns + 1);
  for (int r = 0; r < m->rows; r++)
    memcpy(taken + r * m->columns, m->byte + from(r) * m->columns, (size_t)m->columns);
  free(m->byte);
  m->byte = taken;
}

static int other_of_pair(int row) { return row ^ 1; }

void matrix_swap_pairs(matrix *m) { take_rows(m, other_of_pair); }

static int row_before_shuffle(int row) {
  for (int old = 0; old < 32; old++)
    if (8 * (old % 4) + old / 4 == row % 32) return row / 32 * 32 + old;
  return -1;
}

void matrix_shuffle_32(matrix *m) { take_rows(m, row_before_shuffle); }

void matrix_scale_128x4(matrix *m) {
  uint8_t *out = malloc((size_t)m->rows * m->columns + 1);
  for (int r = 0; r < m->rows; r++)
    for (int c = 0; c < m->columns; c++) {
      int tile = r / 128 * (m->columns / 4) + c / 4;
      out[tile * 512 + r % 32 * 16 + r % 128 / 32 * 4 + c % 4] = m->byte[r * m->columns + c];
    }
  free(m->byte);
  m->byte = out;
}

/* ---- Triton's Hopper orders ---- */

static uint32_t compress(uint32_t x) { return (x & 8) << 12 | (x & 7) << 6; }

static uint32_t compress_fourth(uint32_t x) { return (x & 8) << 11 | (x & 6) << 9 | (x & 1) << 13; }

/* _pack_bits: four bytes, two values each, in a word. */
static void pack_bits(uint8_t *byte) {
  uint32_t word = 0;
  for (int half = 0; half < 2; half++) {
    word |= compress(byte[0] >> 4 * half & 15) << 16 * half;
    word |= compress(byte[1] >> 4 * half & 15) >> 3 << 16 * half;
    word |= compress(byte[2] >> 4 * half & 15) >> 6 << 16 * half;
    word |= compress_fourth(byte[3] >> 4 * half & 15) << 16 * half;
  }
  for (int i = 0; i < 4; i++) byte[i] = (uint8_t)(word >> 8 * i);
}

/* Each axis is cut into rest, k_tile, warp_tile, threads, scott_trick, contig; the result has, the
 * slowest first, rest0 threads0 rest1 scott1 scott0 threads1 contig.. k_tile1 warp1 warp0. */
void matrix_hopper_values(matrix *m) {
  uint8_t *out = malloc((size_t)m->rows * m->columns + 1);
  for (int r = 0; r < m->rows; r++)
    for (int c = 0; c < m->columns; c++) {
      int rest0 = r / 16, warp0 = r / 8 % 2, threads0 = r / 2 % 4, scott0 = r % 2;
      int rest1 = c / 32, tile1 = c / 8 % 4, warp1 = c / 4 % 2, threads1 = c % 4;
      int at = rest0;
      at = at * 4 + threads0;
      at = at * (m->columns / 32) + rest1;
      at = at * 2 + scott0;
      at = at * 4 + threads1;
      at = at * 4 + tile1;
      at = at * 2 + warp1;
      out[at * 2 + warp0] = m->byte[r * m->columns + c];
    }
  for (int i = 0; i < m->rows * m->columns; i += 4) pack_bits(out + i);
  free(m->byte);
  m->byte = out;
}

/* [M / (32 w), 2, w, 2, 8, K / 2, 2], of which the axes 0 2 5 1 4 6 3 follow each other. */
void matrix_hopper_scales(matrix *m, int warps) {
  uint8_t *out = malloc((size_t)m->rows * m->columns + 1);
  for (int r = 0; r < m->rows; r++)
    for (int c = 0; c < m->columns; c++) {
      int axis[7] = {
          r / (32 * warps), r / (16 * warps) % 2, r / 16 % warps, r / 8 % 2, r % 8, c / 2, c % 2};
      int at = axis[0];
      at = at * warps + axis[2];
      at = at * (m->columns / 2) + axis[5];
      at = at * 2 + axis[1];
      at = at * 8 + axis[4];
      at = at * 2 + axis[6];
      out[at * 2 + axis[3]] = m->byte[r * m->columns + c];
    }
  free(m->byte);
  m->byte = out;
}
