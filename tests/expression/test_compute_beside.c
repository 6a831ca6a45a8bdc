/* Slices of one buffer: tensors whose memory reaches into each other's and that share no byte may
 * be read and written in one call. */
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ROWS = 37, MOST = 4096 };

static const char *const devices[] = {"host", "cuda-emu:sm_80", "cuda-emu:sm_90a",
                                      "hip-emu:gfx942"};
#define N_DEVICES (sizeof devices / sizeof *devices)

/* Columns first to first + n - 1 of rows of `pitch` elements. */
typedef struct slice {
  int first, n, pitch;
} slice;

/* A buffer of 16-bit elements on a device, and what it should be. */
typedef struct buffer {
  llrt_device *device;
  uint16_t *data;
  uint16_t host[MOST], wanted[MOST];
  llrt_storage rows;
} buffer;

/* Small whole numbers of bf16. */
static uint16_t code_of(int number) {
  float x = (float)number;
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (uint16_t)(bits >> 16);
}

static int number_of(int i) { return i * 7 % 31; }

static void begin(buffer *b, const char *device) {
  b->device = trial_device(device);
  cr_assert_not_null(b->device, "%s: %s", device, llrt_last_error());
  for (int i = 0; i < MOST; i++) b->host[i] = b->wanted[i] = code_of(number_of(i));
  cr_assert_eq(llrt_storage_strided(2, NULL, &b->rows), LLRT_OK);
  cr_assert_eq(llrt_memory_allocate(b->device, sizeof b->host, (void **)&b->data), LLRT_OK);
  cr_assert_eq(
      llrt_memory_copy(b->device, b->data, b->host, sizeof b->host, LLRT_COPY_TO_DEVICE, NULL),
      LLRT_OK);
  cr_assert_eq(llrt_stream_synchronize(b->device, NULL), LLRT_OK);
}

static llrt_tensor tensor_of(const buffer *b, slice s, int rows) {
  return (llrt_tensor){.data = b->data + s.first,
                       .dtype = LLRT_BF16,
                       .rank = 2,
                       .shape = {rows, s.n},
                       .strides = {s.pitch, 1},
                       .storage = &b->rows,
                       .device = b->device};
}

/* The columns of `to` become those of `from` times `factor` plus 1. */
static void expect(buffer *b, slice from, slice to, int factor) {
  for (int t = 0; t < ROWS; t++)
    for (int n = 0; n < to.n; n++)
      b->wanted[t * to.pitch + to.first + n] =
          code_of(number_of(t * from.pitch + from.first + n) * factor + 1);
}

static void end(buffer *b, const char *what) {
  cr_assert_eq(
      llrt_memory_copy(b->device, b->host, b->data, sizeof b->host, LLRT_COPY_FROM_DEVICE, NULL),
      LLRT_OK);
  cr_assert_eq(llrt_stream_synchronize(b->device, NULL), LLRT_OK);
  for (int i = 0; i < MOST; i++)
    cr_assert_eq(b->host[i], b->wanted[i], "%s: element %d is 0x%x, not 0x%x", what, i, b->host[i],
                 b->wanted[i]);
  llrt_memory_free(b->device, b->data);
}

/* y of x, z of w. */
static llrt_status compute(const buffer *b, slice x, slice y, slice w, slice z) {
  llrt_expr *expr;
  llrt_status status = llrt_expr_parse(
      "(x[t n], w[t m]) -> (y[t n], z[t m]) { y = x * 2 + 1; z = w * 3 + 1 }", &expr);
  llrt_tensor tensor[] = {tensor_of(b, x, ROWS), tensor_of(b, w, ROWS), tensor_of(b, y, ROWS),
                          tensor_of(b, z, ROWS)};
  const llrt_arg args[] = {{.name = "x", .tensor = &tensor[0]},
                           {.name = "w", .tensor = &tensor[1]},
                           {.name = "y", .tensor = &tensor[2]},
                           {.name = "z", .tensor = &tensor[3]}};
  if (status == LLRT_OK) status = llrt_compute_into(expr, args, 4, NULL, NULL);
  llrt_expr_destroy(&expr);
  return status;
}

/* Queries and keys of one product, in place and not, where rows begin at any byte. */
Test(compute_beside, slices_of_one_buffer) {
  static const struct {
    slice x, y, w, z;
  } rows[] = {{{0, 16, 48}, {0, 16, 48}, {16, 8, 48}, {16, 8, 48}},      /* both in place */
              {{0, 16, 48}, {24, 16, 48}, {16, 8, 48}, {40, 8, 48}},     /* beside */
              {{3, 7, 29}, {3, 7, 29}, {10, 5, 29}, {10, 5, 29}},        /* at odd places */
              {{3, 7, 29}, {15, 7, 29}, {10, 5, 29}, {22, 5, 29}},       /* between each other */
              {{0, 16, 32}, {16, 16, 32}, {2000, 1, 1}, {2000, 1, 1}},   /* a column */
              {{20, 9, 29}, {0, 9, 29}, {9, 3, 29}, {12, 3, 29}},        /* from behind */
              {{58, 7, 58}, {58 + 29, 7, 58}, {8, 7, 29}, {16, 7, 29}}}; /* of every other row */
  for (size_t d = 0; d < N_DEVICES; d++)
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
      static buffer b;
      begin(&b, devices[d]);
      expect(&b, rows[i].x, rows[i].y, 2);
      expect(&b, rows[i].w, rows[i].z, 3);
      cr_assert_eq(compute(&b, rows[i].x, rows[i].y, rows[i].w, rows[i].z), LLRT_OK,
                   "%zu on %s: %s", i, devices[d], llrt_last_error());
      end(&b, devices[d]);
    }
}

