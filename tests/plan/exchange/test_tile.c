/* Conversions between two given layouts there and back: executed by the interpreter, value after
 * value, with every exchange that can be had, on every target. */
#include "jit/probe/plan_tile.h"

#include "base/bits.h"
#include "jit/plan/cost/cycles.h"
#include "jit/plan/facts/access.h"
#include "tests/plan/random_layout.h"
#include "tests/plan/tile_pairs.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char *const targets[] = {"sm_80",     "sm_90a",    "gfx90a",    "gfx942",
                                      "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"};

static plan_kernel kernel;

/* Whether there is a plan: forced shuffles and full threads may be UNSUPPORTED, nothing else. */
static bool check(const llrt_layout *a, const llrt_layout *b, int bits, const char *target_name,
                  plan_exchange exchange, const char *what) {
  plan_target target;
  plan_options options = {.exchange = exchange};
  plan_tile tile = {.a = a, .b = b, .element_bits = bits, .turns = 2};
  cr_assert_eq(plan_target_find(target_name, &target), LLRT_OK);
  llrt_status status = plan_tile_make(&tile, &target, &options, &kernel);
  if (status == LLRT_UNSUPPORTED) return false;
  cr_assert_eq(status, LLRT_OK, "%s: %s", what, llrt_last_error());
  tile_execute(&kernel, what);
  return true;
}

Test(tile, pairs_on_every_target) {
  int ran = 0, shuffled = 0;
  for (int i = 0; i < tile_pair_count(); i++) {
    llrt_layout a, b;
    const char *name = tile_pair_make(i, &a, &b);
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
      for (int bits = 8; bits <= 64; bits *= 2) {
        for (int exchange = 0; exchange <= PLAN_EXCHANGE_MATRIX; exchange++) {
          char what[200];
          snprintf(what, sizeof what, "%s, %d bits, %s, exchange %d", name, bits, targets[t],
                   exchange);
          bool made = check(&a, &b, bits, targets[t], (plan_exchange)exchange, what);
          ran += made;
          shuffled += made && exchange == PLAN_EXCHANGE_SHUFFLE;
        }
      }
    }
  }
  printf("%d plans ran, %d by shuffles\n", ran, shuffled);
  cr_assert_gt(ran, 700);
  cr_assert_gt(shuffled, 150);
}

static void random_pairs(bool permutation, uint64_t seed) {
  for (int round = 0; round < 60; round++) {
    int registers = (int)(test_random(&seed) % 5), lanes = 5, warps = (int)(test_random(&seed) % 3);
    llrt_layout pair[2];
    for (int s = 0; s < 2; s++)
      tile_random_layout(&seed, registers, lanes, warps, s == 1 && round % 3 == 2, permutation,
                         &pair[s]);
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
      for (int exchange = 0; exchange <= PLAN_EXCHANGE_MATRIX; exchange++) {
        char what[100];
        int bits = 8 << test_random(&seed) % 4;
        snprintf(what, sizeof what, "round %d, %d bits, %s, exchange %d", round, bits, targets[t],
                 exchange);
        check(&pair[0], &pair[1], bits, targets[t], (plan_exchange)exchange, what);
      }
    }
  }
}

Test(tile, random_permutations) { random_pairs(true, 41); }

Test(tile, random_matrices) { random_pairs(false, 42); }

/* Lanes with copies on either side or both, with every exchange. */
Test(tile, random_copies) {
  uint64_t seed = 43;
  for (int round = 0; round < 80; round++) {
    int registers = (int)(test_random(&seed) % 4), warps = (int)(test_random(&seed) % 3);
    llrt_layout pair[2];
    for (int s = 0; s < 2; s++)
      tile_random_copies(&seed, registers, 5, warps, (int)(test_random(&seed) % 3), &pair[s]);
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
      int exchange = (int)(test_random(&seed) % (PLAN_EXCHANGE_MATRIX + 1)), bits = 8 << round % 4;
      char what[100];
      snprintf(what, sizeof what, "round %d, %d bits, %s, exchange %d", round, bits, targets[t],
               exchange);
      check(&pair[0], &pair[1], bits, targets[t], (plan_exchange)exchange, what);
    }
  }
}

