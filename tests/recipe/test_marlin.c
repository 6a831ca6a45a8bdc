/* GPTQ, AWQ and compressed-tensors to Marlin and Machete: every byte as vLLM's arithmetic has it,
 * and back; at random shapes, groups and numbers of ranks, of which the last have zeros where
 * blocks do not go up. */
#include "tests/recipe/draws.h"
#include "tests/recipe/marlin.h"
#include "tests/recipe/model.h"

#include <stdlib.h>

enum { DRAWS = 2, MOST_RANKS = 4, COLUMNS = 64 /* that ranks are cut by */ };

/* Rows of `bytes`, of which those of a rank become the first. */
static void cut_rows(const void *from, size_t pitch, rank_part rows, rank_part columns,
                     size_t width, void *to, size_t to_pitch) {
  for (int r = rows.begin; r < rows.end; r++)
    memcpy((char *)to + (size_t)(r - rows.begin) * to_pitch,
           (const char *)from + (size_t)r * pitch + (size_t)columns.begin * width,
           (size_t)(columns.end - columns.begin) * width);
}

static void cut_codes(const uint8_t *from, int pitch, rank_part rows, rank_part columns,
                      uint8_t *to, int to_pitch) {
  cut_rows(from, (size_t)pitch, rows, columns, 1, to, (size_t)to_pitch);
}

static void cut_scales(const uint16_t *from, int pitch, rank_part rows, rank_part columns,
                       uint16_t *to, int to_pitch) {
  cut_rows(from, (size_t)pitch * 2, rows, columns, 2, to, (size_t)to_pitch * 2);
}

static rank_part whole(int n) { return (rank_part){0, n, n}; }

static void expect_named(const repacked *made, const char *layer, const char *what,
                         llrt_dtype dtype, const void *wanted, size_t bytes) {
  char name[128];
  snprintf(name, sizeof name, "%s.%s", layer, what);
  model_expect(made, name, dtype, wanted, bytes);
}

static void expect_weights(const repacked *made, const char *layer, const char *what,
                           const uint8_t *codes, int k, int n) {
  uint32_t *words = malloc((size_t)k * n / 2 + 4);
  marlin_weights(codes, k, n, words);
  expect_named(made, layer, what, LLRT_I32, words, (size_t)k * n / 2);
  free(words);
}

static void expect_scales(const repacked *made, const char *layer, const char *what,
                          llrt_dtype dtype, const uint16_t *scales, int g, int n) {
  uint16_t *wanted = malloc((size_t)g * n * 2);
  marlin_scales(scales, g, n, wanted);
  expect_named(made, layer, what, dtype, wanted, (size_t)g * n * 2);
  free(wanted);
}

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

/* codes[k][n] in Machete's order. */
static void expect_machete(const repacked *made, const char *layer, const char *what,
                           const uint8_t *codes, int k, int n) {
  uint32_t *words = calloc((size_t)n * k / 8, 4);
  for (int i = 0; i < k; i++)
    for (int j = 0; j < n; j++) {
      int place = machete_place(j, i, n);
      words[place / 8] |= (uint32_t)codes[i * n + j] << 4 * (place % 8);
    }
  expect_named(made, layer, what, LLRT_I32, words, (size_t)n * k / 2);
  free(words);
}

/* ---- GPTQ ---- */

/* Codes of int32[k/8][n], eight along k in a word. */
static uint8_t *gptq_codes(const uint32_t *words, int k, int n) {
  uint8_t *codes = malloc((size_t)k * n);
  for (int i = 0; i < k; i++)
    for (int j = 0; j < n; j++) codes[i * n + j] = words[i / 8 * n + j] >> 4 * (i % 8) & 15;
  return codes;
}

