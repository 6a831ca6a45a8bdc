/* What the planner chooses: accesses, kernels and their order, counted in plans. */
#include "jit/plan/facts/lane_byte_permute.h"
#include "jit/plan/kernel/plan.h"
#include "runtime/described.h"

#include "jit/interpret/plan_interpret.h"
#include "jit/plan/check/plan_view.h"
#include "jit/plan/plan_make.h"
#include "tests/plan/plan_pair.h"
#include "tests/plan/random_layout.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Whole vectors, on the edges too, but for elements of 64 bits on NVIDIA, which are as wide as
 * narrow ones. */
Test(plan_choice, odd_rows_keep_wide_accesses) {
  static plan made;
  for (size_t t = 0; t < sizeof pair_targets / sizeof *pair_targets; t++) {
    for (int width = 1; width < 4; width++) {
      pair p;
      pair_parse(&(text_pair){"row_major", "col_major", {1031, 1055}}, &p);
      pair_plan(&p, pair_widths[width], pair_targets[t], NULL, &made);
      const plan_kernel *kernel = &made.variant[0];
      for (int i = 0; i < kernel->n_steps && !kernel->target.simd_lanes; i++)
        if (kernel->step[i].kind == PLAN_LOAD || kernel->step[i].kind == PLAN_STORE)
          cr_expect_eq(llrt_dtype_bits(pair_widths[width]) << kernel->step[i].vector, 128,
                       "%s, step %d", pair_targets[t], i);
    }
  }
}

/* Where tiles would overhang rows of whole vectors, one kernel moves those in the destination's
 * order. (Elements of 4 bits have a digit of their own for the two of a byte.) */
Test(plan_choice, whole_vectors_of_short_rows) {
  static const text_pair kv = {
      "storage(digits=[dim1: 80, dim0: 5, dim0: 16, dim0: rest])",
      "storage(digits=[dim1: 80, dim0: 5 @ 1280, dim0: 16 @ 80, dim0: rest @ 6400])",
      {160, 80}};
  static const char *const gpus[] = {"sm_80", "sm_90a", "gfx942"};
  static plan made;
  for (size_t t = 0; t < sizeof gpus / sizeof *gpus; t++)
    for (size_t w = 1; w < sizeof pair_widths / sizeof *pair_widths - 1; w++) {
      pair p;
      pair_parse(&kv, &p);
      pair_plan(&p, pair_widths[w], gpus[t], NULL, &made);
      const plan_kernel *kernel = &made.variant[0];
      cr_expect(kernel->flat, "%s, %s", gpus[t], llrt_dtype_name(pair_widths[w]));
      cr_expect_eq(made.n_variants, 1);
      cr_expect_eq(llrt_dtype_bits(pair_widths[w]) << kernel->step[0].vector, 128, "%s, %s",
                   gpus[t], llrt_dtype_name(pair_widths[w]));
    }
}

/* Of a source's tile (128 rows of 4) a flat kernel walks no more than the axes can have positions.
 * (No tile stores elements of 4 bits of which no two share a byte.) */
Test(plan_choice, flat_walk_ends_with_the_shape) {
  static const struct {
    int64_t rows, walked;
  } cases[] = {{1, 2}, {3, 8}, {70, 256}};
  static plan made;
  for (size_t t = 0; t < PAIR_TARGETS; t++)
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
      int64_t walked = 1;
      pair p;
      pair_parse(&(text_pair){"scale_128x4", "strided([3,2])", {cases[c].rows, 2}}, &p);
      pair_plan(&p, LLRT_U4, pair_targets[t], NULL, &made);
      cr_assert(made.variant[0].flat, "%s", pair_targets[t]);
      for (int i = 0; i < made.variant[0].n_places; i++)
        walked *= made.variant[0].place[i].count.value;
      cr_expect_eq(walked, cases[c].walked, "%s, %lld rows: %lld", pair_targets[t],
                   (long long)cases[c].rows, (long long)walked);
    }
}

/* Images with rows of an odd number of bytes keep panels in shared memory, where there are enough
 * of them and banks are not what they wait for; other shapes and elements do not. */
