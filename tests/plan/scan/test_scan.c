/* Plans of scans, executed by the interpreter and compared with a walk along the axis. */
#include "base/bits.h"
#include "jit/interpret/plan_interpret.h"
#include "jit/plan/facts/lookback.h"
#include "jit/plan/kernel/plan.h"
#include "jit/plan/plan_make.h"
#include "jit/plan/types/combine.h"
#include "jit/plan/types/number.h"
#include "tests/plan/random_layout.h"
#include "runtime/described.h"
#include "tests/number_reference.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
  const char *source, *destination;
  int rank;
  int64_t shape[3];
  int axis;
  llrt_combiner op;
  llrt_dtype from, to;            /* integers and extremes: the same whatever the order */
  bool exclusive, reverse, known; /* known: extents are promised */
} row;

#define BRICKS \
  "tiled([16,16], identity1d(16, offset, dim1) * identity1d(16, offset, dim0), order=[0,1])"

static const row rows[] = {
    {"row_major",
     "row_major",
     2,
     {40, 300},
     1,
     LLRT_COMBINE_SUM,
     LLRT_I32,
     LLRT_I64,
     false,
     false,
     true},
    {"row_major",
     "row_major",
     2,
     {40, 300},
     1,
     LLRT_COMBINE_SUM,
     LLRT_I16,
     LLRT_I64,
     true,
     true,
     false},
    {"row_major",
     "row_major",
     2,
     {300, 40},
     0,
     LLRT_COMBINE_SUM,
     LLRT_I8,
     LLRT_I64,
     true,
     false,
     true},
    {"row_major",
     "row_major",
     2,
     {300, 40},
     0,
     LLRT_COMBINE_MAX,
     LLRT_BF16,
     LLRT_BF16,
     false,
     true,
     false},
    {"row_major",
     "col_major",
     2,
     {65, 130},
     1,
     LLRT_COMBINE_MIN,
     LLRT_F32,
     LLRT_F32,
     false,
     false,
     true},
    {"col_major",
     "row_major",
     2,
     {65, 130},
     1,
     LLRT_COMBINE_SUM,
     LLRT_U32,
     LLRT_U64,
     false,
     true,
     false},
    {"row_major",
     "row_major",
     1,
     {9001},
     0,
     LLRT_COMBINE_SUM,
     LLRT_I32,
     LLRT_I64,
     true,
     false,
     false},
    {"row_major", "row_major", 1, {1}, 0, LLRT_COMBINE_PROD, LLRT_U8, LLRT_U64, true, false, true},
    {"row_major",
     "row_major",
     3,
     {5, 45, 9},
     1,
     LLRT_COMBINE_SUM,
     LLRT_I16,
     LLRT_I64,
     false,
     true,
     true},
    {BRICKS, BRICKS, 2, {48, 80}, 1, LLRT_COMBINE_SUM, LLRT_U16, LLRT_U64, true, true, true},
    {"swizzle(per_element=3, swizzle_len=3, atom_len=3) o S[(32,64):(64@m,1@m)]",
     "row_major",
     2,
     {32, 64},
     0,
     LLRT_COMBINE_SUM,
     LLRT_I16,
     LLRT_I64,
     false,
     false,
     true},
    {"S[(45,64,30):(30@m,1350@m,1@m)]",
     "row_major",
     2,
     {2880, 30},
     0,
     LLRT_COMBINE_SUM,
     LLRT_I8,
     LLRT_I64,
     false,
     false,
     true},
    {"row_major",
     "scale_128x4(pad=9)",
     2,
     {60, 9},
     1,
     LLRT_COMBINE_MAX,
     LLRT_U8,
     LLRT_U8,
     false,
     false,
     false},
    {"row_major",
     "scale_8x4(pad=1)",
     2,
     {17, 70},
     0,
     LLRT_COMBINE_MIN,
     LLRT_U8,
     LLRT_U8,
     true,
     true,
     true},
    {"row_major",
     "S[(40,50):(100@m,2@m)] + R[3:4096@m]",
     2,
     {40, 50},
     1,
     LLRT_COMBINE_MAX,
     LLRT_E4M3,
     LLRT_E4M3,
     false,
     false,
     true},
};

static const char *const targets[] = {"sm_80",     "sm_90a",    "gfx942", "x86-64-v2",
                                      "x86-64-v3", "x86-64-v4", "aarch64"};

typedef struct trial {
  op_description desc;
  llrt_storage storage[2];
  llrt_storage_binding binding[2];
  plan made;
} trial;

