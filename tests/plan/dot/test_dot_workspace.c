/* What is said to suffice as the workspace of products, for every run of their plans. */
#include "jit/plan/kernel/plan.h"
#include "jit/plan/plan_make.h"
#include "runtime/described.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <stdlib.h>

enum { TENSORS = 3, RANK = 3 };

static void plan_product(const char *name, plan *made) {
  static described_dot call;
  llrt_storage rows;
  plan_target target;
  llrt_dot_params params = {.fast_accumulate = false};
  cr_assert_eq(llrt_storage_row_major(2, &rows), LLRT_OK);
  const llrt_tensor a = {.dtype = LLRT_F16, .rank = 2, .shape = {9, 8}, .storage = &rows};
  const llrt_tensor b = {.dtype = LLRT_F32, .rank = 2, .shape = {8, 70}, .storage = &rows};
  const llrt_tensor d = {.dtype = LLRT_F32, .rank = 2, .shape = {9, 70}, .storage = &rows};
  cr_assert_eq(described_dot_make(&a, &b, &d, &params, &call), LLRT_OK, "%s", llrt_last_error());
  for (int t = 0; t < LLRT_MAX_TENSORS; t++) call.desc.promises[t] = (llrt_tensor_promise){0};
  cr_assert_eq(plan_target_find(name, &target), LLRT_OK);
  cr_assert_eq(plan_make(&call.desc, &target, NULL, made), LLRT_OK, "%s", llrt_last_error());
}

/* Each variant whose blocks share K, on a shape that its range holds: what a run needs, and what is
 * said. Returns how many. */
static int check_shape(const plan *made, const int64_t shape[RANK]) {
  llrt_storage rows;
  llrt_tensor tensor[TENSORS];
  llrt_storage_binding binding[TENSORS];
  plan_run run;
  int checked = 0;
  cr_assert_eq(llrt_storage_row_major(RANK, &rows), LLRT_OK);
  for (int t = 0; t < TENSORS; t++) {
    tensor[t] = (llrt_tensor){
        .dtype = LLRT_F32, .rank = RANK, .shape = {shape[0], shape[1], shape[2]}, .storage = &rows};
    cr_assert_eq(llrt_storage_bind(&rows, RANK, tensor[t].shape, NULL, &binding[t]), LLRT_OK);
  }
  for (int v = 0; v < made->n_variants; v += 1 + made->variant[v].launch.later) {
    const plan_launch *launch = &made->variant[v].launch;
    int64_t most;
    if (launch->walk.blocks == 0 || !plan_range_contains(&launch->range, RANK, shape)) continue;
    cr_assert_eq(plan_workspace_most(launch, tensor, binding, TENSORS, &most), LLRT_OK);
    cr_assert_eq(plan_run_begin(launch, tensor, binding, TENSORS, &run), LLRT_OK);
    cr_expect(run.workspace_bytes <= most, "%lld x %lld x %lld: %lld of %lld bytes",
              (long long)shape[0], (long long)shape[1], (long long)shape[2],
              (long long)run.workspace_bytes, (long long)most);
    checked++;
  }
  return checked;
}

/* More blocks than a device takes at once have one share each, of all results: few positions of K
 * and many results, too. */
Test(dot_workspace, suffices) {
  static const char *const targets[] = {"sm_80", "sm_90a", "gfx942"};
  static const int64_t ms[] = {1, 9, 70, 1000}, ns[] = {1, 64, 6729, 100000, 1 << 22},
                       ks[] = {1, 8, 300, 70000};
  plan *made = malloc(sizeof *made);
  for (int k = 0; k < 3; k++) {
    int checked = 0;
    plan_product(targets[k], made);
    for (int i = 0; i < 4 * 5 * 4; i++) {
      const int64_t shape[RANK] = {ms[i / 20], ns[i / 4 % 5], ks[i % 4]};
      checked += check_shape(made, shape);
    }
    cr_expect(checked > 20, "%s: %d", targets[k], checked);
  }
  free(made);
}
