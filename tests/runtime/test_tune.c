/* Measured choice: what is told, kept, found again by other contexts, threads and processes, and
 * what damaged or foreign files do. Times on a loaded machine are what they are: which candidate
 * wins is nobody's to say here but where a choice is planted. */
#include "runtime/tuned.h"

#include "base/hash.h"
#include "jit/plan/plan_choice.h"
#include "runtime/described.h"
#include "runtime/disk_entry.h"
#include "runtime/disk_folder.h"

#include "tests/runtime/cache_folder.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 96, COLUMNS = 160, MOST = 2 };

static const char *dir;
static void setup(void) { dir = cache_folder_begin(); }
static void teardown(void) { cache_folder_end(); }
TestSuite(tune, .init = setup, .fini = teardown, .timeout = 600);

/* ---- operations ---- */

/* A transposition of 32-bit words, or a sum along the rows of f32; addresses promise the same
 * wherever a problem lies. */
typedef struct problem {
  op_description desc;
  llrt_storage storage[2];
  _Alignas(64) float source[ROWS * COLUMNS], result[ROWS * COLUMNS];
} problem;

static void make_problem(problem *p, llrt_device *device, bool sums) {
  memset(p, 0, sizeof *p);
  op_description_begin(&p->desc, sums ? LLRT_OP_REDUCE : LLRT_OP_CONVERT, 2);
  cr_assert_eq(llrt_storage_row_major(2, &p->storage[0]), LLRT_OK);
  cr_assert_eq(sums ? llrt_storage_row_major(2, &p->storage[1])
                    : llrt_storage_col_major(2, &p->storage[1]),
               LLRT_OK);
  for (int i = 0; i < 2; i++)
    p->desc.tensors[i] = (llrt_tensor){.dtype = LLRT_F32,
                                       .rank = 2,
                                       .shape = {ROWS, i && sums ? 1 : COLUMNS},
                                       .storage = &p->storage[i],
                                       .device = device,
                                       .data = i ? p->result : p->source};
  if (sums) p->desc.combine = (llrt_op_combine){.op = LLRT_COMBINE_SUM, .axes = 2};
  for (int i = 0; i < ROWS * COLUMNS; i++)
    p->source[i] = (float)(i % 3 ? i * 37 % 101 : 100000 * (i % 2 ? 1 : -1)) / 3;
  cr_assert_eq(described_promise(&p->desc), LLRT_OK, "%s", llrt_last_error());
}

/* What tuning told. */
typedef struct told {
  int n, state[8], last;
  char choice[TUNED_TEXT];
  double measured, planned;
} told;

static void note(void *user, const llrt_tune_candidate *c) {
  told *t = user;
  cr_expect_geq(c->size, sizeof *c);
  cr_expect((c->why[0] != 0) == (c->state == LLRT_TUNE_FAILED), "%s", c->why);
  t->n++;
  t->state[c->state]++;
  t->last = c->state;
  snprintf(t->choice, sizeof t->choice, "%s", c->choice);
  t->measured = c->measured_us;
  t->planned = c->planned_us;
}

static told tune(llrt_device *device, const problem *p, int kind, int most, llrt_op **op) {
  told t = {0};
  const llrt_op_desc shown = described_as(&p->desc);
  const llrt_prepare_params params = {.tune = kind, .most = most, .user = &t, .on_candidate = note};
  cr_assert_eq(llrt_op_prepare_with(device, &shown, &params, op), LLRT_OK, "%s", llrt_last_error());
  return t;
}

static void run(const llrt_op *op, problem *p) {
  memset(p->result, 0xee, sizeof p->result);
  cr_assert_eq(llrt_op_run(op, NULL, p->desc.tensors, 2, &(llrt_run_params){.own_workspace = 1}),
               LLRT_OK, "%s", llrt_last_error());
}

static bool is_transposed(const llrt_op *op, problem *p) {
  run(op, p);
  bool right = true;
  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < COLUMNS; c++)
      right &= p->result[c * ROWS + r] == p->source[r * COLUMNS + c];
  return right;
}

static const char *choice_of(const llrt_op *op, const problem *p) {
  static char line[512];
  cr_assert_eq(llrt_op_choice_print(op, p->desc.tensors, 2, line, sizeof line, NULL), LLRT_OK, "%s",
               llrt_last_error());
  return line;
}

/* ---- what is told and kept ---- */

