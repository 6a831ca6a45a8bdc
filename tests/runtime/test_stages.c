/* Operations of several kernels and their workspace: a convert to col_major made of two, with
 * row_major in between in the workspace. */
#include "convert_fixture.h"

#include "jit/plan/kernel/plan.h"
#include "jit/plan/plan_make.h"
#include "runtime/described.h"
#include "runtime/prepared.h"

#define MIDDLE (ELEMENTS * (int)sizeof(float))
#define BEFORE 100 /* bytes of a region that nobody uses; the next is aligned */

/* The kernel that takes any shape. */
static void plan_stage(const llrt_tensor *source, const llrt_tensor *destination, plan *made,
                       plan_kernel *kernel) {
  op_description desc = {
      .kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = {*source, *destination}};
  plan_target target;
  cr_assert_eq(llrt_host_target(&target), LLRT_OK);
  cr_assert_eq(plan_make(&desc, &target, NULL, made), LLRT_OK);
  *kernel = made->variant[made->n_variants - 1];
}

static void view_as(plan_kernel *kernel, int source, int destination) {
  kernel->launch.view = (plan_view){.used = true,
                                    .n = 2,
                                    .rank = 2,
                                    .axis = {0, 1},
                                    .tensor = {(int8_t)source, (int8_t)destination}};
}

/* An operation of two stages, of which the second reads what the first left. */
static llrt_op *make_staged(const fixture *at) {
  plan *made = malloc(sizeof *made);
  plan_kernel *stage = malloc(2 * sizeof *stage);
  llrt_storage rows;
  storage_set set;
  llrt_op *op;
  op_description desc = fixture_desc(at);
  llrt_tensor source = at->source, middle = at->source;
  cr_assert_eq(llrt_storage_row_major(2, &rows), LLRT_OK);
  source.storage = middle.storage = &rows;
  plan_stage(&source, &middle, made, &stage[0]);
  plan_stage(&middle, &at->destination, made, &stage[1]);
  view_as(&stage[0], 0, -2);
  view_as(&stage[1], -2, 1);
  stage[0].launch.later = 1;
  stage[1].launch.stage = 1;
  stage[0].launch.workspace =
      (plan_workspace){.n = 2, .clear = true, .region = {{.fixed = BEFORE}, {.per_partial = 4}}};
  cr_assert_eq(llrt_storage_set_init(desc.tensors, 2, 0, &set), LLRT_OK);
  cr_assert_eq(llrt_op_make(at->host, &desc, &set, &op), LLRT_OK);
  cr_assert_eq(llrt_op_build_kernels(op, stage, 2), LLRT_OK, "%s", llrt_last_error());
  free(stage);
  free(made);
  return op;
}

static void run_staged(fixture *at, llrt_op *op) {
  llrt_tensor tensors[2] = {at->source, at->destination};
  size_t bytes;
  cr_assert_eq(llrt_op_workspace(op, tensors, 2, &bytes), LLRT_OK, "%s", llrt_last_error());
  cr_assert(bytes >= BEFORE + MIDDLE && bytes < BEFORE + MIDDLE + 512, "%zu bytes", bytes);
  unsigned char *memory = aligned_alloc(256, 4096 + MIDDLE);
  memset(memory, 0, bytes);
  llrt_run_params params = {.workspace = memory, .workspace_bytes = bytes - 1};
  cr_expect_eq(llrt_op_run(op, NULL, tensors, 2, NULL), LLRT_INVALID_ARGUMENT);
  expect_said("bytes of workspace");
  cr_expect_eq(llrt_op_run(op, NULL, tensors, 2, &params), LLRT_INVALID_ARGUMENT);
  expect_said("the operation needs");
  params = (llrt_run_params){.workspace = memory + 4, .workspace_bytes = bytes};
  cr_expect_eq(llrt_op_run(op, NULL, tensors, 2, &params), LLRT_INVALID_ARGUMENT);
  expect_said("no multiple");
  params = (llrt_run_params){.workspace = NULL, .workspace_bytes = bytes};
  cr_expect_eq(llrt_op_run(op, NULL, tensors, 2, &params), LLRT_INVALID_ARGUMENT);
  cr_expect(fixture_is_untouched(at));
  params.workspace = memory;
  cr_assert_eq(llrt_op_run(op, NULL, tensors, 2, &params), LLRT_OK, "%s", llrt_last_error());
  cr_expect(fixture_is_converted(at));
  for (size_t i = 0; i < bytes; i++) cr_assert_eq(memory[i], 0, "byte %zu is left", i);
  free(memory);
}

