/* Plans executed by the interpreter against the storages' own definition: every pair of storages,
 * every target, every width, every exchange that can be had. */
#include "jit/plan/kernel/plan.h"
#include "runtime/described.h"

#include "jit/interpret/plan_interpret.h"
#include "jit/plan/plan_make.h"
#include "tests/plan/plan_pair.h"
#include "tests/plan/random_layout.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCKED \
  "blocked(size_per_thread=[1,8], threads_per_warp=[4,8], warps_per_cta=[4,1], order=[1,0])"
#define MMA "nvmma(version=[2,0], warps_per_cta=[2,2], instr_shape=[16,8])"
#define DOT_A "dot(operand=0, k_width=2, parent=" MMA ")"
#define DOT_B "dot(operand=1, k_width=2, parent=" MMA ")"

static const text_pair pairs[] = {
    {"row_major", "col_major", {64, 128}},
    {"row_major", "col_major", {128, 32}},
    {"col_major", "row_major", {33, 65}},
    {"row_major", "row_major", {64, 64}},
    {"row_major", "col_major", {1, 1}},
    {"row_major", "col_major", {200, 3}},
    {"strided([80,1])", "col_major", {32, 64}},
    {"strided([77,1])", "strided([1,100])", {70, 66}},
    {"strided([0,1])", "row_major", {16, 64}},
    {"strided([3,200])", "row_major", {64, 64}},
    {"row_major", BLOCKED, {64, 64}},
    {BLOCKED, "row_major", {32, 128}},
    {"row_major", MMA, {32, 32}},
    {MMA, "col_major", {64, 64}},
    {"row_major", DOT_A, {32, 64}},
    {"row_major", DOT_B, {64, 32}},
    {DOT_A, "row_major", {32, 64}},
    {BLOCKED, MMA, {64, 64}},
    {MMA, DOT_A, {64, 64}},
    {"slice(dim=0, parent=blocked(size_per_thread=[1,1,2], threads_per_warp=[2,4,4], "
     "warps_per_cta=[2,1,1], order=[2,1,0]))",
     "row_major",
     {16, 32}},
    {"row_major",
     "slice(dim=0, parent=blocked(size_per_thread=[1,1,2], threads_per_warp=[2,4,4], "
     "warps_per_cta=[2,1,1], order=[2,1,0]))",
     {16, 32}},
    {"{offset: [[0,1],[1,1],[2,0],[0,2],[4,4],[0,4]]} -> [dim0:8, dim1:8]", "row_major", {8, 8}},
    {"row_major", "{offset: []} -> [dim0:1, dim1:1]", {1, 1}},
    {"row_major", "{offset: [[1,0],[0,0],[0,1]]} -> [dim0:2, dim1:2]", {2, 2}},
};

