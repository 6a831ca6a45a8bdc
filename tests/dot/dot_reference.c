#include "dot_reference.h"

#include "../number_reference.h"
#include "../storage_walk.h"

#include <stdio.h>
#include <stdlib.h>

typedef long double real;

/* ---- the rule ---- */

static bool is_narrow_float(llrt_dtype type) {
  return !dot_is_integer(type) && llrt_dtype_bits(type) <= 8;
}

typedef struct operand_rule {
  llrt_dtype element, scale, zero;
  bool on_sums;       /* the scale */
  llrt_dtype rounded; /* NONE: values are elements */
  bool integer;
  int digits; /* integers: of the largest magnitude */
} operand_rule;

/* Digits of element - zero, magnitudes of two's complement counted as d digits for -2^d .. 2^d - 1.
 */
static int digits_of_difference(llrt_dtype element, llrt_dtype zero) {
  int e = llrt_dtype_bits(element), z = llrt_dtype_bits(zero), digits = 0;
  bool es = element <= LLRT_I4, zs = zero <= LLRT_I4;
  int most = ((es ? 1 << (e - 1) : 1 << e) - 1) + (zs ? 1 << (z - 1) : 0);
  int least = -(es ? 1 << (e - 1) : 0) - ((zs ? 1 << (z - 1) : 1 << z) - 1);
  while (least < -(1 << digits) || most > (1 << digits) - 1) digits++;
  return digits;
}

static operand_rule rule_of(const dot_problem *p, int operand) {
  int role = operand ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A;
  operand_rule r = {.element = p->type[operand ? LLRT_DOT_B : LLRT_DOT_A],
                    .scale = p->type[role],
                    .zero = p->type[role + 1]};
  int64_t group = p->group[operand][operand ? 0 : 1];
  r.on_sums = r.scale && (group == LLRT_GROUP_ALL ||
                          (p->k >= 1 && p->k <= (group > 1 ? group : 1))); /* one along K */
  r.integer = dot_is_integer(r.element);
  r.digits = llrt_dtype_bits(r.element) - (r.element <= LLRT_I4);
  if (r.zero && dot_is_integer(r.zero)) {
    r.rounded = LLRT_I16;
    r.digits = digits_of_difference(r.element, r.zero);
  } else if (r.zero) {
    r.rounded = r.zero;
    r.integer = false;
  }
  if (!r.scale || r.on_sums) return r;
  r.integer = false;
  r.rounded = r.scale == LLRT_E8M0 || llrt_dtype_bits(r.scale) == 8 ? LLRT_BF16 : r.scale;
  return r;
}

typedef enum sums { SUMS_F32, SUMS_F64, SUMS_I32, SUMS_I64 } sums;

/* 32- and 64-bit integers beside floats, and f64, sum in f64; so do those of integers in i64 that a
 * scale stands on. */
static sums sums_of(const dot_problem *p) {
  operand_rule a = rule_of(p, 0), b = rule_of(p, 1);
  if (a.integer && b.integer) {
    bool asked = p->accumulate == LLRT_I64, wide = a.digits > 8 || b.digits > 8;
    if (p->accumulate == LLRT_F64 || (wide && (a.on_sums || b.on_sums))) return SUMS_F64;
    return asked || wide ? SUMS_I64 : SUMS_I32;
  }
  bool wide = p->accumulate == LLRT_F64 || a.element == LLRT_F64 || b.element == LLRT_F64;
  wide |= (a.integer && a.digits > 16) || (b.integer && b.digits > 16);
  return wide ? SUMS_F64 : SUMS_F32;
}

