/* Reduces whose kept positions lie beside each other: a block of the host takes a stretch of a row,
 * line after line, before it goes on (jit/plan/reduce/reduce_tile.c). Compared with loops over
 * elements, guard elements behind the results included; behind the source there is no memory.
 * Elements are small integers, whose sums every type holds. */
#include "convert_fixture.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define GUARDS 8
#define GUARD 77

typedef struct row {
  llrt_combiner op;
  llrt_dtype dtype;
  int64_t outer, reduced, inner; /* shape [outer, reduced, inner], axis 1 */
} row;

static const row rows[] = {
    {LLRT_COMBINE_SUM, LLRT_F32, 1, 512, 4096}, /* whole lines, shares */
    {LLRT_COMBINE_MAX, LLRT_F32, 1, 1024, 512},
    {LLRT_COMBINE_SUM, LLRT_F32, 1, 999, 5000}, /* edges of both axes */
    {LLRT_COMBINE_SUM, LLRT_F32, 1, 700, 1025}, /* most of a block's lines are not there */
    {LLRT_COMBINE_MIN, LLRT_F32, 1, 4001, 65},
    {LLRT_COMBINE_SUM, LLRT_F32, 1, 5000, 12}, /* less than a line */
    {LLRT_COMBINE_SUM, LLRT_F32, 7, 130, 777},
    {LLRT_COMBINE_SUM, LLRT_F32, 64, 3, 777},  /* less than a turn */
    {LLRT_COMBINE_SUM, LLRT_F32, 1, 40, 9000}, /* one stage */
    {LLRT_COMBINE_SUM, LLRT_F32, 1, 50,
     9003}, /* the last turn lacks rows, lines are whole or not */
    {LLRT_COMBINE_MAX, LLRT_F32, 1, 7, 10001},
    {LLRT_COMBINE_ARGMIN, LLRT_I32, 1, 9, 4099},
    {LLRT_COMBINE_SUM, LLRT_F32, 1, 1, 5001},
    {LLRT_COMBINE_ARGMAX, LLRT_F32, 1, 600, 3000},
    {LLRT_COMBINE_ARGMIN, LLRT_I8, 1, 700, 1111},
    {LLRT_COMBINE_MAX, LLRT_I8, 1, 513, 4100},
    {LLRT_COMBINE_SUM, LLRT_I8, 1, 513, 4100},
    {LLRT_COMBINE_SUM, LLRT_U8, 3, 333, 257},
    {LLRT_COMBINE_MIN, LLRT_U16, 1, 515, 2050},
    {LLRT_COMBINE_SUM, LLRT_I32, 1, 515, 2050},
    {LLRT_COMBINE_SUM, LLRT_F64, 1, 300, 1500},
    {LLRT_COMBINE_PROD, LLRT_F64, 1, 300, 1500},
    {LLRT_COMBINE_ANY, LLRT_U8, 1, 300, 3001},
    {LLRT_COMBINE_ALL, LLRT_I32, 1, 300, 3001},
    {LLRT_COMBINE_SUM, LLRT_F32, 1, 70001, 1}, /* one column, which is taken as a row */
    {LLRT_COMBINE_ARGMAX, LLRT_F32, 3, 1003, 1},
    {LLRT_COMBINE_ARGMIN, LLRT_I8, 1, 517, 1},
};

/* Few values, so that there are ties; of products most are 1. */
static int value_of(const row *r, int64_t i) {
  uint64_t x = ((uint64_t)i + 1) * 0x9E3779B97F4A7C15u >> 40;
  if (r->op == LLRT_COMBINE_PROD) return x % 50 == 0 ? 2 : 1;
  if (r->op == LLRT_COMBINE_ANY) return x % 400 == 0;
  if (r->op == LLRT_COMBINE_ALL) return x % 400 != 0;
  return (int)(x % 7) - (r->dtype == LLRT_U8 || r->dtype == LLRT_U16 ? 0 : 3);
}

static void put(llrt_dtype dtype, void *data, int64_t i, double x) {
  if (dtype == LLRT_F32) ((float *)data)[i] = (float)x;
  else if (dtype == LLRT_F64) ((double *)data)[i] = x;
  else if (llrt_dtype_bits(dtype) == 8) ((int8_t *)data)[i] = (int8_t)(int)x;
  else if (llrt_dtype_bits(dtype) == 16) ((int16_t *)data)[i] = (int16_t)(int)x;
  else if (llrt_dtype_bits(dtype) == 32) ((int32_t *)data)[i] = (int32_t)x;
  else ((int64_t *)data)[i] = (int64_t)x;
}

static double get(llrt_dtype dtype, const void *data, int64_t i) {
  if (dtype == LLRT_F32) return ((const float *)data)[i];
  if (dtype == LLRT_F64) return ((const double *)data)[i];
  if (dtype == LLRT_U8 || dtype == LLRT_BOOL) return ((const uint8_t *)data)[i];
  if (dtype == LLRT_I8) return ((const int8_t *)data)[i];
  if (dtype == LLRT_U16) return ((const uint16_t *)data)[i];
  if (llrt_dtype_bits(dtype) == 32) return ((const int32_t *)data)[i];
  return (double)((const int64_t *)data)[i];
}

