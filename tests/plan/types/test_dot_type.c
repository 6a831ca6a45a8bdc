/* The rule of every pair of types, pinned as text: operands that have nothing on them, then scaled
 * ones. */
#include "jit/plan/types/dot_type.h"

#include "base/text.h"
#include "jit/plan/types/number.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const llrt_dtype elements[] = {LLRT_F64,  LLRT_F32,  LLRT_F16, LLRT_BF16, LLRT_E4M3,
                                      LLRT_E5M2, LLRT_E2M1, LLRT_I64, LLRT_I32,  LLRT_I16,
                                      LLRT_I8,   LLRT_U8,   LLRT_I4,  LLRT_U4};
#define ELEMENTS (sizeof elements / sizeof *elements)

/* Row a, column b, both as in `elements`: what the pair computes in. */
static const char *const computes =
    /*        f64 f32 f16  bf16 e4m3 e5m2 e2m1 i64 i32 i16 i8  u8  i4  u4 */
    "f64:  f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64\n"
    "f32:  f64 f32 f32 f32 f32 f32 f32 f64 f64 f32 f32 f32 f32 f32\n"
    "f16:  f64 f32 f16 tf32 f16 f16 f16 f64 f64 f32 f16 f16 f16 f16\n"
    "bf16: f64 f32 tf32 bf16 bf16 bf16 bf16 f64 f64 f32 bf16 bf16 bf16 bf16\n"
    "e4m3: f64 f32 f16 bf16 f16 f16 f16 f64 f64 f32 f16 f16 f16 f16\n"
    "e5m2: f64 f32 f16 bf16 f16 f16 f16 f64 f64 f32 f16 f16 f16 f16\n"
    "e2m1: f64 f32 f16 bf16 f16 f16 f16 f64 f64 f32 f16 f16 f16 f16\n"
    "i64:  f64 f64 f64 f64 f64 f64 f64 i64 i64 i64 i64 i64 i64 i64\n"
    "i32:  f64 f64 f64 f64 f64 f64 f64 i64 i64 i64 i64 i64 i64 i64\n"
    "i16:  f64 f32 f32 f32 f32 f32 f32 i64 i64 i64 i64 i64 i64 i64\n"
    "i8:   f64 f32 f16 bf16 f16 f16 f16 i64 i64 i64 i32 i32 i32 i32\n"
    "u8:   f64 f32 f16 bf16 f16 f16 f16 i64 i64 i64 i32 i32 i32 i32\n"
    "i4:   f64 f32 f16 bf16 f16 f16 f16 i64 i64 i64 i32 i32 i32 i32\n"
    "u4:   f64 f32 f16 bf16 f16 f16 f16 i64 i64 i64 i32 i32 i32 i32\n";

static const char *compute_name(dot_compute compute) {
  return compute == DOT_TF32 ? "tf32" : llrt_dtype_name(dot_compute_dtype(compute));
}

Test(dot_type, pairs_without_scales) {
  llrt_text text;
  llrt_text_init(&text);
  for (size_t i = 0; i < ELEMENTS; i++) {
    char name[8];
    snprintf(name, sizeof name, "%s:", llrt_dtype_name(elements[i]));
    llrt_text_add(&text, "%-5s", name);
    for (size_t j = 0; j < ELEMENTS; j++) {
      dot_operand_type a = {.element = elements[i]}, b = {.element = elements[j]};
      dot_rule rule, mirrored;
      cr_assert(dot_operand_exists(elements[i]));
      cr_assert(dot_rule_find(&a, &b, LLRT_DTYPE_NONE, false, &rule));
      cr_assert(dot_rule_find(&b, &a, LLRT_DTYPE_NONE, false, &mirrored));
      cr_expect(rule.compute == mirrored.compute && rule.result == mirrored.result);
      cr_expect(rule.a.rounded == LLRT_DTYPE_NONE && rule.b.rounded == LLRT_DTYPE_NONE);
      llrt_text_add(&text, " %s", compute_name(rule.compute));
    }
    llrt_text_add(&text, "\n");
  }
  cr_expect_str_eq(text.data, computes);
  llrt_text_fini(&text);
}

