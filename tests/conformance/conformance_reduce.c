/* Reduces against a walk over coordinates (combine_reference.h), where an element is added once a
 * turn of a walk of which the smallest takes 4 elements, and at most 48 times in trees inside
 * blocks and between them. Every copy of a result is looked at; pads hold the pad value or what was
 * there, and so does what lies between.
 *
 * LLRT_TEST_REDUCES=N makes it N random ones, and nothing else. */
#include "captured.h"
#include "area.h"
#include "combine_random.h"
#include "conformance.h"
#include "prepared_run.h"
#include "rows.h"

#include "../number_reference.h"
#include "../storage_walk.h"
#include "runtime/described.h"

#include <stdio.h>
#include <stdlib.h>

#define GUARD_BYTES 256
#define POOL 61
#define RANDOM_SAMPLE 40
#define RANDOM_ELEMENTS 160000 /* at most; most have fewer than an eighth */

/* ---- elements ---- */

/* A few codes that cases draw from: products stay in range, sums do not overflow. */
static void fill_pool(const reduce_row *row, uint64_t pool[POOL]) {
  static const double powers[] = {1, -1, 2, 0.5, -2, -0.5, 1};
  int bits = llrt_dtype_bits(row->from);
  uint64_t seed = 77;
  for (int i = 0; i < POOL; i++) {
    double x = (double)(random_below(&seed, 4001) - 2000) / 512;
    if (row->op == LLRT_COMBINE_PROD) x = powers[i % 7];
    if (combine_is_float(row->from)) pool[i] = reference_encode(row->from, x);
    else pool[i] = random_next(&seed) & (bits == 64 ? ~0ull : (1ull << bits) - 1);
    if (row->from == LLRT_BOOL) pool[i] = i % 16 != 0;
    if (combine_is_truth(row->op) && row->from != LLRT_BOOL) pool[i] = i % 16 ? 0 : pool[i];
    if (row->op == LLRT_COMBINE_ALL && i % 16) pool[i] |= row->from == LLRT_BOOL ? 1 : 3;
  }
  if (!row->special) return;
  pool[0] = reference_encode(row->from, (double)INFINITY);
  pool[1] = reference_encode(row->from, -(double)INFINITY);
  pool[2] = reference_encode(row->from, 0.0);
  pool[3] = reference_encode(row->from, -0.0);
}

/* ---- the case ---- */

typedef struct reduce_bench {
  const reduce_row *row; /* NULL: a random case */
  combine_problem problem;
  combine_kind kind; /* problem's, with what its defaults are */
  area_owner owner;
  llrt_storage_binding binding[3];
  llrt_tensor tensor[3];
  area memory[3], count;
  uint8_t *before[3];
  int n;
} reduce_bench;

static uint32_t axes_of(const combine_problem *p) {
  return p->axes ? p->axes : (1u << p->rank) - 1;
}

/* The tensor's own axes: results drop the reduced ones or keep them. */
static void shape_tensor(const combine_problem *p, int t, llrt_tensor *tensor) {
  for (int a = 0; a < p->rank; a++) {
    bool reduced = t > 0 && axes_of(p) >> a & 1;
    if (reduced && !p->keeps) continue;
    tensor->shape[tensor->rank++] = reduced ? 1 : p->shape[a];
  }
}

static bool problem_from_row(reduce_bench *at) {
  const reduce_row *row = at->row;
  const char *const texts[] = {row->source, row->destination, row->values};
  combine_problem *p = &at->problem;
  *p = (combine_problem){.kind = {row->op, row->from, row->accumulate, row->to},
                         .rank = row->rank,
                         .axes = row->axes,
                         .keeps = row->keeps,
                         .values = row->values,
                         .count = row->count};
  memcpy(p->shape, row->shape, sizeof p->shape);
  for (int t = 0; t < 3 && texts[t]; t++) {
    llrt_tensor shaped = {0};
    shape_tensor(p, t, &shaped);
    AREA_CHECK(&at->owner, llrt_storage_parse(texts[t], shaped.rank, shaped.shape, &p->storage[t]));
  }
  return true;
}

