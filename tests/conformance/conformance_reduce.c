/* Reduces against a walk over coordinates: integers, extremes and positions bit for bit; sums of floats within
 *
 *   joins * 2^-24 * sum |x|  (2^-53 in f64), and half a unit in the last place of the result,
 *
 * where joins bounds how often any element is added on its way: once a turn of a walk of which the smallest
 * takes 4 elements, and at most 48 times in trees inside blocks and between them. */
#include "area.h"
#include "conformance.h"
#include "prepared_run.h"

#include "../number_reference.h"

#include <stdio.h>
#include <stdlib.h>

#define GUARD_BYTES 256
#define POOL 61

typedef struct reduce_row {
  const char *source, *destination, *values; /* values NULL: none */
  int rank;
  int64_t shape[4];
  uint32_t axes;
  llrt_combiner op;
  llrt_dtype from, to; /* to NONE: what llrt_reduce gives */
  llrt_dtype accumulate;
  bool keeps, special; /* special: NaN, infinities and zeros of both signs are among the elements */
  int32_t count;       /* > 0: so many positions along the first reduced axis, says device memory */
} reduce_row;

#define ROW "row_major"
#define SWIZZLED "swizzle(per_element=3, swizzle_len=3, atom_len=3) o S[(64,64):(64@m,1@m)]"
#define FRAGMENTS "tiled([32,32], nvmma(version=[2,0], warps_per_cta=[2,2], instr_shape=[16,8]), order=[1,0])"

