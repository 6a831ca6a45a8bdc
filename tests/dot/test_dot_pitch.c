/* Rows that begin inside lines of memory, on sm_90a: warpgroups multiply them as they lie, where
 * pieces of 4 bytes and more divide their pitch, or behind copies; the choice knows what either
 * costs. */
#include "planned_kernels.h"

#include "jit/plan/check/plan_view.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/facts/thread_registers.h"
#include "jit/plan/kernel/plan.h"
#include "jit/plan/plan_choice.h"
#include "jit/plan/plan_make.h"
#include "runtime/described.h"

#include <llrt/dot.h>
#include <llrt/layout_algebra.h>

#include <criterion/criterion.h>
#include <string.h>

#define UNITS 132

static plan made;
static described_dot call;

static void plan_for_gpu(void) {
  plan_target target;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(described_promise(&call.desc), LLRT_OK);
  cr_assert_eq(plan_make(&call.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
}

static void plan_bench(dot_bench *bench) {
  const dot_part *part = bench->part;
  cr_assert_eq(described_dot_make(&part[LLRT_DOT_A].tensor, &part[LLRT_DOT_B].tensor,
                                  &part[LLRT_DOT_D].tensor, &bench->params, &call),
               LLRT_OK, "%s", llrt_last_error());
  plan_for_gpu();
}

/* Bytes of the narrowest copy of a turn; 0: boxes copy all. */
static int copied_bytes(const plan_kernel *kernel) {
  int least = 0;
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    if (step->kind != PLAN_COPY || step->box) continue;
    const int bytes = plan_access_bytes(kernel->value[step->in].bits, step->vector);
    if (least == 0 || bytes < least) least = bytes;
  }
  return least;
}

/* Positions of M and N of a tile. */
static int results_of(const plan_kernel *kernel) {
  return kernel->tile.positions[0] * kernel->tile.positions[1];
}

/* The variant with `stages` stages behind which warpgroups multiply, whose tile is the least. */
static plan_kernel *least_of(int stages) {
  plan_kernel *least = NULL;
  for (int i = 0; i < made.n_variants; i += 1 + made.variant[i].launch.later) {
    plan_kernel *first = &made.variant[i], *last = first + first->launch.later;
    if (first->launch.later != stages || !planned_by_warpgroups(last) || last->walk.split >= 0)
      continue;
    if (!least || results_of(first) < results_of(least)) least = first;
  }
  return least;
}

static void check(dot_bench *bench, const plan_kernel *kernel) {
  char why[400], title[DOT_TITLE_BYTES];
  dot_problem_title(&bench->problem, title, sizeof title);
  memset(bench->part[LLRT_DOT_D].image, 0xee, 2);
  cr_assert_eq(planned_interpret(&call.desc, kernel, &bench->problem), LLRT_OK, "%s: %s", title,
               llrt_last_error());
  cr_expect(dot_reference_check(bench, bench->part[LLRT_DOT_D].image, why, sizeof why), "%s: %s",
            title, why);
}

/* Pieces of `bytes` bytes, or copies in front (0). */
Test(dot_pitch, right, .timeout = 60) {
  static const struct {
    dot_problem problem;
    int bytes, copies;
  } rows[] = {
      {{SHAPE(9, 70, 98), TYPES(BF16, BF16), LIES("", "col_major")}, 4, 0},
      {{SHAPE(67, 5, 2), TYPES(BF16, BF16), LIES("", "col_major")}, 4, 0},
      {{SHAPE(3, 65, 140), TYPES(F16, F16), LIES("", "col_major")}, 8, 0},
      {{SHAPE(10, 34, 67), TYPES(F16, F16), LIES("col_major", "")}, 4, 0},
      {{SHAPE(7, 66, 130), TYPES(BF16, BF16)}, 4, 0},
      {{SHAPE(12, 33, 68), TYPES(BF16, BF16), LIES("col_major", "col_major")}, 8, 0},
      {{SHAPE(9, 41, 132), TYPES(E4M3, E5M2), LIES("", "col_major")}, 4, 0},
      {{SHAPE(9, 41, 136), TYPES(I8, I8), LIES("", "col_major")}, 8, 0},
      {{SHAPE(33, 70, 264), TYPES(E4M3, E4M3), LIES("", "col_major")}, 8, 0},
      {{SHAPE(19, 70, 97), TYPES(BF16, BF16), LIES("", "col_major")}, 0, 2},
      {{SHAPE(66, 5, 1), TYPES(F16, F16), LIES("", "col_major")}, 0, 2},
      {{SHAPE(21, 35, 129), TYPES(BF16, BF16)}, 0, 2},
      {{SHAPE(18, 41, 131), TYPES(E4M3, E4M3), LIES("", "col_major")}, 0, 2},
      {{SHAPE(17, 40, 64), TYPES(BF16, BF16), LIES("strided([65,1])", "col_major")}, 0, 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    static dot_bench bench;
    cr_assert(dot_bench_make(&rows[i].problem, 3 + i, &bench), "%zu: %s", i, llrt_last_error());
    plan_bench(&bench);
    const plan_kernel *kernel = least_of(rows[i].copies);
    cr_assert(kernel, "%zu: warpgroups do not multiply behind %d copies", i, rows[i].copies);
    cr_expect_eq(copied_bytes(kernel + rows[i].copies), rows[i].bytes, "%zu: pieces of %d bytes", i,
                 copied_bytes(kernel + rows[i].copies));
    check(&bench, kernel);
    dot_bench_free(&bench);
  }
}

/* ---- the choice ---- */

static void plan_shape(int64_t m, int64_t n, int64_t k) {
  static llrt_storage columns;
  cr_assert_eq(llrt_storage_col_major(2, &columns), LLRT_OK);
  const llrt_dot_params params = {.size = sizeof params};
  const llrt_tensor a = {.dtype = LLRT_BF16, .rank = 2, .shape = {m, k}, .data = (void *)4096},
                    b = {.dtype = LLRT_BF16,
                         .rank = 2,
                         .shape = {k, n},
                         .data = (void *)4096,
                         .storage = &columns},
                    d = {.dtype = LLRT_BF16, .rank = 2, .shape = {m, n}, .data = (void *)4096};
  cr_assert_eq(described_dot_make(&a, &b, &d, &params, &call), LLRT_OK, "%s", llrt_last_error());
  plan_for_gpu();
}

/* One row of `word` elements an access, which rows of B overhang or not; the first variant. */
Test(dot_pitch, one_row, .timeout = 60) {
  static const struct {
    dot_problem problem;
    int word;
    bool overhangs;
  } rows[] = {
      {{SHAPE(1, 1061, 1037), TYPES(BF16, BF16), LIES("", "col_major")}, 2, true},
      {{SHAPE(1, 1058, 1030), TYPES(F16, F16), LIES("", "col_major")}, 2, false},
      {{SHAPE(1, 1063, 1025), TYPES(F32, F32), LIES("", "col_major")}, 1, false},
      {{SHAPE(1, 1063, 1026), TYPES(BF16, F32), LIES("", "col_major")}, 1, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    static dot_bench bench;
    cr_assert(dot_bench_make(&rows[i].problem, 5 + i, &bench), "%zu: %s", i, llrt_last_error());
    plan_bench(&bench);
    const plan_kernel *kernel = &made.variant[0];
    int loads = 0, mapped = 0;
    for (int s = 0; s < kernel->n_steps; s++) {
      const plan_step *step = &kernel->step[s];
      mapped += step->kind == PLAN_MAP;
      cr_expect(step->kind != PLAN_LOAD || mapped == 0, "%zu: a load behind what waits", i);
      if (step->kind != PLAN_LOAD || step->tensor != 2 || step->masked) continue;
      cr_expect_eq(1 << step->vector, rows[i].word, "%zu: %d elements", i, 1 << step->vector);
      cr_expect_eq(step->overhang, rows[i].overhangs, "%zu", i);
      loads++;
    }
    cr_expect_eq(loads, 1, "%zu: %d loads of B", i, loads);
    check(&bench, kernel);
    dot_bench_free(&bench);
  }
  plan_shape(1, 4096, 4104);
  cr_expect_eq(made.variant[0].launch.n_boxes, 2, "boxes do not bring rows of whole pieces");
}

static int count_copied(void) {
  int copied = 0;
  for (int i = 0; i < made.n_variants; i += 1 + made.variant[i].launch.later)
    copied += planned_by_warpgroups(&made.variant[i + made.variant[i].launch.later]) &&
              made.variant[i].launch.later > 0;
  return copied;
}

static int64_t clocks_of(const plan_kernel *kernel, int64_t m, int64_t n, int64_t k) {
  const llrt_tensor shape = {.rank = 3, .shape = {m, n, k}};
  return plan_launch_clocks(
      plan_launch_decides(&kernel->launch, &kernel[kernel->launch.later].launch), &shape, UNITS);
}

/* Rows of whole lines by promises want no copies; others have them, and one plan for all K of whole
 * pieces knows of each call's. */
Test(dot_pitch, choice) {
  plan_shape(4096, 4096, 4096);
  cr_expect_eq(count_copied(), 0, "copies of rows of whole lines");
  plan_shape(4096, 4096, 4104);
  cr_expect_gt(count_copied(), 0, "no copies");
  const plan_kernel *direct = least_of(0);
  cr_assert(direct && direct->launch.n_boxes == 2);
  const int64_t torn = clocks_of(direct, 4096, 4096, 4104),
                whole = clocks_of(direct, 4096, 4096, 4160);
  cr_expect_gt(torn, whole, "rows that begin inside lines take no longer");
  const plan_kernel *copied = least_of(1);
  cr_assert(copied);
  cr_expect_gt(clocks_of(copied, 4096, 8192, 4104), clocks_of(copied, 4096, 4096, 4104));
  const llrt_tensor many = {.rank = 3, .shape = {1024, 4096, 4104}};
  cr_expect_eq(made.variant[plan_pick(&made, &many, UNITS)].tile.beside, 2,
               "128 tiles do not fetch in common");
  /* 4 x 32 tiles of 256 x 160, one round; by 128 x 192 there are two */
  const llrt_tensor round = {.rank = 3, .shape = {1024, 5120, 2888}};
  const tile_facts *tile = &made.variant[plan_pick(&made, &round, UNITS)].tile;
  cr_expect(tile->positions[0] == 256 && tile->positions[1] == 160, "%d x %d", tile->positions[0],
            tile->positions[1]);
  const llrt_tensor few = {.rank = 3, .shape = {8, 4096, 4104}};
  const int picked = plan_pick(&made, &few, UNITS);
  cr_expect_eq(made.variant[picked].launch.workspace.n, 0, "copies for eight rows");
}

/* Threads that copy pieces of 8 bytes to the largest tile have 24 of each operand's rows to keep.
 */
Test(dot_pitch, registers) {
  plan_shape(700, 4097, 4100);
  const plan_kernel *kernel = NULL;
  for (int i = 0; i < made.n_variants && !kernel; i++)
    if (planned_by_warpgroups(&made.variant[i]) && results_of(&made.variant[i]) == 128 * 256)
      kernel = &made.variant[i];
  cr_assert(kernel && copied_bytes(kernel) == 8);
  plan_registers has;
  plan_registers_of(kernel, &has);
  cr_expect_geq(has.producers, 96, "%d registers of producers", has.producers);
  cr_expect_geq(has.others, 160, "%d registers of others", has.others);
}

/* As many turns are under way as have 96 KiB, where there are slots: of tiles of 64 x 64 six of 16
 * KiB; rings leave the first-level cache room. */
Test(dot_pitch, under_way) {
  static const struct {
    int results, turns, slots;
  } rows[] = {{64 * 64, 6, 10}, {64 * 128, 3, 6}, {128 * 128, 2, 5}, {128 * 256, 1, 4}};
  plan_shape(64, 4096, 5762);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const plan_kernel *kernel = NULL;
    for (int v = 0; v < made.n_variants && !kernel; v++)
      if (planned_by_warpgroups(&made.variant[v]) && made.variant[v].launch.later == 0 &&
          made.variant[v].launch.n_boxes == 0 && results_of(&made.variant[v]) == rows[i].results)
        kernel = &made.variant[v];
    cr_assert(kernel, "%d results", rows[i].results);
    cr_expect_eq(plan_copies_lag(kernel), rows[i].turns, "%d results: %d turns under way",
                 rows[i].results, plan_copies_lag(kernel));
    cr_expect_eq(kernel->slots, rows[i].slots, "%d results: %d slots", rows[i].results,
                 kernel->slots);
  }
}

/* Where threads copy narrow pieces few rows take tiles of few columns, more rows larger ones. */
Test(dot_pitch, narrow_choice) {
  static const struct {
    int64_t rows, k;
    int results;
    bool shares;
  } shapes[] = {
      {64, 4100, 64 * 32, false}, {256, 4100, 64 * 128, false}, {64, 5762, 64 * 128, true}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    plan_shape(shapes[i].rows, 4096, shapes[i].k);
    const llrt_tensor shape = {.rank = 3, .shape = {shapes[i].rows, 4096, shapes[i].k}};
    const tile_facts *tile = &made.variant[plan_pick(&made, &shape, UNITS)].tile;
    cr_expect_eq(tile->positions[0] * tile->positions[1], shapes[i].results, "a tile of %d x %d",
                 tile->positions[0], tile->positions[1]);
    cr_expect_eq(tile->shares, shapes[i].shares, "%zu: K is shared, or not", i);
  }
}

/* Rows of a tile that are not there are filled with zeros, which takes time, but where a
 * box of its own brings those that are. */
Test(dot_pitch, absent_rows) {
  static const int64_t rows[] = {1, 8};
  int bring = 0, fill = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    plan_shape(rows[i], 4096, 4104);
    const llrt_tensor shape = {.rank = 3, .shape = {rows[i], 4096, 4104}};
    const plan_kernel *kernel = &made.variant[plan_pick(&made, &shape, UNITS)];
    const int64_t lacks = kernel->tile.positions[0] - rows[i];
    cr_expect(lacks == 0 || kernel->launch.box[0].rest, "%d rows: a tile of %d x %d", (int)rows[i],
              kernel->tile.positions[0], kernel->tile.positions[1]);
    for (int v = 0; v < made.n_variants; v++) {
      const plan_launch *launch = &made.variant[v].launch;
      bring += launch->n_boxes == 2 && launch->box[0].rest && launch->pace.absent == 0;
      fill += launch->n_boxes == 2 && launch->box[0].parts && launch->pace.absent > 0;
    }
  }
  cr_expect(bring > 0 && fill > 0, "%d kernels bring what is there, %d fill", bring, fill);
}