/* What is more than digits of powers of two: one width a target each. */
static const text_pair general_pairs[] = {
    /* offsets and replicas */
    {"storage(digits=[dim1: rest, dim0: rest], offset=[3])", "col_major", {64, 72}},
    {"row_major", "storage(digits=[dim1: rest, dim0: rest], offset=[7])", {40, 64}},
    {"row_major", "storage(digits=[dim1: rest, replica: 2, dim0: rest])", {33, 64}},
    {"row_major", "storage(digits=[replica: 3, dim0: rest, dim1: rest, replica: 2])", {20, 30}},
    {"storage(digits=[dim1: rest, replica: 3, dim0: rest, replica: 2])", "row_major", {20, 64}},
    /* digits above ones that are no powers of two */
    {"storage(digits=[dim1: rest, dim0: 45, dim0: 2])",
     "storage(digits=[dim1: rest, dim0: 2 @ 32, dim0: 45 @ 64])",
     {90, 32}},
    {"row_major", "storage(digits=[dim1: 48, dim0: rest, dim1: rest])", {24, 96}},
    {"storage(digits=[dim1: 48, dim0: rest, dim1: rest])", "col_major", {70, 144}},
    {"storage(digits=[dim0: 45, dim0: 8, dim1: rest])",
     "storage(digits=[dim0: 8 @ 45, dim0: 45 @ 1, dim1: rest @ 360])",
     {360, 16}},
    {"storage(digits=[dim0: 3, dim1: 5, dim0: rest, dim1: rest])", "row_major", {51, 85}},
    {"storage(digits=[dim0: 5, dim1: 64, dim0: 64])",
     "storage(digits=[dim0: 64, dim1: 64, dim0: 5])",
     {320, 64}},
    {"padded_shared(interval_padding=[[64,8]], order=[1,0])", "col_major", {32, 64}},
    /* images whose channels become the fastest, and back: all of them or 16 at a time, the last of
       which are fewer */
    {"storage(digits=[dim1: 35, dim0: rest])",
     "storage(digits=[dim0: 24, dim1: 35, dim0: rest])",
     {72, 35}},
    {"storage(digits=[dim0: 24, dim1: 35, dim0: rest])",
     "storage(digits=[dim1: 35, dim0: rest])",
     {72, 35}},
    {"row_major", "storage(digits=[dim0: 16, dim1: rest, dim0: rest], pad=9)", {43, 63}},
    {"storage(digits=[dim0: 16, dim1: rest, dim0: rest], pad=9)", "row_major", {43, 63}},
    {"row_major",
     "storage(digits=[dim0: 4, dim1: 4, dim0: 4, dim1: 9, dim0: rest], pad=keep)",
     {70, 36}},
    {"storage(digits=[dim0: 4, dim1: 4, dim0: 4, dim1: 9, dim0: rest], pad=3)",
     "row_major",
     {70, 36}},
    /* pads */
    {"row_major", "scale_128x4", {130, 6}},
    {"row_major", "scale_128x4", {131, 90}},
    {"scale_128x4", "row_major", {131, 90}},
    {"scale_128x4", "scale_8x4", {131, 30}},
    {"scale_8x4(pad=17)", "scale_128x4(pad=3)", {60, 9}},
    {"row_major", "torchao_w4", {48, 66}},
    {"torchao_w4", "col_major", {34, 40}},
    {"row_major", "aiter_scale", {40, 11}},
    {"row_major", "aiter_scale", {161, 90}},
    {"col_major", "scale_128x4(pad=keep)", {140, 6}},
    {"row_major", "storage(digits=[dim1: 16, dim0: 32], pad=9)", {20, 11}},
    {"storage(digits=[dim1: 16, dim0: 32], pad=keep)", "col_major", {20, 11}},
    {"row_major", "storage(digits=[dim1: 48, dim0: rest, dim1: rest], pad=1)", {17, 100}},
    {"storage(digits=[dim1: 48, dim0: rest, dim1: rest], pad=0)",
     "storage(digits=[dim1: 32, dim0: 4, dim1: rest, dim0: rest], pad=5)",
     {17, 100}},
    /* digits that count down */
    {"row_major", "storage(digits=[dim1: rest, dim0: 2 reversed, dim0: rest])", {24, 40}},
    {"storage(digits=[dim1: rest reversed, dim0: rest])", "col_major", {33, 64}},
    {"row_major",
     "storage(digits=[dim1: 48 reversed, dim0: rest reversed, dim1: rest], pad=3)",
     {17, 90}},
    {"storage(digits=[dim0: 45 reversed, dim0: 64, dim1: rest])",
     "storage(digits=[dim0: 64, dim0: 45 reversed, dim1: rest])",
     {2880, 2}},
    /* rows of whole vectors that change places: NHD to HND of five heads of 80 */
    {"storage(digits=[dim1: 80, dim0: 5, dim0: 16, dim0: rest])",
     "storage(digits=[dim1: 80, dim0: 5 @ 1280, dim0: 16 @ 80, dim0: rest @ 6400])",
     {160, 80}},
    {"storage(digits=[dim1: 80, dim0: 5, dim0: rest])",
     "storage(digits=[dim1: 16, dim0: rest, dim1: 5])",
     {55, 80}},
    {"storage(digits=[dim1: 80, dim0: 5, dim0: rest], offset=[8])",
     "storage(digits=[dim1: 80, dim0: 5 @ 880, dim0: rest @ 80])",
     {55, 80}},
    /* swizzles of carrying sums */
    {"row_major", "storage(digits=[dim1: rest, dim0: rest], swizzle=[0,2,5])", {33, 40}},
    {"storage(digits=[dim1: rest, dim0: rest], swizzle=[3,3,3])", "col_major", {70, 64}},
    {"row_major",
     "storage(digits=[dim1: rest, dim0: rest @ 72], offset=[8], swizzle=[3,2,4])",
     {64, 64}},
    {"row_major", "storage(digits=[dim1: 64, dim0: 64], swizzle=[3,3,6])", {64, 64}},
};

/* Rows that begin anywhere: every width, so that pitches are 1, 2, 4 ... bytes off a whole vector.
 */