/* Slices that share a byte, or of which that is not known. */
Test(compute_beside, refused) {
  static const struct {
    slice x, y;
  } rows[] = {{{0, 16, 48}, {15, 16, 48}},  /* one column */
              {{0, 16, 48}, {33, 16, 48}},  /* the next row's first */
              {{16, 16, 48}, {1, 16, 48}},  /* from behind */
              {{0, 16, 48}, {24, 16, 49}},  /* of other pitches */
              {{0, 30, 48}, {30, 30, 48}}}; /* longer together than a row */
  const slice own = {2000, 4, 4}, other = {3000, 4, 4};
  static buffer b;
  begin(&b, "host");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    cr_expect_eq(compute(&b, rows[i].x, rows[i].y, own, other), LLRT_INVALID_ARGUMENT, "%zu", i);
    cr_expect(strstr(llrt_last_error(), "overlaps"), "%s", llrt_last_error());
  }
  end(&b, "host");
}

/* The same of converts and products. */
Test(compute_beside, other_operations) {
  const slice a = {0, 8, 29}, d = {8, 8, 29}, met = {7, 8, 29};
  for (size_t i = 0; i < N_DEVICES; i++) {
    static buffer b;
    begin(&b, devices[i]);
    llrt_tensor from = tensor_of(&b, a, ROWS), to = tensor_of(&b, d, ROWS);
    llrt_tensor over = tensor_of(&b, met, ROWS);
    for (int t = 0; t < ROWS; t++)
      memcpy(&b.wanted[t * 29 + 8], &b.wanted[t * 29], 8 * sizeof *b.wanted);
    cr_expect_eq(llrt_convert_into(&from, &over, NULL, NULL), LLRT_INVALID_ARGUMENT);
    cr_assert_eq(llrt_convert_into(&from, &to, NULL, NULL), LLRT_OK, "%s", llrt_last_error());
    end(&b, devices[i]);
    begin(&b, devices[i]);
    from.data = b.data, to.data = b.data + 8, over.data = b.data + 7;
    llrt_tensor one = tensor_of(&b, (slice){2000, 8, 8}, 8); /* 1 in the diagonal */
    memset(&b.host[2000], 0, 64 * sizeof *b.host);
    for (int n = 0; n < 8; n++) b.host[2000 + 9 * n] = code_of(1);
    memcpy(&b.wanted[2000], &b.host[2000], 64 * sizeof *b.host);
    cr_assert_eq(
        llrt_memory_copy(b.device, b.data, b.host, sizeof b.host, LLRT_COPY_TO_DEVICE, NULL),
        LLRT_OK);
    for (int t = 0; t < ROWS; t++)
      memcpy(&b.wanted[t * 29 + 8], &b.wanted[t * 29], 8 * sizeof *b.wanted);
    cr_expect_eq(llrt_dot_into(&from, &one, &over, NULL, NULL), LLRT_INVALID_ARGUMENT);
    cr_assert_eq(llrt_dot_into(&from, &one, &to, NULL, NULL), LLRT_OK, "%s", llrt_last_error());
    end(&b, devices[i]);
  }
}

/* Rows of no elements begin where those of others do, also where a call is made again in other
 * memory. */
Test(compute_beside, rows_without_elements) {
  static const struct {
    const char *text;
    int64_t extent[3];
  } rows[] = {{"(x[t n], z[t m]) -> (y[t n], r[t m]) { y = x + 1; r = z + 1 }", {3, 0, 19}},
              {"(x[t n], z[t m]) -> (y[t n], r[t m]) { y = x + 1; r = z + 1 }", {3, 19, 0}},
              {"(x[t n], z[t m]) -> (y[t n], r[t m]) { y = cumsum(x, n); r = z }", {3, 20, 0}},
              {"(x[t n], z[t m]) -> (y[t n], r[t]) { y = x + 1; r = min(z, m) }", {3, 0, 20}}};
  for (size_t d = 0; d < N_DEVICES; d++)
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
      for (int again = 0; again < 2; again++) {
        trial t = {.text = rows[i].text,
                   .beside = true,
                   .way = again ? TRIAL_AGAIN : TRIAL_AT_ONCE,
                   .device = trial_device(devices[d])};
        memcpy(t.extent, rows[i].extent, sizeof rows[i].extent);
        const char *wrong = trial_run(&t);
        cr_expect_null(wrong, "%zu, %s on %s: %s", i, t.text, devices[d], wrong);
      }
}
