/* The reference of products against a loop over coordinates that a description gives: both read
 * dot.h by themselves, so they agree only where each is right; and a result that is off is found.
 */
#include "dot_reference.h"

#include "../storage_walk.h"

#include "jit/plan/types/dot_type.h"
#include "jit/plan/types/number.h"
#include "layout/storage_rule.h"
#include "runtime/described.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a product by its description ---- */

typedef struct naive {
  const op_description *desc;
  dot_rule rule;
  llrt_storage_binding binding[LLRT_MAX_TENSORS];
} naive;

static uint64_t read_code(const naive *n, int t, const int64_t *x) {
  const llrt_tensor *tensor = &n->desc->tensors[t];
  int64_t own[LLRT_MAX_RANK];
  for (int a = 0; a < tensor->rank; a++) {
    int32_t group = n->desc->dot.group[t][a];
    own[a] = group == LLRT_GROUP_ALL ? 0 : group > 1 ? x[a] / group : x[a];
  }
  int64_t at = llrt_storage_offset(tensor->storage, &n->binding[t], own);
  int bits = llrt_dtype_bits(tensor->dtype);
  const uint8_t *byte = (const uint8_t *)tensor->data + at * bits / 8;
  uint64_t code = 0;
  if (bits < 8) return *byte >> (at & 1) * 4 & 15;
  memcpy(&code, byte, (size_t)bits / 8);
  return code;
}

static double number(llrt_dtype type, uint64_t code) {
  return type == LLRT_I64 ? (double)(int64_t)code : number_value(number_format_of(type), code);
}

static double read_number(const naive *n, llrt_dot_role role, const int64_t *x, double otherwise) {
  int t = dot_tensor(&n->desc->dot, role);
  return t < 0 ? otherwise : number(n->desc->tensors[t].dtype, read_code(n, t, x));
}

static double value_at(const naive *n, llrt_dot_role operand, const int64_t *x) {
  bool is_b = operand == LLRT_DOT_B;
  const dot_operand_rule *rule = is_b ? &n->rule.b : &n->rule.a;
  dot_operand_type type = dot_operand_of(n->desc, operand);
  float value = (float)(read_number(n, operand, x, 0) -
                        read_number(n, is_b ? LLRT_DOT_ZERO_B : LLRT_DOT_ZERO_A, x, 0));
  if (rule->rounded == LLRT_DTYPE_NONE) return read_number(n, operand, x, 0);
  if (!type.on_sums)
    value *= (float)read_number(n, is_b ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A, x, 1);
  const number_format *format = number_format_of(rule->rounded);
  return number_value(format, number_code(format, value));
}

static float gelu(float x) { return x * (1 + erff(x / sqrtf(2))) / 2; }

static double map(const naive *n, llrt_map_kind kind, const int64_t *x, double value) {
  float narrow = (float)value;
  switch (kind) {
  case LLRT_MAP_ADD: return value + read_number(n, LLRT_DOT_ADD, x, 0);
  case LLRT_MAP_SCALE: return value * read_number(n, LLRT_DOT_SCALE_D, x, 1);
  case LLRT_MAP_RELU: return value > 0 || isnan(value) ? value : 0;
  case LLRT_MAP_GELU:
    return n->rule.sums == LLRT_F64 ? value * (1 + erf(value / sqrt(2))) / 2 : gelu(narrow);
  default: return value / (1 + exp(-value));
  }
}

static double scale_of_sums(const naive *n, llrt_dot_role operand, const int64_t *x) {
  bool is_b = operand == LLRT_DOT_B;
  if (!dot_operand_of(n->desc, operand).on_sums) return 1;
  return read_number(n, is_b ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A, x, 1);
}

static double edges(const naive *n, double sum, const int64_t *x) {
  const op_dot *dot = &n->desc->dot;
  bool wide = n->rule.sums == LLRT_F64;
  double value = sum * dot->alpha * read_number(n, LLRT_DOT_GLOBAL_A, x, 1) *
                 read_number(n, LLRT_DOT_GLOBAL_B, x, 1);
  value *= scale_of_sums(n, LLRT_DOT_A, x) * scale_of_sums(n, LLRT_DOT_B, x);
  value += dot->beta * read_number(n, LLRT_DOT_C, x, 0);
  value += read_number(n, LLRT_DOT_BIAS, x, 0);
  if (!wide) value = (float)value;
  for (int i = 0; i < n->desc->n_maps; i++) {
    value = map(n, n->desc->maps[i].kind, x, value);
    if (!wide) value = (float)value;
  }
  return value;
}

