/* Appends of few positions to slots of caches have kernels of their own (jit/plan/rows/rows_few.c).
 */
#include "backends/backend.h"
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>
#include <string.h>

#define TEXT \
  "(x[t h d], v[t h d], w[d]) -> (y[t h d]: e4m3, z[t h d]: e4m3) " \
  "{ y = x * rsqrt(mean(x * x, d) + 1e-6) * w; z = v }"
#define SLOTS_FIRST "storage(rank=3, digits=[dim0:16, dim2:128, dim1:8, dim0:rest])"
/* Tokens that the kernel for few of them takes, at most. */
enum { TOKENS = 4096, FEW = 528, SLOTS = 8192, HEADS = 8, WIDTH = 128 };

/* The plan for sm_90a where so many tokens are promised at least and at most; 0: none are. */
static char *plan_of(const char *text, int64_t least, int64_t most) {
  static int64_t slot[TOKENS];
  llrt_storage cache;
  const int64_t shape[3] = {SLOTS, HEADS, WIDTH};
  llrt_expr *expr;
  llrt_op_desc *desc;
  char *plan;
  size_t size;
  cr_assert_eq(llrt_storage_parse(SLOTS_FIRST, 3, shape, &cache), LLRT_OK, "%s", llrt_last_error());
  llrt_index index = {.dtype = LLRT_I64, .axes = 1, .extent = SLOTS, .data = slot, .strides = {1}};
  llrt_tensor x = {.dtype = LLRT_BF16, .rank = 3, .shape = {TOKENS, HEADS, WIDTH}, .data = slot},
              w = {.dtype = LLRT_BF16, .rank = 1, .shape = {WIDTH}, .data = slot}, y = x;
  y.dtype = LLRT_E4M3;
  y.storage = &cache;
  y.indices = &index;
  y.n_indices = 1;
  llrt_arg args[] = {{.name = "x", .tensor = &x},
                     {.name = "v", .tensor = &x},
                     {.name = "w", .tensor = &w},
                     {.name = "y", .tensor = &y},
                     {.name = "z", .tensor = &y}};
  cr_assert_eq(llrt_expr_parse(text, &expr), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_compute_describe(expr, args, 5, NULL, &desc), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_promise_coarse(desc), LLRT_OK, "%s", llrt_last_error());
  for (int a = 1; a < 3; a++)
    desc->promises[0].shape[a].min = desc->promises[0].shape[a].max = shape[a];
  desc->promises[0].shape[0].min = least;
  desc->promises[0].shape[0].max = most;
  cr_assert_eq(
      llrt_op_compile(trial_device("host")->context, "sm_90a", desc, LLRT_EMIT_PLAN, &plan, &size),
      LLRT_OK, "%s", llrt_last_error());
  llrt_op_desc_destroy(&desc);
  llrt_expr_destroy(&expr);
  return plan;
}

static int count(const char *text, const char *end, const char *what) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, what)) && at < end; at++) n++;
  return n;
}

/* What is loaded before rows are joined, and whether slots are asked for their order. */
static void check_variant(const char *begin, const char *end, bool few) {
  const char *joined = strstr(begin, " inside a thread");
  cr_assert(joined && joined < end, "nothing is joined");
  cr_expect_eq(count(begin, joined, "load tensor 2,") > 0, few, "weights of %.20s", begin);
  cr_expect_eq(count(begin, end, "if values of ") > 0, !few, "slots of %.20s", begin);
  cr_expect_eq(count(begin, end, "if the first two values of ") > 0, !few, "%.20s", begin);
}

Test(compute_few, promises) {
  static const struct {
    int64_t least, most;
    bool few, many;
  } cases[] = {{0, 0, true, true},
               {1, TOKENS, true, true},
               {1, FEW, true, false},
               {7, 7, true, false},
               {FEW + 1, TOKENS, false, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *plan = plan_of(TEXT, cases[i].least, cases[i].most);
    const char *second = strstr(plan, "variant 1"), *end = plan + strlen(plan);
    cr_expect_eq(second != NULL, cases[i].few && cases[i].many, "%zu", i);
    check_variant(plan, second ? second : end, cases[i].few);
    if (second) check_variant(second, end, false);
    llrt_buffer_free(&plan);
  }
}

/* Where tokens are joined there is one kernel for any number of them. */
Test(compute_few, tokens_are_joined) {
  char *plan = plan_of("(x[t h d], v[t h d], w[d]) -> (y[t h d]: e4m3, z[t h d]: e4m3) "
                       "{ y = x - max(x, t) + w; z = v }",
                       0, 0);
  cr_expect_null(strstr(plan, "variant 1"), "%s", plan);
  llrt_buffer_free(&plan);
}

/* Keys without a norm: slots are asked for their order where many tokens come alone. */
Test(compute_few, nothing_is_joined) {
  char *plan = plan_of("(x[t h d], v[t h d], w[d]) -> (y[t h d]: e4m3, z[t h d]: e4m3) "
                       "{ y = x * w; z = v }",
                       0, 0);
  const char *second = strstr(plan, "variant 1");
  cr_assert_not_null(second);
  cr_expect_eq(count(plan, second, " follow each other"), 0);
  cr_expect_gt(count(second, plan + strlen(plan), " follow each other"), 0);
  llrt_buffer_free(&plan);
}
