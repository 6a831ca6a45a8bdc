/* Recipes of 8-bit weights and of block scales, and those of nvfp4: every byte, and back. */
#include "tests/recipe/matrix.h"
#include "tests/recipe/model.h"

#include <stdlib.h>

/* ---- nvfp4 ---- */

static void check_nvfp4(llrt_device *device, bool modelopt, int n, int k, uint64_t seed) {
  model in = {0};
  const char *recipe =
      modelopt ? "modelopt-nvfp4.scale-128x4" : "compressed-tensors-nvfp4.scale-128x4";
  const char *weight = modelopt ? "m.up_proj.weight" : "m.up_proj.weight_packed";
  uint8_t *scales = model_add(&in, &seed, "m.up_proj.weight_scale", LLRT_E4M3, 2, n, k / 16);
  void *values = model_add(&in, &seed, weight, LLRT_U8, 2, n, k / 2);
  model_add(&in, &seed, "m.up_proj.weight_scale_2", LLRT_F32, 0);
  llrt_recipe_params params = {0};
  repacked made = model_repack(device, recipe, &in, &params);
  matrix m =
      matrix_cut(scales, k / 16, 0, n, 0, k / 16, (n + 127) / 128 * 128, (k / 16 + 3) / 4 * 4);
  matrix_scale_128x4(&m);
  model_expect(&made, "m.up_proj.weight_scale", LLRT_E4M3, m.byte, (size_t)m.rows * m.columns);
  model_expect(&made, weight, LLRT_U8, values, (size_t)n * k / 2);
  model_expect_back(device, recipe, &in, &params, &made, 1);
  repacked_free(&made);
  model_free(&in);
  free(m.byte);
}

Test(recipe_blocks, nvfp4) {
  opened_device at = open_device("host");
  check_nvfp4(at.device, true, 200, 224, 1); /* pads along both */
  check_nvfp4(at.device, false, 256, 64, 2);
  uint64_t state = 57;
  for (int i = 0; i < 6; i++) {
    int n = 1 + (int)model_random(&state, 300), k = 16 * (1 + (int)model_random(&state, 20));
    check_nvfp4(at.device, i % 2, n, k, state);
  }
  close_device(&at);
}

/* ---- DeepSeek ---- */

enum { E = 3, I = 384, H = 256 };

/* Experts' gate above up, of rank `rank` of `tp`; rows and columns of `block` bytes. */
static uint8_t *stacked(uint8_t *const *gate, uint8_t *const *up, int rows, int columns, int tp,
                        int rank) {
  int room = (rows + tp - 1) / tp, begin = rank * room,
      end = begin + room < rows ? begin + room : rows;
  uint8_t *all = calloc((size_t)E * 2 * room * columns, 1);
  for (int e = 0; e < E; e++)
    for (int g = 0; g < 2; g++)
      memcpy(all + (e * 2 + g) * room * columns, (g ? up : gate)[e] + begin * columns,
             (size_t)(end - begin) * columns);
  return all;
}

