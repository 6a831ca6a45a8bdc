/* GPTQ, AWQ and compressed-tensors to Marlin and Machete: every byte as vLLM's arithmetic has it,
 * and back. */
#include "tests/recipe/marlin.h"
#include "tests/recipe/model.h"

#include <stdlib.h>

enum { DRAWS = 4 }; /* random shapes of each recipe */

static const char gptq_config[] =
    "{\"quantization_config\": {\"quant_method\": \"gptq\", \"bits\": 4, \"sym\": true, "
    "\"group_size\": 32, \"desc_act\": false}}";

/* Codes of int32[k/8][n], eight along k in a word: columns begin .. begin + count - 1. */
static uint8_t *gptq_codes(const uint32_t *words, int k, int n, int begin, int count) {
  uint8_t *codes = malloc((size_t)k * count + 1);
  for (int i = 0; i < k; i++)
    for (int j = 0; j < count; j++)
      codes[i * count + j] = words[i / 8 * n + begin + j] >> 4 * (i % 8) & 15;
  return codes;
}

static void check_gptq(llrt_device *device, int k, int n, int tp, uint64_t seed) {
  model in = {0};
  uint64_t state = seed;
  uint32_t *q = model_add(&in, &state, "model.layers.3.mlp.up_proj.qweight", LLRT_I32, 2, k / 8, n);
  uint16_t *s = model_add(&in, &state, "model.layers.3.mlp.up_proj.scales", LLRT_F16, 2, k / 32, n);
  model_add(&in, &state, "model.norm.weight", LLRT_BF16, 1, 40);
  llrt_recipe_params params = {
      .config = gptq_config, .config_bytes = sizeof gptq_config - 1, .tp = tp};
  repacked made[2];
  for (int r = 0; r < tp; r++) {
    int mine = n / tp;
    params.rank = r;
    made[r] = model_repack(device, "gptq.marlin", &in, &params);
    uint8_t *codes = gptq_codes(q, k, n, r * mine, mine);
    uint32_t *words = malloc((size_t)k * mine / 2);
    uint16_t *scales = malloc((size_t)k / 32 * mine * 4), *wanted = scales + k / 32 * mine;
    for (int g = 0; g < k / 32; g++)
      memcpy(scales + g * mine, s + g * n + r * mine, (size_t)mine * 2);
    marlin_weights(codes, k, mine, words);
    marlin_scales(scales, k / 32, mine, wanted);
    model_expect(&made[r], "model.layers.3.mlp.up_proj.qweight", LLRT_I32, words,
                 (size_t)k * mine / 2);
    model_expect(&made[r], "model.layers.3.mlp.up_proj.scales", LLRT_F16, wanted,
                 (size_t)k / 32 * mine * 2);
    free(codes);
    free(words);
    free(scales);
  }
  model_expect_back(device, "gptq.marlin", &in, &params, made, tp);
  for (int r = 0; r < tp; r++) repacked_free(&made[r]);
  model_free(&in);
}

Test(recipe_marlin, gptq) {
  opened_device at = open_device("host");
  check_gptq(at.device, 64, 128, 1, 1);
  check_gptq(at.device, 192, 320, 1, 2);
  check_gptq(at.device, 128, 384, 2, 3);
  uint64_t state = 51;
  for (int i = 0; i < DRAWS; i++) {
    int tp = 1 + (int)model_random(&state, 2), k = 32 * (1 + (int)model_random(&state, 9));
    check_gptq(at.device, k, 64 * tp * (1 + (int)model_random(&state, 5)), tp, state);
  }
  close_device(&at);
}

/* ---- AWQ ---- */

static const char awq_config[] =
    "{\"quantization_config\": {\"quant_method\": \"awq\", \"bits\": 4, \"zero_point\": true, "
    "\"group_size\": 64, \"version\": \"gemm\"}}";

/* Codes of int32[k][n/8], whose nibbles are columns 0 2 4 6 1 3 5 7 of each eight. */
static void awq_codes(const uint32_t *words, int k, int n, int begin, int count, uint8_t *codes,
                      int pitch) {
  static const int column[8] = {0, 2, 4, 6, 1, 3, 5, 7};
  for (int i = 0; i < k; i++)
    for (int nibble = 0; nibble < n; nibble++) {
      int j = nibble / 8 * 8 + column[nibble % 8] - begin;
      if (j >= 0 && j < count)
        codes[i * pitch + j] = words[i * (n / 8) + nibble / 8] >> 4 * (nibble % 8) & 15;
    }
}

