/* The steps of a search, one by one: what is listed, what is compiled together, which candidates
 * are checked. Nothing here depends on what a machine's clock says. */
#include "runtime/tune_search.h"

#include "base/parallel.h"
#include "runtime/context.h"
#include "runtime/described.h"
#include "runtime/tune_data.h"

#include <criterion/criterion.h>
#include <string.h>

/* A product in bf16 or a conversion between orders, on a device of a context of its own, and a
 * search that has not begun. Loops go to run_alone, which counts. */
typedef struct fixture {
  llrt_context *context;
  llrt_device *device;
  described_dot call;
  llrt_storage storage[2];
  tuning t;
  bool pooled;        /* loops are the library's threads', and not counted */
  int loops, longest; /* calls of the loop; the most that one had to do */
  int told[LLRT_TUNE_KEPT + 1];
} fixture;

static void run_alone(void *user, int64_t count, llrt_parallel_body *body, void *data) {
  fixture *f = user;
  f->loops++;
  if (count > f->longest) f->longest = (int)count;
  body(data, 0, count);
}

static void note(void *user, const llrt_tune_candidate *c) {
  fixture *f = user;
  f->told[c->state]++;
}

static void open_on(fixture *f, const char *name) {
  const llrt_context_params params = {.size = sizeof params,
                                      .jit_library = LLRT_TEST_JIT_LIBRARY,
                                      .threads = 4,
                                      .parallel_for = f->pooled ? NULL : run_alone,
                                      .parallel_user = f};
  cr_assert_eq(llrt_context_create(&params, &f->context), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_device_open(f->context, name, NULL, &f->device), LLRT_OK, "%s",
               llrt_last_error());
}

