/* What plans take from a device: its facts, by the rules that each planner states, and nothing
 * where results would be joined in another order. Without a device they are the reference's. */
#include "jit/plan/check/plan_view.h"
#include "jit/plan/plan_make.h"
#include "packed_trial.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static plan made;

Test(device_facts, reference) {
  static const struct {
    const char *name;
    int capability, units, shared_kib;
    bool early;
  } rows[] = {{"sm_80", 80, 132, 163, false}, {"sm_89", 89, 132, 99, false},
              {"sm_90", 90, 132, 227, true},  {"sm_90a", 90, 132, 227, true},
              {"gfx90a", 0, 132, 64, false},  {"gfx942", 0, 132, 64, false},
              {"x86-64-v2", 0, 0, 96, false}, {"x86-64-v3", 0, 0, 96, false},
              {"x86-64-v4", 0, 0, 96, false}, {"x86-64-v4-vbmi", 0, 0, 96, false},
              {"aarch64", 0, 0, 96, false}};
  int n = 0;
  while (plan_target_at(n)) n++;
  cr_expect_eq(n, (int)(sizeof rows / sizeof *rows));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    plan_target target;
    cr_assert_eq(plan_target_find(rows[i].name, &target), LLRT_OK, "%s", rows[i].name);
    cr_expect_eq(target.facts.capability, rows[i].capability, "%s", rows[i].name);
    cr_expect_eq(target.facts.units, rows[i].units, "%s", rows[i].name);
    cr_expect_eq(target.facts.shared_bytes, rows[i].shared_kib << 10, "%s", rows[i].name);
    cr_expect_eq(target.facts.early_launches, rows[i].early, "%s", rows[i].name);
    cr_expect_eq(target.facts.units == 0, target.simd_lanes, "%s", rows[i].name);
  }
}

/* Measured numbers in proportion, but for devices that measure nothing never 0, which means "any".
 */
Test(device_facts, proportion) {
  static const struct {
    int units;
    int64_t measured, scaled;
  } rows[] = {{132, 800, 800},  {132, 8448, 8448}, {148, 8448, 9472}, {66, 4096, 2048},
              {304, 800, 1842}, {16, 3584, 434},   {1, 100, 1},       {108, 1, 1}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    plan_target target = {.facts = {.units = rows[i].units}};
    cr_expect_eq(plan_for_units(&target, rows[i].measured), rows[i].scaled, "%zu: %lld", i,
                 (long long)plan_for_units(&target, rows[i].measured));
  }
}

/* ---- plans of devices ---- */

static void plan_on(const op_description *desc, const char *name, int units) {
  plan_target target;
  cr_assert_eq(plan_target_find(name, &target), LLRT_OK);
  target.facts.units = units;
  cr_assert_eq(plan_make(desc, &target, NULL, &made), LLRT_OK, "%s, %d units: %s", name, units,
               llrt_last_error());
  for (int v = 0; v < made.n_variants; v++)
    cr_expect_eq(plan_verify(&made.variant[v]), LLRT_OK, "%s, %d units, kernel %d: %s", name, units,
                 v, llrt_last_error());
}

/* The largest of what `read` gives for a kernel. */
static int64_t most_of(int64_t (*read)(const plan_launch *)) {
  int64_t most = 0;
  for (int v = 0; v < made.n_variants; v++)
    if (read(&made.variant[v].launch) > most) most = read(&made.variant[v].launch);
  return most;
}

static int64_t shares(const plan_launch *launch) { return launch->walk.blocks; }
static int64_t dealt(const plan_launch *launch) { return launch->dealt; }
static int64_t turn_clocks(const plan_launch *launch) { return launch->pace.busy; }
static int64_t most_blocks(const plan_launch *launch) { return launch->most_blocks; }
static int64_t least_elements(const plan_launch *launch) { return launch->range.min_elements; }
static int64_t most_lines(const plan_launch *launch) { return launch->range.max_across; }
static int64_t least_panels(const plan_launch *launch) {
  return launch->range.max_values > 0 ? launch->range.min_across : 0;
}

static const int devices[] = {1, 2, 16, 66, 108, 132, 148, 170, 304};
#define DEVICES ((int)(sizeof devices / sizeof *devices))

/* Row-major tensors of all axes but those of `ones`, where they have one position. */
static void two_tensors(op_description *desc, int rank, llrt_dtype type, const char *destination,
                        const int64_t *shape, llrt_storage storage[2]) {
  const char *const text[] = {"row_major", destination};
  for (int t = 0; t < 2; t++) {
    cr_assert_eq(llrt_storage_parse(text[t], rank, NULL, &storage[t]), LLRT_OK, "%s",
                 llrt_last_error());
    desc->tensors[t] = (llrt_tensor){.dtype = type, .rank = rank, .storage = &storage[t]};
    desc->tensors[t].data = (void *)(uintptr_t)(4096 * (t + 1));
    memcpy(desc->tensors[t].shape, shape, (size_t)rank * sizeof *shape);
    for (int a = 0; a < rank && t == 1; a++)
      if (desc->combine.axes >> a & 1 && desc->kind == LLRT_OP_REDUCE)
        desc->tensors[t].shape[a] = 1;
  }
  desc->n_tensors = 2;
}

/* Blocks that share K: warpgroups' kernels take a multiprocessor each, others have 8 warps on each.
 */
