/* Recipes whose rows compute: every byte of what they make is that of a plain loop, which follows
 * the arithmetic that the recipes name (DeepGEMM's per_block_cast_to_fp8, vLLM's
 * dynamic_per_token_scaled_fp8_quant and requant_weight_ue8m0, torchao's to_mx with RCEIL). */
#include "tests/recipe/codes.h"
#include "tests/recipe/model.h"

#include <math.h>
#include <stdlib.h>

enum { E = 2, BLOCK = 128 };

/* ---- blocks of 128 x 128 ---- */

/* Quantises rows begin .. end - 1, columns from .. to - 1 of x[][pitch] into what follows q, s. */
static void quantise_blocks(const float *x, int pitch, int begin, int end, int from, int to,
                            uint8_t **q, float **s) {
  for (int r = begin; r < end; r++)
    for (int c = from; c < to; c++) {
      float *scale = *s + (r - begin) / BLOCK * ((to - from) / BLOCK) + (c - from) / BLOCK;
      if (r % BLOCK == 0 && c % BLOCK == 0)
        *scale = fmaxf(codes_amax(x + r * pitch + c, BLOCK, BLOCK, pitch), 1e-4F) * (1.0F / 448);
      *(*q)++ = codes_e4m3(x[r * pitch + c] * (1 / *scale));
    }
  *s += (end - begin) / BLOCK * ((to - from) / BLOCK);
}

/* Matrices of I x H: whole blocks, I of tp of them. */
static void check_experts(const char *device_name, int I, int H, int tp) {
  static const char config[] = "{\"num_experts\": 2}";
  static const char *const parts[] = {"gate_proj", "up_proj", "down_proj"};
  opened_device at = open_device(device_name);
  model in = {0};
  uint64_t state = 11;
  float *weight[E][3];
  for (int e = 0; e < E; e++)
    for (int p = 0; p < 3; p++) {
      char name[96];
      snprintf(name, sizeof name, "model.layers.7.mlp.experts.%d.%s.weight", e, parts[p]);
      weight[e][p] = codes_add_weight(&in, &state, name, p < 2 ? I : H, p < 2 ? H : I, BLOCK);
    }
  model_add(&in, &state, "model.norm.weight", LLRT_BF16, 1, H);
  for (int rank = 0; rank < tp; rank++) {
    llrt_recipe_params params = {
        .config = config, .config_bytes = sizeof config - 1, .tp = tp, .rank = rank};
    repacked made = model_repack(at.device, "bf16-experts.fp8-block", &in, &params);
    int part = I / tp, begin = rank * part;
    uint8_t *q = malloc((size_t)2 * E * I * H), *first = q;
    float *s = malloc((size_t)2 * E * I * H / BLOCK), *scales = s;
    for (int e = 0; e < E; e++)
      for (int g = 0; g < 2; g++)
        quantise_blocks(weight[e][g], H, begin, begin + part, 0, H, &q, &s);
    model_expect(&made, "model.layers.7.mlp.experts.w13_weight", LLRT_E4M3, first,
                 (size_t)(q - first));
    model_expect(&made, "model.layers.7.mlp.experts.w13_weight_scale_inv", LLRT_F32, scales,
                 (size_t)(s - scales) * sizeof *s);
    q = first, s = scales;
    for (int e = 0; e < E; e++) quantise_blocks(weight[e][2], I, 0, H, begin, begin + part, &q, &s);
    model_expect(&made, "model.layers.7.mlp.experts.w2_weight", LLRT_E4M3, first,
                 (size_t)(q - first));
    model_expect(&made, "model.layers.7.mlp.experts.w2_weight_scale_inv", LLRT_F32, scales,
                 (size_t)(s - scales) * sizeof *s);
    llrt_repack_info info = {0};
    cr_assert_eq(llrt_repack_get_info(made.plan, &info), LLRT_OK);
    /* Two programs, a copy of what is kept and one of addresses. */
    cr_expect_eq(info.launches, 4, "%s: %d launches", device_name, info.launches);
    free(first);
    free(scales);
    repacked_free(&made);
  }
  for (int i = 0; i < 3 * E; i++) free(weight[i / 3][i % 3]);
  model_free(&in);
  close_device(&at);
}

Test(recipe_quantise, experts) {
  uint64_t state = 63;
  check_experts("host", 256, 512, 1);
  for (int i = 0; i < 2; i++)
    check_experts("host", BLOCK * (1 + (int)model_random(&state, 3)),
                  BLOCK * (1 + (int)model_random(&state, 4)), 1);
}
Test(recipe_quantise, experts_of_two_ranks) {
  check_experts("host", 256, 512, 2);
  check_experts("host", 512, 128, 2);
}
Test(recipe_quantise, experts_on_cuda) { check_experts("cuda-emu:sm_90a", 128, 256, 1); }

/* ---- linear layers ---- */

