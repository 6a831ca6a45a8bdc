/* Weight repacks against their index formulas (index_formulas.h). */
#include "tests/layout/index_formulas.h"

#include <criterion/criterion.h>

/* Rows of 32 (16) permuted so that an mma's fragment is contiguous, then pairs
 * of nibbles (bytes) split: the steps one after the other. */
static int64_t ft4(int64_t k) {
  int64_t row = k % 2 + (k % 32 / 8) * 2 + (k % 8 / 2) * 8, e = row % 8;
  return k / 32 * 32 + row / 8 * 8 + (e % 2 * 4 + e / 2);
}
static int64_t ft8(int64_t k) {
  int64_t row = k % 2 + (k % 16 / 8) * 2 + (k % 8 / 2) * 4, e = row % 4;
  return k / 16 * 16 + row / 4 * 4 + (e % 2 * 2 + e / 2);
}

static int64_t at_gptq_w4(const int64_t *x, const int64_t *s) {
  int64_t k = x[0], n = x[1], N = s[1];
  return (k / 8 * N + n) * 8 + k % 8;
}
static int64_t at_gptq_w8(const int64_t *x, const int64_t *s) {
  int64_t k = x[0], n = x[1], N = s[1];
  return (k / 4 * N + n) * 4 + k % 4;
}
static int64_t at_awq_w4(const int64_t *x, const int64_t *s) {
  int64_t k = x[0], n = x[1], N = s[1];
  return (k * (N / 8) + n / 8) * 8 + (n % 2 * 4 + n % 8 / 2);
}
static int64_t at_marlin_w4(const int64_t *x, const int64_t *s) {
  int64_t k = x[0], n = x[1], N = s[1];
  return (k / 16 * (N / 64) + n / 64) * 1024 +
         (n % 8 * 128 + k % 8 / 2 * 32 + n % 64 / 16 * 8 + k % 2 * 4 + n % 16 / 8 * 2 + k % 16 / 8);
}
static int64_t at_marlin_w8(const int64_t *x, const int64_t *s) {
  int64_t k = x[0], n = x[1], N = s[1];
  return (k / 16 * (N / 64) + n / 64) * 1024 +
         (n % 8 * 128 + k % 8 / 2 * 32 + n % 64 / 8 * 4 + k % 2 * 2 + k % 16 / 8);
}
static int64_t at_machete_w4(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], N = s[0], k = x[1];
  return (k / 64 * (N / 128) + n / 128) * 8192 +
         (n % 128 / 16 * 1024 + n % 8 * 128 + k % 8 / 2 * 32 + k % 64 / 16 * 8 + k % 2 * 4 +
          k % 16 / 8 * 2 + n % 16 / 8);
}
/* A thread's values one after the other, as the TiledMma of 16-bit (8-bit) elements hands them out:
 * thread t of a warp has row t / 4 and columns 2 (4) times t % 4; then k in steps of 16 (32). */
static int64_t at_machete_w8(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], N = s[0], k = x[1];
  int64_t thread = n % 128 / 16 * 32 + n % 8 * 4 + k % 8 / 2;
  int64_t value = k % 64 / 16 * 8 + k % 16 / 8 * 4 + n % 16 / 8 * 2 + k % 2;
  return (k / 64 * (N / 128) + n / 128) * 8192 + thread * 32 + value;
}
static int64_t at_machete_w8_1wg(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], N = s[0], k = x[1];
  int64_t thread = n % 64 / 16 * 32 + n % 8 * 4 + k % 8 / 2;
  int64_t fragment = k % 16 / 8 * 4 + n % 16 / 8 * 2 + k % 2;
  return (k / 64 * (N / 128) + n / 128) * 8192 + thread * 64 +
         (k % 64 / 16 * 2 + n % 128 / 64) * 8 + fragment;
}
static int64_t at_machete_mma8(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], N = s[0], k = x[1];
  int64_t thread = n % 128 / 16 * 32 + n % 8 * 4 + k % 16 / 4;
  int64_t value = k % 64 / 32 * 16 + k % 32 / 16 * 8 + n % 16 / 8 * 4 + k % 4;
  return (k / 64 * (N / 128) + n / 128) * 8192 + thread * 32 + value;
}
static int64_t at_machete_mma8_1wg(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], N = s[0], k = x[1];
  int64_t thread = n % 64 / 16 * 32 + n % 8 * 4 + k % 16 / 4;
  int64_t fragment = k % 32 / 16 * 8 + n % 16 / 8 * 4 + k % 4;
  return (k / 64 * (N / 128) + n / 128) * 8192 + thread * 64 +
         (k % 64 / 32 * 2 + n % 128 / 64) * 16 + fragment;
}
static int64_t at_cutlass_atom_int4(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], M = s[0], k = x[1];
  return (k / 16 * (M / 16) + m / 16) * 256 + m % 8 * 32 + k % 8 / 2 * 8 + k % 2 * 4 +
         k % 16 / 8 * 2 + m % 16 / 8;
}
static int64_t at_ft_columns_w4(const int64_t *x, const int64_t *s) {
  int64_t k = x[0], K = s[0], n = x[1];
  return (n / 4 * (K / 64) + k / 64) * 256 + n % 4 * 64 + k % 64;
}
static int64_t at_ft_columns_w8(const int64_t *x, const int64_t *s) {
  int64_t k = x[0], K = s[0], n = x[1];
  return (n / 2 * (K / 64) + k / 64) * 128 + n % 2 * 64 + k % 64;
}
static int64_t at_ft_w4(const int64_t *x, const int64_t *s) {
  int64_t k = x[0], K = s[0], n = x[1];
  return (n / 4 * (K / 64) + k / 64) * 256 + n % 4 * 64 + ft4(k % 64);
}
static int64_t at_ft_w8(const int64_t *x, const int64_t *s) {
  int64_t k = x[0], K = s[0], n = x[1];
  return (n / 2 * (K / 64) + k / 64) * 128 + n % 2 * 64 + ft8(k % 64);
}
/* The packing kernel's steps: bytes 0 to 7 hold a value each; both halves of four bytes are ORed
 * with themselves shifted down by 12 bits; then bytes 0, 4, 1, 5 of the two make the word. */
