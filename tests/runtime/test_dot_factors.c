/* alpha and beta: taken at the call, not compiled in; what 0 and nothing mean; on the host and
 * emulated GPUs. */
#include "runtime/described.h"
#include "tests/open_device.h"

#include <math.h>
#include <stdlib.h>

#define M 5
#define N 24
#define K 40

typedef struct product {
  opened_device at;
  llrt_tensor a, b, c, d;
  float in_a[M * K], in_b[K * N], in_c[M * N], out[M * N];
} product;

static llrt_tensor upload(product *p, const float *values, int64_t rows, int64_t columns) {
  llrt_tensor tensor = {
      .dtype = LLRT_F32, .rank = 2, .shape = {rows, columns}, .device = p->at.device};
  size_t bytes = (size_t)(rows * columns) * sizeof *values;
  cr_assert_eq(llrt_memory_allocate(p->at.device, bytes, &tensor.data), LLRT_OK, "%s",
               llrt_last_error());
  cr_assert_eq(
      llrt_memory_copy(p->at.device, tensor.data, values, bytes, LLRT_COPY_TO_DEVICE, NULL),
      LLRT_OK);
  return tensor;
}

static void start(product *p, const char *device) {
  memset(p, 0, sizeof *p);
  p->at = open_device(device);
  for (int i = 0; i < M * K; i++) p->in_a[i] = (float)(i * 7 % 11 - 5);
  for (int i = 0; i < K * N; i++) p->in_b[i] = (float)(i * 5 % 13 - 6);
  for (int i = 0; i < M * N; i++) p->in_c[i] = (float)(i % 9 - 4);
  p->a = upload(p, p->in_a, M, K);
  p->b = upload(p, p->in_b, K, N);
  p->c = upload(p, p->in_c, M, N);
  p->d = upload(p, p->in_c, M, N);
}

static void stop(product *p) {
  llrt_tensor *all[] = {&p->a, &p->b, &p->c, &p->d};
  for (int i = 0; i < 4; i++) llrt_memory_free(p->at.device, all[i]->data);
  llrt_device_close(&p->at.device);
  llrt_context_destroy(&p->at.context);
}

static void fill(product *p, llrt_tensor *tensor, float value) {
  float values[M * K];
  size_t bytes = (size_t)(tensor->shape[0] * tensor->shape[1]) * sizeof value;
  for (int i = 0; i < M * K; i++) values[i] = value;
  cr_assert_eq(
      llrt_memory_copy(p->at.device, tensor->data, values, bytes, LLRT_COPY_TO_DEVICE, NULL),
      LLRT_OK);
}

/* D is alpha A B + beta C: integers, so exactly. */
static void compare(product *p, double alpha, double beta, const char *what) {
  cr_assert_eq(
      llrt_memory_copy(p->at.device, p->out, p->d.data, sizeof p->out, LLRT_COPY_FROM_DEVICE, NULL),
      LLRT_OK);
  cr_assert_eq(llrt_stream_synchronize(p->at.device, NULL), LLRT_OK, "%s", llrt_last_error());
  for (int m = 0; m < M; m++)
    for (int n = 0; n < N; n++) {
      double sum = 0;
      for (int k = 0; k < K; k++) sum += (double)p->in_a[m * K + k] * p->in_b[k * N + n];
      double wanted = (alpha == 0 ? 0 : alpha * sum) + (beta == 0 ? 0 : beta * p->in_c[m * N + n]);
      cr_assert_eq(p->out[m * N + n], (float)wanted,
                   "%s, alpha %g, beta %g: (%d, %d) is %g, not %g", what, alpha, beta, m, n,
                   p->out[m * N + n], wanted);
    }
}

static uint64_t compiles(const product *p) {
  llrt_cache_stats stats = {0};
  cr_assert_eq(llrt_context_get_cache_stats(p->at.context, &stats), LLRT_OK);
  return stats.compiles;
}

static void multiply(product *p, const double *alpha, const double *beta) {
  llrt_dot_params params = {.alpha = alpha, .beta = beta, .c = &p->c};
  fill(p, &p->d, -77);
  cr_assert_eq(llrt_dot_into(&p->a, &p->b, &p->d, &params, NULL), LLRT_OK, "%s", llrt_last_error());
}

static const char *const devices[] = {"host", "cuda-emu:sm_80", "cuda-emu:sm_90a",
                                      "hip-emu:gfx90a"};
#define EACH_DEVICE(p) \
  for (size_t device_ = 0; \
       device_ < sizeof devices / sizeof *devices && (start(p, devices[device_]), true); \
       device_++)
#define DEVICE devices[device_]

/* Whether a factor acts is compiled in, its number is not. */
Test(dot_factors, numbers_are_the_calls) {
  static product p;
  static const double alphas[] = {2, -0.5, 0, 3}, betas[] = {-1, 4, 0.25, 2};
  EACH_DEVICE(&p) {
    uint64_t first = 0;
    for (int i = 0; i < 4; i++) {
      multiply(&p, &alphas[i], &betas[i]);
      compare(&p, alphas[i], betas[i], DEVICE);
      if (i == 0) first = compiles(&p);
    }
    cr_expect_eq(compiles(&p), first, "%s", DEVICE);
    stop(&p);
  }
}

