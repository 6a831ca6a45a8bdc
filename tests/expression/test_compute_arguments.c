/* What names of a signature are bound to: each mistake is told with the argument, and nothing is
 * written. */
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define TEXT \
  "(x[t n], w[n], c: f32, k: i32) -> (y[t n], s[t]: f32) { y = x * w + c; s = sum(x, n) + k }"

/* The call's memory, and its arguments in the signature's order. */
typedef struct call {
  float x[6], w[3], y[6], s[2];
  llrt_tensor tensor[4];
  llrt_arg arg[7];
  int n;
} call;

static void begin(call *c) {
  float *data[] = {c->x, c->w, c->y, c->s};
  static const char *const names[] = {"x", "w", "y", "s", "c", "k"};
  memset(c, 0, sizeof *c);
  for (int i = 0; i < 4; i++) {
    bool matrix = i % 2 == 0;
    c->tensor[i] = (llrt_tensor){.data = data[i],
                                 .dtype = LLRT_F32,
                                 .rank = matrix ? 2 : 1,
                                 .shape = {matrix || i == 3 ? 2 : 3, matrix ? 3 : 0},
                                 .device = trial_device("host")};
    c->arg[i].tensor = &c->tensor[i];
  }
  for (int i = 0; i < 6; i++) c->arg[i].name = names[i];
  c->n = 6;
}

static void as_it_is(call *c) { (void)c; }
static void unknown(call *c) { c->arg[1].name = "q"; }
static void no_name(call *c) { c->arg[0].name = NULL; }
static void missing_tensor(call *c) { c->arg[1] = c->arg[--c->n]; }
static void missing_number(call *c) { c->n--; }
static void twice(call *c) { c->arg[c->n++] = c->arg[0]; }
static void number_twice(call *c) { c->arg[c->n++] = c->arg[4]; }
static void tensor_for_number(call *c) { c->arg[4].tensor = &c->tensor[1]; }
static void number_for_tensor(call *c) { c->arg[1].tensor = NULL; }
static void wide_integer(call *c) { c->arg[5].integer = 1ll << 40; }
static void part_of_integer(call *c) { c->arg[5].number = 1.5, c->arg[5].integer = 1; }
static void number_for_integer(call *c) { c->arg[5].number = 2; }
static void same_number(call *c) { c->arg[5].number = 2, c->arg[5].integer = 2; }
static void reserved(call *c) { c->arg[2].reserved[1] = 1; }
static void rank(call *c) { c->tensor[1].rank = 2; }
static void extent(call *c) { c->tensor[1].shape[0] = 4; }
static void negative(call *c) { c->tensor[1].shape[0] = -3; }
static void dtype(call *c) { c->tensor[1].dtype = (llrt_dtype)99; }
static void output_type(call *c) { c->tensor[3].dtype = LLRT_F64; }
static void no_data(call *c) { c->tensor[2].data = NULL; }
static void outputs_meet(call *c) { c->tensor[3].data = c->y + 5; }
static void output_in_input(call *c) { c->tensor[3].data = c->x + 1; }
static void shifted(call *c) { c->tensor[2].data = c->x + 1; }
static void other_width(call *c) { c->tensor[2].data = c->x, c->tensor[2].dtype = LLRT_BF16; }
static void misaligned(call *c) { c->tensor[1].data = (char *)c->w + 1; }
static void other_device(call *c) { c->tensor[1].device = trial_device("cuda-emu:sm_80"); }