static double wanted(const row *r, int64_t outer, int64_t inner) {
  double best = value_of(r, outer * r->reduced * r->inner + inner), at = 0;
  for (int64_t k = 1; k < r->reduced; k++) {
    double x = value_of(r, (outer * r->reduced + k) * r->inner + inner);
    bool greater = r->op == LLRT_COMBINE_MAX || r->op == LLRT_COMBINE_ARGMAX;
    if (r->op == LLRT_COMBINE_SUM) best += x;
    else if (r->op == LLRT_COMBINE_PROD) best *= x;
    else if (r->op == LLRT_COMBINE_ANY) best = best != 0 || x != 0;
    else if (r->op == LLRT_COMBINE_ALL) best = best != 0 && x != 0;
    else if (greater ? x > best : x < best) best = x, at = (double)k;
  }
  return r->op == LLRT_COMBINE_ARGMAX || r->op == LLRT_COMBINE_ARGMIN ? at : best;
}

/* Memory behind which there is none. */
typedef struct last_bytes {
  char *map, *at;
  size_t mapped;
} last_bytes;

static last_bytes take_last_bytes(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
  last_bytes made = {.mapped = whole + page};
  made.map = mmap(NULL, made.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  cr_assert_neq(made.map, MAP_FAILED);
  cr_assert_eq(mprotect(made.map + whole, page, PROT_NONE), 0);
  made.at = made.map + whole - bytes;
  return made;
}

static void check_row(fixture *at, const row *r) {
  int64_t n = r->outer * r->reduced * r->inner, results = r->outer * r->inner;
  size_t width = (size_t)llrt_dtype_bits(r->dtype) / 8;
  last_bytes memory = take_last_bytes((size_t)n * width);
  char *source = memory.at;
  for (int64_t i = 0; i < n; i++) put(r->dtype, source, i, value_of(r, i));
  llrt_tensor from = {.data = source,
                      .dtype = r->dtype,
                      .rank = 3,
                      .shape = {r->outer, r->reduced, r->inner},
                      .device = at->host};
  llrt_tensor made;
  llrt_reduce_params params = {.op = r->op, .axes = 2};
  cr_assert_eq(llrt_reduce(&from, NULL, &params, NULL, &made), LLRT_OK, "%s", llrt_last_error());
  llrt_tensor to = made;
  size_t bytes = (size_t)llrt_dtype_bits(to.dtype) / 8;
  char *guarded = malloc(((size_t)results + GUARDS) * bytes);
  memset(guarded, GUARD, ((size_t)results + GUARDS) * bytes);
  to.data = guarded;
  cr_assert_eq(llrt_reduce_into(&from, &to, &params, NULL), LLRT_OK, "%s", llrt_last_error());
  for (int64_t i = 0; i < results; i++) {
    double x = wanted(r, i / r->inner, i % r->inner);
    cr_assert_eq(get(to.dtype, guarded, i), x, "row %d: result %lld is %g, not %g", (int)(r - rows),
                 (long long)i, get(to.dtype, guarded, i), x);
  }
  cr_expect_eq(memcmp(made.data, guarded, (size_t)results * bytes), 0, "row %d: two runs differ",
               (int)(r - rows));
  for (size_t i = 0; i < GUARDS * bytes; i++)
    cr_assert_eq(guarded[(size_t)results * bytes + i], GUARD, "row %d writes behind its results",
                 (int)(r - rows));
  cr_assert_eq(llrt_tensor_free(&made, NULL), LLRT_OK);
  free(guarded);
  munmap(memory.map, memory.mapped);
}

Test(reduce_columns, every_row, .timeout = 240) {
  fixture at;
  fixture_make(&at, &fixture_params);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&at, &rows[i]);
  fixture_end(&at);
}

/* Processor time of a sum over so many rows, the least of five. */
static double clocks_of(fixture *at, char *data, int64_t n, int64_t columns) {
  llrt_tensor from = {
      .data = data, .dtype = LLRT_F32, .rank = 2, .shape = {n, columns}, .device = at->host};
  const llrt_reduce_params params = {.axes = 1};
  double least = 0;
  for (int i = 0; i < 5; i++) {
    llrt_tensor made;
    clock_t begin = clock();
    cr_assert_eq(llrt_reduce(&from, NULL, &params, NULL, &made), LLRT_OK, "%s", llrt_last_error());
    double took = (double)(clock() - begin);
    if (i == 0 || took < least) least = took;
    cr_assert_eq(llrt_tensor_free(&made, NULL), LLRT_OK);
  }
  return least;
}

/* Masked loads from memory that is not there took thirteen times as long as all others together. */
Test(reduce_columns, rows_that_lack, .timeout = 60) {
  enum { WIDTH = 400000 };
  fixture at;
  fixture_make(&at, &fixture_params);
  last_bytes memory = take_last_bytes((size_t)50 * WIDTH * sizeof(float));
  memset(memory.at, 0, (size_t)50 * WIDTH * sizeof(float));
  char *last_48 = memory.at + (size_t)2 * WIDTH * sizeof(float);
  double whole = clocks_of(&at, last_48, 48, WIDTH), lacks = clocks_of(&at, memory.at, 50, WIDTH);
  cr_expect_lt(lacks, 4 * whole, "50 rows take %g times as long as 48", lacks / whole);
  munmap(memory.map, memory.mapped);
  fixture_end(&at);
}
