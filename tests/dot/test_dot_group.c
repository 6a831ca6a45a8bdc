/* Dots by warpgroups of sm_90a as plans: which kernels multiply so, that their interpretation is
 * right, and that it finds what their roles must not leave out. */
#include "planned_kernels.h"

#include "jit/plan/plan_choice.h"
#include "jit/plan/check/plan_view.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/plan_make.h"

#include <llrt/dot.h>
#include <llrt/dot_pack.h>

#include <criterion/criterion.h>
#include <string.h>

/* Each with blocks at the edge; the first one's walk goes through its ring more than once. */
static const dot_problem problems[] = {
    {SHAPE(130, 72, 392), TYPES(BF16, BF16), LIES("", "col_major")},
    {SHAPE(72, 264, 72), TYPES(F16, F16), LIES("col_major", "")},
    {SHAPE(72, 48, 272), TYPES(E4M3, E5M2), LIES("", "col_major")},
    {SHAPE(72, 48, 272), TYPES(E4M3, E4M3), LIES("", "col_major"), .fast = true},
    {SHAPE(72, 40, 72), TYPES(F32, F32), LIES("", "col_major"), .tf32 = true},
    {SHAPE(72, 40, 144), TYPES(I8, I8), LIES("", "col_major")},
};

static plan made;
static described_dot call;

/* Plans the bench's product; wide: with all candidates. */
static void plan_bench(dot_bench *bench, bool wide) {
  const plan_options options = {.wide = wide};
  const dot_part *part = bench->part;
  plan_target target;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(described_dot_make(&part[LLRT_DOT_A].tensor, &part[LLRT_DOT_B].tensor,
                                  &part[LLRT_DOT_D].tensor, &bench->params, &call),
               LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(described_promise(&call.desc), LLRT_OK);
  cr_assert_eq(plan_make(&call.desc, &target, wide ? &options : NULL, &made), LLRT_OK, "%s",
               llrt_last_error());
}

/* The kernel of one stage by warpgroups; NULL: there is none. */
static plan_kernel *plan_group(dot_bench *bench) {
  plan_bench(bench, false);
  for (int i = 0; i < made.n_variants; i++)
    if (planned_by_warpgroups(&made.variant[i]) && made.variant[i].launch.later == 0 &&
        made.variant[i].launch.stage == 0)
      return &made.variant[i];
  return NULL;
}

static llrt_status interpret(const plan_kernel *kernel, const dot_problem *problem) {
  return planned_interpret(&call.desc, kernel, problem);
}

Test(dot_group, interpreted, .timeout = 120) {
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    static dot_bench bench;
    char title[DOT_TITLE_BYTES], why[400];
    cr_assert(dot_bench_make(&problems[i], 7 + i, &bench), "%s", llrt_last_error());
    dot_problem_title(&bench.problem, title, sizeof title);
    const plan_kernel *kernel = plan_group(&bench);
    cr_assert(kernel, "%s: no kernel of warpgroups", title);
    cr_assert_eq(interpret(kernel, &problems[i]), LLRT_OK, "%s: %s", title, llrt_last_error());
    cr_expect(dot_reference_check(&bench, bench.part[LLRT_DOT_D].image, why, sizeof why), "%s: %s",
              title, why);
    dot_bench_free(&bench);
  }
}

/* Bands that do not divide the tiles' number. */
Test(dot_group, bands, .timeout = 120) {
  static const dot_problem problem = {SHAPE(392, 520, 16), TYPES(BF16, BF16),
                                      LIES("", "col_major")};
  static dot_bench bench;
  char why[400];
  cr_assert(dot_bench_make(&problem, 7, &bench), "%s", llrt_last_error());
  plan_kernel *kernel = plan_group(&bench);
  cr_assert(kernel && kernel->band > 0);
  kernel->band = 3;
  cr_assert_eq(interpret(kernel, &problem), LLRT_OK, "%s", llrt_last_error());
  cr_expect(dot_reference_check(&bench, bench.part[LLRT_DOT_D].image, why, sizeof why), "%s", why);
  dot_bench_free(&bench);
}

