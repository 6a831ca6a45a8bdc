/* Reductions of a tile along one axis, in every layout: by the interpreter on every target,
 * compiled on the host and on emulated devices; and what knowing of copies saves. */
#include "jit/probe/tile_op.h"

#include "base/bits.h"
#include "jit/plan/types/combine.h"
#include "tests/plan/flat_run.h"
#include "tests/plan/scan_tiles.h"
#include "tests/number_reference.h"
#include "tests/open_device.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILES = 2, MAX_BYTES = TILES << 17 };

static const char *const targets[] = {"sm_80",     "sm_90a",    "gfx90a",
                                      "x86-64-v2", "x86-64-v3", "x86-64-v4"};

static const struct {
  int combiner;
  llrt_dtype type;
} ways[] = {
    {LLRT_COMBINE_SUM, LLRT_I32}, {LLRT_COMBINE_SUM, LLRT_F32}, {LLRT_COMBINE_MAX, LLRT_F32},
    {LLRT_COMBINE_SUM, LLRT_I64}, {LLRT_COMBINE_MIN, LLRT_F64}, {LLRT_COMBINE_PROD, LLRT_U32},
};
#define WAYS (int)(sizeof ways / sizeof *ways)

static plan_kernel kernel;
static unsigned char source[MAX_BYTES], result[MAX_BYTES];

/* The element at flattened coordinate `at` of a tile that is reduced along an out-dim. */
static bool same(const llrt_layout *layout, const plan_tile_scan *way, const char *what) {
  int bits = layout->out[way->axis].bits, shift = llrt_layout_out_shift(layout, way->axis);
  int64_t tile = (int64_t)1 << llrt_layout_out_bits(layout);
  for (int64_t at = 0; at < TILES * tile; at++) {
    if (at >> shift & (int64_t)bits_mask(bits)) continue;
    uint64_t wanted = combine_identity(way->combiner, way->type),
             got = reference_read(way->type, result, at);
    for (int64_t k = 0; k < 1 << bits; k++)
      wanted = combine_two(way->combiner, way->type, wanted,
                           reference_read(way->type, source, at | k << shift));
    bool real = way->type == LLRT_F32 || way->type == LLRT_F64;
    if (got == wanted) continue;
    if (real && reference_decode(way->type, got) == reference_decode(way->type, wanted))
      continue; /* -0 */
    if (real && isnan(reference_decode(way->type, got)) &&
        isnan(reference_decode(way->type, wanted)))
      continue;
    fprintf(stderr, "%s: element %lld: %#llx, not %#llx\n", what, (long long)at,
            (unsigned long long)got, (unsigned long long)wanted);
    return false;
  }
  return true;
}

static int64_t prepare(const llrt_layout *layout, const plan_tile_scan *way) {
  int64_t elements = (int64_t)TILES << llrt_layout_out_bits(layout);
  cr_assert_leq(elements * llrt_dtype_bits(way->type) / 8, MAX_BYTES);
  scan_fill(way, source, elements);
  return elements;
}

static void check(const llrt_layout *layout, const plan_tile_scan *way, llrt_device *device,
                  const llrt_op *op, const char *what) {
  llrt_dtype dtype = flat_opaque(llrt_dtype_bits(way->type));
  const flat_array arrays[] = {{dtype, source}, {dtype, result}};
  int64_t elements = prepare(layout, way);
  if (op) flat_run(device, op, arrays, 2, elements, what);
  else flat_interpret(&kernel, arrays, 2, elements, what);
  cr_assert(same(layout, way, what), "%s", what);
}

static plan_tile tile_of(const llrt_layout *layout, const plan_tile_scan *way,
                         plan_tile_reduce *reduce) {
  *reduce = (plan_tile_reduce){.combiner = way->combiner, .type = way->type, .axis = way->axis};
  return (plan_tile){.a = layout, .element_bits = llrt_dtype_bits(way->type), .reduce = reduce};
}

static void describe(const plan_tile_scan *way, const char *layout, const char *target, char *what,
                     size_t size) {
  snprintf(what, size, "%s: %s, %s of %s along %d", target, layout, combine_name(way->combiner),
           llrt_dtype_name(way->type), way->axis);
}

Test(reduce_tile, every_layout_on_every_target, .timeout = 120) {
  static const plan_options blind = {.ignore_copies = true};
  int ran = 0;
  long own = 0, others = 0;
  for (int i = 0; i < scan_layout_count(); i++) {
    llrt_layout layout;
    const char *name = scan_layout_make(i, &layout);
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
      plan_target target;
      cr_assert_eq(plan_target_find(targets[t], &target), LLRT_OK);
      for (int w = 0; w < WAYS * layout.n_out; w++) {
        char what[400];
        plan_tile_reduce reduce;
        plan_tile_scan way = {
            .combiner = ways[w % WAYS].combiner, .type = ways[w % WAYS].type, .axis = w / WAYS};
        plan_tile tile = tile_of(&layout, &way, &reduce);
        describe(&way, name, targets[t], what, sizeof what);
        llrt_status status = plan_tile_make(&tile, &target, NULL, &kernel);
        if (status == LLRT_UNSUPPORTED) continue;
        cr_assert_eq(status, LLRT_OK, "%s: %s", what, llrt_last_error());
        check(&layout, &way, NULL, NULL, what);
        ran++;
        int accesses = kernel.cost.shared_accesses;
        if (w % WAYS != 1 || plan_tile_make(&tile, &target, &blind, &kernel) != LLRT_OK) continue;
        check(&layout, &way, NULL, NULL, what);
        cr_assert_leq(accesses, kernel.cost.shared_accesses, "%s", what);
        own += accesses;
        others += kernel.cost.shared_accesses;
      }
    }
  }
  printf("%d plans ran; shared accesses of f32 sums: %ld, blind to copies %ld\n", ran, own, others);
  cr_assert_gt(ran, 500);
  cr_assert_lt(own, others);
}

/* ---- compiled ---- */

/* log2 elements of the largest tile that the host compiles in a test: it is straight-line code. */
#define HOST_BITS 9

static void compile_all(const char *name) {
  opened_device at = open_device(name);
  for (int i = 0; i < scan_layout_count(); i++) {
    llrt_layout layout;
    const char *text = scan_layout_make(i, &layout);
    char what[400];
    plan_tile_reduce reduce;
    plan_tile_scan way = {
        .combiner = ways[i % WAYS].combiner, .type = ways[i % WAYS].type, .axis = i % layout.n_out};
    plan_tile tile = tile_of(&layout, &way, &reduce);
    llrt_op *op;
    describe(&way, text, name, what, sizeof what);
    if (is_host(name) && (llrt_layout_out_bits(&layout) > HOST_BITS || host_leaves_out(name, i)))
      continue;
    llrt_status status = llrt_tile_op_make(at.device, &tile, NULL, NULL, &op);
    if (status == LLRT_UNSUPPORTED) continue;
    cr_assert_eq(status, LLRT_OK, "%s: %s", what, llrt_last_error());
    check(&layout, &way, at.device, op, what);
    llrt_op_destroy(&op);
  }
  close_device(&at);
}

Test(reduce_tile, host) { on_host_levels(compile_all); }
Test(reduce_tile, sm_90a) { compile_all("cuda-emu:sm_90a"); }
Test(reduce_tile, gfx90a) { compile_all("hip-emu:gfx90a"); }
