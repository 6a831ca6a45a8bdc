/* Products whose blocks have tiles beside each other and fetch what they have in common together,
 * those whose teams take a block's tiles by turns, and those whose last tiles have boxes of their
 * own: as plans, interpreted, and on an emulated device. */
#include "planned_kernels.h"

#include "base/bits.h"
#include "tests/emulated_counts.h"

#include "jit/plan/check/plan_view.h"
#include "jit/plan/facts/box.h"

#include <stdlib.h>

/* Each with blocks at the edges, some of which have no rows; the first two's walks go through their
 * rings more than once. */
static const dot_problem problems[] = {
    {SHAPE(140, 200, 840), TYPES(BF16, BF16), LIES("", "col_major")},
    {SHAPE(72, 264, 584), TYPES(F16, F16)}, /* boxes along n */
    {SHAPE(70, 136, 272), TYPES(E4M3, E4M3), LIES("", "col_major")},
    {SHAPE(40, 200, 136), TYPES(BF16, BF16), LIES("", "col_major"), .n_batch = 1, .batch = {3},
     .shared = {false, true}},
};
static const dot_problem many = {SHAPE(264, 456, 72), TYPES(BF16, BF16), LIES("", "col_major")};
#define PROBLEMS ((int)(sizeof problems / sizeof *problems))

/* Of teams: with more tiles than teams, walks that go through their rings more than once, one turn
 * alone, and matrices of a batch. */
static const dot_problem of_teams[] = {
    {SHAPE(520, 400, 192), TYPES(BF16, BF16), LIES("", "col_major")},
    {SHAPE(300, 528, 832), TYPES(F16, F16), LIES("", "col_major")},
    {SHAPE(1300, 176, 64), TYPES(BF16, BF16), LIES("", "col_major")},
    {SHAPE(260, 200, 128), TYPES(BF16, BF16), LIES("", "col_major"), .n_batch = 1, .batch = {3},
     .shared = {false, true}},
};
#define OF_TEAMS ((int)(sizeof of_teams / sizeof *of_teams))

static bool has_teams(const plan_kernel *kernel) { return kernel->team_bits > 0; }

/* What a test looks at. */
static const dot_problem *problem = problems;
static bool (*chosen)(const plan_kernel *kernel) = plan_fetches_together;

static planned_kernels t;

static void make_product(int i) { planned_kernels_make(&t, &problem[i], 5 + (uint64_t)i); }
static int next_chosen(int v) { return planned_kernels_next(&t, chosen, v); }

/* Two kernels of small tiles of each of the first products; of clusters there is each size. */
Test(dot_beside, interpreted, .timeout = 120) {
  for (int i = 0; i < PROBLEMS; i++) {
    int number = 0, sizes = 0;
    make_product(i);
    for (int v = next_chosen(0); v >= 0; v = next_chosen(v + 1)) {
      sizes |= 1 << t.made.variant[v].cluster_bits;
      const int *tile = t.made.variant[v].tile.positions;
      if (tile[0] != 64 || tile[1] != 64 || number++ > 1 || i > 1) continue;
      planned_kernels_interpret(&t, v);
    }
    cr_expect_eq(sizes, problems[i].type[LLRT_DOT_A] == LLRT_E4M3 ? 6 : 14, "%d: clusters of 2^%d",
                 i, sizes);
    dot_bench_free(&t.bench);
  }
}

/* An operand's boxes are parts of what blocks have of it in common, by the bits of their numbers in
 * which they differ. */
