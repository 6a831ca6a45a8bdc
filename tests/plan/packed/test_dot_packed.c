/* Dots with packed weights: plans executed by the interpreter, and what the checks of plans refuse.
 */
#include "tests/plan/packed_trial.h"

#include "jit/interpret/plan_interpret.h"
#include "jit/plan/check/plan_view.h"
#include "jit/plan/kernel/plan.h"
#include "jit/plan/plan_choice.h"
#include "jit/plan/plan_make.h"
#include "jit/plan/types/target.h"
#include "runtime/described.h"

#include <criterion/criterion.h>
#include <string.h>

/* More than kernels for few columns take, and more than what a device takes at once. */
static const int64_t many_columns[] = {8192, 16384};
#define SHORT 608 /* along K: what is interpreted by those for many columns, too */

static plan made;

/* Plans what a trial describes for sm_90a. */
static void make_plan(const packed_trial *t) {
  plan_target target;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(plan_make(&t->call.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
}

#define UNITS 132 /* multiprocessors of the device that chooses */

/* The first stage of what a problem's rows take where there are so many columns. */
static const plan_kernel *variant_for(const packed_problem *of, int64_t columns) {
  const llrt_tensor first = {.rank = 3, .shape = {of->m, columns, of->k}};
  int picked = plan_pick(&made, &first, UNITS);
  return picked < 0 ? NULL : &made.variant[picked];
}

static llrt_status interpret(const packed_trial *t, const plan_kernel *kernel) {
  const op_description *desc = &t->call.desc;
  const int64_t shape[3] = {t->of->m, t->of->n, t->of->k};
  llrt_storage_binding bindings[LLRT_MAX_TENSORS];
  llrt_tensor tensors[LLRT_MAX_TENSORS];
  for (int n = 0; n < desc->n_tensors; n++) {
    tensors[n] = desc->tensors[n];
    cr_assert_eq(llrt_storage_bind(tensors[n].storage, 3, tensors[n].shape, tensors[n].strides,
                                   &bindings[n]),
                 LLRT_OK, "%s", llrt_last_error());
    memcpy(tensors[n].shape, shape, sizeof shape);
  }
  return plan_interpret(kernel, tensors, bindings, desc->n_tensors);
}

Test(dot_packed, plans) {
  static packed_trial t;
  for (size_t i = 0; i < PACKED_PROBLEMS; i++) {
    packed_trial_make(&t, &packed_problems[i]);
    packed_trial_describe(&t);
    make_plan(&t);
    packed_trial_permute(&t, false);
    const plan_kernel *kernel[3] = {variant_for(&packed_problems[i], packed_problems[i].n)};
    int n = 1;
    for (int j = 0; j < 2 && packed_problems[i].k <= SHORT; j++) {
      const plan_kernel *other = variant_for(&packed_problems[i], many_columns[j]);
      if (other && other != kernel[n - 1]) kernel[n++] = other;
    }
    for (int k = 0; k < n; k++) {
      memset(t.d.data, 0xff,
             (size_t)(packed_problems[i].m * packed_problems[i].n *
                      llrt_dtype_bits(packed_problems[i].d) / 8));
      llrt_status status = interpret(&t, kernel[k]);
      cr_assert_eq(status, LLRT_OK, "%d: %s", (int)i, llrt_last_error());
      packed_trial_permute(&t, true);
      packed_trial_check(&t, "interpreter");
      packed_trial_permute(&t, false);
    }
    packed_trial_permute(&t, true);
    packed_trial_drop(&t);
  }
}

/* Slots of products under way are not free: the interpreter says so. */
Test(dot_packed, planted) {
  static packed_trial t;
  static const packed_problem of = {260,  144, 512, LLRT_BF16, LLRT_F32, true, MXFP4(124, 127),
                                    true, 0};
  packed_trial_make(&t, &of);
  packed_trial_describe(&t);
  make_plan(&t);
  plan_kernel *kernel = &made.variant[made.n_variants - 1];
  int at = 0, released = 0;
  for (; at < kernel->n_steps; at++) {
    if (kernel->step[at].kind == PLAN_RELEASE) released += kernel->step[at].turns--;
  }
  cr_assert_eq(released, 1, "no producers");
  cr_expect_eq(kernel->launch.n_boxes, 3);
  cr_expect_eq(interpret(&t, kernel), LLRT_INTERNAL);
  cr_expect(strstr(llrt_last_error(), "is free while products read it"), "%s", llrt_last_error());
  packed_trial_drop(&t);
}

/* The first variant whose last kernel holds what is asked of it; none: NULL. */
static plan_kernel *variant_that(bool (*holds)(const plan_kernel *kernel)) {
  for (int i = 0; i < made.n_variants; i++)
    if (made.variant[i].launch.later == 0 && holds(&made.variant[i])) return &made.variant[i];
  return NULL;
}

static int product_of(const plan_kernel *kernel) {
  int at = 0;
  while (kernel->step[at].kind != PLAN_DOT) at++;
  return at;
}

static bool sums_beside(const plan_kernel *kernel) {
  return kernel->step[product_of(kernel)].fresh_sums;
}

static bool has_boxes(const plan_kernel *kernel) { return kernel->launch.n_boxes > 0; }

/* What only scales that make e5m2 of e2m1 may do, and only sums in registers beside others. */
Test(dot_packed, bytes_verified) {
  static packed_trial t;
  static const packed_problem rows[] = {
      {60, 64, 256, LLRT_BF16, LLRT_F32, true, MXFP4(124, 127), true, 0},
      {60, 64, 256, LLRT_E4M3, LLRT_F32, true, MXFP4(124, 127), true | BYTES, 0}};
  for (int bytes = 0; bytes < 2; bytes++) {
    packed_trial_make(&t, &rows[bytes]);
    packed_trial_describe(&t);
    make_plan(&t);
    plan_kernel *kernel = variant_that(sums_beside);
    cr_assert_eq(kernel != NULL, bytes);
    if (!kernel) kernel = variant_that(has_boxes);
    cr_assert(kernel);
    int map = 0, product = product_of(kernel);
    while (kernel->map[map].kind != PLAN_MAP_SCALE) map++;
    cr_expect_eq(kernel->map[map].to, bytes ? LLRT_E5M2 : LLRT_BF16);
    kernel->map[map].shift = 3;
    cr_expect_eq(plan_verify(kernel), bytes ? LLRT_OK : LLRT_INTERNAL, "%s", llrt_last_error());
    kernel->map[map].shift = 0;
    kernel->step[product].parts = kernel->step[product].fresh_sums = true;
    cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL);
    packed_trial_drop(&t);
  }
}

/* Boxes are what products read, and come first; what threads copy beside them is for threads alone.
 */
Test(dot_packed, boxes) {
  static packed_trial t;
  static const packed_problem rows[] = {
      {260, 144, 512, LLRT_BF16, LLRT_F32, true, MXFP4(124, 127), true, 0},
      {100, 144, 512, LLRT_F16, LLRT_F32, false, 12, 16, LLRT_I4, LLRT_F16, 128, NONE, true, 8},
      {260, 144, 512, LLRT_E4M3, LLRT_F32, true, MXFP4(124, 127), true, 0},
      {260, 144, 512, LLRT_BF16, LLRT_F32, true, MXFP4(124, 127), true, 4}};
  static const int n_boxes[] = {3, 3, 1, 0};
  static const char *const without[] = {"beside boxes", "beside boxes", "no ring of producers"};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    packed_trial_make(&t, &rows[i]);
    packed_trial_describe(&t);
    for (int s = 0; s < t.call.desc.n_tensors && rows[i].gap % 8; s++)
      t.call.desc.promises[s].stride[1].multiple = t.call.desc.promises[s].stride[0].multiple = 4;
    make_plan(&t);
    plan_kernel *kernel = variant_that(has_boxes);
    cr_expect_eq(kernel ? kernel->launch.n_boxes : 0, n_boxes[i], "%zu", i);
    packed_trial_drop(&t);
    if (!kernel) continue;
    cr_expect_eq(plan_verify(kernel), LLRT_OK, "%zu: %s", i, llrt_last_error());
    int at = 0;
    while (kernel->step[at].box == 0 || kernel->step[at].tensor != 0) at++; /* A */
    kernel->step[at].box = 0;
    cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL, "%zu", i);
    cr_expect(strstr(llrt_last_error(), without[i]), "%zu: %s", i, llrt_last_error());
  }
}