/* Elements that move between blocks: clusters on sm_90a, larger blocks elsewhere. */
Test(tile, blocks_that_move) {
  for (int i = 0; i < tile_block_pair_count(); i++) {
    llrt_layout a, b;
    bool local;
    const char *name = tile_block_pair_make(i, &a, &b, &local);
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
      for (int bits = 8; bits <= 64; bits *= 2) {
        char what[100];
        snprintf(what, sizeof what, "%s, %d bits, %s", name, bits, targets[t]);
        if (!check(&a, &b, bits, targets[t], PLAN_EXCHANGE_AUTO, what)) {
          /* 16 bytes a SIMD register: 1024 elements are more than it has registers for. */
          cr_expect(bits == 64 && kernel.target.vector_bytes == 16, "%s: %s", what,
                    llrt_last_error());
          continue;
        }
        bool cluster = strcmp(targets[t], "sm_90a") == 0 && !local;
        cr_expect_eq(kernel.cluster_bits > 0, cluster, "%s", what);
        cr_expect_eq(kernel.launch.cluster > 0, cluster, "%s", what);
      }
    }
  }
}

/* Casts that lose nothing there and back; the widened elements' values are the narrow one's, so
 * both ways are seen. */
Test(tile, casts) {
  static const plan_tile_cast casts[] = {
      {LLRT_I8, LLRT_F16}, {LLRT_I8, LLRT_I32}, {LLRT_I16, LLRT_F32}, {LLRT_U8, LLRT_F16}};
  int ran = 0;
  for (int i = 0; i < tile_pair_count(); i++) {
    llrt_layout a, b;
    const char *name = tile_pair_make(i, &a, &b);
    const plan_tile_cast *cast = &casts[i % 4];
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
      plan_target target;
      plan_tile tile = {
          .a = &a, .b = &b, .element_bits = llrt_dtype_bits(cast->from), .turns = 2, .cast = cast};
      char what[200];
      snprintf(what, sizeof what, "%s, %s, %s to %s", name, targets[t], llrt_dtype_name(cast->from),
               llrt_dtype_name(cast->to));
      cr_assert_eq(plan_target_find(targets[t], &target), LLRT_OK);
      llrt_status status = plan_tile_make(&tile, &target, NULL, &kernel);
      if (status == LLRT_UNSUPPORTED) continue;
      cr_assert_eq(status, LLRT_OK, "%s: %s", what, llrt_last_error());
      tile_execute(&kernel, what);
      ran++;
    }
  }
  cr_expect_gt(ran, 120, "%d ran", ran);
}

Test(tile, casts_that_are_refused) {
  llrt_layout a, b;
  plan_target target;
  const plan_tile_cast wrong = {LLRT_F16, LLRT_F32}, packed = {LLRT_F32, LLRT_E2M1},
                       none = {LLRT_U32, LLRT_I64};
  tile_pair_make(1, &a, &b);
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  plan_tile tile = {.a = &a, .b = &b, .element_bits = 32, .turns = 1, .cast = &wrong};
  cr_expect_eq(plan_tile_make(&tile, &target, NULL, &kernel), LLRT_INVALID_ARGUMENT);
  tile.cast = &packed;
  cr_expect_eq(plan_tile_make(&tile, &target, NULL, &kernel), LLRT_INVALID_ARGUMENT);
  tile.cast = &none;
  cr_expect_eq(plan_tile_make(&tile, &target, NULL, &kernel), LLRT_UNSUPPORTED, "%s",
               llrt_last_error());
}

