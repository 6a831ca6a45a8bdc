/* A context that keeps few kernels for one-line calls: which it unloads, and that every call is
 * right whatever was. */
#include "tests/runtime/convert_fixture.h"

#include <pthread.h>

#define ROWS_OF(i) (2 * ((i) + 2))
#define WIDTH 16
#define MAX_ROWS 128

static fixture at;

static void start(void) { fixture_make(&at, &fixture_params); }
static void stop(void) { fixture_end(&at); }
TestSuite(limit, .init = start, .fini = stop);

static void set_limit(uint64_t kernels) {
  fixture_end(&at);
  llrt_context_params params = fixture_params;
  params.most_kernels = kernels;
  fixture_make(&at, &params);
}

static llrt_cache_stats stats(void) {
  llrt_cache_stats now = {0};
  cr_assert_eq(llrt_context_get_cache_stats(at.context, &now), LLRT_OK);
  return now;
}

/* Layout i: rows in groups of i + 2. */
static void storage_of(int i, llrt_storage *storage) {
  char text[96];
  snprintf(text, sizeof text, "storage(digits=[dim0: %d, dim1: rest, dim0: rest])", i + 2);
  cr_assert_eq(llrt_storage_parse(text, 2, NULL, storage), LLRT_OK, "%s", llrt_last_error());
}

/* Converts to layout i and compares. False: an element is wrong. */
static bool convert(int i) {
  static _Thread_local _Alignas(64) int32_t in[MAX_ROWS * WIDTH], out[MAX_ROWS * WIDTH];
  llrt_storage storage;
  llrt_storage_binding binding;
  storage_of(i, &storage);
  llrt_tensor source = {
      .data = in, .dtype = LLRT_I32, .rank = 2, .shape = {ROWS_OF(i), WIDTH}, .device = at.host};
  llrt_tensor destination = source;
  destination.data = out;
  destination.storage = &storage;
  for (int e = 0; e < ROWS_OF(i) * WIDTH; e++) in[e] = e * 40503 + i, out[e] = -1;
  if (llrt_convert_into(&source, &destination, NULL, NULL) != LLRT_OK) return false;
  if (llrt_storage_bind(&storage, 2, source.shape, NULL, &binding) != LLRT_OK) return false;
  for (int e = 0; e < ROWS_OF(i) * WIDTH; e++)
    if (out[llrt_storage_offset(&storage, &binding, (int64_t[]){e / WIDTH, e % WIDTH})] != in[e])
      return false;
  return true;
}

Test(limit, oldest_goes_first) {
  set_limit(4);
  for (int i = 0; i < 12; i++) {
    cr_assert(convert(i), "%s", llrt_last_error());
    cr_expect_eq(stats().kernels, i < 4 ? i + 1u : 4u, "after %d layouts: %d kernels", i + 1,
                 (int)stats().kernels);
  }
  cr_expect_eq(stats().compiles, 12);
  for (int i = 8; i < 12; i++) cr_expect(convert(i));
  cr_expect_eq(stats().compiles, 12, "the four last ones were there");
  cr_expect(convert(8));
  cr_expect(convert(0)); /* a ninth: 9 was not used for longest */
  cr_expect_eq(stats().compiles, 13);
  cr_expect(convert(8));
  cr_expect(convert(10));
  cr_expect(convert(11));
  cr_expect_eq(stats().compiles, 13);
  cr_expect(convert(9));
  cr_expect_eq(stats().compiles, 14);
}

Test(limit, none_is_none) {
  for (int i = 0; i < 12; i++) cr_assert(convert(i), "%s", llrt_last_error());
  cr_expect_eq(stats().kernels, 12);
}

/* Operations that a handle is held of stay, and do not count; without it they do. */
Test(limit, handles_stay) {
  enum { HELD = 5 };
  llrt_op *op[HELD];
  llrt_storage storage[HELD];
  set_limit(2);
  for (int i = 0; i < HELD; i++) {
    storage_of(i, &storage[i]);
    llrt_tensor tensors[2];
    const llrt_op_desc desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = tensors};
    for (int t = 0; t < 2; t++)
      tensors[t] = (llrt_tensor){
          .dtype = LLRT_I32, .rank = 2, .storage = t ? &storage[i] : NULL, .device = at.host};
    cr_assert_eq(llrt_op_prepare(at.host, &desc, &op[i]), LLRT_OK, "%s", llrt_last_error());
  }
  uint64_t held = stats().kernels, compiles = stats().compiles;
  cr_expect_geq(held, HELD);
  for (int i = 10; i < 20; i++) cr_expect(convert(i));
  cr_expect_eq(stats().kernels, held + 2);
  cr_expect_eq(stats().compiles, compiles + 10);
  for (int i = 0; i < HELD; i++) llrt_op_destroy(&op[i]);
  cr_expect_leq(stats().kernels, 2);
}

/* Shapes with a kernel each are unloaded, too, and may be met again any number of times. */
Test(limit, shapes_of_their_own) {
  fixture_end(&at);
  llrt_context_params params = fixture_params;
  params.most_kernels = 3;
  params.fix_extents = 1;
  fixture_make(&at, &params);
  llrt_storage columns;
  int32_t in[64 * 4], out[64 * 4];
  cr_assert_eq(llrt_storage_col_major(2, &columns), LLRT_OK);
  for (int turn = 0; turn < 3; turn++)
    for (int64_t rows = 1; rows <= 20; rows++) {
      llrt_tensor source = {
          .data = in, .dtype = LLRT_I32, .rank = 2, .shape = {rows, 4}, .device = at.host};
      llrt_tensor destination = source;
      destination.data = out;
      destination.storage = &columns;
      for (int e = 0; e < rows * 4; e++) in[e] = e + (int)rows;
      cr_assert_eq(llrt_convert_into(&source, &destination, NULL, NULL), LLRT_OK, "%s",
                   llrt_last_error());
      for (int e = 0; e < rows * 4; e++) cr_assert_eq(out[e % 4 * rows + e / 4], in[e]);
      cr_assert_leq(stats().kernels, 3);
    }
}

/* ---- threads ---- */

enum { THREADS = 8, TURNS = 12, LAYOUTS = 6 };

static void *convert_many(void *argument) {
  uintptr_t seed = (uintptr_t)argument, wrong = 0;
  for (int turn = 0; turn < TURNS; turn++) {
    seed = seed * 1664525 + 1013904223;
    wrong += !convert((int)((seed >> 16) % LAYOUTS));
  }
  return (void *)wrong;
}

Test(limit, threads, .timeout = 100) {
  pthread_t thread[THREADS];
  set_limit(2);
  for (uintptr_t i = 0; i < THREADS; i++)
    cr_assert_eq(pthread_create(&thread[i], NULL, convert_many, (void *)(i + 1)), 0);
  for (int i = 0; i < THREADS; i++) {
    void *wrong;
    pthread_join(thread[i], &wrong);
    cr_expect_eq((uintptr_t)wrong, 0, "thread %d: %d wrong", i, (int)(uintptr_t)wrong);
  }
  cr_expect(convert(LAYOUTS));
  cr_expect_leq(stats().kernels, 2);
}