static uint64_t result_at(const naive *n, int64_t *x, int64_t depth) {
  int k = n->desc->tensors[0].rank - 1;
  llrt_dtype to = n->desc->tensors[1].dtype;
  uint64_t whole = 0;
  double wide = 0;
  float narrow = 0;
  for (x[k] = 0; x[k] < depth; x[k]++) {
    double a = value_at(n, LLRT_DOT_A, x), b = value_at(n, LLRT_DOT_B, x);
    whole += (uint64_t)(int64_t)(n->desc->tensors[0].dtype == LLRT_I64 ? (double)0 : a) *
             (uint64_t)(int64_t)b;
    wide += a * b;
    narrow += (float)a * (float)b;
  }
  x[k] = 0;
  if (n->rule.sums == LLRT_I64) return whole;
  double sum = n->rule.sums == LLRT_I32   ? (double)(int32_t)(uint32_t)whole
               : n->rule.sums == LLRT_F64 ? wide
                                          : (double)narrow;
  const number_format *format = number_format_of(to);
  if (n->rule.sums == LLRT_I32 && format->kind == NUMBER_INTEGER && n->desc->n_tensors == 3 &&
      n->desc->dot.alpha == 1)
    return number_code(format, sum);
  if (n->rule.sums == LLRT_I32) sum = (float)sum;
  return number_code(format, edges(n, sum, x));
}

/* Every copy of D's element at x. */
static void put_code(const naive *n, const int64_t *x, uint8_t *image, uint64_t code) {
  const llrt_tensor *d = &n->desc->tensors[1];
  int64_t copies = storage_copies(d->storage, &n->binding[1]), place[LLRT_MAX_TARGETS + 1];
  size_t bytes = (size_t)llrt_dtype_bits(d->dtype) / 8;
  for (int64_t copy = 0; copy < copies; copy++) {
    storage_place(d->storage, &n->binding[1], x, copy, place);
    memcpy(image + (size_t)place[0] * bytes, &code, bytes);
  }
}

static void fill_pads(const dot_part *d, uint8_t *image) {
  size_t bytes = (size_t)llrt_dtype_bits(d->tensor.dtype) / 8;
  storage_walk walk;
  if (d->elements == 0 || d->storage.pad != LLRT_PAD_VALUE) return;
  storage_walk_begin(&walk, &d->storage, &d->binding);
  do {
    if (!storage_walk_is_element(&walk, d->tensor.shape))
      memcpy(image + (size_t)walk.place * bytes, &d->storage.pad_value, bytes);
  } while (storage_walk_next(&walk));
}

/* Scales with one position along K are for all of it, whatever their groups. */
static void share_all(op_description *desc) {
  static const llrt_dot_role roles[2][2] = {{LLRT_DOT_SCALE_A, LLRT_DOT_ZERO_A},
                                            {LLRT_DOT_SCALE_B, LLRT_DOT_ZERO_B}};
  int k = desc->tensors[0].rank - 1;
  for (int i = 0; i < 4; i++) {
    int scale = dot_tensor(&desc->dot, roles[i / 2][0]),
        t = dot_tensor(&desc->dot, roles[i / 2][i % 2]);
    if (scale >= 0 && t >= 0 && desc->tensors[scale].shape[k] == 1)
      desc->dot.group[t][k] = LLRT_GROUP_ALL;
  }
}