#define PLAIN(e) {.element = LLRT_##e}
#define SCALED(e, s, ...) {.element = LLRT_##e, .scale = LLRT_##s, __VA_ARGS__}
#define SHIFTED(e, z) {.element = LLRT_##e, .zero = LLRT_##z}

typedef struct scaled_case {
  dot_operand_type a, b;
  const char *compute, *rounded_b, *result;
} scaled_case;

Test(dot_type, scales_and_zero_points) {
  static const dot_operand_type f32 = PLAIN(F32), f16 = PLAIN(F16), bf16 = PLAIN(BF16),
                                e4m3 = PLAIN(E4M3), e5m2 = PLAIN(E5M2), i8 = PLAIN(I8);
  static const dot_operand_type mxfp4 = SCALED(E2M1, E8M0), mxfp8 = SCALED(E4M3, E8M0);
  static const dot_operand_type near4 = SCALED(E2M1, E8M0, .range = {105, 139});
  static const dot_operand_type wide4 = SCALED(E2M1, E8M0, .range = {105, 142});
  static const dot_operand_type nvfp4 = SCALED(E2M1, E4M3), block8 = SCALED(E4M3, E4M3);
  static const dot_operand_type gptq = SCALED(U4, F16, .zero = LLRT_U4), awq = SCALED(I4, BF16);
  static const dot_operand_type sums = SCALED(I8, F32, .on_sums = true);
  static const dot_operand_type shifted = SCALED(U8, F32, .zero = LLRT_U8, .on_sums = true);
  static const dot_operand_type i32 = PLAIN(I32),
                                above = SCALED(U8, E4M3, .zero = LLRT_I8, .on_sums = true);
  static const dot_operand_type crossed = SHIFTED(I8, U8), hqq = SHIFTED(U4, F16),
                                deep = SCALED(E4M3, F32);
  const scaled_case cases[] = {
      {bf16, mxfp4, "bf16", "bf16", "bf16"},  {f16, mxfp4, "tf32", "bf16", "f16"},
      {f16, near4, "f16", "bf16", "f16"},     {f16, wide4, "tf32", "bf16", "f16"},
      {e4m3, mxfp4, "bf16", "bf16", "f32"},   {e5m2, mxfp4, "bf16", "bf16", "f32"},
      {f32, mxfp4, "f32", "bf16", "f32"},     {bf16, mxfp8, "bf16", "bf16", "bf16"},
      {mxfp8, mxfp8, "bf16", "bf16", "f32"},  {mxfp4, mxfp4, "bf16", "bf16", "f32"},
      {f16, nvfp4, "f16", "bf16", "f16"},     {bf16, nvfp4, "bf16", "bf16", "bf16"},
      {nvfp4, nvfp4, "f16", "bf16", "f32"},   {f16, block8, "tf32", "bf16", "f16"},
      {f16, gptq, "f16", "f16", "f16"},       {bf16, gptq, "tf32", "f16", "bf16"},
      {bf16, awq, "bf16", "bf16", "bf16"},    {f16, awq, "tf32", "bf16", "f16"},
      {i8, sums, "i32", "none", "i32"},       {i8, shifted, "i32", "i16", "i32"},
      {i8, crossed, "i64", "i16", "i64"},     {f16, crossed, "f16", "i16", "f16"},
      {bf16, crossed, "tf32", "i16", "bf16"}, {f16, hqq, "f16", "f16", "f16"},
      {bf16, deep, "f32", "f32", "bf16"},     {i8, above, "f64", "i16", "f64"},
      {i32, sums, "f64", "none", "f64"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const scaled_case *c = &cases[i];
    dot_rule rule;
    cr_assert_eq(dot_scaling_check(&c->b), DOT_SCALING_FITS, "case %zu", i);
    cr_assert(dot_rule_find(&c->a, &c->b, LLRT_DTYPE_NONE, false, &rule), "case %zu", i);
    cr_expect_str_eq(compute_name(rule.compute), c->compute, "case %zu: %s", i,
                     compute_name(rule.compute));
    cr_expect_str_eq(llrt_dtype_name(rule.b.rounded), c->rounded_b, "case %zu", i);
    cr_expect_str_eq(llrt_dtype_name(rule.result), c->result, "case %zu: %s", i,
                     llrt_dtype_name(rule.result));
  }
}

Test(dot_type, what_is_asked_for) {
  const dot_operand_type f32 = PLAIN(F32), f64 = PLAIN(F64), f16 = PLAIN(F16), i8 = PLAIN(I8),
                         i16 = PLAIN(I16);
  dot_rule rule;
  cr_expect(dot_rule_find(&f32, &f16, LLRT_F32, true, &rule) && rule.compute == DOT_TF32);
  cr_expect(dot_rule_find(&f64, &f16, LLRT_F64, true, &rule) && rule.compute == DOT_F64);
  cr_expect(dot_rule_find(&f32, &f32, LLRT_F64, true, &rule) && rule.compute == DOT_F64 &&
            rule.sums == LLRT_F64);
  cr_expect(dot_rule_find(&i8, &i8, LLRT_I64, false, &rule) && rule.compute == DOT_I64 &&
            rule.result == LLRT_I64);
  cr_expect(dot_rule_find(&i8, &i8, LLRT_F64, false, &rule) && rule.compute == DOT_F64 &&
            rule.result == LLRT_F64);
  cr_expect(!dot_rule_find(&f64, &f32, LLRT_F32, false, &rule));
  cr_expect(!dot_rule_find(&i16, &i8, LLRT_I32, false, &rule));
  cr_expect(!dot_rule_find(&i8, &i8, LLRT_F32, false, &rule));
  cr_expect(!dot_rule_find(&f16, &f16, LLRT_I32, false, &rule));
}

Test(dot_type, what_cannot_be) {
  static const llrt_dtype others[] = {LLRT_E8M0, LLRT_U16, LLRT_U32, LLRT_U64,
                                      LLRT_BOOL, LLRT_B8,  LLRT_B16};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    cr_expect_not(dot_operand_exists(others[i]), "%s", llrt_dtype_name(others[i]));
  static const dot_operand_type refused[] = {
      SCALED(F16, E8M0),  SCALED(I16, F16),
      SCALED(I8, I8),     SCALED(I8, F64),
      SCALED(E2M1, E2M1), SCALED(E4M3, E8M0, .zero = LLRT_I8),
      SHIFTED(I16, I8),   SCALED(I4, F16, .zero = LLRT_I16),
  };
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    cr_expect_neq(dot_scaling_check(&refused[i]), DOT_SCALING_FITS, "case %zu", i);
}

/* Every code of a type of up to 16 bits is held by exactly the types that convert it there and
 * back. */
Test(dot_type, types_hold_what_converts_exactly) {
  static const llrt_dtype holders[] = {LLRT_F16,  LLRT_BF16, LLRT_F32, LLRT_F64,
                                       LLRT_E4M3, LLRT_E5M2, LLRT_I8,  LLRT_I16};
  for (size_t i = 0; i < ELEMENTS; i++) {
    if (llrt_dtype_bits(elements[i]) > 16) continue;
    dot_operand_type a = {.element = elements[i]}, b = {.element = LLRT_F64};
    const number_format *from = number_format_of(elements[i]);
    dot_rule rule;
    cr_assert(dot_rule_find(&a, &b, LLRT_DTYPE_NONE, false, &rule));
    for (size_t h = 0; h < sizeof holders / sizeof *holders; h++) {
      const number_format *to = number_format_of(holders[h]);
      bool exact = from->kind == NUMBER_INTEGER || to->kind != NUMBER_INTEGER;
      for (uint64_t code = 0; exact && code < 1ull << from->bits; code++) {
        double value = number_value(from, code);
        exact = !isfinite(value) || number_value(to, number_code(to, value)) == value;
      }
      cr_expect_eq(dot_dtype_holds(holders[h], &rule.a.values), exact, "%s in %s",
                   llrt_dtype_name(elements[i]), llrt_dtype_name(holders[h]));
    }
  }
}
