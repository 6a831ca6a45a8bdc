/* Plans of reduces, executed by the interpreter and compared with sums by coordinates. */
#include "base/bits.h"
#include "jit/interpret/plan_interpret.h"
#include "jit/plan/check/plan_view.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/kernel/plan.h"
#include "jit/plan/plan_make.h"
#include "jit/plan/types/combine.h"
#include "jit/plan/types/number.h"
#include "runtime/described.h"
#include "tests/number_reference.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
  const char *source, *destination; /* the latter keeps the reduced axes */
  int rank;
  int64_t shape[4];
  uint32_t axes;
  llrt_combiner op;
  llrt_dtype dtype;
  bool known;    /* extents are promised */
  int32_t count; /* > 0: so many positions along the first reduced axis, says device memory */
} row;

static const row rows[] = {
    {"row_major", "row_major", 2, {40, 70}, 2, LLRT_COMBINE_SUM, LLRT_I32, true, 0},
    {"row_major", "row_major", 2, {40, 70}, 2, LLRT_COMBINE_SUM, LLRT_I32, false, 0},
    {"row_major", "row_major", 2, {70, 40}, 1, LLRT_COMBINE_SUM, LLRT_I16, true, 0},
    {"row_major", "row_major", 2, {70, 40}, 1, LLRT_COMBINE_SUM, LLRT_I16, false, 0},
    {"row_major", "row_major", 2, {21, 90}, 1, LLRT_COMBINE_MAX, LLRT_F32, true, 0},
    {"row_major", "row_major", 2, {300, 301}, 1, LLRT_COMBINE_SUM, LLRT_I16, false, 0},
    {"row_major", "row_major", 2, {150, 513}, 1, LLRT_COMBINE_MAX, LLRT_BF16, true, 0},
    {"row_major", "row_major", 3, {2, 90, 259}, 2, LLRT_COMBINE_ARGMAX, LLRT_I16, true, 0},
    {"row_major", "row_major", 2, {90, 1027}, 1, LLRT_COMBINE_SUM, LLRT_U8, false, 0},
    {"row_major", "row_major", 3, {2, 17, 67}, 2, LLRT_COMBINE_ARGMIN, LLRT_I32, true, 0},
    {"row_major", "col_major", 2, {33, 65}, 3, LLRT_COMBINE_MAX, LLRT_F32, true, 0},
    {"row_major", "row_major", 2, {1, 40000}, 2, LLRT_COMBINE_SUM, LLRT_I32, true, 0},
    {"row_major", "row_major", 2, {1, 40000}, 2, LLRT_COMBINE_SUM, LLRT_I32, false, 0},
    {"row_major", "row_major", 2, {3, 30000}, 2, LLRT_COMBINE_ARGMAX, LLRT_I16, false, 0},
    {"row_major", "row_major", 2, {30000, 3}, 1, LLRT_COMBINE_ARGMIN, LLRT_I8, true, 0},
    {"row_major", "row_major", 2, {50, 80}, 2, LLRT_COMBINE_ARGMIN, LLRT_F32, true, 0},
    {"col_major", "row_major", 2, {50, 80}, 2, LLRT_COMBINE_ARGMAX, LLRT_BF16, false, 0},
    {"row_major", "row_major", 2, {50, 80}, 3, LLRT_COMBINE_ARGMIN, LLRT_I8, true, 0},
    {"col_major", "row_major", 2, {50, 81}, 3, LLRT_COMBINE_ARGMAX, LLRT_BF16, false, 0},
    {"row_major", "row_major", 3, {30, 9, 400}, 5, LLRT_COMBINE_ARGMAX, LLRT_I8, false, 0},
    {"col_major", "row_major", 3, {12, 20, 9}, 5, LLRT_COMBINE_SUM, LLRT_U8, true, 0},
    {"row_major", "row_major", 3, {12, 20, 9}, 2, LLRT_COMBINE_PROD, LLRT_U16, true, 0},
    {"swizzle(per_element=3, swizzle_len=3, atom_len=3) o S[(32,64):(64@m,1@m)]",
     "row_major",
     2,
     {32, 64},
     1,
     LLRT_COMBINE_SUM,
     LLRT_I32,
     true,
     0},
    {"swizzle(per_element=3, swizzle_len=3, atom_len=3) o S[(32,64):(64@m,1@m)]",
     "row_major",
     2,
     {32, 64},
     2,
     LLRT_COMBINE_SUM,
     LLRT_I16,
     true,
     0},
    {"swizzle(per_element=3, swizzle_len=3, atom_len=3) o S[(64,64):(64@m,1@m)]",
     "row_major",
     2,
     {64, 64},
     1,
     LLRT_COMBINE_SUM,
     LLRT_I16,
     true,
     0},
    {"tiled([32,32], nvmma(version=[2,0], warps_per_cta=[2,2], instr_shape=[16,8]), order=[1,0])",
     "row_major",
     2,
     {64, 96},
     2,
     LLRT_COMBINE_SUM,
     LLRT_I32,
     true,
     0},
    {"row_major",
     "S[(32,1):(1@m,1@m)] + R[3:64@m]",
     2,
     {32, 50},
     2,
     LLRT_COMBINE_SUM,
     LLRT_I32,
     true,
     0},
    {"row_major", "row_major", 2, {40, 700}, 2, LLRT_COMBINE_SUM, LLRT_I16, true, 333},
    {"row_major", "row_major", 2, {512, 200}, 1, LLRT_COMBINE_MIN, LLRT_I8, false, 9},
    {"row_major", "row_major", 2, {1, 70000}, 2, LLRT_COMBINE_ARGMAX, LLRT_I16, false, 40001},
    {"row_major", "row_major", 2, {32, 500}, 2, LLRT_COMBINE_ANY, LLRT_F16, true, 0},
    {"row_major", "row_major", 2, {32, 501}, 2, LLRT_COMBINE_ALL, LLRT_BOOL, false, 0},
    {"row_major", "row_major", 2, {32, 100}, 2, LLRT_COMBINE_MIN, LLRT_E4M3, false, 0},
    {"row_major", "row_major", 1, {5000}, 1, LLRT_COMBINE_SUM, LLRT_I64, true, 0},
};