/* What a plan must not leave out: the interpreter says so. */
Test(dot_group, planted, .timeout = 120) {
  static const struct {
    plan_step_kind kind;
    const char *text;
  } rows[] = {{PLAN_FILLED, "is multiplied without"},
              {PLAN_RELEASE, "wants slots that are not free"},
              {PLAN_MULTIPLIED, "is free while products read it"}};
  static dot_bench bench;
  cr_assert(dot_bench_make(&problems[0], 3, &bench), "%s", llrt_last_error());
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    plan_kernel *kernel = plan_group(&bench);
    int at = 0;
    while (kernel->step[at].kind != rows[i].kind) at++;
    /* Something that does nothing and makes the same. */
    plan_step *step = &kernel->step[at];
    *step =
        (plan_step){.kind = PLAN_MULTIPLIED, .turns = 1 << 20, .in = step->in, .out = step->out};
    cr_expect_eq(interpret(kernel, &problems[0]), LLRT_INTERNAL, "%s: not found", rows[i].text);
    cr_expect(strstr(llrt_last_error(), rows[i].text), "%s: %s", rows[i].text, llrt_last_error());
  }
  dot_bench_free(&bench);
}

/* Blocks in rounds keep what they store apart from rings, and behind a barrier: here rows of D that
 * are no whole pieces. */
Test(dot_group, rounds) {
  static const dot_problem problem = {SHAPE(130, 70, 392), TYPES(BF16, BF16),
                                      LIES("", "col_major")};
  static dot_bench bench;
  cr_assert(dot_bench_make(&problem, 3, &bench), "%s", llrt_last_error());
  plan_kernel *kernel = plan_group(&bench);
  cr_assert_eq(kernel->launch.rounds, 1);
  int walk = 0, stored = kernel->n_buffers - 1;
  while (kernel->step[walk].kind != PLAN_WALK) walk++;
  int at = walk;
  while (kernel->step[at].kind != PLAN_BARRIER) at++;
  int32_t offset = kernel->buffer[stored].offset;
  cr_expect_eq(plan_verify(kernel), LLRT_OK, "%s", llrt_last_error());
  kernel->buffer[stored].offset = 0;
  cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL);
  cr_expect(strstr(llrt_last_error(), "what producers fill"), "%s", llrt_last_error());
  kernel->buffer[stored].offset = offset;
  const plan_step barrier = kernel->step[at];
  kernel->step[at] = (plan_step){.kind = PLAN_COPIED};
  cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL);
  cr_expect(strstr(llrt_last_error(), "the round before"), "%s", llrt_last_error());
  kernel->step[at] = barrier;
  kernel->walk.split = 0;
  cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL);
  dot_bench_free(&bench);
}

/* Rows of whole pieces are stored without the others of the block. */
Test(dot_group, by_warps) {
  static const dot_problem stored[] = {
      {SHAPE(130, 72, 40), TYPES(BF16, BF16), LIES("", "col_major")},
      {SHAPE(130, 72, 40),
       .type = {[LLRT_DOT_A] = LLRT_BF16, [LLRT_DOT_B] = LLRT_BF16, [LLRT_DOT_D] = LLRT_F32},
       LIES("", "col_major")},
      {SHAPE(130, 80, 48),
       .type = {[LLRT_DOT_A] = LLRT_E4M3, [LLRT_DOT_B] = LLRT_E4M3, [LLRT_DOT_D] = LLRT_E4M3},
       LIES("", "col_major")},
  };
  for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
    static dot_bench bench;
    char why[400];
    cr_assert(dot_bench_make(&stored[i], 3 + i, &bench), "%s", llrt_last_error());
    const plan_kernel *kernel = plan_group(&bench);
    cr_assert(kernel, "%zu", i);
    for (int s = 0; s < kernel->n_steps; s++)
      cr_expect(kernel->step[s].kind != PLAN_BARRIER, "%zu: step %d", i, s);
    cr_assert_eq(interpret(kernel, &stored[i]), LLRT_OK, "%zu: %s", i, llrt_last_error());
    cr_expect(dot_reference_check(&bench, bench.part[LLRT_DOT_D].image, why, sizeof why), "%zu: %s",
              i, why);
    dot_bench_free(&bench);
  }
}