typedef struct awq_layer {
  int n;
  uint32_t *weights, *zeros;
  uint16_t *scales;
} awq_layer;

static awq_layer awq_add(model *in, uint64_t *state, const char *name, int k, int n) {
  char text[128];
  awq_layer layer = {.n = n};
  snprintf(text, sizeof text, "%s.qweight", name);
  layer.weights = model_add(in, state, text, LLRT_I32, 2, k, n / 8);
  snprintf(text, sizeof text, "%s.qzeros", name);
  layer.zeros = model_add(in, state, text, LLRT_I32, 2, k / 64, n / 8);
  snprintf(text, sizeof text, "%s.scales", name);
  layer.scales = model_add(in, state, text, LLRT_F16, 2, k / 64, n);
  return layer;
}

/* q, k and v beside each other, each cut for the rank. */
static void expect_awq_columns(const repacked *made, const char *name, const awq_layer *layer,
                               int n_layers, int k, int tp, int rank) {
  int N = 0, g = k / 64, at = 0;
  for (int i = 0; i < n_layers; i++) N += layer[i].n / tp;
  uint8_t *codes = malloc((size_t)k * N), *zeros = malloc((size_t)g * N);
  uint16_t *scales = malloc((size_t)g * N * 4);
  for (int i = 0; i < n_layers; i++) {
    int mine = layer[i].n / tp;
    awq_codes(layer[i].weights, k, layer[i].n, rank * mine, mine, codes + at, N);
    awq_codes(layer[i].zeros, g, layer[i].n, rank * mine, mine, zeros + at, N);
    for (int r = 0; r < g; r++)
      memcpy(scales + r * N + at, layer[i].scales + r * layer[i].n + rank * mine, (size_t)mine * 2);
    at += mine;
  }
  uint32_t *words = malloc((size_t)k * N);
  char text[128];
  marlin_weights(codes, k, N, words);
  snprintf(text, sizeof text, "%s.qweight", name);
  model_expect(made, text, LLRT_I32, words, (size_t)k * N / 2);
  marlin_zeros(zeros, g, N, words);
  snprintf(text, sizeof text, "%s.qzeros", name);
  model_expect(made, text, LLRT_I32, words, (size_t)g * N / 2);
  marlin_scales(scales, g, N, scales + g * N);
  snprintf(text, sizeof text, "%s.scales", name);
  model_expect(made, text, LLRT_F16, scales + g * N, (size_t)g * N * 2);
  free(codes);
  free(zeros);
  free(scales);
  free(words);
}

/* A layer whose rows are cut: whole groups. */
static void expect_awq_rows(const repacked *made, const char *name, const awq_layer *layer, int k,
                            int tp, int rank) {
  int mine = k / tp, g = mine / 64;
  awq_layer part = *layer;
  part.weights += rank * mine * layer->n / 8;
  part.zeros += rank * g * layer->n / 8;
  part.scales += rank * g * layer->n;
  expect_awq_columns(made, name, &part, 1, mine, 1, 0);
}

static void check_awq(llrt_device *device, int tp, uint64_t seed) {
  model in = {0};
  const char *const names[] = {"m.0.self_attn.q_proj", "m.0.self_attn.k_proj",
                               "m.0.self_attn.v_proj"};
  awq_layer layer[3];
  for (int i = 0; i < 3; i++) layer[i] = awq_add(&in, &seed, names[i], 256, i == 0 ? 384 : 128);
  awq_layer out = awq_add(&in, &seed, "m.0.self_attn.o_proj", 384, 192);
  llrt_recipe_params params = {
      .config = awq_config, .config_bytes = sizeof awq_config - 1, .tp = tp};
  repacked made[2];
  for (int r = 0; r < tp; r++) {
    params.rank = r;
    made[r] = model_repack(device, "awq.marlin", &in, &params);
    expect_awq_columns(&made[r], "m.0.self_attn.qkv_proj", layer, 3, 256, tp, r);
    expect_awq_rows(&made[r], "m.0.self_attn.o_proj", &out, 384, tp, r);
  }
  model_expect_back(device, "awq.marlin", &in, &params, made, tp);
  for (int r = 0; r < tp; r++) repacked_free(&made[r]);
  model_free(&in);
}