Test(tune, candidates_are_told_and_a_choice_is_kept) {
  cache_context at;
  problem p;
  llrt_op *op, *again;
  cache_context_begin(&at, "host", dir, true, NULL);
  make_problem(&p, at.device, false);
  told first = tune(at.device, &p, LLRT_TUNE_SAME, MOST, &op);
  cr_expect_eq(first.state[LLRT_TUNE_PLANNED], 1);
  cr_expect_eq(first.state[LLRT_TUNE_TIMED], MOST);
  cr_expect_eq(first.last, LLRT_TUNE_CHOSEN);
  cr_expect_gt(first.measured, 0);
  cr_expect_gt(first.planned, 0);
  cr_expect_leq(first.measured, first.planned);
  cr_expect(is_transposed(op, &p));
  cr_expect(strstr(choice_of(op, &p), "tuned on "), "%s", choice_of(op, &p));
  told second = tune(at.device, &p, LLRT_TUNE_SAME, MOST, &again);
  cr_expect(second.n == 1 && second.last == LLRT_TUNE_KEPT);
  cr_expect_str_eq(second.choice, first.choice);
  cr_expect(is_transposed(again, &p));
  llrt_op_destroy(&op);
  llrt_op_destroy(&again);
  cache_context_end(&at);

  cache_context_begin(&at, "host", dir, true, NULL); /* as another process */
  make_problem(&p, at.device, false);
  told other = tune(at.device, &p, LLRT_TUNE_SAME, MOST, &op);
  cr_expect(other.n == 1 && other.last == LLRT_TUNE_KEPT);
  cr_expect_str_eq(other.choice, first.choice);
  cr_expect_eq(cache_compiles(&at), 0);
  cr_expect(is_transposed(op, &p));
  llrt_op_destroy(&op);
  cache_context_end(&at);
}

/* Which order sums have stays what it was; other orders are another operation's. */
Test(tune, a_choice_never_changes_what_a_sum_is) {
  cache_context at;
  problem p;
  llrt_op *planned, *same, *any, *after;
  float own[ROWS];
  cache_context_begin(&at, "host", NULL, true, NULL);
  make_problem(&p, at.device, true);
  cr_assert_eq(described_prepare(at.device, &p.desc, &planned), LLRT_OK, "%s", llrt_last_error());
  run(planned, &p);
  memcpy(own, p.result, sizeof own);
  told t = tune(at.device, &p, LLRT_TUNE_SAME, 4, &same);
  cr_expect_gt(t.state[LLRT_TUNE_OTHER_BITS], 0, "other orders were candidates, and found out");
  run(same, &p);
  cr_expect_eq(memcmp(own, p.result, sizeof own), 0);
  t = tune(at.device, &p, LLRT_TUNE_ANY_ORDER, 3, &any);
  cr_expect_eq(t.state[LLRT_TUNE_OTHER_BITS], 0);
  cr_expect_neq(any, same, "an operation of its own");
  run(any, &p);
  for (int i = 0; i < ROWS; i++)
    cr_expect_float_eq(p.result[i], own[i], 1.0f, "row %d", i); /* of sums of 1e6 */
  cr_assert_eq(described_prepare(at.device, &p.desc, &after), LLRT_OK);
  cr_expect_eq(after, planned);
  run(after, &p);
  cr_expect_eq(memcmp(own, p.result, sizeof own), 0);
  llrt_op_destroy(&planned);
  llrt_op_destroy(&same);
  llrt_op_destroy(&any);
  llrt_op_destroy(&after);
  cache_context_end(&at);
}

/* ---- planted choices ---- */

/* Keeps `text` as the choice for the problem's shape, as tuning would. */
static void plant(llrt_op *op, const problem *p, const char *text) {
  plan_chosen *made = malloc(sizeof *made);
  tuned_choice *choice = calloc(1, sizeof *choice);
  plan_choice numbers;
  cr_assert(made && choice && plan_choice_parse(text, &numbers), "%s", text);
  cr_assert_eq(plan_choose(&op->desc, &op->device->target, &numbers, &p->desc.tensors[0],
                           op->device->info.compute_units, made),
               LLRT_OK, "%s", llrt_last_error());
  plan_kernel *kernel = &made->plan.variant[made->variant];
  for (int a = 0; a < 2; a++)
    kernel->launch.range.min_extent[a] = kernel->launch.range.max_extent[a] =
        p->desc.tensors[0].shape[a];
  cr_assert_eq(llrt_op_make(op->device, &op->desc, op->set, &choice->op), LLRT_OK);
  cr_assert_eq(llrt_op_build_kernels(choice->op, kernel, 1 + kernel->launch.later), LLRT_OK, "%s",
               llrt_last_error());
  memcpy(choice->shape, p->desc.tensors[0].shape, sizeof choice->shape);
  choice->measured_us = 1;
  choice->planned_us = 2;
  snprintf(choice->text, sizeof choice->text, "%s", text);
  int lock = llrt_tuned_lock(op, 1000);
  llrt_tuned_add(op, choice);
  llrt_tuned_store(op);
  llrt_disk_unlock(lock);
  free(made);
}

