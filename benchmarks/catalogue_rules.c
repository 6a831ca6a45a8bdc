#include "catalogue_rules.h"

#include <stddef.h>

#define IMAGE "*1 256 64 64", "*1 40 27 29"
#define PADDED_IMAGE "*1 256 64 64", "*1 83 27 29"
#define FILTER "*16 512 4 4", "*1 200 3 3"
#define WEIGHT(m) "*" #m " 8192", "*" #m " 2880"
#define INT8_ORDER "*32 4096", "*1 2900"
#define SCALE "*256 256", "*1 90"
#define GGML(r, b) "*" #r " 256 " #b, "*" #r " 90 " #b
#define KV "*1 16 8 128", "*1 16 5 80"
#define KV_BOTH "2 *1 16 8 128", "2 *1 16 5 80"
#define KV_BOTH_LAYERS "*1 2 16 8 128", "*1 2 16 5 80"

/* clang-format off */
const catalogue_rule catalogue_rules[] = {
    /* images */
    {"nhwc_256x128x128", "nhwc", "*1 256 128 128", "*1 24 28 28", "8,16,32"},
    {"nhwc_256x56x56", "nhwc", "*1 256 56 56", "*1 20 56 56", "8,16,32"},
    {"col_major", NULL, WEIGHT(1), NULL},
    {"strided", "strided([8256,1])", "*1 8192", "*1 7168", NULL}, /* a pitch */
    {"tiled", "tiled([64,64], nvmma(version=[2,0], warps_per_cta=[4,1], instr_shape=[16,8]), "
     "order=[1,0])",
     WEIGHT(64), NULL},
    {"onednn", "onednn(inner_blks=[48], inner_idxs=[1])", "*1 192 64 64", "*1 83 27 29",
     NULL}, /* aBcd48b */
    {"channels_last", NULL, IMAGE, NULL},
    {"nhwc", NULL, IMAGE, NULL},
    {"trt_chw2", NULL, PADDED_IMAGE, NULL},
    {"trt_chw4", NULL, PADDED_IMAGE, NULL},
    {"trt_chw16", NULL, PADDED_IMAGE, NULL},
    {"trt_chw32", NULL, PADDED_IMAGE, NULL},
    {"trt_hwc8", NULL, PADDED_IMAGE, NULL},
    {"trt_hwc16", NULL, PADDED_IMAGE, NULL},
    {"trt_dhwc8", NULL, "*1 64 16 32 32", "*1 35 7 13 15", NULL},
    {"trt_dla_linear", "trt_dla_linear(element_bits={bits})", PADDED_IMAGE, NULL},
    {"onednn_nchw16c", NULL, PADDED_IMAGE, NULL},
    {"onednn_oihw16i16o", NULL, FILTER, NULL},
    {"onednn_oihw4i16o4i", NULL, FILTER, NULL},
    {"onednn_ba16a64b2a", NULL, "*32 8192", "*1 2880", NULL},
    {"fractal_nz", "fractal_nz(block={256/bits})", "*16 8192", "*1 2888", NULL},
    /* cuBLASLt int8 orders */
    {"col32", NULL, INT8_ORDER, NULL},
    {"col4_4r2_8c", NULL, INT8_ORDER, NULL},
    {"col32_2r_4r4", NULL, INT8_ORDER, NULL},
    /* block scale factors */
    {"scale_128x4", NULL, SCALE, NULL},
    {"scale_8x4", NULL, SCALE, NULL},
    {"deepgemm_ue8m0", NULL, SCALE, NULL},
    {"deepgemm_utccp", NULL, "*128", NULL, NULL},
    {"aiter_scale", NULL, SCALE, NULL},
    {"cdna4_scale", NULL, SCALE, NULL},
    {"aiter_scale_n32k4", NULL, SCALE, NULL},
    {"aiter_scale_n32k8", NULL, SCALE, NULL},
    {"hopper_scale", NULL, SCALE, NULL},
    {"flashinfer_sm90_scale", NULL, "*64 256", "*64 224", NULL},
    {"marlin_scales", NULL, WEIGHT(1), NULL},
    {"marlin_scales_single", NULL, WEIGHT(1), NULL},
    {"marlin_nvfp4_scales", NULL, WEIGHT(2), NULL},
    /* weight repacks */
    {"gptq_w4", NULL, WEIGHT(8), NULL},
    {"gptq_w8", NULL, WEIGHT(4), NULL},
    {"awq_w4", NULL, WEIGHT(1), NULL},
    {"marlin_w4", NULL, WEIGHT(16), NULL},
    {"marlin_w8", NULL, WEIGHT(16), NULL},
    {"exl3_16x16", NULL, WEIGHT(16), NULL},
    {"machete_w4", NULL, WEIGHT(128), NULL},
    {"machete_w4_1wg", NULL, WEIGHT(128), NULL},
    {"machete_w8", NULL, WEIGHT(128), NULL},
    {"machete_w8_1wg", NULL, WEIGHT(128), NULL},
    {"machete_mma8", NULL, WEIGHT(128), NULL},
    {"machete_mma8_1wg", NULL, WEIGHT(128), NULL},
    {"cutlass_atom_e2m1", NULL, WEIGHT(16), NULL},
    {"cutlass_atom_int4", NULL, WEIGHT(16), NULL},
    {"cutlass_atom_fp8", NULL, WEIGHT(16), NULL},
    {"ft_rows_w8", NULL, "*16", NULL, NULL},
    {"ft_rows_w4", NULL, "*32", NULL, NULL},
    {"ft_columns_w4", NULL, WEIGHT(64), NULL},
    {"ft_columns_w8", NULL, WEIGHT(64), NULL},
    {"ft_registers_w4", NULL, "*8", NULL, NULL},
    {"ft_registers_w8", NULL, "*4", NULL, NULL},
    {"ft_w4", NULL, WEIGHT(64), NULL},
    {"ft_w8", NULL, WEIGHT(64), NULL},
    {"turbomind_w4", NULL, "*8", NULL, NULL},
    {"shuffle_matrix_a_16", NULL, WEIGHT(16), NULL},
    {"shuffle_matrix_a_32", NULL, WEIGHT(32), NULL},
    {"gated_rows", NULL, "2 *1 8192", "2 *1 2880", NULL},
    {"deepgemm_gate_up", NULL, "2 *8 8192", "2 *8 2880", NULL},
    {"w31", NULL, "2 *1 8192", "2 *1 2880", NULL},
    {"w31_rows", "w31_rows(half=32)", "*1 64 2048", "*1 64 360", NULL},
    {"bitsandbytes_w4", NULL, "*2", NULL, NULL},
    {"torchao_w4", NULL, WEIGHT(1), NULL},
    {"block_major_k", NULL, "*1 8192", "*1 2944", NULL},
    {"flashinfer_sm90_w4", NULL, WEIGHT(16), NULL},
    {"flashinfer_sm90_fp4", NULL, "*16 4096", "*16 1440", NULL},
    {"hopper_value_mma3", NULL, "*256 4096", "*1 1440", NULL},
    {"hopper_value_mma2", NULL, "*256 4096", "*1 1440", NULL},
    {"hopper_value_w4", NULL, "*256 4096", "*1 2880", NULL},
    {"blackwell_mx4", NULL, "*256 4096", "*1 1440", NULL},
    {"aiter_16x16", "aiter_16x16(element_bits={bits})", WEIGHT(64), NULL},
    {"hipblaslt_col16_4r8", NULL, WEIGHT(128), NULL},
    {"hipblaslt_col16_4r16", NULL, WEIGHT(128), NULL},
    {"hipblaslt_col16_4r32", NULL, WEIGHT(128), NULL},
    {"aiter_guinterleave", NULL, "2 *16 4096", "2 *16 1472", NULL},
    {"aiter_gfx1250_weight", NULL, "*16 4096", "*16 1440", NULL},
    {"aiter_gfx1250_a", NULL, "*2 4096", "*2 2944", NULL},
    {"ggml_q4_0x4_il4", NULL, GGML(4, 16), NULL},
    {"ggml_q4_0x4_il8", NULL, GGML(4, 16), NULL},
    {"ggml_q4_0x8_il8", NULL, GGML(8, 16), NULL},
    {"ggml_q4_0x16_il1", NULL, GGML(16, 16), NULL},
    {"ggml_mxfp4x4_il4", NULL, GGML(4, 16), NULL},
    {"ggml_mxfp4x8_il8", NULL, GGML(8, 16), NULL},
    {"ggml_q8_0x4_il4", NULL, GGML(4, 32), NULL},
    {"ggml_q8_0x4_il8", NULL, GGML(4, 32), NULL},
    {"ggml_q8_0x16_il1", NULL, GGML(16, 32), NULL},
    {"gguf_q4_0", NULL, "*32", NULL, NULL},
    {"mxfp4", NULL, "*2", NULL, NULL},
    /* key/value caches */
    {"kv_nhd", NULL, KV, NULL},
    {"kv_hnd", NULL, KV, NULL},
    {"kv_hnd_packed", NULL, KV_BOTH, NULL},
    {"kv_flash_attn", NULL, KV_BOTH, NULL},
    {"kv_flash_attn_hnd", NULL, KV_BOTH, NULL},
    {"kv_flashinfer", NULL, KV_BOTH, NULL},
    {"kv_flashinfer_hnd", NULL, KV_BOTH, NULL},
    {"kv_mla", NULL, "*1 64 576", NULL, NULL},
    {"vllm_paged_k", "vllm_paged_k(x={128/bits})", KV, NULL},
    {"vllm_paged_v", NULL, KV, NULL},
    {"aiter_paged_v", "aiter_paged_v(x={128/bits})", KV, NULL},
    {"flashmla_fp8", NULL, "*1 64 512", NULL, NULL},
    {"flashmla_scale", NULL, "*1 64 4", NULL, NULL},
    {"flashmla_rope", NULL, "*1 64 64", NULL, NULL},
    {"flashmla_model1_fp8", NULL, "*1 64 448", NULL, NULL},
    {"flashmla_model1_rope", NULL, "*1 64 64", NULL, NULL},
    {"flashmla_model1_scale", NULL, "*1 64 7", NULL, NULL},
    {"lmcache_nb_nl_two_bs_nh_hs", NULL, "32 2 *1 16 8 128", "5 2 *1 16 5 80", NULL},
    {"lmcache_nb_nl_two_nh_bs_hs", NULL, "32 2 *1 16 8 128", "5 2 *1 16 5 80", NULL},
    {"dynamo_block_nhd", NULL, KV_BOTH_LAYERS, NULL},
    {"dynamo_block_hnd", NULL, KV_BOTH_LAYERS, NULL},
    {"dynamo_universal", NULL, KV_BOTH_LAYERS, NULL},
    /* shared-memory images and fragments */
    {"tma_32b", NULL, "*8 4096", "*8 2880", NULL},
    {"tma_64b", NULL, "*8 4096", "*8 2880", NULL},
    {"tma_128b", NULL, "*8 4096", "*8 2944", NULL},
    {"tma_128b_atom_32b", NULL, "*8 4096", "*8 2944", NULL},
    {"tma_128b_atom_32b_flip_8b", NULL, "*8 4096", "*8 2944", NULL},
    {"tma_128b_atom_64b", NULL, "*8 4096", "*8 2944", NULL},
    {"mma_m16n8k16_a", NULL, WEIGHT(16), NULL},
    {"mma_m16n8k16_b", NULL, WEIGHT(16), NULL},
    {"mma_m16n8_c", NULL, WEIGHT(16), NULL},
    {"mma_m16n8k32_a", NULL, WEIGHT(16), NULL},
    {"wgmma_m64_c", "wgmma_m64_c(cols=128)", "*1 64 128", NULL, NULL},
    {"wgmma_m64k16_a", NULL, WEIGHT(64), NULL},
};
const int catalogue_rules_count = sizeof catalogue_rules / sizeof catalogue_rules[0];

