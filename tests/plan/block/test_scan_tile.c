/* Scans of a tile, on every target and in every layout: by the interpreter, then compiled, on the
 * host and on the emulated devices. */
#include "jit/probe/tile_op.h"

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

static plan_kernel kernel;
static unsigned char source[MAX_BYTES], expected[MAX_BYTES], result[MAX_BYTES];

/* Equal codes, any NaN being one. */
static bool same(const plan_tile_scan *scan, int64_t elements) {
  int bytes = llrt_dtype_bits(scan->type) / 8;
  for (int64_t i = 0; i < elements; i++) {
    uint64_t a = reference_read(scan->type, expected, i), b = reference_read(scan->type, result, i);
    bool real = scan->type == LLRT_F32 || scan->type == LLRT_F64;
    if (a == b) continue;
    if (real && isnan(reference_decode(scan->type, a)) && isnan(reference_decode(scan->type, b)))
      continue;
    fprintf(stderr, "element %lld of %d bytes: expected %#llx, got %#llx\n", (long long)i, bytes,
            (unsigned long long)a, (unsigned long long)b);
    return false;
  }
  return true;
}

/* Fills source and expected; the number of elements. */
static int64_t prepare(const llrt_layout *layout, const plan_tile_scan *scan) {
  int64_t tiles = TILES, elements = tiles << llrt_layout_out_bits(layout);
  cr_assert_leq(elements * llrt_dtype_bits(scan->type) / 8, MAX_BYTES);
  scan_fill(scan, source, elements);
  scan_reference(layout, scan, source, expected, tiles);
  return elements;
}

static void check(const plan_tile_scan *scan, int64_t elements, llrt_device *device,
                  const llrt_op *op, const char *what) {
  llrt_dtype dtype = flat_opaque(llrt_dtype_bits(scan->type));
  const flat_array arrays[] = {{dtype, source}, {dtype, result}};
  if (op) flat_run(device, op, arrays, 2, elements, what);
  else flat_interpret(&kernel, arrays, 2, elements, what);
  cr_assert(same(scan, elements), "%s", what);
}

static void describe(const plan_tile_scan *scan, const char *layout, const char *target, char *what,
                     size_t size) {
  snprintf(what, size, "%s: %s, combiner %d of %s%s%s along %d", target, layout, scan->combiner,
           llrt_dtype_name(scan->type), scan->exclusive ? ", exclusive" : "",
           scan->reverse ? ", reverse" : "", scan->axis);
}

Test(scan_tile, every_layout_on_every_target) {
  int ran = 0;
  for (int i = 0; i < scan_layout_count(); i++) {
    llrt_layout layout;
    const char *name = scan_layout_make(i, &layout);
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
      plan_target target;
      cr_assert_eq(plan_target_find(targets[t], &target), LLRT_OK);
      for (int w = 0; w < scan_way_count(); w++) {
        char what[400];
        plan_tile_scan scan = scan_way(w, w % layout.n_out);
        plan_tile tile = {
            .a = &layout, .b = &layout, .element_bits = llrt_dtype_bits(scan.type), .scan = &scan};
        describe(&scan, name, targets[t], what, sizeof what);
        llrt_status status = plan_tile_make(&tile, &target, NULL, &kernel);
        if (status == LLRT_UNSUPPORTED) continue;
        cr_assert_eq(status, LLRT_OK, "%s: %s", what, llrt_last_error());
        check(&scan, prepare(&layout, &scan), NULL, NULL, what);
        ran++;
      }
    }
  }
  printf("%d plans ran\n", ran);
  cr_assert_gt(ran, 1500);
}

/* ---- compiled ---- */

/* log2 elements of the largest tile that the host compiles in a test: it is straight-line code. */
#define HOST_BITS 9

/* Every layout twice, with another way of scanning each. */
static void run_on(const char *device_name) {
  opened_device at = open_device(device_name);
  int ran = 0;
  for (int i = 0; i < 2 * scan_layout_count(); i++) {
    llrt_layout layout;
    char what[400];
    llrt_op *op;
    const char *name = scan_layout_make(i / 2, &layout);
    int w = (i * 5 + i / 2) % scan_way_count();
    plan_tile_scan scan = scan_way(w, i % layout.n_out);
    plan_tile tile = {
        .a = &layout, .b = &layout, .element_bits = llrt_dtype_bits(scan.type), .scan = &scan};
    describe(&scan, name, device_name, what, sizeof what);
    if (is_host(device_name) && llrt_layout_out_bits(&layout) > HOST_BITS) continue;
    if (host_leaves_out(device_name, i)) continue;
    llrt_status status = llrt_tile_op_make(at.device, &tile, NULL, &kernel, &op);
    if (status == LLRT_UNSUPPORTED) continue;
    cr_assert_eq(status, LLRT_OK, "%s: %s", what, llrt_last_error());
    check(&scan, prepare(&layout, &scan), at.device, op, what);
    llrt_op_destroy(&op);
    ran++;
  }
  close_device(&at);
  cr_assert_gt(ran, strchr(device_name, '@') ? 6 : 20);
}

Test(scan_tile, host) { on_host_levels(run_on); }
Test(scan_tile, sm_80) { run_on("cuda-emu:sm_80"); }
Test(scan_tile, sm_90a) { run_on("cuda-emu:sm_90a"); }
Test(scan_tile, gfx90a) { run_on("hip-emu:gfx90a"); }

Test(scan_tile, what_is_refused) {
  llrt_layout layout;
  plan_target target;
  int64_t shape[] = {256};
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(
      llrt_layout_parse("{register: [[1],[2]], lane: [[4],[8],[16],[32],[64]], block: [[128]]} -> "
                        "[dim0:256]",
                        1, shape, &layout),
      LLRT_OK);
  plan_tile_scan scan = {.combiner = LLRT_COMBINE_SUM, .type = LLRT_F32};
  plan_tile tile = {.a = &layout, .b = &layout, .element_bits = 32, .scan = &scan};
  cr_assert_eq(plan_tile_make(&tile, &target, NULL, &kernel), LLRT_UNSUPPORTED);
  cr_assert_not_null(strstr(llrt_last_error(), "between blocks"));
  scan.type = LLRT_F16;
  cr_assert_eq(plan_tile_make(&tile, &target, NULL, &kernel), LLRT_INVALID_ARGUMENT);
  scan.type = LLRT_F32;
  scan.combiner = LLRT_COMBINE_ARGMAX;
  cr_assert_eq(plan_tile_make(&tile, &target, NULL, &kernel), LLRT_INVALID_ARGUMENT);
}