static int64_t at_turbomind_w4(const int64_t *x, const int64_t *s) {
  (void)s;
  uint64_t bytes = UINT64_C(0xF) << x[0] % 8 * 8;
  uint32_t low = (uint32_t)bytes, high = (uint32_t)(bytes >> 32);
  low |= low >> 12;
  high |= high >> 12;
  uint32_t word =
      (low & 0xFF) | (high & 0xFF) << 8 | (low >> 8 & 0xFF) << 16 | (high >> 8 & 0xFF) << 24;
  int64_t nibble = 0;
  while (word >> 4 * nibble != 0xF) nibble++;
  return x[0] / 8 * 8 + nibble;
}
static int64_t at_shuffle_matrix_a_16(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], k = x[1], K = s[1];
  return (m / 16 * 16 + m % 16 / 2 + m % 2 * 8) * K + k;
}
static int64_t at_shuffle_matrix_a_32(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], k = x[1], K = s[1];
  return (m / 32 * 32 + m % 32 / 4 + m % 4 * 8) * K + k;
}
static int64_t at_w31(const int64_t *x, const int64_t *s) {
  int64_t g = x[0], i = x[1], I = s[1], k = x[2], K = s[2];
  return ((1 - g) * I + i) * K + k;
}
static int64_t at_w31_rows(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], half = s[0] / 2, k = x[1], K = s[1];
  return (r < half ? r + half : r - half) * K + k;
}
static int64_t at_high_nibble_first(const int64_t *x, const int64_t *s) {
  int64_t k = x[1], K = s[1]; /* of a byte, (even << 4) | odd */
  return (x[0] * K + k) / 2 * 2 + (k % 2 == 0);
}
static int64_t at_gated_rows(const int64_t *x, const int64_t *s) {
  int64_t g = x[0], i = x[1], k = x[2], K = s[2];
  return (2 * i + g) * K + k;
}
static int64_t at_deepgemm_gate_up(const int64_t *x, const int64_t *s) {
  int64_t g = x[0], i = x[1], k = x[2], K = s[2];
  return ((i / 8 * 2 + g) * 8 + i % 8) * K + k;
}
static int64_t at_block_major_k(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], M = s[0], k = x[1];
  return (k / 128 * M + m) * 128 + k % 128;
}
static int64_t at_hopper_value_mma3(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], b = x[1], B = s[1];
  return (((m / 16 * 4 + m % 8 / 2) * (UP(B, 64) / 32) + b / 32) * 2 + m % 2) * 64 + b % 4 * 16 +
         b % 32 / 8 * 4 + b % 8 / 4 * 2 + m % 16 / 8;
}
static int64_t at_hopper_value_w4(const int64_t *x, const int64_t *s) {
  const int64_t bytes[2] = {x[0], x[1] / 2}, shape[2] = {s[0], s[1] / 2};
  return 2 * at_hopper_value_mma3(bytes, shape) + x[1] % 2;
}
static int64_t at_hopper_value_mma2(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], b = x[1], B = s[1];
  return (((m / 16 * 4 + m % 8 / 2) * (UP(B, 64) / 32) + b / 32) * 2 + m % 2) * 64 +
         b % 16 / 4 * 16 + b % 32 / 16 * 8 + m % 16 / 8 * 4 + b % 4;
}
static int64_t at_blackwell_mx4(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], N = s[0], b = x[1];
  return ((b / 64 * (UP(N, 256) / 256) + n / 256) * 256 + n % 256) * 64 + b % 64;
}
static int64_t at_aiter_16x16_element_bits_16(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], k = x[1], K = s[1];
  return ((n / 16 * (K / 32) + k / 32) * 4 + k % 32 / 8) * 128 + n % 16 * 8 + k % 8;
}
static int64_t at_aiter_16x16_element_bits_8(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], k = x[1], K = s[1];
  return ((n / 16 * (K / 64) + k / 64) * 4 + k % 64 / 16) * 256 + n % 16 * 16 + k % 16;
}
static int64_t at_hipblaslt_col16_4r8(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], R = s[0], c = x[1];
  return (c / 16 * (R / 32) + r / 32) * 512 + r % 8 + 8 * (c % 16) + r % 32 / 8 * 128;
}
static int64_t at_hipblaslt_col16_4r16(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], R = s[0], c = x[1];
  return (c / 16 * (R / 64) + r / 64) * 1024 + r % 16 + 16 * (c % 16) + r % 64 / 16 * 256;
}
static int64_t at_hipblaslt_col16_4r32(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], R = s[0], c = x[1];
  return (c / 16 * (R / 128) + r / 128) * 2048 + r % 32 + 32 * (c % 16) + r % 128 / 32 * 512;
}
static int64_t at_aiter_guinterleave(const int64_t *x, const int64_t *s) {
  int64_t g = x[0], n = x[1], b = x[2], B = s[2];
  return ((((n / 16 * 2 + g) * (B / 64) + b / 64) * 4 + b % 64 / 16) * 16 + n % 16) * 16 + b % 16;
}
static int64_t at_aiter_gfx1250_weight(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], b = x[1], B = s[1];
  return ((n / 16 * (B / 16) + b / 16) * 16 + n % 16) * 16 + b % 16;
}
static int64_t at_aiter_gfx1250_a(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], b = x[1], B = s[1];
  return ((m / 2 * (B / 128) + b / 128) * 2 + m % 2) * 128 + b % 128;
}
static int64_t at_ggml_q4_0x4_il4(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], q = x[1], Q = s[1], b = x[2];
  return (r / 4 * Q + q) * 72 + 8 + b / 4 * 16 + r % 4 * 4 + b % 4;
}
static int64_t at_ggml_q4_0x4_il8(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], q = x[1], Q = s[1], b = x[2];
  return (r / 4 * Q + q) * 72 + 8 + b / 8 * 32 + r % 4 * 8 + b % 8;
}
static int64_t at_ggml_q4_0x8_il8(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], q = x[1], Q = s[1], b = x[2];
  return (r / 8 * Q + q) * 144 + 16 + b / 8 * 64 + r % 8 * 8 + b % 8;
}
static int64_t at_ggml_q4_0x16_il1(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], q = x[1], Q = s[1], b = x[2];
  return (r / 16 * Q + q) * 288 + 32 + b * 16 + r % 16;
}
static int64_t at_ggml_mxfp4x4_il4(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], q = x[1], Q = s[1], b = x[2];
  return (r / 4 * Q + q) * 68 + 4 + (b / 4 * 4 + r % 4) * 4 + b % 4;
}
static int64_t at_ggml_mxfp4x8_il8(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], q = x[1], Q = s[1], b = x[2];
  return (r / 8 * Q + q) * 136 + 8 + (b / 8 * 8 + r % 8) * 8 + b % 8;
}
static int64_t at_ggml_q8_0x4_il4(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], q = x[1], Q = s[1], b = x[2];
  return (r / 4 * Q + q) * 136 + 8 + (b / 4 * 4 + r % 4) * 4 + b % 4;
}
static int64_t at_ggml_q8_0x4_il8(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], q = x[1], Q = s[1], b = x[2];
  return (r / 4 * Q + q) * 136 + 8 + (b / 8 * 4 + r % 4) * 8 + b % 8;
}
static int64_t at_ggml_q8_0x16_il1(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], q = x[1], Q = s[1], b = x[2];
  return (r / 16 * Q + q) * 544 + 32 + b * 16 + r % 16;
}
static int64_t at_gguf_q4_0(const int64_t *x, const int64_t *s) {
  (void)s;
  int64_t k = x[0];
  return k / 32 * 32 + k % 16 * 2 + k % 32 / 16;
}
static int64_t at_mxfp4(const int64_t *x, const int64_t *s) {
  (void)s;
  int64_t k = x[0];
  return k;
}