static void multiply(const op_description *desc, int64_t depth, uint8_t *image) {
  naive n = {.desc = desc, .rule = dot_rule_of(desc)};
  const llrt_tensor *d = &desc->tensors[1];
  int64_t x[LLRT_MAX_RANK] = {0};
  int a;
  for (int t = 0; t < desc->n_tensors; t++) {
    const llrt_tensor *tensor = &desc->tensors[t];
    cr_assert_eq(llrt_storage_bind(tensor->storage, tensor->rank, tensor->shape, tensor->strides,
                                   &n.binding[t]),
                 LLRT_OK);
  }
  for (a = 0; a < d->rank; a++)
    if (d->shape[a] == 0) return;
  do {
    put_code(&n, x, image, result_at(&n, x, depth));
    for (a = d->rank - 1; a >= 0 && ++x[a] == d->shape[a]; a--) x[a] = 0;
  } while (a >= 0);
}

/* ---- tests ---- */

/* Products of 64-bit integers overflow what a double holds: their loop is the reference's own. */
static bool is_comparable(const dot_problem *p) {
  return p->type[LLRT_DOT_A] != LLRT_I64 && p->type[LLRT_DOT_B] != LLRT_I64;
}

static void check(const dot_problem *problem, uint64_t seed, int number) {
  static dot_bench bench;
  char title[DOT_TITLE_BYTES], why[256];
  described_dot call;
  cr_assert(dot_bench_make(problem, seed, &bench), "problem %d: %s", number, llrt_last_error());
  dot_problem_title(&bench.problem, title, sizeof title);
  const dot_part *d = &bench.part[LLRT_DOT_D];
  cr_assert_eq(described_dot_make(&bench.part[LLRT_DOT_A].tensor, &bench.part[LLRT_DOT_B].tensor,
                                  &d->tensor, &bench.params, &call),
               LLRT_OK, "problem %d (%s): %s", number, title, llrt_last_error());
  uint8_t *image = malloc(d->bytes + 1);
  cr_assert(image);
  memcpy(image, d->image, d->bytes);
  share_all(&call.desc);
  multiply(&call.desc, problem->k, image);
  fill_pads(d, image);
  cr_expect(dot_reference_check(&bench, image, why, sizeof why), "problem %d (%s): %s", number,
            title, why);
  free(image);
  dot_bench_free(&bench);
}

Test(dot_reference, random_problems) {
  for (int i = 0; i < 600; i++) {
    dot_problem problem;
    dot_problem_random((uint64_t)i * 77 + 5, 40, &problem);
    if (is_comparable(&problem) && problem.data != DOT_SPECIAL) check(&problem, (uint64_t)i, i);
  }
}

Test(dot_reference, table_4) {
  cr_assert_geq(dot_table4_count(), 784);
  for (int i = 7; i < dot_table4_count(); i += 131) {
    dot_problem problem;
    dot_table4_problem(i, &problem);
    if (is_comparable(&problem)) check(&problem, (uint64_t)i, i);
  }
}

/* One element of K left out, or one bit too many in a place between: both are seen. */
Test(dot_reference, finds_what_is_wrong) {
  dot_problem problem = {
      .m = 9, .n = 12, .k = 100, .type = {[LLRT_DOT_A] = LLRT_F16, [LLRT_DOT_B] = LLRT_BF16}};
  static dot_bench bench;
  char why[256];
  described_dot call;
  snprintf(problem.storage[LLRT_DOT_D], DOT_STORAGE_TEXT, "strided([20,1])");
  cr_assert(dot_bench_make(&problem, 3, &bench));
  const dot_part *d = &bench.part[LLRT_DOT_D];
  cr_assert_eq(described_dot_make(&bench.part[LLRT_DOT_A].tensor, &bench.part[LLRT_DOT_B].tensor,
                                  &d->tensor, &bench.params, &call),
               LLRT_OK, "%s", llrt_last_error());
  uint8_t *image = malloc(d->bytes);
  cr_assert(image);
  memcpy(image, d->image, d->bytes);
  multiply(&call.desc, 100, image);
  cr_expect(dot_reference_check(&bench, image, why, sizeof why), "%s", why);
  image[15 * 4] ^= 1;
  cr_expect_not(dot_reference_check(&bench, image, why, sizeof why));
  memcpy(image, d->image, d->bytes);
  multiply(&call.desc, 99, image);
  cr_expect_not(dot_reference_check(&bench, image, why, sizeof why));
  free(image);
  dot_bench_free(&bench);
}