/* Every kernel that a shape may take, in one of the problems each. */
Test(dot_group, tiles, .timeout = 120) {
  static const dot_problem shapes[] = {
      {SHAPE(72, 72, 136), TYPES(BF16, BF16), LIES("", "col_major")},
      {SHAPE(24, 200, 72), TYPES(F16, F16)}, /* boxes along n */
      {SHAPE(72, 200, 144), TYPES(E4M3, E4M3), LIES("", "col_major")}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    static dot_bench bench;
    char why[400];
    cr_assert(dot_bench_make(&shapes[i], 3 + i, &bench), "%s", llrt_last_error());
    cr_assert(plan_group(&bench), "%zu", i);
    size_t number = 0;
    for (int v = 0; v < made.n_variants; v += 1 + made.variant[v].launch.later) {
      const int multiplies =
          v + (planned_by_warpgroups(&made.variant[v]) ? 0 : made.variant[v].launch.later);
      cr_assert(planned_by_warpgroups(&made.variant[multiplies]), "%zu: variant %d", i, v);
      if (number++ % (sizeof shapes / sizeof *shapes) != i) continue;
      memset(bench.part[LLRT_DOT_D].image, 0xee, 2);
      cr_assert_eq(interpret(&made.variant[v], &shapes[i]), LLRT_OK, "%zu, variant %d: %s", i, v,
                   llrt_last_error());
      cr_expect(dot_reference_check(&bench, bench.part[LLRT_DOT_D].image, why, sizeof why),
                "%zu, variant %d: %s", i, v, why);
    }
    dot_bench_free(&bench);
  }
}

typedef struct chosen_row {
  int64_t m, n, k;
  int tile[2], shares; /* rows and columns; blocks that walk one at the least */
} chosen_row;

/* Of 132 multiprocessors; the problem says types and storages. */
static void expect_chosen(const dot_problem *problem, const chosen_row *rows, size_t n) {
  static dot_bench bench;
  cr_assert(dot_bench_make(problem, 3, &bench), "%s", llrt_last_error());
  cr_assert(plan_group(&bench));
  for (size_t i = 0; i < n; i++) {
    const llrt_tensor tensor = {.rank = 3, .shape = {rows[i].m, rows[i].n, rows[i].k}};
    int best = plan_pick(&made, &tensor, 132);
    cr_assert_geq(best, 0, "%zu", i);
    const tile_facts *tile = &made.variant[best].tile;
    cr_expect(tile->positions[0] == rows[i].tile[0] && tile->positions[1] == rows[i].tile[1] &&
                  tile->shares == (rows[i].shares > 1),
              "%zu: tiles of %d x %d, %s", i, tile->positions[0], tile->positions[1],
              tile->shares ? "shared" : "whole");
  }
  dot_bench_free(&bench);
}

/* The tile that is done first. */
Test(dot_group, chosen) {
  static const chosen_row rows[] = {
      {8192, 8192, 8192, {128, 192}, 1}, {4096, 8192, 8192, {128, 256}, 1},
      {4096, 4096, 4096, {128, 256}, 1}, {1024, 5120, 2880, {128, 160}, 1},
      {256, 5120, 2880, {128, 80}, 1},   {64, 5120, 2880, {64, 48}, 1},
      {1, 576, 7168, {16, 64}, 1},       /* in clusters */
      {256, 1536, 7168, {64, 48}, 1},    /* not by large tiles whose sums clusters join */
      {4096, 32768, 512, {128, 160}, 1}, /* of teams */
  };
  static const dot_problem problem = {SHAPE(130, 72, 448), TYPES(BF16, BF16),
                                      LIES("", "col_major")};
  expect_chosen(&problem, rows, sizeof rows / sizeof *rows);
}

