/* Key/value caches and images in shared memory against their index formulas (index_formulas.h). */
#include "tests/layout/index_formulas.h"

#include <criterion/criterion.h>

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
static int64_t at_tma_128b_atom_32b_flip_8b(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], R = s[0], b = x[1],
          half = b % 16 / 8 ^ r % 2; /* 8 bytes change sides in odd rows */
  return b / 128 * (R * 128) + r * 128 + ((b % 128 / 32) ^ (r % 4)) * 32 + b % 32 / 16 * 16 +
         half * 8 + b % 8;
}
static int64_t at_tma_128b_atom_64b(const int64_t *x, const int64_t *s) {
  int64_t r = x[0], R = s[0], b = x[1];
  return b / 128 * (R * 128) + r * 128 + ((b % 128 / 64) ^ (r % 2)) * 64 + b % 64;
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

static const index_formula rows[] = {
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
    {"tma_128b_atom_32b_flip_8b", 2, {24, 256}, at_tma_128b_atom_32b_flip_8b},
    {"tma_128b_atom_64b", 2, {24, 256}, at_tma_128b_atom_64b},
    {"mma_m16n8k16_a", 2, {32, 48}, at_mma_m16n8k16_a},
    {"mma_m16n8k16_b", 2, {48, 24}, at_mma_m16n8k16_b},
    {"mma_m16n8_c", 2, {32, 24}, at_mma_m16n8_c},
    {"mma_m16n8k32_a", 2, {32, 96}, at_mma_m16n8k32_a},
    {"wgmma_m64_c(cols=24)", 2, {64, 24}, at_wgmma_m64_c_cols_24},
    {"wgmma_m64k16_a", 2, {128, 48}, at_wgmma_m64k16_a},
};

Test(named, cache_formulas) { expect_index_formulas(rows, sizeof rows / sizeof rows[0]); }