Test(compute_arguments, refused) {
  static const struct {
    void (*change)(call *c);
    const char *message; /* NULL: it computes */
  } rows[] = {
      {as_it_is, NULL},
      {unknown, "the expression has no parameter q"},
      {no_name, "the name of an entry of args is NULL"},
      {missing_tensor, "w is not given"},
      {missing_number, "k is not given"},
      {twice, "x is given twice"},
      {number_twice, "c is given twice"},
      {tensor_for_number, "c is a number, and a tensor is given"},
      {number_for_tensor, "w is a tensor, and none is given"},
      {wide_integer, "k is an i32, and 1099511627776 is none"},
      {part_of_integer, "k is an i32, its number is 1.5 and its integer 1"},
      {number_for_integer, "k is an i32, its number is 2 and its integer 0"},
      {same_number, NULL},
      {reserved, "y: a reserved field is not 0"},
      {rank, "w has rank 2, in the expression 1"},
      {extent, "w has 4 positions along n, others 3"},
      {negative, "w has -3 positions along n"},
      {dtype, "w: dtype 99 is none"},
      {output_type, "s is f64, in the expression f32"},
      {no_data, "tensor y"},
      {outputs_meet, "tensor y, which is written, overlaps the tensor s"},
      {output_in_input, "tensor s, which is written, overlaps the tensor x"},
      {shifted, "tensor y, which is written, overlaps the tensor x"},
      {other_width, "tensor y, which is written, overlaps the tensor x"},
      {misaligned, "tensor w"},
      {other_device, "the tensor x is on host, the tensor w on cuda-emu:sm_80"},
  };
  llrt_expr *expr;
  cr_assert_eq(llrt_expr_parse(TEXT, &expr), LLRT_OK, "%s", llrt_last_error());
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    static call c, before;
    begin(&c);
    rows[i].change(&c);
    before = c;
    llrt_status status = llrt_compute_into(expr, c.arg, c.n, NULL, NULL);
    if (!rows[i].message) {
      cr_expect_eq(status, LLRT_OK, "%s", llrt_last_error());
      continue;
    }
    bool apart = rows[i].change == other_device;
    cr_expect_eq(status, apart ? LLRT_UNSUPPORTED : LLRT_INVALID_ARGUMENT, "%zu: %d, %s", i, status,
                 llrt_last_error());
    cr_expect(strstr(llrt_last_error(), rows[i].message), "%zu: %s", i, llrt_last_error());
    cr_expect_eq(memcmp(&c, &before, sizeof c), 0, "%zu: something is written", i);
  }
  llrt_expr_destroy(&expr);
}

/* Texts that parse, of which types or extents are wrong: line and column, or the argument. */
Test(compute_arguments, texts) {
  static const struct {
    const char *text, *message;
  } rows[] = {
      {"(x[n]) -> (y[n]) { y = x << 1 }", "1:26: an operation on bits, of a real"},
      {"(x[n]) -> (y[n]) {\n y = bitcast(x, f64) }", "2:6: bitcast is between"},
      {"(x[n]) -> (y[n]) { y = bitcast(f16(x), i16) }", "1:24: bitcast is between"},
      {"(x[n]) -> (y[n]) { y = exp(f64(x)) }", "1:24: exp of f64"},
      {"(x[n]) -> (y[n]) { y = i32(x) + 4294967296 }", "1:31: an integer beyond 32 bits"},
      {"(x[n]) -> (y[n]) { y = u64(x) }", "1:24: there is no cast"},
      {"(x[n]) -> (y[n]) { y = where(x, x, 1) }", "1:24: where: the condition is a number"},
      {"(x[n:9223372036854775807]) -> (y[n]) { y = x }", "others 9223372036854775807"},
      {"(x[(a:4294967296 b:4294967296)]) -> (y[(a b)]) { y = x }", "x has 4 positions along a"},
      {"(x[(a:9223372036854775807 b:3 c)]) -> (y[(a b c)]) { y = x }", "do not divide"},
      {"(x[(a b)]) -> (y[(a b)]) { y = x }", "no tensor tells their own extents"},
      {"(x[(a b:3)]) -> (y[(a b)]) { y = x }", "x has 4 positions along an axis that 3 do not"},
      {"(x[n]) -> (y[n:4611686018427387904]) { y = x }", "others 4611686018427387904"},
      {"(x[1]) -> (y[n]) { y = x + n }", "x has 4 positions where the expression has 1"},
      {"(x[... n]) -> (y[n]) { y = sum(x, n) }", "1:24: y has no axis ...: reduce that first"},
  };
  float x[4] = {1, 2, 3, 4}, y[4] = {5, 6, 7, 8}, before[4];
  llrt_tensor in = {
      .data = x, .dtype = LLRT_F32, .rank = 1, .shape = {4}, .device = trial_device("host")};
  llrt_tensor out = in;
  const llrt_arg args[] = {{.name = "x", .tensor = &in}, {.name = "y", .tensor = &out}};
  out.data = y;
  memcpy(before, y, sizeof y);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    llrt_expr *expr;
    llrt_status status = llrt_expr_parse(rows[i].text, &expr);
    if (status == LLRT_OK) status = llrt_compute_into(expr, args, 2, NULL, NULL);
    cr_expect(status == LLRT_INVALID_ARGUMENT || status == LLRT_UNSUPPORTED, "%s: %d", rows[i].text,
              status);
    cr_expect(strstr(llrt_last_error(), rows[i].message), "%s: %s", rows[i].text,
              llrt_last_error());
    llrt_expr_destroy(&expr);
  }
  cr_expect_eq(memcmp(y, before, sizeof y), 0, "something is written");
}

