/* Sums of integers, in i32 and in i64, as every type that D may have, alone and with alpha and C.
 */
#include "jit/plan/types/dot_type.h"
#include "jit/plan/types/number.h"
#include "tests/open_device.h"

#include <math.h>

enum { M = 5, N = 24, K = 40 };

typedef struct product {
  opened_device at;
  int32_t in_a[M * K];
  int16_t in_b[K * N];
  float in_c[M * N];
  llrt_tensor wide_a, narrow_a, b, narrow_b, c, d;
} product;

static llrt_tensor upload(product *p, const void *values, size_t bytes, llrt_dtype dtype,
                          int64_t rows, int64_t columns) {
  llrt_tensor tensor = {
      .dtype = dtype, .rank = 2, .shape = {rows, columns}, .device = p->at.device};
  cr_assert_eq(llrt_memory_allocate(p->at.device, bytes, &tensor.data), LLRT_OK);
  cr_assert_eq(
      llrt_memory_copy(p->at.device, tensor.data, values, bytes, LLRT_COPY_TO_DEVICE, NULL),
      LLRT_OK);
  return tensor;
}

/* Sums of the wide ones are beyond 2^53 here and there; of the narrow ones, whose low bytes those
 * are, beyond i8 and i16. */
static void start(product *p, const char *device) {
  int8_t narrow[M * K], narrow_b[K * N];
  int64_t zeros[M * N] = {0};
  p->at = open_device(device);
  for (int i = 0; i < M * K; i++) {
    p->in_a[i] = (int32_t)((uint32_t)i * 2654435761u) >> (i / K * 6);
    narrow[i] = (int8_t)p->in_a[i];
  }
  for (int i = 0; i < K * N; i++) {
    p->in_b[i] = (int16_t)((uint32_t)i * 40503u + 7) >> (i % N / 2);
    narrow_b[i] = (int8_t)p->in_b[i];
  }
  for (int i = 0; i < M * N; i++) p->in_c[i] = (float)(i - 40) / 4;
  p->wide_a = upload(p, p->in_a, sizeof p->in_a, LLRT_I32, M, K);
  p->narrow_a = upload(p, narrow, sizeof narrow, LLRT_I8, M, K);
  p->b = upload(p, p->in_b, sizeof p->in_b, LLRT_I16, K, N);
  p->narrow_b = upload(p, narrow_b, sizeof narrow_b, LLRT_I8, K, N);
  p->c = upload(p, p->in_c, sizeof p->in_c, LLRT_F32, M, N);
  p->d = upload(p, zeros, sizeof zeros, LLRT_I64, M, N);
}

static void stop(product *p) {
  llrt_tensor *all[] = {&p->wide_a, &p->narrow_a, &p->b, &p->narrow_b, &p->c, &p->d};
  for (int i = 0; i < 6; i++) llrt_memory_free(p->at.device, all[i]->data);
  llrt_device_close(&p->at.device);
  llrt_context_destroy(&p->at.context);
}

static int64_t sum_of(const product *p, bool wide, int m, int n) {
  uint64_t sum = 0;
  for (int k = 0; k < K; k++) {
    int64_t a = p->in_a[m * K + k], b = p->in_b[k * N + n];
    sum += wide ? (uint64_t)(a * b) : (uint64_t)((int64_t)(int8_t)a * (int8_t)b);
  }
  return (int64_t)sum;
}

/* A value of type f32 or f64, which is what acts, rounded to it. */
static double rounded(llrt_dtype type, double x) { return type == LLRT_F32 ? (double)(float)x : x; }

/* The code of an element of D. sums: their type; acts: with alpha and C. */
static uint64_t wanted_code(int64_t sum, llrt_dtype sums, llrt_dtype type, const double *alpha,
                            double c) {
  llrt_dtype acting = dot_acting_type(sums);
  if (!alpha && type == LLRT_I64) return (uint64_t)sum;
  bool whole = !alpha && sums == LLRT_I32;
  double x = whole ? (double)sum : rounded(acting, (double)sum);
  if (alpha) x = rounded(acting, rounded(acting, x * *alpha) + c);
  return number_code(number_format_of(type), x);
}

static uint64_t code_at(const char *bytes, int bits, int i) {
  uint64_t code = 0;
  if (bits == 4) return (uint64_t)(unsigned char)bytes[i / 2] >> (i % 2 * 4) & 15;
  memcpy(&code, bytes + (size_t)i * (size_t)bits / 8, (size_t)bits / 8);
  return code;
}

static void compare(product *p, bool wide, llrt_dtype sums, llrt_dtype type, const double *alpha,
                    const char *device) {
  char out[M * N * 8];
  int wrong = 0, bits = llrt_dtype_bits(type);
  cr_assert_eq(
      llrt_memory_copy(p->at.device, out, p->d.data, sizeof out, LLRT_COPY_FROM_DEVICE, NULL),
      LLRT_OK);
  cr_assert_eq(llrt_stream_synchronize(p->at.device, NULL), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < M * N; i++) {
    uint64_t wanted =
        wanted_code(sum_of(p, wide, i / N, i % N), sums, type, alpha, (double)p->in_c[i]);
    wrong += code_at(out, bits, i) != wanted;
  }
  cr_expect_eq(wrong, 0, "%s: sums in %s as %s%s: %d elements are wrong", device,
               llrt_dtype_name(sums), llrt_dtype_name(type), alpha ? " with alpha and C" : "",
               wrong);
}

static void multiply(product *p, bool wide, llrt_dtype sums, llrt_dtype type, bool acts,
                     const char *device) {
  static const double alpha = 0.375, beta = 1;
  llrt_dot_params params = {.accumulate = sums};
  if (acts) {
    params.alpha = &alpha;
    params.beta = &beta;
    params.c = &p->c;
  }
  p->d.dtype = type;
  llrt_status status = llrt_dot_into(wide ? &p->wide_a : &p->narrow_a, wide ? &p->b : &p->narrow_b,
                                     &p->d, &params, NULL);
  cr_assert_eq(status, LLRT_OK, "%s, %s: %s", device, llrt_dtype_name(type), llrt_last_error());
  compare(p, wide, sums, type, acts ? &alpha : NULL, device);
}

static const llrt_dtype results[] = {LLRT_F64,  LLRT_F32,  LLRT_F16, LLRT_BF16, LLRT_E4M3,
                                     LLRT_E5M2, LLRT_E2M1, LLRT_I64, LLRT_I32,  LLRT_I16,
                                     LLRT_I8,   LLRT_I4,   LLRT_U32, LLRT_U16,  LLRT_U8};

static void each_result(const char *device, bool acts) {
  static product p;
  start(&p, device);
  for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
    if (acts && results[i] == LLRT_I64) continue;
    if (is_host(device) && llrt_dtype_bits(results[i]) < 8) continue; /* not planned there yet */
    multiply(&p, true, LLRT_I64, results[i], acts, device);
    multiply(&p, false, LLRT_I32, results[i], acts, device);
  }
  stop(&p);
}

#define ON(name, device) \
  Test(dot_sums, name, .timeout = 300) { \
    each_result(device, false); \
    each_result(device, true); \
  }
ON(on_the_host, "host")
ON(on_sm_80, "cuda-emu:sm_80")
ON(on_sm_90a, "cuda-emu:sm_90a")
ON(on_gfx90a, "hip-emu:gfx90a")
