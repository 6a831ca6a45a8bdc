/* Weights that an expression quantises straight into the order of products have the bytes of
 * llrt_convert into what llrt_dot_pack names, from the same elements row by row; 4-bit ones with
 * the bits of their words in order, in the same pass or by a convert behind it. */
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char *const devices[] = {"host", "cuda-emu:sm_90a", "hip-emu:gfx942"};
enum { DEVICES = sizeof devices / sizeof *devices };

static const struct {
  const char *name, *target;
  llrt_dtype element, other;
  int64_t n, k;
} cases[] = {
    {"mxfp8_weights", "sm_90a", LLRT_E4M3, LLRT_BF16, 48, 512},
    {"mxfp8_weights", "sm_80", LLRT_E4M3, LLRT_BF16, 40, 352},
    {"mxfp4_weights", "sm_90a", LLRT_E2M1, LLRT_BF16, 48, 512},
    {"mxfp4_weights", "sm_80", LLRT_E2M1, LLRT_BF16, 40, 352},
};

/* A tensor, its memory and its storage. */
typedef struct held {
  llrt_tensor tensor;
  size_t bytes;
} held;

static held make(llrt_device *device, llrt_dtype dtype, int64_t rows, int64_t columns,
                 const llrt_storage *storage) {
  held h = {.tensor = {.dtype = dtype,
                       .rank = 2,
                       .shape = {rows, columns},
                       .storage = storage,
                       .device = device}};
  cr_assert_eq(llrt_tensor_bytes(&h.tensor, &h.bytes), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_memory_allocate(device, h.bytes, &h.tensor.data), LLRT_OK);
  cr_assert_eq(llrt_memory_set(device, h.tensor.data, 0xA5, h.bytes, NULL), LLRT_OK);
  return h;
}

static void draw_weights(const held *w) {
  uint16_t *x = malloc(w->bytes);
  uint32_t state = 5;
  for (size_t i = 0; i < w->bytes / 2; i++) {
    state = state * 1664525u + 1013904223u;
    x[i] = (uint16_t)(0x3000 + (state >> 19) % 0x1000 + (state >> 31 << 15));
  }
  llrt_memory_copy(w->tensor.device, w->tensor.data, x, w->bytes, LLRT_COPY_TO_DEVICE, NULL);
  llrt_stream_synchronize(w->tensor.device, NULL);
  free(x);
}

/* map: of q; NULL: none. */
static void compute(const char *name, const held *x, const held *q, const held *s,
                    const llrt_map *map) {
  char text[4000];
  llrt_expr *expr;
  const llrt_output_map of_q = {.name = "q", .map = map ? *map : (llrt_map){0}};
  const llrt_compute_params params = {.size = sizeof params, .maps = &of_q, .n_maps = map != NULL};
  const llrt_arg args[] = {{.name = "x", .tensor = &x->tensor},
                           {.name = "q", .tensor = &q->tensor},
                           {.name = "s", .tensor = &s->tensor}};
  trial_read_text(name, text, sizeof text);
  cr_assert_eq(llrt_expr_parse(text, &expr), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_compute_into(expr, args, 3, &params, NULL), LLRT_OK, "%s", llrt_last_error());
  llrt_expr_destroy(&expr);
}

static void convert(const held *from, const held *to, const llrt_map *map, int n_maps) {
  const llrt_convert_params params = {.n_maps = n_maps, .maps = map};
  cr_assert_eq(llrt_convert_into(&from->tensor, &to->tensor, &params, NULL), LLRT_OK, "%s",
               llrt_last_error());
}

static void expect_same(const held *a, const held *b, const char *what) {
  unsigned char *x = malloc(a->bytes), *y = malloc(a->bytes);
  cr_assert_eq(a->bytes, b->bytes);
  llrt_memory_copy(a->tensor.device, x, a->tensor.data, a->bytes, LLRT_COPY_FROM_DEVICE, NULL);
  llrt_memory_copy(a->tensor.device, y, b->tensor.data, a->bytes, LLRT_COPY_FROM_DEVICE, NULL);
  llrt_stream_synchronize(a->tensor.device, NULL);
  for (size_t i = 0; i < a->bytes; i++)
    cr_assert_eq(x[i], y[i], "%s: byte %zu is %#x, not %#x", what, i, x[i], y[i]);
  free(x);
  free(y);
}