Test(dot_group, chosen_short) {
  static const dot_problem problem = {SHAPE(72, 48, 384), TYPES(E4M3, E4M3), LIES("", "col_major")};
  static const chosen_row rows[] = {{8192, 8192, 8192, {256, 128}, 1},
                                    {4096, 4096, 4096, {256, 128}, 1},
                                    {1024, 6144, 4096, {128, 192}, 1},
                                    {1024, 5120, 2880, {128, 160}, 1},
                                    {1024, 2880, 2880, {128, 192}, 1}};
  expect_chosen(&problem, rows, sizeof rows / sizeof *rows);
}

/* Every tile has a pace, which is longer for more of anything. */
Test(dot_group, paces) {
  static dot_bench bench;
  cr_assert(dot_bench_make(&problems[0], 3, &bench), "%s", llrt_last_error());
  cr_assert(plan_group(&bench));
  for (int v = 0; v < made.n_variants; v += 1 + made.variant[v].launch.later) {
    const plan_launch *launch = &made.variant[v].launch;
    cr_assert_gt(launch->pace.units, 0, "variant %d", v);
    int64_t before = 0;
    for (int64_t size = 256; size <= 32768; size *= 2) {
      const llrt_tensor tensor = {.rank = 3, .shape = {size, size, size}};
      int64_t clocks = plan_launch_clocks(launch, &tensor, 132);
      cr_expect_gt(clocks, before, "variant %d: %d", v, (int)size);
      before = clocks;
    }
  }
  dot_bench_free(&bench);
}

/* Sums that threads have no room for. */
Test(dot_group, registers) {
  static dot_bench bench;
  cr_assert(dot_bench_make(&problems[0], 3, &bench), "%s", llrt_last_error());
  plan_kernel *kernel = plan_group(&bench);
  cr_assert_eq(plan_verify(kernel), LLRT_OK, "%s", llrt_last_error());
  kernel->resident = 2;
  cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL);
  cr_expect(strstr(llrt_last_error(), "more registers than a thread"), "%s", llrt_last_error());
  dot_bench_free(&bench);
}

/* Slots are as long as what a tile has of its operands, so that there are more of narrow ones. */
Test(dot_group, slots) {
  static const struct {
    int tile[2], slots;
  } rows[] = {{{128, 256}, 4}, {{128, 192}, 5}, {{128, 176}, 5}, {{128, 160}, 6},
              {{128, 144}, 6}, {{128, 128}, 7}, {{64, 96}, 11},  {{64, 80}, 12}};
  static dot_bench bench;
  cr_assert(dot_bench_make(&problems[0], 3, &bench), "%s", llrt_last_error());
  cr_assert(plan_group(&bench));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    plan_kernel *kernel = NULL;
    for (int v = 0; v < made.n_variants && !kernel; v++)
      if (made.variant[v].tile.positions[0] == rows[i].tile[0] &&
          made.variant[v].tile.positions[1] == rows[i].tile[1])
        kernel = &made.variant[v];
    cr_assert(kernel, "%zu", i);
    cr_expect_eq(kernel->slots, rows[i].slots, "%zu: %d slots", i, kernel->slots);
    cr_expect_eq(kernel->tile.slots, rows[i].slots, "%zu", i);
    plan_buffer *b = &kernel->buffer[1];
    b->bytes -= 1024; /* less than boxes fill */
    cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL, "%zu: a short slot is not found", i);
    b->bytes += 1024;
    cr_expect_eq(plan_verify(kernel), LLRT_OK, "%zu: %s", i, llrt_last_error());
  }
  dot_bench_free(&bench);
}

