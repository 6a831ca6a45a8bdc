#include "combine_random.h"

#include "conformance.h"
#include "random_storage.h"

#include "../number_reference.h"

#include <stdio.h>

#define COUNT(list) ((int)(sizeof list / sizeof *list))
#define POOL 61
#define MOST_FACTORS 1024 /* of a product, so that it stays in f32's range */

static bool one_in(uint64_t *seed, int n) { return random_below(seed, n) == 0; }

static llrt_dtype one_of(uint64_t *seed, const llrt_dtype *types, int n) {
  return types[random_below(seed, n)];
}

/* ---- types ---- */

static const llrt_dtype elements[] = {LLRT_F32,  LLRT_F16, LLRT_BF16,     LLRT_E4M3,    LLRT_E5M2,
                                      LLRT_F64,  LLRT_I64, LLRT_I32,      LLRT_I16,     LLRT_I8,
                                      LLRT_U64,  LLRT_U32, LLRT_U16,      LLRT_U8,      LLRT_F16,
                                      LLRT_BF16, LLRT_F32, LLRT_E4M3FNUZ, LLRT_E5M2FNUZ};
/* What f32, f64, i32 and u32 can be cast to; then 64-bit integers. */
static const llrt_dtype casts[] = {LLRT_F64,  LLRT_F32, LLRT_F16,     LLRT_BF16, LLRT_E4M3,
                                   LLRT_E5M2, LLRT_I32, LLRT_U32,     LLRT_I16,  LLRT_U16,
                                   LLRT_I8,   LLRT_U8,  LLRT_E4M3FNUZ};

static llrt_dtype other_accumulator(uint64_t *seed, const combine_kind *kind) {
  bool wide = llrt_dtype_bits(kind->from) == 64 || one_in(seed, 2);
  if (combine_is_truth(kind->op)) return LLRT_DTYPE_NONE;
  if (combine_is_float(kind->from)) return wide ? LLRT_F64 : LLRT_F32;
  if (combine_is_unsigned(kind->from)) return wide ? LLRT_U64 : LLRT_U32;
  return wide ? LLRT_I64 : LLRT_I32;
}

/* 64-bit integers stay what they are; 32 bits may grow to 64. */
static llrt_dtype other_result(uint64_t *seed, const combine_kind *whole) {
  llrt_dtype type = whole->accumulate;
  if (combine_is_truth(whole->op)) return LLRT_U8;
  if (combine_is_arg(whole->op)) return LLRT_I32;
  if (type == LLRT_I64 || type == LLRT_U64) return type;
  if (!combine_is_float(type) && one_in(seed, 4))
    return type == LLRT_U32 && one_in(seed, 2) ? LLRT_U64 : LLRT_I64;
  return one_of(seed, casts, COUNT(casts));
}

static void draw_types(uint64_t *seed, combine_kind *kind) {
  kind->from = one_of(seed, elements, COUNT(elements));
  if (combine_is_truth(kind->op) && one_in(seed, 3)) kind->from = LLRT_BOOL;
  if (one_in(seed, 4)) kind->accumulate = other_accumulator(seed, kind);
  combine_kind whole = combine_reference_resolve(kind->op, kind->from, kind->accumulate, kind->to);
  bool narrows = !combine_is_arg(kind->op) && !combine_is_float(kind->from) &&
                 whole.to != whole.accumulate && llrt_dtype_bits(whole.accumulate) == 64;
  if (narrows || one_in(seed, 3)) kind->to = other_result(seed, &whole);
}

/* ---- shapes ---- */

static int64_t elements_of(const combine_problem *p, uint32_t axes) {
  int64_t n = 1;
  for (int a = 0; a < p->rank; a++)
    if (axes >> a & 1) n *= p->shape[a];
  return n;
}

static int64_t draw_extent(uint64_t *seed) {
  static const int64_t usual[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 32, 33, 64, 128};
  if (one_in(seed, 60)) return 0;
  return random_below(seed, 3) ? usual[random_below(seed, COUNT(usual))]
                               : 1 + random_below(seed, 300);
}

/* Makes the longest of `axes` shorter until there are no more than `most`. */
static void shorten(combine_problem *p, uint32_t axes, int64_t most) {
  while (elements_of(p, axes) > most) {
    int longest = -1;
    for (int a = 0; a < p->rank; a++)
      if (axes >> a & 1 && (longest < 0 || p->shape[a] > p->shape[longest])) longest = a;
    p->shape[longest] = (p->shape[longest] + 1) / 2;
  }
}

