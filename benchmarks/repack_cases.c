#include "repack_cases.h"

#include <llrt/tensor.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 96 };

#define LAYER "model.layers.%d."
#define ROWS(list) .rows = list, .n_rows = sizeof list / sizeof list[0]

/* Of gpt-oss-20b: hidden 2880, 32 experts of 2880, gate and up interleaved. */
#define EXPERTS LAYER "mlp.experts."
static const repack_rows gpt_oss[] = {
    {EXPERTS "gate_up_proj_blocks", LLRT_U8, 4, {0, 5760, 90, 16}, false},
    {EXPERTS "gate_up_proj_scales", LLRT_U8, 3, {0, 5760, 90}, false},
    {EXPERTS "gate_up_proj_bias", LLRT_BF16, 2, {0, 5760}, false},
    {EXPERTS "down_proj_blocks", LLRT_U8, 4, {0, 2880, 90, 16}, false},
    {EXPERTS "down_proj_scales", LLRT_U8, 3, {0, 2880, 90}, false},
    {EXPERTS "down_proj_bias", LLRT_BF16, 2, {0, 2880}, false},
};

/* The experts of a layer of DeepSeek-V3: hidden 7168, 256 of 2048, scales of 128 x 128. */
#define EXPERT LAYER "mlp.experts.%d."
static const repack_rows deepseek[] = {
    {EXPERT "gate_proj.weight", LLRT_E4M3, 2, {2048, 7168}, true},
    {EXPERT "gate_proj.weight_scale_inv", LLRT_F32, 2, {16, 56}, true},
    {EXPERT "up_proj.weight", LLRT_E4M3, 2, {2048, 7168}, true},
    {EXPERT "up_proj.weight_scale_inv", LLRT_F32, 2, {16, 56}, true},
    {EXPERT "down_proj.weight", LLRT_E4M3, 2, {7168, 2048}, true},
    {EXPERT "down_proj.weight_scale_inv", LLRT_F32, 2, {56, 16}, true},
};

/* Llama 3.1 8B in 4 bits, groups of 128. */
#define GPTQ(name, k, n) \
  {LAYER name ".qweight", LLRT_I32, 2, {(k) / 8, n}, false}, { \
    LAYER name ".scales", LLRT_F16, 2, {(k) / 128, n}, false \
  }
static const repack_rows llama_gptq[] = {
    GPTQ("self_attn.q_proj", 4096, 4096), GPTQ("self_attn.k_proj", 4096, 1024),
    GPTQ("self_attn.v_proj", 4096, 1024), GPTQ("self_attn.o_proj", 4096, 4096),
    GPTQ("mlp.gate_proj", 4096, 14336),   GPTQ("mlp.up_proj", 4096, 14336),
    GPTQ("mlp.down_proj", 14336, 4096),
};
#define AWQ(name, k, n) \
  {LAYER name ".qweight", LLRT_I32, 2, {k, (n) / 8}, false}, \
      {LAYER name ".qzeros", LLRT_I32, 2, {(k) / 128, (n) / 8}, false}, { \
    LAYER name ".scales", LLRT_F16, 2, {(k) / 128, n}, false \
  }
static const repack_rows llama_awq[] = {
    AWQ("self_attn.q_proj", 4096, 4096), AWQ("self_attn.k_proj", 4096, 1024),
    AWQ("self_attn.v_proj", 4096, 1024), AWQ("self_attn.o_proj", 4096, 4096),
    AWQ("mlp.gate_proj", 4096, 14336),   AWQ("mlp.up_proj", 4096, 14336),
    AWQ("mlp.down_proj", 14336, 4096),
};

/* The experts of Qwen3-30B-A3B in bf16, as a trainer has them: hidden 2048, 128 experts of 768. */
static const repack_rows qwen[] = {
    {EXPERT "gate_proj.weight", LLRT_BF16, 2, {768, 2048}, true},
    {EXPERT "up_proj.weight", LLRT_BF16, 2, {768, 2048}, true},
    {EXPERT "down_proj.weight", LLRT_BF16, 2, {2048, 768}, true},
};

