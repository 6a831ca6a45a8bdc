/* NVFP4 of bf16: every byte is that of a plain loop, which follows ModelOpt's NVFP4QTensor.quantize
 * on a GPU, or compressed-tensors' generate_gparam, calculate_qparams and quantize; rows of odd
 * lengths, pads, ranks, several layers at once. */
#include "tests/recipe/codes.h"
#include "tests/recipe/draws.h"
#include "tests/recipe/model.h"

#include <math.h>
#include <stdlib.h>

enum { GROUP = 16, MOST_LAYERS = 3, BLOCK = 128 };

/* What a checkpoint's tensor becomes: rows of bytes, rows of scales, and the tensor's scale. */
typedef struct quantised {
  uint8_t *q, *s;
  float d;
} quantised;

static quantised quantise(const float *x, int n, int k) {
  quantised made = {malloc((size_t)n * k / 2), malloc((size_t)n * k / GROUP), 0};
  made.d = codes_amax(x, n, k, k) * (1.0F / 2688);
  for (int i = 0; i < n * k; i++) {
    float most = codes_amax(x + i / GROUP * GROUP, 1, GROUP, GROUP) / (6 * made.d);
    uint8_t scale = codes_e4m3(most == 0 ? 1 : most);
    float v = x[i] / (codes_of_e4m3(scale) * made.d);
    uint8_t code = isnan(v) ? 7 : v < 0 ? codes_e2m1(v) : codes_e2m1(fabsf(v));
    made.s[i / GROUP] = scale;
    made.q[i / 2] = (uint8_t)(i % 2 ? made.q[i / 2] | code << 4 : code);
  }
  return made;
}

