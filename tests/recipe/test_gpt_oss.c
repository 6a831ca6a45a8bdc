/* gpt-oss' experts of mxfp4 in three engines' orders, every byte, for one rank and for two, and
 * back. */
#include "tests/recipe/draws.h"
#include "tests/recipe/matrix.h"
#include "tests/recipe/model.h"

#include <stdlib.h>

#define EXPERTS "model.layers.11.mlp.experts."
enum { E = 2, MOST_RANKS = 4 };

typedef struct experts {
  model in;
  int I, H; /* of the checkpoint */
  uint8_t *blocks13, *scales13, *blocks2, *scales2;
  uint16_t *bias13, *bias2;
} experts;

/* bf16 numbers that are finite: a cast keeps their bits. */
static uint16_t *finite(void *data, int n) {
  uint16_t *code = data;
  for (int i = 0; i < n; i++) code[i] &= 0xbfff;
  return code;
}

static experts make(int I, int H, bool biases, uint64_t seed) {
  experts x = {.I = I, .H = H};
  uint64_t s = seed;
  model *in = &x.in;
  x.blocks13 = model_add(in, &s, EXPERTS "gate_up_proj_blocks", LLRT_U8, 4, E, 2 * I, H / 32, 16);
  x.scales13 = model_add(in, &s, EXPERTS "gate_up_proj_scales", LLRT_U8, 3, E, 2 * I, H / 32);
  x.blocks2 = model_add(in, &s, EXPERTS "down_proj_blocks", LLRT_U8, 4, E, H, I / 32, 16);
  x.scales2 = model_add(in, &s, EXPERTS "down_proj_scales", LLRT_U8, 3, E, H, I / 32);
  model_add(in, &s, "model.layers.11.self_attn.sinks", LLRT_BF16, 1, 64);
  if (!biases) return x;
  x.bias13 =
      finite(model_add(in, &s, EXPERTS "gate_up_proj_bias", LLRT_BF16, 2, E, 2 * I), E * 2 * I);
  x.bias2 = finite(model_add(in, &s, EXPERTS "down_proj_bias", LLRT_BF16, 2, E, H), E * H);
  return x;
}

static int up(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }
static int least(int a, int b) { return a < b ? a : b; }

/* This rank's part of the intermediate axis, as vLLM's weight loader of gpt-oss takes it. */
typedef struct part {
  int begin, end, room;
} part;

static part part_of(int I, int tp, int rank) {
  int room = (I / 32 + tp - 1) / tp * 32;
  return (part){least(rank * room, I), least((rank + 1) * room, I), room};
}

/* Bytes of all experts behind each other. */
typedef struct stack {
  uint8_t *byte;
  size_t bytes;
} stack;

static void push(stack *all, matrix m) {
  size_t n = (size_t)m.rows * m.columns;
  all->byte = realloc(all->byte, all->bytes + n);
  memcpy(all->byte + all->bytes, m.byte, n);
  all->bytes += n;
  free(m.byte);
}

static void expect(const repacked *made, const char *name, llrt_dtype dtype, stack wanted) {
  char whole[128];
  snprintf(whole, sizeof whole, EXPERTS "%s", name);
  model_expect(made, whole, dtype, wanted.byte, wanted.bytes);
  free(wanted.byte);
}

/* ---- the checkpoint's matrices of one expert, cut for a rank and padded ---- */

static matrix values13(const experts *x, int e, part p, int rows, int columns) {
  return matrix_cut(x->blocks13 + e * x->I * x->H, x->H / 2, 2 * p.begin, 2 * p.end, 0, x->H / 2,
                    rows, columns);
}
static matrix scales13(const experts *x, int e, part p, int rows, int columns) {
  return matrix_cut(x->scales13 + e * 2 * x->I * (x->H / 32), x->H / 32, 2 * p.begin, 2 * p.end, 0,
                    x->H / 32, rows, columns);
}
static matrix values2(const experts *x, int e, part p, int rows, int columns) {
  return matrix_cut(x->blocks2 + e * x->H * x->I / 2, x->I / 2, 0, x->H, p.begin / 2, p.end / 2,
                    rows, columns);
}
static matrix scales2(const experts *x, int e, part p, int rows, int columns) {
  return matrix_cut(x->scales2 + e * x->H * (x->I / 32), x->I / 32, 0, x->H, p.begin / 32,
                    p.end / 32, rows, columns);
}

