#include "tests/recipe/marlin.h"

#include <stdlib.h>
#include <string.h>

static const int interleave[8] = {0, 2, 4, 6, 1, 3, 5, 7};

/* get_weight_perm: 1024 positions of a 16 x 64 tile that was laid out as four tiles of 16 x 16. */
static void weight_permutation(int *permutation) {
  int n = 0, plain[1024];
  for (int i = 0; i < 32; i++) {
    int first[8], m = 0, column = i / 4;
    for (int block = 0; block < 2; block++) {
      int rows[4] = {2 * (i % 4), 2 * (i % 4) + 1, 2 * (i % 4 + 4), 2 * (i % 4 + 4) + 1};
      for (int r = 0; r < 4; r++) first[m++] = 16 * rows[r] + column + 8 * block;
    }
    for (int j = 0; j < 4; j++)
      for (int p = 0; p < 8; p++) plain[n++] = first[p] + 256 * j;
  }
  for (int i = 0; i < 1024; i++) permutation[i] = plain[i / 8 * 8 + interleave[i % 8]];
}

void marlin_weights(const uint8_t *codes, int k, int n, uint32_t *words) {
  int permutation[1024];
  uint8_t *tiles = malloc((size_t)k * n), *row = malloc((size_t)16 * n);
  weight_permutation(permutation);
  for (int i = 0; i < k; i++) /* [k/16, 16, n/16, 16] -> [k/16, n/16, 16, 16] */
    for (int j = 0; j < n; j++)
      tiles[((i / 16 * (n / 16) + j / 16) * 16 + i % 16) * 16 + j % 16] = codes[i * n + j];
  for (int i = 0; i < k / 16; i++) {
    for (int j = 0; j < 16 * n; j++)
      row[j] = tiles[i * 16 * n + j / 1024 * 1024 + permutation[j % 1024]];
    for (int j = 0; j < 2 * n; j++) {
      uint32_t word = 0;
      for (int b = 0; b < 8; b++) word |= (uint32_t)row[8 * j + b] << 4 * b;
      words[i * 2 * n + j] = word;
    }
  }
  free(tiles);
  free(row);
}

void marlin_scales(const uint16_t *scales, int g, int n, uint16_t *out) {
  int permutation[64], count = 0;
  static const int singles[8] = {0, 1, 8, 9, 16, 17, 24, 25};
  if (g > 1)
    for (int i = 0; i < 8; i++)
      for (int j = 0; j < 8; j++) permutation[count++] = i + 8 * j;
  else
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 8; j++) permutation[count++] = 2 * i + singles[j];
  for (int i = 0; i < g * n; i++) out[i] = scales[i / count * count + permutation[i % count]];
}

void marlin_zeros(const uint8_t *zeros, int g, int n, uint32_t *words) {
  uint8_t *permuted = malloc((size_t)g * n);
  for (int i = 0; i < g * n; i++) permuted[i] = zeros[i / 64 * 64 + i % 64 / 8 + 8 * (i % 8)];
  for (int i = 0; i < g * n / 8; i++) {
    words[i] = 0;
    for (int b = 0; b < 8; b++) words[i] |= (uint32_t)permuted[8 * i + interleave[b]] << 4 * b;
  }
  free(permuted);
}
