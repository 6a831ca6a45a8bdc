/* Conversions between two given layouts there and back, compiled and run: on the host and on the
 * emulated devices; the PTX emulator must count the shuffles and shared wavefronts that were
 * predicted. */
#include "jit/probe/tile_op.h"

#include "tests/emulated_counts.h"
#include "tests/plan/flat_run.h"
#include "tests/plan/random_layout.h"
#include "tests/open_device.h"
#include "tests/plan/tile_pairs.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { TILES = 2, MAX_BYTES = TILES << 18 };

static unsigned char source[MAX_BYTES], result[MAX_BYTES];

static void run(const opened_device *with, const llrt_op *op, const plan_kernel *kernel,
                const char *what) {
  int64_t elements = (int64_t)TILES << kernel->digit[0].bits;
  size_t bytes = (size_t)(elements * kernel->tensor_bits[0] / 8);
  llrt_dtype dtype = flat_opaque(kernel->tensor_bits[0]);
  const flat_array arrays[] = {{dtype, source}, {dtype, result}};
  cr_assert_leq(bytes, MAX_BYTES);
  for (size_t i = 0; i < bytes; i++) source[i] = (unsigned char)(i * 0x9e3779b97f4a7c15 >> 56);
  flat_run(with->device, op, arrays, 2, elements, what);
  cr_assert_eq(memcmp(source, result, bytes), 0, "%s: wrong", what);
}

static plan_kernel kernel;

/* ---- what the emulator counted ---- */

static emulated_counts counts;

static void expect_counted(const char *name, long predicted, const char *what) {
  long counted = emulated_count(&counts, name);
  cr_expect_eq(counted, predicted, "%s: %s: predicted %ld, counted %ld", what, name, predicted,
               counted);
}

static void compare_counts(const plan_tile *tile, const char *what) {
  long times = (long)(TILES * tile->turns) << kernel.space.in[1].bits;
  expect_counted("shared_store_wavefronts", times * kernel.cost.shared_store_wavefronts, what);
  expect_counted("shared_load_wavefronts", times * kernel.cost.shared_load_wavefronts, what);
  expect_counted("shuffles", times * (kernel.cost.shuffles << kernel.warp_bits), what);
}

static bool check(const opened_device *with, const plan_tile *tile, plan_exchange exchange,
                  const char *what) {
  plan_options options = {.exchange = exchange};
  llrt_op *op;
  llrt_status status = llrt_tile_op_make(with->device, tile, &options, &kernel, &op);
  if (status == LLRT_UNSUPPORTED) return false;
  cr_assert_eq(status, LLRT_OK, "%s: %s", what, llrt_last_error());
  run(with, op, &kernel, what);
  if (kernel.target.isa == PLAN_ISA_NVPTX) compare_counts(tile, what);
  llrt_op_destroy(&op);
  return true;
}

/* Opens a device that leaves what it counts. */
static opened_device open_counting(const char *device) {
  emulated_counts_begin(&counts);
  return open_device(device);
}

/* Every pair; of the widths one each, another for every exchange, so that all combinations of width
 * and exchange occur over the pairs. */
static void check_pairs(const char *device, int least) {
  opened_device with = open_counting(device);
  int ran = 0;
  for (int i = 0; i < tile_pair_count(); i++) {
    llrt_layout a, b;
    const char *name = tile_pair_make(i, &a, &b);
    /* The host's code is an instruction for every few lanes of a tile: small tiles say as much. */
    if (is_host(device) && (llrt_layout_out_bits(&a) > 9 || host_leaves_out(device, i))) continue;
    for (int exchange = 0; exchange <= PLAN_EXCHANGE_MATRIX; exchange++) {
      int bits = 8 << (i + exchange) % 4;
      plan_tile tile = {.a = &a, .b = &b, .element_bits = bits, .turns = 3};
      char what[200];
      snprintf(what, sizeof what, "%s: %s, %d bits, exchange %d", device, name, bits, exchange);
      ran += check(&with, &tile, (plan_exchange)exchange, what);
    }
  }
  close_device(&with);
  emulated_counts_end(&counts);
  cr_assert_geq(ran, least, "only %d kernels ran on %s", ran, device);
}

static void check_host(const char *device) {
  check_pairs(device, strcmp(device, "host") == 0 ? 12 : 1);
}

