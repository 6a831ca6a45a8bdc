/* Which tiles rows of experts take: between those for even rows and those for rows as Zipf's law
 * has them, of which few experts have most. */
#include "tests/open_device.h"

#include "base/text.h"
#include "jit/plan/check/plan_view.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/kernel/launch.h"
#include "jit/plan/plan_make.h"
#include "runtime/described.h"

#include <criterion/criterion.h>
#include <string.h>

#define UNITS 132
static int64_t N = 3072, K = 4096; /* of all experts' weights */

static described_dot call;
static plan made;

/* Nothing reads what lies there. */
static llrt_tensor tensor_of(llrt_device *device, llrt_dtype dtype, int number) {
  return (llrt_tensor){
      .dtype = dtype, .device = device, .data = (void *)((uintptr_t)(number + 1) << 40)};
}

static void plan_product(llrt_device *device, int64_t experts, int64_t rows) {
  llrt_storage turned;
  llrt_tensor a = tensor_of(device, LLRT_BF16, 0), b = tensor_of(device, LLRT_BF16, 1),
              d = tensor_of(device, LLRT_BF16, 2), ends = tensor_of(device, LLRT_I32, 3);
  cr_assert_eq(llrt_storage_parse("storage(rank=3, digits=[dim1: rest, dim2: rest, dim0: rest])", 3,
                                  NULL, &turned),
               LLRT_OK);
  a.rank = d.rank = 2;
  a.shape[0] = d.shape[0] = rows;
  a.shape[1] = b.shape[1] = K;
  d.shape[1] = b.shape[2] = N;
  b.rank = 3;
  b.shape[0] = ends.shape[0] = experts;
  b.storage = &turned;
  ends.rank = 1;
  plan_target target;
  const llrt_dot_params params = {.size = sizeof params, .dtype = LLRT_BF16, .ends = &ends};
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(described_dot_make(&a, &b, &d, &params, &call), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(described_promise(&call.desc), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(plan_make(&call.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
}

/* What is taken; NULL: nothing. */
static const plan_kernel *taken(int64_t experts, int64_t rows) {
  const llrt_tensor shape = {.rank = 4, .shape = {experts, rows, N, K}};
  const plan_kernel *best = NULL;
  int64_t least = INT64_MAX;
  for (int v = 0; v < made.n_variants; v += 1 + made.variant[v].launch.later) {
    const plan_kernel *last = &made.variant[v + made.variant[v].launch.later];
    const plan_launch *decides = plan_launch_decides(&made.variant[v].launch, &last->launch);
    const int64_t cost =
        plan_launch_takes(decides, &shape) ? plan_launch_cost(decides, &shape, UNITS) : INT64_MAX;
    if (cost < least) best = last;
    if (cost < least) least = cost;
  }
  return best;
}

/* Rows of the tile that is taken. */
static int tile_rows(int64_t experts, int64_t rows) {
  const plan_kernel *kernel = taken(experts, rows);
  return kernel ? (int)kernel->tile.positions[0] : 0;
}

/* Of tiles for few rows maps fetch memory's lines one by one. */
Test(grouped_choice, lines) {
  int few = 0;
  opened_device opened = open_device("cuda-emu:sm_90a");
  plan_product(opened.device, 128, 128);
  for (int v = 0; v < made.n_variants; v++) {
    const plan_kernel *kernel = &made.variant[v];
    few += kernel->tile.positions[0] <= 16;
    for (int i = 0; i < kernel->launch.n_boxes; i++)
      cr_expect_eq(kernel->launch.box[i].single, kernel->tile.positions[0] <= 16, "variant %d", v);
  }
  cr_expect_geq(few, 2);
  close_device(&opened);
}

Test(grouped_choice, rows) {
  static const struct {
    int64_t experts, rows;
    int tile;
  } cases[] = {{128, 128, 8},    {128, 512, 16},    {128, 2048, 64},
               {128, 8192, 128}, {128, 32768, 128}, {256, 1024, 16},
               {1, 512, 128},    {128, 1, 8},       {128, 0, 8}};
  opened_device opened = open_device("cuda-emu:sm_90a");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    plan_product(opened.device, cases[i].experts, cases[i].rows);
    const int tile = tile_rows(cases[i].experts, cases[i].rows);
    cr_expect_eq(tile, cases[i].tile, "%lld rows of %lld experts: tiles of %d",
                 (long long)cases[i].rows, (long long)cases[i].experts, tile);
  }
  close_device(&opened);
}

/* Blocks that run at the same time share the weights of as many tiles as an expert has, however
 * many others have: so it is no number of the launch that cuts bands. */
Test(grouped_choice, bands) {
  opened_device opened = open_device("cuda-emu:sm_90a");
  llrt_text text;
  llrt_text_init(&text);
  plan_product(opened.device, 128, 32768);
  const plan_kernel *kernel = taken(128, 32768);
  cr_assert_not_null(kernel);
  plan_print_kernel(kernel, 0, &text);
  cr_assert_not_null(text.data);
  cr_expect(strstr(text.data, "in bands of 16 of d1, of each expert's own"), "%s", text.data);
  llrt_text_fini(&text);
  close_device(&opened);
}

/* Two blocks of narrow tiles stay on a multiprocessor, whose shared memory both have room in. */
Test(grouped_choice, twice) {
  static const struct {
    int64_t rows;
    int blocks;
  } cases[] = {{128, 2}, {512, 2}, {2048, 2}, {32768, 1}};
  opened_device opened = open_device("cuda-emu:sm_90a");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    plan_product(opened.device, 128, cases[i].rows);
    const plan_kernel *kernel = taken(128, cases[i].rows);
    cr_assert_not_null(kernel);
    cr_expect_eq(kernel->launch.rounds, cases[i].blocks, "%lld rows: %d blocks",
                 (long long)cases[i].rows, kernel->launch.rounds);
    cr_expect_leq(cases[i].blocks * (kernel->launch.shared_bytes + 1024), 228 << 10,
                  "%lld rows: %d bytes", (long long)cases[i].rows, kernel->launch.shared_bytes);
  }
  close_device(&opened);
}

/* Teams multiply rows of many tiles that 160 or 176 columns divide well. */
Test(grouped_choice, teams) {
  static const struct {
    int64_t experts, n, k, rows;
    int teams;
  } cases[] = {{32, 5760, 2880, 4 * 4096, 2},
               {32, 5760, 2880, 4 * 16384, 2},
               {32, 5760, 2880, 4 * 256, 1},
               {128, 3072, 4096, 8 * 4096, 1},
               {128, 3072, 4096, 8 * 16384, 1}};
  opened_device opened = open_device("cuda-emu:sm_90a");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    N = cases[i].n;
    K = cases[i].k;
    plan_product(opened.device, cases[i].experts, cases[i].rows);
    const plan_kernel *kernel = taken(cases[i].experts, cases[i].rows);
    cr_assert_not_null(kernel);
    cr_expect_eq(1 << kernel->team_bits, cases[i].teams, "case %zu: teams: %d", i,
                 1 << kernel->team_bits);
    cr_expect_eq(plan_asks_late(kernel), kernel->tile.positions[1] == 256, "case %zu", i);
  }
  close_device(&opened);
}
