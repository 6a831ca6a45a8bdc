/* Packed weights of experts: what a plan leaves those that multiply. */
#include "tests/open_device.h"

#include "jit/plan/facts/thread_registers.h"
#include "jit/plan/plan_make.h"
#include "runtime/described.h"

#include <llrt/dot_pack.h>

#include <criterion/criterion.h>

#define EXPERTS 4
#define ROWS 4096
#define N 256
#define K 512

static described_dot call;
static plan made;

static llrt_tensor tensor_of(llrt_device *device, llrt_dtype dtype, int number) {
  return (llrt_tensor){
      .dtype = dtype, .device = device, .data = (void *)((uintptr_t)(number + 1) << 40)};
}

/* Rows are gathered. */
static void plan_product(llrt_device *device) {
  const llrt_dot_pack_params what = {.dtype = LLRT_E2M1,
                                     .scale = LLRT_E8M0,
                                     .group = {32},
                                     .other = LLRT_BF16,
                                     .range_low = 120,
                                     .range_high = 127,
                                     .n_batch = 1};
  static llrt_dot_packing packing;
  llrt_index from = {.axis = 0,
                     .dtype = LLRT_I32,
                     .axes = 1,
                     .strides = {1},
                     .extent = ROWS,
                     .data = (void *)((uintptr_t)9 << 40)};
  llrt_tensor a = tensor_of(device, LLRT_BF16, 0), b = tensor_of(device, LLRT_E2M1, 1),
              d = tensor_of(device, LLRT_BF16, 2), ends = tensor_of(device, LLRT_I32, 3),
              scale = tensor_of(device, LLRT_E8M0, 4);
  cr_assert_eq(llrt_dot_pack(&what, "sm_90a", LLRT_DOT_B, &packing), LLRT_OK, "%s",
               llrt_last_error());
  a.rank = d.rank = 2;
  a.shape[0] = d.shape[0] = ROWS;
  a.shape[1] = b.shape[1] = K;
  d.shape[1] = b.shape[2] = scale.shape[2] = N;
  a.indices = &from;
  a.n_indices = 1;
  b.rank = scale.rank = 3;
  b.shape[0] = scale.shape[0] = ends.shape[0] = EXPERTS;
  scale.shape[1] = K / 32;
  b.storage = &packing.storages[0];
  scale.storage = &packing.storages[1];
  ends.rank = 1;
  llrt_dot_params params = {.size = sizeof params, .dtype = LLRT_BF16, .ends = &ends};
  params.b =
      (llrt_dot_scaling){.scale = &scale, .group = {32, 1}, .range_low = 120, .range_high = 127};
  memcpy(params.b.word_bits, packing.word_bits, sizeof params.b.word_bits);
  plan_target target;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(described_dot_make(&a, &b, &d, &params, &call), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(described_promise(&call.desc), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(plan_make(&call.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
}

/* A producer copies two pieces of weights and one of scales in a turn: its registers are those of
 * few, and two warpgroups with 64 x 256 sums each have what weighed, scattered results take. */
Test(packed_experts, registers) {
  opened_device opened = open_device("cuda-emu:sm_90a");
  plan_product(opened.device);
  const plan_kernel *kernel = NULL;
  for (int v = 0; v < made.n_variants; v++)
    if (made.variant[v].launch.rounds > 0) kernel = &made.variant[v];
  cr_assert(kernel && kernel->producers > 0, "no variant goes by rounds");
  plan_registers has;
  plan_registers_of(kernel, &has);
  cr_expect_eq(has.producers, 40, "%d registers of producers", has.producers);
  cr_expect_eq(has.others, 232, "%d registers of others", has.others);
  close_device(&opened);
}
