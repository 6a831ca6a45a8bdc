/* Recipes whose rows compute: every byte of what they make is that of a plain loop, which follows
 * the arithmetic that the recipes name (DeepGEMM's per_block_cast_to_fp8, vLLM's
 * dynamic_per_token_scaled_fp8_quant and requant_weight_ue8m0, torchao's to_mx with RCEIL). */
#include "tests/recipe/codes.h"
#include "tests/recipe/draws.h"
#include "tests/recipe/model.h"

#include <math.h>
#include <stdlib.h>

enum { E = 2, BLOCK = 128 };

/* ---- blocks of 128 x 128 ---- */

/* What follows of a tensor: values, and a scale for each block. */
typedef struct made_blocks {
  uint8_t *q, *first;
  float *s, *scales;
} made_blocks;

static made_blocks blocks_begin(size_t values) {
  made_blocks out = {.first = calloc(values, 1), .scales = calloc(values / BLOCK / BLOCK, 4)};
  out.q = out.first;
  out.s = out.scales;
  return out;
}

static void blocks_free(made_blocks *of) {
  free(of->first);
  free(of->scales);
}

/* Quantises blocks of x[][pitch] into what follows, in rows: those of a rank, behind which zeros
 * are. */
static void quantise_blocks(const float *x, int pitch, rank_part rows, rank_part columns,
                            made_blocks *out) {
  int width = columns.room * BLOCK;
  for (int b = rows.begin; b < rows.end; b++)
    for (int c = columns.begin; c < columns.end; c++) {
      const float *from = x + b * BLOCK * pitch + c * BLOCK;
      uint8_t *q = out->q + (b - rows.begin) * BLOCK * width + (c - columns.begin) * BLOCK;
      float scale = fmaxf(codes_amax(from, BLOCK, BLOCK, pitch), 1e-4F) * (1.0F / 448);
      out->s[(b - rows.begin) * columns.room + c - columns.begin] = scale;
      for (int i = 0; i < BLOCK; i++)
        for (int j = 0; j < BLOCK; j++)
          q[i * width + j] = codes_e4m3(from[i * pitch + j] * (1 / scale));
    }
  out->q += rows.room * BLOCK * width;
  out->s += rows.room * columns.room;
}

static void expect_blocks(const repacked *out, const char *name, made_blocks *made) {
  char scale[96];
  model_expect(out, name, LLRT_E4M3, made->first, (size_t)(made->q - made->first));
  snprintf(scale, sizeof scale, "%s_scale_inv", name);
  model_expect(out, scale, LLRT_F32, made->scales,
               (size_t)(made->s - made->scales) * sizeof(float));
  blocks_free(made);
}

/* Matrices of I x H blocks. */
static void check_experts(const char *device_name, int I, int H, int tp, uint64_t state) {
  static const char config[] = "{\"num_experts\": 2}";
  static const char *const parts[] = {"gate_proj", "up_proj", "down_proj"};
  opened_device at = open_device(device_name);
  model in = {0};
  float *weight[E][3], *attention;
  for (int e = 0; e < E; e++)
    for (int p = 0; p < 3; p++) {
      char name[96];
      snprintf(name, sizeof name, "model.layers.7.mlp.experts.%d.%s.weight", e, parts[p]);
      int rows = BLOCK * (p < 2 ? I : H), columns = BLOCK * (p < 2 ? H : I);
      weight[e][p] = codes_add_weight(&in, &state, name, rows, columns, BLOCK);
    }
  attention = codes_add_weight(&in, &state, "model.layers.7.self_attn.q_proj.weight", BLOCK * I,
                               BLOCK * H, BLOCK);
  model_add(&in, &state, "model.norm.weight", LLRT_BF16, 1, H);
  rank_part all = {0, H, H};
  for (int rank = 0; rank < tp; rank++) {
    llrt_recipe_params params = {
        .config = config, .config_bytes = sizeof config - 1, .tp = tp, .rank = rank};
    repacked made = model_repack(at.device, "bf16-experts.fp8-block", &in, &params);
    rank_part part = draws_part(I, 1, tp, rank);
    size_t values = (size_t)2 * E * I * H * BLOCK * BLOCK;
    made_blocks w13 = blocks_begin(values), w2 = blocks_begin(values), q = blocks_begin(values);
    for (int e = 0; e < E; e++) {
      quantise_blocks(weight[e][0], BLOCK * H, part, all, &w13);
      quantise_blocks(weight[e][1], BLOCK * H, part, all, &w13);
      quantise_blocks(weight[e][2], BLOCK * I, all, part, &w2);
    }
    quantise_blocks(attention, BLOCK * H, (rank_part){0, I, I}, all, &q);
    expect_blocks(&made, "model.layers.7.mlp.experts.w13_weight", &w13);
    expect_blocks(&made, "model.layers.7.mlp.experts.w2_weight", &w2);
    expect_blocks(&made, "model.layers.7.self_attn.q_proj.weight", &q);
    llrt_repack_info info = {0};
    cr_assert_eq(llrt_repack_get_info(made.plan, &info), LLRT_OK);
    /* Three programs, a copy of what is kept and one of addresses. */
    bool whole = part.end - part.begin == part.room && I * H <= 8;
    if (whole) cr_expect_leq(info.launches, 5, "%s: %d launches", device_name, info.launches);
    repacked_free(&made);
  }
  for (int i = 0; i < 3 * E; i++) free(weight[i / 3][i % 3]);
  free(attention);
  model_free(&in);
  close_device(&at);
}

