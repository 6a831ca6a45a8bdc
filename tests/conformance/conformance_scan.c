/* Scans against a walk over positions (combine_reference.h), where an element is added once for
 * every position that a result joins. Every copy is looked at; pads hold the pad value or what was
 * there, and so does what lies between.
 *
 * LLRT_TEST_SCANS=N makes it N random ones, and nothing else. */
#include "captured.h"
#include "area.h"
#include "combine_random.h"
#include "conformance.h"
#include "prepared_run.h"

#include "../number_reference.h"
#include "../storage_walk.h"
#include "runtime/described.h"

#include <stdio.h>
#include <stdlib.h>

#define GUARD_BYTES 256
#define RANDOM_SAMPLE 40
#define RANDOM_ELEMENTS 160000 /* at most; most have fewer than an eighth */

typedef struct scan_row {
  const char *source, *destination;
  int rank;
  int64_t shape[4];
  int axis;
  llrt_combiner op;
  llrt_dtype from, to, accumulate; /* NONE: the default */
  bool exclusive, reverse,
      special; /* special: NaN, infinities and zeros of both signs are among the elements */
} scan_row;

#define ROW "row_major"
#define SWIZZLED "swizzle(per_element=3, swizzle_len=3, atom_len=3) o S[(64,64):(64@m,1@m)]"
#define FRAGMENTS \
  "tiled([32,32], nvmma(version=[2,0], warps_per_cta=[2,2], instr_shape=[16,8]), order=[1,0])"
#define BRICKS \
  "tiled([16,16], identity1d(16, offset, dim1) * identity1d(16, offset, dim0), order=[0,1])"
#define REVERSED_BITS "{offset: [[512],[256],[128],[64],[32],[16],[8],[4],[2],[1]]} -> [dim0:1024]"

