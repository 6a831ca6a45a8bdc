/* Expressions from and into tensors with indices, and with counts in device memory, against the
 * reference: rows that are gathered, caches that are appended to, in the layouts of engines. */
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char *const devices[] = {"host", "cuda-emu:sm_90a", "hip-emu:gfx942"};
enum { DEVICES = sizeof devices / sizeof *devices };

#define AT(positions, axis, policy) {positions, axis, 0, LLRT_RANGE_##policy}

static const struct {
  const char *text;
  int64_t extent[5];
  trial_tensor tensor[6];
  int counted, count;
} cases[] = {
    /* rows of a table: an embedding and its norm */
    {"(x[t n], w[n]) -> (y[t n]) { y = x * rsqrt(mean(x * x, n) + 1e-6) * w }",
     {9, 96},
     {{LLRT_BF16, NULL, AT(20, 0, ZERO), false},
      {LLRT_BF16, NULL, {0}, false},
      {LLRT_BF16, NULL, {0}, false}},
     0,
     0},
    {"(x[t n]) -> (y[t n]) { y = x - max(x, n) }",
     {9, 96},
     {{0, NULL, AT(7, 0, CLAMP), false}},
     0,
     0},
    /* values out of range are read as 0, and counted */
    {"(x[t n]) -> (y[t n]) { y = x + t }", {9, 33}, {{0, NULL, AT(7, 0, SKIP), false}}, 0, 0},
    {"(x[t n]) -> (y[t n]) { y = x + n }", {70, 40}, {{0, NULL, AT(50, 0, REPORT), false}}, 0, 0},
    /* what is gathered along the row */
    {"(x[t n]) -> (y[t n]) { y = x / sum(x * x, n) }",
     {5, 70},
     {{0, NULL, AT(90, 1, ZERO), false}},
     0,
     0},
    {"(x[t n]) -> (y[t n]) { y = x - max(x, n) }",
     {2, 3000},
     {{0, NULL, AT(90, 1, ZERO), false}},
     0,
     0},
    /* a table of cosines by position, which t chooses */
    {"(x[t h (p:2 i)], c[t i], s[t i]) -> (y[t h (p i)]) "
     "{ y = x * c + flip(x, p) * where(p == 0, -s, s) }",
     {3, 2, 0, 16},
     {{LLRT_BF16, NULL, {0}, false},
      {0, NULL, AT(40, 0, CLAMP), false},
      {0, NULL, AT(40, 0, ZERO), false},
      {LLRT_BF16, NULL, {0}, false}},
     0,
     0},
    /* slots of a paged cache that are written; the other output has all rows */
    {"(x[t n]) -> (y[t n], z[t n]) { y = x * 2; z = x }",
     {9, 64},
     {{0}, {LLRT_BF16, NULL, AT(32, 0, SKIP), false}, {0}},
     0,
     0},
    {"(x[t n]) -> (y[t n], z[t]) { y = x - max(x, n); z = max(x, n) }",
     {9, 3000},
     {{0}, {0, NULL, AT(16, 0, REPORT), false}, {0, NULL, AT(30, 0, SKIP), false}},
     0,
     0},
    {"(x[t n]) -> (y[t n]) { y = x }", {40, 5}, {{0}, {0, NULL, AT(64, 0, REPORT), false}}, 0, 0},
    /* NHD, HND, vLLM's K with x = 8, in blocks of 16 slots; heads of 32 */
    {"(x[t h d]) -> (y[t h d], z[t h d], v[t h d]) { y = x * 0.5; z = x; v = x + 1 }",
     {11, 2, 32},
     {{LLRT_BF16, NULL, {0}, false},
      {LLRT_BF16, "storage(rank=3, digits=[dim2:32, dim1:2, dim0:16, dim0:rest])", AT(48, 0, SKIP),
       false},
      {LLRT_BF16, "storage(rank=3, digits=[dim2:32, dim0:16, dim1:2, dim0:rest])", AT(48, 0, SKIP),
       false},
      {LLRT_BF16, "storage(rank=3, digits=[dim2:8, dim0:16, dim2:4, dim1:2, dim0:rest])",
       AT(48, 0, SKIP), false}},
     0,
     0},
    {"(x[t h (p:2 i)]) -> (y[t h (p i)]: e4m3) { y = x - flip(x, p) }",
     {11, 2, 0, 16},
     {{LLRT_BF16, NULL, {0}, false},
      {0, "storage(rank=3, digits=[dim2:16, dim0:16, dim2:2, dim1:2, dim0:rest])", AT(48, 0, SKIP),
       false}},
     0,
     0},
    /* a block table: requests choose blocks of the pool, which has no axis of requests */
    {"(x[r b t n]) -> (y[r b t n]) { y = x - max(x, n) }",
     {2, 3, 4, 24},
     {{LLRT_F16, NULL, {10, 1, 1, LLRT_RANGE_ZERO}, false}, {LLRT_F16, NULL, {0}, false}},
     0,
     0},
    /* how many rows there are, in device memory */
    {"(x[t n]) -> (y[t n]) { y = x - max(x, n) }", {12, 96}, {{0}}, 1, 5},
    {"(x[t n], w[n]) -> (y[t n], z[t]: e4m3) { y = x * w; z = sum(x, n) }",
     {300, 40},
     {{LLRT_BF16, NULL, {0}, false}},
     1,
     131},
    {"(x[t n]) -> (y[t n]) { y = x + 1 }", {12, 96}, {{0}}, 1, 0},
    {"(x[t n]) -> (y[t n]) { y = x + 1 }", {12, 96}, {{0}}, 1, 99},
    {"(x[t n]) -> (y[t n]) { y = x - mean(x, n) }", {6, 3000}, {{0}}, 1, 4},
    /* along axes that are walked: each turn has values of its own */
    {"(x[t n]) -> (y[t n], z[]) { y = x; z = sum(x, (t, n)) }",
     {40, 512},
     {{LLRT_I8, NULL, AT(28, 0, CLAMP), false}},
     0,
     0},
    {"(x[t n]) -> (y[t n], z[]) { y = x; z = sum(x, (t, n)) }",
     {3, 40000},
     {{LLRT_I8, NULL, AT(28, 0, ZERO), false}},
     0,
     0},
    {"(x[t n]) -> (y[t n], z[]) { z = sum(x, (t, n)); y = x - z }",
     {3, 40000},
     {{0}, {0, NULL, AT(7, 0, SKIP), false}},
     0,
     0},
    /* both */
    {"(x[t n]) -> (y[t n]) { y = x - mean(x, n) }",
     {20, 64},
     {{0}, {0, NULL, AT(40, 0, REPORT), false}},
     1,
     13},
    {"(x[t n]) -> (y[t n]) { y = x - mean(x, n) }",
     {20, 64},
     {{0, NULL, AT(40, 0, REPORT), false}, {0}},
     1,
     13},
    /* nothing has a value where another axis has no position */
    {"(x[t n]) -> (y[t n]) { y = x + 1 }",
     {20, 64},
     {{0, NULL, AT(16, 0, REPORT), false}, {0}},
     2,
     0},
    {"(x[t n]) -> (y[t n]) { y = x + 1 }",
     {20, 64},
     {{0}, {0, NULL, AT(16, 0, REPORT), false}},
     2,
     0},
    {"(x[t n], w[n]) -> (y[t n]) { y = x + w }",
     {20, 64},
     {{0}, {0, NULL, AT(40, 0, REPORT), false}, {0}},
     1,
     0},
    {"(x[t n], w[n]) -> (y[t n]) { y = x + w }",
     {0, 64},
     {{0}, {0, NULL, AT(40, 0, REPORT), false}, {0}},
     0,
     0},
    {"(x[t n], w[n]) -> (y[n]) { y = sum(x * w, t) }",
     {0, 64},
     {{0}, {0, NULL, AT(40, 0, REPORT), false}, {0}},
     0,
     0},
};

