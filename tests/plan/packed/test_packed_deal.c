/* Packed weights where the last turns are dealt to all blocks: who has which, where it is done, and
 * what comes of it. */
#include "tests/plan/packed_trial.h"

#include "jit/interpret/plan_interpret.h"
#include "jit/plan/facts/eval.h"
#include "jit/plan/plan_make.h"
#include "jit/plan/types/target.h"
#include "runtime/described.h"
#include "runtime/jit_library.h"
#include "runtime/prepared.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static plan made;

/* Plans what a trial describes for sm_90a. */
static void make_plan(const packed_trial *t) {
  plan_target target;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(plan_make(&t->call.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
}

static const plan_kernel *dealt_variant(void) {
  int v = 0;
  while (v < made.n_variants && made.variant[v].launch.dealt == 0) v++;
  cr_assert(v < made.n_variants, "no turns are dealt");
  return &made.variant[v];
}

/* ---- pieces ---- */

/* Pieces are every turn of every position once; those that others wait for are of lower blocks, and
 * come first there. */
static void check_deal(int64_t positions, int64_t turns, int64_t blocks) {
  int covered[24][8] = {{0}};
  for (int64_t block = 0; block < blocks; block++) {
    for (int64_t left = -1; left != 0;) {
      plan_piece piece = plan_deal_piece(positions, turns, blocks, block, left);
      left = piece.rest;
      if (piece.left == 0) break;
      cr_assert(piece.position >= 0 && piece.position < positions && piece.from < piece.to &&
                piece.to <= turns);
      for (int64_t t = piece.from; t < piece.to; t++) covered[piece.position][t]++;
      cr_assert_eq(piece.rest, piece.left - (piece.to - piece.from));
      cr_expect(piece.from == 0 || left == 0, "block %d waits before its end", (int)block);
      for (int64_t other = piece.before; piece.from > 0 && other < block; other++)
        for (int64_t at = -1; at != 0;) {
          plan_piece theirs = plan_deal_piece(positions, turns, blocks, other, at);
          at = theirs.rest;
          if (theirs.position == piece.position && theirs.left > 0)
            cr_expect(theirs.to <= piece.from);
        }
    }
  }
  for (int64_t p = 0; p < positions; p++)
    for (int64_t t = 0; t < turns; t++)
      cr_assert_eq(covered[p][t], 1, "%d positions of %d turns, %d blocks: turn %d of %d",
                   (int)positions, (int)turns, (int)blocks, (int)t, (int)p);
}

Test(packed_deal, pieces) {
  for (int64_t positions = 1; positions <= 24; positions++)
    for (int64_t turns = 1; turns <= 8; turns++)
      for (int64_t blocks = 1; blocks <= 9 && blocks <= positions * turns; blocks++)
        check_deal(positions, turns, blocks);
}

/* Turns are dealt where tiles leave much of a device of 132 multiprocessors idle, for long. */
Test(packed_deal, chosen) {
  static packed_trial t;
  static const packed_problem of = {260,  144, 512, LLRT_BF16, LLRT_BF16, false, MXFP4(124, 127),
                                    true, 0};
  static const struct {
    int64_t m, n, k;
    bool dealt;
  } rows[] = {{512, 14336, 14336, true},  {1024, 14336, 14336, true}, {256, 28672, 28672, true},
              {512, 28672, 28672, true},  {256, 14336, 14336, true},  {512, 8192, 8192, false},
              {1024, 8192, 8192, false},  {8192, 8192, 8192, true},   {512, 4096, 4096, false},
              {1024, 4096, 4096, false},  {512, 2880, 2880, false},   {8192, 2880, 2880, false},
              {8192, 14336, 14336, true}, {257, 48, 8192, false},     {600, 130, 8192, false},
              {257, 48, 4096, false}};
  packed_trial_make(&t, &of);
  packed_trial_describe(&t);
  make_plan(&t);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const llrt_tensor tensor = {.rank = 3, .shape = {rows[i].m, rows[i].n, rows[i].k}};
    int64_t least = INT64_MAX;
    bool dealt = false;
    for (int v = 0; v < made.n_variants; v++) {
      const plan_launch *launch = &made.variant[v].launch;
      if (!plan_range_takes(&launch->range, &tensor)) continue;
      cr_expect_gt(launch->pace.units, 0, "%zu: variant %d", i, v);
      int64_t clocks = plan_launch_clocks(launch, &tensor, 132);
      const llrt_tensor longer = {.rank = 3, .shape = {rows[i].m, rows[i].n, (int64_t)1 << 30}};
      if (launch->dealt > 0)
        cr_expect_eq(plan_launch_clocks(launch, &longer, 132), INT64_MAX, "%zu", i);
      if (clocks >= least) continue;
      least = clocks;
      dealt = launch->dealt > 0;
    }
    cr_expect_eq(dealt, rows[i].dealt, "%zu", i);
  }
  packed_trial_drop(&t);
}

/* ---- code ---- */

/* A division of 64 bits is a call, for whose sake ptxas would keep what producers number in
 * threads' own registers. */
Test(packed_deal, divisions) {
  static packed_trial t;
  static const packed_problem of = {260,  144, 512, LLRT_BF16, LLRT_BF16, false, MXFP4(124, 127),
                                    true, 0};
  jit_library library;
  const llrt_jit_interface *jit;
  llrt_jit_result result;
  cr_assert_eq(llrt_jit_library_init(LLRT_TEST_JIT_LIBRARY, &library), LLRT_OK);
  cr_assert_eq(llrt_jit_library_get(&library, &jit), LLRT_OK, "%s", llrt_last_error());
  packed_trial_make(&t, &of);
  packed_trial_describe(&t);
  make_plan(&t);
  cr_assert_eq(jit->compile(dealt_variant(), LLRT_EMIT_ASM, &result), LLRT_OK, "%s",
               result.message);
  const char *text = result.data;
  cr_expect(strstr(text, "wgmma") && strstr(text, "div.u32"));
  cr_expect(!strstr(text, "div.u64") && !strstr(text, "rem.u64"));
  jit->release(&result);
  llrt_jit_library_fini(&library);
  packed_trial_drop(&t);
}

/* ---- results ---- */

/* Tiles of which some are two blocks', and some have one of their own; a few turns, and few
 * columns; one that is all blocks'. */
static const packed_problem problems[] = {
    {600, 112, 352, LLRT_BF16, LLRT_BF16, false, MXFP4(124, 127), true, 0},
    {1030, 80, 288, LLRT_F16, LLRT_BF16, false, MXFP4(124, 127), true, 0},
    {300, 272, 608, LLRT_BF16, LLRT_BF16, false, MXFP4(124, 127), true, 0},
    {70, 80, 512, LLRT_F16, LLRT_F16, false, 12, 14, LLRT_U4, LLRT_F16, 128, LLRT_U4, true, 0},
    {260, 136, 288, LLRT_F16, LLRT_BF16, false, NVFP4, true, 0},
    {100, 48, 1312, LLRT_BF16, LLRT_BF16, false, MXFP4(124, 127), true, 0},
};
enum { SHARED_BY_ALL = 5 };
#define PROBLEMS ((int)(sizeof problems / sizeof *problems))

Test(packed_deal, plans) {
  static packed_trial t;
  for (int i = 0; i < PROBLEMS; i++) {
    llrt_storage_binding bindings[LLRT_MAX_TENSORS];
    llrt_tensor tensors[LLRT_MAX_TENSORS];
    packed_trial_make(&t, &problems[i]);
    packed_trial_describe(&t);
    make_plan(&t);
    const op_description *desc = &t.call.desc;
    for (int n = 0; n < desc->n_tensors; n++) {
      tensors[n] = desc->tensors[n];
      cr_assert_eq(llrt_storage_bind(tensors[n].storage, 3, tensors[n].shape, tensors[n].strides,
                                     &bindings[n]),
                   LLRT_OK, "%s", llrt_last_error());
      memcpy(tensors[n].shape, (int64_t[]){problems[i].m, problems[i].n, problems[i].k},
             3 * sizeof(int64_t));
    }
    packed_trial_permute(&t, false);
    cr_assert_eq(plan_interpret(dealt_variant(), tensors, bindings, desc->n_tensors), LLRT_OK, "%s",
                 llrt_last_error());
    packed_trial_permute(&t, true);
    packed_trial_check(&t, "interpreter");
    packed_trial_drop(&t);
  }
}

/* By the kernel whose turns are dealt, twice: what one run leaves in the workspace is what the next
 * finds. */
static llrt_status run_dealt(packed_trial *t) {
  op_description *desc = &t->call.desc;
  storage_set set;
  llrt_op *op;
  size_t bytes = 0;
  llrt_run_params params = {0};
  packed_trial_describe(t);
  llrt_device *device = t->a.device;
  make_plan(t);
  cr_assert_eq(llrt_storage_set_init(desc->tensors, desc->n_tensors, 0, &set), LLRT_OK, "%s",
               llrt_last_error());
  cr_assert_eq(llrt_op_make(device, desc, &set, &op), LLRT_OK);
  cr_assert_eq(llrt_op_build_kernels(op, dealt_variant(), 1), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_workspace(op, desc->tensors, desc->n_tensors, &bytes), LLRT_OK, "%s",
               llrt_last_error());
  params.workspace_bytes = bytes;
  cr_assert_eq(llrt_memory_allocate(device, bytes, &params.workspace), LLRT_OK, "%s",
               llrt_last_error());
  cr_assert_eq(llrt_memory_set(device, params.workspace, 0, bytes, NULL), LLRT_OK, "%s",
               llrt_last_error());
  llrt_status status = LLRT_OK;
  for (int i = 0; i < 2 && status == LLRT_OK; i++) {
    cr_expect_eq(llrt_memory_set(device, t->d.data, 0xff, (size_t)(t->of->m * t->of->n * 2), NULL),
                 LLRT_OK);
    status = llrt_op_run(op, NULL, desc->tensors, desc->n_tensors, &params);
  }
  if (status != LLRT_OK) return status;
  unsigned char *left = malloc(bytes);
  cr_expect_eq(llrt_memory_copy(device, left, params.workspace, bytes, LLRT_COPY_FROM_DEVICE, NULL),
               LLRT_OK);
  for (size_t i = 0; i < bytes; i++)
    cr_assert_eq(left[i], 0, "byte %zu of the workspace is left", i);
  free(left);
  llrt_memory_free(device, params.workspace);
  llrt_op_destroy(&op);
  return status;
}

static void run_emulated(int problem) {
  static packed_trial t;
  llrt_context *context;
  llrt_device *device;
  const llrt_context_params with = {.jit_library = LLRT_TEST_JIT_LIBRARY};
  cr_assert_eq(llrt_context_create(&with, &context), LLRT_OK);
  cr_assert_eq(llrt_device_open(context, "cuda-emu:sm_90a", NULL, &device), LLRT_OK, "%s",
               llrt_last_error());
  packed_trial_make(&t, &problems[problem]);
  packed_trial_run_on(device, &t, run_dealt);
  packed_trial_check(&t, "emulator");
  packed_trial_drop(&t);
  llrt_device_close(&device);
  llrt_context_destroy(&context);
}

Test(packed_deal, emulated) {
  for (int i = 0; i < 2; i++) run_emulated(i);
}

/* No device says in which order its blocks begin; the emulator ends one before the next. Of more
 * blocks there are some that wait for several. */
Test(packed_deal, reversed) {
  setenv("LLRT_EMU_BLOCKS", "reversed", 1);
  for (int i = 0; i < 2; i++) run_emulated(i);
  setenv("LLRT_EMU_UNITS", "7", 1);
  run_emulated(0);
  run_emulated(SHARED_BY_ALL);
}
