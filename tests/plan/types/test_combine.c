/* Combiners on plain numbers against their definitions, over all pairs of edge values and random
 * ones. */
#include "jit/plan/types/combine.h"

#include "base/bits.h"
#include "jit/plan/types/number.h"
#include "tests/plan/random_layout.h"
#include "tests/number_reference.h"

#include <criterion/criterion.h>

#define VALUES 96

static const llrt_dtype accumulators[] = {LLRT_F32, LLRT_F64, LLRT_I32,
                                          LLRT_U32, LLRT_I64, LLRT_U64};
#define ACCUMULATORS (int)(sizeof accumulators / sizeof *accumulators)

static bool is_real(llrt_dtype type) { return type == LLRT_F32 || type == LLRT_F64; }

/* Zeros, ones, extremes, infinities and NaN, then random bits. */
static int list_values(llrt_dtype type, uint64_t *values) {
  static const double numbers[] = {0.0,   -0.0,  1.0,      -1.0,      2.0,   0.5,
                                   1e-45, 1e38,  INFINITY, -INFINITY, 3.25,  -3.25,
                                   NAN,   1e300, 5e-324,   16777217., 1e-38, -1e38};
  uint64_t random = 12345, mask = bits_mask(llrt_dtype_bits(type));
  int n = 0;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers && is_real(type); i++)
    values[n++] = reference_encode(type, numbers[i]);
  if (is_real(type)) {
    values[n++] = type == LLRT_F32 ? 0xFFC12345 : 0xFFF8000000012345; /* another NaN */
  } else {
    for (uint64_t x = 0; x < 4; x++) values[n++] = x;
    for (uint64_t x = 1; x < 4; x++) values[n++] = (0 - x) & mask;
    for (uint64_t x = 0; x < 3; x++) values[n++] = mask / 2 + x;
  }
  while (n < VALUES) values[n++] = test_random(&random) & mask;
  return n;
}

/* The order of MIN and MAX as a signed key; of floats with -0 below +0. */
static int64_t rank_of(llrt_dtype type, uint64_t x) {
  int bits = llrt_dtype_bits(type);
  uint64_t sign = 1ull << (bits - 1);
  if (type == LLRT_U32 || type == LLRT_U64) return (int64_t)(x ^ 1ull << 63);
  if (!is_real(type)) return bits == 32 ? (int64_t)(int32_t)x : (int64_t)x;
  return x & sign ? -(int64_t)(x & (sign - 1)) - 1 : (int64_t)x;
}

static bool is_nan_code(llrt_dtype type, uint64_t x) {
  return is_real(type) && isnan(reference_decode(type, x));
}

static uint64_t expected_extreme(int op, llrt_dtype type, uint64_t a, uint64_t b) {
  bool takes_a = op == LLRT_COMBINE_MIN ? rank_of(type, a) <= rank_of(type, b)
                                        : rank_of(type, a) >= rank_of(type, b);
  return takes_a ? a : b;
}

static uint64_t expected_number(int op, llrt_dtype type, uint64_t a, uint64_t b) {
  bool sum = op == LLRT_COMBINE_SUM;
  if (type == LLRT_F64) {
    double x = reference_decode(type, a), y = reference_decode(type, b);
    return reference_encode(type, sum ? x + y : x * y);
  }
  if (type == LLRT_F32) {
    float x = (float)reference_decode(type, a), y = (float)reference_decode(type, b);
    return reference_encode(type, (double)(sum ? x + y : x * y));
  }
  return (sum ? a + b : a * b) & bits_mask(llrt_dtype_bits(type));
}

static void check_two(int op, llrt_dtype type, uint64_t a, uint64_t b) {
  bool extreme = op == LLRT_COMBINE_MIN || op == LLRT_COMBINE_MAX;
  uint64_t got = combine_two(op, type, a, b);
  uint64_t wanted = extreme ? expected_extreme(op, type, a, b) : expected_number(op, type, a, b);
  bool nan = extreme ? is_nan_code(type, a) || is_nan_code(type, b) : is_nan_code(type, wanted);
  if (nan) cr_assert(is_nan_code(type, got));
  else
    cr_assert_eq(got, wanted, "op %d %s: %#llx, %#llx", op, llrt_dtype_name(type),
                 (unsigned long long)a, (unsigned long long)b);
}

Test(combine, of_two_values) {
  uint64_t values[VALUES];
  for (int t = 0; t < ACCUMULATORS; t++) {
    int n = list_values(accumulators[t], values);
    for (int op = LLRT_COMBINE_SUM; op <= LLRT_COMBINE_MAX; op++)
      for (int i = 0; i < n * n; i++) check_two(op, accumulators[t], values[i % n], values[i / n]);
  }
}