static const scan_row rows[] = {
    /* types */
    {ROW, ROW, 2, {37, 300}, 1, LLRT_COMBINE_SUM, LLRT_F32, 0, 0, false, false, false},
    {ROW, ROW, 2, {37, 300}, 1, LLRT_COMBINE_SUM, LLRT_F64, 0, 0, true, false, false},
    {ROW, ROW, 2, {37, 300}, 1, LLRT_COMBINE_SUM, LLRT_F16, 0, 0, false, true, false},
    {ROW, ROW, 2, {33, 512}, 1, LLRT_COMBINE_SUM, LLRT_BF16, LLRT_F32, 0, true, true, false},
    {ROW, ROW, 2, {33, 520}, 1, LLRT_COMBINE_SUM, LLRT_E4M3, LLRT_F32, 0, false, false, false},
    {ROW, ROW, 2, {33, 520}, 1, LLRT_COMBINE_SUM, LLRT_I8, 0, 0, false, false, false},
    {ROW, ROW, 2, {33, 520}, 1, LLRT_COMBINE_SUM, LLRT_U16, 0, 0, true, false, false},
    {ROW, ROW, 2, {33, 520}, 1, LLRT_COMBINE_SUM, LLRT_I32, 0, 0, false, true, false},
    {ROW, ROW, 2, {33, 520}, 1, LLRT_COMBINE_SUM, LLRT_I64, 0, 0, false, false, false},
    {ROW, ROW, 2, {33, 520}, 1, LLRT_COMBINE_SUM, LLRT_U32, LLRT_U32, LLRT_U32, true, true, false},
    {ROW,
     ROW,
     2,
     {33, 520},
     1,
     LLRT_COMBINE_SUM,
     LLRT_F32,
     LLRT_F64,
     LLRT_F64,
     false,
     false,
     false},
    {ROW, ROW, 2, {20, 260}, 1, LLRT_COMBINE_PROD, LLRT_F32, 0, 0, false, false, false},
    {ROW, ROW, 2, {20, 260}, 1, LLRT_COMBINE_PROD, LLRT_I32, 0, 0, false, false, false},
    {ROW, ROW, 2, {20, 260}, 1, LLRT_COMBINE_PROD, LLRT_U8, 0, 0, true, true, false},
    {ROW, ROW, 2, {20, 260}, 1, LLRT_COMBINE_MIN, LLRT_F16, 0, 0, false, false, true},
    {ROW, ROW, 2, {20, 260}, 1, LLRT_COMBINE_MAX, LLRT_BF16, 0, 0, false, true, true},
    {ROW, ROW, 2, {20, 260}, 1, LLRT_COMBINE_MAX, LLRT_E4M3, 0, 0, true, false, false},
    {ROW, ROW, 2, {20, 260}, 1, LLRT_COMBINE_MIN, LLRT_F64, 0, 0, true, true, true},
    {ROW, ROW, 2, {20, 260}, 1, LLRT_COMBINE_MIN, LLRT_U8, 0, 0, false, false, false},
    {ROW, ROW, 2, {20, 260}, 1, LLRT_COMBINE_MAX, LLRT_I64, 0, 0, true, false, false},
    /* shapes and axes */
    {ROW, ROW, 1, {1}, 0, LLRT_COMBINE_SUM, LLRT_F32, 0, 0, false, false, false},
    {ROW, ROW, 1, {1}, 0, LLRT_COMBINE_PROD, LLRT_F32, 0, 0, true, false, false},
    {ROW, ROW, 1, {0}, 0, LLRT_COMBINE_SUM, LLRT_F32, 0, 0, false, false, false},
    {ROW, ROW, 2, {0, 5}, 1, LLRT_COMBINE_MAX, LLRT_I32, 0, 0, false, false, false},
    {ROW, ROW, 2, {5, 0}, 1, LLRT_COMBINE_MAX, LLRT_I32, 0, 0, false, false, false},
    {ROW, ROW, 2, {5, 1}, 1, LLRT_COMBINE_MAX, LLRT_I32, 0, 0, true, true, false},
    {ROW, ROW, 1, {70001}, 0, LLRT_COMBINE_SUM, LLRT_F32, 0, 0, false, false, false},
    {ROW, ROW, 1, {150001}, 0, LLRT_COMBINE_SUM, LLRT_I8, LLRT_I32, LLRT_I32, false, false, false},
    {ROW, ROW, 1, {65536}, 0, LLRT_COMBINE_SUM, LLRT_I32, LLRT_I32, LLRT_I32, true, true, false},
    {ROW, ROW, 2, {1, 33333}, 1, LLRT_COMBINE_MAX, LLRT_BF16, 0, 0, false, true, false},
    {ROW, ROW, 2, {300, 70}, 0, LLRT_COMBINE_SUM, LLRT_F32, 0, 0, false, false, false},
    {ROW, ROW, 2, {700, 64}, 0, LLRT_COMBINE_SUM, LLRT_BF16, 0, 0, true, false, false},
    {ROW,
     ROW,
     2,
     {2050, 24},
     0,
     LLRT_COMBINE_SUM,
     LLRT_I32,
     LLRT_I32,
     LLRT_I32,
     false,
     true,
     false},
    {ROW, ROW, 3, {7, 45, 33}, 1, LLRT_COMBINE_SUM, LLRT_I16, 0, 0, false, false, false},
    {ROW, ROW, 3, {7, 45, 33}, 0, LLRT_COMBINE_MIN, LLRT_F32, 0, 0, false, true, true},
    {ROW, ROW, 4, {3, 5, 6, 40}, 2, LLRT_COMBINE_SUM, LLRT_U8, 0, 0, true, true, false},
    {ROW, ROW, 2, {1500, 3}, 0, LLRT_COMBINE_SUM, LLRT_F64, 0, 0, false, false, false},
    {ROW, ROW, 2, {3, 40003}, 1, LLRT_COMBINE_SUM, LLRT_F32, 0, 0, false, true, false},
    {ROW, ROW, 2, {65, 4099}, 1, LLRT_COMBINE_SUM, LLRT_F32, 0, 0, false, false, false},
    /* storages */
    {"col_major", ROW, 2, {130, 66}, 0, LLRT_COMBINE_SUM, LLRT_F16, 0, 0, false, false, false},
    {"col_major", ROW, 2, {130, 66}, 1, LLRT_COMBINE_SUM, LLRT_F32, 0, 0, false, true, false},
    {ROW, "col_major", 2, {130, 260}, 1, LLRT_COMBINE_SUM, LLRT_F32, 0, 0, true, false, false},
    {"col_major",
     "col_major",
     3,
     {13, 40, 21},
     1,
     LLRT_COMBINE_SUM,
     LLRT_F32,
     0,
     0,
     false,
     false,
     false},
    {SWIZZLED, ROW, 2, {64, 64}, 0, LLRT_COMBINE_SUM, LLRT_F16, 0, 0, false, false, false},
    {SWIZZLED,
     SWIZZLED,
     2,
     {64, 64},
     1,
     LLRT_COMBINE_SUM,
     LLRT_I16,
     LLRT_I32,
     LLRT_I32,
     true,
     true,
     false},
    {FRAGMENTS, ROW, 2, {96, 64}, 0, LLRT_COMBINE_SUM, LLRT_BF16, 0, 0, false, false, false},
    {FRAGMENTS, FRAGMENTS, 2, {96, 64}, 1, LLRT_COMBINE_MAX, LLRT_I8, 0, 0, false, true, false},
    {BRICKS, ROW, 2, {48, 80}, 1, LLRT_COMBINE_SUM, LLRT_I32, 0, 0, false, false, false},
    {BRICKS, BRICKS, 2, {64, 96}, 0, LLRT_COMBINE_SUM, LLRT_F32, 0, 0, true, false, false},
    {ROW,
     "S[(40,100):(200@m,2@m)] + R[3:8192@m]",
     2,
     {40, 100},
     1,
     LLRT_COMBINE_SUM,
     LLRT_F32,
     0,
     0,
     false,
     false,
     false},
    {"S[(45,64,30):(1920@m,30@m,1@m)]",
     "S[(64,45,30):(1350@m,30@m,1@m)]",
     2,
     {2880, 30},
     0,
     LLRT_COMBINE_SUM,
     LLRT_I16,
     0,
     0,
     false,
     false,
     false},
    {"S[(45,64,30):(30@m,1350@m,1@m)]",
     ROW,
     2,
     {2880, 30},
     0,
     LLRT_COMBINE_SUM,
     LLRT_I16,
     0,
     0,
     false,
     true,
     false},
    /* pads */
    {ROW,
     "scale_128x4(pad=9)",
     2,
     {60, 9},
     1,
     LLRT_COMBINE_MAX,
     LLRT_U8,
     0,
     0,
     false,
     false,
     false},
    {ROW, "scale_8x4(pad=1)", 2, {17, 70}, 0, LLRT_COMBINE_MIN, LLRT_U8, 0, 0, true, true, false},
    {ROW,
     "storage(rank=1, digits=[dim0: rest], tile=identity1d(64, offset, dim0), pad=7)",
     1,
     {70001},
     0,
     LLRT_COMBINE_SUM,
     LLRT_I32,
     LLRT_I32,
     LLRT_I32,
     false,
     false,
     false},
    {ROW,
     "scale_128x4(pad=keep)",
     2,
     {60, 9},
     1,
     LLRT_COMBINE_MAX,
     LLRT_U8,
     0,
     0,
     false,
     true,
     false},
    {REVERSED_BITS, ROW, 1, {1024}, 0, LLRT_COMBINE_SUM, LLRT_F32, 0, 0, false, false, false},
    {REVERSED_BITS,
     REVERSED_BITS,
     1,
     {1024},
     0,
     LLRT_COMBINE_SUM,
     LLRT_I8,
     0,
     0,
     true,
     true,
     false},
    /* what random ones have found: swizzles that are no sums of bits */
    {"storage(rank=1, digits=[dim0: 5, dim0: rest], swizzle=[0,1,1], pad=5)",
     ROW,
     1,
     {59},
     0,
     LLRT_COMBINE_SUM,
     LLRT_I8,
     LLRT_I32,
     LLRT_I32,
     false,
     true,
     false},
    {ROW,
     "storage(rank=3, digits=[dim1: rest, dim0: rest, dim2: rest], swizzle=[1,1,1])",
     3,
     {7, 90, 31},
     1,
     LLRT_COMBINE_MIN,
     LLRT_U64,
     0,
     0,
     true,
     false,
     false},
    {"storage(rank=2, digits=[dim1: rest, dim0: rest], swizzle=[1,2,2])",
     ROW,
     2,
     {30, 301},
     1,
     LLRT_COMBINE_SUM,
     LLRT_I16,
     0,
     0,
     false,
     false,
     false},
    /* what stands before the first, in a wider type than the elements' */
    {ROW, ROW, 2, {24, 16}, 1, LLRT_COMBINE_MIN, LLRT_I8, LLRT_I64, LLRT_I64, true, true, false},
    {ROW, ROW, 2, {24, 15}, 1, LLRT_COMBINE_MAX, LLRT_E4M3, LLRT_F32, 0, true, false, false},
};
#define N_ROWS ((int)(sizeof rows / sizeof *rows))