static const text_pair row_pairs[] = {
    {"strided([301,1])", "strided([1,301])", {130, 300}},
    {"strided([301,1])", "strided([307,1])", {20, 300}},
    {"row_major", "col_major", {129, 135}},
    {"storage(digits=[dim1: rest, dim0: rest], offset=[5])",
     "storage(digits=[dim0: rest, dim1: rest], offset=[3])",
     {67, 141}},
    {"storage(digits=[dim1: rest reversed, dim0: rest])", "strided([1,71])", {70, 203}},
    {"storage(digits=[dim1: rest, dim0: rest reversed])", "col_major", {70, 203}},
    {"row_major", "storage(digits=[dim0: 64, dim1: rest, dim0: rest], pad=7)", {90, 203}},
    {"storage(digits=[dim0: 64, dim1: rest, dim0: rest], pad=7)", "row_major", {90, 203}},
    {"strided([2049,1])", "row_major", {3, 2049}},
};

Test(plan, every_pair_on_every_target) {
  int ran = 0;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    pair p;
    char what[64];
    pair_parse(&pairs[i], &p);
    snprintf(what, sizeof what, "pair %zu", i);
    for (size_t t = 0; t < sizeof pair_targets / sizeof *pair_targets; t++)
      for (size_t w = 0; w < sizeof pair_widths / sizeof *pair_widths; w++)
        for (int exchange = 0; exchange <= PLAN_EXCHANGE_MATRIX; exchange++)
          ran += pair_check(&p, pair_targets[t], pair_widths[w], (plan_exchange)exchange, what);
  }
  cr_assert_geq(ran, 1800, "only %d plans ran", ran);
}

Test(plan, general_pairs_on_every_target) {
  for (size_t i = 0; i < sizeof general_pairs / sizeof *general_pairs; i++) {
    pair p;
    pair_parse(&general_pairs[i], &p);
    for (size_t t = 0; t < sizeof pair_targets / sizeof *pair_targets; t++) {
      llrt_dtype width = pair_widths[(i + t) % (sizeof pair_widths / sizeof *pair_widths)];
      pair_check(&p, pair_targets[t], width, PLAN_EXCHANGE_AUTO, general_pairs[i].destination);
      pair_stream = true;
      if (t >= PAIR_FIRST_HOST)
        pair_check(&p, pair_targets[t], width, PLAN_EXCHANGE_AUTO, general_pairs[i].destination);
      pair_stream = false;
    }
  }
}

Test(plan, odd_rows_on_every_target) {
  for (size_t i = 0; i < sizeof row_pairs / sizeof *row_pairs; i++) {
    pair p;
    pair_parse(&row_pairs[i], &p);
    for (size_t t = 0; t < sizeof pair_targets / sizeof *pair_targets; t++)
      for (size_t w = 0; w < sizeof pair_widths / sizeof *pair_widths; w++)
        pair_check(&p, pair_targets[t], pair_widths[w], PLAN_EXCHANGE_AUTO, row_pairs[i].source);
  }
}

static void random_pairs(bool permutation, uint64_t seed) {
  printf("seed %llu\n", (unsigned long long)seed);
  for (int round = 0; round < 24; round++) {
    pair p = {.shape = {0}};
    int bits0 = (int)(test_random(&seed) % 7), bits1 = (int)(test_random(&seed) % 7);
    char what[64];
    snprintf(what, sizeof what, "round %d", round);
    p.shape[0] = (int64_t)1 << bits0;
    p.shape[1] = (int64_t)1 << bits1;
    for (int t = 0; t < 2; t++)
      test_random_storage(&seed, bits0, bits1, permutation, &p.storage[t]);
    for (size_t t = 0; t < sizeof pair_targets / sizeof *pair_targets; t++)
      for (size_t w = 0; w < sizeof pair_widths / sizeof *pair_widths; w++)
        pair_check(&p, pair_targets[t], pair_widths[w], PLAN_EXCHANGE_AUTO, what);
  }
}

/* Tiles in two loops, regions, on hosts. */
static void random_regions(bool permutation, uint64_t seed) {
  printf("seed %llu\n", (unsigned long long)seed);
  pair_stream = true;
  for (int round = 0; round < 6; round++) {
    pair p = {.shape = {0}};
    int bits0 = 6 + (int)(test_random(&seed) % 3), bits1 = 6 + (int)(test_random(&seed) % 3);
    char what[64];
    snprintf(what, sizeof what, "region, round %d", round);
    p.shape[0] = (int64_t)1 << bits0;
    p.shape[1] = (int64_t)1 << bits1;
    for (int t = 0; t < 2; t++)
      test_random_storage(&seed, bits0, bits1, permutation, &p.storage[t]);
    for (size_t t = PAIR_FIRST_HOST; t < sizeof pair_targets / sizeof *pair_targets; t++)
      for (size_t w = 0; w < sizeof pair_widths / sizeof *pair_widths; w++)
        pair_check(&p, pair_targets[t], pair_widths[w], PLAN_EXCHANGE_AUTO, what);
  }
  pair_stream = false;
}