static const reduce_row rows[] = {
    /* types: sums and extremes along the contiguous axis */
    {ROW, ROW, NULL, 2, {37, 300}, 2, LLRT_COMBINE_SUM, LLRT_F32, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {37, 300}, 2, LLRT_COMBINE_SUM, LLRT_F64, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {37, 300}, 2, LLRT_COMBINE_SUM, LLRT_F16, 0, 0, true, false, 0},
    {ROW, ROW, NULL, 2, {40, 512}, 2, LLRT_COMBINE_SUM, LLRT_BF16, LLRT_F32, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {40, 512}, 2, LLRT_COMBINE_SUM, LLRT_E4M3, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {40, 500}, 2, LLRT_COMBINE_SUM, LLRT_E5M2, LLRT_BF16, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {40, 500}, 2, LLRT_COMBINE_SUM, LLRT_I8, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {40, 500}, 2, LLRT_COMBINE_SUM, LLRT_U16, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {40, 500}, 2, LLRT_COMBINE_SUM, LLRT_I32, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {40, 500}, 2, LLRT_COMBINE_SUM, LLRT_I64, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {40, 500}, 2, LLRT_COMBINE_SUM, LLRT_I16, LLRT_F32, LLRT_I32, false, false, 0},
    {ROW, ROW, NULL, 2, {40, 500}, 2, LLRT_COMBINE_SUM, LLRT_F16, LLRT_F64, LLRT_F64, false, false, 0},
    {ROW, ROW, NULL, 2, {20, 260}, 2, LLRT_COMBINE_PROD, LLRT_F32, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {20, 260}, 2, LLRT_COMBINE_PROD, LLRT_I32, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {20, 260}, 2, LLRT_COMBINE_PROD, LLRT_U8, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {20, 260}, 2, LLRT_COMBINE_MIN, LLRT_F16, 0, 0, false, true, 0},
    {ROW, ROW, NULL, 2, {20, 260}, 2, LLRT_COMBINE_MAX, LLRT_BF16, 0, 0, false, true, 0},
    {ROW, ROW, NULL, 2, {20, 260}, 2, LLRT_COMBINE_MAX, LLRT_E4M3, 0, 0, false, true, 0},
    {ROW, ROW, NULL, 2, {20, 260}, 2, LLRT_COMBINE_MIN, LLRT_F64, 0, 0, false, true, 0},
    {ROW, ROW, NULL, 2, {20, 260}, 2, LLRT_COMBINE_MIN, LLRT_U8, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {20, 260}, 2, LLRT_COMBINE_MAX, LLRT_I64, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {20, 260}, 2, LLRT_COMBINE_ANY, LLRT_F16, 0, 0, false, true, 0},
    {ROW, ROW, NULL, 2, {20, 260}, 2, LLRT_COMBINE_ALL, LLRT_BOOL, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {20, 33}, 2, LLRT_COMBINE_ALL, LLRT_I64, LLRT_U8, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {20, 260}, 2, LLRT_COMBINE_ANY, LLRT_U32, 0, 0, false, false, 0},
    /* positions */
    /* of axes whose digits memory has in another order: turns do not go up */
    {"((512,256)):((256,1))", ROW, ROW, 1, {131072}, 1, LLRT_COMBINE_ARGMAX, LLRT_I8, 0, 0, false, false, 0},
    {"((8,4,4096)):((16384,4096,1))", ROW, NULL, 1, {131072}, 1, LLRT_COMBINE_ARGMIN, LLRT_U8, 0, 0, false, false, 0},
    {"(3,(64,300)):(19200,(300,1))", ROW, ROW, 2, {3, 19200}, 2, LLRT_COMBINE_ARGMAX, LLRT_BF16, 0, 0, false, true, 0},
    {ROW, ROW, ROW, 2, {20, 260}, 2, LLRT_COMBINE_ARGMAX, LLRT_F32, 0, 0, false, true, 0},
    {ROW, ROW, ROW, 2, {20, 260}, 2, LLRT_COMBINE_ARGMIN, LLRT_BF16, LLRT_I32, 0, false, true, 0},
    {ROW, ROW, ROW, 2, {300, 24}, 1, LLRT_COMBINE_ARGMAX, LLRT_BF16, 0, 0, true, false, 0},
    {ROW, ROW, NULL, 2, {300, 24}, 1, LLRT_COMBINE_ARGMIN, LLRT_I8, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {20, 260}, 2, LLRT_COMBINE_ARGMAX, LLRT_U64, 0, 0, false, false, 0},
    {ROW, ROW, ROW, 1, {70000, 0}, 1, LLRT_COMBINE_ARGMAX, LLRT_F16, 0, 0, false, false, 0},
    {ROW, ROW, ROW, 2, {40000, 3}, 1, LLRT_COMBINE_ARGMIN, LLRT_F16, LLRT_I32, 0, false, true, 0},
    /* extents in device memory */
    {ROW, ROW, NULL, 2, {40, 700}, 2, LLRT_COMBINE_SUM, LLRT_BF16, LLRT_F32, 0, false, false, 333},
    {ROW, ROW, ROW, 2, {512, 200}, 1, LLRT_COMBINE_ARGMIN, LLRT_F16, 0, 0, false, true, 9},
    {ROW, ROW, NULL, 2, {3, 70000}, 2, LLRT_COMBINE_MAX, LLRT_I32, 0, 0, true, false, 40001},
    {"col_major", ROW, NULL, 3, {40, 7, 300}, 5, LLRT_COMBINE_SUM, LLRT_I16, 0, 0, false, false, 33},
    /* along several axes: numbered row by row */
    {ROW, ROW, ROW, 2, {50, 81}, 3, LLRT_COMBINE_ARGMAX, LLRT_F32, 0, 0, false, true, 0},
    {"col_major", ROW, ROW, 2, {300, 700}, 3, LLRT_COMBINE_ARGMIN, LLRT_I16, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 3, {40, 7, 300}, 5, LLRT_COMBINE_ARGMAX, LLRT_BF16, LLRT_I32, 0, true, true, 0},
    {ROW, "col_major", NULL, 4, {3, 5, 6, 40}, 11, LLRT_COMBINE_ARGMIN, LLRT_I8, 0, 0, false, false, 0},
    {SWIZZLED, ROW, NULL, 2, {64, 64}, 3, LLRT_COMBINE_ARGMAX, LLRT_F16, 0, 0, false, false, 0},
    /* axes */
    {ROW, ROW, NULL, 2, {300, 70}, 1, LLRT_COMBINE_SUM, LLRT_F32, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {300, 256}, 1, LLRT_COMBINE_SUM, LLRT_BF16, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {1500, 24}, 1, LLRT_COMBINE_SUM, LLRT_I32, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 3, {7, 45, 33}, 2, LLRT_COMBINE_SUM, LLRT_I32, 0, 0, true, false, 0},
    {ROW, ROW, NULL, 3, {7, 45, 33}, 5, LLRT_COMBINE_SUM, LLRT_I16, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 3, {7, 45, 33}, 3, LLRT_COMBINE_MAX, LLRT_F32, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 4, {5, 6, 7, 40}, 10, LLRT_COMBINE_SUM, LLRT_U32, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 3, {7, 45, 33}, 0, LLRT_COMBINE_SUM, LLRT_F32, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {64, 1}, 2, LLRT_COMBINE_SUM, LLRT_F16, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {1, 64}, 1, LLRT_COMBINE_PROD, LLRT_I16, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 1, {1, 0}, 1, LLRT_COMBINE_MAX, LLRT_F32, 0, 0, true, false, 0},
    {ROW, ROW, NULL, 2, {9, 0}, 2, LLRT_COMBINE_SUM, LLRT_F32, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {9, 0}, 2, LLRT_COMBINE_ALL, LLRT_F32, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {0, 9}, 2, LLRT_COMBINE_MAX, LLRT_F32, 0, 0, false, false, 0},
    /* shares of a walk */
    {ROW, ROW, NULL, 2, {1, 200000}, 2, LLRT_COMBINE_SUM, LLRT_BF16, LLRT_F32, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {100001, 1}, 1, LLRT_COMBINE_SUM, LLRT_F32, 0, 0, false, false, 0},
    {ROW, ROW, NULL, 2, {3, 70001}, 2, LLRT_COMBINE_SUM, LLRT_I16, 0, 0, false, false, 0},
    {ROW, "col_major", NULL, 3, {2, 30000, 3}, 2, LLRT_COMBINE_MIN, LLRT_I16, 0, 0, false, false, 0},
    /* storages */
    {"col_major", ROW, NULL, 2, {130, 66}, 2, LLRT_COMBINE_SUM, LLRT_F16, 0, 0, false, false, 0},
    {"col_major", "col_major", NULL, 3, {13, 40, 21}, 2, LLRT_COMBINE_SUM, LLRT_F32, 0, 0, false, false, 0},
    {SWIZZLED, ROW, NULL, 2, {64, 64}, 1, LLRT_COMBINE_SUM, LLRT_F16, 0, 0, false, false, 0},
    {SWIZZLED, ROW, ROW, 2, {64, 64}, 2, LLRT_COMBINE_ARGMAX, LLRT_F16, 0, 0, false, false, 0},
    {FRAGMENTS, ROW, NULL, 2, {96, 64}, 1, LLRT_COMBINE_SUM, LLRT_BF16, 0, 0, false, false, 0},
    {FRAGMENTS, ROW, NULL, 2, {96, 64}, 2, LLRT_COMBINE_MAX, LLRT_I8, 0, 0, false, false, 0},
    {"tiled([16,16], identity1d(16, offset, dim1) * identity1d(16, offset, dim0), order=[0,1])", ROW, NULL, 2, {48, 80}, 2, LLRT_COMBINE_SUM, LLRT_I32, 0, 0, false,
     false, 0},
    {ROW, "S[(40):(2@m)] + R[3:128@m]", NULL, 2, {40, 100}, 2, LLRT_COMBINE_SUM, LLRT_F32, 0, 0, false, false, 0},
    {ROW, "tiled([16], identity1d(16, offset, dim0), order=[0])", NULL, 2, {48, 100}, 2, LLRT_COMBINE_SUM, LLRT_F32, 0, 0,
     false, false, 0},
    {"S[(45,64,30):(1920@m,30@m,1@m)]", "S[(64,45):(45@m,1@m)]", NULL, 2, {2880, 30}, 2, LLRT_COMBINE_SUM, LLRT_I16, 0,
     0, false, false, 0},
    {"S[(32,16):(16@m,1@m)] + R[4:512@m]", ROW, NULL, 2, {32, 16}, 2, LLRT_COMBINE_SUM, LLRT_F32, 0, 0, false, false,
     0},
};
#define N_ROWS ((int)(sizeof rows / sizeof *rows))