Test(tile, random_blocks) {
  uint64_t seed = 49;
  int clusters = 0;
  for (int round = 0; round < 60; round++) {
    int registers = 2 + (int)(test_random(&seed) % 3), warps = (int)(test_random(&seed) % 3);
    int n = 1 + (int)(test_random(&seed) % 3);
    llrt_layout pair[2];
    for (int s = 0; s < 2; s++)
      tile_random_blocks(&seed, registers, 5, warps, n, round % 3 != 2, &pair[s]);
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
      char what[100];
      int bits = 8 << test_random(&seed) % 4;
      snprintf(what, sizeof what, "round %d, %d bits, %s", round, bits, targets[t]);
      bool made = check(&pair[0], &pair[1], bits, targets[t], PLAN_EXCHANGE_AUTO, what);
      clusters += made && kernel.cluster_bits > 0;
    }
  }
  cr_assert_gt(clusters, 50, "%d kernels of clusters", clusters);
}

/* What a block has of its own it reads from its own memory: copies in blocks that were there
 * before. */
Test(tile, copies_in_blocks_are_read_at_home) {
  llrt_layout a, b;
  plan_target target;
  tile_parse_blocks("X[[1],[2],[256]], lane: [[4],[8],[16],[32],[64]], warp: [[128]], block: [[0]]",
                    &a);
  tile_parse_blocks("X[[1],[2]], lane: [[128],[8],[16],[32],[64]], warp: [[4]], block: [[256]]",
                    &b);
  plan_tile tile = {.a = &a, .b = &b, .element_bits = 32, .turns = 1};
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(plan_tile_make(&tile, &target, NULL, &kernel), LLRT_OK, "%s", llrt_last_error());
  int local = 0, far = 0;
  for (int i = 0; i < kernel.n_steps; i++) {
    const plan_step *step = &kernel.step[i];
    if (step->kind != PLAN_SHARED_LOAD) continue;
    bool own = plan_is_local(&kernel, step->buffer, &kernel.value[step->out]);
    local += own;
    far += !own;
  }
  cr_expect_eq(local, 1);
  cr_expect_eq(far, 1);
  tile_execute(&kernel, "copies in blocks");
}

/* Lanes that hold copies share the stores: as many wavefronts as the tile has bytes for, there and
 * back. */
Test(tile, copies_are_stored_once) {
  llrt_layout rows, slice;
  plan_target target;
  int64_t shape[] = {128, 128};
  for (int bits = 8; bits <= 32; bits *= 2) {
    char text[120];
    snprintf(text, sizeof text,
             "blocked(size_per_thread=[1,%d], threads_per_warp=[%d,%d], "
             "warps_per_cta=[8,1], order=[1,0])",
             128 / bits, 32 / bits, bits);
    cr_assert_eq(llrt_layout_parse(text, 2, shape, &rows), LLRT_OK, "%s", llrt_last_error());
    cr_assert_eq(
        llrt_layout_parse("slice(dim=2, parent=blocked(size_per_thread=[1,4,1], "
                          "threads_per_warp=[2,4,4], warps_per_cta=[8,1,1], order=[2,1,0]))",
                          2, shape, &slice),
        LLRT_OK, "%s", llrt_last_error());
    plan_tile tile = {.a = &rows, .b = &slice, .element_bits = bits, .turns = 1};
    plan_options options = {.exchange = PLAN_EXCHANGE_SHARED};
    cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
    cr_assert_eq(plan_tile_make(&tile, &target, &options, &kernel), LLRT_OK, "%s",
                 llrt_last_error());
    cr_expect_eq(kernel.cost.shared_store_wavefronts, 2 * kernel.cost.min_wavefronts, "%d bits",
                 bits);
    /* Every register of a slice takes a wavefront of its warp. */
    cr_expect_eq(kernel.cost.shared_load_wavefronts, 5 * kernel.cost.min_wavefronts, "%d bits",
                 bits);
  }
}