static void check(llrt_device *device, size_t c) {
  llrt_dot_packing packing = {.size = sizeof packing};
  const llrt_dot_pack_params what = {
      .dtype = cases[c].element, .scale = LLRT_E8M0, .group = {32, 1}, .other = cases[c].other};
  int64_t n = cases[c].n, k = cases[c].k;
  cr_assert_eq(llrt_dot_pack(&what, cases[c].target, LLRT_DOT_B, &packing), LLRT_OK, "%s",
               llrt_last_error());
  held x = make(device, LLRT_BF16, n, k, NULL);
  held q[5], s[5];
  for (int i = 0; i < 5; i++) {
    q[i] = make(device, cases[c].element, k, n, i ? &packing.storages[0] : NULL);
    s[i] = make(device, LLRT_E8M0, k / 32, n, i ? &packing.storages[1] : NULL);
  }
  draw_weights(&x);
  compute(cases[c].name, &x, &q[0], &s[0], NULL);
  convert(&q[0], &q[1], &packing.map, packing.n_maps);
  convert(&s[0], &s[1], NULL, 0);
  compute(cases[c].name, &x, &q[2], &s[2], NULL);
  convert(&q[2], &q[3], &packing.map, packing.n_maps); /* bits of 4-bit elements' words */
  expect_same(&q[3], &q[1], cases[c].name);
  expect_same(&s[2], &s[1], cases[c].name);
  compute(cases[c].name, &x, &q[4], &s[4], packing.n_maps ? &packing.map : NULL);
  expect_same(&q[4], &q[1], cases[c].name);
  expect_same(&s[4], &s[1], cases[c].name);
  for (int i = 0; i < 5; i++) {
    llrt_memory_free(device, q[i].tensor.data);
    llrt_memory_free(device, s[i].tensor.data);
  }
  llrt_memory_free(device, x.tensor.data);
}

Test(packed_weights, bytes_of_dot_pack) {
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (int d = 0; d < DEVICES; d++) check(trial_device(devices[d]), c);
}

/* Nothing is written, and the message says which map is wrong. */
Test(packed_weights, maps_refused) {
  static const struct {
    const char *name, *message;
    llrt_map_kind kind;
    int n, last; /* maps; bit 31 is bit `last` */
  } rows[] = {
      {"x", "x, which a map is for, is no output", LLRT_MAP_WORD_BITS, 1, 31},
      {"k", "k, which a map is for, is no output", LLRT_MAP_WORD_BITS, 1, 31},
      {"s", "s has elements of 32 bits and more", LLRT_MAP_WORD_BITS, 1, 31},
      {"q", "the map of q permutes no 32 bits", LLRT_MAP_WORD_BITS, 1, 30},
      {"q", "the map of q is of kind 1, not WORD_BITS", LLRT_MAP_XOR, 1, 31},
      {"q", "q has two maps", LLRT_MAP_WORD_BITS, 2, 31},
      {"q", "n_maps is 3, not 0 to 2", LLRT_MAP_WORD_BITS, 3, 31},
      {NULL, "the name of map 0 is NULL", LLRT_MAP_WORD_BITS, 1, 31},
      {"q", "lie in no thread as a whole", LLRT_MAP_WORD_BITS, 1, 31}, /* 5 in a row */
  };
  float x[15] = {0}, s[3] = {7, 7, 7};
  unsigned char q[15] = {9};
  llrt_device *device = trial_device("host");
  llrt_expr *expr;
  cr_assert_eq(
      llrt_expr_parse("(x[t n]) -> (q[t n]: i8, s[t]: f32) { s = max(x, n); q = x }", &expr),
      LLRT_OK);
  const llrt_tensor
      in = {.data = x, .dtype = LLRT_F32, .rank = 2, .shape = {3, 5}, .device = device},
      to = {.data = q, .dtype = LLRT_I8, .rank = 2, .shape = {3, 5}, .device = device},
      of = {.data = s, .dtype = LLRT_F32, .rank = 1, .shape = {3}, .device = device};
  const llrt_arg args[] = {
      {.name = "x", .tensor = &in}, {.name = "q", .tensor = &to}, {.name = "s", .tensor = &of}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    llrt_output_map maps[3] = {{.name = rows[i].name, .map = {.kind = rows[i].kind}}};
    for (int bit = 0; bit < 32; bit++)
      maps[0].map.perm[bit] = (uint8_t)(bit < 31 ? bit : rows[i].last);
    maps[1] = maps[2] = maps[0];
    const llrt_compute_params params = {.size = sizeof params, .maps = maps, .n_maps = rows[i].n};
    llrt_status status = llrt_compute_into(expr, args, 3, &params, NULL);
    cr_expect(status != LLRT_OK && strstr(llrt_last_error(), rows[i].message), "%zu: %s", i,
              status == LLRT_OK ? "done" : llrt_last_error());
    cr_expect(q[0] == 9 && s[0] == 7 && s[2] == 7);
  }
  llrt_expr_destroy(&expr);
}