/* group 0: one for all of K, which configs call -1. */
static void check_gptq(llrt_device *device, bool machete, int k, int n, int group, int tp,
                       uint64_t seed) {
  const char *recipe = machete ? "gptq.machete" : "gptq.marlin";
  static const char layer[] = "model.layers.3.mlp.up_proj";
  model in = {0};
  char config[200];
  int g = group ? k / group : 1;
  uint32_t *q = model_add(&in, &seed, "model.layers.3.mlp.up_proj.qweight", LLRT_I32, 2, k / 8, n);
  uint16_t *s = model_add(&in, &seed, "model.layers.3.mlp.up_proj.scales", LLRT_F16, 2, g, n);
  model_add(&in, &seed, "model.norm.weight", LLRT_BF16, 1, 40);
  snprintf(config, sizeof config,
           "{\"quantization_config\": {\"quant_method\": \"gptq\", \"bits\": 4, \"sym\": true, "
           "\"group_size\": %d, \"desc_act\": false}}",
           group ? group : -1);
  llrt_recipe_params params = {.config = config, .config_bytes = strlen(config), .tp = tp};
  repacked made[MOST_RANKS];
  uint8_t *codes = gptq_codes(q, k, n);
  for (int r = 0; r < tp; r++) {
    rank_part part = draws_part(n, machete ? 128 : COLUMNS, tp, r);
    uint8_t *mine = calloc((size_t)k * part.room, 1);
    uint16_t *scales = calloc((size_t)g * part.room, 2);
    params.rank = r;
    made[r] = model_repack(device, recipe, &in, &params);
    cut_codes(codes, n, whole(k), part, mine, part.room);
    cut_scales(s, n, whole(g), part, scales, part.room);
    if (machete) {
      expect_machete(&made[r], layer, "qweight", mine, k, part.room);
      expect_named(&made[r], layer, "scales", LLRT_F16, scales, (size_t)g * part.room * 2);
    } else {
      expect_weights(&made[r], layer, "qweight", mine, k, part.room);
      expect_scales(&made[r], layer, "scales", LLRT_F16, scales, g, part.room);
    }
    free(mine);
    free(scales);
  }
  model_expect_back(device, recipe, &in, &params, made, tp);
  for (int r = 0; r < tp; r++) repacked_free(&made[r]);
  free(codes);
  model_free(&in);
}

Test(recipe_marlin, gptq) {
  opened_device at = open_device("host");
  uint64_t state;
  check_gptq(at.device, false, 64, 128, 32, 1, 1);
  check_gptq(at.device, false, 192, 320, 64, 1, 2);
  check_gptq(at.device, false, 128, 384, 32, 2, 3);
  check_gptq(at.device, false, 96, 192, 0, 2, 4);
  for (shape_draws draws = draws_begin(DRAWS); draws_next(&draws, &state);) {
    int tp = draws_from(&state, 1, MOST_RANKS), group = draws_from(&state, 0, 3) * 32;
    int k = (group ? group : 32) * draws_from(&state, 1, 5), n = COLUMNS * draws_from(&state, 1, 9);
    check_gptq(at.device, false, k, n, group, tp, state);
    check_gptq(at.device, true, 2 * k, 2 * n, group, tp, state);
  }
  close_device(&at);
}

/* ---- AWQ ---- */

typedef struct awq_layer {
  const char *name;
  int k, n;
  uint8_t *weights, *zeros; /* codes */
  uint16_t *scales;
} awq_layer;

/* Codes of int32[k][n/8], whose nibbles are columns 0 2 4 6 1 3 5 7 of each eight. */
static uint8_t *awq_codes(const uint32_t *words, int k, int n) {
  static const int column[8] = {0, 2, 4, 6, 1, 3, 5, 7};
  uint8_t *codes = malloc((size_t)k * n);
  for (int i = 0; i < k; i++)
    for (int j = 0; j < n; j++)
      codes[i * n + j / 8 * 8 + column[j % 8]] = words[i * (n / 8) + j / 8] >> 4 * (j % 8) & 15;
  return codes;
}

static awq_layer awq_add(model *in, uint64_t *state, const char *name, int k, int n, int group) {
  char text[128];
  awq_layer layer = {.name = name, .k = k, .n = n};
  snprintf(text, sizeof text, "%s.qweight", name);
  layer.weights = awq_codes(model_add(in, state, text, LLRT_I32, 2, k, n / 8), k, n);
  snprintf(text, sizeof text, "%s.qzeros", name);
  layer.zeros = awq_codes(model_add(in, state, text, LLRT_I32, 2, k / group, n / 8), k / group, n);
  snprintf(text, sizeof text, "%s.scales", name);
  layer.scales = model_add(in, state, text, LLRT_F16, 2, k / group, n);
  return layer;
}