static size_t shift_of(const reduce_bench *at, int t) {
  return GUARD_BYTES + (size_t)(at->problem.shift[t] * llrt_dtype_bits(at->tensor[t].dtype) / 8);
}

/* Sources of elements, pads too; results of anything. */
static void fill_tensor(reduce_bench *at, int t, uint64_t seed) {
  const combine_problem *p = &at->problem;
  llrt_dtype type = at->tensor[t].dtype;
  uint64_t pool[POOL];
  size_t width = (size_t)llrt_dtype_bits(type) / 8;
  if (at->row) fill_pool(at->row, pool);
  for (size_t i = 0; i < at->memory[t].bytes / width; i++) {
    uint64_t code;
    if (t > 0) code = random_next(&seed);
    else if (!at->row) code = combine_random_code(&p->data, p->kind.op, type, &seed);
    else code = pool[random_below(&seed, POOL)];
    if (t == 0 && at->row && at->row->special && random_below(&seed, 400) == 0)
      code = reference_encode(type, (double)NAN);
    memcpy(at->memory[t].bits + i * width, &code, width);
  }
}

static bool make_tensor(reduce_bench *at, int t, llrt_dtype dtype, uint64_t seed) {
  llrt_tensor *tensor = &at->tensor[t];
  llrt_storage *storage = &at->problem.storage[t];
  int64_t bytes;
  *tensor = (llrt_tensor){.dtype = dtype, .device = at->owner.device, .storage = storage};
  shape_tensor(&at->problem, t, tensor);
  AREA_CHECK(&at->owner,
             llrt_storage_bind(storage, tensor->rank, tensor->shape, NULL, &at->binding[t]));
  AREA_CHECK(&at->owner, llrt_storage_bytes(&at->binding[t], llrt_dtype_bits(dtype), &bytes));
  if (!area_make(&at->owner, (size_t)bytes + shift_of(at, t) + GUARD_BYTES, &at->memory[t]))
    return false;
  fill_tensor(at, t, seed);
  at->before[t] = malloc(at->memory[t].bytes);
  if (!at->before[t]) return area_fail(&at->owner, "out of memory");
  memcpy(at->before[t], at->memory[t].bits, at->memory[t].bytes);
  tensor->data = at->memory[t].memory + shift_of(at, t);
  return area_send(&at->owner, &at->memory[t]);
}

static uint64_t read_code(const reduce_bench *at, int t, int64_t offset) {
  return reference_read(at->tensor[t].dtype, at->memory[t].bits + shift_of(at, t), offset);
}

static bool next(int64_t *x, const combine_problem *p, uint32_t axes) {
  for (int a = p->rank - 1; a >= 0; a--) {
    if (!(axes >> a & 1)) continue;
    if (++x[a] < p->shape[a]) return true;
    x[a] = 0;
  }
  return false;
}

static int first_axis(const combine_problem *p) {
  int axis = 0;
  while (!(axes_of(p) >> axis & 1)) axis++;
  return axis;
}

/* Which of the reduced elements x is, row by row. */
static int64_t number_of(const combine_problem *p, const int64_t *x) {
  int64_t number = 0;
  for (int a = 0; a < p->rank; a++)
    if (axes_of(p) >> a & 1) number = number * p->shape[a] + x[a];
  return number;
}

static combine_joined reference_at(const reduce_bench *at, int64_t *x) {
  const combine_problem *p = &at->problem;
  combine_joined o = combine_nothing();
  for (int a = 0; a < p->rank; a++)
    if (p->shape[a] == 0) return o;
  do {
    if (p->count && x[first_axis(p)] >= p->count) continue;
    int64_t offset = llrt_storage_offset(&p->storage[0], &at->binding[0], x);
    combine_take(&at->kind, read_code(at, 0, offset), number_of(p, x), &o);
  } while (next(x, p, axes_of(p)));
  return o;
}