Test(plan_choice, panels_of_images) {
  static const struct {
    const char *source, *destination;
    llrt_dtype dtype;
    int64_t shape[4];
    bool panels;
  } rows[] = {
      {"row_major", "channels_last", LLRT_U8, {2141, 40, 27, 29}, true},
      {"channels_last", "row_major", LLRT_U8, {2141, 40, 27, 29}, true},
      {"row_major", "channels_last", LLRT_BF16, {1071, 40, 27, 29}, true},
      {"row_major", "onednn_nchw16c", LLRT_F32, {223, 83, 27, 29}, true},
      {"onednn_nchw16c", "row_major", LLRT_BF16, {445, 83, 27, 29}, true},
      {"row_major", "onednn_oihw4i16o4i", LLRT_U8, {35839, 200, 3, 3}, true},
      {"row_major", "onednn_nchw16c", LLRT_U8, {891, 83, 27, 29}, false}, /* small ones */
      {"row_major", "trt_chw32", LLRT_U8, {891, 83, 27, 29}, false},      /* banks */
      {"row_major", "trt_hwc16", LLRT_BF16, {445, 83, 27, 29}, true},     /* parts of rows */
      {"channels_last", "row_major", LLRT_F32, {535, 40, 27, 29}, true},
      {"trt_hwc8", "row_major", LLRT_BF16, {445, 83, 27, 29}, true},
      {"trt_chw32", "row_major", LLRT_U8, {891, 83, 27, 29}, true}, /* banks of few bytes */
      {"trt_dla_linear(element_bits=16)",
       "row_major",
       LLRT_BF16,
       {467, 83, 27, 29},
       true}, /* rows with room behind them */
      {"onednn_nchw16c",
       "row_major",
       LLRT_F32,
       {223, 83, 27, 29},
       false}, /* 32 bits stored, tiles waste little */
      {"row_major",
       "channels_last",
       LLRT_U8,
       {1024, 256, 16, 16},
       false}, /* rows of whole vectors */
      {"row_major", "nhwc", LLRT_U8, {1069, 20, 56, 56}, false},
      {"row_major", "channels_last", LLRT_I64, {1024, 40, 27, 29}, false},
  };
  static plan made;
  plan_target target;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    llrt_storage storage[2];
    op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
    const char *const text[] = {rows[i].source, rows[i].destination};
    for (int t = 0; t < 2; t++) {
      cr_assert_eq(llrt_storage_parse(text[t], 4, rows[i].shape, &storage[t]), LLRT_OK, "%s",
                   llrt_last_error());
      desc.tensors[t] = (llrt_tensor){.dtype = rows[i].dtype, .rank = 4, .storage = &storage[t]};
      desc.tensors[t].data = (void *)(uintptr_t)(4096 * (t + 1));
      memcpy(desc.tensors[t].shape, rows[i].shape, sizeof rows[i].shape);
    }
    cr_assert_eq(described_promise(&desc), LLRT_OK, "%s", llrt_last_error());
    cr_assert_eq(plan_make(&desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
    cr_expect_eq(made.variant[0].panel.staged, rows[i].panels, "%s -> %s, %s", text[0], text[1],
                 llrt_dtype_name(rows[i].dtype));
    cr_expect(!rows[i].panels || made.n_variants > 1 ||
              made.variant[0].launch.range.min_elements == 0);
  }
}

/* Pads that stay as they are: a GPU's edges store what is inside of an access that pads part, and
 * all other accesses whole. */
Test(plan_choice, kept_pads_part_wide_stores) {
  static const text_pair scales = {"row_major", "aiter_scale", {128, 90}};
  static const char *const gpus[] = {"sm_80", "sm_90a", "gfx942"};
  static plan made;
  uint64_t seed = test_seed_of_run();
  for (size_t t = 0; t < sizeof gpus / sizeof *gpus; t++) {
    pair p;
    conversion c;
    plan_target target;
    bool parted = false;
    pair_parse(&scales, &p);
    conversion_make(&p, LLRT_U8, &c);
    for (int a = 0; a < 2; a++)
      c.desc.promises[0].shape[a].min = c.desc.promises[0].shape[a].max = p.shape[a];
    cr_assert_eq(plan_target_find(gpus[t], &target), LLRT_OK);
    cr_assert_eq(plan_make(&c.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
    const plan_kernel *kernel = &made.variant[0];
    for (int i = 0; i < kernel->n_steps; i++) {
      if (kernel->step[i].kind != PLAN_STORE) continue;
      parted |= kernel->step[i].parted;
      cr_expect_eq(kernel->step[i].vector, 4, "%s, step %d", gpus[t], i);
    }
    cr_expect(parted, "%s", gpus[t]);
    conversion_fill(&c, &seed);
    memset(c.desc.tensors[1].data, UNTOUCHED, c.bytes[1]);
    cr_expect_eq(plan_interpret(kernel, c.desc.tensors, c.binding, 2), LLRT_OK, "%s",
                 llrt_last_error());
    cr_expect_eq(conversion_wrong_places(&p, &c), 0, "%s", gpus[t]);
    conversion_free(&c);
  }
}

/* Rows of an odd number of 4-bit elements begin in either half of a byte: GPUs' tiles take the
 * words that pieces touch. */
Test(plan_choice, odd_rows_of_nibbles_are_tiled) {
  static const text_pair rows[] = {{"col_major", "row_major", {333, 96}},
                                   {"strided([1,335])", "row_major", {320, 130}}};
  static const char *const gpus[] = {"sm_80", "sm_90a", "gfx942"};
  static plan made;
  uint64_t seed = test_seed_of_run();
  for (size_t t = 0; t < 2 * sizeof gpus / sizeof *gpus; t++) {
    pair p;
    const char *name = gpus[t / 2];
    pair_parse(&rows[t % 2], &p);
    pair_plan(&p, LLRT_B4, name, NULL, &made);
    const plan_kernel *kernel = &made.variant[0];
    cr_expect_not(kernel->flat, "%s", name);
    int first = 0; /* load: of blocks inside of all bounds */
    while (first < kernel->n_steps - 1 && kernel->step[first].kind != PLAN_LOAD) first++;
    const plan_step *load = &kernel->step[first];
    cr_expect(load->overhang && load->by_words && load->vector >= 3 && !load->masked, "%s, row %zu",
              name, t % 2);
    conversion c;
    conversion_make(&p, LLRT_B4, &c);
    conversion_fill(&c, &seed);
    memset(c.desc.tensors[1].data, UNTOUCHED, c.bytes[1]);
    cr_expect_eq(plan_interpret(kernel, c.desc.tensors, c.binding, 2), LLRT_OK, "%s",
                 llrt_last_error());
    cr_expect_eq(conversion_wrong_places(&p, &c), 0, "%s", name);
    conversion_free(&c);
  }
}

/* As destinations such rows are tiled, too: stores know what lies in front of their groups. */
Test(plan_choice, odd_rows_of_nibbles_are_stored_by_vectors) {
  static const text_pair rows[] = {
      {"row_major", "col_major", {333, 96}},
      {"col_major", "row_major", {130, 517}},
      {"row_major", "storage(digits=[dim0: 301, dim1: rest, dim0: rest], pad=9)", {400, 33}},
      {"strided([1038,1])", "storage(digits=[dim1: rest, replica: 3, dim0: rest])", {24, 1037}}};
  static const char *const gpus[] = {"sm_80", "sm_90a", "gfx942"};
  static plan made;
  uint64_t seed = test_seed_of_run();
  for (size_t t = 0; t < 4 * sizeof gpus / sizeof *gpus; t++) {
    pair p;
    const char *name = gpus[t / 4];
    pair_parse(&rows[t % 4], &p);
    pair_plan(&p, LLRT_B4, name, NULL, &made);
    const plan_kernel *kernel = &made.variant[0];
    int fronts = 0, stores = 0;
    for (int i = 0; i < kernel->n_steps; i++) {
      const plan_step *step = &kernel->step[i];
      fronts += step->kind == PLAN_LOAD && step->front;
      stores += step->kind == PLAN_STORE && step->overhang && step->vector >= 3 && !step->parted;
    }
    cr_expect(!kernel->flat && fronts == 2 && stores == 2, "%s, row %zu: %d, %d", name, t % 4,
              fronts, stores);
    cr_expect_eq(plan_verify(kernel), LLRT_OK, "%s, row %zu: %s", name, t % 4, llrt_last_error());
    conversion c;
    conversion_make(&p, LLRT_B4, &c);
    conversion_fill(&c, &seed);
    memset(c.desc.tensors[1].data, UNTOUCHED, c.bytes[1]);
    cr_expect_eq(plan_interpret(kernel, c.desc.tensors, c.binding, 2), LLRT_OK, "%s",
                 llrt_last_error());
    cr_expect_eq(conversion_wrong_places(&p, &c), 0, "%s, row %zu", name, t % 4);
    conversion_free(&c);
  }
}

/* Digits of few elements each, of which a panel of four would be wanted where any size is: copies
 * of it are whole vectors all the same, or there is none. */
Test(plan_choice, panels_that_are_asked_for_are_whole_vectors) {
  static const text_pair text = {
      "storage(rank=2, digits=[dim1: 4 @ 1, dim1: 4 @ 16, dim1: 2 @ 8, dim0: 2 @ 64, dim1: 2 @ "
      "128, "
      "dim1: rest @ 256, dim0: 4, dim0: 2 @ 4, dim0: 16, dim0: rest], pad=0)",
      "row_major",
      {1024, 256}};
  static plan made;
  pair p;
  pair_parse(&text, &p);
  for (int form = 1; form <= 3; form++) {
    const plan_options options = {.panels = form};
    pair_plan(&p, LLRT_U8, "sm_90a", &options, &made);
    for (int v = 0; v < made.n_variants; v++)
      cr_expect_eq(plan_verify(&made.variant[v]), LLRT_OK, "form %d: %s", form, llrt_last_error());
  }
}

/* Steps of a kind in any variant. */
static int count_kind(const plan *made, plan_step_kind kind) {
  int n = 0;
  for (int v = 0; v < made->n_variants; v++)
    for (int i = 0; i < made->variant[v].n_steps; i++) n += made->variant[v].step[i].kind == kind;
  return n;
}

/* Rows that are no powers of two are collected by hosts, in one tile or several, where they follow
 * each other, and long ones that begin anywhere in a line. Each is run. */
Test(plan_choice, rows_are_collected) {
  static const struct {
    text_pair text;
    int widths; /* bit w: width w is collected */
  } rows[] = {
      {{"row_major", "storage(digits=[dim1: 48, dim0: 256, dim1: rest])", {256, 96}}, 6},
      {{"col_major", "storage(digits=[dim1: 48, dim0: 256, dim1: rest])", {256, 96}}, 6},
      {{"row_major", "storage(digits=[dim1: 24, dim0: 256, dim1: rest])", {256, 72}}, 14},
      {{"col_major", "storage(digits=[dim1: 12, dim0: 256, dim1: rest])", {256, 36}}, 30},
      {{"row_major", "storage(digits=[dim1: 48, dim0: 256, dim1: rest], pad=1)", {256, 100}}, 6},
      {{"col_major", "storage(digits=[dim1: 48, dim0: 256, dim1: rest], offset=[64])", {256, 96}},
       6},
      {{"col_major", "storage(digits=[dim1: 48, dim0: 256, dim1: rest], offset=[8])", {256, 96}},
       6},
      {{"col_major", "storage(digits=[dim1: 48, dim0: 256, dim1: rest], offset=[1])", {256, 96}},
       0},
      {{"col_major", "storage(digits=[dim1: 48, dim0: 256 @ 52, dim1: rest])", {256, 96}}, 0},
      {{"col_major", "storage(digits=[dim1: 48, dim0: 256, dim1: rest], pad=keep)", {256, 100}}, 0},
      {{"row_major",
        "storage(digits=[dim1: 512, dim0: 16 @ 528, dim1: rest], offset=[16])",
        {16, 1024}},
       6},
      {{"row_major",
        "storage(digits=[dim1: 32 @ 16, dim0: 16 @ 1, dim0: 8 @ 544], offset=[8])",
        {128, 32}},
       14},
      {{"row_major",
        "storage(digits=[dim1: 64, dim0: 64 @ 80, dim1: rest], offset=[16])",
        {64, 128}},
       0},
  };
  static plan made;
  pair_stream = true;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (size_t t = PAIR_FIRST_HOST; t < sizeof pair_targets / sizeof *pair_targets; t++)
      for (size_t w = 1; w < 5; w++) {
        pair p;
        pair_parse(&rows[i].text, &p);
        pair_plan(&p, pair_widths[w], pair_targets[t], &(plan_options){.stream = true}, &made);
        cr_expect_eq(count_kind(&made, PLAN_COLLECT), rows[i].widths >> w & 1, "row %zu, %s, %s", i,
                     pair_targets[t], llrt_dtype_name(pair_widths[w]));
        pair_check(&p, pair_targets[t], pair_widths[w], PLAN_EXCHANGE_AUTO,
                   rows[i].text.destination);
      }
  pair_stream = false;
}

/* However elements of its runs spread over words, a matrix's source is loaded by whole sectors,
 * unless all that a word takes from outside of a vector is in a sector's other half, as it is in
 * none of these. */
Test(plan_choice, random_matrices_load_whole_sectors) {
  static const char *const gpus[] = {"sm_80", "sm_90a", "gfx942"};
  static plan made;
  uint64_t seed = 20260101;
  int turned = 0;
  for (int round = 0; round < 8; round++) {
    pair p = {.shape = {1 << 9, 1 << 8}};
    cr_assert_eq(llrt_storage_parse("row_major", 2, NULL, &p.storage[0]), LLRT_OK);
    test_random_storage(&seed, 9, 8, false, &p.storage[1]);
    for (size_t t = 0; t < sizeof gpus / sizeof *gpus; t++)
      for (size_t w = 1; w < 3; w++) {
        pair_plan(&p, pair_widths[w], gpus[t], NULL, &made);
        const plan_kernel *kernel = &made.variant[0];
        if (kernel->cost.load_sectors > kernel->cost.min_sectors) pair_explain(&made, 0);
        cr_expect_eq(kernel->cost.load_sectors, kernel->cost.min_sectors,
                     "round %d, %s, %s: %d of %d sectors", round, gpus[t],
                     llrt_dtype_name(pair_widths[w]), kernel->cost.load_sectors,
                     kernel->cost.min_sectors);
        plan_lane_byte_permute turn;
        for (int i = 0; i < kernel->n_steps; i++) {
          const plan_step *step = &kernel->step[i];
          if (step->kind == PLAN_SHUFFLE)
            turned += plan_lane_byte_permute_of(&kernel->value[step->in], &kernel->value[step->out],
                                                &turn);
        }
        if (round == 0)
          pair_check(&p, gpus[t], pair_widths[w], PLAN_EXCHANGE_AUTO, "whole sectors");
      }
  }
  cr_expect_gt(turned, 0);
}

/* Rows of the source that lie far apart are read in bands, where the destination's runs are long; a
 * pitch that only a run knows is looked at there. */
Test(plan_choice, far_rows_are_read_in_bands) {
  static const struct {
    const char *target;
    text_pair text;
    int width; /* number in pair_widths */
    bool banded;
  } rows[] = {
      {"sm_90a", {"row_major", "col_major", {96, 1100}}, 4, true},
      {"sm_90a", {"strided([49152,1])", "col_major", {96, 330}}, 4, true},
      {"sm_90a", {"strided([16640,1])", "col_major", {96, 330}}, 4, false},
      {"sm_90a", {"strided([393216,1])", "col_major", {96, 330}}, 1, false},
      {"sm_90a", {"strided([24576,1])", "col_major", {96, 320}}, 5, true},
      {"sm_80", {"strided([49152,1])", "col_major", {96, 330}}, 4, false},
      {"gfx942", {"strided([49152,1])", "col_major", {96, 330}}, 4, false},
  };
  static plan made;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    pair p;
    pair_parse(&rows[i].text, &p);
    pair_plan(&p, pair_widths[rows[i].width], rows[i].target, NULL, &made);
    cr_expect_eq(made.variant[0].band > 0, rows[i].banded, "row %zu", i);
    pair_check(&p, rows[i].target, pair_widths[rows[i].width], PLAN_EXCHANGE_AUTO, "far rows");
  }
}

/* 2^10 to 2^20 rows use at most two kernels. */
Test(plan_choice, rows_do_not_make_kernels) {
  static plan made;
  plan_target target;
  for (size_t t = 0; t < sizeof pair_targets / sizeof *pair_targets; t++) {
    for (int columns = 1; columns <= 4096; columns *= 4) {
      unsigned used = 0;
      cr_assert_eq(plan_target_find(pair_targets[t], &target), LLRT_OK);
      op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
      llrt_storage storage[2];
      llrt_storage_row_major(2, &storage[0]);
      llrt_storage_col_major(2, &storage[1]);
      for (int i = 0; i < 2; i++)
        desc.tensors[i] = (llrt_tensor){.dtype = LLRT_BF16, .rank = 2, .storage = &storage[i]};
      cr_assert_eq(plan_make(&desc, &target, NULL, &made), LLRT_OK);
      for (int rows = 10; rows <= 20; rows++) {
        int64_t shape[] = {(int64_t)1 << rows, columns};
        int v = 0;
        while (!plan_range_contains(&made.variant[v].launch.range, 2, shape)) v++;
        cr_assert_lt(v, made.n_variants);
        used |= 1u << v;
      }
      cr_assert_leq(__builtin_popcount(used), 2, "%s, %d columns", pair_targets[t], columns);
    }
  }
}

/* A bit that the destination's words need in registers, but that completes the source's sectors, is
 * a lane. */
Test(plan_choice, loads_are_whole_sectors) {
  static const struct {
    const char *source, *destination;
    llrt_dtype dtype;
  } cases[] = {{"marlin_scales", "row_major", LLRT_B16},
               {"row_major", "marlin_scales", LLRT_B16},
               {"hipblaslt_col16_4r8", "row_major", LLRT_B16},
               {"hipblaslt_col16_4r16", "row_major", LLRT_B8},
               {"hopper_value_mma3", "row_major", LLRT_B8},
               {"hipblaslt_col16_4r32", "row_major", LLRT_B4},
               {"machete_mma8", "row_major", LLRT_B4}};
  static plan made;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pair p;
    pair_parse(&(text_pair){cases[i].source, cases[i].destination, {1024, 1024}}, &p);
    for (size_t t = 0; t < PAIR_FIRST_HOST; t++) {
      pair_plan(&p, cases[i].dtype, pair_targets[t], NULL, &made);
      const plan_cost *cost = &made.variant[0].cost;
      cr_expect_eq(cost->load_sectors, cost->min_sectors, "%s, %s: %d sectors loaded, at least %d",
                   cases[i].source, pair_targets[t], cost->load_sectors, cost->min_sectors);
    }
  }
}

/* Scale factors of a narrow matrix run tiled, in a kernel that most of its tile's threads work in.
 */
Test(plan_choice, thin_shapes_run_tiled) {
  static plan made;
  const int64_t shape[] = {131072, 90};
  pair p;
  pair_parse(&(text_pair){"row_major", "scale_128x4", {256, 90}}, &p);
  for (size_t t = 0; t < sizeof pair_targets / sizeof *pair_targets; t++) {
    int v = 0;
    pair_plan(&p, LLRT_B8, pair_targets[t], NULL, &made);
    while (!plan_range_contains(&made.variant[v].launch.range, 2, shape)) v++;
    cr_assert(!made.variant[v].flat, "%s", pair_targets[t]);
  }
}

/* A tile of the widest vectors on both sides may be too big for a block; stores stay whole lines.
 */
Test(plan_choice, host_stores_whole_vectors) {
  static plan made;
  pair p;
  pair_parse(&(text_pair){"row_major", "col_major", {256, 256}}, &p);
  for (int width = 0; width < 4; width++) {
    pair_plan(&p, pair_widths[width], "x86-64-v4", NULL, &made);
    const plan_kernel *kernel = &made.variant[0];
    for (int i = 0; i < kernel->n_steps; i++)
      if (kernel->step[i].kind == PLAN_STORE && !kernel->step[i].masked)
        cr_expect_eq(llrt_dtype_bits(pair_widths[width]) << kernel->step[i].vector, 512);
  }
}

/* Edges of the host's transposes move registers under masks (4 bits: elements) beside the shuffles
 * that other tiles have: none is there twice. Loads are whole lines. */
Test(plan_choice, host_edges_share_shuffles) {
  static plan made;
  pair p;
  pair_parse(&(text_pair){"row_major", "col_major", {1032, 1056}}, &p);
  for (int width = 0; width < 4; width++) {
    pair_plan(&p, pair_widths[width], "x86-64-v4", NULL, &made);
    const plan_kernel *kernel = &made.variant[0];
    int masked = 0;
    uint64_t shuffled[2] = {0};
    for (int i = 0; i < kernel->n_steps; i++) {
      const plan_step *step = &kernel->step[i];
      masked += step->masked;
      if (step->kind == PLAN_LOAD && !step->masked)
        cr_expect_eq(llrt_dtype_bits(pair_widths[width]) << step->vector, 512);
      if (step->kind != PLAN_SHUFFLE) continue;
      cr_expect(!(shuffled[step->in / 64] >> step->in % 64 & 1), "width %d: step %d", width, i);
      shuffled[step->in / 64] |= 1ull << step->in % 64;
    }
    cr_expect_eq(masked, 2);
  }
}