/* Where boxes are copied, and that what a box says is checked. */
Test(dot_group, boxes) {
  static const struct {
    dot_problem problem;
    int n_boxes, size[2][2]; /* of A and B: rows, elements of a row */
    bool rest;
  } rows[] = {
      {{SHAPE(130, 72, 392), TYPES(BF16, BF16), LIES("", "col_major")},
       2,
       {{128, 64}, {256, 64}},
       true},
      {{SHAPE(72, 264, 72), TYPES(F16, F16), LIES("col_major", "")},
       2,
       {{64, 64}, {64, 64}},
       false},
      {{SHAPE(72, 48, 272), TYPES(E4M3, E5M2), LIES("", "col_major")},
       2,
       {{256, 128}, {128, 128}},
       true},
      {{SHAPE(72, 40, 72), TYPES(F32, F32), LIES("", "col_major"), .tf32 = true},
       2,
       {{128, 32}, {256, 32}},
       true},
      {{SHAPE(72, 264, 64), TYPES(BF16, BF16), LIES("", "col_major"), .n_batch = 1, .batch = {3},
        .shared = {false, true}},
       2,
       {{128, 64}, {256, 64}},
       true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    static dot_bench bench;
    cr_assert(dot_bench_make(&rows[i].problem, 5, &bench), "%zu: %s", i, llrt_last_error());
    plan_kernel *kernel = plan_group(&bench);
    cr_assert(kernel, "%zu: no kernel of warpgroups", i);
    cr_expect_eq(kernel->launch.n_boxes, rows[i].n_boxes, "%zu: %d boxes", i,
                 kernel->launch.n_boxes);
    for (int b = 0; b < kernel->launch.n_boxes; b++) {
      plan_box *box = &kernel->launch.box[b], as_made = *box;
      cr_expect(box->size[1] == rows[i].size[b][0] && box->size[0] == rows[i].size[b][1],
                "%zu, box %d: %d x %d", i, b, box->size[1], box->size[0]);
      cr_expect_eq(box->rest, rows[i].rest, "%zu, box %d: a rest", i, b);
      cr_expect_eq(plan_verify(kernel), LLRT_OK, "%s", llrt_last_error());
      for (int wrong = 0; wrong < 4 + !box->rest; wrong++) {
        if (wrong == 0) box->swizzle--;
        if (wrong == 1) box->size[1] *= 2;
        if (wrong == 2) box->stride[0].arg = box->extent[0].arg;
        if (wrong == 3) box->extent[1] = box->extent[0];
        if (wrong == 4) box->rest = 1; /* of rows along which is summed */
        cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL, "%zu, box %d: change %d is not found", i,
                     b, wrong);
        *box = as_made;
      }
    }
    dot_bench_free(&bench);
  }
}

/* The first of the stages that make copies of operands for warpgroups, of variants from kernel `i`
 * on; NULL: there are none. */
static plan_kernel *copied_from(int i) {
  for (; i < made.n_variants; i++) {
    plan_kernel *kernel = &made.variant[i];
    int last = i + kernel->launch.later;
    if (kernel->launch.stage == 0 && last > i && planned_by_warpgroups(&made.variant[last]) &&
        made.variant[last].walk.split < 0)
      return kernel;
  }
  return NULL;
}

static const plan_kernel *next_copied(const plan_kernel *first) {
  return copied_from((int)(first - made.variant) + 1 + first->launch.later);
}

static plan_kernel *plan_copied(dot_bench *bench) {
  plan_group(bench);
  return copied_from(0);
}

/* Operands that are no whole pieces along K, or of another type, are copied first: for few rows
 * where weights are many. */