/* ---- comparing ---- */

/* Coordinates of a result in a tensor that may have dropped the reduced axes. */
static int64_t result_offset(const reduce_bench *at, int t, const int64_t *x) {
  const combine_problem *p = &at->problem;
  int64_t own[LLRT_MAX_RANK] = {0};
  for (int a = 0, n = 0; a < p->rank; a++)
    if (p->keeps || !(axes_of(p) >> a & 1)) own[n++] = x[a];
  return llrt_storage_offset(&p->storage[t], &at->binding[t], own);
}

/* The first copies of all results. */
static bool compare_results(reduce_bench *at) {
  const combine_problem *p = &at->problem;
  int64_t x[LLRT_MAX_RANK] = {0};
  for (int a = 0; a < p->rank; a++)
    if (p->shape[a] == 0 && !(axes_of(p) >> a & 1)) return true;
  do {
    combine_joined o = reference_at(at, x);
    uint64_t got = read_code(at, 1, result_offset(at, 1, x));
    if (!combine_agrees(&at->kind, &o, (double)o.n / 4 + 48, got))
      return area_fail(&at->owner, "at %lld,%lld,%lld: %llx; sum %g, best %g at %lld of %lld",
                       (long long)x[0], (long long)x[1], (long long)x[2], (unsigned long long)got,
                       o.sum, o.best, (long long)o.at, (long long)o.n);
    if (at->n < 3) continue;
    got = read_code(at, 2, result_offset(at, 2, x));
    if (!combine_value_agrees(&at->kind, &o, at->tensor[2].dtype, got))
      return area_fail(&at->owner, "at %lld,%lld: value %llx, not %llx", (long long)x[0],
                       (long long)x[1], (unsigned long long)got, (unsigned long long)o.best_code);
  } while (next(x, p, ~axes_of(p)));
  return true;
}

/* Copies are as the first, pads as the storage says; nothing else has changed. */
static bool compare_rest(reduce_bench *at, int t) {
  const llrt_tensor *tensor = &at->tensor[t];
  const llrt_storage *storage = tensor->storage;
  size_t size = (size_t)llrt_dtype_bits(tensor->dtype) / 8;
  storage_walk walk;
  bool empty = false;
  for (int a = 0; a < tensor->rank; a++) empty |= tensor->shape[a] == 0;
  if (!empty) storage_walk_begin(&walk, storage, &at->binding[t]);
  for (bool more = !empty; more; more = storage_walk_next(&walk)) {
    uint64_t code = storage->pad_value;
    bool element = storage_walk_is_element(&walk, tensor->shape);
    if (element)
      code = read_code(at, t, llrt_storage_offset(storage, &at->binding[t], walk.coords));
    if (element || storage->pad == LLRT_PAD_VALUE)
      memcpy(at->before[t] + shift_of(at, t) + (size_t)walk.place * size, &code, size);
  }
  for (size_t i = 0; i < at->memory[t].bytes; i++)
    if (at->before[t][i] != at->memory[t].bits[i])
      return area_fail(
          &at->owner, "byte %lld of tensor %d, a copy, a pad or none of it, is %02x, not %02x",
          (long long)(i - shift_of(at, t)), t, at->memory[t].bits[i], at->before[t][i]);
  return true;
}

/* ---- running ---- */

static bool fetch(reduce_bench *at, int t) {
  AREA_CHECK(&at->owner, llrt_stream_synchronize(at->owner.device, NULL));
  AREA_CHECK(&at->owner,
             llrt_memory_copy(at->owner.device, at->memory[t].bits, at->memory[t].memory,
                              at->memory[t].bytes, LLRT_COPY_FROM_DEVICE, NULL));
  AREA_CHECK(&at->owner, llrt_stream_synchronize(at->owner.device, NULL));
  return true;
}