/* ---- elements ---- */

static bool is_float(llrt_dtype type) {
  const reference_format *f = reference_format_of(type);
  return type == LLRT_F64 || (f && f->exponent > 0);
}

static bool is_extreme(llrt_combiner op) { return op >= LLRT_COMBINE_MIN && op <= LLRT_COMBINE_ARGMAX; }
static bool is_arg(llrt_combiner op) { return op == LLRT_COMBINE_ARGMIN || op == LLRT_COMBINE_ARGMAX; }
static bool is_truth(llrt_combiner op) { return op == LLRT_COMBINE_ANY || op == LLRT_COMBINE_ALL; }

/* A few codes that cases draw from: products stay in range, sums do not overflow. */
static void fill_pool(const reduce_row *row, uint64_t pool[POOL]) {
  static const double powers[] = {1, -1, 2, 0.5, -2, -0.5, 1};
  int bits = llrt_dtype_bits(row->from);
  uint64_t seed = 77;
  for (int i = 0; i < POOL; i++) {
    double x = (double)(random_below(&seed, 4001) - 2000) / 512;
    if (row->op == LLRT_COMBINE_PROD) x = powers[i % 7];
    if (is_float(row->from)) pool[i] = reference_encode(row->from, x);
    else pool[i] = random_next(&seed) & (bits == 64 ? ~0ull : (1ull << bits) - 1);
    if (row->from == LLRT_BOOL) pool[i] = i % 16 != 0;
    if (is_truth(row->op) && row->from != LLRT_BOOL) pool[i] = i % 16 ? 0 : pool[i];
    if (row->op == LLRT_COMBINE_ALL && i % 16) pool[i] |= row->from == LLRT_BOOL ? 1 : 3;
  }
  if (!row->special) return;
  pool[0] = reference_encode(row->from, (double)INFINITY);
  pool[1] = reference_encode(row->from, -(double)INFINITY);
  pool[2] = reference_encode(row->from, 0.0);
  pool[3] = reference_encode(row->from, -0.0);
}