Test(dot_group, copied, .timeout = 120) {
  static const struct {
    dot_problem problem;
    int copies, tiles; /* behind each other: operands; beside each other: tiles behind copies */
  } rows[] = {
      {{SHAPE(130, 70, 75), TYPES(BF16, BF16), LIES("", "col_major")}, 2, 6},
      {{SHAPE(72, 40, 144), TYPES(E4M3, E4M3)}, 1, 6}, /* rows of 8-bit elements along n */
      /* Threads copy B's tiles: no clusters, and too few registers for sixteen warps. */
      {{SHAPE(75, 40, 72), TYPES(F16, F16), LIES("col_major", "")}, 1, 4},
      {{SHAPE(72, 40, 72), TYPES(F16, E4M3), LIES("", "col_major")}, 1, 6}, /* a cast on the way */
      {{SHAPE(40, 24, 75), TYPES(BF16, BF16), .n_batch = 1, .batch = {3}, .shared = {true, false}},
       2,
       6},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    static dot_bench bench;
    char why[400];
    cr_assert(dot_bench_make(&rows[i].problem, 5 + i, &bench), "%zu: %s", i, llrt_last_error());
    const plan_kernel *first = plan_copied(&bench);
    cr_assert(first, "%zu: no copies", i);
    cr_expect_eq(first->launch.later, rows[i].copies, "%zu: %d copies", i, first->launch.later);
    cr_expect(first->launch.range.min_extent[call.desc.tensors[0].rank - 3] == 256,
              "%zu: for any rows", i);
    int tiles = 0, few = 0; /* each behind copies; those for few rows */
    for (; first; first = next_copied(first), tiles++) {
      few += first->launch.range.min_along > 0;
      if (tiles % 5 != (int)i) continue; /* of every row another one */
      memset(bench.part[LLRT_DOT_D].image, 0xee, 2);
      cr_assert_eq(interpret(first, &rows[i].problem), LLRT_OK, "%zu: %s", i, llrt_last_error());
      cr_expect(dot_reference_check(&bench, bench.part[LLRT_DOT_D].image, why, sizeof why),
                "%zu, tile %d: %s", i, tiles, why);
    }
    cr_expect(tiles == rows[i].tiles && few > 0 && few < tiles, "%zu: %d tiles, %d for few rows", i,
              tiles, few);
    dot_bench_free(&bench);
  }
}

/* Boxes take rows whose last piece a bound parts. */
Test(dot_group, parted) {
  static const dot_problem problem = {SHAPE(72, 40, 75), TYPES(BF16, BF16),
                                      LIES("strided([80,1])", "strided([1,80])")};
  static dot_bench bench;
  char why[400];
  cr_assert(dot_bench_make(&problem, 5, &bench), "%s", llrt_last_error());
  const plan_kernel *kernel = plan_group(&bench);
  cr_assert(kernel && kernel->launch.n_boxes == 2);
  cr_assert_eq(interpret(kernel, &problem), LLRT_OK, "%s", llrt_last_error());
  cr_expect(dot_reference_check(&bench, bench.part[LLRT_DOT_D].image, why, sizeof why), "%s", why);
  dot_bench_free(&bench);
}

/* Types, widths and storages that warpgroups do not take. */
Test(dot_group, refused) {
  static const dot_problem others[] = {
      {SHAPE(72, 40, 72), TYPES(E4M3, E4M3)}, /* rows of 8-bit elements along n */
      {SHAPE(72, 40, 75), TYPES(BF16, BF16), LIES("", "col_major")}, /* rows of no whole pieces */
      {SHAPE(72, 40, 72), TYPES(BF16, E4M3), LIES("", "col_major")}, /* a cast on the way */
      {SHAPE(72, 40, 72), TYPES(F32, F32), LIES("", "col_major")},   /* no tf32 unless asked for */
  };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    static dot_bench bench;
    cr_assert(dot_bench_make(&others[i], 5, &bench), "%s", llrt_last_error());
    cr_expect_null(plan_group(&bench), "problem %zu", i);
    dot_bench_free(&bench);
  }
}

