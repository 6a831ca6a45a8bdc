/* Packed weights where blocks have fewer rows than tiles: where it is done, and what comes of it;
 * who copies what, and which tile few rows take. */
#include "tests/plan/packed_trial.h"

#include "jit/interpret/plan_interpret.h"
#include "jit/plan/check/plan_view.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/facts/tile_padding.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/plan_make.h"
#include "jit/plan/types/target.h"
#include "jit/plan/types/dot_type.h"
#include "runtime/described.h"
#include "runtime/prepared.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const packed_problem of_260_rows = {
    260, 144, 512, LLRT_BF16, LLRT_BF16, false, MXFP4(124, 127), true, 0};

static plan made;

/* Plans what a trial describes for sm_90a. */
static void make_plan(const packed_trial *t) {
  plan_target target;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(plan_make(&t->call.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
}

/* Rows of a kernel's blocks that are fewer than the tile's; 0: they are not. */
static int64_t own_rows(const plan_kernel *kernel) {
  plan_padding padding;
  plan_padding_find(kernel, &padding);
  return padding.n > 0 ? padding.own : 0;
}

static const plan_kernel *kernel_of(int64_t rows) {
  int v = 0;
  while (v < made.n_variants && own_rows(&made.variant[v]) != rows) v++;
  cr_assert(v < made.n_variants, "no blocks of %d rows", (int)rows);
  return &made.variant[v];
}

/* Blocks have fewer rows where a device of 132 multiprocessors has more of them at once then. */
Test(packed_own, chosen) {
  static packed_trial t;
  static const struct {
    int64_t m, size, rows;
  } rows[] = {{512, 2880, 112},  {1024, 2880, 208}, {2048, 2880, 192}, {4096, 2880, 0},
              {8192, 2880, 208}, {512, 3584, 0},    {512, 4096, 0},    {1024, 4096, 0},
              {1024, 5120, 176}, {1024, 8192, 0},   {4096, 8192, 0},   {1024, 14336, 0}};
  packed_trial_make(&t, &of_260_rows);
  packed_trial_describe(&t);
  make_plan(&t);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const llrt_tensor tensor = {.rank = 3, .shape = {rows[i].m, rows[i].size, rows[i].size}};
    int64_t least = INT64_MAX, own = -1;
    for (int v = 0; v < made.n_variants; v++) {
      const plan_launch *launch = &made.variant[v].launch;
      if (!plan_range_takes(&launch->range, &tensor)) continue;
      int64_t clocks = plan_launch_clocks(launch, &tensor, 132);
      if (clocks >= least) continue;
      least = clocks;
      own = own_rows(&made.variant[v]);
    }
    cr_expect_eq(own, rows[i].rows, "%dx%d: %d rows", (int)rows[i].m, (int)rows[i].size, (int)own);
  }
  packed_trial_drop(&t);
}

/* A turn is filled when the slowest producer is through with it: none makes several copies of what
 * there is little of. */
Test(packed_own, copies) {
  static packed_trial t;
  int copies = 0;
  packed_trial_make(&t, &of_260_rows);
  packed_trial_describe(&t);
  make_plan(&t);
  const int scales = dot_tensor(&t.call.desc.dot, LLRT_DOT_SCALE_B);
  for (int v = 0; v < made.n_variants; v++) {
    const plan_kernel *kernel = &made.variant[v];
    for (int i = 0; i < kernel->n_steps && kernel->producers > 0; i++) {
      const plan_step *step = &kernel->step[i];
      if (step->kind != PLAN_COPY || step->tensor != scales) continue;
      copies++;
      cr_expect_eq(plan_value_bits(&kernel->value[step->in], PLAN_REGISTER), step->vector,
                   "variant %d", v);
    }
  }
  cr_assert_gt(copies, 0);
  packed_trial_drop(&t);
}

static int count_of(const plan_kernel *kernel, plan_step_kind kind) {
  int n = 0;
  for (int at = 0; at < kernel->n_steps; at++) n += kernel->step[at].kind == kind;
  return n;
}

/* Where there are producers all operands come by boxes, W and scales by runs of memory. A run has
 * the scales of 256 positions, of which a turn of 64 wants a quarter; W's part of a turn follows
 * itself. */
Test(packed_own, runs) {
  static packed_trial t;
  int windows[2] = {0};
  packed_trial_make(&t, &of_260_rows);
  packed_trial_describe(&t);
  make_plan(&t);
  const int scales = dot_tensor(&t.call.desc.dot, LLRT_DOT_SCALE_B);
  for (int v = 0; v < made.n_variants; v++) {
    const plan_kernel *kernel = &made.variant[v];
    if (!kernel->producers) continue;
    cr_expect(plan_only_boxes(kernel), "variant %d", v);
    for (int at = 0; at < kernel->n_steps; at++) {
      const plan_step *step = &kernel->step[at];
      if (step->kind != PLAN_COPY) continue;
      const bool longer = kernel->tile.positions[2] > 64;
      const int window = step->tensor != scales ? 0 : longer ? 8 : 12;
      cr_expect_eq(kernel->launch.box[step->box - 1].runs, step->tensor != 0, "variant %d", v);
      cr_expect_eq(kernel->buffer[step->buffer].window, window, "variant %d: %d", v, step->tensor);
      windows[longer] += window > 0;
    }
  }
  cr_expect(windows[0] > 0 && windows[1] > 0);
  packed_trial_drop(&t);
}

/* Blocks in rounds have the device store their results meanwhile, where these have room beside the
 * rings and are of 16 bits. */
Test(packed_own, sends) {
  static packed_trial t;
  static const packed_problem wide = {260,  144, 512, LLRT_BF16, LLRT_F32, false, MXFP4(124, 127),
                                      true, 0};
  for (int f32 = 0; f32 < 2; f32++) {
    int rounds = 0, sent = 0;
    packed_trial_make(&t, f32 ? &wide : &of_260_rows);
    packed_trial_describe(&t);
    make_plan(&t);
    for (int v = 0; v < made.n_variants; v++) {
      const plan_kernel *kernel = &made.variant[v];
      const int sends = count_of(kernel, PLAN_SEND);
      rounds += kernel->launch.rounds && !kernel->deal.used;
      sent += sends;
      cr_expect_eq(sends, count_of(kernel, PLAN_SENT), "variant %d", v);
      cr_expect(!sends || count_of(kernel, PLAN_STORE) + count_of(kernel, PLAN_BARRIER) == 0,
                "variant %d", v);
    }
    cr_expect_eq(sent, f32 ? 0 : rounds, "%d of %d", sent, rounds);
    packed_trial_drop(&t);
  }
}

/* What is not stored behind a wait for what was sent before is not sent. */
Test(packed_own, sends_verified) {
  static packed_trial t;
  packed_trial_make(&t, &of_260_rows);
  packed_trial_describe(&t);
  make_plan(&t);
  int v = 0, at = 0;
  while (count_of(&made.variant[v], PLAN_SEND) == 0) v++;
  plan_kernel *kernel = &made.variant[v];
  while (kernel->step[at].kind != PLAN_SENT) at++;
  cr_expect_eq(plan_verify(kernel), LLRT_OK, "%s", llrt_last_error());
  kernel->step[at].kind = PLAN_BARRIER;
  cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL);
  cr_expect(strstr(llrt_last_error(), "nothing is stored to be sent"), "%s", llrt_last_error());
  kernel->step[at].kind = PLAN_SENT;
  const int box = kernel->step[at + 2].box - 1;
  kernel->launch.box[box].swizzle = 1;
  cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL);
  kernel->launch.box[box].swizzle = 3;
  for (at = 0; !(kernel->step[at].box && kernel->buffer[kernel->step[at].buffer].window);) at++;
  kernel->buffer[kernel->step[at].buffer].window = 0;
  cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL);
  cr_expect(strstr(llrt_last_error(), "is not runs of memory"), "%s", llrt_last_error());
  packed_trial_drop(&t);
}