/* Copies that only one side has end by selects and begin by shuffles: no shared memory. */
Test(tile, copies_end_and_begin_in_the_warp) {
  llrt_layout copies, none;
  plan_target target;
  int64_t shape[] = {512};
  cr_assert_eq(
      llrt_layout_parse("{register: [[1],[2],[4],[8],[16]], lane: [[0],[32],[64],[0],[128]], "
                        "warp: [[256]]} -> [dim0:512]",
                        1, shape, &copies),
      LLRT_OK);
  cr_assert_eq(llrt_layout_parse("{register: [[1],[2],[4]], lane: [[8],[32],[64],[16],[128]], "
                                 "warp: [[256]]} -> [dim0:512]",
                                 1, shape, &none),
               LLRT_OK);
  plan_tile tile = {.a = &copies, .b = &none, .element_bits = 32, .turns = 1};
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(plan_tile_make(&tile, &target, NULL, &kernel), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(kernel.cost.shared_accesses, 0);
  cr_expect_eq(kernel.cost.shuffles, 8 + 16, "%d shuffles", kernel.cost.shuffles);
  cr_expect_eq(kernel.cost.selects, 16 + 8 + 16 + 32, "%d selects", kernel.cost.selects);
  tile_execute(&kernel, "copies that end and begin");
}

/* Clocks of a pair by name, planned freely or through shared memory alone. */
static double clocks_of(const char *name, int bits, plan_exchange exchange) {
  llrt_layout a, b;
  plan_target target;
  plan_cycles cycles;
  plan_options options = {.exchange = exchange};
  int i = 0;
  while (strcmp(tile_pair_make(i, &a, &b), name) != 0) i++;
  plan_tile tile = {.a = &a, .b = &b, .element_bits = bits, .turns = 1};
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(plan_tile_make(&tile, &target, &options, &kernel), LLRT_OK, "%s", llrt_last_error());
  plan_cycles_of(&target, &kernel.cost, 1 << kernel.warp_bits, &cycles);
  return cycles.total;
}

/* One swap of a register with a lane bit, two and three are clearly cheaper by shuffles. Of three
 * selects for two words one is beside the others on NVIDIA. */
Test(tile, swaps_are_shuffled) {
  static const struct {
    const char *pair;
    double gain;
  } swaps[] = {{"one swap", 3.5}, {"two swaps", 1.8}, {"three swaps", 1.2}};
  for (int i = 0; i < 3; i++) {
    for (int bits = 8; bits <= 32; bits *= 2) {
      double shared = clocks_of(swaps[i].pair, bits, PLAN_EXCHANGE_SHARED);
      double chosen = clocks_of(swaps[i].pair, bits, PLAN_EXCHANGE_AUTO);
      int words = 1 << (7 - (5 - bits_log2(bits)));
      cr_expect_eq(kernel.cost.shared_accesses, 0, "%s, %d bits", swaps[i].pair, bits);
      cr_expect_eq(kernel.cost.shuffles, (i + 1) * words, "%s, %d bits: %d shuffles", swaps[i].pair,
                   bits, kernel.cost.shuffles);
      cr_expect_eq(kernel.cost.selects, 3 * kernel.cost.shuffles, "%s, %d bits", swaps[i].pair,
                   bits);
      cr_expect_eq(kernel.cost.multiplied_selects, kernel.cost.shuffles, "%s, %d bits",
                   swaps[i].pair, bits);
      cr_expect_geq(shared / chosen, swaps[i].gain, "%s, %d bits: %g clocks, shared %g",
                    swaps[i].pair, bits, chosen, shared);
    }
  }
}

/* ---- the model beside what an H200 measured (docs/history/exchange-inside-a-block.md) ----
 */

/* A layout of 128 x 128 elements for 4 warps, as llrt-bench tile has it. */
static void bench_layout(const char *name, int bits, llrt_layout *layout) {
  int vector = 128 / bits, across = 128 / vector, down = 32 / across;
  char text[200];
  if (strcmp(name, "rows") == 0)
    snprintf(text, sizeof text,
             "blocked(size_per_thread=[1,%d], threads_per_warp=[%d,%d], "
             "warps_per_cta=[4,1], order=[1,0])",
             vector, down, across);
  else if (strcmp(name, "columns") == 0)
    snprintf(text, sizeof text,
             "blocked(size_per_thread=[%d,1], threads_per_warp=[%d,%d], "
             "warps_per_cta=[1,4], order=[0,1])",
             vector, across, down);
  else
    snprintf(text, sizeof text, "%s",
             strcmp(name, "mma v2") == 0
                 ? "nvmma(version=[2,0], warps_per_cta=[2,2], instr_shape=[16,8])"
                 : "nvmma(version=[3,0], warps_per_cta=[4,1], instr_shape=[16,64,16])");
  cr_assert_eq(llrt_layout_parse(text, 2, (int64_t[]){128, 128}, layout), LLRT_OK, "%s",
               llrt_last_error());
}

static void plan_bench(const char *a, const char *b, int bits, plan_exchange exchange,
                       plan_cycles *cycles) {
  llrt_layout pair[2];
  plan_target target;
  plan_options options = {.exchange = exchange};
  bench_layout(a, bits, &pair[0]);
  bench_layout(b, bits, &pair[1]);
  plan_tile tile = {.a = &pair[0], .b = &pair[1], .element_bits = bits, .turns = 1};
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(plan_tile_make(&tile, &target, &options, &kernel), LLRT_OK, "%s", llrt_last_error());
  plan_cycles_of(&target, &kernel.cost, 4, cycles);
}

/* Clocks of a block: 528 blocks on 132 multiprocessors at 1980 MHz. 8-bit rows to columns, which
 * shuffle before they store, take an eighth more than pipes side by side explain; they are left
 * out. */
Test(tile, model_predicts_what_was_measured) {
  static const struct {
    const char *a, *b;
    double us[3]; /* 32, 16, 8 bits */
  } measured[] = {{"rows", "mma v2", {4.247, 2.163, 1.103}},
                  {"columns", "mma v2", {4.279, 2.125, 1.112}},
                  {"rows", "mma v3", {4.225, 2.150, 1.098}},
                  {"rows", "columns", {4.23, 2.223, 0}}};
  for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
    for (int w = 0; w < 3; w++) {
      plan_cycles cycles;
      double clocks = measured[i].us[w] * 1980 / 4;
      if (clocks == 0) continue;
      plan_bench(measured[i].a, measured[i].b, 32 >> w, PLAN_EXCHANGE_AUTO, &cycles);
      cr_expect(cycles.total > 0.93 * clocks && cycles.total < 1.07 * clocks,
                "%s - %s, %d bits: %g clocks, measured %g", measured[i].a, measured[i].b, 32 >> w,
                cycles.total, clocks);
    }
  }
}

