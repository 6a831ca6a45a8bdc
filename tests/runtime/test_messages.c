/* What failing calls say: whose message it is, and in whose terms. */
#include "tests/runtime/public_functions.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

/* ---- the function ---- */

typedef struct public_function {
  const char *name;
  llrt_status (*refused)(void);
} public_function;

#define CALL(function, arguments) \
  static llrt_status call_##function(void) { return function arguments; }
PUBLIC_FUNCTIONS(CALL)

#define ROW(function, arguments) {#function, call_##function},
static const public_function functions[] = {PUBLIC_FUNCTIONS(ROW)};
static const size_t n_functions = sizeof functions / sizeof functions[0];

static bool begins_with_name(const char *message, const char *name) {
  size_t length = strlen(name);
  return strncmp(message, name, length) == 0 && strncmp(message + length, ": ", 2) == 0;
}

Test(messages, begin_with_the_functions_name) {
  for (size_t i = 0; i < n_functions; i++) {
    llrt_status status = functions[i].refused();
    cr_expect(status == LLRT_INVALID_ARGUMENT, "%s: %s", functions[i].name,
              llrt_status_name(status));
    cr_expect(begins_with_name(llrt_last_error(), functions[i].name), "%s: \"%s\"",
              functions[i].name, llrt_last_error());
  }
}

static bool is_listed(const char *name, size_t length) {
  for (size_t i = 0; i < n_functions; i++)
    if (strlen(functions[i].name) == length && strncmp(functions[i].name, name, length) == 0)
      return true;
  return false;
}

/* Every function of a header that returns llrt_status stands in the list. Returns how many there
 * are. */
static size_t check_header(const char *path) {
  static const char *const declares = "LLRT_API llrt_status ";
  char line[1024];
  size_t n = 0;
  FILE *file = fopen(path, "r");
  cr_assert_not_null(file, "%s", path);
  while (fgets(line, sizeof line, file)) {
    const char *name = line + strlen(declares);
    if (strncmp(line, declares, strlen(declares)) != 0) continue;
    cr_expect(is_listed(name, strcspn(name, "(")), "public_functions.h lacks %s", name);
    n++;
  }
  fclose(file);
  return n;
}

Test(messages, of_every_public_function) {
  glob_t headers;
  size_t n = 0;
  cr_assert_eq(glob(LLRT_TEST_SOURCE_DIR "/include/llrt/*.h", 0, NULL, &headers), 0);
  for (size_t i = 0; i < headers.gl_pathc; i++) n += check_header(headers.gl_pathv[i]);
  globfree(&headers);
  cr_expect_eq(n, n_functions);
}

/* ---- the argument ---- */

/* A call of the shapes and names that a caller gives, and what is said. */
typedef struct told {
  llrt_status (*call)(llrt_device *host);
  const char *said;
} told;

static float numbers[8 * 16];

static llrt_tensor matrix(llrt_device *host, int rank, int64_t rows, int64_t columns) {
  return (llrt_tensor){
      .data = numbers, .dtype = LLRT_F32, .rank = rank, .shape = {rows, columns}, .device = host};
}

static llrt_status reduce(llrt_device *host, llrt_tensor result, llrt_reduce_params params) {
  llrt_tensor source = matrix(host, 2, 8, 16);
  return llrt_reduce_into(&source, &result, &params, NULL);
}

static llrt_status wrong_extent(llrt_device *host) {
  return reduce(host, matrix(host, 1, 24, 0), (llrt_reduce_params){.axes = 1});
}

static llrt_status wrong_kept(llrt_device *host) {
  return reduce(host, matrix(host, 2, 8, 2), (llrt_reduce_params){.axes = 2});
}

static llrt_status wrong_rank(llrt_device *host) {
  return reduce(host, matrix(host, 1, 16, 0), (llrt_reduce_params){.axes = 0});
}

static llrt_status wrong_values(llrt_device *host) {
  llrt_tensor values = matrix(host, 1, 7, 0), result = matrix(host, 1, 8, 0);
  result.dtype = LLRT_I32;
  return reduce(host, result,
                (llrt_reduce_params){.op = LLRT_COMBINE_ARGMAX, .axes = 2, .values = &values});
}

static llrt_status no_combiner(llrt_device *host) {
  return reduce(host, matrix(host, 1, 16, 0), (llrt_reduce_params){.op = (llrt_combiner)99});
}

static llrt_status parameters_of_none(llrt_device *host) {
  llrt_storage storage;
  (void)host;
  return llrt_storage_parse("col_major()", 2, NULL, &storage);
}

static llrt_status no_device(llrt_device *host) {
  return llrt_device_open(NULL, "host", NULL, &host);
}

static llrt_status type_of_values(llrt_device *host) {
  llrt_tensor values = matrix(host, 1, 8, 0), result = matrix(host, 1, 8, 0);
  result.dtype = LLRT_I32;
  values.dtype = (llrt_dtype)99;
  return reduce(host, result,
                (llrt_reduce_params){.op = LLRT_COMBINE_ARGMAX, .axes = 2, .values = &values});
}

/* An expression's tensors are called by its names; once it is an operation, by their numbers. */
static llrt_status compute(llrt_tensor *x, llrt_tensor *y, llrt_dtype described) {
  llrt_expr *expr;
  llrt_op_desc *desc = NULL;
  llrt_op *op = NULL;
  llrt_arg args[2] = {{.name = "x", .tensor = x}, {.name = "row", .tensor = y}};
  llrt_status status = llrt_expr_parse("(x[m n]) -> (row[m n]) { row = x + 1 }", &expr);
  if (status == LLRT_OK && !described) status = llrt_compute_into(expr, args, 2, NULL, NULL);
  if (status == LLRT_OK && described) status = llrt_compute_describe(expr, args, 2, NULL, &desc);
  llrt_expr_destroy(&expr);
  if (!desc) return status;
  llrt_op_desc other = *desc;
  llrt_tensor tensors[2] = {desc->tensors[0], desc->tensors[1]};
  tensors[1].dtype = described;
  other.tensors = tensors;
  status = llrt_op_prepare(x->device, &other, &op);
  llrt_op_desc_destroy(&desc);
  return status;
}