Test(stages, the_second_reads_what_the_first_left) {
  fixture at;
  fixture_make(&at, &fixture_params);
  llrt_op *op = make_staged(&at);
  run_staged(&at, op);
  llrt_op_destroy(&op);
  fixture_end(&at);
}

Test(stages, saved_and_loaded) {
  static char saved[1 << 20];
  size_t size = sizeof saved;
  fixture at;
  fixture_make(&at, &fixture_params);
  llrt_op *op = make_staged(&at), *loaded;
  cr_assert_eq(llrt_op_save(op, saved, &size), LLRT_OK);
  cr_assert_eq(llrt_op_load(at.host, saved, size, &loaded), LLRT_OK, "%s", llrt_last_error());
  run_staged(&at, loaded);
  llrt_op_destroy(&loaded);
  llrt_op_destroy(&op);
  fixture_end(&at);
}

/* An operation on the host whose variants take at most four rows, and no fewer than `least`
 * positions to sum. */
static llrt_op *make_bounded(const fixture *at, described_dot *call, int64_t least) {
  plan *made = malloc(sizeof *made);
  plan_target target;
  storage_set set;
  llrt_op *op;
  llrt_tensor a = {.dtype = LLRT_F32, .rank = 2, .shape = {8, 8}, .device = at->host}, b = a, d = a;
  const llrt_dot_params params = {.size = sizeof params};
  cr_assert_eq(llrt_host_target(&target), LLRT_OK);
  cr_assert_eq(described_dot_make(&a, &b, &d, &params, call), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(plan_make(&call->desc, &target, NULL, made), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < made->n_variants; i++) {
    made->variant[i].launch.range.max_extent[0] = 4;
    made->variant[i].launch.range.min_extent[2] = least;
  }
  cr_assert_eq(llrt_storage_set_init(call->desc.tensors, call->desc.n_tensors, 0, &set), LLRT_OK);
  cr_assert_eq(llrt_op_make(at->host, &call->desc, &set, &op), LLRT_OK);
  cr_assert_eq(llrt_op_build_kernels(op, made->variant, made->n_variants), LLRT_OK, "%s",
               llrt_last_error());
  free(made);
  return op;
}

/* What stands in the way is named: only K that is too short is told of as such. */
Test(stages, the_axis_without_a_kernel_is_named) {
  static const struct {
    int64_t m, k, least;
    llrt_status status;
    const char *words;
  } cases[] = {{5, 8, 0, LLRT_INTERNAL, "5 positions of axis 0"},
               {4, 8, 9, LLRT_UNSUPPORTED, "K has 8 positions, no more than a group of scales"},
               {4, 0, 1, LLRT_INTERNAL, "0 positions of axis 2"},
               {5, 8, 9, LLRT_INTERNAL, "covers the shape"}};
  static described_dot call;
  fixture at;
  fixture_make(&at, &fixture_params);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    llrt_op *op = make_bounded(&at, &call, cases[i].least);
    llrt_tensor first = call.desc.tensors[0];
    first.shape[0] = cases[i].m;
    first.shape[2] = cases[i].k;
    cr_assert_eq(llrt_op_pick(op, &first), -1);
    cr_expect_eq(llrt_op_refuse_shape(op, &first), cases[i].status, "%zu", i);
    expect_said(cases[i].words);
    llrt_op_destroy(&op);
  }
  fixture_end(&at);
}

/* ---- workspace of one call ---- */

typedef struct counted {
  int held, allocations;
  size_t bytes;
} counted;

static void *count_allocate(void *user, llrt_device *device, size_t bytes, void *stream) {
  counted *count = user;
  (void)device;
  (void)stream;
  count->held++;
  count->allocations++;
  count->bytes += bytes;
  void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
  memset(memory, 0xA5, bytes);
  return memory;
}

static void count_release(void *user, llrt_device *device, void *memory, void *stream) {
  (void)device;
  (void)stream;
  ((counted *)user)->held--;
  free(memory);
}

/* The staged operation in a context whose allocations of device memory are counted. */
static llrt_op *make_counted(fixture *at, counted *count) {
  llrt_context_params params = fixture_params;
  params.allocator.user = count;
  params.allocator.allocate = count_allocate;
  params.allocator.release = count_release;
  fixture_make(at, &params);
  return make_staged(at);
}

/* Allocated at the first call, kept for those behind it, given back by a trim and with the device.
 */