llrt_dtype dot_reference_result(const dot_problem *p) {
  operand_rule a = rule_of(p, 0), b = rule_of(p, 1);
  sums s = sums_of(p);
  if (s == SUMS_I32 || s == SUMS_I64) return s == SUMS_I32 ? LLRT_I32 : LLRT_I64;
  if (a.integer && b.integer) return LLRT_F64;
  const operand_rule *both[] = {&a, &b};
  llrt_dtype widest = LLRT_F32;
  int bits[2];
  for (int i = 0; i < 2; i++) {
    if (dot_is_integer(both[i]->element) && llrt_dtype_bits(both[i]->element) > 8)
      return s == SUMS_F64 ? LLRT_F64 : LLRT_F32;
    bits[i] = dot_is_integer(both[i]->element) ? 0 : llrt_dtype_bits(both[i]->element);
  }
  if (bits[0] >= 16 || bits[1] >= 16) {
    if (bits[0] != bits[1]) widest = bits[0] > bits[1] ? a.element : b.element;
    else if (a.element == b.element) widest = a.element;
  }
  return widest;
}

/* ---- values ---- */

static double number(llrt_dtype type, uint64_t code) {
  return type == LLRT_I64 ? (double)(int64_t)code : reference_decode(type, code);
}

static double value_of(const operand_rule *r, uint64_t element, uint64_t scale, uint64_t zero) {
  double x = number(r->element, element);
  if (!r->rounded) return x;
  if (r->zero) x = (double)(float)(x - number(r->zero, zero));
  if (r->scale && !r->on_sums) x = (double)(float)(x * number(r->scale, scale));
  return reference_decode(r->rounded, reference_encode(r->rounded, x));
}

/* The code that a tensor has for coordinates, its own axes being the last of them; 0: there is no
 * tensor. */
static uint64_t code_at(const dot_bench *bench, int role, const int64_t *x, int rank,
                        const int64_t *group) {
  const dot_part *part = &bench->part[role];
  const llrt_tensor *tensor = &part->tensor;
  if (!bench->problem.type[role]) return 0;
  int64_t at = 0;
  for (int a = 0; a < tensor->rank; a++) {
    int axis = rank - tensor->rank + a, last = a - (tensor->rank - 2);
    int64_t g = group && last >= 0 ? group[last] : 1, own = x[axis];
    if (g == LLRT_GROUP_ALL || tensor->shape[a] == 1) own = 0;
    else if (g > 1) own /= g;
    at = at * tensor->shape[a] + own;
  }
  return part->code[at];
}

/* An operand's values, row-major like its elements; integers that sum as such are in `whole`. */
typedef struct operand_values {
  operand_rule rule;
  double *number;
  int64_t *whole;
} operand_values;

static bool make_values(const dot_bench *bench, int operand, operand_values *values) {
  const dot_problem *p = &bench->problem;
  int role = operand ? LLRT_DOT_B : LLRT_DOT_A,
      scale = operand ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A;
  const dot_part *part = &bench->part[role];
  const llrt_tensor *tensor = &part->tensor;
  size_t n = (size_t)part->elements + 1;
  int64_t x[LLRT_MAX_RANK] = {0};
  values->rule = rule_of(p, operand);
  values->number = malloc(n * sizeof *values->number);
  values->whole = malloc(n * sizeof *values->whole);
  if (!values->number || !values->whole) return false;
  for (int64_t i = 0; i < part->elements; i++) {
    uint64_t s = code_at(bench, scale, x, tensor->rank, p->group[operand]);
    uint64_t z = code_at(bench, scale + 1, x, tensor->rank, p->group[operand]);
    values->number[i] = value_of(&values->rule, part->code[i], s, z);
    values->whole[i] =
        values->rule.element == LLRT_I64 ? (int64_t)part->code[i] : (int64_t)values->number[i];
    for (int a = tensor->rank - 1; a >= 0 && ++x[a] == tensor->shape[a]; a--) x[a] = 0;
  }
  return true;
}

/* ---- one result ---- */

typedef struct checker {
  const dot_bench *bench;
  sums sums;
  operand_values values[2];
  real unit; /* half a unit in the last place of 1 */
} checker;

typedef struct outcome {
  real value, error;
  int64_t whole; /* integer sums */
} outcome;

/* Where an operand's row (A) or column (B) begins for a result's coordinates. */
static int64_t first_element(const checker *c, int operand, const int64_t *x, int rank) {
  const dot_problem *p = &c->bench->problem;
  int64_t at = 0;
  for (int i = 0; i < p->n_batch && !p->shared[operand]; i++) at = at * p->batch[i] + x[i];
  return operand ? at * p->k * p->n + x[rank - 1] : (at * p->m + x[rank - 2]) * p->k;
}

