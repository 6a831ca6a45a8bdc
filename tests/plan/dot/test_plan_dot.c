/* Whole dots through the public calls, on the host and on emulated devices, against products in
 * plain loops. Elements are small integers, so every order of summing is exact. */
#include "tests/number_reference.h"
#include "tests/open_device.h"

#include <llrt/dot.h>
#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ELEMENTS = 1 << 17 };

typedef struct problem {
  llrt_dtype a, b, d;
  int64_t batch, m, n, k;
  const char *storage_a, *storage_b, *storage_d; /* of two axes; NULL: row_major */
  bool edges;                                    /* alpha, beta, C, bias, relu */
} problem;

static const problem problems[] = {
    {LLRT_F32, LLRT_F32, LLRT_F32, 0, 33, 70, 19, NULL, NULL, NULL, false},
    {LLRT_BF16, LLRT_BF16, LLRT_BF16, 0, 128, 128, 64, NULL, NULL, NULL, false},
    {LLRT_BF16, LLRT_BF16, LLRT_F32, 0, 130, 72, 40, NULL, "col_major", NULL, false},
    {LLRT_F16, LLRT_F16, LLRT_F16, 0, 65, 129, 33, "col_major", NULL, "col_major", true},
    {LLRT_F16, LLRT_F32, LLRT_F32, 0, 17, 33, 50, NULL, NULL, NULL, false},
    {LLRT_BF16, LLRT_BF16, LLRT_BF16, 0, 1, 100, 64, NULL, NULL, NULL, true},
    {LLRT_BF16, LLRT_BF16, LLRT_BF16, 3, 20, 24, 16, NULL, NULL, NULL, false},
    {LLRT_E4M3, LLRT_E4M3, LLRT_F32, 0, 48, 48, 96, NULL, "col_major", NULL, false},
    {LLRT_E4M3, LLRT_E5M2, LLRT_BF16, 0, 31, 47, 40, NULL, NULL, NULL, true},
    {LLRT_I8, LLRT_I8, LLRT_I32, 0, 40, 56, 72, NULL, "col_major", NULL, false},
    {LLRT_U8, LLRT_I8, LLRT_F32, 0, 40, 24, 33, NULL, NULL, NULL, true},
    {LLRT_U8, LLRT_U8, LLRT_I32, 0, 128, 256, 64, "col_major", NULL, NULL, false},
    {LLRT_I8, LLRT_U8, LLRT_I32, 0, 70, 40, 67, "col_major", "col_major", NULL, false},
    {LLRT_I8, LLRT_BF16, LLRT_BF16, 0, 64, 64, 64, NULL, NULL, NULL, false},
    {LLRT_F64, LLRT_F64, LLRT_F64, 0, 35, 20, 18, NULL, NULL, NULL, true},
    {LLRT_F64, LLRT_I8, LLRT_F64, 0, 9, 20, 18, NULL, NULL, NULL, false},
    {LLRT_I16, LLRT_I32, LLRT_I64, 0, 10, 20, 30, NULL, NULL, NULL, false},
    {LLRT_F16, LLRT_BF16, LLRT_F32, 0, 32, 32, 32, NULL, NULL, NULL, false},
    {LLRT_F32, LLRT_F32, LLRT_F32, 0, 16, 16, 0, NULL, NULL, NULL, true},
    {LLRT_BF16, LLRT_BF16, LLRT_F32, 0, 0, 16, 8, NULL, NULL, NULL, false},
    /* shares of K */
    {LLRT_BF16, LLRT_BF16, LLRT_BF16, 0, 3, 70, 1100, NULL, "col_major", NULL, true},
    {LLRT_BF16, LLRT_BF16, LLRT_F32, 0, 40, 5, 700, NULL, NULL, "col_major", false},
    {LLRT_I8, LLRT_I8, LLRT_I32, 2, 33, 33, 1200, NULL, NULL, NULL, false},
    {LLRT_F32, LLRT_F32, LLRT_F32, 0, 50, 20, 300, NULL, NULL, NULL, true},
    /* no common refinement; copies */
    {LLRT_BF16, LLRT_BF16, LLRT_F32, 0, 20, 30, 48,
     "onednn(inner_blks=[6], inner_idxs=[1], order=[0,1])",
     "onednn(inner_blks=[4], inner_idxs=[0], order=[1,0])", NULL, false},
    {LLRT_I8, LLRT_I8, LLRT_I8, 0, 24, 36, 20, NULL, NULL, "col32(pad=0)", false},
    /* fragments, tiles, swizzles */
    {LLRT_BF16, LLRT_BF16, LLRT_F32, 0, 64, 64, 64, "mma_m16n8k16_a", "mma_m16n8k16_b",
     "mma_m16n8_c", false},
    {LLRT_F16, LLRT_F16, LLRT_F16, 0, 64, 128, 128, "tma_128b", "tma_128b", NULL, true},
};
#define PROBLEMS (int)(sizeof problems / sizeof *problems)

