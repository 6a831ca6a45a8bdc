/* Work tiles: every invertible map gets one that fits a block, however its two sides are coupled.
 */
#include "jit/plan/kernel/plan.h"
#include "runtime/described.h"

#include "jit/plan/plan_make.h"
#include "tests/plan/random_layout.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const char *const targets[] = {"sm_80",     "sm_90a",    "gfx90a",   "gfx942",
                                      "x86-64-v2", "x86-64-v3", "x86-64-v4"};

/* Row-major to a map of 2^n elements that differs from the identity by a matrix of low rank, to
 * which enlargement has most to add. */
static void low_rank_storage(uint64_t *seed, int n, int rank, llrt_storage *storage) {
  llrt_layout layout;
  do {
    layout = llrt_layout_empty();
    llrt_layout_add_out(&layout, "dim0", n);
    llrt_layout_add_in(&layout, "offset", n);
    for (int i = 0; i < n; i++) layout.column[i] = 1ull << i;
    for (int r = 0; r < rank; r++) {
      uint64_t from = test_random(seed), to = test_random(seed) & ((1ull << n) - 1);
      for (int i = 0; i < n; i++)
        if (from >> i & 1) layout.column[i] ^= to;
    }
  } while (llrt_storage_from_layout(&layout, storage) != LLRT_OK);
}

static void plan_all(const llrt_storage *to, int n, int rank) {
  static plan made;
  llrt_storage from;
  plan_target target;
  cr_assert_eq(llrt_storage_row_major(1, &from), LLRT_OK);
  op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
  for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
    cr_assert_eq(plan_target_find(targets[t], &target), LLRT_OK);
    for (int i = 0; i < 2; i++) {
      desc.tensors[i] = (llrt_tensor){
          .dtype = LLRT_B8, .rank = 1, .shape = {1ll << n}, .storage = i == 0 ? &from : to};
      desc.promises[i].address.multiple = 16;
    }
    cr_assert_eq(plan_make(&desc, &target, NULL, &made), LLRT_OK, "%s, %d bits, rank %d: %s",
                 targets[t], n, rank, llrt_last_error());
    cr_assert_leq(made.variant[0].launch.shared_bytes, target.facts.shared_bytes);
  }
}

Test(plan_tile, fits_a_block) {
  uint64_t seed = 20261121;
  llrt_storage to;
  for (int n = 16; n <= 24; n += 2)
    for (int rank = 1; rank <= n; rank++) {
      low_rank_storage(&seed, n, rank, &to);
      plan_all(&to, n, rank);
    }
}