static bool run_prepared(reduce_bench *at, bool reload, area *workspace) {
  const combine_problem *p = &at->problem;
  op_description desc = {.kind = LLRT_OP_REDUCE, .n_tensors = at->n, .tensors = {at->tensor[0]}};
  llrt_storage kept[2];
  desc.combine =
      (llrt_op_combine){.op = p->kind.op, .accumulate = p->kind.accumulate, .axes = axes_of(p)};
  for (int t = 1; t < at->n; t++)
    AREA_CHECK(&at->owner, llrt_reduce_keep_axes(&at->tensor[t], p->rank, axes_of(p), &kept[t - 1],
                                                 &desc.tensors[t]));
  return prepared_run_twice(&at->owner, &desc, reload, workspace);
}

static bool run_reduce(reduce_bench *at, route by, area *workspace) {
  const combine_problem *p = &at->problem;
  if (by != ROUTE_CONVERT) return run_prepared(at, by == ROUTE_LOAD, workspace);
  llrt_reduce_params params = {.op = p->kind.op,
                               .axes = p->axes,
                               .accumulate = p->kind.accumulate,
                               .values = at->n > 2 ? &at->tensor[2] : NULL};
  CAPTURED_CHECK(&at->owner,
                 llrt_reduce_into(&at->tensor[0], &at->tensor[1], &params, CAPTURED_STREAM));
  return true;
}

static bool make_count(reduce_bench *at) {
  int32_t count = at->problem.count;
  if (count == 0) return true;
  if (!area_make(&at->owner, sizeof count, &at->count)) return false;
  if (count < 0) count = 0;
  memcpy(at->count.bits, &count, sizeof count);
  at->tensor[0].extent_ptr[first_axis(&at->problem)] =
      (const int32_t *)(const void *)at->count.memory;
  return area_send(&at->owner, &at->count);
}

static bool run(reduce_bench *at, uint64_t seed, route by, area *workspace) {
  const combine_problem *p = &at->problem;
  const llrt_dtype types[] = {p->kind.from, at->kind.to, p->kind.from};
  bool done = true;
  at->n = p->values ? 3 : 2;
  for (int t = 0; t < at->n && done; t++) done = make_tensor(at, t, types[t], seed + (uint64_t)t);
  done = done && make_count(at) && run_reduce(at, by, workspace) &&
         area_same(&at->owner, &at->memory[0], "source");
  for (int t = 1; t < at->n && done; t++) done = fetch(at, t);
  done = done && compare_results(at);
  for (int t = 1; t < at->n && done; t++) done = compare_rest(at, t);
  return done;
}

static bool make_problem(reduce_bench *at, int number, uint64_t seed) {
  bool drawn = randoms_alone() || number >= reduce_rows_count;
  if (drawn)
    combine_random_reduce(seed + 0x9E37u * (uint64_t)number, RANDOM_ELEMENTS, &at->problem);
  else at->row = &reduce_rows[number];
  bool made = drawn || problem_from_row(at);
  const combine_kind *k = &at->problem.kind;
  at->kind = combine_reference_resolve(k->op, k->from, k->accumulate, k->to);
  return made;
}

bool reduce_case_passes(int number, uint64_t seed, llrt_device *device, char *title,
                        size_t title_size, char *why, size_t size) {
  reduce_bench at = {.owner = {device, why, size}};
  area workspace = {0};
  why[0] = 0;
  bool passed = make_problem(&at, number, seed);
  combine_problem_title(&at.problem, "reduce", title, title_size);
  passed = passed && run(&at, seed + (uint64_t)number, (route)(number % ROUTE_COUNT), &workspace);
  if (!passed) combine_say_storages(&at.problem, why, size);
  for (int t = 0; t < 3; t++) area_free(&at.owner, &at.memory[t]);
  for (int t = 0; t < 3; t++) free(at.before[t]);
  area_free(&at.owner, &at.count);
  area_free(&at.owner, &workspace);
  return passed;
}

int reduce_cases(void) {
  return randoms_alone() ? asked_randoms("LLRT_TEST_REDUCES") : reduce_rows_count + RANDOM_SAMPLE;
}