static void draw_shape(uint64_t *seed, int64_t most, combine_problem *p) {
  bool long_axis = one_in(seed, 5);
  p->rank = 1 + random_below(seed, 4);
  for (int a = 0; a < p->rank; a++)
    p->shape[a] = long_axis ? 1 + random_below(seed, 3) : draw_extent(seed);
  if (long_axis) p->shape[random_below(seed, p->rank)] = 1 + random_below(seed, (int)most);
  shorten(p, ~0u, one_in(seed, 8) ? most : most / 8);
}

/* ---- elements ---- */

static double random_number(llrt_combiner op, uint64_t *seed) {
  static const double factors[] = {1, -1, 1, 1, -1, 2, 0.5};
  if (op == LLRT_COMBINE_PROD)
    return factors[random_below(seed, random_below(seed, 20) ? 5 : COUNT(factors))];
  return (double)(random_below(seed, 4001) - 2000) / 512;
}

static uint64_t random_mask(llrt_dtype type) {
  int bits = llrt_dtype_bits(type);
  return bits == 64 ? ~0ull : (1ull << bits) - 1;
}

static uint64_t random_bits(llrt_dtype type, uint64_t *seed) {
  if (type == LLRT_BOOL) return (uint64_t)random_below(seed, 2);
  return random_next(seed) & random_mask(type);
}

static uint64_t any_number(llrt_dtype type, uint64_t *seed) {
  uint64_t code;
  do code = random_bits(type, seed);
  while (isnan(reference_decode(type, code)));
  return code;
}

/* Quiet and signalling, of either sign; the one there is of formats that have one. */
static uint64_t any_nan(llrt_dtype type, uint64_t *seed) {
  const reference_format *f = reference_format_of(type);
  uint64_t nan = reference_encode(type, (double)NAN),
           infinity = reference_encode(type, (double)INFINITY);
  uint64_t code = infinity | (random_next(seed) & (nan ^ infinity)) |
                  (random_next(seed) & ~nan & random_mask(type));
  bool payload = type == LLRT_F64 || (f && f->infinity);
  return payload && isnan(reference_decode(type, code)) ? code : nan;
}

static uint64_t special_code(const combine_data *data, llrt_dtype type, uint64_t *seed) {
  static const double specials[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0};
  int kind;
  do kind = random_below(seed, COUNT(specials));
  while (!(data->kinds >> kind & 1));
  return kind == 0 ? any_nan(type, seed) : reference_encode(type, specials[kind]);
}

uint64_t combine_random_code(const combine_data *data, llrt_combiner op, llrt_dtype type,
                             uint64_t *seed) {
  bool special = data->rare > 0 && one_in(seed, data->rare);
  uint64_t value = data->seed + 0x9E37u * (uint64_t)random_below(seed, data->few);
  if (op == LLRT_COMBINE_ANY) return special ? random_bits(type, seed) : 0;
  if (op == LLRT_COMBINE_ALL && special) return 0;
  if (op == LLRT_COMBINE_ALL) return random_bits(type, &value) | 1;
  if (!combine_is_float(type)) return random_bits(type, &value);
  if (special) return special_code(data, type, seed);
  return data->any_code ? any_number(type, &value)
                        : reference_encode(type, random_number(op, &value));
}

static void draw_data(uint64_t *seed, llrt_combiner op, combine_data *data) {
  static const int rarities[] = {0, 2, 20, 300, 3000};
  data->seed = random_next(seed);
  data->few = one_in(seed, 3) ? 1 + random_below(seed, 4) : POOL;
  data->any_code = combine_is_extreme(op) && one_in(seed, 2);
  data->rare = rarities[random_below(seed, COUNT(rarities))];
  data->kinds = (uint8_t)(1 + random_below(seed, 31));
}

/* ---- the whole ---- */

static void draw_places(uint64_t *seed, int64_t most, combine_problem *p) {
  int64_t result[4];
  int n = 0, tensors = p->values ? 3 : 2;
  for (int a = 0; a < p->rank; a++) {
    bool reduced = p->axes >> a & 1;
    if (!reduced || p->keeps) result[n++] = reduced ? 1 : p->shape[a];
  }
  random_storage_make(seed, p->rank, p->shape, 16 * most, &p->storage[0]);
  for (int t = 1; t < tensors; t++) random_storage_make(seed, n, result, 16 * most, &p->storage[t]);
  for (int t = 0; t < tensors; t++)
    if (one_in(seed, 6) && p->storage[t].swizzle.swizzle_len == 0)
      p->shift[t] = random_below(seed, 16);
}