/* Nothing given is 1 and 0; a beta of 0 reads no C, an alpha of 0 makes 0 of NaN. */
Test(dot_factors, zero_and_nothing) {
  static product p;
  static const double zero = 0, one = 1, two = 2;
  EACH_DEVICE(&p) {
    void *address = p.c.data;
    p.c.data = (void *)(uintptr_t)64; /* of no memory */
    multiply(&p, NULL, NULL);
    compare(&p, 1, 0, DEVICE);
    multiply(&p, &two, &zero);
    compare(&p, 2, 0, DEVICE);
    p.c.data = address;
    multiply(&p, &one, &one);
    compare(&p, 1, 1, DEVICE);
    fill(&p, &p.a, NAN);
    multiply(&p, &zero, &two);
    compare(&p, 0, 2, DEVICE);
    stop(&p);
  }
}

/* Zeroed workspace for any run; to be freed. */
static llrt_run_params workspace_of(product *p, const llrt_op *op, const op_description *desc) {
  llrt_run_params run = {0};
  cr_assert_eq(llrt_op_workspace(op, desc->tensors, desc->n_tensors, &run.workspace_bytes), LLRT_OK,
               "%s", llrt_last_error());
  if (run.workspace_bytes == 0) return run;
  cr_assert_eq(llrt_memory_allocate(p->at.device, run.workspace_bytes, &run.workspace), LLRT_OK,
               "%s", llrt_last_error());
  cr_assert_eq(llrt_memory_set(p->at.device, run.workspace, 0, run.workspace_bytes, NULL), LLRT_OK,
               "%s", llrt_last_error());
  return run;
}

Test(dot_factors, a_run_brings_its_own) {
  static product p;
  static const double two = 2, three = 3, minus = -1, none = 0, nan_value = NAN;
  EACH_DEVICE(&p) {
    static described_dot call;
    llrt_dot_params params = {.alpha = &two, .beta = &three, .c = &p.c};
    llrt_op *op;
    cr_assert_eq(described_dot_make(&p.a, &p.b, &p.d, &params, &call), LLRT_OK, "%s",
                 llrt_last_error());
    cr_assert_eq(described_prepare(p.at.device, &call.desc, &op), LLRT_OK, "%s", llrt_last_error());
    llrt_run_params run = workspace_of(&p, op, &call.desc);
    cr_assert_eq(llrt_op_run(op, NULL, call.desc.tensors, call.desc.n_tensors, &run), LLRT_OK, "%s",
                 llrt_last_error());
    compare(&p, 2, 3, DEVICE);
    run.alpha = &minus;
    cr_assert_eq(llrt_op_run(op, NULL, call.desc.tensors, call.desc.n_tensors, &run), LLRT_OK, "%s",
                 llrt_last_error());
    compare(&p, -1, 3, DEVICE);
    run.alpha = &three;
    run.beta = &none;
    fill(&p, &p.c, NAN); /* read, perhaps, but not seen */
    cr_assert_eq(llrt_op_run(op, NULL, call.desc.tensors, call.desc.n_tensors, &run), LLRT_OK, "%s",
                 llrt_last_error());
    compare(&p, 3, 0, DEVICE);
    run.beta = &nan_value;
    cr_expect_eq(llrt_op_run(op, NULL, call.desc.tensors, call.desc.n_tensors, &run),
                 LLRT_INVALID_ARGUMENT);
    llrt_op_destroy(&op);
    llrt_memory_free(p.at.device, run.workspace);
    stop(&p);
  }
}

Test(dot_factors, refused) {
  static product p;
  static const double nan_value = NAN, two = 2;
  start(&p, "host");
  llrt_dot_params bad[] = {{.alpha = &nan_value},
                           {.beta = &nan_value, .c = &p.c},
                           {.a.group = {1, 5}},
                           {.b.group = {5, 0}}};
  static const char *const words[] = {"alpha is NaN", "beta is NaN", "groups of A", "groups of B"};
  for (int i = 0; i < 4; i++) {
    cr_expect_eq(llrt_dot_into(&p.a, &p.b, &p.d, &bad[i], NULL), LLRT_INVALID_ARGUMENT, "%s",
                 words[i]);
    cr_expect(strstr(llrt_last_error(), words[i]), "%s", llrt_last_error());
  }
  static described_dot call;
  llrt_op *op;
  llrt_run_params run = {.size = sizeof run, .alpha = &two};
  cr_assert_eq(described_dot_make(&p.a, &p.b, &p.d, NULL, &call), LLRT_OK);
  cr_assert_eq(described_prepare(p.at.device, &call.desc, &op), LLRT_OK);
  cr_expect_eq(llrt_op_run(op, NULL, call.desc.tensors, 3, &run), LLRT_INVALID_ARGUMENT);
  cr_expect(strstr(llrt_last_error(), "described without alpha"), "%s", llrt_last_error());
  llrt_op_destroy(&op);
  stop(&p);
}