Test(recipe_quantise, experts) {
  uint64_t state;
  check_experts("host", 2, 4, 1, 11);
  for (shape_draws draws = draws_begin(1); draws_next(&draws, &state);) {
    int I = draws_from(&state, 1, 5), H = draws_from(&state, 1, 4);
    check_experts("host", I, H, draws_from(&state, 1, 3), state);
  }
}
Test(recipe_quantise, experts_of_two_ranks) {
  check_experts("host", 2, 4, 2, 11);
  check_experts("host", 3, 1, 2, 12);
}
Test(recipe_quantise, experts_on_cuda) { check_experts("cuda-emu:sm_90a", 1, 2, 1, 11); }

static void check_blocks(int rows, int columns, uint64_t state) {
  opened_device at = open_device("host");
  model in = {0};
  float *x =
      codes_add_weight(&in, &state, "layers.1.o_proj.weight", BLOCK * rows, BLOCK * columns, BLOCK);
  llrt_recipe_params params = {0};
  repacked made = model_repack(at.device, "bf16.fp8-block", &in, &params);
  made_blocks wanted = blocks_begin((size_t)rows * columns * BLOCK * BLOCK);
  quantise_blocks(x, BLOCK * columns, (rank_part){0, rows, rows}, (rank_part){0, columns, columns},
                  &wanted);
  expect_blocks(&made, "layers.1.o_proj.weight", &wanted);
  free(x);
  repacked_free(&made);
  model_free(&in);
  close_device(&at);
}

Test(recipe_quantise, blocks) {
  uint64_t state;
  for (shape_draws draws = draws_begin(2); draws_next(&draws, &state);) {
    int rows = draws_from(&state, 1, 5);
    check_blocks(rows, draws_from(&state, 1, 5), state);
  }
}

/* ---- linear layers ---- */

enum { GROUP = 32 };

static void quantise_rows(const float *x, int N, int K, uint8_t *q, float *s) {
  for (int r = 0; r < N; r++) {
    s[r] = fmaxf(codes_amax(x + r * K, 1, K, K) / 448, 1.0F / 229376);
    for (int c = 0; c < K; c++) q[r * K + c] = codes_e4m3(x[r * K + c] / s[r]);
  }
}

static void quantise_groups(const float *x, int N, int K, bool four, uint8_t *q, uint8_t *s) {
  for (int i = 0; i < N * K; i++) {
    float most = codes_amax(x + i / GROUP * GROUP, 1, GROUP, GROUP);
    uint8_t code = most > 0 ? codes_e8m0_up(most * (four ? 1.0F / 6 : 1.0F / 448)) : 0;
    float value = x[i] / ldexpf(1, code - 127);
    s[i / GROUP] = code;
    if (!four) q[i] = codes_e4m3(value);
    else q[i / 2] = (uint8_t)(i % 2 ? q[i / 2] | codes_e2m1(value) << 4 : codes_e2m1(value));
  }
}