typedef struct scan_bench {
  const scan_row *row; /* NULL: a random case */
  combine_problem problem;
  combine_kind kind; /* problem's, with what its defaults are */
  int axis;
  area_owner owner;
  llrt_storage_binding binding[2];
  llrt_tensor tensor[2];
  area memory[2];
  uint8_t *before; /* of the destination */
  uint64_t *codes; /* of the source, row-major */
} scan_bench;

static uint64_t make_code(const scan_row *row, uint64_t *seed) {
  static const double powers[] = {1, -1, 1, 1, -1, 2, 0.5};
  static const double specials[] = {INFINITY, -INFINITY, 0.0, -0.0, NAN};
  int bits = llrt_dtype_bits(row->from);
  double x = (double)(random_below(seed, 4001) - 2000) / 512;
  if (row->op == LLRT_COMBINE_PROD)
    x = powers[random_below(seed, 40) < 2 ? 5 + random_below(seed, 2) : random_below(seed, 5)];
  if (row->special && random_below(seed, 60) < 4) x = specials[random_below(seed, 4)];
  if (row->special && random_below(seed, 900) == 0) x = specials[4];
  if (combine_is_float(row->from)) return reference_encode(row->from, x);
  return random_next(seed) & (bits == 64 ? ~0ull : (1ull << bits) - 1);
}