/* Rows of 32-bit elements to columns: 4-byte accesses take as many wavefronts as matrices, but four
 * times the instructions, each with its address; matrices were measured at 4.23 us and those
 * at 5.04. */
Test(tile, model_counts_addresses) {
  plan_cycles chosen, plain;
  plan_bench("rows", "columns", 32, PLAN_EXCHANGE_SHARED, &plain);
  int wavefronts = kernel.cost.shared_store_wavefronts + kernel.cost.shared_load_wavefronts;
  plan_bench("rows", "columns", 32, PLAN_EXCHANGE_AUTO, &chosen);
  int matrices = 0;
  for (int i = 0; i < kernel.n_steps; i++) matrices += kernel.step[i].matrix != PLAN_MATRIX_NONE;
  cr_expect_eq(kernel.cost.shared_store_wavefronts + kernel.cost.shared_load_wavefronts,
               wavefronts);
  cr_expect_gt(matrices, 0);
  cr_expect_lt(chosen.total, plain.total);
}

/* A vector of the word and one of the lanes: a shuffle for two words, which a permute packs, and a
 * permute for each result; of four pairs one goes whole. There and back, and twice as cheap as what
 * does not tear words. */
Test(tile, words_swap_with_lanes) {
  for (int bits = 8; bits <= 16; bits *= 2) {
    int words = 1 << (7 - (5 - bits_log2(bits)));
    clocks_of("one swap of a low bit", bits, PLAN_EXCHANGE_AUTO);
    cr_expect_eq(kernel.cost.shared_accesses, 0, "%d bits", bits);
    cr_expect_eq(kernel.cost.shuffles, words * 5 / 4, "%d bits: %d shuffles", bits,
                 kernel.cost.shuffles);
    cr_expect_eq(kernel.cost.permutes, words * 11 / 4, "%d bits: %d permutes", bits,
                 kernel.cost.permutes);
    cr_expect_eq(kernel.cost.selects, 0, "%d bits: %d selects", bits, kernel.cost.selects);
    tile_execute(&kernel, "a swap of a low bit");
  }
}