/* A column of f32 of bf16 numbers begin .. end - 1. */
static matrix biases(const uint16_t *code, int begin, int end, int rows) {
  matrix m = {rows, 4, calloc((size_t)rows, 4)};
  for (int i = begin; i < end; i++) {
    uint32_t bits = (uint32_t)code[i] << 16;
    memcpy(m.byte + 4 * (i - begin), &bits, 4);
  }
  return m;
}

/* ---- FlashInfer ---- */

static matrix trtllm(matrix m, bool pairs, bool scales) {
  if (pairs) matrix_swap_pairs(&m);
  matrix_shuffle_32(&m);
  if (scales) matrix_scale_128x4(&m);
  return m;
}

static void expect_flashinfer(const experts *x, const repacked *made, int tp, int rank) {
  part p = part_of(x->I, tp, rank);
  int I = up(p.room, 256), H = up(x->H, 256);
  stack w13 = {0}, s13 = {0}, b13 = {0}, w2 = {0}, s2 = {0}, b2 = {0};
  for (int e = 0; e < E; e++) {
    push(&w13, trtllm(values13(x, e, p, 2 * I, H / 2), true, false));
    push(&s13, trtllm(scales13(x, e, p, 2 * I, H / 32), true, true));
    push(&b13,
         trtllm(biases(x->bias13 + e * 2 * x->I, 2 * p.begin, 2 * p.end, 2 * I), true, false));
    push(&w2, trtllm(values2(x, e, p, H, I / 2), false, false));
    push(&s2, trtllm(scales2(x, e, p, H, I / 32), false, true));
    push(&b2, trtllm(biases(x->bias2 + e * x->H, 0, rank == 0 ? x->H : 0, H), false, false));
  }
  expect(made, "w13_weight", LLRT_U8, w13);
  expect(made, "w13_weight_scale", LLRT_E4M3, s13);
  expect(made, "w13_bias", LLRT_F32, b13);
  expect(made, "w2_weight", LLRT_U8, w2);
  expect(made, "w2_weight_scale", LLRT_E4M3, s2);
  expect(made, "w2_bias", LLRT_F32, b2);
  float alpha[E] = {1.702f, 1.702f}, limit[E] = {7, 7};
  model_expect(made, EXPERTS "gemm1_alpha", LLRT_F32, alpha, sizeof alpha);
  model_expect(made, EXPERTS "gemm1_clamp_limit", LLRT_F32, limit, sizeof limit);
}

/* ---- Triton ---- */

static void expect_triton(const experts *x, const repacked *made, int tp, int rank) {
  part p = part_of(x->I, tp, rank);
  int rows = up(2 * p.room, 256), H = up(x->H, 256);
  stack w13 = {0}, s13 = {0}, b13 = {0}, w2 = {0}, s2 = {0};
  for (int e = 0; e < E; e++) {
    matrix m = values13(x, e, p, rows, up(x->H, 128) / 2);
    matrix_hopper_values(&m);
    push(&w13, m);
    m = scales13(x, e, p, rows, up(x->H / 32, 2));
    matrix_hopper_scales(&m, 8);
    push(&s13, m);
    push(&b13, biases(x->bias13 + e * 2 * x->I, 2 * p.begin, 2 * p.end, 2 * p.room));
    m = values2(x, e, p, H, up(p.room, 128) / 2);
    matrix_hopper_values(&m);
    push(&w2, m);
    m = scales2(x, e, p, H, up(p.room / 32, 2));
    matrix_hopper_scales(&m, 8);
    push(&s2, m);
  }
  expect(made, "w13_weight", LLRT_U8, w13);
  expect(made, "w13_weight_scale", LLRT_U8, s13);
  expect(made, "w13_bias", LLRT_F32, b13);
  expect(made, "w2_weight", LLRT_U8, w2);
  expect(made, "w2_weight_scale", LLRT_U8, s2);
}

/* ---- llrt's own ---- */

/* Element (k, n) of [columns of n][k / 2] bytes, as llrt_dot_pack's storage and map have them: the
 * conversion that its comment says, by itself. */
