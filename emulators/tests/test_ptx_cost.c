/* The planner's predicted cost is what the emulator counts, for kernels of tiles without edges. */
#include "jit/probe/plan_tile.h"
#include "emulators/tests/counted_pairs.h"
#include "emulators/tests/emu_plan.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <string.h>

static const struct {
  const char *source, *destination;
} pairs[] = {
    COUNTED_PAIRS,
};

static void expect(const emu_conversion *conversion, const char *what, int64_t predicted,
                   uint64_t counted) {
  cr_expect(predicted == (int64_t)counted, "%s -> %s, %s, %s: %s %lld, counted %llu",
            conversion->source, conversion->destination, llrt_dtype_name(conversion->dtype),
            conversion->target, what, (long long)predicted, (unsigned long long)counted);
}

static void compare(const emu_conversion *conversion) {
  static plan_kernel kernel;
  emu_outcome outcome;
  emu_plan_make(conversion, &kernel);
  cr_assert(!kernel.flat, "%s -> %s", conversion->source, conversion->destination);
  emu_plan_run(conversion, &kernel, &outcome);
  cr_assert(outcome.done, "%s", outcome.message);
  cr_expect(outcome.wrong == 0);
  const plan_cost *cost = &kernel.cost;
  const emu_counters *counted = &outcome.counters;
  int64_t blocks = (int64_t)counted->blocks, warps = blocks << kernel.warp_bits;
  expect(conversion, "load sectors", cost->load_sectors * blocks, counted->global_load_sectors);
  expect(conversion, "store sectors", cost->store_sectors * blocks, counted->global_store_sectors);
  expect(conversion, "shared store wavefronts", cost->shared_store_wavefronts * blocks,
         counted->shared_store_wavefronts);
  expect(conversion, "shared load wavefronts", cost->shared_load_wavefronts * blocks,
         counted->shared_load_wavefronts);
  expect(conversion, "shuffles", cost->shuffles * warps, counted->shuffles);
}

static void compare_all(const char *target) {
  static const llrt_dtype types[] = {LLRT_U8, LLRT_BF16, LLRT_F32, LLRT_I64};
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    for (int type = 0; type < 4; type++) {
      compare(&(emu_conversion){.source = pairs[i].source,
                                .destination = pairs[i].destination,
                                .rank = 2,
                                .shape = {256, 512},
                                .dtype = types[type],
                                .target = target});
    }
  }
}

Test(ptx_cost, sm_80) { compare_all("sm_80"); }
Test(ptx_cost, sm_89) { compare_all("sm_89"); }
Test(ptx_cost, sm_90a) { compare_all("sm_90a"); }

/* Kernels for large tensors of narrow elements, on small ones: of whole tiles, as predicted, and
 * with edges. */
Test(ptx_cost, large_tensors) {
  static const struct {
    llrt_dtype dtype;
    int threads;
  } rows[] = {{LLRT_U8, 512}, {LLRT_B4, 1024}};
  static plan_kernel kernel;
  for (int i = 0; i < 4; i++) {
    emu_conversion conversion = {.source = pairs[i % 2].source,
                                 .destination = pairs[i % 2].destination,
                                 .rank = 2,
                                 .shape = {512, 1024},
                                 .dtype = rows[i / 2].dtype,
                                 .target = "sm_90a",
                                 .large = true};
    emu_plan_make(&conversion, &kernel);
    cr_assert_gt(kernel.launch.range.min_elements, 1 << 24);
    cr_expect_eq(kernel.launch.threads, rows[i / 2].threads);
    cr_expect_eq(kernel.digit[0].bits, kernel.digit[1].bits);
    compare(&conversion);
    conversion.shape[0] = 544; /* pitches as promised */
    conversion.shape[1] = 1120;
    emu_outcome outcome;
    emu_plan_run(&conversion, &kernel, &outcome);
    cr_expect(outcome.done && outcome.wrong == 0, "%s %zu wrong", outcome.message, outcome.wrong);
  }
}

/* ---- reductions inside a block ---- */

/* Instructions to shared memory of which some lane was active: all that llrt-bench broadcast
 * counts. */
static void compare_reduction(const char *text, int axis, const char *target,
                              const plan_options *options) {
  static plan_kernel kernel;
  static const int64_t shape[] = {32, 32};
  const plan_tile_reduce reduce = {.combiner = LLRT_COMBINE_SUM, .type = LLRT_F32, .axis = axis};
  const emu_conversion as_vectors = {.source = "row_major",
                                     .destination = "row_major",
                                     .rank = 1,
                                     .shape = {2 * 32 * 32},
                                     .dtype = LLRT_F32,
                                     .target = target};
  llrt_layout layout;
  plan_target made;
  emu_outcome outcome;
  cr_assert_eq(plan_target_find(target, &made), LLRT_OK);
  cr_assert_eq(llrt_layout_parse(text, 2, shape, &layout), LLRT_OK, "%s", llrt_last_error());
  const plan_tile tile = {.a = &layout, .element_bits = 32, .reduce = &reduce};
  cr_assert_eq(plan_tile_make(&tile, &made, options, &kernel), LLRT_OK, "%s", llrt_last_error());
  emu_plan_run(&as_vectors, &kernel, &outcome);
  cr_assert(outcome.done, "%s", outcome.message);
  const emu_counters *counted = &outcome.counters;
  cr_expect_eq(kernel.cost.shared_accesses * (int64_t)counted->blocks,
               (int64_t)(counted->shared_loads + counted->shared_stores),
               "%s, axis %d: %d, counted %d + %d", text, axis, (int)kernel.cost.shared_accesses,
               (int)counted->shared_stores, (int)counted->shared_loads);
}

Test(ptx_cost, reductions_of_tiles) {
  static const char *const layouts[] = {
      "blocked(size_per_thread=[1,4], threads_per_warp=[8,4], warps_per_cta=[8,1], order=[1,0])",
      "blocked(size_per_thread=[1,8], threads_per_warp=[4,8], warps_per_cta=[4,4], order=[1,0])",
      "nvmma(version=[2,0], warps_per_cta=[4,2], instr_shape=[16,8])",
      "dot(operand=1, k_width=2, parent=nvmma(version=[2,0], warps_per_cta=[4,2], "
      "instr_shape=[16,8]))",
      "slice(dim=0, parent=nvmma(version=[2,0], warps_per_cta=[2,4,1], instr_shape=[1,16,8]))",
      "slice(dim=1, parent=blocked(size_per_thread=[1,2,2], threads_per_warp=[4,2,4], "
      "warps_per_cta=[4,2,1], "
      "order=[2,1,0]))",
  };
  static const plan_options ways[] = {{.ignore_copies = false},
                                      {.ignore_copies = true},
                                      {.ignore_copies = true, .single_accesses = true}};
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
    for (int axis = 0; axis < 2; axis++)
      for (int w = 0; w < 3; w++)
        compare_reduction(layouts[i], axis, w == 1 ? "sm_80" : "sm_90a", &ways[w]);
}