typedef struct trial {
  op_description desc;
  llrt_storage storage[3];
  llrt_storage_binding binding[3];
  plan made;
} trial;

static void *make_memory(int64_t span, int bits, uint64_t seed) {
  size_t bytes = (size_t)(span * bits / 8 + 64) / 64 * 64 + 64;
  unsigned char *memory = aligned_alloc(64, bytes);
  for (size_t i = 0; i < bytes; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    memory[i] = (unsigned char)(seed >> 56);
  }
  return memory;
}

static void make_tensor(trial *t, int i, const char *text, llrt_dtype dtype, const row *r,
                        bool kept) {
  llrt_tensor *tensor = &t->desc.tensors[i];
  *tensor = (llrt_tensor){.dtype = dtype, .rank = r->rank, .storage = &t->storage[i]};
  for (int a = 0; a < r->rank; a++) {
    tensor->shape[a] = kept && r->axes >> a & 1 ? 1 : r->shape[a];
    if (r->known)
      t->desc.promises[i].shape[a] = (llrt_promise){0, tensor->shape[a], tensor->shape[a]};
  }
  cr_assert_eq(llrt_storage_parse(text, r->rank, tensor->shape, &t->storage[i]), LLRT_OK, "%s: %s",
               text, llrt_last_error());
  cr_assert_eq(llrt_storage_bind(&t->storage[i], r->rank, tensor->shape, NULL, &t->binding[i]),
               LLRT_OK, "%s: %s", text, llrt_last_error());
  tensor->data = make_memory(t->binding[i].span, llrt_dtype_bits(dtype), 7 + (uint64_t)i);
}

static uint64_t element(const trial *t, int i, const int64_t *x) {
  int64_t at = llrt_storage_offset(&t->storage[i], &t->binding[i], x);
  return reference_read(t->desc.tensors[i].dtype, t->desc.tensors[i].data, at);
}