/* Layers of N x K. */
static void check_linear(const char *device_name, int layers, int N, int K, uint64_t state) {
  opened_device at = open_device(device_name);
  size_t n = (size_t)N * K;
  uint8_t *q = malloc(n), *codes = malloc(n / GROUP);
  float *scales = malloc((size_t)N * sizeof *scales), *weight[3];
  model in = {0};
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
    quantise_rows(weight[l], N, K, q, scales);
    model_expect(&rows, name, LLRT_E4M3, q, n);
    quantise_groups(weight[l], N, K, false, q, codes);
    model_expect(&eight, name, LLRT_E4M3, q, n);
    snprintf(packed, sizeof packed, "%s_scale", name);
    model_expect(&rows, packed, LLRT_F32, scales, (size_t)N * sizeof *scales);
    model_expect(&eight, packed, LLRT_U8, codes, n / GROUP);
    quantise_groups(weight[l], N, K, true, q, codes);
    model_expect(&four, packed, LLRT_U8, codes, n / GROUP);
    snprintf(packed, sizeof packed, "%s_packed", name);
    model_expect(&four, packed, LLRT_U8, q, n / 2);
    free(weight[l]);
  }
  free(q);
  free(codes);
  free(scales);
  repacked_free(&rows);
  repacked_free(&eight);
  repacked_free(&four);
  model_free(&in);
  close_device(&at);
}

Test(recipe_quantise, linear) { check_linear("host", 3, 40, 192, 13); }
Test(recipe_quantise, linear_alone) { check_linear("host", 1, 40, 192, 13); }
Test(recipe_quantise, linear_on_cuda) { check_linear("cuda-emu:sm_90a", 2, 40, 192, 13); }
Test(recipe_quantise, linear_on_hip) { check_linear("hip-emu:gfx942", 2, 40, 192, 13); }
Test(recipe_quantise, linear_random) {
  uint64_t state;
  for (shape_draws draws = draws_begin(2); draws_next(&draws, &state);) {
    int layers = draws_from(&state, 1, 3), n = draws_from(&state, 1, 200);
    check_linear("host", layers, n, GROUP * draws_from(&state, 1, 20), state);
  }
}

/* ---- DeepGEMM's UE8M0 ---- */

typedef struct fp8_matrix {
  uint8_t *w;
  float *f;          /* a scale of each block */
  int rows, columns; /* blocks */
} fp8_matrix;

/* New values behind *q: blocks of a rank, behind which zeros are. Scales of rows at, at + 1, … of
 * `all`, of which four along K lie in a word, rows beside each other. */
static void requantise(const fp8_matrix *of, rank_part rows, rank_part columns, int at, int all,
                       uint8_t **q, uint8_t *s) {
  int pitch = of->columns * BLOCK, width = columns.room * BLOCK;
  float *x = malloc((size_t)of->rows * BLOCK * pitch * sizeof *x);
  for (int r = 0; r < of->rows * BLOCK; r++)
    for (int c = 0; c < pitch; c++)
      x[r * pitch + c] =
          codes_of_e4m3(of->w[r * pitch + c]) * of->f[r / BLOCK * of->columns + c / BLOCK];
  for (int b = rows.begin; b < rows.end; b++)
    for (int c = columns.begin; c < columns.end; c++) {
      const float *from = x + b * BLOCK * pitch + c * BLOCK;
      int row = (b - rows.begin) * BLOCK, k = c - columns.begin;
      float most = fmaxf(codes_amax(from, BLOCK, BLOCK, pitch), 1e-4F) * (1.0F / 448);
      uint8_t code = codes_e8m0_up(most);
      for (int i = 0; i < BLOCK; i++) {
        s[(k / 4 * all + at + row + i) * 4 + k % 4] = code;
        for (int j = 0; j < BLOCK; j++)
          (*q)[(row + i) * width + k * BLOCK + j] =
              codes_e4m3(from[i * pitch + j] * (1 / ldexpf(1, code - 127)));
      }
    }
  *q += rows.room * BLOCK * width;
  free(x);
}