Test(device_facts, products_share_k_by_units) {
  const llrt_tensor shape[] = {{.dtype = LLRT_BF16, .rank = 2, .shape = {64, 65536}},
                               {.dtype = LLRT_BF16, .rank = 2, .shape = {65536, 64}},
                               {.dtype = LLRT_BF16, .rank = 2, .shape = {64, 64}}};
  llrt_storage rows, columns;
  static described_dot call;
  cr_assert_eq(llrt_storage_row_major(2, &rows), LLRT_OK);
  cr_assert_eq(llrt_storage_parse("col_major", 2, NULL, &columns), LLRT_OK);
  llrt_tensor a = shape[0], b = shape[1], d = shape[2];
  a.storage = d.storage = &rows;
  b.storage = &columns;
  cr_assert_eq(described_dot_make(&a, &b, &d, NULL, &call), LLRT_OK, "%s", llrt_last_error());
  for (int t = 0; t < call.desc.n_tensors; t++) {
    call.desc.promises[t].address.multiple = 256;
    for (int axis = 0; axis < 3; axis++) call.desc.promises[t].stride[axis].multiple = 64;
  }
  for (int i = 0; i < DEVICES; i++) {
    plan_on(&call.desc, "sm_90a", devices[i]);
    cr_expect_eq(most_of(shares), devices[i], "sm_90a, %d units: %lld", devices[i],
                 (long long)most_of(shares));
    plan_on(&call.desc, "sm_80", devices[i]);
    int64_t warps = 8 * devices[i];
    cr_expect(most_of(shares) * 4 == warps || most_of(shares) * 8 == warps ||
                  most_of(shares) * 2 == warps || (most_of(shares) == 1 && warps <= 16),
              "sm_80, %d units: %lld", devices[i], (long long)most_of(shares));
  }
}

Test(device_facts, packed_products) {
  static packed_trial t;
  static const packed_problem of = {260,  144, 512, LLRT_BF16, LLRT_BF16, false, MXFP4(124, 127),
                                    true, 0};
  packed_trial_make(&t, &of);
  packed_trial_describe(&t);
  for (int i = 0; i < DEVICES; i++) {
    plan_on(&t.call.desc, "sm_90a", devices[i]);
    cr_expect_eq(most_of(dealt), devices[i]);
    cr_expect_gt(most_of(turn_clocks), 0, "%d units: none is chosen by its time", devices[i]);
  }
  packed_trial_drop(&t);
}

Test(device_facts, panels) {
  op_description desc = {.kind = LLRT_OP_CONVERT};
  llrt_storage storage[2];
  two_tensors(&desc, 4, LLRT_U8, "channels_last", (int64_t[]){2141, 40, 27, 29}, storage);
  cr_assert_eq(described_promise(&desc), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < DEVICES; i++) {
    plan_on(&desc, "sm_90a", devices[i]);
    const plan_kernel *first = &made.variant[0];
    cr_assert(first->panel.staged, "%d units", devices[i]);
    int64_t panels = 800 * devices[i] / 132, least = first->launch.range.min_elements;
    cr_expect(least == 0 || least == panels * first->panel.positions, "%d units: %lld", devices[i],
              (long long)least);
    cr_expect(least_elements(&first->launch) >= 0);
  }
}

Test(device_facts, gathered_panels) {
  op_description desc = {.kind = LLRT_OP_CONVERT};
  llrt_storage storage[2];
  const llrt_index index = {.axis = 1, .kind = LLRT_INDEX_COORDINATE, .dtype = LLRT_I32, .axes = 3};
  two_tensors(&desc, 2, LLRT_F32, "row_major", (int64_t[]){4096, 4096}, storage);
  desc.tensors[0].indices = &index;
  desc.tensors[0].n_indices = 1;
  for (int t = 0; t < 2; t++) desc.promises[t].address.multiple = 256;
  for (int i = 0; i < DEVICES; i++) {
    plan_on(&desc, "sm_90a", devices[i]);
    cr_expect_eq(most_of(least_panels), 2 * devices[i], "%d units: %lld", devices[i],
                 (long long)most_of(least_panels));
  }
}

/* A launch has as many blocks as stay on the device; which variant runs no device decides. */
Test(device_facts, scans) {
  op_description desc = {.kind = LLRT_OP_SCAN};
  llrt_storage storage[2];
  desc.combine = (llrt_op_combine){.op = LLRT_COMBINE_SUM, .axes = 2};
  two_tensors(&desc, 2, LLRT_F32, "row_major", (int64_t[]){64, 1 << 20}, storage);
  for (int t = 0; t < 2; t++) desc.promises[t].address.multiple = 256;
  plan_on(&desc, "sm_90a", 132);
  const int64_t lines = most_of(most_lines);
  cr_expect_gt(lines, 0);
  for (int i = 0; i < DEVICES; i++) {
    plan_on(&desc, "sm_90a", devices[i]);
    cr_expect_eq(most_of(most_blocks), 3 * (devices[i] > 148 ? devices[i] : 148));
    cr_expect_eq(most_of(most_lines), lines);
  }
}

/* How many blocks share a walk decides in which order numbers are joined: the same on all devices.
 */
Test(device_facts, reduces_are_no_devices) {
  op_description desc = {.kind = LLRT_OP_REDUCE};
  llrt_storage storage[2];
  desc.combine = (llrt_op_combine){.op = LLRT_COMBINE_SUM, .axes = 3};
  two_tensors(&desc, 2, LLRT_F32, "row_major", (int64_t[]){4096, 4096}, storage);
  for (int t = 0; t < 2; t++) desc.promises[t].address.multiple = 256;
  for (int i = 0; i < DEVICES; i++) {
    plan_on(&desc, "sm_90a", devices[i]);
    cr_expect_eq(most_of(shares), 448, "%d units", devices[i]);
  }
}