static bool next(int64_t *x, const int64_t *shape, int rank, uint32_t axes) {
  for (int a = rank - 1; a >= 0; a--) {
    if (!(axes >> a & 1)) continue;
    if (++x[a] < shape[a]) return true;
    x[a] = 0;
  }
  return false;
}

static uint64_t accumulated(llrt_dtype from, llrt_dtype to, int op, uint64_t code) {
  if (op == LLRT_COMBINE_ANY || op == LLRT_COMBINE_ALL) return combine_truth(from, code);
  return from == to ? code : number_cast(from, to, code);
}

/* Which of the reduced elements x is, row by row. */
static int64_t number_of(const row *r, const int64_t *x) {
  int64_t number = 0;
  for (int a = 0; a < r->rank; a++)
    if (r->axes >> a & 1) number = number * r->shape[a] + x[a];
  return number;
}

/* Integers and extremes: the same whatever the order. */
static void check_results(const trial *t, const row *r, const char *where) {
  int64_t x[4] = {0};
  llrt_dtype type = combine_accumulator(r->op, r->dtype), out = t->desc.tensors[1].dtype;
  do {
    combine_pair best = {combine_identity(r->op, type), 0};
    bool first = true;
    do {
      if (r->count && x[bits_lowest(r->axes)] >= r->count) continue;
      uint64_t code = element(t, 0, x);
      combine_pair one = {accumulated(r->dtype, type, r->op, code), number_of(r, x)};
      if (combine_is_arg(r->op)) best = first ? one : combine_two_pairs(r->op, type, best, one);
      else best.key = combine_two(r->op, type, best.key, one.key);
      first = false;
    } while (next(x, r->shape, r->rank, r->axes));
    uint64_t wanted = combine_is_arg(r->op) ? (uint64_t)best.index : best.key;
    if (!combine_is_arg(r->op) && out != type && out != LLRT_BOOL)
      wanted = number_cast(type, out, wanted);
    wanted &= bits_mask(llrt_dtype_bits(out));
    uint64_t got = element(t, 1, x);
    cr_assert_eq(got, wanted, "%s: at %lld,%lld: %llx, not %llx", where, (long long)x[0],
                 (long long)x[1], (unsigned long long)got, (unsigned long long)wanted);
  } while (next(x, r->shape, r->rank, ~r->axes));
}

static bool may_run(const plan *made, int v, const row *r) {
  return plan_range_contains(&made->variant[v].launch.range, r->rank, r->shape);
}

static void try_row(const row *r, const char *target_name) {
  trial *t = calloc(1, sizeof *t);
  plan_target target;
  char where[256];
  llrt_dtype type = combine_accumulator(r->op, r->dtype);
  snprintf(where, sizeof where, "%s, %s by %s from %s", target_name, combine_name(r->op),
           llrt_dtype_name(r->dtype), r->source);
  t->desc = (op_description){
      .kind = LLRT_OP_REDUCE, .n_tensors = 2, .combine = {.op = r->op, .axes = r->axes}};
  make_tensor(t, 0, r->source, r->dtype, r, false);
  make_tensor(t, 1, r->destination, combine_result(r->op, r->dtype, type), r, true);
  if (r->count) t->desc.tensors[0].extent_ptr[bits_lowest(r->axes)] = &r->count;
  cr_assert_eq(plan_target_find(target_name, &target), LLRT_OK);
  cr_assert_eq(plan_make(&t->desc, &target, NULL, &t->made), LLRT_OK, "%s: %s", where,
               llrt_last_error());
  for (int v = 0; v < t->made.n_variants; v += 1 + t->made.variant[v].launch.later) {
    if (!may_run(&t->made, v, r) && v > 0) continue;
    memset(t->desc.tensors[1].data, 0xEE,
           (size_t)(t->binding[1].span * llrt_dtype_bits(t->desc.tensors[1].dtype) / 8));
    cr_assert_eq(plan_interpret(&t->made.variant[v], t->desc.tensors, t->binding, 2), LLRT_OK,
                 "%s, variant %d: %s", where, v, llrt_last_error());
    check_results(t, r, where);
  }
  for (int i = 0; i < 2; i++) free(t->desc.tensors[i].data);
  free(t);
}