/* ---- the reference ---- */

static double number(llrt_dtype type, uint64_t code) {
  if (type == LLRT_BOOL) return (double)(code & 0xFF);
  if (type == LLRT_I64) return (double)(int64_t)code;
  if (type == LLRT_U64) return (double)code;
  return reference_decode(type, code);
}

/* What is known of one result. */
typedef struct outcome {
  double sum, magnitude, best, product;
  uint64_t integer, whole_product; /* modulo 2^64, sign-extended elements */
  uint64_t best_code;
  int64_t at, n;
  bool any, all;
} outcome;

static uint64_t extended(llrt_dtype type, uint64_t code) {
  int bits = llrt_dtype_bits(type);
  bool negative = type >= LLRT_I64 && type <= LLRT_I8 && bits < 64 && code >> (bits - 1) & 1;
  return negative ? code | ~0ull << bits : code;
}

/* Whether integer or number x stands before the best so far. */
static bool is_better(const reduce_row *row, uint64_t code, double x, const outcome *o) {
  bool least = row->op == LLRT_COMBINE_MIN || row->op == LLRT_COMBINE_ARGMIN;
  if (o->n == 0) return true;
  if (is_float(row->from)) {
    if (isnan(o->best)) return false;
    if (isnan(x)) return true;
    if (x == o->best && !is_arg(row->op) && x == 0) return least ? signbit(x) && !signbit(o->best)
                                                                 : !signbit(x) && signbit(o->best);
    return least ? x < o->best : x > o->best;
  }
  if (row->from >= LLRT_U64 && row->from <= LLRT_U8)
    return least ? code < o->best_code : code > o->best_code;
  int64_t a = (int64_t)extended(row->from, code), b = (int64_t)extended(row->from, o->best_code);
  return least ? a < b : a > b;
}

static void take(const reduce_row *row, uint64_t code, int64_t position, outcome *o) {
  double x = number(row->from, code);
  if (is_better(row, code, x, o)) {
    o->best = x;
    o->best_code = code;
    o->at = position;
  }
  o->sum += x;
  o->magnitude += fabs(x);
  o->product = o->n ? o->product * x : x;
  o->whole_product = (o->n ? o->whole_product : 1) * extended(row->from, code);
  o->integer += extended(row->from, code);
  o->any |= x != 0;
  o->all &= x != 0;
  o->n++;
}

/* ---- the case ---- */

typedef struct reduce_bench {
  const reduce_row *row;
  area_owner owner;
  llrt_storage storage[3];
  llrt_storage_binding binding[3];
  llrt_tensor tensor[3];
  area memory[3], count;
  int n;
} reduce_bench;

