/* The exchange by matrix instructions: where it is taken, what it costs, that random layouts which
 * it divides come out right, and that a plan which tears a matrix is refused. */
#include "jit/probe/plan_tile.h"

#include "base/bits.h"
#include "jit/plan/check/plan_view.h"
#include "jit/plan/cost/cycles.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"
#include "tests/plan/random_layout.h"
#include "tests/plan/tile_pairs.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static plan_kernel kernel;

static llrt_status make(const llrt_layout *a, const llrt_layout *b, int bits,
                        const char *target_name, plan_exchange exchange) {
  plan_target target;
  plan_options options = {.exchange = exchange};
  plan_tile tile = {.a = a, .b = b, .element_bits = bits, .turns = 2};
  cr_assert_eq(plan_target_find(target_name, &target), LLRT_OK);
  return plan_tile_make(&tile, &target, &options, &kernel);
}

/* Steps of the kernel that load (store) matrices of a kind. */
static int count(plan_step_kind step, plan_matrix_kind kind) {
  int n = 0;
  for (int i = 0; i < kernel.n_steps; i++)
    n += kernel.step[i].kind == step && kernel.step[i].matrix == kind;
  return n;
}

static int count_matrices(void) {
  int n = 0;
  for (int i = 0; i < kernel.n_steps; i++) n += kernel.step[i].matrix != PLAN_MATRIX_NONE;
  return n;
}

static double clocks(void) {
  plan_cycles cycles;
  plan_cycles_of(&kernel.target, &kernel.cost, 1 << kernel.warp_bits, &cycles);
  return cycles.total;
}

/* ---- 128 x 128 elements ---- */

#define ROWS \
  "blocked(size_per_thread=[1,8], threads_per_warp=[2,16], warps_per_cta=[4,1], order=[1,0])"
#define COLUMNS \
  "blocked(size_per_thread=[8,1], threads_per_warp=[16,2], warps_per_cta=[1,4], order=[0,1])"
#define BYTE_ROWS \
  "blocked(size_per_thread=[1,16], threads_per_warp=[4,8], warps_per_cta=[4,1], order=[1,0])"
#define BYTE_COLUMNS \
  "blocked(size_per_thread=[16,1], threads_per_warp=[8,4], warps_per_cta=[1,4], order=[0,1])"
#define MMA "nvmma(version=[2,0], warps_per_cta=[2,2], instr_shape=[16,8])"

static void parse_square(const char *text, llrt_layout *layout) {
  cr_assert_eq(llrt_layout_parse(text, 2, (int64_t[]){128, 128}, layout), LLRT_OK, "%s",
               llrt_last_error());
}

/* There and back: twice 32 KiB stored and loaded, 1024 wavefronts at least, and the barriers; words
 * without common elements do not cost shuffles. */
Test(matrix, transposes_take_what_shared_memory_must) {
  static const struct {
    const char *target;
    int loads, stores;
  } rows[] = {{"sm_80", 2, 0}, {"sm_89", 2, 0}, {"sm_90a", 2, 0}};
  llrt_layout a, b;
  parse_square(ROWS, &a);
  parse_square(COLUMNS, &b);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    cr_assert_eq(make(&a, &b, 16, rows[i].target, PLAN_EXCHANGE_AUTO), LLRT_OK, "%s",
                 llrt_last_error());
    cr_expect_eq(count(PLAN_SHARED_LOAD, PLAN_MATRIX_TRANSPOSED), rows[i].loads, "%s",
                 rows[i].target);
    cr_expect_eq(count(PLAN_SHARED_STORE, PLAN_MATRIX_TRANSPOSED), rows[i].stores, "%s",
                 rows[i].target);
    cr_expect_eq(kernel.cost.shared_store_wavefronts, 2 * kernel.cost.min_wavefronts);
    cr_expect_eq(kernel.cost.shared_load_wavefronts, 2 * kernel.cost.min_wavefronts);
    cr_expect_eq(kernel.cost.shuffles, 0);
    double chosen = clocks();
    cr_assert_eq(make(&a, &b, 16, rows[i].target, PLAN_EXCHANGE_SHARED), LLRT_OK);
    cr_expect_gt(clocks() / chosen, 1.2, "%s: %g clocks, without matrices %g", rows[i].target,
                 chosen, clocks());
  }
}