static float to_bf16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return codes_of_bf16((uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
}

/* As compressed-tensors does it, whose scales of the tensor divide, and are of bf16. */
static quantised quantise_dividing(const float *x, int n, int k) {
  quantised made = {malloc((size_t)n * k / 2), malloc((size_t)n * k / GROUP), 0};
  made.d = to_bf16(to_bf16(1 / codes_amax(x, n, k, k)) * 2688);
  for (int i = 0; i < n * k; i++) {
    float most = to_bf16(codes_amax(x + i / GROUP * GROUP, 1, GROUP, GROUP) * (1.0F / 6));
    uint8_t scale = codes_e4m3(fminf(made.d * most, 448));
    if (scale == 0) scale = codes_e4m3(0.125F);
    float v = x[i] / (codes_of_e4m3(scale) / made.d);
    uint8_t code = v < 0 ? codes_e2m1(v) : codes_e2m1(fabsf(v));
    made.s[i / GROUP] = scale;
    made.q[i / 2] = (uint8_t)(i % 2 ? made.q[i / 2] | code << 4 : code);
  }
  return made;
}

static void quantised_free(quantised *made) {
  free(made->q);
  free(made->s);
}

/* Weights with groups of zeros, with zeros of both signs, and groups whose scale e4m3 has no number
 * for. Ownership: free. */
static float *add_weight(model *in, uint64_t *state, const char *name, int n, int k) {
  uint16_t *code = model_add(in, state, name, LLRT_BF16, 2, n, k);
  float *value = malloc((size_t)n * k * sizeof *value);
  for (int i = 0; i < n * k; i++) {
    uint64_t group = (uint64_t)(i / GROUP) * 7 % 23;
    int exponent = (group == 1 ? 60 : 110) + (int)model_random(state, 14);
    bool zero = group == 2 || model_random(state, 9) == 0;
    code[i] = (uint16_t)((code[i] & (zero ? 0x8000 : 0x807f)) | (zero ? 0 : exponent << 7));
    value[i] = codes_of_bf16(code[i]);
  }
  return value;
}

/* Rows begin .. end - 1 of what was made, in the order of 128 x 4, behind zeros. */
static uint8_t *swizzle(const quantised *made, int begin, int end, int groups, int rows) {
  int across = (groups + 3) / 4, down = (rows + BLOCK - 1) / BLOCK;
  uint8_t *s = calloc((size_t)down * across, 512);
  for (int r = begin; r < end; r++)
    for (int g = 0; g < groups; g++) {
      int m = r - begin;
      s[(m / BLOCK * across + g / 4) * 512 + m % 32 * 16 + m % BLOCK / 32 * 4 + g % 4] =
          made->s[r * groups + g];
    }
  return s;
}

static void expect(const repacked *out, const char *name, const quantised *made, int n, int k) {
  char scale[80];
  model_expect(out, name, LLRT_U8, made->q, (size_t)n * k / 2);
  snprintf(scale, sizeof scale, "%s_scale", name);
  model_expect(out, scale, LLRT_E4M3, made->s, (size_t)n * k / GROUP);
  strcat(scale, "_2");
  model_expect(out, scale, LLRT_F32, &made->d, sizeof made->d);
}

static int launches_of(const repacked *out) {
  llrt_repack_info info = {0};
  cr_assert_eq(llrt_repack_get_info(out->plan, &info), LLRT_OK);
  return info.launches;
}

/* Layers of n x k, two of them or three by as many launches. */
static void check(const char *device_name, int n, int k, uint64_t seed) {
  opened_device at = open_device(device_name);
  llrt_recipe_params params = {0};
  int launches = 0;
  for (int layers = 1; layers <= MOST_LAYERS; layers++) {
    model in = {0};
    uint64_t state = seed + (uint64_t)layers;
    float *weight[MOST_LAYERS];
    char name[64];
    for (int l = 0; l < layers; l++) {
      snprintf(name, sizeof name, "layers.%d.o_proj.weight", l);
      weight[l] = add_weight(&in, &state, name, n, k);
    }
    repacked out = model_repack(at.device, "bf16.nvfp4", &in, &params);
    if (layers == 2) launches = launches_of(&out);
    if (layers > 2) cr_expect_eq(launches_of(&out), launches);
    for (int l = 0; l < layers; l++) {
      quantised made = quantise(weight[l], n, k);
      snprintf(name, sizeof name, "layers.%d.o_proj.weight", l);
      expect(&out, name, &made, n, k);
      quantised_free(&made);
      free(weight[l]);
    }
    repacked_free(&out);
    model_free(&in);
  }
  close_device(&at);
}

Test(recipe_nvfp4, host) {
  check("host", 40, 192, 3);
  check("host", 1, 16, 5);
  check("host", 129, 48, 7);
}
Test(recipe_nvfp4, cuda) { check("cuda-emu:sm_90a", 33, 96, 9); }
Test(recipe_nvfp4, hip) { check("hip-emu:gfx942", 20, 64, 11); }

static void check_dividing(const char *device_name, int n, int k) {
  opened_device at = open_device(device_name);
  model in = {0};
  uint64_t state = 17;
  llrt_recipe_params params = {0};
  float *weight = add_weight(&in, &state, "m.q_proj.weight", n, k);
  quantised made = quantise_dividing(weight, n, k);
  repacked out = model_repack(at.device, "bf16.nvfp4-compressed-tensors", &in, &params);
  model_expect(&out, "m.q_proj.weight_packed", LLRT_U8, made.q, (size_t)n * k / 2);
  model_expect(&out, "m.q_proj.weight_scale", LLRT_E4M3, made.s, (size_t)n * k / GROUP);
  model_expect(&out, "m.q_proj.weight_global_scale", LLRT_F32, &made.d, sizeof made.d);
  quantised_free(&made);
  free(weight);
  repacked_free(&out);
  model_free(&in);
  close_device(&at);
}

Test(recipe_nvfp4, dividing) {
  check_dividing("host", 40, 192);
  check_dividing("host", 129, 48);
}
Test(recipe_nvfp4, dividing_on_cuda) { check_dividing("cuda-emu:sm_90a", 33, 96); }

/* Scales as 128x4, of ranks, whose last one is padded: all have the whole tensor's scale. */
static void check_swizzled(const char *device_name, int n, int k, int tp) {
  opened_device at = open_device(device_name);
  model in = {0};
  uint64_t state = 13;
  float *weight = add_weight(&in, &state, "m.q_proj.weight", n, k);
  quantised made = quantise(weight, n, k);
  int blocks = (n + BLOCK - 1) / BLOCK, part = (blocks + tp - 1) / tp * BLOCK,
      rows = part < n ? part : n;
  for (int rank = 0; rank < tp; rank++) {
    llrt_recipe_params params = {.tp = tp, .rank = rank};
    repacked out = model_repack(at.device, "bf16.nvfp4-128x4", &in, &params);
    int begin = rank * part < n ? rank * part : n, end = begin + part < n ? begin + part : n;
    uint8_t *q = calloc((size_t)rows * k / 2, 1), *s = swizzle(&made, begin, end, k / GROUP, rows);
    memcpy(q, made.q + (size_t)begin * k / 2, (size_t)(end - begin) * k / 2);
    model_expect(&out, "m.q_proj.weight", LLRT_U8, q, (size_t)rows * k / 2);
    model_expect(&out, "m.q_proj.weight_scale", LLRT_E4M3, s,
                 (size_t)((rows + 127) / 128 * ((k / GROUP + 3) / 4) * 512));
    if (begin < end)
      model_expect(&out, "m.q_proj.weight_scale_2", LLRT_F32, &made.d, sizeof made.d);
    free(q);
    free(s);
    repacked_free(&out);
  }
  quantised_free(&made);
  free(weight);
  model_free(&in);
  close_device(&at);
}

Test(recipe_nvfp4, swizzled) {
  check_swizzled("host", 200, 208, 1);
  check_swizzled("host", 128, 64, 1);
}
Test(recipe_nvfp4, ranks) { check_swizzled("host", 200, 80, 2); }
Test(recipe_nvfp4, random_shapes) {
  uint64_t state;
  for (shape_draws draws = draws_begin(1); draws_next(&draws, &state);) {
    int n = draws_from(&state, 1, 400), k = 16 * draws_from(&state, 1, 20);
    check_swizzled("host", n, k, draws_from(&state, 1, 4));
    check_dividing("host", n, k);
    check("host", n, k, state);
  }
}
Test(recipe_nvfp4, swizzled_on_cuda) { check_swizzled("cuda-emu:sm_90a", 130, 80, 1); }

/* ---- what is refused ---- */

static void expect_unread(const char *row, const char *said) {
  char json[512];
  llrt_recipe *recipe = (llrt_recipe *)1;
  snprintf(json, sizeof json, "{\"recipe\": 1, \"name\": \"t\", \"rows\": [{%s}]}", row);
  cr_expect_neq(llrt_recipe_load(json, strlen(json), &recipe), LLRT_OK);
  cr_expect_null(recipe);
  cr_expect(strstr(llrt_last_error(), said), "%s\n  not %s", llrt_last_error(), said);
}

#define IN "\"in\": {\"x\": \"a: f32[m, n]\"}, \"out\": {\"y\": \"b: f32[m, n]\"}, "

Test(recipe_nvfp4, refused) {
  expect_unread(IN "\"compute\": \"y = x / a\", \"largest\": {\"a\": 3}",
                "rows[0].largest.a: an expression");
  expect_unread(IN "\"compute\": \"y = x / a\", \"largest\": {\"A\": \"x\"}",
                "rows[0].largest.A: no name");
  expect_unread(IN "\"compute\": \"y = x / a\", \"largest\": {\"a\": \"abs(z)\"}",
                "rows[0].largest.a: line 2:");
  expect_unread(IN "\"compute\": \"y = x\", \"largest\": {\"x\": \"x\"}",
                "rows[0].compute: line 1:");
  expect_unread(IN
                "\"compute\": \"y = x\", \"largest\": {\"a\": \"x\", \"b\": \"x\", \"c\": \"x\"}",
                "more than 2 of them");
  expect_unread("\"in\": {\"x\": \"a: f32[n]\"}, \"out\": {\"x\": \"b: f32[n]\"}, "
                "\"largest\": {\"a\": \"x\"}",
                "it is for rows with compute");
}

Test(recipe_nvfp4, no_inverse) {
  const llrt_named_tensor tensor = {
      .name = "l.o_proj.weight", .dtype = LLRT_BF16, .rank = 2, .shape = {8, 32}};
  llrt_recipe_params params = {.inverse = 1};
  llrt_recipe *recipe;
  llrt_repack *plan;
  cr_assert_eq(llrt_recipe_load_named("bf16.nvfp4", &recipe), LLRT_OK);
  cr_expect_eq(llrt_recipe_bind(NULL, recipe, &tensor, 1, &params, &plan), LLRT_UNSUPPORTED);
  cr_expect(strstr(llrt_last_error(), "l.o_proj.weight"), "%s", llrt_last_error());
  cr_expect(strstr(llrt_last_error(), "rows[0].compute: the row has no inverse: it computes"), "%s",
            llrt_last_error());
  llrt_recipe_destroy(&recipe);
}