static void check_identity(int op, llrt_dtype type, uint64_t x) {
  uint64_t identity = combine_identity(op, type);
  if (is_nan_code(type, x)) return;
  cr_assert_eq(combine_two(op, type, x, identity), x, "op %d %s %#llx", op, llrt_dtype_name(type),
               (unsigned long long)x);
  cr_assert_eq(combine_two(op, type, identity, x), x);
}

Test(combine, identities_change_nothing) {
  uint64_t values[VALUES];
  for (int t = 0; t < ACCUMULATORS; t++) {
    int n = list_values(accumulators[t], values);
    for (int op = LLRT_COMBINE_SUM; op <= LLRT_COMBINE_MAX; op++)
      for (int i = 0; i < n; i++) check_identity(op, accumulators[t], values[i]);
  }
  for (uint64_t x = 0; x < 2; x++) {
    check_identity(LLRT_COMBINE_ANY, LLRT_U32, x);
    check_identity(LLRT_COMBINE_ALL, LLRT_U32, x);
  }
  check_identity(COMBINE_AFFINE, LLRT_U32, 0xABCD1234);
}

/* The identity of an element's type, cast, is neutral for every element of the type. */
Test(combine, identities_of_element_types) {
  for (llrt_dtype type = 1; type < LLRT_DTYPE_COUNT; type++) {
    for (int op = LLRT_COMBINE_SUM; op <= LLRT_COMBINE_MAX; op++) {
      llrt_dtype to = combine_accumulator(op, type);
      if (!combine_exists(op, type) || llrt_dtype_bits(type) > 16) continue;
      uint64_t identity = number_cast(type, to, combine_identity(op, type));
      for (uint64_t code = 0; code < 1ull << llrt_dtype_bits(type); code++) {
        uint64_t x = number_cast(type, to, code);
        bool zero = type >= LLRT_E4M3FNUZ && type <= LLRT_E5M2FNUZ && code == 0; /* has no -0 */
        if (!is_nan_code(to, x) && !zero)
          cr_assert_eq(combine_two(op, to, x, identity), x, "op %d %s %#llx", op,
                       llrt_dtype_name(type), (unsigned long long)code);
      }
    }
  }
}

/* The first NaN, else the first of the best, searched one after the other. */
static combine_pair best_of(int op, llrt_dtype type, const combine_pair *pairs, int n) {
  combine_pair best = pairs[0];
  for (int i = 1; i < n; i++) {
    double x = reference_decode(type, best.key), y = reference_decode(type, pairs[i].key);
    if (isnan(x)) break;
    if (isnan(y) || (op == LLRT_COMBINE_ARGMIN ? y < x : y > x)) best = pairs[i];
  }
  return best;
}

/* Any tree over any order of the pairs finds it. */
Test(combine, pairs_in_any_order) {
  uint64_t random = 99;
  for (int trial = 0; trial < 3000; trial++) {
    combine_pair pairs[8], shuffled[8];
    int op = trial & 1 ? LLRT_COMBINE_ARGMIN : LLRT_COMBINE_ARGMAX, n = 8;
    for (int i = 0; i < 8; i++) {
      static const double few[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 2.0, 3.0};
      int range = trial % 3 == 0 ? 9 : 4;
      double x = few[test_random(&random) % (uint64_t)range];
      pairs[i] = (combine_pair){.key = reference_encode(LLRT_F32, x), .index = i};
    }
    combine_pair wanted = best_of(op, LLRT_F32, pairs, n);
    memcpy(shuffled, pairs, sizeof pairs);
    for (; n > 1; n--) {
      int i = (int)(test_random(&random) % (uint64_t)n),
          j = (int)(test_random(&random) % (uint64_t)n);
      if (i == j) j = (i + 1) % n;
      combine_pair joined = combine_two_pairs(op, LLRT_F32, shuffled[i], shuffled[j]);
      shuffled[i < j ? j : i] = shuffled[n - 1];
      shuffled[i < j ? i : j] = joined;
    }
    cr_assert_eq(shuffled[0].index, wanted.index, "trial %d", trial);
  }
}

Test(combine, affine_maps_act_one_after_the_other) {
  uint64_t random = 5;
  for (int trial = 0; trial < 1000; trial++) {
    uint64_t a = test_random(&random) & UINT32_MAX, b = test_random(&random) & UINT32_MAX;
    uint64_t c = combine_two(COMBINE_AFFINE, LLRT_U32, a, b), x = test_random(&random) & 0xFFFF;
    uint64_t once = ((a & 0xFFFF) * x + (a >> 16)) & 0xFFFF;
    uint64_t twice = ((b & 0xFFFF) * once + (b >> 16)) & 0xFFFF;
    cr_assert_eq(((c & 0xFFFF) * x + (c >> 16)) & 0xFFFF, twice);
  }
}