static void check_deepseek(llrt_device *device, int tp, uint64_t seed) {
  static const char config[] =
      "{\"n_routed_experts\": 3, \"quantization_config\": {\"quant_method\": \"fp8\"}}";
  static const char *const parts[] = {"gate_proj", "up_proj", "down_proj"};
  model in = {0};
  uint8_t *weight[3][E], *scale[3][E];
  char name[128];
  for (int e = 0; e < E; e++)
    for (int p = 0; p < 3; p++) {
      int rows = p < 2 ? I : H, columns = p < 2 ? H : I;
      snprintf(name, sizeof name, "model.layers.5.mlp.experts.%d.%s.weight", e, parts[p]);
      weight[p][e] = model_add(&in, &seed, name, LLRT_E4M3, 2, rows, columns);
      snprintf(name, sizeof name, "model.layers.5.mlp.experts.%d.%s.weight_scale_inv", e, parts[p]);
      scale[p][e] = model_add(&in, &seed, name, LLRT_F32, 2, rows / 128, columns / 128);
    }
  llrt_recipe_params params = {.config = config, .config_bytes = sizeof config - 1, .tp = tp};
  repacked made[2];
  for (int r = 0; r < tp; r++) {
    params.rank = r;
    made[r] = model_repack(device, "deepseek-fp8.grouped", &in, &params);
    int blocks = (I / 128 + tp - 1) / tp;
    /* Rows are cut by whole blocks: as rows of 128 * H bytes. */
    uint8_t *values = stacked(weight[0], weight[1], I / 128, 128 * H, tp, r);
    uint8_t *scales = stacked(scale[0], scale[1], I / 128, H / 128 * 4, tp, r);
    model_expect(&made[r], "model.layers.5.mlp.experts.w13_weight", LLRT_E4M3, values,
                 (size_t)E * 2 * blocks * 128 * H);
    model_expect(&made[r], "model.layers.5.mlp.experts.w13_weight_scale_inv", LLRT_F32, scales,
                 (size_t)E * 2 * blocks * (H / 128) * 4);
    free(values);
    free(scales);
    int room = blocks * 128, end = (r + 1) * room < I ? (r + 1) * room : I;
    values = calloc((size_t)E * H * room, 1);
    for (int e = 0; e < E; e++)
      for (int h = 0; h < H; h++)
        memcpy(values + (e * H + h) * room, weight[2][e] + h * I + r * room,
               (size_t)(end - r * room));
    model_expect(&made[r], "model.layers.5.mlp.experts.w2_weight", LLRT_E4M3, values,
                 (size_t)E * H * room);
    free(values);
  }
  model_expect_back(device, "deepseek-fp8.grouped", &in, &params, made, tp);
  for (int r = 0; r < tp; r++) repacked_free(&made[r]);
  model_free(&in);
}

Test(recipe_blocks, deepseek) {
  opened_device at = open_device("host");
  check_deepseek(at.device, 1, 3);
  check_deepseek(at.device, 2, 4); /* three blocks for two ranks */
  close_device(&at);
}

/* ---- AITER ---- */

/* shuffle_weight(x, (16, 16)) of one-byte elements: view(N/16, 16, K/32, 2, 16), whose axes 0 2 3 1
 * 4 follow each other. */
static uint8_t *aiter(const uint8_t *x, int n, int k) {
  uint8_t *out = malloc((size_t)n * k);
  for (int r = 0; r < n; r++)
    for (int c = 0; c < k; c++) {
      int at = r / 16;
      at = at * (k / 32) + c / 32;
      at = at * 2 + c / 16 % 2;
      at = at * 16 + r % 16;
      out[at * 16 + c % 16] = x[r * k + c];
    }
  return out;
}

static void check_aiter(llrt_device *device, int n, int k, uint64_t state) {
  model in = {0};
  uint8_t *x = model_add(&in, &state, "l.o_proj.weight", LLRT_E4M3FNUZ, 2, n, k);
  model_add(&in, &state, "l.norm.weight", LLRT_BF16, 1, n); /* of another rank and type: kept */
  llrt_recipe_params params = {0};
  repacked made = model_repack(device, "fp8.aiter-16x16", &in, &params);
  uint8_t *wanted = aiter(x, n, k);
  model_expect(&made, "l.o_proj.weight", LLRT_B8, wanted, (size_t)n * k);
  model_expect_back(device, "fp8.aiter-16x16", &in, &params, &made, 1);
  free(wanted);
  repacked_free(&made);
  model_free(&in);
}

Test(recipe_blocks, aiter) {
  opened_device at = open_device("host");
  uint64_t state = 5;
  check_aiter(at.device, 48, 192, state);
  for (int i = 0; i < 4; i++)
    check_aiter(at.device, 16 * (1 + (int)model_random(&state, 9)),
                64 * (1 + (int)model_random(&state, 5)), state);
  close_device(&at);
}