/* How many positions device memory says; of none there is no position to give. */
static void draw_count(uint64_t *seed, combine_problem *p) {
  int axis = 0;
  while (!(p->axes >> axis & 1)) axis++;
  int64_t extent = p->shape[axis];
  if (!one_in(seed, 8) || extent == 0) return;
  p->count = 1 + random_below(seed, (int)extent);
  if (!combine_is_arg(p->kind.op) && one_in(seed, 6)) p->count = -1;
}

void combine_random_reduce(uint64_t seed, int64_t most, combine_problem *made) {
  uint64_t *s = &seed;
  *made = (combine_problem){.kind.op = (llrt_combiner)(1 + random_below(s, LLRT_COMBINE_ALL))};
  draw_types(s, &made->kind);
  draw_shape(s, most, made);
  made->axes = 1 + (uint32_t)random_below(s, (1 << made->rank) - 1);
  for (int a = 0; a < made->rank; a++)
    if (made->axes >> a & 1 && made->shape[a] == 0 && combine_is_extreme(made->kind.op))
      made->shape[a] = 1;
  if (made->kind.op == LLRT_COMBINE_PROD) shorten(made, made->axes, MOST_FACTORS);
  made->keeps = one_in(s, 2);
  combine_kind whole = combine_reference_resolve(made->kind.op, made->kind.from,
                                                 made->kind.accumulate, LLRT_DTYPE_NONE);
  bool wide = whole.accumulate == LLRT_I64 || whole.accumulate == LLRT_U64;
  made->values =
      combine_is_arg(made->kind.op) && (!wide || whole.accumulate == whole.from) && one_in(s, 2);
  draw_count(s, made);
  draw_data(s, made->kind.op, &made->data);
  draw_places(s, most, made);
}

void combine_random_scan(uint64_t seed, int64_t most, combine_problem *made) {
  uint64_t *s = &seed;
  *made = (combine_problem){.kind.op = (llrt_combiner)(1 + random_below(s, LLRT_COMBINE_MAX)),
                            .keeps = true};
  draw_types(s, &made->kind);
  draw_shape(s, most, made);
  int axis = random_below(s, made->rank);
  if (made->kind.op == LLRT_COMBINE_PROD) shorten(made, 1u << axis, MOST_FACTORS);
  made->exclusive = one_in(s, 2);
  made->reverse = one_in(s, 2);
  draw_data(s, made->kind.op, &made->data);
  draw_places(s, most, made);
  made->axes = 1u << axis;
}

void combine_problem_title(const combine_problem *p, const char *what, char *title, size_t size) {
  static const char *const names[] = {"",       "sum",    "prod", "min", "max",
                                      "argmin", "argmax", "any",  "all"};
  combine_kind whole =
      combine_reference_resolve(p->kind.op, p->kind.from, p->kind.accumulate, p->kind.to);
  size_t n = (size_t)snprintf(title, size, "%s (%s) of %s in %s to %s [", what, names[p->kind.op],
                              llrt_dtype_name(whole.from), llrt_dtype_name(whole.accumulate),
                              llrt_dtype_name(whole.to));
  for (int a = 0; a < p->rank && n < size; a++)
    n += (size_t)snprintf(title + n, size - n, "%s%lld", a ? "," : "", (long long)p->shape[a]);
  if (n < size)
    snprintf(title + n, size - n, "] axes %x%s%s%s", p->axes, p->keeps ? "" : " dropped",
             p->exclusive ? " exclusive" : "", p->reverse ? " reverse" : "");
}

void combine_say_storages(const combine_problem *p, char *why, size_t size) {
  char text[512];
  size_t length, n = strlen(why);
  for (int t = 0; t < (p->values ? 3 : 2) && n < size; t++) {
    if (llrt_storage_print(&p->storage[t], text, sizeof text, &length) != LLRT_OK) return;
    n += (size_t)snprintf(why + n, size - n, "\n    %s at +%d", text, p->shift[t]);
  }
  if (p->count && n < size)
    snprintf(why + n, size - n, "\n    %d positions", p->count < 0 ? 0 : p->count);
}