Test(combine, truth) {
  for (llrt_dtype type = 1; type < LLRT_DTYPE_COUNT; type++) {
    if (!combine_exists(LLRT_COMBINE_ANY, type) || llrt_dtype_bits(type) > 16) continue;
    for (uint64_t code = 0; code < 1ull << llrt_dtype_bits(type); code++) {
      bool zero = type == LLRT_BOOL ? code == 0 : reference_decode(type, code) == 0;
      cr_assert_eq(combine_truth(type, code), !zero, "%s %#llx", llrt_dtype_name(type),
                   (unsigned long long)code);
    }
  }
}

typedef struct type_case {
  int op;
  llrt_dtype element, accumulator, result; /* accumulator NONE: there is no such combiner */
} type_case;

Test(combine, types) {
  static const type_case cases[] = {
      {LLRT_COMBINE_SUM, LLRT_BF16, LLRT_F32, LLRT_BF16},
      {LLRT_COMBINE_SUM, LLRT_F64, LLRT_F64, LLRT_F64},
      {LLRT_COMBINE_SUM, LLRT_I8, LLRT_I64, LLRT_I64},
      {LLRT_COMBINE_PROD, LLRT_U16, LLRT_U64, LLRT_U64},
      {LLRT_COMBINE_MIN, LLRT_I8, LLRT_I32, LLRT_I8},
      {LLRT_COMBINE_MAX, LLRT_U64, LLRT_U64, LLRT_U64},
      {LLRT_COMBINE_MAX, LLRT_E4M3, LLRT_F32, LLRT_E4M3},
      {LLRT_COMBINE_ARGMAX, LLRT_F16, LLRT_F32, LLRT_I64},
      {LLRT_COMBINE_ANY, LLRT_BOOL, LLRT_U32, LLRT_BOOL},
      {LLRT_COMBINE_ALL, LLRT_F32, LLRT_U32, LLRT_BOOL},
      {LLRT_COMBINE_SUM, LLRT_BOOL, LLRT_DTYPE_NONE, LLRT_DTYPE_NONE},
      {LLRT_COMBINE_SUM, LLRT_I4, LLRT_DTYPE_NONE, LLRT_DTYPE_NONE},
      {LLRT_COMBINE_MAX, LLRT_E8M0, LLRT_DTYPE_NONE, LLRT_DTYPE_NONE},
      {LLRT_COMBINE_MAX, LLRT_B32, LLRT_DTYPE_NONE, LLRT_DTYPE_NONE},
      {0, LLRT_F32, LLRT_DTYPE_NONE, LLRT_DTYPE_NONE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const type_case *c = &cases[i];
    cr_assert_eq(combine_exists(c->op, c->element), c->accumulator != LLRT_DTYPE_NONE, "case %zu",
                 i);
    if (c->accumulator == LLRT_DTYPE_NONE) continue;
    cr_assert_eq(combine_accumulator(c->op, c->element), c->accumulator, "case %zu", i);
    cr_assert_eq(combine_result(c->op, c->element, c->accumulator), c->result, "case %zu", i);
    cr_assert(combine_accumulates(c->op, c->element, c->accumulator), "case %zu", i);
  }
  cr_assert(combine_accumulates(LLRT_COMBINE_SUM, LLRT_I8, LLRT_I32));
  cr_assert(combine_accumulates(LLRT_COMBINE_SUM, LLRT_F32, LLRT_F64));
  cr_assert_not(combine_accumulates(LLRT_COMBINE_SUM, LLRT_F64, LLRT_F32));
  cr_assert_not(combine_accumulates(LLRT_COMBINE_SUM, LLRT_F32, LLRT_F16));
  cr_assert_not(combine_accumulates(LLRT_COMBINE_SUM, LLRT_I8, LLRT_F32));
}

Test(combine, integers_extend_to_64_bits) {
  cr_assert_eq(number_cast(LLRT_I8, LLRT_I64, 0x80), (uint64_t)-128);
  cr_assert_eq(number_cast(LLRT_U8, LLRT_U64, 0x80), 128);
  cr_assert_eq(number_cast(LLRT_I32, LLRT_I64, 0xFFFFFFFF), UINT64_MAX);
  cr_assert_eq(number_cast(LLRT_U32, LLRT_U64, 0xFFFFFFFF), 0xFFFFFFFF);
  cr_assert(number_extends(LLRT_U8, LLRT_I64));
  cr_assert_not(number_extends(LLRT_I8, LLRT_U64));
  cr_assert_not(number_extends(LLRT_F32, LLRT_I64));
}
