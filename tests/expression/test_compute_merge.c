/* Axes that follow each other in memory are one (runtime/compute_merge.c): then matrices of any
 * shape have one kernel, and elements are where they were. */
#include "backends/backend.h"
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>

typedef struct merging {
  const char *text;
  const char *storage; /* of x */
  int kernels;         /* of both shapes */
  llrt_dtype type;     /* of x; NONE: f32 */
} merging;

static uint64_t compiles_of(const llrt_device *device) {
  llrt_context_stats stats = {.size = sizeof stats};
  cr_assert_eq(llrt_context_get_stats(device->context, &stats), LLRT_OK);
  return stats.compiles;
}

/* Rows of two odd lengths, of which the shorter one would be compiled in. */
static void check(const merging *m) {
  static const int64_t extents[2][2] = {{7, 501}, {3, 2003}};
  llrt_device *device = trial_device("cuda-emu:sm_90a");
  cr_assert_not_null(device, "%s", llrt_last_error());
  uint64_t before = compiles_of(device);
  for (int i = 0; i < 2; i++) {
    trial t = {.text = m->text,
               .device = device,
               .extent = {extents[i][0], extents[i][1]},
               .tensor = {{.type = m->type, .storage = m->storage}}};
    const char *wrong = trial_run(&t);
    cr_assert_null(wrong, "%s, %d x %d: %s", m->text, (int)t.extent[0], (int)t.extent[1], wrong);
  }
  cr_expect_eq(compiles_of(device) - before, (uint64_t)m->kernels, "%s: %d kernels", m->text,
               (int)(compiles_of(device) - before));
}

Test(compute_merge, rows) {
  static const merging cases[] = {
      {"(x[t n]) -> (y[t n]) { y = abs(x) }", NULL, 1, 0},
      {"(x[t n], r[t n]) -> (y[t n], h[t n]) { h = x + r; y = h * 2 }", NULL, 1, 0},
      {"(x[t (n p:2)]) -> (y[t n]) { y = abs(x[p=0]) * x[p=1] }", NULL, 1, LLRT_BF16},
      {"(x[t (n j:4)]) -> (q[t (n j)], s[t n]) { s = max(x, j); q = x - s }", NULL, 1, 0},
      /* What speaks of an axis, or lacks one, keeps them apart. */
      {"(x[t (n j:4)]) -> (q[t (n j)], s[t n]) { s = max(x, j); q = x - s * n }", NULL, 2, 0},
      {"(x[t n]) -> (y[t n]) { y = x + n }", NULL, 2, 0},
      {"(x[t n], b[n]) -> (y[t n]) { y = x - b }", NULL, 2, 0},
      {"(x[t n]) -> (y[t n]) { y = -x }", "col_major", 2, 0},
      {"(x[t n]) -> (y[t ~n]) { y = x * x }", NULL, 2, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(&cases[i]);
}
