/* Mistakes planted in a plan: wrong kernels that the emulator or the comparison must tell from
 * right ones. The plan is changed between planning and emission. */
#include "emulators/tests/emu_plan.h"

#include <criterion/criterion.h>
#include <string.h>

static plan_kernel kernel;
static emu_outcome outcome;

static const char *const targets[] = {"sm_90a", "gfx90a", "gfx942"};
#define N_TARGETS ((int)(sizeof targets / sizeof *targets))

static emu_conversion transpose_on(const char *target) {
  return (emu_conversion){.source = "row_major",
                          .destination = "col_major",
                          .rank = 2,
                          .shape = {250, 515},
                          .dtype = LLRT_F32,
                          .target = target};
}

static void run_right(const emu_conversion *conversion) {
  emu_plan_make(conversion, &kernel);
  emu_plan_run(conversion, &kernel, &outcome);
  cr_assert(outcome.done, "%s", outcome.message);
  cr_assert(outcome.wrong == 0);
}

static plan_step *find_step(int kind) {
  for (int i = 0; i < kernel.n_steps; i++) {
    if (kernel.step[i].kind == kind) return &kernel.step[i];
  }
  cr_assert(false, "no step of kind %d", kind);
  return NULL;
}

static void swap_columns(uint64_t *column, int a, int b) {
  uint64_t kept = column[a];
  column[a] = column[b];
  column[b] = kept;
}

/* Two bits of a tile change places in the destination's addresses. */
static void swapped_lane_bit(const char *target) {
  run_right(&(emu_conversion){.source = "row_major",
                              .rank = 2,
                              .shape = {128, 64},
                              .dtype = LLRT_F32,
                              .destination = "nvmma(version=[2,0], warps_per_cta=[4,1], "
                                             "instr_shape=[16,8])",
                              .target = target});
  cr_assert(kernel.digit[0].side[1].kind == PLAN_COLUMNS);
  swap_columns(kernel.column[1], 4, 5);
  emu_plan_run(&(emu_conversion){.source = "row_major",
                                 .rank = 2,
                                 .shape = {128, 64},
                                 .dtype = LLRT_F32,
                                 .destination = "nvmma(version=[2,0], warps_per_cta=[4,1], "
                                                "instr_shape=[16,8])",
                                 .target = target},
               &kernel, &outcome);
  cr_expect(!outcome.compiled || !outcome.done || outcome.wrong > 0);
}
Test(planted, swapped_lane_bit) {
  for (int i = 0; i < N_TARGETS; i++) swapped_lane_bit(targets[i]);
}

/* A loop without body stands where the barrier was, in every branch. */
static void dropped_barrier(const char *target) {
  const emu_conversion transpose = transpose_on(target);
  run_right(&transpose);
  find_step(PLAN_BARRIER);
  for (int i = 0; i < kernel.n_steps; i++) {
    if (kernel.step[i].kind == PLAN_BARRIER) kernel.step[i] = (plan_step){.kind = PLAN_LOOP};
  }
  emu_plan_run(&transpose, &kernel, &outcome);
  cr_expect(!outcome.compiled || outcome.fault.kind == EMU_RACE ||
                outcome.fault.kind == EMU_UNDEFINED,
            "%s", outcome.message);
}
Test(planted, dropped_barrier) {
  for (int i = 0; i < N_TARGETS; i++) dropped_barrier(targets[i]);
}

/* The last, incomplete tile is taken for complete: floor became ceil. */
static void edge_mask_off_by_one(const char *target) {
  const emu_conversion transpose = transpose_on(target);
  run_right(&transpose);
  int changed = 0;
  for (int i = 0; i < kernel.launch.n_args; i++) {
    if (kernel.launch.arg[i].kind != PLAN_ARG_FLOOR) continue;
    kernel.launch.arg[i].kind = PLAN_ARG_CEIL;
    changed++;
  }
  cr_assert(changed > 0);
  emu_plan_run(&transpose, &kernel, &outcome);
  cr_expect(outcome.compiled && !outcome.done && outcome.fault.kind == EMU_OUT_OF_RANGE, "%s",
            outcome.message);
  cr_expect(outcome.fault.plan_step >= 0 && outcome.fault.plan_step < kernel.n_steps, "step %d",
            outcome.fault.plan_step);
  int kind = kernel.step[outcome.fault.plan_step].kind;
  cr_expect(kind == PLAN_LOAD || kind == PLAN_STORE, "a step of kind %d", kind);
}
Test(planted, edge_mask_off_by_one) {
  for (int i = 0; i < N_TARGETS; i++) edge_mask_off_by_one(targets[i]);
}

/* One more row of the tile in a bank's address: right, but the banks conflict. */
static void wrong_swizzle(const char *target) {
  const emu_conversion transpose = transpose_on(target);
  emu_conversion whole = transpose;
  whole.shape[0] = 256, whole.shape[1] = 512;
  run_right(&whole);
  uint64_t right =
      outcome.counters.shared_store_wavefronts + outcome.counters.shared_load_wavefronts;
  llrt_layout *layout = &kernel.buffer[0].layout;
  int bits = llrt_layout_in_bits(layout), worse = 0;
  for (int a = 3; a < bits - 1; a++) {
    for (int b = a + 1; b < bits; b++) {
      layout->column[b] ^= layout->column[a];
      emu_plan_run(&whole, &kernel, &outcome);
      uint64_t n =
          outcome.counters.shared_store_wavefronts + outcome.counters.shared_load_wavefronts;
      worse += outcome.done && outcome.wrong == 0 && n > right;
      layout->column[b] ^= layout->column[a];
    }
    if (worse) break;
  }
  cr_expect(worse > 0);
}
Test(planted, wrong_swizzle) {
  for (int i = 0; i < N_TARGETS; i++) wrong_swizzle(targets[i]);
}

/* A copy in the destination that is never written keeps its bytes. */
static void lost_duplicate(const char *target) {
  emu_conversion copies = {.source = "row_major",
                           .rank = 1,
                           .shape = {64},
                           .dtype = LLRT_F32,
                           .destination = "slice(dim=0, parent=blocked(size_per_thread=[1,8], "
                                          "threads_per_warp=[4,8], warps_per_cta=[4,1], "
                                          "order=[1,0]))",
                           .target = target};
  run_right(&copies);
  int lost = 0;
  for (int d = 0, bit = 0; d < kernel.n_digits; bit += kernel.digit[d++].bits) {
    for (int i = bit; kernel.digit[d].axis < 0 && i < bit + kernel.digit[d].bits; i++) {
      kernel.column[1][i] = 0;
      lost++;
    }
  }
  cr_assert(lost > 0);
  emu_plan_run(&copies, &kernel, &outcome);
  cr_expect(!outcome.compiled || !outcome.done || outcome.wrong > 0);
}
Test(planted, lost_duplicate) {
  for (int i = 0; i < N_TARGETS; i++) lost_duplicate(targets[i]);
}
