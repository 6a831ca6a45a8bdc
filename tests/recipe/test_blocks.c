/* Recipes of 8-bit weights and of block scales, and those of nvfp4: every byte, and back. */
#include "tests/recipe/draws.h"
#include "tests/recipe/matrix.h"
#include "tests/recipe/model.h"

#include <stdlib.h>

/* ---- nvfp4 ---- */

enum { MOST_RANKS = 4 };

static void check_nvfp4(llrt_device *device, bool modelopt, int n, int k, int tp, uint64_t seed) {
  model in = {0};
  const char *recipe =
      modelopt ? "modelopt-nvfp4.scale-128x4" : "compressed-tensors-nvfp4.scale-128x4";
  const char *weight = modelopt ? "m.up_proj.weight" : "m.up_proj.weight_packed";
  uint8_t *scales = model_add(&in, &seed, "m.up_proj.weight_scale", LLRT_E4M3, 2, n, k / 16);
  void *values = model_add(&in, &seed, weight, LLRT_U8, 2, n, k / 2);
  model_add(&in, &seed, "m.up_proj.weight_scale_2", LLRT_F32, 0);
  llrt_recipe_params params = {.tp = tp};
  repacked made[MOST_RANKS];
  for (int r = 0; r < tp; r++) {
    rank_part p = draws_part(n, 128, tp, r);
    params.rank = r;
    made[r] = model_repack(device, recipe, &in, &params);
    matrix m = matrix_cut(scales, k / 16, p.begin, p.end, 0, k / 16, (p.room + 127) / 128 * 128,
                          (k / 16 + 3) / 4 * 4),
           w = matrix_cut(values, k / 2, p.begin, p.end, 0, k / 2, p.room, k / 2);
    matrix_scale_128x4(&m);
    model_expect(&made[r], "m.up_proj.weight_scale", LLRT_E4M3, m.byte, (size_t)m.rows * m.columns);
    model_expect(&made[r], weight, LLRT_U8, w.byte, (size_t)p.room * k / 2);
    free(m.byte);
    free(w.byte);
  }
  model_expect_back(device, recipe, &in, &params, made, tp);
  for (int r = 0; r < tp; r++) repacked_free(&made[r]);
  model_free(&in);
}

Test(recipe_blocks, nvfp4) {
  opened_device at = open_device("host");
  uint64_t state;
  check_nvfp4(at.device, true, 200, 224, 1, 1); /* pads along both */
  check_nvfp4(at.device, false, 256, 64, 1, 2);
  for (shape_draws draws = draws_begin(3); draws_next(&draws, &state);) {
    int n = draws_from(&state, 1, 600), k = 16 * draws_from(&state, 1, 20);
    check_nvfp4(at.device, draws_from(&state, 0, 1), n, k, draws_from(&state, 1, MOST_RANKS),
                state);
  }
  close_device(&at);
}

/* ---- DeepSeek ---- */

enum { MOST_EXPERTS = 4, PARTS = 3 };

typedef struct experts {
  int n, I, H;
  uint8_t *weight[PARTS][MOST_EXPERTS], *scale[PARTS][MOST_EXPERTS];
} experts;

static int blocks(int n) { return (n + 127) / 128; }

static experts add_experts(model *in, uint64_t *seed, int n, int I, int H) {
  static const char *const parts[] = {"gate_proj", "up_proj", "down_proj"};
  experts x = {.n = n, .I = I, .H = H};
  char name[128];
  for (int e = 0; e < n; e++)
    for (int p = 0; p < PARTS; p++) {
      int rows = p < 2 ? I : H, columns = p < 2 ? H : I;
      snprintf(name, sizeof name, "model.layers.5.mlp.experts.%d.%s.weight", e, parts[p]);
      x.weight[p][e] = model_add(in, seed, name, LLRT_E4M3, 2, rows, columns);
      snprintf(name, sizeof name, "model.layers.5.mlp.experts.%d.%s.weight_scale_inv", e, parts[p]);
      x.scale[p][e] = model_add(in, seed, name, LLRT_F32, 2, blocks(rows), blocks(columns));
    }
  return x;
}

/* Cuts of all experts behind each other, of gate above up or of one part; columns in bytes. */
static uint8_t *stacked(const experts *x, uint8_t *const (*part)[MOST_EXPERTS], int parts,
                        int columns, rank_part r, rank_part c) {
  size_t each = (size_t)r.room * c.room;
  uint8_t *all = malloc(each * (size_t)(x->n * parts) + 1);
  for (int e = 0; e < x->n; e++)
    for (int p = 0; p < parts; p++) {
      matrix m = matrix_cut(part[p][e], columns, r.begin, r.end, c.begin, c.end, r.room, c.room);
      memcpy(all + (size_t)(e * parts + p) * each, m.byte, each);
      free(m.byte);
    }
  return all;
}

