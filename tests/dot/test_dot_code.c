/* Products that boxes copy: how long their turns are, and their code. */
#include "planned_kernels.h"

#include "jit/plan/facts/box.h"
#include "runtime/jit_library.h"

#include <string.h>

static const dot_problem problems[] = {
    {SHAPE(140, 200, 832), TYPES(BF16, BF16), LIES("", "col_major")},
    {SHAPE(70, 136, 256), TYPES(E4M3, E4M3), LIES("", "col_major")},
    {SHAPE(72, 256, 576), TYPES(F16, F16)},
};
#define PROBLEMS ((int)(sizeof problems / sizeof *problems))
#define STEP 4 /* every so many kernels */

static planned_kernels t;

static bool has_boxes(const plan_kernel *kernel) { return kernel->launch.n_boxes > 0; }

/* Turns of few rows have two lines of 128 bytes of each, but where a cluster's blocks have parts of
 * them. */
Test(dot_code, turns_of_few_rows) {
  for (int i = 0; i < PROBLEMS; i++) {
    const bool bytes = problems[i].type[LLRT_DOT_A] == LLRT_E4M3;
    int longer = 0;
    planned_kernels_make(&t, &problems[i], 5);
    for (int v = planned_kernels_next(&t, has_boxes, 0); v >= 0;
         v = planned_kernels_next(&t, has_boxes, v + 1)) {
      const plan_kernel *kernel = &t.made.variant[v];
      const int *tile = kernel->tile.positions;
      if (kernel->cluster_bits > 0 || kernel->deal.used || tile[0] == 0) continue;
      const bool few = tile[0] + tile[1] <= (bytes ? 160 : 128);
      cr_expect_eq(tile[2], (bytes ? 128 : 64) << few, "%d: %d x %d x %d", i, tile[0], tile[1],
                   tile[2]);
      longer += few;
    }
    cr_expect(longer >= 8, "%d: %d kernels", i, longer);
    dot_bench_free(&t.bench);
  }
}

/* Behind a comparison of threads' numbers ptxas would ask all lanes by turns for each box's place:
 * one thread of a warp that elects it copies. */
static void expect_elected(const char *ptx, int problem, int v) {
  const char *copy = strstr(ptx, "cp.async.bulk.tensor"), *elect = strstr(ptx, "elect.sync");
  cr_assert_not_null(copy, "%d, variant %d", problem, v);
  cr_expect(elect && elect < copy, "%d, variant %d: no thread is elected before it copies", problem,
            v);
}

#define MOST_SUMMED 4 /* instructions of 32 positions: sums of 8-bit floats keep few bits */

/* How many commit groups the code has. */
static int expect_few_summed(const char *ptx, int v) {
  static const char product[] = "wgmma.mma_async", commit[] = "wgmma.commit_group";
  int groups = 0, products = 0;
  for (const char *at = strstr(ptx, "wgmma."); at; at = strstr(at + 1, "wgmma.")) {
    products += strncmp(at, product, sizeof product - 1) == 0;
    if (strncmp(at, commit, sizeof commit - 1) != 0) continue;
    cr_expect_leq(products, MOST_SUMMED, "variant %d: %d instructions are summed", v, products);
    products = 0;
    groups++;
  }
  return groups;
}

static bool has_late_sums(const plan_kernel *kernel) {
  bool late = false;
  for (int i = 0; i < kernel->n_steps; i++) late |= kernel->step[i].late_sums;
  return late;
}

/* Sums of 8-bit floats join after 128 positions of K however long a turn is, and the next ones'
 * products are under way meanwhile: of a turn's second half those of the turn after. */
Test(dot_code, sums_of_few_bits, .timeout = 120) {
  jit_library library;
  const llrt_jit_interface *jit;
  int longer = 0;
  cr_assert_eq(llrt_jit_library_init(LLRT_TEST_JIT_LIBRARY, &library), LLRT_OK);
  cr_assert_eq(llrt_jit_library_get(&library, &jit), LLRT_OK, "%s", llrt_last_error());
  planned_kernels_make(&t, &problems[1], 5);
  for (int v = planned_kernels_next(&t, has_boxes, 0); v >= 0;
       v = planned_kernels_next(&t, has_boxes, v + 1)) {
    llrt_jit_result result;
    const bool two = t.made.variant[v].tile.positions[2] == 256;
    if (!two && v % STEP > 0) continue;
    cr_assert_eq(jit->compile(&t.made.variant[v], LLRT_EMIT_ASM, &result), LLRT_OK, "%s",
                 result.message);
    const int groups = expect_few_summed(result.data, v);
    cr_expect_geq(groups, 1 + two, "variant %d: %d groups", v, groups);
    cr_expect_eq(has_late_sums(&t.made.variant[v]), two, "variant %d", v);
    cr_expect_eq(strstr(result.data, "wgmma.wait_group.sync.aligned 1;") != NULL, two, "variant %d",
                 v);
    longer += two;
    jit->release(&result);
  }
  cr_expect_geq(longer, 8, "%d kernels", longer);
  dot_bench_free(&t.bench);
  llrt_jit_library_fini(&library);
}

Test(dot_code, an_elected_thread_copies_boxes, .timeout = 120) {
  jit_library library;
  const llrt_jit_interface *jit;
  int kernels = 0;
  cr_assert_eq(llrt_jit_library_init(LLRT_TEST_JIT_LIBRARY, &library), LLRT_OK);
  cr_assert_eq(llrt_jit_library_get(&library, &jit), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < PROBLEMS; i++) {
    planned_kernels_make(&t, &problems[i], 5);
    for (int v = planned_kernels_next(&t, has_boxes, 0); v >= 0;
         v = planned_kernels_next(&t, has_boxes, v + STEP)) {
      llrt_jit_result result;
      cr_assert_eq(jit->compile(&t.made.variant[v], LLRT_EMIT_ASM, &result), LLRT_OK, "%s",
                   result.message);
      expect_elected(result.data, i, v);
      jit->release(&result);
      kernels++;
    }
    dot_bench_free(&t.bench);
  }
  cr_expect_gt(kernels, 20);
  llrt_jit_library_fini(&library);
}