/* Only for its shape, whoever comes; saved bytes have it as well. */
Test(tune, a_kept_choice_serves_its_shape) {
  static const char text[] = "tile_bytes=128,run_bytes=16";
  cache_context at;
  problem p;
  llrt_op *op, *loaded;
  char bytes[1 << 16];
  size_t size = sizeof bytes;
  cache_context_begin(&at, "host", dir, true, NULL);
  make_problem(&p, at.device, false);
  memset(p.desc.promises, 0, 2 * sizeof *p.desc.promises);
  cr_assert_eq(described_prepare(at.device, &p.desc, &op), LLRT_OK, "%s", llrt_last_error());
  plant(op, &p, text);
  llrt_op_destroy(&op);
  cache_context_end(&at);

  cache_context_begin(&at, "host", dir, true, NULL);
  make_problem(&p, at.device, false);
  memset(p.desc.promises, 0, 2 * sizeof *p.desc.promises);
  cr_assert_eq(described_prepare(at.device, &p.desc, &op), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(cache_compiles(&at), 0);
  cr_expect(strstr(choice_of(op, &p), text), "%s", choice_of(op, &p));
  cr_expect_neq(llrt_tuned_for(op, &p.desc.tensors[0]), op);
  cr_expect(is_transposed(op, &p));
  cr_assert_eq(llrt_op_save(op, bytes, &size), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_load(at.device, bytes, size, &loaded), LLRT_OK, "%s", llrt_last_error());
  cr_expect(is_transposed(loaded, &p));
  llrt_op_destroy(&loaded);
  for (int i = 0; i < 2; i++) p.desc.tensors[i].shape[0] = ROWS - 1;
  cr_expect(strncmp(choice_of(op, &p), "planned: variant ", 17) == 0, "%s", choice_of(op, &p));
  cr_expect_eq(llrt_tuned_for(op, &p.desc.tensors[0]), op);
  run(op, &p);
  cr_expect_eq(p.result[ROWS - 1], p.source[1]);
  llrt_op_destroy(&op);
  cache_context_end(&at);
}

/* The folder's only file with choices: its name; *size, bytes malloc'ed. */
static char *choices_file(char name[64], size_t *size) {
  char names[16][64];
  int n = cache_files(dir, names, 16);
  for (int i = 0; i < n; i++) {
    disk_entry entry;
    char *bytes = cache_file_read(dir, names[i], size);
    memcpy(name, names[i], 64);
    if (!llrt_disk_entry_read(bytes, *size, &entry) && llrt_tuned_is_entry(&entry)) return bytes;
    free(bytes);
  }
  cr_assert(false, "no file has choices");
  return NULL;
}

/* Warnings of a context that prepares the problem with such bytes in the file. */
static int prepare_with_file(const char *name, const void *bytes, size_t size) {
  cache_context at;
  problem p;
  llrt_op *op;
  cache_file_write(dir, name, bytes, size);
  cache_context_begin(&at, "host", dir, true, NULL);
  make_problem(&p, at.device, false);
  cr_assert_eq(described_prepare(at.device, &p.desc, &op), LLRT_OK, "%s", llrt_last_error());
  bool tuned = llrt_tuned_for(op, &p.desc.tensors[0]) != op;
  cr_expect(is_transposed(op, &p));
  cr_expect_eq(at.warnings == 0, tuned, "a file is used, or told of");
  llrt_op_destroy(&op);
  int warnings = at.warnings;
  cache_context_end(&at);
  return warnings;
}

static void renew_checksum(char *bytes, size_t size) {
  llrt_hash sum = llrt_hash_bytes(bytes, size - sizeof sum);
  memcpy(bytes + size - sizeof sum, &sum, sizeof sum);
}

/* Damaged anywhere, cut anywhere, of another device, of another format: the planned kernels run. */
Test(tune, damaged_and_foreign_files_are_left_alone) {
  cache_context at;
  problem p;
  llrt_op *op;
  char name[64];
  size_t size;
  cache_context_begin(&at, "host", dir, true, NULL);
  make_problem(&p, at.device, false);
  cr_assert_eq(described_prepare(at.device, &p.desc, &op), LLRT_OK, "%s", llrt_last_error());
  plant(op, &p, "tile_bytes=128");
  llrt_op_destroy(&op);
  cache_context_end(&at);
  char *whole = choices_file(name, &size), *bytes = malloc(size);
  cr_assert(bytes);
  cr_expect_eq(prepare_with_file(name, whole, size), 0);
  for (int i = 0; i < 12; i++) {
    memcpy(bytes, whole, size);
    bytes[(size_t)i * (size - 1) / 11] ^= (char)(1 << i % 8);
    cr_expect_eq(prepare_with_file(name, bytes, size), 1, "a bit of byte %zu", i * (size - 1) / 11);
    cr_expect_eq(prepare_with_file(name, whole, (size_t)i * (size - 1) / 11), 1);
  }
  disk_entry entry;
  cr_assert_null(llrt_disk_entry_read(whole, size, &entry));
  size_t content = (size_t)((const char *)entry.kernel - whole);
  /* The format, the device's name, its driver; the number of choices; what is behind them. */
  static const size_t places[] = {8, 16, 112, 128, 128 + 8 + 16 + 24, 128 + 8 + 16 + 24 + 256};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    memcpy(bytes, whole, size);
    bytes[content + places[i]] ^= 0x15;
    renew_checksum(bytes, size);
    cr_expect_eq(prepare_with_file(name, bytes, size), 1, "byte %zu of the choices", places[i]);
  }
  free(bytes);
  free(whole);
}

