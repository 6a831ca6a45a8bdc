/* Marlin's order as vLLM's functions make it, step by step, on codes of one byte each. Written from
 * vllm/model_executor/layers/quantization/utils/marlin_utils_test.py and marlin_utils.py. */
#ifndef LLRT_TESTS_RECIPE_MARLIN_H
#define LLRT_TESTS_RECIPE_MARLIN_H

#include <stdint.h>

/* codes[k][n] -> words[k / 16][2 * n]: marlin_weights with 4 bits. */
void marlin_weights(const uint8_t *codes, int k, int n, uint32_t *words);

/* scales[g][n] -> the same, permuted: marlin_permute_scales. One group: another permutation. */
void marlin_scales(const uint16_t *scales, int g, int n, uint16_t *out);

/* zeros[g][n] -> words[g][n / 8]: marlin_zero_points with 4 bits. */
void marlin_zeros(const uint8_t *zeros, int g, int n, uint32_t *words);

#endif