static void make_tensor(trial *t, int i, const char *text, llrt_dtype dtype, const row *r) {
  llrt_tensor *tensor = &t->desc.tensors[i];
  uint64_t seed = 31 + (uint64_t)i;
  *tensor = (llrt_tensor){.dtype = dtype, .rank = r->rank, .storage = &t->storage[i]};
  for (int a = 0; a < r->rank; a++) {
    tensor->shape[a] = r->shape[a];
    if (r->known) t->desc.promises[i].shape[a] = (llrt_promise){0, r->shape[a], r->shape[a]};
  }
  cr_assert_eq(llrt_storage_parse(text, r->rank, r->shape, &t->storage[i]), LLRT_OK, "%s: %s", text,
               llrt_last_error());
  cr_assert_eq(llrt_storage_bind(&t->storage[i], r->rank, r->shape, NULL, &t->binding[i]), LLRT_OK,
               "%s: %s", text, llrt_last_error());
  size_t bytes = (size_t)(t->binding[i].span * llrt_dtype_bits(dtype) / 8 + 64) / 64 * 64;
  tensor->data = aligned_alloc(64, bytes);
  for (size_t b = 0; b < bytes; b++)
    ((unsigned char *)tensor->data)[b] = (unsigned char)(test_random(&seed) >> 40);
}

static uint64_t element(const trial *t, int i, const int64_t *x) {
  int64_t at = llrt_storage_offset(&t->storage[i], &t->binding[i], x);
  return reference_read(t->desc.tensors[i].dtype, t->desc.tensors[i].data, at);
}

static void check_line(const trial *t, const row *r, int64_t *x, const char *where) {
  llrt_dtype type = combine_accumulator(r->op, r->from);
  uint64_t sum = combine_empty(r->op, r->from, type);
  for (int64_t k = 0; k < r->shape[r->axis]; k++) {
    x[r->axis] = r->reverse ? r->shape[r->axis] - 1 - k : k;
    uint64_t own = element(t, 0, x), before = sum;
    if (r->from != type) own = number_cast(r->from, type, own);
    sum = k == 0 ? combine_two(r->op, type, combine_identity(r->op, type), own)
                 : combine_two(r->op, type, sum, own);
    uint64_t wanted = r->exclusive ? before : sum;
    if (r->to != type) wanted = number_cast(type, r->to, wanted);
    cr_assert_eq(element(t, 1, x), wanted & bits_mask(llrt_dtype_bits(r->to)),
                 "%s: position %lld of %lld", where, (long long)x[r->axis],
                 (long long)x[r->axis == 0]);
  }
  x[r->axis] = 0;
}

static void check(const trial *t, const row *r, const char *where) {
  int64_t x[LLRT_MAX_RANK] = {0}, lines = 1;
  for (int a = 0; a < r->rank; a++) lines *= a == r->axis ? 1 : r->shape[a];
  for (int64_t i = 0; i < lines; i++) {
    int64_t at = i;
    for (int a = 0; a < r->rank; a++) {
      if (a == r->axis) continue;
      x[a] = at % r->shape[a];
      at /= r->shape[a];
    }
    check_line(t, r, x, where);
  }
}

Test(scan, rows_on_every_target) {
  trial *t = malloc(sizeof *t);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (size_t k = 0; k < sizeof targets / sizeof *targets; k++) {
      const row *r = &rows[i];
      plan_target target;
      char where[200];
      memset(t, 0, sizeof *t);
      snprintf(where, sizeof where, "%s, %s by %s from %.60s", targets[k], combine_name(r->op),
               llrt_dtype_name(r->from), r->source);
      t->desc = (op_description){.kind = LLRT_OP_SCAN, .n_tensors = 2};
      t->desc.combine = (llrt_op_combine){
          .op = r->op, .axes = 1u << r->axis, .exclusive = r->exclusive, .reverse = r->reverse};
      make_tensor(t, 0, r->source, r->from, r);
      make_tensor(t, 1, r->destination, r->to, r);
      for (int n = 0; n < 2; n++) t->desc.promises[n].address.multiple = 16;
      cr_assert_eq(plan_target_find(targets[k], &target), LLRT_OK);
      cr_assert_eq(plan_make(&t->desc, &target, NULL, &t->made), LLRT_OK, "%s: %s", where,
                   llrt_last_error());
      for (int v = 0; v < t->made.n_variants; v += 1 + t->made.variant[v].launch.later) {
        if (!plan_range_contains(&t->made.variant[v].launch.range, r->rank, r->shape)) continue;
        cr_assert_eq(plan_interpret(&t->made.variant[v], t->desc.tensors, t->binding, 2), LLRT_OK,
                     "%s: %s", where, llrt_last_error());
        check(t, r, where);
      }
      for (int n = 0; n < 2; n++) free(t->desc.tensors[n].data);
    }
  }
  free(t);
}