/* Entries of the catalogue whose tensors have indices. */
static const struct {
  const char *name;
  int64_t extent[6];
  double scalar[2];
  trial_tensor tensor[10];
} catalogue[] = {
    {"embedding_rms_norm",
     {7, 160},
     {1e-6},
     {{LLRT_BF16, NULL, AT(30, 0, ZERO), false},
      {LLRT_BF16, NULL, {0}, false},
      {LLRT_BF16, NULL, {0}, false},
      {LLRT_BF16, NULL, {0}, false}}},
    {"kv_norm_rope_append",
     {5, 2, 0, 32},
     {1e-6},
     {{LLRT_BF16, NULL, {0}, false},
      {LLRT_BF16, NULL, {0}, false},
      {LLRT_BF16, NULL, {0}, false},
      {LLRT_F32, NULL, AT(50, 0, ZERO), false},
      {LLRT_F32, NULL, AT(50, 0, ZERO), false},
      {LLRT_E4M3, "storage(rank=3, digits=[dim2:8, dim0:16, dim2:8, dim1:2, dim0:rest])",
       AT(48, 0, SKIP), false},
      {LLRT_E4M3, "storage(rank=3, digits=[dim2:64, dim0:16, dim1:2, dim0:rest])", AT(48, 0, SKIP),
       false}}},
    {"qkv_norm_rope_append",
     {5, 4, 0, 32, 2},
     {1e-6},
     {{LLRT_BF16, NULL, {0}, false},
      {LLRT_BF16, NULL, {0}, false},
      {LLRT_BF16, NULL, {0}, false},
      {LLRT_BF16, NULL, {0}, false},
      {LLRT_BF16, NULL, {0}, false},
      {LLRT_F32, NULL, AT(50, 0, ZERO), false},
      {LLRT_F32, NULL, AT(50, 0, ZERO), false},
      {LLRT_BF16, NULL, {0}, false},
      {LLRT_E4M3, "storage(rank=3, digits=[dim2:8, dim0:16, dim2:8, dim1:2, dim0:rest])",
       AT(48, 0, SKIP), false},
      {LLRT_E4M3, "storage(rank=3, digits=[dim2:64, dim0:16, dim1:2, dim0:rest])", AT(48, 0, SKIP),
       false}}},
    {"kv_norm_rope_append",
     {3, 2, 0, 16},
     {1e-6},
     {{LLRT_BF16, NULL, {0}, false},
      {LLRT_BF16, NULL, {0}, false},
      {LLRT_BF16, NULL, {0}, false},
      {LLRT_F32, NULL, AT(50, 0, ZERO), false},
      {LLRT_F32, NULL, AT(50, 0, ZERO), false},
      {LLRT_BF16, "storage(rank=3, digits=[dim2:32, dim1:2, dim0:16, dim0:rest])", AT(48, 0, SKIP),
       false},
      {LLRT_BF16, "storage(rank=3, digits=[dim2:32, dim1:2, dim0:16, dim0:rest])", AT(48, 0, SKIP),
       false}}},
};