/* ---- tensors ---- */

static int64_t flat_index(const combine_problem *p, const int64_t *x) {
  int64_t at = 0;
  for (int a = 0; a < p->rank; a++) at = at * p->shape[a] + x[a];
  return at;
}

static int64_t elements_of(const combine_problem *p) {
  int64_t n = 1;
  for (int a = 0; a < p->rank; a++) n *= p->shape[a];
  return n;
}

static void put_code(llrt_dtype type, uint8_t *bytes, int64_t at, uint64_t code) {
  size_t size = (size_t)llrt_dtype_bits(type) / 8;
  memcpy(bytes + (size_t)at * size, &code, size);
}

static size_t shift_of(const scan_bench *at, int t) {
  return GUARD_BYTES + (size_t)(at->problem.shift[t] * llrt_dtype_bits(at->tensor[t].dtype) / 8);
}

static bool make_tensor(scan_bench *at, int t, llrt_dtype type, uint64_t seed) {
  combine_problem *p = &at->problem;
  llrt_tensor *tensor = &at->tensor[t];
  *tensor = (llrt_tensor){
      .dtype = type, .rank = p->rank, .storage = &p->storage[t], .device = at->owner.device};
  memcpy(tensor->shape, p->shape, sizeof(int64_t) * (size_t)p->rank);
  AREA_CHECK(&at->owner, llrt_storage_bind(&p->storage[t], p->rank, tensor->shape, tensor->strides,
                                           &at->binding[t]));
  size_t bytes = (size_t)(at->binding[t].span * llrt_dtype_bits(type) / 8);
  if (!area_make(&at->owner, bytes + shift_of(at, t) + GUARD_BYTES, &at->memory[t])) return false;
  for (size_t i = 0; i < at->memory[t].bytes; i++)
    at->memory[t].bits[i] = (uint8_t)random_next(&seed);
  tensor->data = at->memory[t].memory + shift_of(at, t);
  return true;
}

static bool fill_source(scan_bench *at, uint64_t seed) {
  const combine_problem *p = &at->problem;
  int64_t n = elements_of(p);
  at->codes = malloc(((size_t)n + 1) * sizeof *at->codes);
  if (!at->codes) return area_fail(&at->owner, "out of memory");
  for (int64_t i = 0; i < n; i++)
    at->codes[i] = at->row ? make_code(at->row, &seed)
                           : combine_random_code(&p->data, p->kind.op, p->kind.from, &seed);
  if (n == 0) return true;
  storage_walk walk;
  storage_walk_begin(&walk, &p->storage[0], &at->binding[0]);
  do {
    if (storage_walk_is_element(&walk, p->shape))
      put_code(p->kind.from, at->memory[0].bits + shift_of(at, 0), walk.place,
               at->codes[flat_index(p, walk.coords)]);
  } while (storage_walk_next(&walk));
  return true;
}

