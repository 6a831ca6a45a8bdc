#include "scan_tiles.h"

#include "jit/plan/types/combine.h"
#include "random_layout.h"
#include "tile_pairs.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MMA2 "nvmma(version=[2,0], warps_per_cta=[2,2], instr_shape=[16,8])"
#define BLOCKED3 \
  "blocked(size_per_thread=[1,2,2], threads_per_warp=[4,2,4], warps_per_cta=[2,2,1], " \
  "order=[2,1,0])"

typedef struct layout_text {
  const char *text;
  int64_t shape[2];
} layout_text;

static const layout_text layouts[] = {
    {"blocked(size_per_thread=[1,4], threads_per_warp=[4,8], warps_per_cta=[4,1], order=[1,0])",
     {32, 64}},
    {"blocked(size_per_thread=[4,1], threads_per_warp=[8,4], warps_per_cta=[1,4], order=[0,1])",
     {64, 32}},
    {"blocked(size_per_thread=[2,2], threads_per_warp=[1,32], warps_per_cta=[2,2], order=[1,0])",
     {32, 128}},
    {"blocked(size_per_thread=[1,4], threads_per_warp=[1,32], warps_per_cta=[1,8], order=[1,0])",
     {4, 2048}},
    {"blocked(size_per_thread=[4,1], threads_per_warp=[32,1], warps_per_cta=[4,1], order=[0,1])",
     {512, 2}},
    {"blocked(size_per_thread=[1,4], threads_per_warp=[2,16], warps_per_cta=[2,2], order=[1,0])",
     {8, 8}},
    {MMA2, {64, 64}},
    {"nvmma(version=[3,0], warps_per_cta=[4,1], instr_shape=[16,64,16])", {64, 64}},
    {"dot(operand=0, k_width=2, parent=" MMA2 ")", {64, 32}},
    {"dot(operand=1, k_width=2, parent=" MMA2 ")", {32, 64}},
    {"mfma(version=3, instr_shape=[32,32,8], transposed=false, warps_per_cta=[2,2])", {64, 64}},
    {"mfma(version=3, instr_shape=[16,16,16], transposed=true, warps_per_cta=[4,1])", {64, 64}},
    {"slice(dim=1, parent=" BLOCKED3 ")", {32, 32}},
    {"slice(dim=0, parent=" BLOCKED3 ")", {32, 32}},
    {"slice(dim=0, parent=" MMA2 ")", {64, 1}},
    {"slice(dim=1, parent=" MMA2 ")", {64, 1}},
    {"{register: [[1],[0],[2]], lane: [[4],[8],[0],[16],[32]], warp: [[0],[64]]} -> [dim0:128]",
     {128, 1}},
    {"{register: [[32],[16],[8]], lane: [[0],[2],[0],[1],[4]], warp: [[64],[0]]} -> [dim0:128]",
     {128, 1}},
    /* warps below lanes and registers */
    {"{register: [[4],[256]], lane: [[1],[8],[64],[16],[128]], warp: [[2],[32]]} -> [dim0:512]",
     {512, 1}},
    {"{register: [[512]], lane: [[4],[8],[16],[64],[128]], warp: [[1],[2],[32],[256]]} -> "
     "[dim0:1024]",
     {1024, 1}},
    /* sums of bits: exchanged first */
    {"{register: [[1],[3]], lane: [[4],[12],[16],[48],[64]], warp: [[192],[257]]} -> [dim0:512]",
     {512, 1}},
    {"{register: [], lane: []} -> [dim0:1]", {1, 1}},
    {"{register: [[1],[2]], lane: [[4],[8],[16],[32],[64]], block: [[128]]} -> [dim0:256]",
     {256, 1}},
};
#define TEXTS (int)(sizeof layouts / sizeof *layouts)
#define RANDOM 12

int scan_layout_count(void) { return TEXTS + RANDOM; }

const char *scan_layout_make(int i, llrt_layout *layout) {
  if (i >= TEXTS) {
    uint64_t seed = 1000 + (uint64_t)i;
    int registers = (int)(test_random(&seed) % 5), warps = (int)(test_random(&seed) % 4);
    tile_random_layout(&seed, registers, 5, warps, i % 3 == 2, i % 4 != 0, layout);
    return "random";
  }
  const layout_text *l = &layouts[i];
  cr_assert_eq(llrt_layout_parse(l->text, l->shape[1] == 1 ? 1 : 2, l->shape, layout), LLRT_OK,
               "%s: %s", l->text, llrt_last_error());
  return l->text;
}

