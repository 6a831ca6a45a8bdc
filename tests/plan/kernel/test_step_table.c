/* The table of step kinds: complete, of distinct names, and what it says of bodies holds. */
#include "jit/plan/kernel/step_table.h"

#include "jit/plan/check/plan_view.h"
#include "jit/plan/plan_make.h"
#include "runtime/described.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>

Test(step_table, every_kind_has_a_row) {
  cr_assert_null(plan_step_row_of(0));
  cr_assert_null(plan_step_row_of(PLAN_STEP_KINDS));
  for (int kind = 1; kind < PLAN_STEP_KINDS; kind++) {
    const plan_step_row *row = plan_step_row_of(kind);
    cr_assert_not_null(row, "kind %d", kind);
    cr_expect(row->family >= PLAN_OF_MEMORY && row->family <= PLAN_OF_COMBINING, "%s", row->name);
    cr_expect(row->cost >= PLAN_FREE && row->cost <= PLAN_COUNTED, "%s", row->name);
    cr_expect(row->owns || !row->loops, "%s loops over what is not its own", row->name);
    for (int other = 1; other < kind; other++)
      cr_expect_str_neq(row->name, plan_step_row_of(other)->name, "kinds %d and %d", other, kind);
  }
}

/* A transpose of rows in tiles, which loads first. */
static void make_transpose(plan *out) {
  static llrt_storage rows, columns;
  int64_t shape[2] = {4096, 4096};
  op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
  plan_target target;
  cr_assert_eq(llrt_storage_parse("row_major", 2, shape, &rows), LLRT_OK);
  cr_assert_eq(llrt_storage_parse("col_major", 2, shape, &columns), LLRT_OK);
  cr_assert_eq(plan_target_find("sm_80", &target), LLRT_OK);
  for (int t = 0; t < 2; t++)
    desc.tensors[t] = (llrt_tensor){
        .dtype = LLRT_B32, .rank = 2, .shape = {4096, 4096}, .storage = t ? &columns : &rows};
  cr_assert_eq(described_promise(&desc), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(plan_make(&desc, &target, NULL, out), LLRT_OK, "%s", llrt_last_error());
}

Test(step_table, a_body_belongs_to_a_kind_that_owns_one) {
  static plan made;
  make_transpose(&made);
  plan_kernel *kernel = &made.variant[0];
  cr_assert_eq(plan_verify(kernel), LLRT_OK);
  for (int i = 0; i + 1 < kernel->n_steps; i++) {
    plan_step *step = &kernel->step[i];
    if (plan_step_row_of(step->kind)->owns) continue;
    step->body = 1;
    cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL, "step %d, %s", i,
                 plan_step_row_of(step->kind)->name);
    step->body = 0;
  }
}