/* ---- comparing ---- */

/* The state behind every position, by row-major index. */
static combine_joined *join_all(const scan_bench *at) {
  const combine_problem *p = &at->problem;
  int64_t inner = 1, extent = p->shape[at->axis], n = elements_of(p);
  combine_joined *all = malloc(((size_t)n + 1) * sizeof *all);
  for (int a = at->axis + 1; a < p->rank; a++) inner *= p->shape[a];
  for (int64_t line = 0; all && extent && line < n / extent; line++) {
    int64_t base = line / inner * inner * extent + line % inner;
    combine_joined r = combine_nothing();
    for (int64_t k = 0; k < extent; k++) {
      int64_t i = base + (p->reverse ? extent - 1 - k : k) * inner;
      combine_joined before = r;
      combine_take(&at->kind, at->codes[i], 0, &r);
      all[i] = p->exclusive ? before : r;
    }
  }
  return all;
}

static bool compare_all(scan_bench *at, const combine_joined *all) {
  const combine_problem *p = &at->problem;
  llrt_dtype to = at->tensor[1].dtype;
  uint8_t *data = at->memory[1].bits + shift_of(at, 1);
  size_t size = (size_t)llrt_dtype_bits(to) / 8;
  storage_walk walk;
  if (elements_of(p) == 0) return true;
  storage_walk_begin(&walk, &p->storage[1], &at->binding[1]);
  do {
    if (!storage_walk_is_element(&walk, p->shape)) continue;
    int64_t i = flat_index(p, walk.coords);
    uint64_t code = reference_read(to, data, walk.place);
    if (!combine_agrees(&at->kind, &all[i], (double)all[i].n, code))
      return area_fail(&at->owner,
                       "at %lld,%lld,%lld: %llx; %lld joined: sum %.9g, integer %llx, best %g",
                       (long long)walk.coords[0], (long long)walk.coords[1],
                       (long long)walk.coords[2], (unsigned long long)code, (long long)all[i].n,
                       all[i].sum, (unsigned long long)all[i].integer, all[i].best);
    memcpy(at->before + shift_of(at, 1) + (size_t)walk.place * size,
           data + (size_t)walk.place * size, size);
  } while (storage_walk_next(&walk));
  return true;
}

/* Pads: as the storage says. What was compared stands in `before` by now: nothing else may have
 * changed. */
static bool compare_rest(scan_bench *at) {
  const combine_problem *p = &at->problem;
  const llrt_storage *storage = &p->storage[1];
  storage_walk walk;
  if (storage->pad == LLRT_PAD_VALUE && elements_of(p) > 0) {
    storage_walk_begin(&walk, storage, &at->binding[1]);
    do {
      if (!storage_walk_is_element(&walk, p->shape))
        put_code(at->tensor[1].dtype, at->before + shift_of(at, 1), walk.place, storage->pad_value);
    } while (storage_walk_next(&walk));
  }
  for (size_t i = 0; i < at->memory[1].bytes; i++)
    if (at->before[i] != at->memory[1].bits[i])
      return area_fail(&at->owner, "byte %lld, which is no element, is %02x, not %02x",
                       (long long)(i - shift_of(at, 1)), at->memory[1].bits[i], at->before[i]);
  return true;
}

static bool compare(scan_bench *at) {
  combine_joined *all = join_all(at);
  bool same = all && compare_all(at, all) && compare_rest(at);
  free(all);
  return same;
}

/* ---- running ---- */

static bool fetch(scan_bench *at) {
  area *memory = &at->memory[1];
  AREA_CHECK(&at->owner, llrt_stream_synchronize(at->owner.device, NULL));
  AREA_CHECK(&at->owner, llrt_memory_copy(at->owner.device, memory->bits, memory->memory,
                                          memory->bytes, LLRT_COPY_FROM_DEVICE, NULL));
  AREA_CHECK(&at->owner, llrt_stream_synchronize(at->owner.device, NULL));
  return true;
}