enum { A, B, D, C, BIAS, TENSORS };

static uint64_t seed = 11;
static double values[TENSORS][MAX_ELEMENTS], wanted[MAX_ELEMENTS];
static unsigned char bytes[MAX_ELEMENTS * 8];

static bool is_integer(llrt_dtype type) { return type >= LLRT_I64 && type <= LLRT_U4; }

static void put(llrt_dtype type, int64_t i, double x) {
  int size = llrt_dtype_bits(type) / 8;
  float narrow = (float)x;
  int64_t integer = (int64_t)x;
  uint64_t code = 0;
  if (type == LLRT_F64) memcpy(&code, &x, 8);
  else if (type == LLRT_F32) memcpy(&code, &narrow, 4);
  else if (is_integer(type)) code = (uint64_t)integer;
  else code = reference_encode(type, x);
  memcpy(bytes + i * size, &code, (size_t)size);
}

static double get(llrt_dtype type, int64_t i) {
  int size = llrt_dtype_bits(type) / 8;
  uint64_t code = 0;
  double wide;
  memcpy(&code, bytes + i * size, (size_t)size);
  if (type == LLRT_I64) return (double)(int64_t)code;
  if (type == LLRT_I32) return (double)(int32_t)code;
  memcpy(&wide, &code, 8);
  return type == LLRT_F64 ? wide : reference_decode(type, code);
}

/* A tensor with small integers in device memory, and its row-major values. */
static void make(llrt_device *device, int which, llrt_dtype dtype, int rank, const int64_t *shape,
                 const char *storage, llrt_storage *rule, llrt_tensor *tensor) {
  llrt_storage_binding binding;
  int64_t n = 1;
  *tensor = (llrt_tensor){.dtype = dtype, .rank = rank, .device = device, .storage = rule};
  for (int a = 0; a < rank; a++) {
    tensor->shape[a] = shape[a];
    n *= shape[a];
  }
  if (storage)
    cr_assert_eq(llrt_storage_parse(storage, rank, shape, rule), LLRT_OK, "%s", llrt_last_error());
  else llrt_storage_row_major(rank, rule);
  cr_assert_eq(llrt_storage_bind(rule, rank, tensor->shape, tensor->strides, &binding), LLRT_OK,
               "%s: %s", storage ? storage : "row_major", llrt_last_error());
  cr_assert_leq(binding.span, MAX_ELEMENTS);
  memset(bytes, 0xEE, sizeof bytes);
  for (int64_t i = 0; i < n; i++) {
    int64_t at[LLRT_MAX_RANK], left = i;
    for (int a = rank - 1; a >= 0; a--) {
      at[a] = left % shape[a];
      left /= shape[a];
    }
    seed = seed * 6364136223846793005 + 1442695040888963407;
    values[which][i] = (double)((seed >> 33) % 5) - 2;
    if (dtype == LLRT_U8) values[which][i] += 2;
    if (which != D) put(dtype, llrt_storage_offset(rule, &binding, at), values[which][i]);
  }
  size_t size = (size_t)(binding.span * llrt_dtype_bits(dtype) / 8);
  cr_assert_eq(llrt_memory_allocate(device, size + 1, &tensor->data), LLRT_OK);
  llrt_memory_copy(device, tensor->data, bytes, size, LLRT_COPY_TO_DEVICE, NULL);
}

static void expect(const problem *p) {
  int64_t batch = p->batch ? p->batch : 1;
  for (int64_t z = 0; z < batch; z++)
    for (int64_t i = 0; i < p->m; i++)
      for (int64_t j = 0; j < p->n; j++) {
        double sum = 0;
        int64_t at = (z * p->m + i) * p->n + j;
        for (int64_t k = 0; k < p->k; k++)
          sum += values[A][(z * p->m + i) * p->k + k] * values[B][(z * p->k + k) * p->n + j];
        if (p->edges) {
          sum = 2 * sum + 3 * values[C][at] + values[BIAS][j];
          if (sum < 0) sum = 0;
        }
        wanted[at] = sum;
      }
}