enum { N = 40, K = 192, GROUP = 32 };

static void quantise_rows(const float *x, uint8_t *q, float *s) {
  for (int r = 0; r < N; r++) {
    s[r] = fmaxf(codes_amax(x + r * K, 1, K, K) / 448, 1.0F / 229376);
    for (int c = 0; c < K; c++) q[r * K + c] = codes_e4m3(x[r * K + c] / s[r]);
  }
}

static void quantise_groups(const float *x, bool four, uint8_t *q, uint8_t *s) {
  for (int i = 0; i < N * K; i++) {
    float most = codes_amax(x + i / GROUP * GROUP, 1, GROUP, GROUP);
    uint8_t code = most > 0 ? codes_e8m0_up(most * (four ? 1.0F / 6 : 1.0F / 448)) : 0;
    float value = x[i] / ldexpf(1, code - 127);
    s[i / GROUP] = code;
    if (!four) q[i] = codes_e4m3(value);
    else q[i / 2] = (uint8_t)(i % 2 ? q[i / 2] | codes_e2m1(value) << 4 : codes_e2m1(value));
  }
}

static void check_linear(const char *device_name, int layers) {
  opened_device at = open_device(device_name);
  static uint8_t q[N * K], codes[N * K / GROUP];
  static float scales[N];
  model in = {0};
  uint64_t state = 13;
  float *weight[3];
  llrt_recipe_params params = {0};
  char name[64], packed[80];
  for (int l = 0; l < layers; l++) {
    snprintf(name, sizeof name, "layers.%d.o_proj.weight", l);
    weight[l] = codes_add_weight(&in, &state, name, N, K, BLOCK);
  }
  repacked rows = model_repack(at.device, "bf16.fp8-channel", &in, &params),
           eight = model_repack(at.device, "bf16.mxfp8", &in, &params),
           four = model_repack(at.device, "bf16.mxfp4", &in, &params);
  for (int l = 0; l < layers; l++) {
    snprintf(name, sizeof name, "layers.%d.o_proj.weight", l);
    quantise_rows(weight[l], q, scales);
    model_expect(&rows, name, LLRT_E4M3, q, sizeof q);
    quantise_groups(weight[l], false, q, codes);
    model_expect(&eight, name, LLRT_E4M3, q, sizeof q);
    snprintf(packed, sizeof packed, "%s_scale", name);
    model_expect(&rows, packed, LLRT_F32, scales, sizeof scales);
    model_expect(&eight, packed, LLRT_U8, codes, sizeof codes);
    quantise_groups(weight[l], true, q, codes);
    model_expect(&four, packed, LLRT_U8, codes, sizeof codes);
    snprintf(packed, sizeof packed, "%s_packed", name);
    model_expect(&four, packed, LLRT_U8, q, sizeof q / 2);
    free(weight[l]);
  }
  repacked_free(&rows);
  repacked_free(&eight);
  repacked_free(&four);
  model_free(&in);
  close_device(&at);
}

Test(recipe_quantise, linear) { check_linear("host", 3); }
Test(recipe_quantise, linear_alone) { check_linear("host", 1); }
Test(recipe_quantise, linear_on_cuda) { check_linear("cuda-emu:sm_90a", 2); }
Test(recipe_quantise, linear_on_hip) { check_linear("hip-emu:gfx942", 2); }

/* ---- DeepGEMM's UE8M0 ---- */

/* Of one expert's part: new values behind *q, and scales of rows at, at + 1, … of `all`, of which
 * four along K lie in a word, rows beside each other. */
static void requantise(const uint8_t *w, const float *f, int rows, int columns, int at, int all,
                       uint8_t **q, uint8_t *s) {
  float *x = malloc((size_t)rows * columns * sizeof *x);
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < columns; c++)
      x[r * columns + c] =
          codes_of_e4m3(w[r * columns + c]) * f[r / BLOCK * (columns / BLOCK) + c / BLOCK];
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < columns; c++) {
      int k = c / BLOCK;
      uint8_t *code = &s[(k / 4 * all + at + r) * 4 + k % 4];
      if (c % BLOCK == 0)
        *code = codes_e8m0_up(
            fmaxf(codes_amax(x + r / BLOCK * BLOCK * columns + c, BLOCK, BLOCK, columns), 1e-4F) *
            (1.0F / 448));
      *(*q)++ = codes_e4m3(x[r * columns + c] * (1 / ldexpf(1, *code - 127)));
    }
  free(x);
}