Test(tile_kernels, host) { on_host_levels(check_host); }
Test(tile_kernels, sm_80) { check_pairs("cuda-emu:sm_80", 45); }
Test(tile_kernels, sm_90a) { check_pairs("cuda-emu:sm_90a", 45); }
Test(tile_kernels, gfx90a) { check_pairs("hip-emu:gfx90a", 50); }
Test(tile_kernels, gfx942) { check_pairs("hip-emu:gfx942", 50); }

/* Elements that become wider ones and back. */
static void check_casts(const char *device) {
  static const plan_tile_cast casts[] = {
      {LLRT_I8, LLRT_F16}, {LLRT_I8, LLRT_F32}, {LLRT_I16, LLRT_F32}};
  opened_device with = open_counting(device);
  for (int i = 0; i < tile_pair_count(); i += 3) {
    llrt_layout a, b;
    char what[200];
    const char *name = tile_pair_make(i, &a, &b);
    const plan_tile_cast *cast = &casts[i / 3 % 3];
    if (llrt_layout_out_bits(&a) > 12) continue;
    plan_tile tile = {
        .a = &a, .b = &b, .element_bits = llrt_dtype_bits(cast->from), .turns = 2, .cast = cast};
    snprintf(what, sizeof what, "%s: %s, %s to %s", device, name, llrt_dtype_name(cast->from),
             llrt_dtype_name(cast->to));
    check(&with, &tile, PLAN_EXCHANGE_AUTO, what);
  }
  close_device(&with);
  emulated_counts_end(&counts);
}

Test(tile_kernels, casts_sm_90a) { check_casts("cuda-emu:sm_90a"); }
Test(tile_kernels, casts_gfx90a) { check_casts("hip-emu:gfx90a"); }

/* Matrix instructions on random layouts that they divide: right, and as many wavefronts as
 * predicted. */
static void check_random_matrices(const char *device, uint64_t seed, int least) {
  opened_device with = open_counting(device);
  int ran = 0;
  for (int round = 0; round < 60; round++) {
    int registers = 2 + (int)(test_random(&seed) % 4), warps = (int)(test_random(&seed) % 3);
    llrt_layout pair[2];
    char what[100];
    for (int s = 0; s < 2; s++)
      tile_random_layout(&seed, registers, 5, warps, false, true, &pair[s]);
    plan_tile tile = {.a = &pair[0], .b = &pair[1], .element_bits = 8 << round % 3, .turns = 2};
    snprintf(what, sizeof what, "%s: round %d, %d bits", device, round, tile.element_bits);
    ran += check(&with, &tile, PLAN_EXCHANGE_MATRIX, what);
  }
  close_device(&with);
  emulated_counts_end(&counts);
  cr_assert_geq(ran, least, "only %d kernels ran on %s", ran, device);
}

/* Elements that move between blocks, of every width. */
static void check_blocks(const char *device) {
  opened_device with = open_counting(device);
  for (int i = 0; i < tile_block_pair_count(); i++) {
    llrt_layout a, b;
    bool local;
    const char *name = tile_block_pair_make(i, &a, &b, &local);
    for (int bits = 8; bits <= 64; bits *= 2) {
      plan_tile tile = {.a = &a, .b = &b, .element_bits = bits, .turns = 3};
      char what[200];
      snprintf(what, sizeof what, "%s: %s, %d bits", device, name, bits);
      cr_expect(check(&with, &tile, PLAN_EXCHANGE_AUTO, what), "%s: %s", what, llrt_last_error());
    }
  }
  close_device(&with);
  emulated_counts_end(&counts);
}

Test(tile_kernels, random_blocks) {
  opened_device with = open_counting("cuda-emu:sm_90a");
  uint64_t seed = 50;
  int ran = 0;
  for (int round = 0; round < 40; round++) {
    int registers = 2 + (int)(test_random(&seed) % 3), warps = (int)(test_random(&seed) % 3);
    int n = 1 + (int)(test_random(&seed) % 3);
    llrt_layout pair[2];
    char what[100];
    for (int s = 0; s < 2; s++)
      tile_random_blocks(&seed, registers, 5, warps, n, round % 3 != 2, &pair[s]);
    plan_tile tile = {.a = &pair[0], .b = &pair[1], .element_bits = 8 << round % 4, .turns = 2};
    snprintf(what, sizeof what, "round %d, %d bits, %d blocks", round, tile.element_bits, 1 << n);
    ran += check(&with, &tile, PLAN_EXCHANGE_AUTO, what);
  }
  close_device(&with);
  emulated_counts_end(&counts);
  cr_assert_geq(ran, 35, "only %d kernels ran", ran);
}