const catalogue_pair catalogue_pairs[] = {
    {"col32", "col4_4r2_8c", 0},
    {"col32", "col32_2r_4r4", 0},
    {"aiter_16x16", "marlin_w8", 1}, /* [n, k] and [k, n] */
    /* Key/value caches of equal axes. */
    {"kv_nhd", "kv_hnd", 0},
    {"kv_nhd", "vllm_paged_k", 0},
    {"kv_nhd", "vllm_paged_v", 0},
    {"kv_nhd", "aiter_paged_v", 0},
    {"kv_hnd", "vllm_paged_k", 0},
    {"kv_hnd", "vllm_paged_v", 0},
    {"kv_hnd", "aiter_paged_v", 0},
    {"vllm_paged_k", "vllm_paged_v", 0},
    {"vllm_paged_k", "aiter_paged_v", 0},
    {"vllm_paged_v", "aiter_paged_v", 0},
    {"kv_hnd_packed", "kv_flash_attn", 0},
    {"kv_hnd_packed", "kv_flash_attn_hnd", 0},
    {"kv_hnd_packed", "kv_flashinfer", 0},
    {"kv_hnd_packed", "kv_flashinfer_hnd", 0},
    {"kv_flash_attn", "kv_flash_attn_hnd", 0},
    {"kv_flash_attn", "kv_flashinfer", 0},
    {"kv_flash_attn", "kv_flashinfer_hnd", 0},
    {"kv_flash_attn_hnd", "kv_flashinfer", 0},
    {"kv_flash_attn_hnd", "kv_flashinfer_hnd", 0},
    {"kv_flashinfer", "kv_flashinfer_hnd", 0},
    {"lmcache_nb_nl_two_bs_nh_hs", "lmcache_nb_nl_two_nh_bs_hs", 0},
    {"dynamo_block_nhd", "dynamo_block_hnd", 0},
    {"dynamo_block_nhd", "dynamo_universal", 0},
    {"dynamo_block_hnd", "dynamo_universal", 0},
};
const int catalogue_pairs_count = sizeof catalogue_pairs / sizeof catalogue_pairs[0];

const char *const catalogue_large[] = {
    "row_major->col_major/16",    "row_major->nhwc/16",         "row_major->trt_chw32/8",
    "row_major->col32_2r_4r4/8",  "row_major->scale_128x4/8",   "row_major->marlin_w4/4",
    "row_major->machete_w4/4",    "row_major->aiter_16x16/16",  "row_major->blackwell_mx4/8",
    "kv_nhd->kv_hnd/16",          "kv_nhd->vllm_paged_k/16",    "row_major->mma_m16n8_c/32",
};
const int catalogue_large_count = sizeof catalogue_large / sizeof catalogue_large[0];
/* clang-format on */