/* How many rows count is told by a tensor that no value uses; two tensors do not tell two numbers.
 */
Test(compute_arguments, counts_of_what_is_not_read) {
  float x[6] = {0}, w[3] = {1, 2, 3}, y[6] = {9, 9, 9, 9, 9, 9};
  const float wanted[6] = {1, 2, 3, 9, 9, 9};
  int32_t one = 1, two = 2;
  llrt_expr *expr;
  llrt_tensor in = {
      .data = x, .dtype = LLRT_F32, .rank = 2, .shape = {2, 3}, .device = trial_device("host")};
  llrt_tensor row = in, out = in;
  row.rank = 1, row.shape[0] = 3, row.data = w, out.data = y, in.extent_ptr[0] = &one;
  const llrt_arg args[] = {
      {.name = "x", .tensor = &in}, {.name = "w", .tensor = &row}, {.name = "y", .tensor = &out}};
  cr_assert_eq(llrt_expr_parse("(x[t n], w[n]) -> (y[t n]) { y = w }", &expr), LLRT_OK);
  cr_assert_eq(llrt_compute_into(expr, args, 3, NULL, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(memcmp(y, wanted, sizeof y), 0);
  out.extent_ptr[0] = &two;
  cr_expect_eq(llrt_compute_into(expr, args, 3, NULL, NULL), LLRT_INVALID_ARGUMENT);
  cr_expect(strstr(llrt_last_error(), "extent_ptr"), "%s", llrt_last_error());
  llrt_expr_destroy(&expr);
}

/* Signatures with one name too many: line and column of it. */
Test(compute_arguments, too_many) {
  char text[1024];
  llrt_expr *expr;
  int length = snprintf(text, sizeof text, "(x0[n]");
  for (int i = 1; i < LLRT_EXPR_MAX_TENSORS; i++)
    length += snprintf(text + length, sizeof text - (size_t)length, ", x%d[n]", i);
  snprintf(text + length, sizeof text - (size_t)length, ") ->\n (y[n]) { y = x0 }");
  cr_expect_eq(llrt_expr_parse(text, &expr), LLRT_UNSUPPORTED);
  cr_expect(strstr(llrt_last_error(), "2:3: more than 16"), "%s", llrt_last_error());
  length = snprintf(text, sizeof text, "(x[n]");
  for (int i = 0; i <= LLRT_EXPR_MAX_SCALARS; i++)
    length += snprintf(text + length, sizeof text - (size_t)length, ",\n c%d: f32", i);
  snprintf(text + length, sizeof text - (size_t)length, ") -> (y[n]) { y = x }");
  cr_expect_eq(llrt_expr_parse(text, &expr), LLRT_UNSUPPORTED);
  cr_expect(strstr(llrt_last_error(), "10:2: more than 8"), "%s", llrt_last_error());
}