#define QUANTISED(method) \
  "{\"quantization_config\": {\"quant_method\": \"" method "\", \"bits\": 4, "
const repack_case repack_cases[] = {
    {"gpt-oss-20b", "gpt-oss-mxfp4.triton-hopper", "{\"num_local_experts\": %d}", 24, 32,
     ROWS(gpt_oss)},
    {"gpt-oss-20b", "gpt-oss-mxfp4.flashinfer-trtllm", "{\"num_local_experts\": %d}", 24, 32,
     ROWS(gpt_oss)},
    {"gpt-oss-20b", "gpt-oss-mxfp4.llrt-dot", "{\"num_local_experts\": %d}", 24, 32, ROWS(gpt_oss)},
    {"DeepSeek-V3, a layer's experts", "deepseek-fp8.grouped",
     "{\"n_routed_experts\": %d, \"quantization_config\": {\"quant_method\": \"fp8\"}}", 1, 256,
     ROWS(deepseek)},
    {"Qwen3-30B-A3B, a refit", "bf16-experts.fp8-block", "{\"num_experts\": %d}", 48, 128,
     ROWS(qwen)},
    {"Llama 3.1 8B", "gptq.marlin",
     QUANTISED("gptq") "\"sym\": true, \"group_size\": 128, \"desc_act\": false}}", 32, 0,
     ROWS(llama_gptq)},
    {"Llama 3.1 8B", "awq.marlin",
     QUANTISED("awq") "\"zero_point\": true, \"version\": \"gemm\", \"group_size\": 128}}", 32, 0,
     ROWS(llama_awq)},
};
const int repack_cases_count = sizeof repack_cases / sizeof repack_cases[0];

int64_t repack_tensor_bytes(const llrt_named_tensor *tensor) {
  int64_t elements = 1;
  for (int a = 0; a < tensor->rank; a++) elements *= tensor->shape[a];
  return elements * llrt_dtype_bits(tensor->dtype) / 8;
}

static llrt_named_tensor tensor_of(const repack_rows *rows, int experts) {
  llrt_named_tensor tensor = {.dtype = rows->dtype, .rank = rows->rank};
  for (int a = 0; a < rows->rank; a++) tensor.shape[a] = rows->shape[a] ? rows->shape[a] : experts;
  return tensor;
}

static int count_of(const repack_rows *rows, int layers, int experts) {
  return layers * (rows->each_expert ? experts : 1);
}

static int64_t bytes_of(const repack_case *c, int layers, int experts, int *count) {
  int64_t bytes = 0;
  *count = 0;
  for (int r = 0; r < c->n_rows; r++) {
    llrt_named_tensor tensor = tensor_of(&c->rows[r], experts);
    int n = count_of(&c->rows[r], layers, experts);
    bytes += n * repack_tensor_bytes(&tensor);
    *count += n;
  }
  return bytes;
}

void repack_checkpoint_make(const repack_case *c, int64_t most, repack_checkpoint *out) {
  int layers = c->layers, experts = c->experts, count;
  while ((out->bytes = bytes_of(c, layers, experts, &count)) > most && (layers > 1 || experts > 1))
    if (layers > 1) layers /= 2;
    else experts /= 2;
  out->tensors = calloc((size_t)count, sizeof *out->tensors);
  out->names = malloc((size_t)count * NAME);
  if (!out->tensors || !out->names) {
    fprintf(stderr, "%s: out of memory\n", c->model);
    exit(1);
  }
  out->n = 0;
  snprintf(out->config, sizeof out->config, c->config, experts);
  for (int r = 0; r < c->n_rows; r++)
    for (int i = 0; i < count_of(&c->rows[r], layers, experts); i++, out->n++) {
      int per_layer = c->rows[r].each_expert ? experts : 1;
      char *name = out->names + (size_t)out->n * NAME;
      snprintf(name, NAME, c->rows[r].name, i / per_layer, i % per_layer);
      out->tensors[out->n] = tensor_of(&c->rows[r], experts);
      out->tensors[out->n].name = name;
    }
}

void repack_checkpoint_free(repack_checkpoint *checkpoint) {
  free(checkpoint->tensors);
  free(checkpoint->names);
}
