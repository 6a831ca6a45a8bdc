/* Named storages against their index formulas, at shapes that are no powers of
 * two and need pads. The formulas are those of the libraries that define the
 * layouts, written for this test alone: x are the coordinates, capital letters
 * the extents. */
#include "tests/layout/layout_text.h"

#include <llrt/storage_named.h>

#include <criterion/criterion.h>
#include <string.h>

#define UP(n, multiple) (((n) + (multiple)-1) / (multiple) * (multiple))

/* Three bits with the lower two exchanged. */
static int64_t swap01(int64_t x) { return (x & 4) | (x & 1) << 1 | (x >> 1 & 1); }

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

static int64_t at_nhwc(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], c = x[1], C = s[1], h = x[2], H = s[2], w = x[3], W = s[3];
  return ((n * H + h) * W + w) * C + c;
}
static int64_t at_trt_chw2(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], c = x[1], C = s[1], h = x[2], H = s[2], w = x[3], W = s[3];
  return (((n * (C / 2) + c / 2) * H + h) * W + w) * 2 + c % 2;
}
static int64_t at_trt_chw4(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], c = x[1], C = s[1], h = x[2], H = s[2], w = x[3], W = s[3];
  return (((n * (C / 4) + c / 4) * H + h) * W + w) * 4 + c % 4;
}
static int64_t at_trt_chw16(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], c = x[1], C = s[1], h = x[2], H = s[2], w = x[3], W = s[3];
  return (((n * (C / 16) + c / 16) * H + h) * W + w) * 16 + c % 16;
}
static int64_t at_trt_chw32(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], c = x[1], C = s[1], h = x[2], H = s[2], w = x[3], W = s[3];
  return (((n * (C / 32) + c / 32) * H + h) * W + w) * 32 + c % 32;
}
static int64_t at_trt_hwc8(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], c = x[1], C = s[1], h = x[2], H = s[2], w = x[3], W = s[3];
  return ((n * H + h) * W + w) * UP(C, 8) + c;
}
static int64_t at_trt_hwc16(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], c = x[1], C = s[1], h = x[2], H = s[2], w = x[3], W = s[3];
  return ((n * H + h) * W + w) * UP(C, 16) + c;
}
static int64_t at_trt_dhwc8(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], c = x[1], C = s[1], d = x[2], D = s[2], h = x[3], H = s[3], w = x[4], W = s[4];
  return (((n * D + d) * H + h) * W + w) * UP(C, 8) + c;
}
static int64_t at_trt_dla_linear_element_bits_16(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], c = x[1], C = s[1], h = x[2], H = s[2], w = x[3], W = s[3];
  return ((n * C + c) * H + h) * UP(W, 32) + w;
}
static int64_t at_onednn_nchw16c(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], c = x[1], C = s[1], h = x[2], H = s[2], w = x[3], W = s[3];
  return (((n * (UP(C, 16) / 16) + c / 16) * H + h) * W + w) * 16 + c % 16;
}
static int64_t at_onednn_oihw16i16o(const int64_t *x, const int64_t *s) {
  int64_t o = x[0], i = x[1], I = s[1], h = x[2], H = s[2], w = x[3], W = s[3];
  return ((((o / 16 * (UP(I, 16) / 16) + i / 16) * H + h) * W + w) * 16 + i % 16) * 16 + o % 16;
}
static int64_t at_onednn_oihw4i16o4i(const int64_t *x, const int64_t *s) {
  int64_t o = x[0], i = x[1], I = s[1], h = x[2], H = s[2], w = x[3], W = s[3];
  return (((((o / 16 * (UP(I, 16) / 16) + i / 16) * H + h) * W + w) * 4 + i % 16 / 4) * 16 +
          o % 16) *
             4 +
         i % 4;
}
static int64_t at_onednn_ba16a64b2a(const int64_t *x, const int64_t *s) {
  int64_t k = x[0], K = s[0], n = x[1];
  return (((n / 64 * (UP(K, 32) / 32) + k / 32) * 16 + k % 32 / 2) * 64 + n % 64) * 2 + k % 2;
}
static int64_t at_fractal_nz(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], M = s[0], n = x[1];
  return n / 16 * (UP(M, 16) * 16) + m * 16 + n % 16;
}
static int64_t at_fractal_nz_block_32(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], M = s[0], n = x[1];
  return n / 32 * (UP(M, 16) * 32) + m * 32 + n % 32;
}
static int64_t at_col32(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], R = s[0], c = x[1];
  return (c >> 5) * (32 * R) + 32 * r + (c & 31);
}
static int64_t at_col32_ld_512(const int64_t *x, const int64_t *s) {
  (void)s;
  int64_t r = x[0], c = x[1];
  return (c >> 5) * 512 + 32 * r + (c & 31);
}
static int64_t at_col4_4r2_8c(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], R = s[0], c = x[1];
  return (c >> 5) * (UP(R, 8) * 32) + ((((r >> 3) << 3) + ((r & 1) << 2) + ((c & 31) >> 3)) << 5) +
         ((((c & 7) >= 4 ? 4 : 0) + ((r & 7) >> 1)) << 2) + (c & 3);
}
static int64_t at_col32_2r_4r4(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], R = s[0], c = x[1];
  return (c >> 5) * (UP(R, 32) * 32) + ((r >> 5) << 10) +
         (((((((r & 7) >> 1) << 2) + ((r & 31) >> 3)) << 1) + (r & 1)) * 32) + (c & 31);
}
static int64_t at_scale_128x4(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], k = x[1], K = s[1];
  return (m / 128 * (UP(K, 4) / 4) + k / 4) * 512 + m % 128 % 32 * 16 + m % 128 / 32 * 4 + k % 4;
}
static int64_t at_scale_128x4_k_align_8(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], k = x[1], K = s[1];
  return (m / 128 * (UP(K, 8) / 4) + k / 4) * 512 + m % 128 % 32 * 16 + m % 128 / 32 * 4 + k % 4;
}
static int64_t at_scale_8x4(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], k = x[1], K = s[1];
  return (m / 8 * (UP(K, 4) / 4) + k / 4) * 32 + m % 8 * 4 + k % 4;
}
static int64_t at_deepgemm_ue8m0(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], M = s[0], k = x[1];
  return (k / 4 * UP(M, 4) + m) * 4 + k % 4;
}
static int64_t at_deepgemm_utccp(const int64_t *x, const int64_t *s) {
  (void)s;
  int64_t m = x[0];
  return m / 128 * 128 + m % 32 * 4 + m % 128 / 32;
}
static int64_t at_aiter_scale(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], k = x[1], K = s[1];
  return ((((m / 32 * (UP(K, 8) / 8) + k / 8) * 4 + k % 4) * 16 + m % 16) * 2 + k % 8 / 4) * 2 +
         m % 32 / 16;
}
static int64_t at_cdna4_scale(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], k = x[1], K = s[1];
  return ((((m / 32 * (UP(K, 8) / 8) + k / 8) * 4 + k % 4) * 16 + m % 16) * 2 + k % 8 / 4) * 2 +
         m % 32 / 16;
}
static int64_t at_aiter_scale_n32k4(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], k = x[1], K = s[1];
  return ((m / 32 * (UP(K, 4) / 4) + k / 4) * 32 + m % 32) * 4 + k % 4;
}
static int64_t at_aiter_scale_n32k8(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], k = x[1], K = s[1];
  return ((m / 32 * (UP(K, 8) / 8) + k / 8) * 32 + m % 32) * 8 + k % 8;
}
static int64_t at_hopper_scale(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], k = x[1], K = s[1];
  return (((((m / 128 * 4 + m % 64 / 16) * (UP(K, 2) / 2) + k / 2) * 2 + m % 128 / 64) * 8 +
           m % 8) *
              2 +
          k % 2) *
             2 +
         m % 16 / 8;
}
static int64_t at_hopper_scale_num_warps_8(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], k = x[1], K = s[1];
  return (((((m / 256 * 8 + m % 128 / 16) * (UP(K, 2) / 2) + k / 2) * 2 + m % 256 / 128) * 8 +
           m % 8) *
              2 +
          k % 2) *
             2 +
         m % 16 / 8;
}
static int64_t at_flashinfer_sm90_scale(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], k = x[1], K = s[1];
  return ((n / 64 * (K / 4) + k / 4) * 16 + n % 16) * 16 + n % 64 / 16 * 4 + k % 4;
}
static int64_t at_marlin_scales(const int64_t *x, const int64_t *s) {
  int64_t g = x[0], n = x[1], N = s[1];
  return g * N + n / 64 * 64 + n % 8 * 8 + n % 64 / 8;
}
static int64_t at_marlin_nvfp4_scales(const int64_t *x, const int64_t *s) {
  int64_t g = x[0], n = x[1], N = s[1];
  return ((g / 2 * (N / 8) + n / 64 * 8 + n % 8) * 2 + g % 2) * 8 + swap01(n % 64 / 8);
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
  uint32_t word = (low & 0xFF) | (high & 0xFF) << 8 | (low >> 8 & 0xFF) << 16 |
                  (high >> 8 & 0xFF) << 24;
  int64_t nibble = 0;
  while (word >> 4 * nibble != 0xF)
    nibble++;
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
static int64_t at_kv_nhd(const int64_t *x, const int64_t *s) {
  int64_t b = x[0], t = x[1], T = s[1], h = x[2], H = s[2], d = x[3], D = s[3];
  return ((b * T + t) * H + h) * D + d;
}
static int64_t at_kv_hnd(const int64_t *x, const int64_t *s) {
  int64_t b = x[0], t = x[1], T = s[1], h = x[2], H = s[2], d = x[3], D = s[3];
  return ((b * H + h) * T + t) * D + d;
}
static int64_t at_kv_hnd_packed(const int64_t *x, const int64_t *s) {
  int64_t c = x[0], b = x[1], t = x[2], T = s[2], h = x[3], H = s[3], d = x[4], D = s[4];
  return ((b * H + h) * T + t) * 2 * D + c * D + d;
}
static int64_t at_kv_flash_attn(const int64_t *x, const int64_t *s) {
  int64_t c = x[0], b = x[1], B = s[1], t = x[2], T = s[2], h = x[3], H = s[3], d = x[4], D = s[4];
  return (((c * B + b) * T + t) * H + h) * D + d;
}
static int64_t at_kv_flash_attn_hnd(const int64_t *x, const int64_t *s) {
  int64_t c = x[0], b = x[1], B = s[1], t = x[2], T = s[2], h = x[3], H = s[3], d = x[4], D = s[4];
  return (((c * B + b) * H + h) * T + t) * D + d;
}
static int64_t at_kv_flashinfer(const int64_t *x, const int64_t *s) {
  int64_t c = x[0], C = s[0], b = x[1], t = x[2], T = s[2], h = x[3], H = s[3], d = x[4], D = s[4];
  return (((b * C + c) * T + t) * H + h) * D + d;
}
static int64_t at_kv_flashinfer_hnd(const int64_t *x, const int64_t *s) {
  int64_t c = x[0], C = s[0], b = x[1], t = x[2], T = s[2], h = x[3], H = s[3], d = x[4], D = s[4];
  return (((b * C + c) * H + h) * T + t) * D + d;
}
static int64_t at_kv_mla(const int64_t *x, const int64_t *s) {
  int64_t b = x[0], t = x[1], T = s[1], d = x[2];
  return (b * T + t) * 576 + d;
}
static int64_t at_vllm_paged_k(const int64_t *x, const int64_t *s) {
  int64_t b = x[0], t = x[1], T = s[1], h = x[2], H = s[2], d = x[3], D = s[3];
  return (((b * H + h) * (D / 8) + d / 8) * T + t) * 8 + d % 8;
}
static int64_t at_vllm_paged_v(const int64_t *x, const int64_t *s) {
  int64_t b = x[0], t = x[1], T = s[1], h = x[2], H = s[2], d = x[3], D = s[3];
  return ((b * H + h) * D + d) * T + t;
}
static int64_t at_aiter_paged_v(const int64_t *x, const int64_t *s) {
  int64_t b = x[0], t = x[1], T = s[1], h = x[2], H = s[2], d = x[3], D = s[3];
  return (((b * H + h) * (T / 8) + t / 8) * D + d) * 8 + t % 8;
}
static int64_t at_flashmla_fp8(const int64_t *x, const int64_t *s) {
  int64_t b = x[0], t = x[1], T = s[1], d = x[2];
  return (b * T + t) * 656 + d;
}
static int64_t at_flashmla_scale(const int64_t *x, const int64_t *s) {
  int64_t b = x[0], t = x[1], T = s[1], g = x[2];
  return (b * T + t) * 164 + 128 + g;
}
static int64_t at_flashmla_rope(const int64_t *x, const int64_t *s) {
  int64_t b = x[0], t = x[1], T = s[1], d = x[2];
  return (b * T + t) * 328 + 264 + d;
}
/* Blocks of 4 tokens: 576 bytes each, then 8 bytes of scales each, up to a multiple of 576. */
static int64_t at_flashmla_model1_fp8(const int64_t *x, const int64_t *s) {
  (void)s;
  return x[0] * UP(4 * 584, 576) + x[1] * 576 + x[2];
}
static int64_t at_flashmla_model1_rope(const int64_t *x, const int64_t *s) {
  (void)s;
  return (x[0] * UP(4 * 584, 576) + x[1] * 576 + 448) / 2 + x[2];
}
static int64_t at_flashmla_model1_scale(const int64_t *x, const int64_t *s) {
  (void)s;
  return x[0] * UP(4 * 584, 576) + 4 * 576 + x[1] * 8 + x[2];
}
static int64_t at_flashmla_model1_fp8_preset(const int64_t *x, const int64_t *s) {
  (void)s;
  return x[0] * UP(64 * 584, 576) + x[1] * 576 + x[2];
}
static int64_t at_lmcache_nb_nl_two_bs_nh_hs(const int64_t *x, const int64_t *s) {
  int64_t l = x[0], L = s[0], c = x[1], C = s[1], b = x[2], t = x[3], T = s[3], h = x[4], H = s[4],
          d = x[5], D = s[5];
  return ((((b * L + l) * C + c) * T + t) * H + h) * D + d;
}
static int64_t at_lmcache_nb_nl_two_nh_bs_hs(const int64_t *x, const int64_t *s) {
  int64_t l = x[0], L = s[0], c = x[1], C = s[1], b = x[2], t = x[3], T = s[3], h = x[4], H = s[4],
          d = x[5], D = s[5];
  return ((((b * L + l) * C + c) * H + h) * T + t) * D + d;
}
static int64_t at_dynamo_block_nhd(const int64_t *x, const int64_t *s) {
  int64_t l = x[0], c = x[1], C = s[1], h = x[3], H = s[3], t = x[2], T = s[2], d = x[4], D = s[4];
  return (((l * C + c) * T + t) * H + h) * D + d;
}
static int64_t at_dynamo_block_hnd(const int64_t *x, const int64_t *s) {
  int64_t l = x[0], c = x[1], C = s[1], h = x[3], H = s[3], t = x[2], T = s[2], d = x[4], D = s[4];
  return (((l * C + c) * H + h) * T + t) * D + d;
}
static int64_t at_dynamo_universal(const int64_t *x, const int64_t *s) {
  int64_t l = x[0], L = s[0], c = x[1], C = s[1], h = x[3], t = x[2], T = s[2], d = x[4], D = s[4];
  return (((h * L + l) * C + c) * T + t) * D + d;
}
static int64_t at_tma_128b(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], R = s[0], b = x[1];
  return b / 128 * (R * 128) + r * 128 + ((b % 128 / 16) ^ (r % 8)) * 16 + b % 16;
}
static int64_t at_tma_64b(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], R = s[0], b = x[1];
  return b / 64 * (R * 64) + r * 64 + ((b % 64 / 16) ^ (r % 8 / 2)) * 16 + b % 16;
}
static int64_t at_tma_32b(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], R = s[0], b = x[1];
  return b / 32 * (R * 32) + r * 32 + ((b % 32 / 16) ^ (r % 8 / 4)) * 16 + b % 16;
}
static int64_t at_tma_128b_atom_32b(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], R = s[0], b = x[1];
  return b / 128 * (R * 128) + r * 128 + ((b % 128 / 32) ^ (r % 4)) * 32 + b % 32;
}
static int64_t at_mma_m16n8k16_a(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], k = x[1], K = s[1];
  return (m / 16 * (K / 16) + k / 16) * 256 + (m % 8 * 4 + k % 8 / 2) * 8 + k % 16 / 8 * 4 +
         m % 16 / 8 * 2 + k % 2;
}
static int64_t at_mma_m16n8k16_b(const int64_t *x, const int64_t *s) {
  int64_t k = x[0], K = s[0], n = x[1];
  return (n / 8 * (K / 16) + k / 16) * 128 + (n % 8 * 4 + k % 8 / 2) * 4 + k % 16 / 8 * 2 + k % 2;
}
static int64_t at_mma_m16n8_c(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], n = x[1], N = s[1];
  return (m / 16 * (N / 8) + n / 8) * 128 + (m % 8 * 4 + n % 8 / 2) * 4 + m % 16 / 8 * 2 + n % 2;
}
static int64_t at_mma_m16n8k32_a(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], k = x[1], K = s[1];
  return (m / 16 * (K / 32) + k / 32) * 512 + (m % 8 * 4 + k % 16 / 4) * 16 + k % 32 / 16 * 8 +
         m % 16 / 8 * 4 + k % 4;
}
static int64_t at_wgmma_m64_c_cols_24(const int64_t *x, const int64_t *s) {
  (void)s;
  int64_t m = x[0], n = x[1];
  return ((m / 16 * 32 + m % 8 * 4 + n % 8 / 2) * 12) + n / 8 * 4 + m % 16 / 8 * 2 + n % 2;
}
static int64_t at_wgmma_m64k16_a(const int64_t *x, const int64_t *s) {
  int64_t m = x[0], k = x[1], K = s[1];
  return ((m / 64 * (K / 16) + k / 16) * 4 + m % 64 / 16) * 256 + (m % 8 * 4 + k % 8 / 2) * 8 +
         k % 16 / 8 * 4 + m % 16 / 8 * 2 + k % 2;
}
static int64_t at_channels_last(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], c = x[1], C = s[1], h = x[2], H = s[2], w = x[3], W = s[3];
  return ((n * H + h) * W + w) * C + c;
}

