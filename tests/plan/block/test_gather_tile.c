/* In-block gathers against plain loops: in the interpreter, on the host and on the emulated
 * devices; for layouts whose axis lies in registers, lanes and warps, with copies; by shuffles,
 * shared memory and as chosen. */
#include "jit/probe/tile_op.h"

#include "tests/plan/flat_run.h"
#include "tests/plan/random_layout.h"
#include "tests/open_device.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILES = 2, MAX_ELEMENTS = 1 << 12 };

typedef struct gather_pair {
  const char *name;
  int64_t shape[2];
  int axis;
  const char *source, *result; /* NULL: the source's */
  bool shuffles; /* every element is in the warp that wants it, and the way back has shuffles; 32
                    lanes */
} gather_pair;

#define ROWS(a, down, across) \
  "blocked(size_per_thread=[1," #a "], threads_per_warp=[" #down "," #across \
  "], warps_per_cta=[4,1], order=[1,0])"
#define MMA "nvmma(version=[2,0], warps_per_cta=[2,2], instr_shape=[16,8])"

static const gather_pair pairs[] = {
    {"thread", {64, 4}, 1, ROWS(4, 32, 1), NULL, true},
    {"lanes", {64, 16}, 1, ROWS(1, 2, 16), NULL, true},
    {"lanes and registers", {32, 64}, 1, ROWS(2, 8, 4), NULL, true},
    {"registers above lanes", {16, 128}, 1, ROWS(1, 1, 32), NULL, true},
    {"rows in warps", {64, 16}, 0, ROWS(1, 2, 16), NULL, false},
    {"rows of one warp",
     {32, 16},
     0,
     "blocked(size_per_thread=[1,2], threads_per_warp=[4,8], warps_per_cta=[1,1], order=[1,0])",
     NULL,
     true},
    {"another result", {64, 16}, 1, ROWS(1, 2, 16), ROWS(4, 8, 4), false},
    {"another warp",
     {32, 32},
     1,
     ROWS(4, 4, 8),
     "blocked(size_per_thread=[1,4], threads_per_warp=[4,8], warps_per_cta=[1,4], order=[1,0])",
     false},
    {"mma", {32, 32}, 1, MMA, NULL, false},
    {"mma rows", {32, 32}, 0, MMA, NULL, false},
    {"mma to rows", {32, 32}, 1, MMA, ROWS(4, 4, 8), false},
    {"operand", {32, 32}, 1, "dot(operand=0, k_width=2, parent=" MMA ")", NULL, true},
    {"operand along the rows",
     {32, 32},
     0,
     "dot(operand=0, k_width=2, parent=" MMA ")",
     NULL,
     false},
    {"copies in lanes and warps", {8, 4}, 1, ROWS(4, 4, 8), NULL, true},
    {"copies of the source", {16, 8}, 1, ROWS(8, 16, 2), ROWS(1, 4, 8), false},
    {"mixed bits",
     {16, 16},
     1,
     "{register: [[0,1],[1,0]], lane: [[0,2],[2,0],[0,0],[0,8],[4,0]], warp: [[8,0],[0,4]]}"
     " -> [dim0:16, dim1:16]",
     NULL,
     false},
    /* what the readers' lanes differ by has a part in the source's words */
    {"words among the readers",
     {8, 2},
     0,
     "{register: [[4,0],[1,1]], lane: [], warp: [[2,1],[7,1]]} -> [dim0:8, dim1:2]",
     "{register: [[5,0],[7,0],[0,1]], lane: [[1,1]], warp: []} -> [dim0:8, dim1:2]",
     false},
    {"words among the readers, halves",
     {2, 4},
     1,
     "{register: [[1,1],[0,3]], lane: [], warp: [[0,1]]} -> [dim0:2, dim1:4]",
     "{register: [[1,3]], lane: [[1,1],[0,3]], warp: []} -> [dim0:2, dim1:4]",
     false},
    {"one position", {64, 1}, 1, ROWS(1, 32, 1), NULL, true},
};
#define N_PAIRS ((int)(sizeof pairs / sizeof *pairs))

static unsigned char source[TILES * MAX_ELEMENTS * 8], wanted[sizeof source], result[sizeof source];
static int32_t asked[TILES * MAX_ELEMENTS];
static plan_kernel kernel;

typedef struct trial {
  const gather_pair *pair;
  llrt_layout a, b;
  int bits, turns, axis_shift, axis_bits;
  int64_t elements; /* of all tiles */
  char what[200];
} trial;