static stack packed(llrt_device *device, const stack *plain, int K, int N, bool scales) {
  llrt_dot_pack_params what = {
      .dtype = LLRT_E2M1, .scale = LLRT_E8M0, .group = {32}, .other = LLRT_BF16, .n_batch = 1};
  llrt_dot_packing packing = {.size = sizeof packing};
  cr_assert_eq(llrt_dot_pack(&what, "sm_90a", LLRT_DOT_B, &packing), LLRT_OK);
  stack out = {aligned_alloc(64, up((int)plain->bytes, 64)), plain->bytes};
  int64_t strides[3] = {(int64_t)K * N, 1, K};
  llrt_storage columns;
  cr_assert_eq(llrt_storage_strided(3, strides, &columns), LLRT_OK);
  llrt_tensor from = {.data = plain->byte,
                      .dtype = scales ? LLRT_E8M0 : LLRT_E2M1,
                      .rank = 3,
                      .shape = {E, K, N},
                      .storage = &columns,
                      .device = device};
  llrt_tensor to = from;
  to.data = out.byte;
  to.storage = &packing.storages[scales];
  llrt_convert_params params = {.n_maps = scales ? 0 : packing.n_maps, .maps = &packing.map};
  cr_assert_eq(llrt_convert_into(&from, &to, &params, NULL), LLRT_OK, "%s", llrt_last_error());
  free(plain->byte);
  return out;
}

static void expect_llrt(llrt_device *device, const experts *x, const repacked *made, int tp,
                        int rank) {
  part p = part_of(x->I, tp, rank);
  int N = up(2 * p.room, 16), H = up(x->H, 256), I = up(p.room, 256), M = up(x->H, 16);
  stack w13 = {0}, s13 = {0}, w2 = {0}, s2 = {0};
  for (int e = 0; e < E; e++) {
    push(&w13, values13(x, e, p, N, H / 2));
    push(&s13, scales13(x, e, p, N, H / 32));
    push(&w2, values2(x, e, p, M, I / 2));
    push(&s2, scales2(x, e, p, M, I / 32));
  }
  expect(made, "w13_weight", LLRT_U8, packed(device, &w13, H, N, false));
  expect(made, "w13_weight_scale", LLRT_U8, packed(device, &s13, H / 32, N, true));
  expect(made, "w2_weight", LLRT_U8, packed(device, &w2, I, M, false));
  expect(made, "w2_weight_scale", LLRT_U8, packed(device, &s2, I / 32, M, true));
}

/* ---- all of them ---- */

typedef enum engine { FLASHINFER, TRITON, LLRT_DOT } engine;

static void check(llrt_device *device, engine to, int I, int H, int tp, uint64_t seed) {
  static const char *const recipes[] = {"gpt-oss-mxfp4.flashinfer-trtllm",
                                        "gpt-oss-mxfp4.triton-hopper", "gpt-oss-mxfp4.llrt-dot"};
  experts x = make(I, H, to != LLRT_DOT, seed);
  llrt_recipe_params params = {.tp = tp};
  repacked made[MOST_RANKS];
  for (int rank = 0; rank < tp; rank++) {
    params.rank = rank;
    made[rank] = model_repack(device, recipes[to], &x.in, &params);
    if (to == FLASHINFER) expect_flashinfer(&x, &made[rank], tp, rank);
    if (to == TRITON) expect_triton(&x, &made[rank], tp, rank);
    if (to == LLRT_DOT) expect_llrt(device, &x, &made[rank], tp, rank);
  }
  model_expect_back(device, recipes[to], &x.in, &params, made, tp);
  for (int rank = 0; rank < tp; rank++) repacked_free(&made[rank]);
  model_free(&x.in);
}

/* What pads along both axes, what two ranks share unevenly, what one of them has nothing of, and
 * what is drawn. */
static void check_all(engine to) {
  opened_device at = open_device("host");
  uint64_t state;
  check(at.device, to, 96, 160, 1, 1 + to);
  check(at.device, to, 96, 64, 2, 11 + to);
  check(at.device, to, 32, 64, 2, 21 + to);
  for (shape_draws draws = draws_begin(1); draws_next(&draws, &state);) {
    int I = 32 * draws_from(&state, 1, 12), H = 32 * draws_from(&state, 1, 12);
    check(at.device, to, I, H, draws_from(&state, 1, MOST_RANKS), state);
  }
  close_device(&at);
}

Test(recipe_gpt_oss, flashinfer) { check_all(FLASHINFER); }
Test(recipe_gpt_oss, triton) { check_all(TRITON); }
Test(recipe_gpt_oss, llrt) { check_all(LLRT_DOT); }