Test(stages, calls_keep_their_workspace) {
  counted count = {0};
  fixture at;
  llrt_op *op = make_counted(&at, &count);
  op_call call = {.n = 2, .tensor = {at.source, at.destination}};
  for (int t = 0; t < 2; t++)
    cr_assert_eq(
        llrt_storage_bind(&op->set->storage[t], 2, call.tensor[t].shape, NULL, &call.binding[t]),
        LLRT_OK);
  for (int round = 0; round < 2; round++) {
    int allocations = count.allocations;
    for (int again = 0; again < 3; again++) {
      cr_assert_eq(llrt_op_launch_alone(op, 0, &call, NULL), LLRT_OK, "%s", llrt_last_error());
      cr_expect(fixture_is_converted(&at));
      if (again == 0) allocations = count.allocations - allocations;
    }
    cr_expect_eq(count.held, allocations);
    cr_expect_eq(count.allocations, (round + 1) * allocations);
    cr_expect_geq(count.bytes, MIDDLE);
    if (round == 1) break;
    cr_assert_eq(llrt_context_trim(at.context, 0), LLRT_OK, "%s", llrt_last_error());
    cr_expect_eq(count.held, 0);
  }
  llrt_op_destroy(&op);
  fixture_end(&at);
  cr_expect_eq(count.held, 0);
}

/* The same of runs that are asked to bring it; they share it with calls. */
Test(stages, runs_keep_their_workspace) {
  counted count = {0};
  fixture at;
  llrt_op *op = make_counted(&at, &count);
  const llrt_tensor tensors[2] = {at.source, at.destination};
  llrt_run_params run = {.size = sizeof run, .own_workspace = 1};
  int allocations = 0;
  for (int again = 0; again < 3; again++) {
    memset(at.output, 0, sizeof at.output);
    cr_assert_eq(llrt_op_run(op, NULL, tensors, 2, &run), LLRT_OK, "%s", llrt_last_error());
    cr_expect(fixture_is_converted(&at));
    if (again == 0) allocations = count.allocations;
  }
  cr_expect_gt(allocations, 0);
  cr_expect_eq(count.allocations, allocations);
  run.own_workspace = 2;
  cr_expect_eq(llrt_op_run(op, NULL, tensors, 2, &run), LLRT_INVALID_ARGUMENT);
  expect_said("own_workspace is 2, not 0 or 1");
  run.own_workspace = 1;
  run.workspace = at.output;
  cr_expect_eq(llrt_op_run(op, NULL, tensors, 2, &run), LLRT_INVALID_ARGUMENT);
  expect_said("workspace is not NULL, and own_workspace is set");
  llrt_op_destroy(&op);
  fixture_end(&at);
  cr_expect_eq(count.held, 0);
}

/* ---- ranges and shares ---- */

Test(stages, turns_are_shared_by_shape_alone) {
  static const struct {
    int64_t walked, other, splits, share;
  } rows[] = {
      {1024, 64, 1, 1024}, /* enough blocks */
      {1024, 16, 4, 256},
      {1000, 1, 59, 17}, /* no more than 62 shares of at least 16 turns */
      {15, 1, 1, 15},
      {17, 1, 1, 17},
      {0, 3, 1, 0}, /* nothing to walk, but blocks to write */
      {1 << 20, 1, 64, 1 << 14},
  };
  plan_launch launch = {.n_grid = 2, .walk = {.n = 1, .axes = 1, .blocks = 64, .least = 16}};
  launch.walk.place[0] = (plan_grid_place){.axis = 0, .factor = 1};
  launch.grid[0] = (plan_grid_place){.axis = 1, .factor = 1};
  launch.grid[1] = (plan_grid_place){.axis = PLAN_AXIS_SPLITS};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    llrt_tensor tensor = {.rank = 2, .shape = {rows[i].walked, rows[i].other}};
    llrt_storage_binding binding = {.span = 1};
    plan_run run;
    uint64_t args[PLAN_MAX_ARGS];
    int64_t blocks;
    cr_assert_eq(plan_run_begin(&launch, &tensor, &binding, 1, &run), LLRT_OK);
    cr_expect_eq(run.splits, rows[i].splits, "%lld walked: %lld splits", (long long)rows[i].walked,
                 (long long)run.splits);
    cr_expect_eq(run.share, rows[i].share, "%lld walked: %lld a share", (long long)rows[i].walked,
                 (long long)run.share);
    cr_assert_eq(plan_run_stage(&launch, &run, args, &blocks), LLRT_OK);
    cr_expect_eq(blocks, rows[i].splits * rows[i].other);
  }
}

Test(stages, ranges_of_products) {
  const plan_range range = {.axes = 2, .min_along = 100, .max_across = 50};
  const int64_t inside[] = {50, 100}, short_walk[] = {50, 99}, many[] = {51, 100};
  cr_expect(plan_range_contains(&range, 2, inside));
  cr_expect(!plan_range_contains(&range, 2, short_walk));
  cr_expect(!plan_range_contains(&range, 2, many));
}