/* ---- several at once ---- */

typedef struct tuner {
  pthread_t thread;
  llrt_device *device;
  told told;
  bool right;
} tuner;

static void *tune_once(void *data) {
  tuner *t = data;
  problem p;
  llrt_op *op;
  make_problem(&p, t->device, false);
  t->told = tune(t->device, &p, LLRT_TUNE_SAME, 1, &op);
  t->right = is_transposed(op, &p);
  llrt_op_destroy(&op);
  return NULL;
}

Test(tune, of_threads_one_measures) {
  cache_context at;
  tuner tuners[4];
  int chosen = 0, kept = 0;
  cache_context_begin(&at, "host", NULL, true, NULL);
  for (int i = 0; i < 4; i++) {
    tuners[i] = (tuner){.device = at.device};
    cr_assert_eq(pthread_create(&tuners[i].thread, NULL, tune_once, &tuners[i]), 0);
  }
  for (int i = 0; i < 4; i++) {
    pthread_join(tuners[i].thread, NULL);
    cr_expect(tuners[i].right);
    chosen += tuners[i].told.last == LLRT_TUNE_CHOSEN;
    kept += tuners[i].told.last == LLRT_TUNE_KEPT;
  }
  cr_expect(chosen == 1 && kept == 3, "%d measured, %d found it", chosen, kept);
  cache_context_end(&at);
}

Test(tune, of_processes_one_measures) {
  int chosen = 0, kept = 0;
  for (int i = 0; i < 3; i++) {
    if (fork() != 0) continue;
    cache_context at;
    cache_context_begin(&at, "host", dir, true, NULL);
    tuner t = {.device = at.device};
    tune_once(&t);
    cache_context_end(&at);
    _exit(!t.right                          ? 9
          : t.told.last == LLRT_TUNE_CHOSEN ? 1
          : t.told.last == LLRT_TUNE_KEPT   ? 2
                                            : 9);
  }
  for (int i = 0; i < 3; i++) {
    int status;
    cr_assert(wait(&status) > 0 && WIFEXITED(status));
    chosen += WEXITSTATUS(status) == 1;
    kept += WEXITSTATUS(status) == 2;
  }
  cr_expect(chosen == 1 && kept == 2, "%d measured, %d found it", chosen, kept);
}

/* ---- devices ---- */