Test(reduce, every_row_on_every_target, .timeout = 120) {
  static const char *const targets[] = {"sm_80",     "sm_90a",    "gfx90a",
                                        "x86-64-v2", "x86-64-v3", "x86-64-v4"};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (size_t k = 0; k < sizeof targets / sizeof *targets; k++) try_row(&rows[i], targets[k]);
}

/* Blocks of a sum of bf16 on a GPU: what is shared gives no more than all multiprocessors hold
 * alike. */
Test(reduce, shares_give_whole_waves) {
  static const struct {
    int64_t shape[2];
    int axis;
    int64_t blocks, splits;
  } shapes[] = {
      {{16384, 16384}, 0, 448, 7}, {{65536, 4096}, 0, 448, 28}, {{4096, 65536}, 0, 256, 1},
      {{1 << 28, 1}, 0, 448, 448}, {{1, 1 << 28}, 1, 443, 443}, {{16384, 24576}, 0, 384, 4},
      {{16384, 51200}, 0, 400, 2}, {{16384, 40960}, 0, 480, 3}, {{16384, 76800}, 0, 300, 1},
      {{50257, 5341}, 0, 252, 12}, {{50257, 35001}, 0, 137, 1}, {{50257, 65537}, 0, 257, 1}};
  llrt_storage storage;
  plan_target target;
  plan *made = malloc(sizeof *made);
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(llrt_storage_row_major(2, &storage), LLRT_OK);
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    op_description desc = {.kind = LLRT_OP_REDUCE, .n_tensors = 2};
    llrt_storage_binding binding[2];
    uint64_t args[PLAN_MAX_ARGS];
    int64_t blocks;
    plan_run run;
    int v = 0;
    desc.combine = (llrt_op_combine){.op = LLRT_COMBINE_SUM, .axes = 1u << shapes[i].axis};
    for (int t = 0; t < 2; t++) {
      llrt_tensor *tensor = &desc.tensors[t];
      *tensor = (llrt_tensor){.dtype = LLRT_BF16, .rank = 2, .storage = &storage};
      for (int a = 0; a < 2; a++)
        tensor->shape[a] = t && a == shapes[i].axis ? 1 : shapes[i].shape[a];
      cr_assert_eq(llrt_storage_bind(&storage, 2, tensor->shape, NULL, &binding[t]), LLRT_OK);
      bool aligned = shapes[i].shape[1] % 8 == 0 || shapes[i].shape[1] == 1;
      desc.promises[t].address.multiple = 16;
      desc.promises[t].stride[0].multiple = aligned ? 8 : 1;
    }
    cr_assert_eq(plan_make(&desc, &target, NULL, made), LLRT_OK, "%s", llrt_last_error());
    while (!plan_range_takes(&made->variant[v].launch.range, &desc.tensors[0]))
      v += 1 + made->variant[v].launch.later;
    cr_assert_eq(plan_run_begin(&made->variant[v].launch, desc.tensors, binding, 2, &run), LLRT_OK);
    cr_assert_eq(plan_run_stage(&made->variant[v].launch, &run, args, &blocks), LLRT_OK);
    cr_expect_eq(run.splits, shapes[i].splits, "shape %zu: %lld splits", i, (long long)run.splits);
    cr_expect_eq(blocks, shapes[i].blocks, "shape %zu: %lld blocks", i, (long long)blocks);
  }
  free(made);
}

/* What a thread loads in a turn, log2 elements, of the kernel that shares the walk down columns:
 * memory's rows are multiples of so many elements apart. *stretch: log2 positions of a row that a
 * warp has. */