static bool run_prepared(scan_bench *at, bool reload, area *workspace) {
  const combine_problem *p = &at->problem;
  op_description desc = {
      .kind = LLRT_OP_SCAN, .n_tensors = 2, .tensors = {at->tensor[0], at->tensor[1]}};
  desc.combine = (llrt_op_combine){.op = p->kind.op,
                                   .accumulate = p->kind.accumulate,
                                   .axes = p->axes,
                                   .exclusive = p->exclusive,
                                   .reverse = p->reverse};
  return prepared_run_twice(&at->owner, &desc, reload, workspace);
}

static bool run_scan(scan_bench *at, route by, area *workspace) {
  const combine_problem *p = &at->problem;
  if (by != ROUTE_CONVERT) return run_prepared(at, by == ROUTE_LOAD, workspace);
  llrt_scan_params params = {.op = p->kind.op,
                             .axis = at->axis,
                             .exclusive = p->exclusive,
                             .reverse = p->reverse,
                             .accumulate = p->kind.accumulate};
  CAPTURED_CHECK(&at->owner,
                 llrt_scan_into(&at->tensor[0], &at->tensor[1], &params, CAPTURED_STREAM));
  return true;
}

static bool run(scan_bench *at, uint64_t seed, route by, area *workspace) {
  if (!make_tensor(at, 0, at->kind.from, seed) || !make_tensor(at, 1, at->kind.to, seed + 1) ||
      !fill_source(at, seed + 2) || !area_send(&at->owner, &at->memory[0]) ||
      !area_send(&at->owner, &at->memory[1]))
    return false;
  at->before = malloc(at->memory[1].bytes);
  if (!at->before) return area_fail(&at->owner, "out of memory");
  memcpy(at->before, at->memory[1].bits, at->memory[1].bytes);
  return run_scan(at, by, workspace) && area_same(&at->owner, &at->memory[0], "source") &&
         fetch(at) && compare(at);
}

static bool problem_from_row(scan_bench *at) {
  const scan_row *row = at->row;
  combine_problem *p = &at->problem;
  *p = (combine_problem){.kind = {row->op, row->from, row->accumulate, row->to},
                         .rank = row->rank,
                         .keeps = true,
                         .axes = 1u << row->axis,
                         .exclusive = row->exclusive,
                         .reverse = row->reverse};
  memcpy(p->shape, row->shape, sizeof p->shape);
  AREA_CHECK(&at->owner, llrt_storage_parse(row->source, row->rank, row->shape, &p->storage[0]));
  AREA_CHECK(&at->owner,
             llrt_storage_parse(row->destination, row->rank, row->shape, &p->storage[1]));
  return true;
}

static bool make_problem(scan_bench *at, int number, uint64_t seed) {
  bool drawn = randoms_alone() || number >= N_ROWS;
  if (drawn) combine_random_scan(seed + 0x9E37u * (uint64_t)number, RANDOM_ELEMENTS, &at->problem);
  else at->row = &rows[number];
  bool made = drawn || problem_from_row(at);
  const combine_kind *k = &at->problem.kind;
  at->kind = combine_reference_resolve(k->op, k->from, k->accumulate, k->to);
  while (at->problem.axes >> at->axis > 1) at->axis++;
  return made;
}

bool scan_case_passes(int number, uint64_t seed, llrt_device *device, char *title,
                      size_t title_size, char *why, size_t size) {
  scan_bench at = {.owner = {device, why, size}};
  area workspace = {0};
  why[0] = 0;
  bool passed = make_problem(&at, number, seed);
  combine_problem_title(&at.problem, "scan", title, title_size);
  passed = passed && run(&at, seed + (uint64_t)number, (route)(number % ROUTE_COUNT), &workspace);
  if (!passed) combine_say_storages(&at.problem, why, size);
  for (int t = 0; t < 2; t++) area_free(&at.owner, &at.memory[t]);
  area_free(&at.owner, &workspace);
  free(at.before);
  free(at.codes);
  return passed;
}

int scan_cases(void) {
  return randoms_alone() ? asked_randoms("LLRT_TEST_SCANS") : N_ROWS + RANDOM_SAMPLE;
}