/* Products of warpgroups: tiles of every size have one sum. Times of emulators mean nothing. */
Test(tune, products_of_an_emulated_device) {
  cache_context at;
  described_dot call;
  llrt_op *op;
  told t = {0};
  cache_context_begin(&at, "cuda-emu:sm_90a", NULL, true, NULL);
  const llrt_tensor a = {.dtype = LLRT_BF16, .rank = 2, .shape = {64, 128}, .device = at.device},
                    b = {.dtype = LLRT_BF16, .rank = 2, .shape = {128, 64}, .device = at.device},
                    d = {.dtype = LLRT_BF16, .rank = 2, .shape = {64, 64}, .device = at.device};
  cr_assert_eq(described_dot_make(&a, &b, &d, NULL, &call), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < 3; i++) call.desc.tensors[i].data = (void *)256;
  cr_assert_eq(described_promise(&call.desc), LLRT_OK, "%s", llrt_last_error());
  const llrt_op_desc shown = described_as(&call.desc);
  const llrt_prepare_params params = {
      .tune = LLRT_TUNE_SAME, .most = 3, .seconds = 600, .user = &t, .on_candidate = note};
  cr_assert_eq(llrt_op_prepare_with(at.device, &shown, &params, &op), LLRT_OK, "%s",
               llrt_last_error());
  cr_expect_eq(t.last, LLRT_TUNE_CHOSEN);
  cr_expect_eq(t.state[LLRT_TUNE_TIMED], 3);
  cr_expect_eq(t.state[LLRT_TUNE_OTHER_BITS] + t.state[LLRT_TUNE_FAILED], 0);
  llrt_op_destroy(&op);
  cache_context_end(&at);
}

/* Packed mxfp4 weights: also tiles that are meant for fewer rows or columns than there are.
 * LLRT_TEST_TUNE: all of them, of more rows. */
Test(tune, packed_products_of_an_emulated_device) {
  cache_context at;
  described_dot call;
  llrt_op *op;
  llrt_dot_packing packing = {.size = sizeof packing};
  told t = {0};
  const bool all = getenv("LLRT_TEST_TUNE") != NULL;
  const int64_t m = all ? 300 : 40, n = 192, k = 512;
  const llrt_dot_pack_params what = {
      .dtype = LLRT_E2M1, .scale = LLRT_E8M0, .group = {32}, .other = LLRT_BF16};
  cache_context_begin(&at, "cuda-emu:sm_90a", NULL, true, NULL);
  cr_assert_eq(llrt_dot_pack(&what, "sm_90a", LLRT_DOT_B, &packing), LLRT_OK, "%s",
               llrt_last_error());
  const llrt_tensor a = {.dtype = LLRT_BF16, .rank = 2, .shape = {m, k}, .device = at.device},
                    d = {.dtype = LLRT_BF16, .rank = 2, .shape = {m, n}, .device = at.device},
                    b = {.dtype = LLRT_E2M1,
                         .rank = 2,
                         .shape = {k, n},
                         .storage = &packing.storages[0],
                         .device = at.device},
                    scale = {.dtype = LLRT_E8M0,
                             .rank = 2,
                             .shape = {k / 32, n},
                             .storage = &packing.storages[1],
                             .device = at.device};
  llrt_dot_params params = {.b = {.scale = &scale, .range_low = 110, .range_high = 140}};
  memcpy(params.b.word_bits, packing.word_bits, sizeof params.b.word_bits);
  cr_assert_eq(described_dot_make(&a, &b, &d, &params, &call), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < call.desc.n_tensors; i++) call.desc.tensors[i].data = (void *)256;
  cr_assert_eq(described_promise(&call.desc), LLRT_OK, "%s", llrt_last_error());
  const llrt_op_desc shown = described_as(&call.desc);
  const llrt_prepare_params how = {.tune = LLRT_TUNE_ANY_ORDER,
                                   .most = all ? 0 : 2,
                                   .seconds = 600,
                                   .user = &t,
                                   .on_candidate = note};
  cr_assert_eq(llrt_op_prepare_with(at.device, &shown, &how, &op), LLRT_OK, "%s",
               llrt_last_error());
  fprintf(stderr, "%d timed, %d of other results, %d failed\n", t.state[LLRT_TUNE_TIMED],
          t.state[LLRT_TUNE_OTHER_BITS], t.state[LLRT_TUNE_FAILED]);
  cr_expect_eq(t.last, LLRT_TUNE_CHOSEN);
  cr_expect_geq(t.state[LLRT_TUNE_TIMED], 2);
  cr_expect_eq(t.state[LLRT_TUNE_OTHER_BITS] + t.state[LLRT_TUNE_FAILED], 0);
  llrt_op_destroy(&op);
  cache_context_end(&at);
}