Test(compute_indices, catalogue) {
  for (size_t i = 0; i < sizeof catalogue / sizeof *catalogue; i++)
    for (int d = 0; d < DEVICES; d++) {
      char text[4000];
      trial_read_text(catalogue[i].name, text, sizeof text);
      trial t = {.text = text, .seed = 500 + i, .device = trial_device(devices[d])};
      memcpy(t.extent, catalogue[i].extent, sizeof catalogue[i].extent);
      memcpy(t.scalar, catalogue[i].scalar, sizeof catalogue[i].scalar);
      memcpy(t.tensor, catalogue[i].tensor, sizeof catalogue[i].tensor);
      const char *wrong = trial_run(&t);
      cr_expect_null(wrong, "%s on %s: %s", catalogue[i].name, devices[d], wrong);
    }
}

Test(compute_indices, against_reference) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int d = 0; d < DEVICES; d++) {
      trial t = {.text = cases[i].text,
                 .seed = 300 + i,
                 .counted = cases[i].counted,
                 .count = cases[i].count,
                 .device = trial_device(devices[d])};
      memcpy(t.extent, cases[i].extent, sizeof cases[i].extent);
      for (int k = 0; k < 6; k++) t.tensor[k] = cases[i].tensor[k];
      const char *wrong = trial_run(&t);
      cr_expect_null(wrong, "%zu, %s on %s: %s", i, t.text, devices[d], wrong);
    }
}