static const struct {
  const char *text;
  int rank;
  int64_t shape[6];
  int64_t (*formula)(const int64_t *x, const int64_t *s);
} rows[] = {
    {"nhwc", 4, {1, 6, 3, 5}, at_nhwc},
    {"trt_chw2", 4, {2, 6, 3, 5}, at_trt_chw2},
    {"trt_chw4", 4, {2, 8, 3, 5}, at_trt_chw4},
    {"trt_chw16", 4, {2, 32, 3, 5}, at_trt_chw16},
    {"trt_chw32", 4, {2, 64, 3, 5}, at_trt_chw32},
    {"trt_hwc8", 4, {2, 13, 3, 5}, at_trt_hwc8},
    {"trt_hwc16", 4, {2, 13, 3, 5}, at_trt_hwc16},
    {"trt_dhwc8", 5, {2, 13, 2, 3, 5}, at_trt_dhwc8},
    {"trt_dla_linear(element_bits=16)", 4, {2, 3, 3, 45}, at_trt_dla_linear_element_bits_16},
    {"onednn_nchw16c", 4, {2, 21, 3, 5}, at_onednn_nchw16c},
    {"onednn_oihw16i16o", 4, {21, 18, 3, 2}, at_onednn_oihw16i16o},
    {"onednn_oihw4i16o4i", 4, {21, 18, 3, 2}, at_onednn_oihw4i16o4i},
    {"onednn_ba16a64b2a", 2, {50, 100}, at_onednn_ba16a64b2a},
    {"fractal_nz", 2, {20, 37}, at_fractal_nz},
    {"fractal_nz(block=32)", 2, {20, 37}, at_fractal_nz_block_32},
    {"col32", 2, {5, 70}, at_col32},
    {"col32(ld=512)", 2, {5, 70}, at_col32_ld_512},
    {"col4_4r2_8c", 2, {21, 70}, at_col4_4r2_8c},
    {"col32_2r_4r4", 2, {70, 70}, at_col32_2r_4r4},
    {"scale_128x4", 2, {200, 10}, at_scale_128x4},
    {"scale_128x4(k_align=8)", 2, {200, 10}, at_scale_128x4_k_align_8},
    {"scale_8x4", 2, {21, 10}, at_scale_8x4},
    {"deepgemm_ue8m0", 2, {21, 10}, at_deepgemm_ue8m0},
    {"deepgemm_utccp", 1, {256}, at_deepgemm_utccp},
    {"aiter_scale", 2, {300, 20}, at_aiter_scale},
    {"cdna4_scale", 2, {70, 20}, at_cdna4_scale},
    {"aiter_scale_n32k4", 2, {70, 18}, at_aiter_scale_n32k4},
    {"aiter_scale_n32k8", 2, {70, 18}, at_aiter_scale_n32k8},
    {"hopper_scale", 2, {300, 7}, at_hopper_scale},
    {"hopper_scale(num_warps=8)", 2, {300, 7}, at_hopper_scale_num_warps_8},
    {"flashinfer_sm90_scale", 2, {128, 12}, at_flashinfer_sm90_scale},
    {"marlin_scales", 2, {3, 128}, at_marlin_scales},
    {"marlin_nvfp4_scales", 2, {6, 128}, at_marlin_nvfp4_scales},
    {"gptq_w4", 2, {24, 10}, at_gptq_w4},
    {"gptq_w8", 2, {24, 10}, at_gptq_w8},
    {"awq_w4", 2, {5, 40}, at_awq_w4},
    {"marlin_w4", 2, {48, 192}, at_marlin_w4},
    {"marlin_w8", 2, {48, 192}, at_marlin_w8},
    {"machete_w4", 2, {256, 192}, at_machete_w4},
    {"cutlass_atom_int4", 2, {48, 32}, at_cutlass_atom_int4},
    {"ft_columns_w4", 2, {192, 12}, at_ft_columns_w4},
    {"ft_columns_w8", 2, {192, 12}, at_ft_columns_w8},
    {"ft_w4", 2, {192, 24}, at_ft_w4},
    {"ft_w8", 2, {192, 24}, at_ft_w8},
    {"turbomind_w4", 1, {40}, at_turbomind_w4},
    {"shuffle_matrix_a_16", 2, {48, 7}, at_shuffle_matrix_a_16},
    {"shuffle_matrix_a_32", 2, {96, 7}, at_shuffle_matrix_a_32},
    {"gated_rows", 3, {2, 45, 7}, at_gated_rows},
    {"deepgemm_gate_up", 3, {2, 40, 7}, at_deepgemm_gate_up},
    {"block_major_k", 2, {5, 384}, at_block_major_k},
    {"hopper_value_mma3", 2, {300, 70}, at_hopper_value_mma3},
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
    {"kv_nhd", 4, {3, 7, 5, 6}, at_kv_nhd},
    {"kv_hnd", 4, {3, 7, 5, 6}, at_kv_hnd},
    {"kv_hnd_packed", 5, {2, 3, 7, 5, 6}, at_kv_hnd_packed},
    {"kv_flash_attn", 5, {2, 3, 7, 5, 6}, at_kv_flash_attn},
    {"kv_flash_attn_hnd", 5, {2, 3, 7, 5, 6}, at_kv_flash_attn_hnd},
    {"kv_flashinfer", 5, {2, 3, 7, 5, 6}, at_kv_flashinfer},
    {"kv_flashinfer_hnd", 5, {2, 3, 7, 5, 6}, at_kv_flashinfer_hnd},
    {"kv_mla", 3, {3, 7, 576}, at_kv_mla},
    {"vllm_paged_k", 4, {3, 7, 5, 24}, at_vllm_paged_k},
    {"vllm_paged_v", 4, {3, 7, 5, 24}, at_vllm_paged_v},
    {"aiter_paged_v", 4, {3, 16, 5, 6}, at_aiter_paged_v},
    {"flashmla_fp8", 3, {3, 7, 512}, at_flashmla_fp8},
    {"flashmla_scale", 3, {3, 7, 4}, at_flashmla_scale},
    {"flashmla_rope", 3, {3, 7, 64}, at_flashmla_rope},
    {"flashmla_model1_fp8(block=4, record=2880)", 3, {3, 4, 448}, at_flashmla_model1_fp8},
    {"flashmla_model1_rope(block=4, record=2880)", 3, {3, 4, 64}, at_flashmla_model1_rope},
    {"flashmla_model1_scale(block=4, record=2880)", 3, {3, 4, 7}, at_flashmla_model1_scale},
    {"flashmla_model1_fp8", 3, {2, 64, 448}, at_flashmla_model1_fp8_preset},
    {"lmcache_nb_nl_two_bs_nh_hs", 6, {3, 2, 2, 4, 2, 5}, at_lmcache_nb_nl_two_bs_nh_hs},
    {"lmcache_nb_nl_two_nh_bs_hs", 6, {3, 2, 2, 4, 2, 5}, at_lmcache_nb_nl_two_nh_bs_hs},
    {"dynamo_block_nhd", 5, {3, 2, 2, 4, 5}, at_dynamo_block_nhd},
    {"dynamo_block_hnd", 5, {3, 2, 2, 4, 5}, at_dynamo_block_hnd},
    {"dynamo_universal", 5, {3, 2, 2, 4, 5}, at_dynamo_universal},
    {"tma_128b", 2, {24, 256}, at_tma_128b},
    {"tma_64b", 2, {24, 128}, at_tma_64b},
    {"tma_32b", 2, {24, 64}, at_tma_32b},
    {"tma_128b_atom_32b", 2, {24, 256}, at_tma_128b_atom_32b},
    {"mma_m16n8k16_a", 2, {32, 48}, at_mma_m16n8k16_a},
    {"mma_m16n8k16_b", 2, {48, 24}, at_mma_m16n8k16_b},
    {"mma_m16n8_c", 2, {32, 24}, at_mma_m16n8_c},
    {"mma_m16n8k32_a", 2, {32, 96}, at_mma_m16n8k32_a},
    {"wgmma_m64_c(cols=24)", 2, {64, 24}, at_wgmma_m64_c_cols_24},
    {"wgmma_m64k16_a", 2, {128, 48}, at_wgmma_m64k16_a},
    {"channels_last", 4, {2, 6, 3, 5}, at_channels_last},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

Test(named, index_formulas) {
  for (int i = 0; i < N_ROWS; i++) {
    const int64_t *shape = rows[i].shape;
    int64_t x[LLRT_MAX_RANK] = {0}, n = 1;
    llrt_storage storage;
    llrt_storage_binding binding;
    cr_assert(llrt_storage_parse(rows[i].text, rows[i].rank, shape, &storage) == LLRT_OK, "%s: %s",
              rows[i].text, llrt_last_error());
    cr_assert(llrt_storage_bind(&storage, rows[i].rank, shape, NULL, &binding) == LLRT_OK, "%s: %s",
              rows[i].text, llrt_last_error());
    for (int axis = 0; axis < rows[i].rank; axis++)
      n *= shape[axis];
    for (int64_t e = 0; e < n; e++) {
      int64_t offset = llrt_storage_offset(&storage, &binding, x);
      if (offset != rows[i].formula(x, shape) || offset >= binding.span) {
        cr_expect(false, "%s: element %lld lies at %lld, not %lld", rows[i].text, (long long)e,
                  (long long)offset, (long long)rows[i].formula(x, shape));
        break;
      }
      for (int axis = rows[i].rank - 1; axis >= 0 && ++x[axis] == shape[axis]; axis--)
        x[axis] = 0;
    }
  }
}

/* Every entry of the table makes a storage that prints, parses back to an equal
 * one and hashes alike. */
Test(named, all_entries) {
  for (int i = 0; i < llrt_storage_named_count(); i++) {
    const llrt_named_storage *entry = llrt_storage_named_at(i);
    if (!entry->formula)
      continue;
    llrt_named_argument arguments[LLRT_NAMED_MAX_PARAMS];
    int n = 0;
    for (int k = 0; k < LLRT_NAMED_MAX_PARAMS && entry->param[k].name; k++)
      if (entry->param[k].preset < 0)
        arguments[n++] = (llrt_named_argument){entry->param[k].name, 16};
    llrt_storage storage, batched, back;
    char text[4096];
    cr_assert(llrt_storage_named(entry->name, 0, NULL, arguments, n, &storage) == LLRT_OK, "%s: %s",
              entry->name, llrt_last_error());
    if (storage.rank < LLRT_MAX_RANK)
      cr_assert(llrt_storage_named(entry->name, storage.rank + 1, NULL, arguments, n, &batched) ==
                LLRT_OK);
    cr_assert(llrt_storage_print(&storage, text, sizeof text, NULL) == LLRT_OK);
    cr_assert(llrt_storage_parse(text, storage.rank, NULL, &back) == LLRT_OK, "%s", text);
    cr_expect(llrt_storage_equal(&storage, &back), "%s", text);
    llrt_hash a = llrt_storage_hash(&storage), b = llrt_storage_hash(&back);
    cr_expect(a.low == b.low && a.high == b.high, "%s", text);
  }
  cr_expect(llrt_storage_named_at(-1) == NULL);
  cr_expect(llrt_storage_named_at(llrt_storage_named_count()) == NULL);
}

/* Divisibility rules, ranks, parameters. */
Test(named, refusals) {
  static const struct {
    const char *text;
    int rank;
    int64_t shape[2];
    const char *message;
  } bound[] = {
      {"marlin_w4", 2, {16, 32}, "axis 1 has 32 positions, no multiple of the storage's 64"},
      {"aiter_16x16(element_bits=8)",
       2,
       {16, 32},
       "axis 1 has 32 positions, no multiple of the storage's 64"},
      {"ft_w4", 2, {64, 4}, "axis 1 has 4 positions, no multiple of the storage's 8"},
      {"mxfp4", 1, {3}, "axis 0 has 3 positions, no multiple of the storage's 2"},
  };
  static const char *const parsed[][2] = {
      {"marlin_w4(pad=0)", "column 11: marlin_w4 has no pads: its extents must divide"},
      {"hopper_scale(warps=4)", "column 14: hopper_scale has no parameter 'warps'"},
      {"aiter_16x16", "column 1: aiter_16x16 needs element_bits=…: bits of an "
                      "element, 8 or 16"},
      {"kv_nhd", "column 1: kv_nhd has axes b t h d, the tensor rank 2"},
      {"scale_128x4(k_align=6)", "column 1: scale_128x4: 6 does not divide by 4"},
      {"col32(ld=1, ld=2)", "column 13: this is given twice"},
  };
  llrt_storage storage;
  llrt_storage_binding binding;
  for (size_t i = 0; i < sizeof bound / sizeof bound[0]; i++) {
    cr_assert(llrt_storage_parse(bound[i].text, bound[i].rank, NULL, &storage) == LLRT_OK, "%s",
              llrt_last_error());
    expect_error(llrt_storage_bind(&storage, bound[i].rank, bound[i].shape, NULL, &binding),
                 LLRT_INVALID_ARGUMENT, bound[i].message, bound[i].text);
  }
  for (size_t i = 0; i < sizeof parsed / sizeof parsed[0]; i++)
    expect_error(llrt_storage_parse(parsed[i][0], 2, NULL, &storage), LLRT_INVALID_ARGUMENT,
                 parsed[i][1], parsed[i][0]);
  cr_assert(llrt_storage_parse("scale_128x4(pad=keep)", 2, NULL, &storage) == LLRT_OK);
  cr_expect_eq(storage.pad, LLRT_PAD_KEEP);
}
