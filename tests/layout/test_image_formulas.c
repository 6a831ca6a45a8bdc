/* Images and block scale factors against their index formulas (index_formulas.h). */
#include "tests/layout/index_formulas.h"

#include <criterion/criterion.h>

/* Three bits with the lower two exchanged. */
static int64_t swap01(int64_t x) { return (x & 4) | (x & 1) << 1 | (x >> 1 & 1); }

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
/* Columns as scales have them, then 0 2 4 6 1 3 5 7 of each eight. */
static int64_t at_marlin_zeros_w4(const int64_t *x, const int64_t *s) {
  int64_t scale = at_marlin_scales(x, s), eighth = scale % 8;
  return scale - eighth + (eighth % 2) * 4 + eighth / 2;
}
/* Rows 0 4 8 … of each 32, then 1 5 9 …; after that scales as 128x4. */
static int64_t at_trtllm_scale_a(const int64_t *x, const int64_t *s) {
  int64_t shuffled[] = {x[0] / 32 * 32 + x[0] % 4 * 8 + x[0] % 32 / 4, x[1]};
  return at_scale_128x4(shuffled, s);
}
static int64_t at_channels_last(const int64_t *x, const int64_t *s) {
  int64_t n = x[0], c = x[1], C = s[1], h = x[2], H = s[2], w = x[3], W = s[3];
  return ((n * H + h) * W + w) * C + c;
}

static const index_formula rows[] = {
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
    {"marlin_zeros_w4", 2, {3, 128}, at_marlin_zeros_w4},
    {"trtllm_scale_a", 2, {256, 10}, at_trtllm_scale_a},
    {"channels_last", 4, {2, 6, 3, 5}, at_channels_last},
};

Test(named, image_formulas) { expect_index_formulas(rows, sizeof rows / sizeof rows[0]); }