static llrt_dtype result_of(const reduce_row *row) {
  if (row->to) return row->to;
  if (is_truth(row->op)) return LLRT_BOOL;
  if (is_arg(row->op)) return LLRT_I64;
  if (is_float(row->from) || is_extreme(row->op)) return row->from;
  return row->from >= LLRT_U64 && row->from <= LLRT_U8 ? LLRT_U64 : LLRT_I64;
}

static uint32_t axes_of(const reduce_row *row) {
  return row->axes ? row->axes : (1u << row->rank) - 1;
}

/* The tensor's own axes: results drop the reduced ones or keep them. */
static void shape_tensor(const reduce_row *row, int t, llrt_tensor *tensor) {
  for (int a = 0; a < row->rank; a++) {
    bool reduced = t > 0 && axes_of(row) >> a & 1;
    if (reduced && !row->keeps) continue;
    tensor->shape[tensor->rank++] = reduced ? 1 : row->shape[a];
  }
}

static bool make_tensor(reduce_bench *at, int t, const char *text, llrt_dtype dtype, uint64_t seed) {
  llrt_tensor *tensor = &at->tensor[t];
  int64_t bytes;
  uint64_t pool[POOL];
  *tensor = (llrt_tensor){.dtype = dtype, .device = at->owner.device, .storage = &at->storage[t]};
  shape_tensor(at->row, t, tensor);
  AREA_CHECK(&at->owner, llrt_storage_parse(text, tensor->rank, tensor->shape, &at->storage[t]));
  AREA_CHECK(&at->owner, llrt_storage_bind(&at->storage[t], tensor->rank, tensor->shape, NULL, &at->binding[t]));
  AREA_CHECK(&at->owner, llrt_storage_bytes(&at->binding[t], llrt_dtype_bits(dtype), &bytes));
  if (!area_make(&at->owner, (size_t)bytes + 2 * GUARD_BYTES, &at->memory[t])) return false;
  fill_pool(at->row, pool);
  size_t width = (size_t)llrt_dtype_bits(dtype) / 8;
  for (size_t i = 0; i < at->memory[t].bytes / width; i++) {
    uint64_t code = t > 0 ? random_next(&seed) : pool[random_below(&seed, POOL)];
    if (t == 0 && at->row->special && random_below(&seed, 400) == 0)
      code = reference_encode(dtype, (double)NAN);
    memcpy(at->memory[t].bits + i * width, &code, width);
  }
  tensor->data = at->memory[t].memory + GUARD_BYTES;
  return area_send(&at->owner, &at->memory[t]);
}

static uint64_t read_code(const reduce_bench *at, int t, int64_t offset) {
  uint64_t code = 0;
  size_t width = (size_t)llrt_dtype_bits(at->tensor[t].dtype) / 8;
  memcpy(&code, at->memory[t].bits + GUARD_BYTES + (size_t)offset * width, width);
  return code;
}

static bool next(int64_t *x, const reduce_row *row, uint32_t axes) {
  for (int a = row->rank - 1; a >= 0; a--) {
    if (!(axes >> a & 1)) continue;
    if (++x[a] < row->shape[a]) return true;
    x[a] = 0;
  }
  return false;
}

static int first_axis(const reduce_row *row) {
  int axis = 0;
  while (!(axes_of(row) >> axis & 1)) axis++;
  return axis;
}

/* Which of the reduced elements x is, row by row. */
static int64_t number_of(const reduce_row *row, const int64_t *x) {
  int64_t number = 0;
  for (int a = 0; a < row->rank; a++)
    if (axes_of(row) >> a & 1) number = number * row->shape[a] + x[a];
  return number;
}

static outcome reference_at(const reduce_bench *at, int64_t *x) {
  const reduce_row *row = at->row;
  outcome o = {.all = true, .product = 1, .whole_product = 1};
  for (int a = 0; a < row->rank; a++)
    if (row->shape[a] == 0) return o;
  do {
    if (row->count && x[first_axis(row)] >= row->count) continue;
    take(row, read_code(at, 0, llrt_storage_offset(&at->storage[0], &at->binding[0], x)), number_of(row, x), &o);
  } while (next(x, row, axes_of(row)));
  return o;
}