Test(dot_beside, boxes) {
  int both = 0;
  make_product(0);
  for (int v = next_chosen(0); v >= 0; v = next_chosen(v + 1)) {
    plan_kernel *kernel = &t.made.variant[v];
    const tile_facts *tile = &kernel->tile;
    const int common = tile->kind == TILE_SWAPPED ? 0 : 1, parts[2] = {tile->beside, tile->across};
    both += tile->beside > 1 && tile->across > 1;
    cr_expect_eq(plan_verify(kernel), LLRT_OK, "%s", llrt_last_error());
    cr_expect_eq(plan_box_peers(&kernel->launch.box[0]) ^ plan_box_peers(&kernel->launch.box[1]),
                 (1 << kernel->cluster_bits) - 1, "variant %d", v);
    for (int i = 0; i < 2; i++) {
      const int operand = i == 0 ? common : 1 - common;
      plan_box *box = &kernel->launch.box[operand];
      cr_expect_eq(1 << box->parts, parts[i], "variant %d", v);
      cr_expect_eq(plan_box_rows(box), tile->positions[operand], "variant %d", v);
      box->parts++;
      cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL, "variant %d: other parts", v);
      box->parts--;
      if (box->parts > 0) box->among++;
      else box->size[1] *= 2;
      cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL, "variant %d: other blocks, or rows", v);
      if (box->parts > 0) box->among--;
      else box->size[1] /= 2;
    }
  }
  cr_expect_gt(both, 0, "of %d kernels", t.made.n_variants);
  dot_bench_free(&t.bench);
}

/* The emulator tells of a copy to memory that another block has not given free, and of barriers of
 * blocks that have not begun or have ended. */
static void run_emulated(int i, int step) {
  int number = 0;
  planned_kernels_open(&t, &problem[i], 5 + (uint64_t)i);
  for (int v = next_chosen(0); v >= 0; v = next_chosen(v + 1))
    if (number++ % step == i % step) planned_kernels_run(&t, v);
  cr_expect_gt(number, 0, "%d", i);
  planned_kernels_close(&t);
}

Test(dot_beside, emulated, .timeout = 300) {
  for (int i = 0; i < PROBLEMS; i++) run_emulated(i, 11);
}

/* Tiles of 256 rows by two warpgroups, which lack columns of a power of two: more results of a
 * thread than a power of two has below them. */
static bool is_large(const plan_kernel *kernel) {
  const int *tile = kernel->tile.positions;
  return plan_fetches_together(kernel) && tile[0] == 256 && kernel->tile.groups == 2 &&
         !bits_is_power_of_two(tile[1]);
}

Test(dot_beside, large, .timeout = 300) {
  chosen = is_large;
  problem = &many;
  run_emulated(0, 1);
  make_product(0);
  const int v = next_chosen(0);
  cr_assert_geq(v, 0);
  planned_kernels_interpret(&t, v);
  dot_bench_free(&t.bench);
}

/* Of 20 multiprocessors, 18 of which lie together, clusters of four have 16: no more blocks than
 * these are launched, which take the others' tiles. */
Test(dot_beside, fewer, .timeout = 300) {
  emulated_counts counts;
  setenv("LLRT_EMU_UNITS", "20", 1);
  emulated_counts_begin(&counts);
  planned_kernels_open(&t, &many, 5);
  int v = next_chosen(0);
  while (t.made.variant[v].cluster_bits != 2 || t.made.variant[v].tile.positions[1] != 64)
    v = next_chosen(v + 1);
  planned_kernels_run(&t, v);
  planned_kernels_close(&t);
  long blocks = emulated_count(&counts, "blocks");
  emulated_counts_end(&counts);
  cr_expect_eq(blocks, 16, "%ld blocks", blocks);
}

/* A block may begin after its neighbours, and fewer blocks than tiles go in rounds. */
Test(dot_beside, reversed, .timeout = 300) {
  setenv("LLRT_EMU_BLOCKS", "reversed", 1);
  run_emulated(0, 13);
}

/* ---- teams ---- */

static void look_at_teams(void) {
  problem = of_teams;
  chosen = has_teams;
}

Test(dot_teams, interpreted, .init = look_at_teams, .timeout = 120) {
  const int i = OF_TEAMS - 1;
  make_product(i);
  const int v = next_chosen(0);
  cr_assert_geq(v, 0);
  planned_kernels_interpret(&t, v);
  dot_bench_free(&t.bench);
}

/* Twice the warps of a tile and the producers; no registers for more columns; slots that a team
 * keeps, and clusters, are refused. */