Test(recipe_marlin, awq) {
  opened_device at = open_device("host");
  check_awq(at.device, 1, 31);
  check_awq(at.device, 2, 32);
  close_device(&at);
}

/* ---- compressed-tensors ---- */

static const char packed_config[] = "{\"quantization_config\": {\"quant_method\": "
                                    "\"compressed-tensors\", \"format\": \"pack-quantized\"}}";

/* Where Machete's prepacked layout for 4-bit weights and 16-bit products has element (n, k), as
 * CuTe evaluates its thread-value layout (two warp groups): 128 x 64 blocks, first along n. */
static int machete_place(int n, int k, int N) {
  static const int from_n[] = {3, -1, -1, -1, -1, -1, -1, 0, 1, 2, 4, 5, 6};
  static const int from_k[] = {-1, 3, 0, 4, 5, 1, 2, -1, -1, -1, -1, -1, -1};
  int place = 0;
  for (int bit = 0; bit < 13; bit++)
    place |= (from_n[bit] >= 0 ? n >> from_n[bit] & 1 : k >> from_k[bit] & 1) << bit;
  return (k / 64 * (N / 128) + n / 128) * 8192 + place;
}

static void check_packed(llrt_device *device, bool machete, int n, int k, uint64_t seed) {
  model in = {0};
  const char *recipe =
      machete ? "compressed-tensors-int4.machete" : "compressed-tensors-int4.marlin";
  uint32_t *q = model_add(&in, &seed, "x.down_proj.weight_packed", LLRT_I32, 2, n, k / 8);
  uint16_t *s = model_add(&in, &seed, "x.down_proj.weight_scale", LLRT_BF16, 2, n, k / 32);
  model_add(&in, &seed, "x.down_proj.weight_shape", LLRT_I64, 1, 2);
  model_add(&in, &seed, "x.embed.weight", LLRT_BF16, 2, 3, 5);
  llrt_recipe_params params = {.config = packed_config, .config_bytes = sizeof packed_config - 1};
  repacked made = model_repack(device, recipe, &in, &params);
  uint8_t *codes = malloc((size_t)n * k);
  uint32_t *words = calloc((size_t)n * k / 8, 4);
  uint16_t *scales = malloc((size_t)n * (k / 32) * 4), *wanted = scales + n * (k / 32);
  for (int i = 0; i < n * k; i++) {
    int at_n = i / k, at_k = i % k;
    codes[at_k * n + at_n] = q[i / 8] >> 4 * (i % 8) & 15;
    int place = machete_place(at_n, at_k, n);
    if (machete) words[place / 8] |= (q[i / 8] >> 4 * (i % 8) & 15) << 4 * (place % 8);
  }
  if (!machete) marlin_weights(codes, k, n, words);
  for (int i = 0; i < n * (k / 32); i++) scales[i % (k / 32) * n + i / (k / 32)] = s[i];
  if (!machete) marlin_scales(scales, k / 32, n, wanted);
  model_expect(&made, "x.down_proj.weight_packed", LLRT_I32, words, (size_t)n * k / 2);
  model_expect(&made, "x.down_proj.weight_scale", LLRT_B16, machete ? scales : wanted,
               (size_t)n * (k / 32) * 2);
  model_expect_back(device, recipe, &in, &params, &made, 1);
  repacked_free(&made);
  model_free(&in);
  free(codes);
  free(words);
  free(scales);
}

Test(recipe_marlin, compressed_tensors) {
  opened_device at = open_device("host");
  check_packed(at.device, false, 192, 160, 41);
  check_packed(at.device, true, 384, 192, 42);
  uint64_t state = 53;
  for (int i = 0; i < DRAWS; i++) {
    int a = 1 + (int)model_random(&state, 5), b = 1 + (int)model_random(&state, 5);
    check_packed(at.device, false, 64 * a, 32 * b, state);
    check_packed(at.device, true, 128 * a, 64 * b, state);
  }
  close_device(&at);
}