/* The planned kernels, timed, as the best so far. */
static void begin_search(fixture *f, bool in_any_order) {
  tuning *t = &f->t;
  op_description *desc = &f->call.desc;
  for (int i = 0; i < desc->n_tensors; i++) desc->tensors[i].data = (void *)256;
  if (desc->in_place) desc->tensors[1].data = desc->tensors[0].data;
  cr_assert_eq(described_promise(desc), LLRT_OK, "%s", llrt_last_error());
  const llrt_op_desc shown = described_as(desc);
  const op_wishes wishes = {.any_order = in_any_order};
  cr_assert_eq(llrt_op_prepare_as(f->device, &shown, wishes, &t->op), LLRT_OK, "%s",
               llrt_last_error());
  t->params = (llrt_prepare_params){.user = f, .on_candidate = note};
  t->deadline = tune_now() + 1e7;
  t->most_over = t->fastest = t->clocks_us = 1;
  t->best_plan = malloc(sizeof *t->best_plan);
  cr_assert_eq(tune_bench_begin(t->op, &shown, &t->bench), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(tune_plan(t, &(plan_choice){.n = 0}, t->best_plan), LLRT_OK, "%s",
               llrt_last_error());
  llrt_hash hash;
  cr_assert_eq(plan_variant_hash(t->best_plan, &hash), LLRT_OK);
  cr_assert(tune_is_new(t, hash));
}

static void begin_dot(fixture *f, const char *device, int64_t m, int64_t n, int64_t k) {
  memset(f, 0, sizeof *f);
  open_on(f, device);
  const llrt_tensor a = {.dtype = LLRT_BF16, .rank = 2, .shape = {m, k}, .device = f->device},
                    b = {.dtype = LLRT_BF16, .rank = 2, .shape = {k, n}, .device = f->device},
                    d = {.dtype = LLRT_BF16, .rank = 2, .shape = {m, n}, .device = f->device};
  cr_assert_eq(described_dot_make(&a, &b, &d, NULL, &f->call), LLRT_OK, "%s", llrt_last_error());
  begin_search(f, true);
}

/* Rows of bf16 by experts. */
static void begin_grouped(fixture *f, int64_t experts, int64_t rows) {
  memset(f, 0, sizeof *f);
  open_on(f, "cuda-emu:sm_90a");
  const llrt_tensor a = {.dtype = LLRT_BF16, .rank = 2, .shape = {rows, 256}, .device = f->device},
                    d = {.dtype = LLRT_BF16, .rank = 2, .shape = {rows, 256}, .device = f->device},
                    b = {.dtype = LLRT_BF16,
                         .rank = 3,
                         .shape = {experts, 256, 256},
                         .device = f->device},
                    ends = {.dtype = LLRT_I32, .rank = 1, .shape = {experts}, .device = f->device};
  const llrt_dot_params params = {.size = sizeof params, .ends = &ends};
  cr_assert_eq(described_dot_make(&a, &b, &d, &params, &f->call), LLRT_OK, "%s", llrt_last_error());
  begin_search(f, true);
}

/* A transposition of f32 matrices. */
static void begin_convert_by(fixture *f, bool pooled, int64_t rows, int64_t columns) {
  memset(f, 0, sizeof *f);
  f->pooled = pooled;
  open_on(f, "host");
  op_description_begin(&f->call.desc, LLRT_OP_CONVERT, 2);
  cr_assert_eq(llrt_storage_row_major(2, &f->storage[0]), LLRT_OK);
  cr_assert_eq(llrt_storage_col_major(2, &f->storage[1]), LLRT_OK);
  for (int i = 0; i < 2; i++)
    f->call.desc.tensors[i] = (llrt_tensor){.dtype = LLRT_F32,
                                            .rank = 2,
                                            .shape = {rows, columns},
                                            .storage = &f->storage[i],
                                            .device = f->device};
  begin_search(f, false);
}

static void begin_convert(fixture *f, int64_t rows, int64_t columns) {
  begin_convert_by(f, false, rows, columns);
}

static void end(fixture *f) {
  tune_bench_end(&f->t.bench);
  free(f->t.best_plan);
  llrt_op_release(f->t.op);
  llrt_device_close(&f->device);
  llrt_context_destroy(&f->context);
}

static void drop(candidate *list, int n) {
  for (int i = 0; i < n; i++) tune_drop(&list[i]);
  free(list);
}

/* ---- what is listed ---- */

/* The kernels that a candidate keeps are those of its choice, none does what another one does, and
 * the best predictions come first. All are planned in one loop, which has fewer turns than there
 * are candidates: variants of one plan are planned once. */
Test(tune_search, candidates_have_the_kernels_of_their_choice) {
  static fixture f;
  int n;
  begin_dot(&f, "cuda-emu:sm_90a", 1024, 512, 4096);
  f.loops = f.longest = 0;
  candidate *list = tune_list(&f.t, &(plan_choice){.n = 0}, &n);
  cr_assert(list && n > 20, "%d", n);
  cr_expect_eq(f.loops, 1);
  cr_expect(f.longest < n, "%d plans for %d candidates", f.longest, n);
  plan_chosen *made = malloc(sizeof *made);
  for (int i = 0; i < n; i += 1 + n / 8) {
    llrt_hash hash;
    cr_assert_eq(tune_plan(&f.t, &list[i].choice, made), LLRT_OK, "%s", llrt_last_error());
    cr_assert_eq(plan_variant_hash(made, &hash), LLRT_OK);
    cr_expect(llrt_hash_equal(hash, list[i].hash), "candidate %d", i);
    const plan_kernel *stages = &made->plan.variant[made->variant];
    cr_expect_eq(list[i].kept->n, 1 + stages->launch.later);
    cr_expect_eq(list[i].kept->stage[0].target.tuning, &list[i].kept->tuning);
    cr_expect_eq(memcmp(&list[i].kept->tuning, &made->tuning, sizeof made->tuning), 0);
    cr_expect_eq(tune_predict(&f.t, stages), list[i].clocks);
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++) {
      cr_expect(!llrt_hash_equal(list[i].hash, list[j].hash), "%d and %d", i, j);
      cr_expect(list[i].clocks <= 0 || list[j].clocks <= list[i].clocks, "%d and %d", j, i);
    }
  free(made);
  drop(list, n);
  list = tune_list(&f.t, &(plan_choice){.n = 0}, &n);
  cr_expect_eq(n, 0, "all of them were met");
  drop(list, n);
  end(&f);
}

Test(tune_search, nothing_is_listed_behind_the_deadline) {
  static fixture f;
  int n;
  begin_convert(&f, 64, 64);
  f.t.deadline = tune_now() - 1;
  candidate *list = tune_list(&f.t, &(plan_choice){.n = 0}, &n);
  cr_assert_not_null(list);
  cr_expect_eq(n, 0);
  drop(list, n);
  end(&f);
}

/* ---- what is compiled ---- */

Test(tune_search, candidates_are_compiled_in_one_loop) {
  static fixture f;
  int n;
  begin_convert(&f, 96, 160);
  candidate *list = tune_list(&f.t, &(plan_choice){.n = 0}, &n);
  cr_assert(list && n >= 3, "%d", n);
  f.loops = f.longest = 0;
  tune_build(&f.t, list, 3);
  cr_expect(f.loops == 1 && f.longest == 3, "%d loops, one of %d", f.loops, f.longest);
  for (int i = 0; i < 3; i++) {
    cr_expect_eq(list[i].status, LLRT_OK, "%s", list[i].why);
    cr_expect(list[i].op && atomic_load(&list[i].op->module[0]), "it is loaded");
    cr_expect_null(list[i].kept);
  }
  f.t.deadline = tune_now() - 1;
  if (n > 3) tune_build(&f.t, list + 3, 1);
  cr_expect(n == 3 || (!list[3].op && list[3].status == LLRT_OK), "the time was up");
  drop(list, n);
  end(&f);
}

/* A run of the shape finds the kernels: of rows of experts, too, of which ranges count those that
 * one is likely to have. */
Test(tune_search, a_candidate_serves_its_shape) {
  static fixture f;
  int n;
  for (int grouped = 0; grouped < 2; grouped++) {
    if (grouped) begin_grouped(&f, 8, 640);
    else begin_dot(&f, "cuda-emu:sm_90a", 640, 256, 256);
    candidate *list = tune_list(&f.t, &(plan_choice){.n = 0}, &n);
    cr_assert(list && n >= 2, "%d", n);
    tune_build(&f.t, list, 2);
    for (int i = 0; i < 2; i++) {
      llrt_tensor other = f.t.bench.call.tensor[0];
      cr_assert_not_null(list[i].op, "%s", list[i].why);
      cr_expect_eq(llrt_op_pick(list[i].op, &other), 0, "%d, candidate %d", grouped, i);
      other.shape[other.rank - 1]++;
      cr_expect_eq(llrt_op_pick(list[i].op, &other), -1, "%d, candidate %d", grouped, i);
    }
    drop(list, n);
    end(&f);
  }
}

/* Whichever threads plan and compile, the list is the same, and all of it is built. */
Test(tune_search, threads_list_and_compile_the_same) {
  static fixture f[2];
  candidate *list[2];
  int n[2];
  for (int i = 0; i < 2; i++) {
    begin_convert_by(&f[i], i == 1, 96, 160);
    list[i] = tune_list(&f[i].t, &(plan_choice){.n = 0}, &n[i]);
    cr_assert_not_null(list[i]);
    tune_build(&f[i].t, list[i], n[i]);
  }
  cr_expect(n[0] == n[1] && n[0] > 2, "%d and %d", n[0], n[1]);
  for (int i = 0; i < n[0] && i < n[1]; i++) {
    cr_expect(llrt_hash_equal(list[0][i].hash, list[1][i].hash), "candidate %d", i);
    cr_expect(list[0][i].op && list[1][i].op, "%s%s", list[0][i].why, list[1][i].why);
  }
  for (int i = 0; i < 2; i++) {
    drop(list[i], n[i]);
    end(&f[i]);
  }
}

/* Each candidate has its own error, whichever thread met it. */
Test(tune_search, what_cannot_be_compiled_says_why) {
  static fixture f;
  int n;
  begin_convert(&f, 96, 160);
  candidate *list = tune_list(&f.t, &(plan_choice){.n = 0}, &n);
  cr_assert(list && n >= 2, "%d", n);
  cr_assert_eq(llrt_context_set_compile(f.context, LLRT_COMPILE_FORBIDDEN), LLRT_OK);
  cr_assert_eq(tune_try(&f.t, list, 2), LLRT_OK);
  for (int i = 0; i < 2; i++) cr_expect(strstr(list[i].why, "forbids"), "%s", list[i].why);
  cr_expect_eq(f.told[LLRT_TUNE_FAILED], 2);
  cr_expect(f.t.failed == 2 && f.t.compiled == 2);
  drop(list, n);
  end(&f);
}

/* ---- what is tried ---- */

Test(tune_search, the_model_is_trusted_as_far_as_it_was_right) {
  static tuning t = {.clocks_us = 0.5, .fastest = 10, .most_over = 1.2};
  const candidate far = {.clocks = 40}, near = {.clocks = 30}, unknown = {.clocks = 0};
  cr_expect(!tune_is_behind(&t, &far), "nothing was timed");
  t.compiled = 4;
  cr_expect(tune_is_behind(&t, &far), "20 us, the model says, 1.8 times the fastest are in doubt");
  cr_expect(!tune_is_behind(&t, &near));
  cr_expect(!tune_is_behind(&t, &unknown));
  t.most_over = 2;
  cr_expect(!tune_is_behind(&t, &far));
}

/* Times and results of the planned kernels, then of three candidates, which are thought to be as
 * slow or fast beside `fastest`. */
static candidate *try_three(fixture *f, double fastest, int *n) {
  tuning *t = &f->t;
  candidate planned = {.op = t->op};
  cr_assert_eq(llrt_op_ready(t->op, &t->bench.call.tensor[0], NULL, &planned.variant), LLRT_OK);
  cr_assert_eq(tune_bench_allocate(&t->bench), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(tune_bench_keep(&t->bench, t->op, planned.variant), LLRT_OK);
  candidate *list = tune_list(t, &(plan_choice){.n = 0}, n);
  cr_assert(list && *n >= 3, "%d", *n);
  t->fastest = fastest;
  cr_assert_eq(tune_try(t, list, 3), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(f->told[LLRT_TUNE_TIMED], 3);
  return list;
}

/* Of large results, which take a while to compare, only what may win is checked; nothing that was
 * not checked stays in the game. */
Test(tune_search, what_cannot_win_is_not_checked) {
  static fixture f;
  int n;
  begin_convert(&f, 1024, 1536);
  candidate *list = try_three(&f, 1e-6, &n);
  for (int i = 0; i < 3; i++) cr_expect(!list[i].op && list[i].us > 0);
  drop(list, n);
  end(&f);
  begin_convert(&f, 1024, 1536);
  list = try_three(&f, 1e9, &n);
  int left = 0;
  for (int i = 0; i < 3; i++) left += list[i].op != NULL;
  cr_expect(left >= 1 && f.t.fastest < 1e9, "the fastest one stays");
  drop(list, n);
  end(&f);
}

/* ---- results ---- */

/* Data are made once where one set of them is compared on. Large ones are of a period, which is
 * made on the host and copied on the device. */
Test(tune_search, data_are_made_once) {
  static fixture f;
  static unsigned char expected[512 * 1024 * 4];
  tune_results results;
  int variant;
  begin_convert(&f, 512, 1024);
  tune_bench *bench = &f.t.bench;
  cr_assert_eq(llrt_op_ready(f.t.op, &bench->call.tensor[0], NULL, &variant), LLRT_OK);
  cr_assert_eq(tune_bench_allocate(bench), LLRT_OK);
  cr_assert_eq(tune_bench_keep(bench, f.t.op, variant), LLRT_OK);
  cr_expect(bench->n_fills == 1 && bench->filled == 0);
  unsigned char *source = bench->call.tensor[0].data; /* the host's memory is the device's */
  tune_data_fill(LLRT_F32, 32, 0, expected, sizeof expected);
  cr_expect_eq(memcmp(source, expected, sizeof expected), 0);
  cr_expect_lt(bench->input_bytes, sizeof expected);
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(tune_bench_compare(bench, f.t.op, variant, &results), LLRT_OK);
    cr_expect_eq(results, TUNE_SAME_BITS);
  }
  memset(source, 0x11, 16);
  cr_assert_eq(tune_bench_compare(bench, f.t.op, variant, &results), LLRT_OK);
  cr_expect_eq(results, TUNE_WRONG, "data that are there are not made again");
  bench->filled = -1;
  cr_assert_eq(tune_bench_compare(bench, f.t.op, variant, &results), LLRT_OK);
  cr_expect_eq(results, TUNE_SAME_BITS);
  end(&f);
}