/* Slots end with blocks' rows. */
Test(packed_own, slots) {
  static packed_trial t;
  int slots = 0;
  packed_trial_make(&t, &of_260_rows);
  packed_trial_describe(&t);
  make_plan(&t);
  for (int v = 0; v < made.n_variants; v++) {
    const plan_kernel *kernel = &made.variant[v];
    const int rows = (int)own_rows(kernel), whole = rows > 128 ? 256 : 128,
              lines = kernel->tile.positions[2] / 64;
    for (int n = 0; n < kernel->n_steps && rows > 0; n++) {
      const plan_step *step = &kernel->step[n];
      if (step->kind != PLAN_COPY || !step->box || step->tensor != 0) continue;
      cr_expect_eq(kernel->buffer[step->buffer].bytes, ((lines - 1) * whole + rows) * 128,
                   "variant %d: %d rows", v, rows);
      slots++;
    }
  }
  cr_expect_gt(slots, 0);
  packed_trial_drop(&t);
}

/* 32 rows of few columns are multiplied in clusters that share K. One row takes what eight rows do:
 * warps copy the rows that a tile lacks as zeros. More rows of few columns have tiles of 64. */
Test(packed_own, few_rows) {
  static packed_trial t;
  static const struct {
    int64_t m, n, k;
    int columns, cluster;
  } rows[] = {{32, 2880, 2880, 64, 2},  {32, 4096, 4096, 64, 2}, {32, 8192, 8192, 128, 2},
              {1, 5120, 25600, 32, 2},  {8, 5120, 25600, 32, 2}, {1, 7168, 18432, 32, 1},
              {8, 7168, 18432, 32, 1},  {1, 8192, 28672, 32, 1}, {8, 8192, 28672, 32, 1},
              {1, 3072, 4096, 16, 2},   {8, 3072, 4096, 16, 2},  {64, 2880, 2880, 64, 4},
              {256, 2880, 2880, 64, 1}, {4096, 576, 7168, 64, 1}};
  packed_trial_make(&t, &of_260_rows);
  packed_trial_describe(&t);
  make_plan(&t);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const llrt_tensor tensor = {.rank = 3, .shape = {rows[i].m, rows[i].n, rows[i].k}};
    const tile_facts *tile = NULL;
    int64_t least = INT64_MAX;
    for (int v = 0; v < made.n_variants; v++) {
      const plan_kernel *kernel = &made.variant[v];
      if (!plan_range_takes(&kernel->launch.range, &tensor)) continue;
      const int64_t clocks = plan_launch_clocks(&kernel->launch, &tensor, 132);
      if (clocks >= least) continue;
      least = clocks;
      tile = &kernel->tile;
    }
    cr_assert(tile);
    cr_expect_eq(tile->positions[1], rows[i].columns, "%zu", i);
    cr_expect_eq(tile->cluster, rows[i].cluster, "%zu", i);
  }
  packed_trial_drop(&t);
}