static void awq_free(awq_layer *layer) {
  free(layer->weights);
  free(layer->zeros);
}

/* Layers beside each other, of which a rank has columns, or (`rows`) whole groups of K. */
static void expect_awq(const repacked *made, const char *name, const awq_layer *layer, int n_layers,
                       bool rows, int group, int tp, int rank) {
  int N = 0, at = 0, G = layer->k / group;
  rank_part k = rows ? draws_part(layer->k, group, tp, rank) : whole(layer->k);
  rank_part g = rows ? draws_part(G, 1, tp, rank) : whole(G), n[3];
  for (int i = 0; i < n_layers; i++) {
    n[i] = rows ? whole(layer[i].n) : draws_part(layer[i].n, COLUMNS, tp, rank);
    N += n[i].room;
  }
  uint8_t *codes = calloc((size_t)k.room * N, 1), *zeros = calloc((size_t)g.room * N, 1);
  uint16_t *scales = calloc((size_t)g.room * N, 2);
  for (int i = 0; i < n_layers; at += n[i++].room) {
    cut_codes(layer[i].weights, layer[i].n, k, n[i], codes + at, N);
    cut_codes(layer[i].zeros, layer[i].n, g, n[i], zeros + at, N);
    cut_scales(layer[i].scales, layer[i].n, g, n[i], scales + at, N);
  }
  uint32_t *words = malloc((size_t)g.room * N / 2 + 4);
  marlin_zeros(zeros, g.room, N, words);
  expect_weights(made, name, "qweight", codes, k.room, N);
  expect_named(made, name, "qzeros", LLRT_I32, words, (size_t)g.room * N / 2);
  expect_scales(made, name, "scales", LLRT_F16, scales, g.room, N);
  free(codes);
  free(zeros);
  free(scales);
  free(words);
}

typedef struct awq_shape {
  int group, hidden, q, kv, wide; /* positions; group divides hidden, q and wide */
} awq_shape;

static void check_awq(llrt_device *device, awq_shape is, int tp, uint64_t seed) {
  static const char *const parts[] = {"m.0.self_attn.q_proj", "m.0.self_attn.k_proj",
                                      "m.0.self_attn.v_proj", "m.0.mlp.gate_proj",
                                      "m.0.mlp.up_proj"};
  const int columns[] = {is.q, is.kv, is.kv, is.wide, is.wide};
  enum { PARTS = 5, OUT = PARTS, DOWN, ALL };
  model in = {0};
  char config[200];
  awq_layer layer[ALL];
  for (int i = 0; i < PARTS; i++)
    layer[i] = awq_add(&in, &seed, parts[i], is.hidden, columns[i], is.group);
  layer[OUT] = awq_add(&in, &seed, "m.0.self_attn.o_proj", is.q, is.hidden, is.group);
  layer[DOWN] = awq_add(&in, &seed, "m.0.mlp.down_proj", is.wide, is.hidden, is.group);
  snprintf(
      config, sizeof config,
      "{\"quantization_config\": {\"quant_method\": \"awq\", \"bits\": 4, \"zero_point\": true, "
      "\"group_size\": %d, \"version\": \"gemm\"}}",
      is.group);
  llrt_recipe_params params = {.config = config, .config_bytes = strlen(config), .tp = tp};
  repacked made[MOST_RANKS];
  for (int r = 0; r < tp; r++) {
    params.rank = r;
    made[r] = model_repack(device, "awq.marlin", &in, &params);
    expect_awq(&made[r], "m.0.self_attn.qkv_proj", layer, 3, false, is.group, tp, r);
    expect_awq(&made[r], "m.0.mlp.gate_up_proj", layer + 3, 2, false, is.group, tp, r);
    expect_awq(&made[r], "m.0.self_attn.o_proj", &layer[OUT], 1, true, is.group, tp, r);
    expect_awq(&made[r], "m.0.mlp.down_proj", &layer[DOWN], 1, true, is.group, tp, r);
  }
  model_expect_back(device, "awq.marlin", &in, &params, made, tp);
  for (int r = 0; r < tp; r++) repacked_free(&made[r]);
  for (int i = 0; i < ALL; i++) awq_free(&layer[i]);
  model_free(&in);
}