/* x [4 rows of 3] by index into a table of 5 rows; y its copy. */
typedef struct gathered {
  float table[15], out[12];
  int32_t row[4], count;
  llrt_index index, written;
  llrt_tensor x, y;
  llrt_arg arg[2];
} gathered;

static void begin_gathered(gathered *g) {
  *g = (gathered){.row = {4, 0, -1, 2}, .count = 3};
  for (int i = 0; i < 15; i++) g->table[i] = (float)i;
  g->index =
      (llrt_index){.dtype = LLRT_I32, .axes = 1, .extent = 5, .data = g->row, .strides = {1}};
  g->written = g->index;
  g->x = (llrt_tensor){.data = g->table,
                       .dtype = LLRT_F32,
                       .rank = 2,
                       .shape = {4, 3},
                       .device = trial_device("host"),
                       .indices = &g->index,
                       .n_indices = 1};
  g->y = g->x;
  g->y.n_indices = 0;
  g->y.data = g->out;
  g->arg[0] = (llrt_arg){.name = "x", .tensor = &g->x};
  g->arg[1] = (llrt_arg){.name = "y", .tensor = &g->y};
}

/* Described, prepared, saved, loaded, run with the index and a count. */
Test(compute_indices, prepared_and_saved) {
  gathered g;
  llrt_expr *expr;
  llrt_op_desc *desc;
  llrt_op *op, *loaded;
  size_t size;
  begin_gathered(&g);
  g.y.extent_ptr[0] = &g.count;
  cr_assert_eq(llrt_expr_parse("(x[t n]) -> (y[t n]) { y = x + sum(x, n) }", &expr), LLRT_OK);
  cr_assert_eq(llrt_compute_describe(expr, g.arg, 2, NULL, &desc), LLRT_OK, "%s",
               llrt_last_error());
  cr_assert_eq(llrt_op_promise_coarse(desc), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_prepare(g.x.device, desc, &op), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_save(op, NULL, &size), LLRT_OK);
  void *bytes = malloc(size);
  cr_assert_eq(llrt_op_save(op, bytes, &size), LLRT_OK);
  cr_assert_eq(llrt_op_load(g.x.device, bytes, size, &loaded), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_run(loaded, NULL, desc->tensors, desc->n_tensors, NULL), LLRT_OK, "%s",
               llrt_last_error());
  const float expected[12] = {12 + 39, 13 + 39, 14 + 39, 3, 4, 5, 0, 0, 0, 0, 0, 0};
  cr_expect_eq(memcmp(g.out, expected, sizeof expected), 0);
  g.count = 4; /* the same kernel */
  cr_assert_eq(llrt_op_run(loaded, NULL, desc->tensors, desc->n_tensors, NULL), LLRT_OK);
  cr_expect_eq(g.out[9], 6 + 21);
  free(bytes);
  llrt_op_destroy(&op);
  llrt_op_destroy(&loaded);
  llrt_op_desc_destroy(&desc);
  llrt_expr_destroy(&expr);
}