/* Whether the elements behind K of its last group, which are 0, have an infinite scale: NaN, where
 * products take them in. */
static bool ends_in_infinity(const checker *c, int operand, const int64_t *x, int rank) {
  const dot_problem *p = &c->bench->problem;
  const int64_t *group = p->group[operand];
  int along = rank - 2 + !operand, scale = operand ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A;
  int64_t last[LLRT_MAX_RANK];
  if (!c->values[operand].rule.scale || c->values[operand].rule.on_sums || p->k == 0) return false;
  memcpy(last, x, sizeof last);
  last[along] = p->k - 1;
  return isinf(number(p->type[scale], code_at(c->bench, scale, last, rank, group)));
}

static real product_at(const checker *c, int64_t a, int64_t b, int64_t k) {
  return (real)c->values[0].number[a + k] * c->values[1].number[b + k * c->bench->problem.n];
}

/* Instructions of 8-bit floats shift products to the exponent of the largest and keep 13 bits: what
 * the others lose, at most themselves. */
static real cut_from_products(const checker *c, int64_t a, int64_t b) {
  real largest = 0, cut = 0;
  for (int64_t k = 0; k < c->bench->problem.k; k++)
    largest = fmaxl(largest, fabsl(product_at(c, a, b, k)));
  for (int64_t k = 0; k < c->bench->problem.k; k++)
    cut += fminl(fabsl(product_at(c, a, b, k)), ldexpl(largest, -12));
  return cut;
}

static outcome sum_at(const checker *c, const int64_t *x, int rank) {
  const dot_problem *p = &c->bench->problem;
  int64_t a = first_element(c, 0, x, rank), b = first_element(c, 1, x, rank);
  outcome out = {0};
  real magnitude = 0;
  uint64_t whole = 0;
  for (int64_t k = 0; k < p->k; k++) {
    real product = product_at(c, a, b, k);
    whole += (uint64_t)c->values[0].whole[a + k] * (uint64_t)c->values[1].whole[b + k * p->n];
    out.value += product;
    magnitude += fabsl(product);
  }
  out.whole = c->sums == SUMS_I32 ? (int64_t)(int32_t)(uint32_t)whole : (int64_t)whole;
  if (c->sums == SUMS_I32 || c->sums == SUMS_I64) {
    out.value = (real)out.whole;
    return out;
  }
  real relative = ((real)p->k + 16) * 2 * c->unit;
  if (p->tf32 && c->sums == SUMS_F32) relative += ldexpl(1, -9);
  bool narrow =
      is_narrow_float(c->values[0].rule.element) && is_narrow_float(c->values[1].rule.element);
  if (narrow) relative += ldexpl(1, -10);
  if (p->data != DOT_EXACT && isfinite(magnitude))
    out.error = relative * magnitude + (narrow ? cut_from_products(c, a, b) : 0);
  for (int i = 0; i < 2; i++)
    if (ends_in_infinity(c, i, x, rank)) out.error = (real)INFINITY;
  return out;
}

/* x op y was rounded, unless it is infinite or NaN. */
static void rounds(const checker *c, outcome *out) {
  if (isfinite(out->value)) out->error += (fabsl(out->value) + out->error) * c->unit;
}

/* Infinity times what may be of either sign, or 0, is anything. */
static void multiply(const checker *c, double factor, outcome *out) {
  bool sure = out->error == 0 || fabsl(out->value) > out->error || isnan(factor);
  out->value *= factor;
  out->error *= fabs(factor);
  if (isnan(out->error)) out->error = (real)INFINITY; /* what may be infinite, times 0 */
  if (!isfinite(factor)) out->error = sure ? 0 : (real)INFINITY;
  else if (factor != 1) rounds(c, out);
}

static void add(const checker *c, double term, outcome *out) {
  out->value += term;
  rounds(c, out);
}