Test(recipe_marlin, awq) {
  opened_device at = open_device("host");
  uint64_t state;
  check_awq(at.device, (awq_shape){64, 256, 384, 128, 192}, 1, 31);
  check_awq(at.device, (awq_shape){64, 256, 384, 128, 192}, 2, 32);
  for (shape_draws draws = draws_begin(DRAWS); draws_next(&draws, &state);) {
    int tp = draws_from(&state, 1, MOST_RANKS), group = 32 << draws_from(&state, 0, 2);
    int block = group > COLUMNS ? group : COLUMNS;
    awq_shape is = {.group = group, .kv = COLUMNS * draws_from(&state, 1, 3)};
    is.hidden = block * draws_from(&state, 1, 3);
    is.q = block * draws_from(&state, 1, 4);
    is.wide = block * draws_from(&state, 1, 4);
    check_awq(at.device, is, tp, state);
  }
  close_device(&at);
}

/* ---- compressed-tensors ---- */

static const char packed_config[] = "{\"quantization_config\": {\"quant_method\": "
                                    "\"compressed-tensors\", \"format\": \"pack-quantized\"}}";

static void check_packed(llrt_device *device, bool machete, int n, int k, int g, int tp,
                         uint64_t seed) {
  static const char layer[] = "x.down_proj";
  model in = {0};
  const char *recipe =
      machete ? "compressed-tensors-int4.machete" : "compressed-tensors-int4.marlin";
  uint32_t *q = model_add(&in, &seed, "x.down_proj.weight_packed", LLRT_I32, 2, n, k / 8);
  uint16_t *s = model_add(&in, &seed, "x.down_proj.weight_scale", LLRT_BF16, 2, n, g);
  model_add(&in, &seed, "x.down_proj.weight_shape", LLRT_I64, 1, 2);
  model_add(&in, &seed, "x.embed.weight", LLRT_BF16, 2, 3, 5);
  llrt_recipe_params params = {
      .config = packed_config, .config_bytes = sizeof packed_config - 1, .tp = tp};
  repacked made[MOST_RANKS];
  for (int r = 0; r < tp; r++) {
    rank_part part = draws_part(n, machete ? 128 : COLUMNS, tp, r);
    uint8_t *codes = calloc((size_t)part.room * k, 1);
    uint16_t *scales = calloc((size_t)part.room * g, 2);
    params.rank = r;
    made[r] = model_repack(device, recipe, &in, &params);
    for (int j = part.begin; j < part.end; j++) {
      for (int i = 0; i < k; i++)
        codes[i * part.room + j - part.begin] = q[(j * k + i) / 8] >> 4 * (i % 8) & 15;
      for (int i = 0; i < g; i++) scales[i * part.room + j - part.begin] = s[j * g + i];
    }
    if (machete) {
      expect_machete(&made[r], layer, "weight_packed", codes, k, part.room);
      expect_named(&made[r], layer, "weight_scale", LLRT_B16, scales, (size_t)part.room * g * 2);
    } else {
      expect_weights(&made[r], layer, "weight_packed", codes, k, part.room);
      expect_scales(&made[r], layer, "weight_scale", LLRT_B16, scales, g, part.room);
    }
    free(codes);
    free(scales);
  }
  model_expect_back(device, recipe, &in, &params, made, tp);
  for (int r = 0; r < tp; r++) repacked_free(&made[r]);
  model_free(&in);
}

Test(recipe_marlin, compressed_tensors) {
  opened_device at = open_device("host");
  uint64_t state;
  check_packed(at.device, false, 192, 160, 5, 1, 41);
  check_packed(at.device, true, 384, 192, 6, 1, 42);
  for (shape_draws draws = draws_begin(DRAWS); draws_next(&draws, &state);) {
    int tp = draws_from(&state, 1, MOST_RANKS), a = draws_from(&state, 1, 6);
    int b = draws_from(&state, 1, 5), groups = draws_from(&state, 0, 2) ? b : 1;
    check_packed(at.device, false, COLUMNS * a, 32 * b, groups, tp, state);
    check_packed(at.device, true, 128 * a, 64 * b, groups, tp, state);
  }
  close_device(&at);
}
