/* What gathers of whole tensors are planned as: how wide values are loaded, and in which order
 * blocks walk. */
#include "jit/plan/kernel/plan.h"
#include "jit/plan/plan_make.h"
#include "runtime/described.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <string.h>

static plan made;
static llrt_storage row_major;

/* take_along_axis of [4096, 4096] by int64, everything aligned; `along` 0: nothing is promised of
 * values. */
static const plan_kernel *plan_take(const char *target_name, llrt_dtype dtype, int axis,
                                    int along) {
  static const int64_t values[2];
  plan_target target;
  llrt_view view;
  llrt_tensor store = {.dtype = dtype, .rank = 2, .shape = {4096, 4096}}, index = store;
  const llrt_gather_params zero = {.out_of_range = LLRT_RANGE_ZERO};
  cr_assert_eq(plan_target_find(target_name, &target), LLRT_OK);
  cr_assert_eq(llrt_storage_row_major(2, &row_major), LLRT_OK);
  store.storage = &row_major;
  index.dtype = LLRT_I64;
  index.data = (void *)values;
  cr_assert_eq(llrt_gather_view(&store, &index, axis, &zero, &view), LLRT_OK, "%s",
               llrt_last_error());
  op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = {view.tensor, store}};
  for (int t = 0; t < 2; t++) {
    desc.promises[t].address.multiple = 16;
    for (int a = 0; a < 2; a++) desc.promises[t].stride[a].multiple = 16;
  }
  desc.promises[0].index[0] = (llrt_index_promise){.along = along, .multiple = along ? 16 : 0};
  cr_assert_eq(plan_make(&desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
  return &made.variant[made.variant[0].panel.gathered];
}

static const char *const gpus[] = {"sm_80", "sm_90a", "gfx942"};

/* The fewest sectors that 8 bytes an element can touch. */
Test(gather_plan, values_are_read_in_whole_sectors) {
  for (int i = 0; i < 3; i++)
    for (int axis = 0; axis < 2; axis++) {
      const plan_kernel *kernel = plan_take(gpus[i], LLRT_BF16, axis, 2);
      int elements = 1 << kernel->space.in[0].bits;
      cr_expect_eq(kernel->index[0].vector, 1);
      cr_expect_eq(kernel->cost.index_sectors, elements * 8 / 32, "%s, axis %d: %d sectors",
                   gpus[i], axis, kernel->cost.index_sectors);
      cr_expect_eq(kernel->cost.store_sectors, kernel->cost.min_sectors, "%s, axis %d", gpus[i],
                   axis);
    }
}

/* Without a promise one value is loaded at a time, by lanes that still lie side by side. */
Test(gather_plan, unknown_strides_are_read_one_by_one) {
  const plan_kernel *kernel = plan_take("sm_90a", LLRT_BF16, 1, 0);
  cr_expect_eq(kernel->index[0].along, -1);
  cr_expect_eq(kernel->cost.index_sectors, 1 << kernel->space.in[0].bits);
}

/* Before it stands a kernel that reads the source once, and chooses out of shared memory. */
Test(gather_plan, panels_hold_what_values_choose_from) {
  for (int i = 0; i < 3; i++)
    for (int axis = 0; axis < 2; axis++) {
      plan_take(gpus[i], LLRT_BF16, axis, 2);
      const plan_kernel *kernel = &made.variant[0];
      const plan_range *range = &kernel->launch.range;
      cr_assert(kernel->panel.gathered, "%s, axis %d", gpus[i], axis);
      cr_expect_eq(kernel->panel.width, axis == 0 ? 2 : 0);
      cr_expect_eq(range->max_values << kernel->panel.width, kernel->target.facts.shared_bytes / 2);
      cr_expect_eq(kernel->cost.load_sectors, 0);
      cr_expect_eq(kernel->cost.index_sectors, (8 << kernel->space.in[0].bits) / 32);
    }
}

/* A tensor whose values choose from more than shared memory holds, or from far more than there are
 * places, is another kernel's. */
Test(gather_plan, panels_are_for_axes_that_fit) {
  plan_take("sm_90a", LLRT_BF16, 0, 2);
  const plan_range *range = &made.variant[0].launch.range;
  llrt_index index = {0};
  llrt_tensor source = {.rank = 2, .indices = &index, .n_indices = 1};
  const struct {
    int64_t along, across, values;
    bool taken;
  } rows[] = {{16384, 4096, 16384, true}, {16384, 4096, 29056, true}, {16384, 4096, 29057, false},
              {4096, 4096, 8192, true},   {4096, 4096, 8193, false},  {16384, 1000, 100, false},
              {1000, 4096, 100, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    source.shape[0] = rows[i].along;
    source.shape[1] = rows[i].across;
    index.extent = rows[i].values;
    cr_expect_eq(plan_range_takes(range, &source), rows[i].taken, "row %zu", i);
  }
}

/* Blocks walk along the gathered axis first: the panel that they read stays in the cache. */
Test(gather_plan, blocks_walk_along_the_axis) {
  for (int i = 0; i < 3; i++)
    for (int axis = 0; axis < 2; axis++) {
      const plan_kernel *kernel = plan_take(gpus[i], LLRT_BF16, axis, 2);
      cr_assert_gt(kernel->n_places, 1);
      cr_assert_geq(kernel->place[0].digit, 0);
      cr_expect_eq(kernel->digit[kernel->place[0].digit].axis, axis, "%s, axis %d", gpus[i], axis);
    }
}