static llrt_status overlapping(llrt_device *host) {
  llrt_tensor x = matrix(host, 2, 4, 4), y = x;
  y.data = numbers + 4;
  return compute(&x, &y, LLRT_DTYPE_NONE);
}

static llrt_status unaligned(llrt_device *host) {
  llrt_tensor x = matrix(host, 2, 4, 4), y = x;
  y.data = (char *)numbers + 65;
  return compute(&x, &y, LLRT_DTYPE_NONE);
}

static llrt_status numbered(llrt_device *host) {
  llrt_tensor x = matrix(host, 2, 4, 4), y = x;
  return compute(&x, &y, LLRT_F64);
}

/* Prepared without promises: the extents of what counts down come with a run. */
#define COUNTING_DOWN "storage(rank=2, digits=[dim1: rest reversed, dim0: rest], swizzle=[1,2,3])"

static llrt_status counting_source(llrt_device *host) {
  llrt_storage storage;
  llrt_op *op = NULL;
  llrt_tensor tensors[2] = {matrix(host, 2, 4, 4), matrix(host, 2, 4, 4)};
  llrt_op_desc desc = {
      .size = sizeof desc, .kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = tensors};
  tensors[0].storage = &storage;
  llrt_status status = llrt_storage_parse(COUNTING_DOWN, 2, NULL, &storage);
  return status == LLRT_OK ? llrt_op_prepare(host, &desc, &op) : status;
}

/* Such an operand is copied before: the copy's source is still operand A. */
static llrt_status counting_operand(llrt_device *host) {
  llrt_storage storage;
  llrt_op *op = NULL;
  llrt_op_desc *desc = NULL;
  llrt_tensor a = matrix(host, 2, 4, 4), b = a, d = a;
  a.storage = &storage;
  llrt_status status = llrt_storage_parse(COUNTING_DOWN, 2, NULL, &storage);
  if (status == LLRT_OK) status = llrt_dot_describe(&a, &b, &d, NULL, &desc);
  if (status == LLRT_OK) status = llrt_op_prepare(host, desc, &op);
  llrt_op_desc_destroy(&desc);
  return status;
}

static const told argument_rows[] = {
    {wrong_extent, "llrt_reduce_into: the destination's shape[0] is 24, the source's shape[1] 16"},
    {wrong_kept, "llrt_reduce_into: the destination's shape[1] is 2, not 1: the axis is reduced"},
    {wrong_rank, "llrt_reduce_into: the destination has rank 1: with the axes that are reduced it "
                 "has 2, without them 0"},
    {wrong_values, "llrt_reduce_into: the values tensor's shape[0] is 7, the source's shape[0] 8"},
    {type_of_values, "llrt_reduce_into: the values tensor's dtype is 99, which is none"},
    {overlapping, "llrt_compute_into: the tensor row, which is written, overlaps the tensor x"},
    {unaligned, "llrt_compute_into: the tensor row's data is not aligned to its 32-bit elements"},
    {numbered, "llrt_op_prepare: the argument tensors[1] is f64, in the program f32"},
    {counting_source, "llrt_op_prepare: the source's storage has a digit that counts down along an "
                      "extent or by a stride that is not promised (least = most), under a swizzle "
                      "or inside a byte"},
    {counting_operand, "llrt_op_prepare: the operand A's storage has a digit that counts down "
                       "along an extent or by a stride that is not promised (least = most), under "
                       "a swizzle or inside a byte"},
    {no_combiner, "llrt_reduce_into: there is no combiner 99"},
    {parameters_of_none,
     "llrt_storage_parse: column 10: expected the end: what stands before takes "
     "no parameters"},
    {no_device, "llrt_device_open: context is NULL"},
};

Test(messages, name_the_argument) {
  llrt_context *context;
  llrt_device *host;
  cr_assert_eq(llrt_context_create(NULL, &context), LLRT_OK);
  cr_assert_eq(llrt_device_open(context, "host", NULL, &host), LLRT_OK);
  for (size_t i = 0; i < sizeof argument_rows / sizeof *argument_rows; i++) {
    cr_expect_neq(argument_rows[i].call(host), LLRT_OK);
    cr_expect_str_eq(llrt_last_error(), argument_rows[i].said);
  }
  llrt_device_close(&host);
  llrt_context_destroy(&context);
}

/* The call that the caller made is named, not what it calls itself; a call that succeeded leaves no
 * name behind. */
Test(messages, name_the_outermost_call) {
  llrt_storage storage;
  llrt_tensor source = {.dtype = LLRT_F32}, result;
  cr_expect_eq(llrt_gather_into(&source, NULL, 0, NULL, NULL, NULL), LLRT_INVALID_ARGUMENT);
  cr_expect_str_eq(llrt_last_error(), "llrt_gather_into: index is NULL");
  cr_expect_eq(llrt_convert(&source, NULL, NULL, NULL, &result), LLRT_INVALID_ARGUMENT);
  cr_expect_str_eq(llrt_last_error(), "llrt_convert: the source has no device");
  cr_expect_eq(llrt_storage_row_major(2, &storage), LLRT_OK);
  cr_expect_eq(llrt_storage_row_major(-1, &storage), LLRT_INVALID_ARGUMENT);
  cr_expect(begins_with_name(llrt_last_error(), "llrt_storage_row_major"), "%s", llrt_last_error());
}