/* Blocks of a cluster share K, whose last turn is part empty, with what stands on sums. */
Test(dot_group, clusters, .timeout = 120) {
  static const dot_problem shared[] = {
      {SHAPE(12, 72, 584), TYPES(BF16, BF16), LIES("", "col_major")},
      {SHAPE(9, 64, 584), TYPES(F16, F16)},
      {SHAPE(16, 64, 520),
       .type = {[LLRT_DOT_A] = LLRT_BF16,
                [LLRT_DOT_B] = LLRT_BF16,
                [LLRT_DOT_C] = LLRT_F32,
                [LLRT_DOT_D] = LLRT_F32,
                [LLRT_DOT_BIAS] = LLRT_F32},
       .alpha = 2, .beta = 0.5, LIES("", "col_major")},
      {SHAPE(9, 64, 1040), TYPES(I8, I8), LIES("", "col_major")}};
  for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
    static dot_bench bench;
    char why[400];
    int found = 0, tile = 0;
    cr_assert(dot_bench_make(&shared[i], 5 + i, &bench), "%s", llrt_last_error());
    plan_bench(&bench, true);
    for (int v = 0; v < made.n_variants; v += 1 + made.variant[v].launch.later) {
      int blocks = made.variant[v].cluster_bits;
      if (blocks == 0 || plan_fetches_together(&made.variant[v])) continue;
      found |= 1 << blocks;
      if (i > 0 && (blocks < 3 || tile++ > 0)) continue;
      memset(bench.part[LLRT_DOT_D].image, 0xee, 2);
      cr_assert_eq(interpret(&made.variant[v], &shared[i]), LLRT_OK, "%zu, variant %d: %s", i, v,
                   llrt_last_error());
      cr_expect(dot_reference_check(&bench, bench.part[LLRT_DOT_D].image, why, sizeof why),
                "%zu, variant %d: %s", i, v, why);
    }
    cr_expect_eq(found, 14, "%zu: clusters of 2^%d", i, found);
    dot_bench_free(&bench);
  }
}

/* Few rows of experts that an index gathers are copied once, and boxes copy both operands; of many,
 * threads gather them. */
