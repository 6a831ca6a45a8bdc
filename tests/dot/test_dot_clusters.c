/* Products whose blocks of a cluster share K, on an emulated device whose lanes stay apart. */
#include "planned_kernels.h"

#include <stdlib.h>

static planned_kernels t;

static bool shares_k(const plan_kernel *kernel) {
  return kernel->tile.cluster > 1 && kernel->launch.stage == 0 && kernel->launch.later == 0;
}

/* All of them; of clusters there is each size. */
static void run_clusters(const dot_problem *problem) {
  int sizes = 0;
  planned_kernels_open(&t, problem, 777);
  for (int v = planned_kernels_next(&t, shares_k, 0); v >= 0;
       v = planned_kernels_next(&t, shares_k, v + 1)) {
    sizes |= 1 << t.made.variant[v].cluster_bits;
    planned_kernels_run(&t, v);
  }
  cr_expect_eq(sizes, 14, "clusters of 2^%d", sizes);
  planned_kernels_close(&t);
}

static void keep_apart(void) { setenv("LLRT_EMU_LANES", "apart", 1); }

/* Turns of K for one block alone, for a part of the blocks, and for each of them; lanes of a warp
 * store rows that are there and rows that are not, in some blocks of a cluster alone. */
Test(dot_clusters, short_k, .init = keep_apart, .timeout = 300) {
  static const int64_t ks[] = {64, 72, 128, 320, 512, 576, 640};
  for (size_t i = 0; i < sizeof ks / sizeof *ks; i++)
    run_clusters(&(dot_problem){SHAPE(11, 72, ks[i]), TYPES(BF16, BF16), LIES("", "col_major")});
}

Test(dot_clusters, rows, .init = keep_apart, .timeout = 300) {
  static const dot_problem problems[] = {
      {SHAPE(1, 64, 1096), TYPES(BF16, BF16), LIES("", "col_major")},
      {SHAPE(61, 128, 200), TYPES(F16, F16), LIES("", "col_major")},
      {SHAPE(130, 72, 264), TYPES(BF16, BF16)},
      {SHAPE(67, 64, 1040), TYPES(I8, I8), LIES("", "col_major")},
  };
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) run_clusters(&problems[i]);
}