/* ---- comparing ---- */

static bool close_to(const reduce_row *row, llrt_dtype to, const outcome *o, uint64_t got) {
  bool wide = row->from == LLRT_F64 || row->accumulate == LLRT_F64;
  double wanted = row->op == LLRT_COMBINE_SUM ? o->sum : o->product;
  double joins = (double)o->n / 4 + 48, bound = joins * ldexp(o->magnitude, wide ? -53 : -24);
  const reference_format *f = reference_format_of(to);
  double x = number(to, got);
  if (row->op == LLRT_COMBINE_PROD) bound = 0;
  if (to != LLRT_F64) bound += ldexp(fabs(wanted) + bound, -f->mantissa - 1) + ldexp(1, 1 - f->bias - f->mantissa);
  if (to != LLRT_F64 && fabs(wanted) > number(to, f->largest)) return true; /* saturated or infinite */
  return fabs(x - wanted) <= bound;
}

static bool result_fits(const reduce_bench *at, const outcome *o, uint64_t got) {
  const reduce_row *row = at->row;
  llrt_dtype to = at->tensor[1].dtype;
  int bits = llrt_dtype_bits(to);
  uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
  if (is_arg(row->op)) return got == ((uint64_t)o->at & mask);
  if (row->op == LLRT_COMBINE_ANY) return got == o->any;
  if (row->op == LLRT_COMBINE_ALL) return got == o->all;
  if (is_extreme(row->op) && is_float(row->from) && isnan(o->best)) return isnan(number(to, got));
  if (is_extreme(row->op)) return got == o->best_code;
  if (is_float(row->from)) return close_to(row, to, o, got);
  if (is_float(to)) return number(to, got) == o->sum;
  return got == ((row->op == LLRT_COMBINE_SUM ? o->integer : o->whole_product) & mask);
}

/* Coordinates of a result in a tensor that may have dropped the reduced axes. */
static int64_t result_offset(const reduce_bench *at, int t, const int64_t *x) {
  int64_t own[LLRT_MAX_RANK] = {0};
  for (int a = 0, n = 0; a < at->row->rank; a++)
    if (at->row->keeps || !(axes_of(at->row) >> a & 1)) own[n++] = x[a];
  return llrt_storage_offset(&at->storage[t], &at->binding[t], own);
}

static bool compare(reduce_bench *at) {
  const reduce_row *row = at->row;
  int64_t x[LLRT_MAX_RANK] = {0};
  for (int a = 0; a < row->rank; a++)
    if (row->shape[a] == 0 && !(axes_of(row) >> a & 1)) return true;
  do {
    outcome o = reference_at(at, x);
    uint64_t got = read_code(at, 1, result_offset(at, 1, x));
    if (!result_fits(at, &o, got))
      return area_fail(&at->owner, "at %lld,%lld,%lld: %llx; sum %g, best %g at %lld of %lld", (long long)x[0],
                       (long long)x[1], (long long)x[2], (unsigned long long)got, o.sum, o.best,
                       (long long)o.at, (long long)o.n);
    if (at->n < 3) continue;
    got = read_code(at, 2, result_offset(at, 2, x));
    bool same = isnan(o.best) ? isnan(number(at->tensor[2].dtype, got)) : got == o.best_code;
    if (!same)
      return area_fail(&at->owner, "at %lld,%lld: value %llx, not %llx", (long long)x[0], (long long)x[1],
                       (unsigned long long)got, (unsigned long long)o.best_code);
  } while (next(x, row, ~axes_of(row)));
  return true;
}

/* ---- running ---- */

static bool fetch(reduce_bench *at, int t) {
  AREA_CHECK(&at->owner, llrt_stream_synchronize(at->owner.device, NULL));
  AREA_CHECK(&at->owner, llrt_memory_copy(at->owner.device, at->memory[t].bits, at->memory[t].memory,
                                          at->memory[t].bytes, LLRT_COPY_FROM_DEVICE, NULL));
  AREA_CHECK(&at->owner, llrt_stream_synchronize(at->owner.device, NULL));
  return true;
}