static int loaded_in_turn(llrt_dtype dtype, int64_t pitch, int *stretch) {
  llrt_storage storage;
  plan_target target;
  op_description desc = {.kind = LLRT_OP_REDUCE, .n_tensors = 2};
  plan *made = malloc(sizeof *made);
  int own = -1, kept = 0;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(llrt_storage_row_major(2, &storage), LLRT_OK);
  desc.combine = (llrt_op_combine){.op = LLRT_COMBINE_SUM, .axes = 1};
  for (int t = 0; t < 2; t++) {
    desc.tensors[t] = (llrt_tensor){.dtype = dtype, .rank = 2, .storage = &storage};
    desc.promises[t].address.multiple = 16;
    desc.promises[t].stride[0].multiple = pitch;
  }
  cr_assert_eq(plan_make(&desc, &target, NULL, made), LLRT_OK, "%s", llrt_last_error());
  const plan_kernel *kernel = &made->variant[0];
  for (int i = 0; i < kernel->n_steps && own < 0; i++)
    if (kernel->step[i].kind == PLAN_LOAD && kernel->step[i].tensor == 0) own = kernel->step[i].out;
  cr_assert_geq(own, 0);
  int registers = plan_value_bits(&kernel->value[own], PLAN_REGISTER);
  for (int d = 0; d < kernel->n_digits; d++)
    if (kernel->digit[d].axis == 1) kept = kernel->digit[d].bits;
  free(made);
  *stretch = kept;
  return registers;
}

/* A warp takes as long a stretch of rows that begin anywhere as of aligned ones, and has as much
 * under way. */
Test(reduce, rows_that_begin_anywhere_fill_threads) {
  static const llrt_dtype types[] = {LLRT_BF16, LLRT_F32, LLRT_I8, LLRT_F64};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    int aligned, any, wanted = loaded_in_turn(types[i], 16, &aligned);
    cr_expect_eq(loaded_in_turn(types[i], 1, &any), wanted, "%s", llrt_dtype_name(types[i]));
    cr_expect_eq(any, aligned, "%s: %d, not %d", llrt_dtype_name(types[i]), any, aligned);
  }
}

/* An axis past 2^31: positions have 64 bits, turns are shared as of any other, and the workspace
 * stays small. */
Test(reduce, long_axes) {
  const int64_t n = ((int64_t)1 << 33) + 12345;
  llrt_storage storage;
  op_description desc = {
      .kind = LLRT_OP_REDUCE, .n_tensors = 2, .combine = {LLRT_COMBINE_ARGMAX, 0, 1}};
  plan_target target;
  plan *made = malloc(sizeof *made);
  llrt_storage_binding binding[2];
  plan_run run;
  cr_assert_eq(llrt_storage_row_major(1, &storage), LLRT_OK);
  for (int i = 0; i < 2; i++) {
    desc.tensors[i] = (llrt_tensor){
        .dtype = i ? LLRT_I64 : LLRT_I8, .rank = 1, .shape = {i ? 1 : n}, .storage = &storage};
    cr_assert_eq(llrt_storage_bind(&storage, 1, desc.tensors[i].shape, NULL, &binding[i]), LLRT_OK);
  }
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(plan_make(&desc, &target, NULL, made), LLRT_OK, "%s", llrt_last_error());
  for (int v = 0; v < made->n_variants; v++) {
    const plan_kernel *kernel = &made->variant[v];
    cr_assert_eq(plan_verify(kernel), LLRT_OK, "%s", llrt_last_error());
    for (int i = 0; i < kernel->n_steps; i++)
      if (kernel->step[i].pairs && kernel->step[i].kind == PLAN_JOIN)
        cr_expect_eq(kernel->value[kernel->step[i].index_out].bits, 64);
  }
  cr_assert(plan_range_contains(&made->variant[0].launch.range, 1, &n));
  cr_assert_eq(plan_run_begin(&made->variant[0].launch, desc.tensors, binding, 2, &run), LLRT_OK);
  cr_expect(run.splits > 420 && run.splits <= 448, "%lld splits", (long long)run.splits);
  cr_expect(run.share * run.splits >= run.turns && run.share * (run.splits - 1) < run.turns);
  cr_expect_lt(run.workspace_bytes, 1 << 16);
  /* The second stage has a walk of its own: over the shares' results, one turn, by one block. */
  const plan_launch *second = &made->variant[1].launch;
  uint64_t args[PLAN_MAX_ARGS];
  int64_t blocks;
  cr_assert_eq(plan_run_stage(second, &run, args, &blocks), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < second->n_args; i++)
    if (second->arg[i].kind == PLAN_ARG_TURNS || second->arg[i].kind == PLAN_ARG_SHARE)
      cr_expect_eq(args[i], 1);
  cr_expect_eq(blocks, 1);
  free(made);
}