static void check_turn(const plan_lookback *way, int64_t turn) {
  int last = way->levels - 1;
  int64_t covered = plan_lookback_distance(way, last, turn, 0), from = 0;
  if (covered) from = turn - covered + 1; /* everything up to that turn */
  for (int level = last - 1; level >= 0; level--) {
    for (int64_t k = 0; k < 1 << plan_lookback_places(way, level); k++) {
      int64_t before = plan_lookback_distance(way, level, turn, k);
      if (before == 0) continue;
      cr_assert(plan_lookback_publishes(way, level, turn - before), "turn %lld, level %d",
                (long long)turn, level);
      from += (int64_t)1 << way->bits * level;
      cr_assert_eq(turn - before, from - 1, "turn %lld, level %d", (long long)turn, level);
    }
  }
  cr_assert_eq(from, turn, "turn %lld", (long long)turn);
  if (covered) cr_assert(plan_lookback_publishes(way, last, turn - covered));
}

/* Turns whose totals of a level stand before one, each once and in order, are all turns before it.
 */
Test(scan, levels_cover_every_turn_before) {
  static const plan_lookback ways[] = {{.bits = 5, .levels = 3},
                                       {.bits = 8, .levels = 2, .lags = true},
                                       {.bits = 3, .levels = 2},
                                       {.bits = 2, .levels = 3, .lags = true}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    for (int64_t turn = 0; turn < 3000; turn += turn < 70 || turn > 1000 ? 1 : 13)
      check_turn(&ways[i], turn);
}

/* A long line in tiles so small that all levels are there. */
enum { MANY = 70001 };
typedef struct many_turns {
  op_description desc;
  llrt_storage storage;
  llrt_storage_binding binding[2];
  plan made;
  int32_t source[MANY], result[MANY];
} many_turns;

static many_turns *plan_many_turns(const char *name, int rest_bits) {
  many_turns *t = calloc(1, sizeof *t);
  plan_target target;
  plan_options options = {.rest_bits = rest_bits};
  t->desc = (op_description){.kind = LLRT_OP_SCAN, .n_tensors = 2};
  t->desc.combine = (llrt_op_combine){.op = LLRT_COMBINE_SUM, .accumulate = LLRT_I32, .axes = 1};
  cr_assert_eq(plan_target_find(name, &target), LLRT_OK);
  cr_assert_eq(llrt_storage_row_major(1, &t->storage), LLRT_OK);
  for (int i = 0; i < 2; i++) {
    t->desc.tensors[i] = (llrt_tensor){.dtype = LLRT_I32,
                                       .rank = 1,
                                       .shape = {MANY},
                                       .storage = &t->storage,
                                       .data = i ? t->result : t->source};
    t->desc.promises[i].address.multiple = 16;
    cr_assert_eq(llrt_storage_bind(&t->storage, 1, t->desc.tensors[i].shape, NULL, &t->binding[i]),
                 LLRT_OK);
  }
  for (int i = 0; i < MANY; i++) t->source[i] = i * 2654435761u >> 7 & 0xFF;
  cr_assert_eq(plan_make(&t->desc, &target, &options, &t->made), LLRT_OK, "%s", llrt_last_error());
  cr_assert(t->made.variant[0].lookback.used);
  return t;
}

Test(scan, a_line_of_many_turns) {
  static const char *const names[] = {"sm_80", "sm_90a", "gfx942"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    many_turns *t = plan_many_turns(names[k], 6);
    plan_run run;
    cr_assert_eq(plan_run_begin(&t->made.variant[0].launch, t->desc.tensors, t->binding, 2, &run),
                 LLRT_OK);
    cr_assert_gt(run.splits, 1024);
    cr_assert_eq(plan_interpret(&t->made.variant[0], t->desc.tensors, t->binding, 2), LLRT_OK,
                 "%s: %s", names[k], llrt_last_error());
    int32_t sum = 0;
    for (int i = 0; i < MANY; i++) {
      sum += t->source[i];
      cr_assert_eq(t->result[i], sum, "%s: position %d", names[k], i);
    }
    free(t);
  }
}

/* Of blocks that draw tickets: where they are, and that what they wait for is needed. */
Test(scan, blocks_that_draw_tickets) {
  static const struct {
    const char *target;
    bool queued;
  } kinds[] = {{"sm_90a", true}, {"sm_80", true}, {"sm_89", true}, {"gfx942", false}};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    many_turns *t = plan_many_turns(kinds[k].target, 0);
    cr_expect_eq(t->made.variant[0].lookback.queued, kinds[k].queued, "%s", kinds[k].target);
    free(t);
  }
  for (int change = 0; change < 4; change++) {
    many_turns *t = plan_many_turns("sm_90a", 6);
    plan_kernel *kernel = &t->made.variant[0];
    int published = 0;
    for (int i = 0; i < kernel->n_steps; i++) {
      plan_step *step = &kernel->step[i];
      if (change == 0 && step->kind == PLAN_COPIED) step->turns++;
      if (change == 1 && step->kind == PLAN_AHEAD && step->turns == 1) step->turns = 2;
      if (change == 2 && step->kind == PLAN_AHEAD && step->turns == 1) step->turns = 0;
      if (change == 3 && step->kind == PLAN_PUBLISH && step->level == 0 && published++)
        step->level = 1;
    }
    cr_expect_eq(plan_interpret(kernel, t->desc.tensors, t->binding, 2), LLRT_INTERNAL, "change %d",
                 change);
    free(t);
  }
}