static real gelu(real x) { return x * (1 + erfl(x / sqrtl(2))) / 2; }
static real silu(real x) { return x / (1 + expl(-x)); }

static void activate(llrt_map_kind kind, outcome *out) {
  real x = out->value;
  if (kind == LLRT_MAP_RELU) {
    out->value = x > 0 || isnan(x) ? x : 0;
    return;
  }
  out->value = kind == LLRT_MAP_GELU ? gelu(x) : silu(x);
  if (isfinite(x)) out->error = out->error * 1.2L + fabsl(x) * ldexpl(1, -20);
  if (!isinf(x)) return;
  out->value = x > 0 ? x : (real)NAN; /* inf * 0 or the limit: either */
  if (x < 0) out->error = (real)INFINITY;
}

static double scale_on_sums(const checker *c, int operand, const int64_t *x, int rank) {
  const dot_bench *bench = c->bench;
  const operand_rule *rule = &c->values[operand].rule;
  int64_t own[LLRT_MAX_RANK];
  memcpy(own, x, sizeof own);
  own[operand ? rank - 2 : rank - 1] = 0; /* along K there is one */
  if (!rule->on_sums) return 1;
  return number(rule->scale, code_at(bench, operand ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A, own,
                                     rank, bench->problem.group[operand]));
}

static double one_of(const dot_bench *bench, int role, const int64_t *x, int rank,
                     const int64_t *group) {
  return number(bench->problem.type[role], code_at(bench, role, x, rank, group));
}

static void map_result(const checker *c, llrt_map_kind kind, const int64_t *x, int rank,
                       outcome *out) {
  const dot_bench *bench = c->bench;
  if (kind == LLRT_MAP_ADD) add(c, one_of(bench, LLRT_DOT_ADD, x, rank, NULL), out);
  else if (kind == LLRT_MAP_SCALE)
    multiply(c, one_of(bench, LLRT_DOT_SCALE_D, x, rank, bench->problem.group[2]), out);
  else activate(kind, out);
}

static bool acts_on_sums(const checker *c) {
  const dot_problem *p = &c->bench->problem;
  bool acts = p->n_maps > 0 || (p->alpha != 0 && p->alpha != 1) || c->values[0].rule.on_sums ||
              c->values[1].rule.on_sums;
  static const int edges[] = {LLRT_DOT_C, LLRT_DOT_BIAS, LLRT_DOT_GLOBAL_A, LLRT_DOT_GLOBAL_B};
  for (int i = 0; i < 4; i++) acts |= p->type[edges[i]] != LLRT_DTYPE_NONE;
  return acts;
}

static outcome result_at(const checker *c, const int64_t *x, int rank) {
  const dot_bench *bench = c->bench;
  const dot_problem *p = &bench->problem;
  outcome out = sum_at(c, x, rank);
  bool integers = c->sums == SUMS_I32 || c->sums == SUMS_I64;
  if (integers && !acts_on_sums(c) && dot_is_integer(p->type[LLRT_DOT_D])) return out;
  if (integers) rounds(c, &out); /* to f32 */
  multiply(c, p->alpha == 0 ? 1 : p->alpha, &out);
  for (int i = 0; i < 2; i++) {
    int global = i ? LLRT_DOT_GLOBAL_B : LLRT_DOT_GLOBAL_A;
    if (p->type[global]) multiply(c, one_of(bench, global, x, rank, NULL), &out);
    multiply(c, scale_on_sums(c, i, x, rank), &out);
  }
  if (p->type[LLRT_DOT_C]) {
    double term = one_of(bench, LLRT_DOT_C, x, rank, NULL) * (p->beta == 0 ? 1 : p->beta);
    out.error += fabs(term) * c->unit;
    add(c, term, &out);
  }
  if (p->type[LLRT_DOT_BIAS]) add(c, one_of(bench, LLRT_DOT_BIAS, x, rank, NULL), &out);
  for (int i = 0; i < p->n_maps; i++) map_result(c, (llrt_map_kind)p->map[i], x, rank, &out);
  return out;
}

/* ---- comparing ---- */

