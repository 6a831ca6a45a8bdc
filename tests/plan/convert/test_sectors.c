/* Which sectors of memory the accesses of a tile touch, where rows or records begin anywhere: what
 * lies side by side is moved by one access of a warp. Predicted counts, which the emulators' agree
 * with (test_ptx_cost.c). */
#include "jit/plan/kernel/plan.h"
#include "jit/plan/plan_make.h"
#include "runtime/described.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <string.h>

/* In per cent of the least, of a tile: elements that edges leave out count in the least alone. */
static const struct {
  const char *source, *destination;
  llrt_dtype dtype;
  int rank;
  int64_t shape[4];
  int loads, stores;
} cases[] = {
    /* Records of 64 or 128 bytes with gaps: 9 sectors for 256 bytes of 72, 136 or 144. */
    {"row_major", "ggml_q4_0x4_il4", LLRT_B8, 3, {4096, 256, 16}, 100, 113},
    {"row_major", "ggml_q4_0x4_il8", LLRT_B8, 3, {4096, 256, 16}, 100, 113},
    {"row_major", "ggml_q4_0x8_il8", LLRT_B8, 3, {4096, 256, 16}, 100, 113},
    {"row_major", "ggml_mxfp4x8_il8", LLRT_B8, 3, {4096, 256, 16}, 100, 113},
    {"row_major", "ggml_q8_0x4_il4", LLRT_B8, 3, {4096, 256, 32}, 100, 113},
    {"row_major", "ggml_q8_0x4_il8", LLRT_B8, 3, {4096, 256, 32}, 100, 113},
    {"ggml_q4_0x4_il4", "row_major", LLRT_B8, 3, {4096, 256, 16}, 113, 100},
    /* 512 bytes 656 apart: every other one begins inside a sector. */
    {"row_major", "flashmla_fp8", LLRT_B8, 3, {1024, 64, 512}, 100, 104},
    {"flashmla_fp8", "row_major", LLRT_B8, 3, {1024, 64, 512}, 104, 100},
    {"row_major", "flashmla_rope", LLRT_B16, 3, {1024, 64, 64}, 100, 113},
    /* Pixels of 20, 24 or 40 bytes, one behind the other: a tile takes 32 or 64. */
    {"row_major", "nhwc", LLRT_B8, 4, {256, 20, 56, 56}, 100, 88},
    {"row_major", "nhwc", LLRT_B16, 4, {256, 20, 56, 56}, 100, 75},
    {"nhwc", "row_major", LLRT_B16, 4, {256, 20, 56, 56}, 75, 100},
    {"row_major", "nhwc", LLRT_B8, 4, {256, 40, 27, 29}, 532, 75}, /* by words: five requests of
                                                                      each */
    {"onednn(inner_blks=[48], inner_idxs=[1])",
     "row_major",
     LLRT_B8,
     4,
     {64, 192, 64, 64},
     100,
     100},
    {"row_major",
     "onednn(inner_blks=[48], inner_idxs=[1])",
     LLRT_B8,
     4,
     {64, 192, 64, 64},
     100,
     82},
    /* Rows of 29 bytes, and filters of 9, stored a byte at a time. */
    {"trt_dla_linear(element_bits=8)", "row_major", LLRT_B8, 4, {64, 83, 27, 29}, 100, 198},
    {"onednn_oihw4i16o4i", "row_major", LLRT_B8, 4, {2048, 200, 3, 3}, 100, 176},
};

static void expect_most(int i, const char *target, const char *what, int counted, int least,
                        int most) {
  cr_expect_leq(100 * counted, most * least, "%s -> %s, %s: %d sectors %s, at most %d %% of %d",
                cases[i].source, cases[i].destination, target, counted, what, most, least);
}

/* What a device's own calls promise: nothing beyond the widest access. */
static void promise_accesses(op_description *desc, const plan_target *target) {
  for (int t = 0; t < 2; t++) {
    int64_t most = target->access_bytes * 8 / llrt_dtype_bits(desc->tensors[t].dtype);
    llrt_tensor_promise *promise = &desc->promises[t];
    if (promise->address.multiple > target->access_bytes)
      promise->address.multiple = target->access_bytes;
    for (int a = 0; a < desc->tensors[t].rank; a++)
      if (promise->stride[a].multiple > most) promise->stride[a].multiple = most;
  }
}

static void check_case(int i, const char *target_name) {
  static plan made;
  plan_target target;
  llrt_storage storage[2];
  op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
  const char *text[] = {cases[i].source, cases[i].destination};
  cr_assert_eq(plan_target_find(target_name, &target), LLRT_OK);
  for (int t = 0; t < 2; t++) {
    cr_assert_eq(llrt_storage_parse(text[t], cases[i].rank, cases[i].shape, &storage[t]), LLRT_OK,
                 "%s: %s", text[t], llrt_last_error());
    desc.tensors[t] = (llrt_tensor){.dtype = cases[i].dtype,
                                    .rank = cases[i].rank,
                                    .storage = &storage[t],
                                    .data = (void *)(uintptr_t)(4096 * (t + 1))};
    memcpy(desc.tensors[t].shape, cases[i].shape, sizeof cases[i].shape);
  }
  cr_assert_eq(described_promise(&desc), LLRT_OK, "%s", llrt_last_error());
  for (int narrow = 0; narrow < 2; narrow++) {
    if (narrow) promise_accesses(&desc, &target);
    cr_assert_eq(plan_make(&desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
    const plan_cost *cost = &made.variant[0].cost;
    expect_most(i, target_name, "loaded", cost->load_sectors, cost->min_sectors, cases[i].loads);
    expect_most(i, target_name, "stored", cost->store_sectors, cost->min_sectors, cases[i].stores);
  }
}

Test(sectors, of_neighbours_are_touched_together) {
  for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) check_case(i, "sm_90a");
}