/* ---- workspace ---- */

/* What a run of the shape needs, and what is said to suffice. */
static void workspace_of(const plan *made, int64_t m, int64_t n, int axis, int64_t *needed,
                         int64_t *said) {
  const int64_t shape[] = {m, n};
  llrt_storage storage;
  llrt_tensor tensor[2];
  llrt_storage_binding binding[2];
  plan_run run;
  int64_t most;
  cr_assert_eq(llrt_storage_row_major(2, &storage), LLRT_OK);
  for (int t = 0; t < 2; t++) {
    tensor[t] = (llrt_tensor){.dtype = LLRT_F32, .rank = 2, .shape = {m, n}, .storage = &storage};
    if (t) tensor[t].shape[axis] = 1;
    cr_assert_eq(llrt_storage_bind(&storage, 2, tensor[t].shape, NULL, &binding[t]), LLRT_OK);
  }
  *said = 0;
  int picked = -1;
  for (int v = 0; v < made->n_variants; v += 1 + made->variant[v].launch.later) {
    cr_assert_eq(plan_workspace_most(&made->variant[v].launch, tensor, binding, 2, &most), LLRT_OK);
    if (most > *said) *said = most;
    if (picked < 0 && plan_range_contains(&made->variant[v].launch.range, 2, shape)) picked = v;
  }
  cr_assert_eq(plan_run_begin(&made->variant[picked].launch, tensor, binding, 2, &run), LLRT_OK);
  *needed = run.workspace_bytes;
}

/* What suffices for a shape suffices for smaller ones, and is a few MiB. */
Test(reduce, workspace_grows_with_extents) {
  enum { EXTENTS = 12 };
  static const int64_t extents[EXTENTS] = {1,     3,     64,    255,    1000,   4096,
                                           16384, 20000, 65536, 131072, 131073, 1 << 22};
  static const char *const targets[] = {"sm_90a", "gfx90a", "x86-64-v4"};
  plan *made = malloc(sizeof *made);
  for (int k = 0; k < 6; k++) {
    llrt_storage storage;
    plan_target target;
    op_description desc = {
        .kind = LLRT_OP_REDUCE, .n_tensors = 2, .combine = {LLRT_COMBINE_SUM, 0, 1u << k % 2}};
    int64_t needed, said[EXTENTS][EXTENTS];
    cr_assert_eq(llrt_storage_row_major(2, &storage), LLRT_OK);
    for (int t = 0; t < 2; t++)
      desc.tensors[t] = (llrt_tensor){.dtype = LLRT_F32, .rank = 2, .storage = &storage};
    cr_assert_eq(plan_target_find(targets[k / 2], &target), LLRT_OK);
    cr_assert_eq(plan_make(&desc, &target, NULL, made), LLRT_OK, "%s", llrt_last_error());
    for (int i = 0; i < EXTENTS; i++)
      for (int j = 0; j < EXTENTS; j++) {
        workspace_of(made, extents[i], extents[j], k % 2, &needed, &said[i][j]);
        cr_assert(needed <= said[i][j] && said[i][j] <= 8 << 20, "%s: %lld x %lld: %lld of %lld",
                  targets[k / 2], (long long)extents[i], (long long)extents[j], (long long)needed,
                  (long long)said[i][j]);
        cr_assert(i == 0 || said[i - 1][j] <= said[i][j]);
        cr_assert(j == 0 || said[i][j - 1] <= said[i][j]);
      }
  }
  free(made);
}