Test(dot_group, gathered) {
  static const int32_t rows[64], ends[4];
  static const llrt_index index = {
      .axis = 0, .dtype = LLRT_I32, .axes = 1, .extent = 64, .data = rows, .strides = {1}};
  llrt_storage turned;
  const llrt_tensor of_experts = {.dtype = LLRT_I32, .rank = 1, .shape = {4}, .data = (void *)ends};
  const llrt_dot_params params = {.size = sizeof params, .ends = &of_experts};
  llrt_tensor a = {.dtype = LLRT_BF16, .rank = 2, .shape = {64, 192}, .data = (void *)4096},
              b = {.dtype = LLRT_BF16, .rank = 3, .shape = {4, 192, 128}, .data = (void *)4096},
              d = {.dtype = LLRT_BF16, .rank = 2, .shape = {64, 128}, .data = (void *)4096};
  plan_target target;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(llrt_storage_parse("storage(rank=3, digits=[dim1: rest, dim2: rest, dim0: rest])", 3,
                                  b.shape, &turned),
               LLRT_OK, "%s", llrt_last_error());
  b.storage = &turned;
  for (int gathers = 0; gathers < 2; gathers++) {
    a.indices = gathers ? &index : NULL;
    a.n_indices = gathers;
    cr_assert_eq(described_dot_make(&a, &b, &d, &params, &call), LLRT_OK, "%s", llrt_last_error());
    cr_assert_eq(described_promise(&call.desc), LLRT_OK, "%s", llrt_last_error());
    cr_assert_eq(plan_make(&call.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
    int copied = 0;
    for (int v = 0; v < made.n_variants; v += 1 + made.variant[v].launch.later) {
      const plan_launch *first = &made.variant[v].launch,
                        *last = &made.variant[v + first->later].launch;
      cr_expect(planned_by_warpgroups(&made.variant[v + first->later]) && last->pace.units > 0);
      cr_expect_eq(last->n_boxes, 2 - (gathers && first->later == 0), "variant %d", v);
      cr_expect_eq(plan_launch_decides(first, last), last, "variant %d", v);
      if (first->later) cr_expect(last->range.max_extent[1] <= 64 && last->range.max_extent[1] > 0);
      copied += first->later;
    }
    cr_expect_eq(copied > 0, gathers, "%d copied", copied);
  }
}

/* Packed weights: weights of rows act before results change threads, which go through shared memory
 * as bf16 then, and one step scales and casts. Rows that an index gathers are copied before. */
Test(dot_group, weighed_packed) {
  static const int32_t rows[64], ends[4];
  static const float by[64];
  static const llrt_index index = {
      .axis = 0, .dtype = LLRT_I32, .axes = 1, .extent = 64, .data = rows, .strides = {1}};
  static const llrt_map weigh = {.kind = LLRT_MAP_SCALE, .group = {1, LLRT_GROUP_ALL}};
  const llrt_dot_pack_params what = {.dtype = LLRT_E2M1,
                                     .scale = LLRT_E8M0,
                                     .group = {32},
                                     .other = LLRT_BF16,
                                     .range_low = 120,
                                     .range_high = 127,
                                     .n_batch = 1};
  llrt_dot_packing packing;
  cr_assert_eq(llrt_dot_pack(&what, "sm_90a", LLRT_DOT_B, &packing), LLRT_OK, "%s",
               llrt_last_error());
  const llrt_tensor of_experts = {.dtype = LLRT_I32, .rank = 1, .shape = {4}, .data = (void *)ends},
                    scale = {.dtype = LLRT_E8M0,
                             .rank = 3,
                             .shape = {4, 8, 256},
                             .storage = &packing.storages[1],
                             .data = (void *)4096},
                    weights = {.dtype = LLRT_F32, .rank = 2, .shape = {64, 1}, .data = (void *)by};
  llrt_dot_params params = {
      .size = sizeof params,
      .ends = &of_experts,
      .dtype = LLRT_BF16,
      .maps = &weigh,
      .n_maps = 1,
      .scale = &weights,
      .b = {.scale = &scale, .group = {32, 1}, .range_low = 120, .range_high = 127}};
  memcpy(params.b.word_bits, packing.word_bits, sizeof params.b.word_bits);
  const llrt_tensor a = {.dtype = LLRT_BF16,
                         .rank = 2,
                         .shape = {64, 256},
                         .indices = &index,
                         .n_indices = 1,
                         .data = (void *)4096},
                    b = {.dtype = LLRT_E2M1,
                         .rank = 3,
                         .shape = {4, 256, 256},
                         .storage = &packing.storages[0],
                         .data = (void *)4096},
                    d = {.dtype = LLRT_BF16, .rank = 2, .shape = {64, 256}, .data = (void *)4096};
  plan_target target;
  int rounds = 0;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(described_dot_make(&a, &b, &d, &params, &call), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(described_promise(&call.desc), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(plan_make(&call.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
  for (int v = 0; v < made.n_variants; v++) {
    const plan_kernel *kernel = &made.variant[v];
    if (kernel->producers == 0) continue;
    int scales = 0;
    cr_expect(kernel->launch.stage == 1 && kernel->launch.n_boxes == 1, "variant %d", v);
    rounds += kernel->launch.rounds > 0;
    for (int i = 0; i < kernel->n_steps; i++) {
      const plan_step *step = &kernel->step[i];
      const plan_map *map = &kernel->map[step->map];
      if (step->kind == PLAN_SHARED_STORE)
        cr_expect_eq(kernel->value[step->in].bits, 16, "variant %d, step %d", v, i);
      scales += step->kind == PLAN_MAP && map->kind == PLAN_MAP_SCALE && map->from == LLRT_F32 &&
                map->to == LLRT_BF16;
    }
    cr_expect_eq(scales, 1, "variant %d", v);
  }
  cr_expect_eq(rounds, 1);
}