/* Of tiles of 64 columns two warpgroups share K, or one multiplies and another block is beside it.
 * So many blocks as are said to be at once have room in shared memory. */
Test(packed_own, narrow) {
  static packed_trial t;
  int forms[3] = {0};
  packed_trial_make(&t, &of_260_rows);
  packed_trial_describe(&t);
  make_plan(&t);
  for (int v = 0; v < made.n_variants; v++) {
    const plan_kernel *kernel = &made.variant[v];
    const tile_facts *tile = &kernel->tile;
    cr_expect_leq(tile->resident * (kernel->launch.shared_bytes + 1024), 228 << 10, "variant %d",
                  v);
    if (tile->kind != TILE_NARROW) continue;
    cr_expect_eq(tile->positions[1], 64, "variant %d", v);
    cr_expect_gt(kernel->producers, 0, "variant %d", v);
    cr_assert(tile->groups == 1 || tile->groups == 2, "variant %d", v);
    cr_expect_eq(tile->resident, 3 - tile->groups, "variant %d", v);
    forms[tile->groups]++;
  }
  cr_expect_gt(forms[1], 0);
  cr_expect_gt(forms[2], 0);
  packed_trial_drop(&t);
}

/* Rows that are whole blocks and that are not, pads of columns, weights and rows of several types.
 */