static bool run_prepared(reduce_bench *at, bool reload, area *workspace) {
  const reduce_row *row = at->row;
  llrt_op_desc desc = {.kind = LLRT_OP_REDUCE, .n_tensors = at->n, .tensors = {at->tensor[0]}};
  llrt_storage kept[2];
  desc.combine = (llrt_op_combine){.op = row->op, .accumulate = row->accumulate, .axes = axes_of(row)};
  for (int t = 1; t < at->n; t++)
    AREA_CHECK(&at->owner, llrt_reduce_keep_axes(&at->tensor[t], row->rank, axes_of(row), &kept[t - 1],
                                                 &desc.tensors[t]));
  return prepared_run_twice(&at->owner, &desc, reload, workspace);
}

static bool run_reduce(reduce_bench *at, route by, area *workspace) {
  const reduce_row *row = at->row;
  if (by != ROUTE_CONVERT) return run_prepared(at, by == ROUTE_LOAD, workspace);
  llrt_reduce_params params = {.op = row->op, .axes = row->axes, .accumulate = row->accumulate,
                               .values = at->n > 2 ? &at->tensor[2] : NULL};
  AREA_CHECK(&at->owner, llrt_reduce_into(&at->tensor[0], &at->tensor[1], &params, NULL));
  return true;
}

static bool guards_hold(const reduce_bench *at, const area *before, int t) {
  size_t bytes = at->memory[t].bytes;
  bool same = memcmp(before->bits, at->memory[t].bits, GUARD_BYTES) == 0 &&
              memcmp(before->bits + bytes - GUARD_BYTES, at->memory[t].bits + bytes - GUARD_BYTES,
                     GUARD_BYTES) == 0;
  return same || area_fail(&at->owner, "the guards of tensor %d are overwritten", t);
}

static bool make_count(reduce_bench *at) {
  if (at->row->count == 0) return true;
  if (!area_make(&at->owner, sizeof at->row->count, &at->count)) return false;
  memcpy(at->count.bits, &at->row->count, sizeof at->row->count);
  at->tensor[0].extent_ptr[first_axis(at->row)] = (const int32_t *)(const void *)at->count.memory;
  return area_send(&at->owner, &at->count);
}

static bool run(reduce_bench *at, uint64_t seed, route by, area *workspace) {
  const reduce_row *row = at->row;
  at->n = row->values ? 3 : 2;
  const char *const texts[] = {row->source, row->destination, row->values};
  const llrt_dtype types[] = {row->from, result_of(row), row->from};
  area before[3] = {{0}};
  bool done = true;
  for (int t = 0; t < at->n && done; t++) done = make_tensor(at, t, texts[t], types[t], seed + (uint64_t)t);
  done = done && make_count(at);
  for (int t = 1; t < at->n && done; t++) {
    before[t].bits = malloc(at->memory[t].bytes);
    done = before[t].bits != NULL;
    if (done) memcpy(before[t].bits, at->memory[t].bits, at->memory[t].bytes);
  }
  done = done && run_reduce(at, by, workspace) && area_same(&at->owner, &at->memory[0], "source");
  for (int t = 1; t < at->n && done; t++) done = fetch(at, t) && guards_hold(at, &before[t], t);
  for (int t = 1; t < 3; t++) free(before[t].bits);
  return done && compare(at);
}

bool reduce_case_passes(int number, uint64_t seed, llrt_device *device, char *title, size_t title_size,
                        char *why, size_t size) {
  static const char *const names[] = {"", "sum", "prod", "min", "max", "argmin", "argmax", "any", "all"};
  const reduce_row *row = &rows[number];
  reduce_bench at = {.row = row, .owner = {device, why, size}};
  area workspace = {0};
  why[0] = 0;
  snprintf(title, title_size, "%s of %s, %s [%lld,%lld,%lld] axes %x", names[row->op],
           llrt_dtype_name(row->from), row->source, (long long)row->shape[0], (long long)row->shape[1],
           (long long)row->shape[2], row->axes);
  bool passed = run(&at, seed + (uint64_t)number, (route)(number % ROUTE_COUNT), &workspace);
  for (int t = 0; t < 3; t++) area_free(&at.owner, &at.memory[t]);
  area_free(&at.owner, &at.count);
  area_free(&at.owner, &workspace);
  return passed;
}

int reduce_cases(void) { return N_ROWS; }