static rank_part wide(rank_part of, int bytes) {
  return (rank_part){of.begin * bytes, of.end * bytes, of.room * bytes};
}

static void expect_stacked(const repacked *made, const char *name, llrt_dtype dtype,
                           uint8_t *wanted, size_t bytes) {
  char text[96];
  snprintf(text, sizeof text, "model.layers.5.mlp.experts.%s", name);
  model_expect(made, text, dtype, wanted, bytes);
  free(wanted);
}

static void expect_experts(const repacked *made, const experts *x, int tp, int rank) {
  int H = x->H, I = x->I, h = blocks(H), i = blocks(I);
  rank_part rows = draws_part(I, 128, tp, rank), cut = draws_part(i, 1, tp, rank);
  rank_part all = {0, H, H}, all_blocks = {0, h, h};
  expect_stacked(made, "w13_weight", LLRT_E4M3, stacked(x, x->weight, 2, H, rows, all),
                 (size_t)x->n * 2 * rows.room * H);
  expect_stacked(made, "w13_weight_scale_inv", LLRT_F32,
                 stacked(x, x->scale, 2, 4 * h, cut, wide(all_blocks, 4)),
                 (size_t)x->n * 2 * cut.room * h * 4);
  expect_stacked(made, "w2_weight", LLRT_E4M3, stacked(x, x->weight + 2, 1, I, all, rows),
                 (size_t)x->n * H * rows.room);
  expect_stacked(made, "w2_weight_scale_inv", LLRT_F32,
                 stacked(x, x->scale + 2, 1, 4 * i, all_blocks, wide(cut, 4)),
                 (size_t)x->n * h * cut.room * 4);
}

static void check_deepseek(llrt_device *device, int n, int I, int H, int tp, uint64_t seed) {
  model in = {0};
  char config[100];
  experts x = add_experts(&in, &seed, n, I, H);
  snprintf(config, sizeof config,
           "{\"n_routed_experts\": %d, \"quantization_config\": {\"quant_method\": \"fp8\"}}", n);
  llrt_recipe_params params = {.config = config, .config_bytes = strlen(config), .tp = tp};
  repacked made[MOST_RANKS];
  for (int r = 0; r < tp; r++) {
    params.rank = r;
    made[r] = model_repack(device, "deepseek-fp8.grouped", &in, &params);
    expect_experts(&made[r], &x, tp, r);
  }
  model_expect_back(device, "deepseek-fp8.grouped", &in, &params, made, tp);
  for (int r = 0; r < tp; r++) repacked_free(&made[r]);
  model_free(&in);
}

Test(recipe_blocks, deepseek) {
  opened_device at = open_device("host");
  uint64_t state;
  check_deepseek(at.device, 3, 384, 256, 1, 3);
  check_deepseek(at.device, 3, 384, 256, 2, 4); /* three blocks for two ranks */
  for (shape_draws draws = draws_begin(3); draws_next(&draws, &state);) {
    int n = draws_from(&state, 1, MOST_EXPERTS), I = 8 * draws_from(&state, 1, 70);
    check_deepseek(at.device, n, I, 8 * draws_from(&state, 1, 50),
                   draws_from(&state, 1, MOST_RANKS), state);
  }
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

static void check_aiter(llrt_device *device, int n, int k, int tp, uint64_t state) {
  model in = {0};
  uint8_t *x = model_add(&in, &state, "l.o_proj.weight", LLRT_E4M3FNUZ, 2, n, k);
  model_add(&in, &state, "l.norm.weight", LLRT_BF16, 1, n); /* of another rank and type: kept */
  llrt_recipe_params params = {.tp = tp};
  repacked made[MOST_RANKS];
  for (int r = 0; r < tp; r++) {
    rank_part p = draws_part(n, 16, tp, r);
    params.rank = r;
    made[r] = model_repack(device, "fp8.aiter-16x16", &in, &params);
    matrix m = matrix_cut(x, k, p.begin, p.end, 0, k, p.room, k);
    uint8_t *wanted = aiter(m.byte, p.room, k);
    model_expect(&made[r], "l.o_proj.weight", LLRT_B8, wanted, (size_t)p.room * k);
    free(wanted);
    free(m.byte);
  }
  model_expect_back(device, "fp8.aiter-16x16", &in, &params, made, tp);
  for (int r = 0; r < tp; r++) repacked_free(&made[r]);
  model_free(&in);
}

Test(recipe_blocks, aiter) {
  opened_device at = open_device("host");
  uint64_t state;
  check_aiter(at.device, 48, 192, 1, 5);
  for (shape_draws draws = draws_begin(3); draws_next(&draws, &state);) {
    int n = 16 * draws_from(&state, 1, 12), k = 64 * draws_from(&state, 1, 5);
    check_aiter(at.device, n, k, draws_from(&state, 1, MOST_RANKS), state);
  }
  close_device(&at);
}