static const struct {
  packed_problem of;
  int64_t rows;
} problems[] = {
    {{420, 112, 352, LLRT_BF16, LLRT_BF16, false, MXFP4(124, 127), true, 0}, 208},
    {{208, 144, 608, LLRT_BF16, LLRT_F32, false, MXFP4(124, 127), true, 8}, 208},
    {{300, 80, 288, LLRT_F16, LLRT_F16, false, 12, 14, LLRT_U4, LLRT_F16, 128, LLRT_U4, true, 0},
     96},
    {{110, 272, 512, LLRT_BF16, LLRT_BF16, false, NVFP4, true, 0}, 96},
    {{210, 144, 320, LLRT_BF16, LLRT_F32, false, 124, 127, LLRT_I8, LLRT_BF16, 128, NONE, true, 0},
     96}};
#define PROBLEMS ((int)(sizeof problems / sizeof *problems))

Test(packed_own, plans) {
  static packed_trial t;
  for (int i = 0; i < PROBLEMS; i++) {
    const packed_problem *of = &problems[i].of;
    llrt_storage_binding bindings[LLRT_MAX_TENSORS];
    llrt_tensor tensors[LLRT_MAX_TENSORS];
    packed_trial_make(&t, of);
    packed_trial_describe(&t);
    make_plan(&t);
    const op_description *desc = &t.call.desc;
    for (int n = 0; n < desc->n_tensors; n++) {
      tensors[n] = desc->tensors[n];
      cr_assert_eq(llrt_storage_bind(tensors[n].storage, 3, tensors[n].shape, tensors[n].strides,
                                     &bindings[n]),
                   LLRT_OK, "%s", llrt_last_error());
      memcpy(tensors[n].shape, (int64_t[]){of->m, of->n, of->k}, 3 * sizeof(int64_t));
    }
    packed_trial_permute(&t, false);
    cr_assert_eq(plan_interpret(kernel_of(problems[i].rows), tensors, bindings, desc->n_tensors),
                 LLRT_OK, "%d: %s", i, llrt_last_error());
    packed_trial_permute(&t, true);
    packed_trial_check(&t, "interpreter");
    packed_trial_drop(&t);
  }
}

static int64_t rows_wanted;

static llrt_status run_own(packed_trial *t) {
  op_description *desc = &t->call.desc;
  const llrt_run_params params = {0};
  storage_set set;
  llrt_op *op;
  packed_trial_describe(t);
  make_plan(t);
  cr_assert_eq(llrt_storage_set_init(desc->tensors, desc->n_tensors, 0, &set), LLRT_OK, "%s",
               llrt_last_error());
  cr_assert_eq(llrt_op_make(t->a.device, desc, &set, &op), LLRT_OK);
  cr_assert_eq(llrt_op_build_kernels(op, kernel_of(rows_wanted), 1), LLRT_OK, "%s",
               llrt_last_error());
  llrt_status status = llrt_op_run(op, NULL, desc->tensors, desc->n_tensors, &params);
  llrt_op_destroy(&op);
  return status;
}

Test(packed_own, emulated) {
  static packed_trial t;
  llrt_context *context;
  llrt_device *device;
  const llrt_context_params with = {.jit_library = LLRT_TEST_JIT_LIBRARY};
  cr_assert_eq(llrt_context_create(&with, &context), LLRT_OK);
  cr_assert_eq(llrt_device_open(context, "cuda-emu:sm_90a", NULL, &device), LLRT_OK, "%s",
               llrt_last_error());
  for (int i = 0; i < PROBLEMS; i++) {
    rows_wanted = problems[i].rows;
    packed_trial_make(&t, &problems[i].of);
    packed_trial_run_on(device, &t, run_own);
    packed_trial_check(&t, "emulator");
    packed_trial_drop(&t);
  }
  llrt_device_close(&device);
  llrt_context_destroy(&context);
}