/* What a sum's type makes of a number, then D's. */
static double rounded_result(const checker *c, real x) {
  llrt_dtype type = c->bench->problem.type[LLRT_DOT_D];
  double held = c->sums == SUMS_F64 ? (double)x : (double)(float)x;
  if (type == LLRT_F64) return held;
  if (c->sums == SUMS_F64) held = (double)x;
  return number(type, reference_encode(type, held));
}

static bool fits(const checker *c, const outcome *out, uint64_t code) {
  llrt_dtype type = c->bench->problem.type[LLRT_DOT_D];
  if (type == LLRT_I64) return (int64_t)code == out->whole;
  double got = number(type, code);
  bool open = isnan(out->value);
  if (open) return isnan(got) || code == reference_encode(type, (double)NAN) || isinf(out->error);
  if (isinf(out->error)) return true;
  double low = rounded_result(c, out->value - out->error),
         high = rounded_result(c, out->value + out->error);
  return got >= low && got <= high;
}

static void say_wrong(const checker *c, const int64_t *x, int rank, const outcome *out,
                      uint64_t code, char *why, size_t size) {
  double got = number(c->bench->problem.type[LLRT_DOT_D], code);
  snprintf(why, size, "at %lld,%lld,%lld: %.9g (%llx), not %.9Lg within %.3Lg",
           rank > 2 ? (long long)x[rank - 3] : 0, (long long)x[rank - 2], (long long)x[rank - 1],
           got, (unsigned long long)code, out->value, out->error);
}

static void take_code(llrt_dtype type, uint8_t *to, const uint8_t *from, int64_t at) {
  int bits = llrt_dtype_bits(type);
  if (bits >= 8) memcpy(to + at * bits / 8, from + at * bits / 8, (size_t)bits / 8);
  else
    to[at / 2] =
        (uint8_t)((to[at / 2] & ~(15 << (at & 1) * 4)) | (from[at / 2] & 15 << (at & 1) * 4));
}

static bool check_places(const checker *c, const uint8_t *found, uint8_t *expected, char *why,
                         size_t size) {
  const dot_part *d = &c->bench->part[LLRT_DOT_D];
  int rank = d->tensor.rank,
      bytes = llrt_dtype_bits(d->tensor.dtype) / 8; /* of results; none have 4 bits */
  storage_walk walk;
  if (d->elements == 0) return true;
  storage_walk_begin(&walk, &d->storage, &d->binding);
  do {
    if (!storage_walk_is_element(&walk, d->tensor.shape)) {
      if (d->storage.pad == LLRT_PAD_VALUE)
        memcpy(expected + walk.place * bytes, &d->storage.pad_value, (size_t)bytes);
      continue;
    }
    uint64_t code = reference_read(d->tensor.dtype, found, walk.place);
    outcome out = result_at(c, walk.coords, rank);
    if (!fits(c, &out, code)) {
      say_wrong(c, walk.coords, rank, &out, code, why, size);
      return false;
    }
    take_code(d->tensor.dtype, expected, found, walk.place);
  } while (storage_walk_next(&walk));
  return true;
}

bool dot_reference_check(const dot_bench *bench, const uint8_t *found, char *why, size_t size) {
  const dot_part *d = &bench->part[LLRT_DOT_D];
  checker c = {.bench = bench, .sums = sums_of(&bench->problem)};
  uint8_t *expected = malloc(d->bytes + 1);
  c.unit = ldexpl(1, c.sums == SUMS_F64 ? -53 : -24);
  bool right =
      expected && make_values(bench, 0, &c.values[0]) && make_values(bench, 1, &c.values[1]);
  if (!right) snprintf(why, size, "out of memory");
  if (right) {
    memcpy(expected, d->image, d->bytes);
    right = check_places(&c, found, expected, why, size);
  }
  if (right && memcmp(expected, found, d->bytes) != 0) {
    snprintf(why, size, "what lies between the results was written");
    right = false;
  }
  for (int i = 0; i < 2; i++) {
    free(c.values[i].number);
    free(c.values[i].whole);
  }
  free(expected);
  return right;
}