/* ---- what is refused ---- */

Test(tune, params_and_tensors_are_checked) {
  cache_context at;
  problem p;
  llrt_op *op;
  cache_context_begin(&at, "host", NULL, true, NULL);
  make_problem(&p, at.device, false);
  const llrt_op_desc shown = described_as(&p.desc);
  const struct {
    llrt_prepare_params params;
    const char *said;
  } rows[] = {{{.tune = 3}, "tune is 3"},
              {{.retune = 2}, "retune is 2"},
              {{.most = -1}, "most is -1"},
              {{.seconds = -1}, "seconds is -1"},
              {{.lazy = 2}, "lazy is 2"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    cr_expect_eq(llrt_op_prepare_with(at.device, &shown, &rows[i].params, &op),
                 LLRT_INVALID_ARGUMENT);
    cr_expect(strstr(llrt_last_error(), rows[i].said), "%s", llrt_last_error());
    cr_expect_null(op);
  }
  const llrt_prepare_params params = {.tune = LLRT_TUNE_SAME};
  static const int32_t extent = ROWS;
  p.desc.tensors[0].extent_ptr[0] = p.desc.tensors[1].extent_ptr[0] = &extent;
  cr_expect_eq(llrt_op_prepare_with(at.device, &shown, &params, &op), LLRT_UNSUPPORTED);
  cr_expect(strstr(llrt_last_error(), "extent in device memory"), "%s", llrt_last_error());
  p.desc.tensors[0].extent_ptr[0] = p.desc.tensors[1].extent_ptr[0] = NULL;
  p.desc.tensors[1].shape[0]++;
  cr_expect_eq(llrt_op_prepare_with(at.device, &shown, &params, &op), LLRT_INVALID_ARGUMENT);
  cr_expect_null(op);
  cache_context_end(&at);
}

/* Where nothing may be compiled there is nothing to choose from: that is told, and not kept. */
Test(tune, without_candidates_nothing_is_kept) {
  cache_context at;
  problem p;
  llrt_op *op;
  cache_context_begin(&at, "host", dir, true, NULL);
  make_problem(&p, at.device, false);
  cr_assert_eq(described_prepare(at.device, &p.desc, &op), LLRT_OK, "%s", llrt_last_error());
  llrt_op_destroy(&op);
  cr_assert_eq(llrt_context_set_compile(at.context, LLRT_COMPILE_FORBIDDEN), LLRT_OK);
  told t = tune(at.device, &p, LLRT_TUNE_SAME, MOST, &op);
  cr_expect_eq(t.state[LLRT_TUNE_FAILED], MOST + 1);
  cr_expect_eq(t.state[LLRT_TUNE_CHOSEN], 0);
  cr_expect(is_transposed(op, &p));
  cr_expect(strncmp(choice_of(op, &p), "planned: variant ", 17) == 0, "%s", choice_of(op, &p));
  cr_expect_null(strstr(choice_of(op, &p), "tuned"));
  llrt_op_destroy(&op);
  cache_context_end(&at);
}

/* Without time nothing is tried: that is told, the planned kernels run, and nothing is kept: who
 * tunes with more time is not told that nothing is faster. */
Test(tune, time_that_is_up_leaves_the_plan) {
  cache_context at;
  problem p;
  llrt_op *op;
  told t = {0};
  cache_context_begin(&at, "host", NULL, true, NULL);
  make_problem(&p, at.device, false);
  const llrt_op_desc shown = described_as(&p.desc);
  const llrt_prepare_params params = {
      .tune = LLRT_TUNE_SAME, .seconds = 1e-9, .user = &t, .on_candidate = note};
  cr_assert_eq(llrt_op_prepare_with(at.device, &shown, &params, &op), LLRT_OK, "%s",
               llrt_last_error());
  cr_expect(t.n == 2 && t.last == LLRT_TUNE_FAILED, "%d", t.n);
  cr_expect(is_transposed(op, &p));
  cr_expect_null(strstr(choice_of(op, &p), "tuned"));
  llrt_op_destroy(&op);
  cr_expect_eq(tune(at.device, &p, LLRT_TUNE_SAME, 1, &op).last, LLRT_TUNE_CHOSEN);
  llrt_op_destroy(&op);
  cache_context_end(&at);
}
