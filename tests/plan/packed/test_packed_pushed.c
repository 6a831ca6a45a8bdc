/* Packed weights by clusters that share K: their blocks push sums to those that join them, and what
 * is wrong with that is found. */
#include "tests/plan/packed_trial.h"

#include "jit/plan/check/plan_view.h"
#include "jit/plan/facts/buffer_use.h"
#include "jit/plan/plan_make.h"
#include "jit/plan/types/target.h"
#include "runtime/described.h"

#include <criterion/criterion.h>
#include <string.h>

static const packed_problem of_8_rows = {
    8, 144, 4096, LLRT_BF16, LLRT_BF16, false, MXFP4(124, 127), true, 0};

static plan made;

static void make_plan(packed_trial *t) {
  plan_target target;
  packed_trial_make(t, &of_8_rows);
  packed_trial_describe(t);
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(plan_make(&t->call.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
}

/* The number of the barrier at which a kernel's warps wait for what is pushed; -1. */
static int waiting_step(const plan_kernel *kernel) {
  int at = kernel->n_steps - 1;
  while (at >= 0 && !(kernel->step[at].kind == PLAN_BARRIER && kernel->step[at].pushed)) at--;
  return at;
}

/* Blocks that push meet nowhere else. All of few rows do, and larger ones where sums have room
 * beside rings. */
Test(packed_pushed, who_pushes) {
  static packed_trial t;
  int pushing[2] = {0}, clusters[2] = {0};
  make_plan(&t);
  for (int v = 0; v < made.n_variants; v++) {
    const plan_kernel *kernel = &made.variant[v];
    if (kernel->cluster_bits == 0) continue;
    const int at = plan_pushed_buffer(kernel), large = kernel->tile.positions[0] > 32;
    clusters[large]++;
    pushing[large] += at >= 0;
    if (kernel->tile.cluster < 8) /* of eight, results may move to others' blocks */
      cr_expect_eq(plan_meets_cluster(kernel, kernel->n_steps), at < 0, "variant %d", v);
    cr_expect_eq(waiting_step(kernel) >= 0, at >= 0, "variant %d", v);
    if (at >= 0)
      cr_expect_eq(kernel->buffer[at].bytes << kernel->cluster_bits,
                   4 << kernel->buffer[at].layout.out[0].bits, "variant %d", v);
  }
  cr_expect(pushing[0] == clusters[0] && clusters[0] > 0, "%d of %d", pushing[0], clusters[0]);
  cr_expect(pushing[1] < clusters[1] && pushing[1] > 0, "%d of %d", pushing[1], clusters[1]);
  packed_trial_drop(&t);
}

static plan_kernel *first_pushing(void) {
  int v = 0;
  while (v < made.n_variants && plan_pushed_buffer(&made.variant[v]) < 0) v++;
  cr_assert(v < made.n_variants);
  return &made.variant[v];
}

static void expect_refused(const plan_kernel *kernel, const char *why) {
  cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL, "%s", why);
  cr_expect(strstr(llrt_last_error(), why), "%s", llrt_last_error());
}

Test(packed_pushed, verified) {
  static packed_trial t;
  make_plan(&t);
  plan_kernel *kernel = first_pushing();
  const int at = waiting_step(kernel), buffer = plan_pushed_buffer(kernel);
  cr_expect_eq(plan_verify(kernel), LLRT_OK, "%s", llrt_last_error());
  kernel->step[at].pushed = false;
  expect_refused(kernel, "nothing waits for what is pushed");
  kernel->step[at].pushed = true;
  const int offset = kernel->buffer[buffer].offset;
  kernel->buffer[buffer].offset = 0;
  expect_refused(kernel, "lie in one place");
  kernel->buffer[buffer].offset = offset;
  kernel->buffer[buffer].pushed = false;
  expect_refused(kernel, "another block's memory");
  packed_trial_drop(&t);
}

/* Results change places before they are stored: where sums were pushed, which all have come in. */
Test(packed_pushed, used_again) {
  static packed_trial t;
  int again = 0;
  make_plan(&t);
  for (int v = 0; v < made.n_variants; v++) {
    plan_kernel *kernel = &made.variant[v];
    const int at = plan_pushed_buffer(kernel);
    if (at < 0 || at + 1 == kernel->n_buffers) continue;
    kernel->buffer[at + 1].offset = kernel->buffer[at].offset;
    cr_expect_eq(plan_verify(kernel), LLRT_OK, "variant %d: %s", v, llrt_last_error());
    again++;
  }
  cr_expect(again > 0);
  packed_trial_drop(&t);
}