typedef struct way {
  int combiner;
  llrt_dtype type;
  bool exclusive, reverse;
} way;

static const way ways[] = {
    {LLRT_COMBINE_SUM, LLRT_F32, false, false},  {COMBINE_AFFINE, LLRT_U32, false, false},
    {COMBINE_AFFINE, LLRT_U32, true, false},     {COMBINE_AFFINE, LLRT_U32, false, true},
    {COMBINE_AFFINE, LLRT_U32, true, true},      {LLRT_COMBINE_SUM, LLRT_I64, true, false},
    {LLRT_COMBINE_MAX, LLRT_F64, false, true},   {LLRT_COMBINE_MIN, LLRT_F32, true, false},
    {LLRT_COMBINE_PROD, LLRT_U64, false, false}, {LLRT_COMBINE_MIN, LLRT_I32, false, false},
    {LLRT_COMBINE_MAX, LLRT_U32, true, true},    {LLRT_COMBINE_SUM, LLRT_F64, false, false},
    {LLRT_COMBINE_PROD, LLRT_F32, true, true},   {LLRT_COMBINE_MAX, LLRT_F32, false, false},
};

int scan_way_count(void) { return (int)(sizeof ways / sizeof *ways); }

plan_tile_scan scan_way(int i, int axis) {
  return (plan_tile_scan){.combiner = ways[i].combiner,
                          .type = ways[i].type,
                          .axis = axis,
                          .exclusive = ways[i].exclusive,
                          .reverse = ways[i].reverse};
}

static void put(llrt_dtype type, void *elements, int64_t at, uint64_t code) {
  if (llrt_dtype_bits(type) == 64) ((uint64_t *)elements)[at] = code;
  else ((uint32_t *)elements)[at] = (uint32_t)code;
}

static uint64_t get(llrt_dtype type, const void *elements, int64_t at) {
  if (llrt_dtype_bits(type) == 64) return ((const uint64_t *)elements)[at];
  return ((const uint32_t *)elements)[at];
}

static uint64_t real_code(llrt_dtype type, double x) {
  uint64_t code = 0;
  float narrow = (float)x;
  if (type == LLRT_F64) memcpy(&code, &x, sizeof x);
  else memcpy(&code, &narrow, sizeof narrow);
  return code;
}

/* Sums of small integers and products of signs and few powers of two are exact in any order; with a
 * minimum and maximum there are NaN, infinities and both zeros. */
static double real_element(const plan_tile_scan *scan, uint64_t random) {
  static const double extremes[] = {-0.0, 0.0, INFINITY, -INFINITY, NAN};
  int small = (int)(random >> 8 & 63) - 32;
  if (scan->combiner == LLRT_COMBINE_SUM) return small;
  if (scan->combiner == LLRT_COMBINE_PROD)
    return (random & 1 ? -1 : 1) * (random % 97 == 0 ? 2 : random % 97 == 1 ? 0.5 : 1);
  return random % 401 < 4 ? extremes[random % 401] : random % 2003 == 5 ? extremes[4] : small;
}

void scan_fill(const plan_tile_scan *scan, void *elements, int64_t n) {
  bool real = scan->type == LLRT_F32 || scan->type == LLRT_F64;
  uint64_t seed = 77;
  for (int64_t i = 0; i < n; i++) {
    uint64_t random = test_random(&seed) >> 7;
    if (scan->combiner == COMBINE_AFFINE || scan->combiner == LLRT_COMBINE_PROD) random |= 1;
    put(scan->type, elements, i, real ? real_code(scan->type, real_element(scan, random)) : random);
  }
}

void scan_reference(const llrt_layout *layout, const plan_tile_scan *scan, const void *from,
                    void *to, int64_t tiles) {
  int bits = layout->out[scan->axis].bits, shift = llrt_layout_out_shift(layout, scan->axis);
  int64_t n = 1ll << bits, groups = tiles << (llrt_layout_out_bits(layout) - bits);
  for (int64_t g = 0; g < groups; g++) {
    int64_t base = (g >> shift << (shift + bits)) | (g & ((1ll << shift) - 1));
    uint64_t sum = combine_identity(scan->combiner, scan->type);
    for (int64_t k = 0; k < n; k++) {
      int64_t at = base | (scan->reverse ? n - 1 - k : k) << shift;
      uint64_t own = get(scan->type, from, at), before = sum;
      sum = scan->reverse ? combine_two(scan->combiner, scan->type, own, sum)
                          : combine_two(scan->combiner, scan->type, sum, own);
      put(scan->type, to, at, scan->exclusive ? before : sum);
    }
  }
}