/* An axis past 2^32: a ticket and cells for every tile. */
Test(scan, numbers_of_an_axis_past_32_bits) {
  enum { TILE = 8192, CELLS = 2 * 8 };
  static plan made;
  const int64_t n = ((int64_t)1 << 33) + 5, tiles = n / TILE + 1;
  plan_target target;
  plan_run run;
  llrt_storage storage;
  llrt_storage_binding binding[2];
  uint64_t args[PLAN_MAX_ARGS];
  int64_t blocks;
  op_description desc = {.kind = LLRT_OP_SCAN, .n_tensors = 2};
  desc.combine = (llrt_op_combine){.op = LLRT_COMBINE_SUM, .axes = 1};
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(llrt_storage_row_major(1, &storage), LLRT_OK);
  for (int t = 0; t < 2; t++) {
    desc.tensors[t] =
        (llrt_tensor){.dtype = LLRT_F32, .rank = 1, .shape = {n}, .storage = &storage};
    desc.promises[t].address.multiple = 16;
    cr_assert_eq(llrt_storage_bind(&storage, 1, desc.tensors[t].shape, NULL, &binding[t]), LLRT_OK);
  }
  cr_assert_eq(plan_make(&desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
  const plan_kernel *kernel = &made.variant[0];
  cr_assert(kernel->lookback.used);
  cr_assert(plan_range_contains(&kernel->launch.range, 1, &n));
  cr_expect_eq(kernel->cost.load_sectors, kernel->cost.min_sectors);
  cr_expect_eq(kernel->cost.store_sectors, kernel->cost.min_sectors);
  cr_assert_eq(plan_run_begin(&kernel->launch, desc.tensors, binding, 2, &run), LLRT_OK);
  cr_expect_eq(run.splits, tiles);
  cr_expect_eq(run.share, 1);
  cr_expect_geq(run.workspace_bytes, tiles * CELLS);
  cr_assert_eq(plan_run_stage(&kernel->launch, &run, args, &blocks), LLRT_OK);
  cr_expect_eq(blocks, kernel->launch.most_blocks);
  cr_expect_eq(args[kernel->lookback.blocks.arg], (uint64_t)tiles);
}

/* The work is what memory asks for: whole vectors on both sides, and no sector twice. */
Test(scan, tiles_move_whole_vectors) {
  static plan made;
  static const int64_t shapes[2][2] = {{4096, 65536}, {65536, 4096}};
  plan_target target;
  llrt_storage storage;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(llrt_storage_row_major(2, &storage), LLRT_OK);
  for (int axis = 0; axis < 2; axis++) {
    op_description desc = {.kind = LLRT_OP_SCAN, .n_tensors = 2};
    desc.combine = (llrt_op_combine){.op = LLRT_COMBINE_SUM, .axes = 1u << axis};
    for (int t = 0; t < 2; t++) {
      desc.tensors[t] = (llrt_tensor){.dtype = LLRT_F32, .rank = 2, .storage = &storage};
      for (int a = 0; a < 2; a++) {
        int64_t extent = shapes[axis == 0][a];
        desc.promises[t].shape[a] = (llrt_promise){0, extent, extent};
      }
      desc.promises[t].address.multiple = 16;
    }
    cr_assert_eq(plan_make(&desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
    const plan_kernel *kernel = &made.variant[made.n_variants - 1];
    cr_assert_not(kernel->flat);
    cr_expect_eq(kernel->cost.load_sectors, kernel->cost.min_sectors, "axis %d", axis);
    cr_expect_eq(kernel->cost.store_sectors, kernel->cost.min_sectors, "axis %d", axis);
    for (int i = 0; i < kernel->n_steps; i++)
      if (kernel->step[i].kind == PLAN_LOAD || kernel->step[i].kind == PLAN_STORE)
        cr_expect_eq(kernel->step[i].vector, 2, "axis %d, step %d", axis, i);
  }
}