/* A tile larger than shared memory goes through it in parts. */
Test(tile, repetitions) {
  llrt_layout a, b;
  plan_target target;
  int64_t shape[] = {128, 128};
  cr_assert_eq(llrt_layout_parse(TILE_ROWS_4, 2, shape, &a), LLRT_OK);
  cr_assert_eq(llrt_layout_parse(TILE_COLUMNS_4, 2, shape, &b), LLRT_OK);
  plan_tile tile = {.a = &a, .b = &b, .element_bits = 32, .turns = 1};
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(plan_tile_make(&tile, &target, NULL, &kernel), LLRT_OK, "%s", llrt_last_error());
  cr_assert_leq(kernel.launch.shared_bytes, target.facts.shared_bytes);
  cr_assert_eq(kernel.cost.shared_store_wavefronts, 2 * kernel.cost.min_wavefronts);
  cr_assert_eq(kernel.cost.shared_load_wavefronts, 2 * kernel.cost.min_wavefronts);
  tile_execute(&kernel, "128 x 128 x 32 bits");
}

Test(tile, what_is_refused) {
  llrt_layout a, b, other;
  plan_target target;
  int64_t shape[] = {8, 8};
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(llrt_layout_parse("{lane: [[0,1],[0,2],[0,4],[1,0],[2,0]], block: [[4,0]]} -> "
                                 "[dim0:8, dim1:8]",
                                 2, shape, &a),
               LLRT_OK);
  cr_assert_eq(llrt_layout_parse("{lane: [[0,1],[0,2],[0,4],[1,0],[4,0]], block: [[2,0]]} -> "
                                 "[dim0:8, dim1:8]",
                                 2, shape, &b),
               LLRT_OK);
  cr_assert_eq(llrt_layout_parse("{lane: [[0,1],[0,2],[0,4],[1,0],[2,0]]} -> [dim0:4, dim1:8]", 2,
                                 (int64_t[]){4, 8}, &other),
               LLRT_OK);
  plan_tile tile = {.a = &a, .b = &a, .element_bits = 16, .turns = 1};
  cr_assert_eq(plan_tile_make(&tile, &target, NULL, &kernel), LLRT_OK, "%s", llrt_last_error());
  tile_execute(&kernel, "a block dim that stays");
  tile.b = &b;
  cr_assert_eq(plan_tile_make(&tile, &target, NULL, &kernel), LLRT_OK, "%s", llrt_last_error());
  tile_execute(&kernel, "a block dim that moves");
  tile.b = &other;
  cr_assert_eq(plan_tile_make(&tile, &target, NULL, &kernel), LLRT_INVALID_ARGUMENT);
  tile = (plan_tile){.a = &a, .b = &a, .element_bits = 12, .turns = 1};
  cr_assert_eq(plan_tile_make(&tile, &target, NULL, &kernel), LLRT_INVALID_ARGUMENT);
}