Test(plan, random_regions) {
  random_regions(true, test_seed_of_run());
  random_regions(false, test_seed_of_run());
}
Test(plan, random_permutations) { random_pairs(true, test_seed_of_run()); }

Test(plan, random_matrices) { random_pairs(false, test_seed_of_run()); }

/* Run-time strides: one class for every pitch. */
Test(plan, runtime_strides) {
  pair p = {.shape = {40, 72}, .strides = {{96, 1}, {1, 64}}};
  for (int t = 0; t < 2; t++) cr_assert_eq(llrt_storage_strided(2, NULL, &p.storage[t]), LLRT_OK);
  for (size_t t = 0; t < sizeof pair_targets / sizeof *pair_targets; t++)
    for (size_t w = 0; w < sizeof pair_widths / sizeof *pair_widths; w++)
      pair_check(&p, pair_targets[t], pair_widths[w], PLAN_EXCHANGE_AUTO, "run-time strides");
}

Test(plan, magic_division) {
  static const int64_t numbers[] = {
      1, 2, 3, 5, 7, 64, 641, 1000003, (1ll << 31) - 1, 1ll << 40, (1ll << 62) - 1};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    uint64_t m, shift;
    plan_magic(numbers[i], &m, &shift);
    for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++) {
      for (int64_t k = -2; k <= 2; k++) {
        int64_t n = numbers[j] / 2 * 3 + k;
        if (n < 0) continue;
        uint64_t high = (uint64_t)((unsigned __int128)(2 * (uint64_t)n) * m >> 64);
        cr_assert_eq((int64_t)(high >> shift), n / numbers[i]);
      }
    }
  }
}

/* More than 2^32 elements apart: addresses in a sparse mapping of which a few pages are touched. */
Test(plan, strides_beyond_32_bits) {
  static plan made;
  pair p = {.shape = {3, 160}, .strides = {{(1ll << 32) + 64, 1}, {1, 1ll << 25}}};
  for (size_t t = 0; t < sizeof pair_targets / sizeof *pair_targets; t++) {
    plan_target target;
    op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
    llrt_storage_binding binding[2];
    for (int i = 0; i < 2; i++) {
      cr_assert_eq(llrt_storage_strided(2, NULL, &p.storage[i]), LLRT_OK);
      cr_assert_eq(llrt_storage_bind(&p.storage[i], 2, p.shape, p.strides[i], &binding[i]),
                   LLRT_OK);
      desc.tensors[i] = (llrt_tensor){.dtype = LLRT_B16, .rank = 2, .storage = &p.storage[i]};
      memcpy(desc.tensors[i].shape, p.shape, sizeof p.shape);
      memcpy(desc.tensors[i].strides, p.strides[i], sizeof p.strides[i]);
      void *memory = mmap(NULL, (size_t)binding[i].span * 2, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      cr_assert_neq(memory, MAP_FAILED);
      desc.tensors[i].data = memory;
    }
    uint16_t *from = desc.tensors[0].data, *to = desc.tensors[1].data;
    for (int64_t i = 0; i < 3; i++)
      for (int64_t j = 0; j < 160; j++)
        from[i * p.strides[0][0] + j] = (uint16_t)(1000 * i + j + 1);
    cr_assert_eq(described_promise(&desc), LLRT_OK);
    cr_assert_eq(plan_target_find(pair_targets[t], &target), LLRT_OK);
    cr_assert_eq(plan_make(&desc, &target, NULL, &made), LLRT_OK);
    for (int v = 0; v < made.n_variants; v++) {
      cr_assert_eq(plan_interpret(&made.variant[v], desc.tensors, binding, 2), LLRT_OK, "%s",
                   llrt_last_error());
      for (int64_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < 160; j++) {
          cr_assert_eq(to[i + j * p.strides[1][1]], 1000 * i + j + 1);
          to[i + j * p.strides[1][1]] = 0;
        }
    }
    for (int i = 0; i < 2; i++) munmap(desc.tensors[i].data, (size_t)binding[i].span * 2);
  }
}