static void make_trial(const gather_pair *pair, int bits, int turns, trial *at) {
  *at = (trial){.pair = pair, .bits = bits, .turns = turns};
  cr_assert_eq(llrt_layout_parse(pair->source, 2, pair->shape, &at->a), LLRT_OK, "%s: %s",
               pair->name, llrt_last_error());
  const char *to = pair->result ? pair->result : pair->source;
  cr_assert_eq(llrt_layout_parse(to, 2, pair->shape, &at->b), LLRT_OK, "%s: %s", pair->name,
               llrt_last_error());
  at->axis_shift = llrt_layout_out_shift(&at->a, pair->axis);
  at->axis_bits = at->a.out[pair->axis].bits;
  at->elements = TILES * pair->shape[0] * pair->shape[1];
  cr_assert_leq(at->elements, TILES * MAX_ELEMENTS);
  uint64_t seed = 7 + (uint64_t)bits;
  for (size_t i = 0; i < sizeof source; i++) source[i] = (unsigned char)(test_random(&seed) >> 40);
  for (int64_t i = 0; i < at->elements; i++)
    asked[i] = (int32_t)(test_random(&seed) >> 20); /* any bits */
}

/* Turn after turn, from one array to the other. */
static void reference(const trial *at) {
  static unsigned char before[sizeof source];
  size_t width = (size_t)at->bits / 8, bytes = (size_t)at->elements * width;
  int64_t mask = (((int64_t)1 << at->axis_bits) - 1) << at->axis_shift;
  memcpy(wanted, source, bytes);
  for (int turn = 0; turn < at->turns; turn++) {
    memcpy(before, wanted, bytes);
    for (int64_t i = 0; i < at->elements; i++) {
      int64_t from = (i & ~mask) | ((int64_t)(uint32_t)asked[i] << at->axis_shift & mask);
      memcpy(wanted + (size_t)i * width, before + (size_t)from * width, width);
    }
  }
}

static void expect_result(const trial *at) {
  size_t bytes = (size_t)(at->elements * at->bits / 8);
  cr_expect_eq(memcmp(result, wanted, bytes), 0, "%s: wrong", at->what);
}

static void check(const trial *at, llrt_device *device, const llrt_op *op) {
  llrt_dtype dtype = flat_opaque(at->bits);
  const flat_array arrays[] = {{dtype, source}, {dtype, result}, {LLRT_I32, asked}};
  if (op) flat_run(device, op, arrays, 3, at->elements, at->what);
  else flat_interpret(&kernel, arrays, 3, at->elements, at->what);
  reference(at);
  expect_result(at);
}

/* ---- the interpreter ---- */

static bool interpret(trial *at, const char *target_name, plan_exchange exchange) {
  plan_target target;
  const plan_options options = {.exchange = exchange};
  const plan_tile_gather gather = {at->pair->axis};
  const plan_tile tile = {
      .a = &at->a, .b = &at->b, .element_bits = at->bits, .turns = at->turns, .gather = &gather};
  snprintf(at->what, sizeof at->what, "%s, %s, %d bits, exchange %d", at->pair->name, target_name,
           at->bits, exchange);
  cr_assert_eq(plan_target_find(target_name, &target), LLRT_OK);
  llrt_status status = plan_tile_make(&tile, &target, &options, &kernel);
  if (status == LLRT_UNSUPPORTED) return false;
  cr_assert_eq(status, LLRT_OK, "%s: %s", at->what, llrt_last_error());
  check(at, NULL, NULL);
  return true;
}

Test(gather_tile, plans) {
  static const char *const targets[] = {"sm_90a", "gfx942", "x86-64-v3", "x86-64-v4"};
  for (int i = 0; i < N_PAIRS; i++)
    for (int t = 0; t < 4; t++)
      for (int exchange = 0; exchange <= PLAN_EXCHANGE_SHUFFLE; exchange++) {
        trial at;
        make_trial(&pairs[i], 8 << (i + t + exchange) % 4, 2, &at);
        bool done = interpret(&at, targets[t], (plan_exchange)exchange);
        if (exchange != PLAN_EXCHANGE_SHUFFLE)
          cr_expect(done, "%s: refused: %s", at.what, llrt_last_error());
        else if (t == 0)
          cr_expect_eq(done, pairs[i].shuffles, "%s: %s", at.what,
                       done ? "shuffled" : llrt_last_error());
        else if (t >= 2) cr_expect(!done, "%s: the host shuffled", at.what);
      }
}