static void clamp_output(gathered *g) {
  g->y.indices = &g->written;
  g->y.n_indices = 1;
  g->written.out_of_range = LLRT_RANGE_CLAMP;
}
static void no_such_axis(gathered *g) { g->index.axis = 2; }
static void no_values(gathered *g) { g->index.data = NULL; }
static void in_place(gathered *g) { g->y.data = g->x.data; }
static void count_rows(gathered *g) { g->x.extent_ptr[0] = &g->count; }
static void count_columns(gathered *g) { g->x.extent_ptr[1] = &g->count; }
static void two_counts(gathered *g) {
  g->x.extent_ptr[0] = &g->count;
  g->y.extent_ptr[0] = &g->row[0];
}
static void odd_count(gathered *g) {
  g->y.extent_ptr[0] = (const int32_t *)((const char *)&g->count + 1);
}
static void as_it_is(gathered *g) { (void)g; }

/* Nothing is written, and the message says what is wrong. */
Test(compute_indices, refused) {
  static const struct {
    const char *text;
    void (*change)(gathered *g);
    llrt_status status;
    const char *message;
  } rows[] = {
      {"(x[t n]) -> (y[t n]) { y = x }", clamp_output, LLRT_INVALID_ARGUMENT,
       "tensor y's index 0: clamping"},
      {"(x[t n]) -> (y[t n]) { y = x }", no_such_axis, LLRT_INVALID_ARGUMENT,
       "tensor x's index 0 is on axis 2"},
      {"(x[t n]) -> (y[t n]) { y = x }", no_values, LLRT_INVALID_ARGUMENT, "has data NULL"},
      {"(x[t n]) -> (y[t n]) { y = x }", in_place, LLRT_INVALID_ARGUMENT, "overlaps"},
      {"(x[(a b:2) n]) -> (y[(a b) n]) { y = x }", as_it_is, LLRT_UNSUPPORTED,
       "x: it has an index on axis 0"},
      {"(x[~t n]) -> (y[t n]) { y = x }", as_it_is, LLRT_UNSUPPORTED,
       "x: it has an index on axis 0"},
      {"(x[t:4 n]) -> (y[t n]) { y = flip(x, t) }", as_it_is, LLRT_UNSUPPORTED,
       "x: it has an index on axis 0"},
      {"(x[(a b:2) n]) -> (y[(a b) n]) { y = x }", count_rows, LLRT_UNSUPPORTED,
       "x: it has an index on axis 0"},
      {"(x[t n]) -> (y[t n]) { y = x / sum(x, n) }", count_columns, LLRT_UNSUPPORTED,
       "extent in device memory along axis 1, which is joined"},
      {"(x[t (n m:1)]) -> (y[t (n m)]) { y = x }", count_columns, LLRT_UNSUPPORTED,
       "extent in device memory along axis 1, which is no single axis"},
      {"(x[t n]) -> (y[t n]) { y = x }", two_counts, LLRT_INVALID_ARGUMENT,
       "extent_ptr[0] is another one on the tensor y"},
      {"(x[t n]) -> (y[t n]) { y = x }", odd_count, LLRT_INVALID_ARGUMENT, "no multiple of 4"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    gathered g;
    llrt_expr *expr;
    begin_gathered(&g);
    rows[i].change(&g);
    cr_assert_eq(llrt_expr_parse(rows[i].text, &expr), LLRT_OK, "%s", llrt_last_error());
    llrt_status status = llrt_compute_into(expr, g.arg, 2, NULL, NULL);
    cr_expect_eq(status, rows[i].status, "%zu: %d, %s", i, status, llrt_last_error());
    cr_expect(strstr(llrt_last_error(), rows[i].message), "%zu: %s", i, llrt_last_error());
    for (int k = 0; k < 12; k++) cr_expect_eq(g.out[k], 0);
    for (int k = 0; k < 15; k++) cr_expect_eq(g.table[k], (float)k);
    llrt_expr_destroy(&expr);
  }
}