/* Pairs of 8-bit elements move as one: where no register is in common, shuffles bring in one of
 * two. */
Test(matrix, bytes_need_half_the_shuffles) {
  llrt_layout a, b;
  parse_square(BYTE_ROWS, &a);
  parse_square(BYTE_COLUMNS, &b);
  cr_assert_eq(make(&a, &b, 8, "sm_80", PLAN_EXCHANGE_AUTO), LLRT_OK, "%s", llrt_last_error());
  int shuffles = kernel.cost.shuffles;
  double chosen = clocks();
  cr_expect_eq(count(PLAN_SHARED_LOAD, PLAN_MATRIX_TRANSPOSED), 2);
  cr_assert_eq(make(&a, &b, 8, "sm_80", PLAN_EXCHANGE_SHARED), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(2 * shuffles, kernel.cost.shuffles, "%d shuffles, %d", shuffles,
               kernel.cost.shuffles);
  cr_expect_gt(clocks() / chosen, 1.15, "%g clocks, without matrices %g", chosen, clocks());
}

/* A side whose lanes hold columns may be the one that stores: sm_90 has the instruction. */
Test(matrix, stores_where_there_are_any) {
  llrt_layout a, b;
  parse_square(COLUMNS, &a);
  parse_square(MMA, &b);
  cr_assert_eq(make(&a, &b, 16, "sm_90a", PLAN_EXCHANGE_AUTO), LLRT_OK, "%s", llrt_last_error());
  int loads = count(PLAN_SHARED_LOAD, PLAN_MATRIX_TRANSPOSED);
  int stores = count(PLAN_SHARED_STORE, PLAN_MATRIX_TRANSPOSED);
  cr_expect_eq(loads + stores, 2, "%d loads, %d stores", loads, stores);
  cr_assert_eq(make(&a, &b, 16, "sm_80", PLAN_EXCHANGE_AUTO), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(count(PLAN_SHARED_STORE, PLAN_MATRIX_TRANSPOSED), 0);
}

/* Where words are common, vectors of lanes are as fast within a hundredth. */
Test(matrix, hardly_cheaper_where_words_are_common) {
  llrt_layout a, b;
  parse_square(ROWS, &a);
  parse_square(MMA, &b);
  cr_assert_eq(make(&a, &b, 16, "sm_90a", PLAN_EXCHANGE_AUTO), LLRT_OK, "%s", llrt_last_error());
  double chosen = clocks();
  cr_assert_eq(make(&a, &b, 16, "sm_90a", PLAN_EXCHANGE_SHARED), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(count_matrices(), 0);
  cr_expect_lt(clocks(), 1.01 * chosen);
  cr_assert_eq(make(&a, &b, 16, "sm_90a", PLAN_EXCHANGE_MATRIX), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(count_matrices(), 2);
  cr_expect_geq(clocks(), chosen);
}

Test(matrix, not_elsewhere) {
  static const char *const others[] = {"gfx90a", "gfx942", "x86-64-v3"};
  const int64_t shape[] = {32, 64};
  llrt_layout a, b;
  cr_assert_eq(llrt_layout_parse(TILE_ROWS_4, 2, shape, &a), LLRT_OK);
  cr_assert_eq(llrt_layout_parse(TILE_COLUMNS_4, 2, shape, &b), LLRT_OK);
  for (int i = 0; i < 3; i++) {
    cr_assert_eq(make(&a, &b, 16, others[i], PLAN_EXCHANGE_MATRIX), LLRT_UNSUPPORTED, "%s",
                 others[i]);
    cr_assert_not_null(strstr(llrt_last_error(), "matrix instructions"), "%s", llrt_last_error());
  }
  cr_assert_eq(make(&a, &b, 64, "sm_90a", PLAN_EXCHANGE_MATRIX), LLRT_UNSUPPORTED);
}

/* ---- random layouts ---- */

/* Both layouts by one random invertible matrix: what they have in common stays, but nothing is a
 * unit vector. */
static void mix(uint64_t *seed, llrt_layout pair[2]) {
  uint64_t column[LLRT_MAX_BITS];
  int n = llrt_layout_out_bits(&pair[0]);
  f2_basis basis;
  f2_basis_init(&basis);
  for (int i = 0; i < n;) {
    uint64_t x = test_random(seed) & bits_mask(n);
    if (f2_basis_insert(&basis, x)) column[i++] = x;
  }
  for (int s = 0; s < 2; s++)
    for (int i = 0; i < llrt_layout_in_bits(&pair[s]); i++)
      pair[s].column[i] = f2_apply(column, pair[s].column[i]);
}

Test(matrix, random_layouts) {
  static const char *const targets[] = {"sm_80", "sm_90a"};
  uint64_t seed = 43;
  int seen[2][PLAN_MATRIX_TRANSPOSED + 1] = {{0}}, ran = 0;
  for (int round = 0; round < 300; round++) {
    int registers = 1 + (int)(test_random(&seed) % 5), warps = (int)(test_random(&seed) % 3);
    int bits = 8 << test_random(&seed) % 3;
    llrt_layout pair[2];
    for (int s = 0; s < 2; s++)
      tile_random_layout(&seed, registers, 5, warps, s == 1 && round % 5 == 4, true, &pair[s]);
    if (round % 2) mix(&seed, pair);
    for (int t = 0; t < 2; t++) {
      char what[80];
      snprintf(what, sizeof what, "round %d, %d bits, %s", round, bits, targets[t]);
      llrt_status status = make(&pair[0], &pair[1], bits, targets[t], PLAN_EXCHANGE_MATRIX);
      if (status == LLRT_UNSUPPORTED) continue;
      cr_assert_eq(status, LLRT_OK, "%s: %s", what, llrt_last_error());
      cr_assert_gt(count_matrices(), 0, "%s", what);
      tile_execute(&kernel, what);
      ran++;
      for (int kind = PLAN_MATRIX_ROWS; kind <= PLAN_MATRIX_TRANSPOSED; kind++) {
        seen[0][kind] += count(PLAN_SHARED_LOAD, (plan_matrix_kind)kind);
        seen[1][kind] += count(PLAN_SHARED_STORE, (plan_matrix_kind)kind);
      }
    }
  }
  printf("%d plans: %d, %d loads and %d, %d stores of rows, transposed\n", ran,
         seen[0][PLAN_MATRIX_ROWS], seen[0][PLAN_MATRIX_TRANSPOSED], seen[1][PLAN_MATRIX_ROWS],
         seen[1][PLAN_MATRIX_TRANSPOSED]);
  cr_assert_gt(ran, 60);
  for (int side = 0; side < 2; side++)
    for (int kind = PLAN_MATRIX_ROWS; kind <= PLAN_MATRIX_TRANSPOSED; kind++)
      cr_expect_gt(seen[side][kind], 10, "side %d, kind %d: %d", side, kind, seen[side][kind]);
}

/* ---- what verification sees ---- */

static plan_step *first_matrix(void) {
  for (int i = 0; i < kernel.n_steps; i++)
    if (kernel.step[i].matrix) return &kernel.step[i];
  cr_assert_fail("no matrix");
  return NULL;
}

static void expect_torn(const char *words) {
  cr_expect_eq(plan_verify(&kernel), LLRT_INTERNAL, "%s", words);
  cr_expect_not_null(strstr(llrt_last_error(), words), "%s, not %s", llrt_last_error(), words);
}

Test(matrix, torn_ones_are_refused) {
  llrt_layout a, b;
  parse_square(ROWS, &a);
  parse_square(COLUMNS, &b);
  cr_assert_eq(make(&a, &b, 16, "sm_80", PLAN_EXCHANGE_AUTO), LLRT_OK, "%s", llrt_last_error());
  const plan_kernel right = kernel;
  cr_assert_eq(plan_verify(&kernel), LLRT_OK);
  first_matrix()->matrix = PLAN_MATRIX_ROWS;
  expect_torn("no row of a matrix");
  kernel = right;
  first_matrix()->matrix = PLAN_MATRIX_TRANSPOSED + 1;
  expect_torn("of kind");
  kernel = right;
  first_matrix()->vector = 2;
  expect_torn("rows of 2^2");
  kernel = right;
  kernel.target.matrix_load = false;
  expect_torn("matrices on sm_80");
  kernel = right;
  plan_value *value = &kernel.value[first_matrix()->out];
  uint64_t *lane = &value->layout.column[plan_value_bits(value, PLAN_REGISTER)], kept = lane[2];
  lane[2] = lane[3];
  lane[3] = kept;
  expect_torn("no row of a matrix");
}