static const index_formula rows[] = {
    {"gptq_w4", 2, {24, 10}, at_gptq_w4},
    {"gptq_w8", 2, {24, 10}, at_gptq_w8},
    {"awq_w4", 2, {5, 40}, at_awq_w4},
    {"marlin_w4", 2, {48, 192}, at_marlin_w4},
    {"marlin_w8", 2, {48, 192}, at_marlin_w8},
    {"machete_w4", 2, {256, 192}, at_machete_w4},
    {"machete_w8", 2, {256, 192}, at_machete_w8},
    {"machete_w8_1wg", 2, {256, 192}, at_machete_w8_1wg},
    {"machete_mma8", 2, {256, 192}, at_machete_mma8},
    {"machete_mma8_1wg", 2, {256, 192}, at_machete_mma8_1wg},
    {"cutlass_atom_int4", 2, {48, 32}, at_cutlass_atom_int4},
    {"ft_columns_w4", 2, {192, 12}, at_ft_columns_w4},
    {"ft_columns_w8", 2, {192, 12}, at_ft_columns_w8},
    {"ft_w4", 2, {192, 24}, at_ft_w4},
    {"ft_w8", 2, {192, 24}, at_ft_w8},
    {"turbomind_w4", 1, {40}, at_turbomind_w4},
    {"shuffle_matrix_a_16", 2, {48, 7}, at_shuffle_matrix_a_16},
    {"shuffle_matrix_a_32", 2, {96, 7}, at_shuffle_matrix_a_32},
    {"w31", 3, {2, 45, 7}, at_w31},
    {"w31_rows(half=45)", 2, {90, 7}, at_w31_rows},
    {"bitsandbytes_w4", 2, {5, 14}, at_high_nibble_first},
    {"torchao_w4", 2, {5, 14}, at_high_nibble_first},
    {"gated_rows", 3, {2, 45, 7}, at_gated_rows},
    {"deepgemm_gate_up", 3, {2, 40, 7}, at_deepgemm_gate_up},
    {"block_major_k", 2, {5, 384}, at_block_major_k},
    {"hopper_value_mma3", 2, {300, 70}, at_hopper_value_mma3},
    {"hopper_value_w4", 2, {300, 140}, at_hopper_value_w4},
    {"hopper_value_mma2", 2, {300, 70}, at_hopper_value_mma2},
    {"blackwell_mx4", 2, {300, 150}, at_blackwell_mx4},
    {"aiter_16x16(element_bits=16)", 2, {48, 96}, at_aiter_16x16_element_bits_16},
    {"aiter_16x16(element_bits=8)", 2, {48, 192}, at_aiter_16x16_element_bits_8},
    {"hipblaslt_col16_4r8", 2, {96, 48}, at_hipblaslt_col16_4r8},
    {"hipblaslt_col16_4r16", 2, {192, 48}, at_hipblaslt_col16_4r16},
    {"hipblaslt_col16_4r32", 2, {256, 48}, at_hipblaslt_col16_4r32},
    {"aiter_guinterleave", 3, {2, 48, 192}, at_aiter_guinterleave},
    {"aiter_gfx1250_weight", 2, {48, 96}, at_aiter_gfx1250_weight},
    {"aiter_gfx1250_a", 2, {6, 384}, at_aiter_gfx1250_a},
    {"ggml_q4_0x4_il4", 3, {8, 3, 16}, at_ggml_q4_0x4_il4},
    {"ggml_q4_0x4_il8", 3, {8, 3, 16}, at_ggml_q4_0x4_il8},
    {"ggml_q4_0x8_il8", 3, {16, 3, 16}, at_ggml_q4_0x8_il8},
    {"ggml_q4_0x16_il1", 3, {32, 3, 16}, at_ggml_q4_0x16_il1},
    {"ggml_mxfp4x4_il4", 3, {8, 3, 16}, at_ggml_mxfp4x4_il4},
    {"ggml_mxfp4x8_il8", 3, {16, 3, 16}, at_ggml_mxfp4x8_il8},
    {"ggml_q8_0x4_il4", 3, {8, 3, 32}, at_ggml_q8_0x4_il4},
    {"ggml_q8_0x4_il8", 3, {8, 3, 32}, at_ggml_q8_0x4_il8},
    {"ggml_q8_0x16_il1", 3, {32, 3, 32}, at_ggml_q8_0x16_il1},
    {"gguf_q4_0", 1, {96}, at_gguf_q4_0},
    {"mxfp4", 1, {96}, at_mxfp4},
};

Test(named, weight_formulas) { expect_index_formulas(rows, sizeof rows / sizeof rows[0]); }