/* What costs nothing is not bought: no shuffle inside a thread, and nothing through shared memory
 * there. */
Test(gather_tile, stays_in_the_thread) {
  trial at;
  make_trial(&pairs[0], 32, 1, &at);
  cr_assert(interpret(&at, "sm_90a", PLAN_EXCHANGE_AUTO));
  cr_expect_eq(kernel.cost.shuffles, 0);
  cr_expect_eq(kernel.n_buffers, 0);
  cr_expect_eq(kernel.cost.selects,
               (4 - 1) * 4 * 1); /* 4 elements of a thread, one of 4 registers each */
}

/* A thread holds up to 2^8 words of a value: of bytes four times as many elements, of their
 * coordinates not. */
Test(gather_tile, coordinates_of_too_many_elements) {
  static const gather_pair pair = {
      "a thread of all",
      {1024, 1},
      0,
      "{register: [[1,0],[2,0],[4,0],[8,0],[16,0],[32,0],[64,0],[128,0],[256,0],[512,0]]} "
      "-> [dim0:1024, dim1:1]",
      NULL,
      true};
  trial at;
  make_trial(&pair, 8, 1, &at);
  cr_expect(!interpret(&at, "sm_90a", PLAN_EXCHANGE_AUTO));
  cr_expect(strstr(llrt_last_error(), "a thread would hold 1024 elements"), "%s",
            llrt_last_error());
}

/* ---- devices ---- */

/* The host knows one way. */
static bool is_wanted(bool host, int exchange) { return !host || exchange == PLAN_EXCHANGE_AUTO; }

/* A tile is one thread's on the host, and a thread holds so many registers of it (tile_side_value),
 * which are of 16 bytes on some processors: elements are as narrow as that needs. */
#define HOST_REGISTERS 256

static int width_on(const llrt_device *device, const gather_pair *pair, int bits) {
  llrt_device_info info = {0};
  plan_target target;
  cr_assert_eq(llrt_device_get_info(device, &info), LLRT_OK);
  cr_assert_eq(plan_target_find(info.target, &target), LLRT_OK);
  while (bits > 8 && target.vector_bytes &&
         pair->shape[0] * pair->shape[1] * bits / 8 > HOST_REGISTERS * target.vector_bytes)
    bits /= 2;
  return bits;
}

/* Every pair by every way, of the widths one each. */
static void check_device(const char *name, int least) {
  opened_device with = open_device(name);
  int ran = 0;
  for (int i = 0; i < N_PAIRS; i++)
    for (int exchange = 0; exchange <= PLAN_EXCHANGE_SHUFFLE; exchange++) {
      trial at;
      llrt_op *op;
      if (!is_wanted(is_host(name), exchange) || host_leaves_out(name, i)) continue;
      const plan_options options = {.exchange = (plan_exchange)exchange};
      const plan_tile_gather gather = {pairs[i].axis};
      make_trial(&pairs[i], width_on(with.device, &pairs[i], 8 << (i + exchange) % 4), 2, &at);
      const plan_tile tile = {
          .a = &at.a, .b = &at.b, .element_bits = at.bits, .turns = 2, .gather = &gather};
      snprintf(at.what, sizeof at.what, "%s, %s, %d bits, exchange %d", pairs[i].name, name,
               at.bits, exchange);
      llrt_status status = llrt_tile_op_make(with.device, &tile, &options, NULL, &op);
      if (status == LLRT_UNSUPPORTED && exchange == PLAN_EXCHANGE_SHUFFLE) continue;
      cr_assert_eq(status, LLRT_OK, "%s: %s", at.what, llrt_last_error());
      check(&at, with.device, op);
      llrt_op_destroy(&op);
      ran++;
    }
  cr_expect_geq(ran, least, "only %d kernels ran on %s", ran, name);
  close_device(&with);
}

static void check_host(const char *name) {
  int pairs_there = 0;
  for (int i = 0; i < N_PAIRS; i++) pairs_there += !host_leaves_out(name, i);
  check_device(name, pairs_there);
}

Test(gather_tile, host) { on_host_levels(check_host); }
Test(gather_tile, sm_80) { check_device("cuda-emu:sm_80", 2 * N_PAIRS + 5); }
Test(gather_tile, gfx90a) { check_device("hip-emu:gfx90a", 2 * N_PAIRS + 6); }