static fp8_matrix add_matrix(model *in, uint64_t *state, const char *name, int rows, int columns) {
  char scale[112];
  fp8_matrix m = {.rows = rows, .columns = columns};
  m.w = model_add(in, state, name, LLRT_E4M3, 2, rows * BLOCK, columns * BLOCK);
  for (int i = 0; i < rows * columns * BLOCK * BLOCK; i++) m.w[i] &= 0xf7; /* no NaN */
  snprintf(scale, sizeof scale, "%s_scale_inv", name);
  m.f = model_add(in, state, scale, LLRT_F32, 2, rows, columns);
  for (int i = 0; i < rows * columns; i++) m.f[i] = 1e-4F * (float)(1 + model_random(state, 1000));
  return m;
}

/* Matrices of I x H blocks, both multiples of 4. */
static void check_ue8m0(int I, int H, int tp, uint64_t state) {
  static const char config[] =
      "{\"n_routed_experts\": 2, \"quantization_config\": {\"quant_method\": \"fp8\"}}";
  static const char *const parts[] = {"gate_proj", "up_proj", "down_proj"};
  opened_device at = open_device("host");
  model in = {0};
  fp8_matrix m[E][3];
  char name[96];
  for (int e = 0; e < E; e++)
    for (int p = 0; p < 3; p++) {
      snprintf(name, sizeof name, "model.layers.7.mlp.experts.%d.%s.weight", e, parts[p]);
      m[e][p] = add_matrix(&in, &state, name, p < 2 ? I : H, p < 2 ? H : I);
    }
  rank_part all = {0, H, H};
  for (int rank = 0; rank < tp; rank++) {
    llrt_recipe_params params = {
        .config = config, .config_bytes = sizeof config - 1, .tp = tp, .rank = rank};
    repacked made = model_repack(at.device, "deepseek-fp8.grouped-ue8m0", &in, &params);
    rank_part rows = draws_part(I, 1, tp, rank), columns = draws_part(I, 4, tp, rank);
    size_t values = (size_t)2 * E * I * H * BLOCK * BLOCK;
    uint8_t *q = calloc(values, 1), *first = q, *s = calloc(values / BLOCK, 1);
    int w13 = 2 * rows.room * BLOCK, w2 = H * BLOCK;
    for (int e = 0; e < E; e++)
      for (int g = 0; g < 2; g++)
        requantise(&m[e][g], rows, all, g * rows.room * BLOCK, w13, &q, s + e * w13 * H);
    model_expect(&made, "model.layers.7.mlp.experts.w13_weight", LLRT_E4M3, first,
                 (size_t)(q - first));
    model_expect(&made, "model.layers.7.mlp.experts.w13_weight_scale_inv", LLRT_I32, s,
                 (size_t)E * w13 * H);
    memset(first, 0, values);
    memset(s, 0, values / BLOCK);
    q = first;
    for (int e = 0; e < E; e++)
      requantise(&m[e][2], all, columns, 0, w2, &q, s + e * w2 * columns.room);
    model_expect(&made, "model.layers.7.mlp.experts.w2_weight", LLRT_E4M3, first,
                 (size_t)(q - first));
    model_expect(&made, "model.layers.7.mlp.experts.w2_weight_scale_inv", LLRT_I32, s,
                 (size_t)E * w2 * columns.room);
    free(first);
    free(s);
    repacked_free(&made);
  }
  model_free(&in);
  close_device(&at);
}

Test(recipe_quantise, ue8m0) {
  uint64_t state;
  check_ue8m0(4, 4, 1, 17);
  for (shape_draws draws = draws_begin(1); draws_next(&draws, &state);) {
    int I = 4 * draws_from(&state, 1, 2), H = 4;
    check_ue8m0(I, H, draws_from(&state, 1, 3), state);
  }
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
      .name = "l.o_proj.weight", .dtype = LLRT_BF16, .rank = 2, .shape = {40, 192}};
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