Test(tile_kernels, blocks_sm_80) { check_blocks("cuda-emu:sm_80"); }
Test(tile_kernels, blocks_sm_90a) { check_blocks("cuda-emu:sm_90a"); }
Test(tile_kernels, blocks_gfx942) { check_blocks("hip-emu:gfx942"); }

/* One or two vectors of the word change places with lanes; with one word there is none to share a
 * shuffle, of four pairs one goes whole. */
static void check_word_swaps(const char *device, int lanes) {
  static const int swapped[][2] = {{0, 0}, {1, 2}, {0, 3}}, words[] = {0, 2, 3}; /* log2 */
  static const int permutes[] = {2, 12, 22}, shuffles[] = {2, 4, 10}; /* there and back */
  opened_device with = open_counting(device);
  for (int i = 0; i < 3 * 3 * 2; i++) {
    int bits = 8 << i % 2, word = 2 - i % 2, n = i / 2 % 3, registers = word + words[n],
        way = i / 6;
    llrt_layout pair[2];
    char what[100];
    if (swapped[way][0] >= word) continue;
    for (int s = 0; s < 2; s++) {
      pair[s] = llrt_layout_empty();
      llrt_layout_add_out(&pair[s], "dim0", registers + lanes);
      llrt_layout_add_in(&pair[s], "register", registers);
      llrt_layout_add_in(&pair[s], "lane", lanes);
      for (int j = 0; j < registers + lanes; j++) pair[s].column[j] = 1ull << j;
    }
    pair[1].column[swapped[way][0]] = 1ull << (registers + swapped[way][1]);
    pair[1].column[registers + swapped[way][1]] = 1ull << swapped[way][0];
    plan_tile tile = {.a = &pair[0], .b = &pair[1], .element_bits = bits, .turns = 1};
    snprintf(what, sizeof what, "%s: %d bits, 2^%d registers, position %d", device, bits, registers,
             swapped[way][0]);
    cr_expect(check(&with, &tile, PLAN_EXCHANGE_SHUFFLE, what), "%s", what);
    cr_expect_eq(kernel.cost.selects, 0, "%s: %d selects", what, kernel.cost.selects);
    cr_expect_eq(kernel.cost.permutes, permutes[n], "%s: %d permutes", what, kernel.cost.permutes);
    cr_expect_eq(kernel.cost.shuffles, shuffles[n], "%s: %d shuffles", what, kernel.cost.shuffles);
  }
  close_device(&with);
  emulated_counts_end(&counts);
}

Test(tile_kernels, word_swaps_sm_80) { check_word_swaps("cuda-emu:sm_80", 5); }
Test(tile_kernels, word_swaps_gfx942) { check_word_swaps("hip-emu:gfx942", 6); }

/* Lanes with copies on either side or both: right, and as many wavefronts and shuffles as
 * predicted. */
static void check_random_copies(const char *device, int lanes, uint64_t seed, int least) {
  opened_device with = open_counting(device);
  int ran = 0;
  for (int round = 0; round < 40; round++) {
    int registers = (int)(test_random(&seed) % 4), warps = (int)(test_random(&seed) % 3);
    llrt_layout pair[2];
    char what[100];
    for (int s = 0; s < 2; s++)
      tile_random_copies(&seed, registers, lanes, warps, (int)(test_random(&seed) % 3), &pair[s]);
    plan_tile tile = {.a = &pair[0], .b = &pair[1], .element_bits = 8 << round % 4, .turns = 2};
    int exchange = round / 4 % (PLAN_EXCHANGE_MATRIX + 1);
    snprintf(what, sizeof what, "%s: round %d, %d bits, exchange %d", device, round,
             tile.element_bits, exchange);
    ran += check(&with, &tile, (plan_exchange)exchange, what);
  }
  close_device(&with);
  emulated_counts_end(&counts);
  cr_assert_geq(ran, least, "only %d kernels ran on %s", ran, device);
}

Test(tile_kernels, copies_sm_80) { check_random_copies("cuda-emu:sm_80", 5, 46, 20); }
Test(tile_kernels, copies_sm_90a) { check_random_copies("cuda-emu:sm_90a", 5, 47, 20); }
Test(tile_kernels, copies_gfx942) { check_random_copies("hip-emu:gfx942", 6, 48, 20); }

Test(tile_kernels, matrices_sm_80) { check_random_matrices("cuda-emu:sm_80", 44, 10); }
Test(tile_kernels, matrices_sm_90a) { check_random_matrices("cuda-emu:sm_90a", 45, 20); }