static void check(const problem *p, const llrt_tensor *d, const char *what) {
  llrt_storage_binding binding;
  int64_t batch = p->batch ? p->batch : 1;
  llrt_storage_bind(d->storage, d->rank, d->shape, d->strides, &binding);
  size_t size = (size_t)(binding.span * llrt_dtype_bits(d->dtype) / 8);
  llrt_memory_copy(d->device, bytes, d->data, size, LLRT_COPY_FROM_DEVICE, NULL);
  cr_assert_eq(llrt_stream_synchronize(d->device, NULL), LLRT_OK, "%s: %s", what,
               llrt_last_error());
  for (int64_t i = 0; i < batch * p->m * p->n; i++) {
    int64_t at[LLRT_MAX_RANK], left = i;
    for (int a = d->rank - 1; a >= 0; a--) {
      at[a] = left % d->shape[a];
      left /= d->shape[a];
    }
    double got = get(d->dtype, llrt_storage_offset(d->storage, &binding, at)), want = wanted[i];
    if (!is_integer(d->dtype) && d->dtype != LLRT_F64 && d->dtype != LLRT_F32)
      want = reference_decode(d->dtype, reference_encode(d->dtype, want));
    cr_assert(got == want, "%s: element %lld of batch %lld: %g, not %g", what,
              (long long)(i % (p->m * p->n)), (long long)(i / (p->m * p->n)), got, want);
  }
}

static void run(llrt_device *device, const char *name, const problem *p) {
  char what[200];
  llrt_storage rules[TENSORS];
  llrt_tensor tensor[TENSORS];
  llrt_dot_params params = {0};
  static const double two = 2, three = 3;
  static const llrt_map relu = {.kind = LLRT_MAP_RELU};
  int rank = p->batch ? 3 : 2, first = p->batch ? 0 : 1;
  const int64_t shape_a[] = {p->batch, p->m, p->k}, shape_b[] = {p->batch, p->k, p->n};
  const int64_t shape_d[] = {p->batch, p->m, p->n};
  llrt_dtype addend = p->d == LLRT_F64 ? LLRT_F64 : p->d == LLRT_F16 ? LLRT_F16 : LLRT_F32;
  snprintf(what, sizeof what, "%s: %s x %s, %lld x %lldx%lldx%lld%s", name, llrt_dtype_name(p->a),
           llrt_dtype_name(p->b), (long long)p->batch, (long long)p->m, (long long)p->n,
           (long long)p->k, p->edges ? ", edges" : "");
  make(device, A, p->a, rank, shape_a + first, p->storage_a, &rules[A], &tensor[A]);
  make(device, B, p->b, rank, shape_b + first, p->storage_b, &rules[B], &tensor[B]);
  make(device, D, p->d, rank, shape_d + first, p->storage_d, &rules[D], &tensor[D]);
  make(device, C, addend, rank, shape_d + first, NULL, &rules[C], &tensor[C]);
  make(device, BIAS, addend, 1, &p->n, NULL, &rules[BIAS], &tensor[BIAS]);
  if (p->edges) {
    params = (llrt_dot_params){.alpha = &two,
                               .beta = &three,
                               .c = &tensor[C],
                               .bias = &tensor[BIAS],
                               .n_maps = 1,
                               .maps = &relu};
  }
  cr_assert_eq(llrt_dot_into(&tensor[A], &tensor[B], &tensor[D], &params, NULL), LLRT_OK, "%s: %s",
               what, llrt_last_error());
  expect(p);
  check(p, &tensor[D], what);
  for (int t = 0; t < TENSORS; t++) llrt_memory_free(device, tensor[t].data);
}

static void run_all(const char *name) {
  opened_device at = open_device(name);
  for (int i = 0; i < PROBLEMS; i++)
    if (!host_leaves_out(name, i)) run(at.device, name, &problems[i]);
  close_device(&at);
}

Test(plan_dot, host, .timeout = 300) { on_host_levels(run_all); }
Test(plan_dot, sm_80, .timeout = 300) { run_all("cuda-emu:sm_80"); }
Test(plan_dot, sm_90a, .timeout = 300) { run_all("cuda-emu:sm_90a"); }
Test(plan_dot, gfx90a, .timeout = 300) { run_all("hip-emu:gfx90a"); }
Test(plan_dot, gfx942, .timeout = 300) { run_all("hip-emu:gfx942"); }