Test(dot_teams, plans, .init = look_at_teams) {
  make_product(0);
  for (int v = next_chosen(0); v >= 0; v = next_chosen(v + 1)) {
    plan_kernel *kernel = &t.made.variant[v];
    int at = kernel->n_steps - 1;
    cr_expect_eq(plan_verify(kernel), LLRT_OK, "%s", llrt_last_error());
    cr_expect_eq(kernel->launch.threads, 32 * (2 * 4 + 4), "variant %d", v);
    cr_expect_eq(kernel->tile.teams, 2, "variant %d", v);
    while (kernel->step[at].kind != PLAN_RELEASE) at--;
    kernel->step[at].kind = PLAN_OPAQUE;
    cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL, "variant %d: slots are kept", v);
    kernel->step[at].kind = PLAN_RELEASE;
    kernel->n_indices = 1;
    cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL, "variant %d: an index", v);
    kernel->n_indices = 0;
  }
  dot_bench_free(&t.bench);
}

/* Rows of D that are no whole pieces of 16 bytes pass shared memory, for which warps wait. */
Test(dot_teams, none_where_warps_wait, .init = look_at_teams) {
  static const dot_problem odd = {SHAPE(520, 402, 192), TYPES(BF16, BF16), LIES("", "col_major")};
  problem = &odd;
  make_product(0);
  cr_expect_eq(next_chosen(0), -1);
  dot_bench_free(&t.bench);
}

Test(dot_teams, emulated, .init = look_at_teams, .timeout = 300) {
  for (int i = 0; i < OF_TEAMS; i++) run_emulated(i, 1);
}

Test(dot_teams, reversed, .init = look_at_teams, .timeout = 300) {
  setenv("LLRT_EMU_BLOCKS", "reversed", 1);
  run_emulated(1, 2);
}

/* ---- rests: what last tiles lack is not copied ---- */

/* Of few rows, an odd number; of rows and columns; of clusters whose last block has no rows at all.
 */
static const dot_problem of_rests[] = {
    {SHAPE(3, 136, 272), TYPES(E4M3, E4M3), LIES("", "col_major")},
    {SHAPE(3, 200, 136), TYPES(BF16, BF16), LIES("", "col_major")},
    {SHAPE(70, 328, 200), TYPES(BF16, BF16), LIES("", "col_major")},
    {SHAPE(192, 200, 136), TYPES(BF16, BF16), LIES("", "col_major")},
};
#define OF_RESTS ((int)(sizeof of_rests / sizeof *of_rests))

/* In one stage: others, by copies or shares of K, are for larger shapes. */
static bool has_rests(const plan_kernel *kernel) {
  const plan_launch *launch = &kernel->launch;
  return launch->n_boxes == 2 && launch->stage == 0 && launch->later == 0 &&
         (launch->box[0].rest || launch->box[1].rest);
}

static void look_at_rests(void) {
  problem = of_rests;
  chosen = has_rests;
}

/* Both operands' tiles have such boxes, but those that clusters fetch together, and where blocks
 * keep the sums of all rows of a tile (dealt turns). */
Test(dot_rests, plans, .init = look_at_rests) {
  int both = 0, one = 0;
  make_product(2);
  for (int v = 0; v < t.made.n_variants; v++) {
    const plan_kernel *kernel = &t.made.variant[v];
    if (kernel->launch.n_boxes < 2) continue;
    const int rests = kernel->launch.box[0].rest + kernel->launch.box[1].rest;
    both += rests == 2;
    one += rests == 1;
    cr_expect_eq(rests == 0,
                 kernel->deal.used || (kernel->tile.beside > 1 && kernel->tile.across > 1),
                 "variant %d", v);
    for (int i = 0; i < 2; i++)
      cr_expect(!kernel->launch.box[i].rest || kernel->launch.box[i].parts == 0, "variant %d", v);
  }
  cr_expect(both > 10 && one > 0, "%d kernels, %d", both, one);
  dot_bench_free(&t.bench);
}

Test(dot_rests, emulated, .init = look_at_rests, .timeout = 300) {
  for (int i = 0; i < OF_RESTS; i++) run_emulated(i, 9);
}

/* Of the third problem those kernels whose second blocks are beyond all rows. */
static bool is_beyond(const plan_kernel *kernel) {
  return plan_fetches_together(kernel) && has_rests(kernel) && kernel->tile.positions[0] == 64;
}

Test(dot_rests, beyond, .init = look_at_rests, .timeout = 300) {
  chosen = is_beyond;
  problem = &of_rests[OF_RESTS - 1];
  run_emulated(0, 1);
}