Test(recipe_quantise, ue8m0) {
  static const char config[] =
      "{\"n_routed_experts\": 2, \"quantization_config\": {\"quant_method\": \"fp8\"}}";
  static const char *const parts[] = {"gate_proj", "up_proj", "down_proj"};
  enum { H = 512 };
  opened_device at = open_device("host");
  model in = {0};
  uint64_t state = 17;
  uint8_t *w[E][3], *q = malloc(2 * E * BLOCK * H), *first = q, *s = malloc(2 * E * BLOCK * 4);
  float *f[E][3];
  char name[96];
  for (int e = 0; e < E; e++)
    for (int p = 0; p < 3; p++) {
      int rows = BLOCK, columns = H;
      snprintf(name, sizeof name, "model.layers.7.mlp.experts.%d.%s.weight", e, parts[p]);
      w[e][p] = model_add(&in, &state, name, LLRT_E4M3, 2, rows, columns);
      for (int i = 0; i < rows * columns; i++) w[e][p][i] &= 0xf7; /* no NaN */
      strcat(name, "_scale_inv");
      f[e][p] = model_add(&in, &state, name, LLRT_F32, 2, rows / BLOCK, columns / BLOCK);
      for (int i = 0; i < columns / BLOCK; i++)
        f[e][p][i] = 1e-4F * (float)(1 + model_random(&state, 1000));
    }
  llrt_recipe_params params = {.config = config, .config_bytes = sizeof config - 1};
  repacked made = model_repack(at.device, "deepseek-fp8.grouped-ue8m0", &in, &params);
  for (int e = 0; e < E; e++)
    for (int g = 0; g < 2; g++)
      requantise(w[e][g], f[e][g], BLOCK, H, g * BLOCK, 2 * BLOCK, &q, s + e * 2 * BLOCK * 4);
  model_expect(&made, "model.layers.7.mlp.experts.w13_weight", LLRT_E4M3, first,
               (size_t)(q - first));
  model_expect(&made, "model.layers.7.mlp.experts.w13_weight_scale_inv", LLRT_I32, s,
               2 * E * BLOCK * 4);
  q = first;
  for (int e = 0; e < E; e++)
    requantise(w[e][2], f[e][2], BLOCK, H, 0, BLOCK, &q, s + e * BLOCK * 4);
  model_expect(&made, "model.layers.7.mlp.experts.w2_weight", LLRT_E4M3, first,
               (size_t)(q - first));
  model_expect(&made, "model.layers.7.mlp.experts.w2_weight_scale_inv", LLRT_I32, s, E * BLOCK * 4);
  free(first);
  free(s);
  repacked_free(&made);
  model_free(&in);
  close_device(&at);
}

/* ---- what is refused ---- */

static void expect_unread(const char *row, const char *said) {
  char json[512];
  llrt_recipe *recipe = (llrt_recipe *)1;
  snprintf(json, sizeof json, "{\"recipe\": 1, \"name\": \"t\", \"rows\": [{%s}]}", row);
  cr_expect_neq(llrt_recipe_load(json, strlen(json), &recipe), LLRT_OK);
  cr_expect_null(recipe);
  cr_expect(strstr(llrt_last_error(), said), "%s\n  not %s", llrt_last_error(), said);
}

#define IN "\"in\": {\"x\": \"a: f32[m, n]\"}, "

Test(recipe_quantise, refused) {
  expect_unread(IN "\"out\": {\"y\": \"b: f32[m]\"}, \"compute\": \"y = sum(x, z)\"", "z");
  expect_unread(IN "\"out\": {\"y\": \"b: f32[m]\"}, \"compute\": \"y = sum(x, z)\"",
                "rows[0].compute: line 2:");
  expect_unread(IN "\"out\": {\"y\": \"b: f32[m, o]\"}, \"compute\": \"y = x\"",
                "axis o is no input's");
  expect_unread(IN "\"out\": {\"y\": \"b: f32[m]\"}, \"compute\": 3", "an expression's body");
  expect_unread(IN "\"compute\": \"y = x\"", "in and out");
  expect_unread(IN "\"out\": {\"y\": \"b: f32[m, n]\"}, \"maps\": {\"x\": [{\"xor\": 1}]}, "
                   "\"compute\": \"y = x\"",
                "maps are for rows without compute");
  expect_unread(IN "\"out\": {\"y\": \"b: f32[m, n]\"}", "`out` has no tensor of this key");
}

Test(recipe_quantise, no_inverse) {
  const llrt_named_tensor tensor = {
      .name = "l.o_proj.weight", .dtype = LLRT_BF16, .rank = 2, .shape = {N, K}};
  llrt_recipe_params params = {.inverse = 1};
  llrt_recipe *recipe;
  llrt_repack *plan;
  cr_assert_eq(llrt_recipe_load_named("bf16.mxfp8", &recipe), LLRT_OK);
  cr_expect_eq(llrt_recipe_bind(NULL, recipe, &tensor, 1, &params, &plan), LLRT_UNSUPPORTED);
  cr_expect(strstr(llrt_last_error(), "l.o_proj.weight"), "%s", llrt_last_error());
  cr_expect(strstr(llrt_last_error(), "the row has no inverse: it computes"), "%s",
            llrt_last_error());
  llrt_recipe_destroy(&recipe);
}
