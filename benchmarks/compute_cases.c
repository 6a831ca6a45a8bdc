#include "compute_cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Slots of caches in blocks of 16, 8 heads of 128 bytes. */
#define NHD "storage(rank=3, digits=[dim2:128, dim1:8, dim0:16, dim0:rest])"
#define HND "storage(rank=3, digits=[dim2:128, dim0:16, dim1:8, dim0:rest])"
#define VLLM_K "storage(rank=3, digits=[dim2:16, dim0:16, dim2:8, dim1:8, dim0:rest])"
#define VLLM_V "storage(rank=3, digits=[dim0:16, dim2:128, dim1:8, dim0:rest])"

static const compute_place tiled_scales[] = {{"s", "scale_128x4", COMPUTE_STORED}, {NULL, NULL, 0}};
static const compute_place nhd[] = {{"kc", NHD, 0}, {"vc", NHD, 0}, {NULL, NULL, 0}};
static const compute_place hnd[] = {{"kc", HND, 0}, {"vc", HND, 0}, {NULL, NULL, 0}};
static const compute_place vllm_k[] = {{"kc", VLLM_K, 0}, {"vc", HND, 0}, {NULL, NULL, 0}};
static const compute_place vllm_kv[] = {{"kc", VLLM_K, 0}, {"vc", VLLM_V, 0}, {NULL, NULL, 0}};
static const compute_place nhd_apart[] = {
    {"kc", NHD, COMPUTE_APART}, {"vc", NHD, COMPUTE_APART}, {NULL, NULL, 0}};
static const compute_place hnd_apart[] = {
    {"kc", HND, COMPUTE_APART}, {"vc", HND, COMPUTE_APART}, {NULL, NULL, 0}};
static const compute_place vllm_k_apart[] = {
    {"kc", VLLM_K, COMPUTE_APART}, {"vc", HND, COMPUTE_APART}, {NULL, NULL, 0}};
static const compute_place vllm_kv_apart[] = {
    {"kc", VLLM_K, COMPUTE_APART}, {"vc", VLLM_V, COMPUTE_APART}, {NULL, NULL, 0}};
static const compute_place vllm_kv_odd[] = {{"kc", VLLM_K, 5}, {"vc", VLLM_V, 5}, {NULL, NULL, 0}};

/* Queries of 32 heads and keys of 8 with norm and rotary embedding; e4m3 keys and values to slots.
 */
#define MXFP8 \
  "(x[m (g j:32)]) -> (q[m (g j)]: e4m3, s[m g]: e8m0) " \
  "{ s = e8m0(max(abs(x), j) / 448, round=up); q = x / s }"

#define MXFP4 \
  "(x[m (g j:32)]) -> (q[m (g j)]: e2m1, s[m g]: e8m0) " \
  "{ s = e8m0(max(abs(x), j) * (1 / 6), round=up); q = x / s }"

#define NVFP4 \
  "(x[m (g j:16)]) -> (q[m (g j)]: e2m1, s[m g]: e4m3) " \
  "{ s = e4m3(max(abs(x), j) * (1 / 6)); q = where(s == 0, 0, x * (1 / s)) }"

#define APPEND \
  "(q[t h:32 (p:2 i:64)], k[t g:8 (p i)], v[t g (p i)], a[(p i)], b[(p i)], c[t i], s[t i]) -> " \
  "(y[t h (p i)], kc[t g (p i)]: e4m3, vc[t g (p i)]: e4m3) " \
  "{ m = q * rsqrt(mean(q * q, (p, i)) + 1e-6) * a; " \
  "y = m * c + flip(m, p) * where(p == 0, -s, s); " \
  "n = k * rsqrt(mean(k * k, (p, i)) + 1e-6) * b; " \
  "kc = n * c + flip(n, p) * where(p == 0, -s, s); vc = v }"

/* The same without norms. */
#define APPEND_ROPE \
  "(q[t h:32 (p:2 i:64)], k[t g:8 (p i)], v[t g (p i)], c[t i], s[t i]) -> " \
  "(y[t h (p i)], kc[t g (p i)]: e4m3, vc[t g (p i)]: e4m3) " \
  "{ y = q * c + flip(q, p) * where(p == 0, -s, s); " \
  "kc = k * c + flip(k, p) * where(p == 0, -s, s); vc = v }"

const compute_form compute_forms[] = {
    {"softmax",
     "(x[t n]) -> (y[t n]) { e = exp(x - max(x, n)); y = e / sum(e, n) }",
     {1, 1},
     "",
     NULL,
     NULL},
    {"log_softmax",
     "(x[t n]) -> (y[t n]) { z = x - max(x, n); y = z - log(sum(exp(z), n)) }",
     {1, 1},
     "",
     NULL,
     NULL},
    {"rms_norm",
     "(x[t n], w[n]) -> (y[t n]) { y = x * rsqrt(mean(x * x, n) + 1e-6) * w }",
     {1, 1},
     "",
     NULL,
     NULL},
    {"rms_norm_residual",
     "(x[t n], r[t n], w[n]) -> (h[t n], y[t n]) "
     "{ h = bf16(x + r); y = h * rsqrt(mean(h * h, n) + 1e-6) * w }",
     {1, 1},
     "",
     NULL,
     NULL},
    {"layer_norm",
     "(x[t n], w[n], b[n]) -> (y[t n]) "
     "{ c = x - mean(x, n); y = c * rsqrt(mean(c * c, n) + 1e-5) * w + b }",
     {1, 1},
     "",
     NULL,
     NULL},
    {"silu_mul", "(a[t n], b[t n]) -> (y[t n]) { y = silu(a) * b }", {1, 1}, "", NULL, NULL},
    {"gelu", "(x[t n]) -> (y[t n]) { y = gelu(x) }", {1, 1}, "", NULL, NULL},
    {"rope",
     "(x[t h (p:2 i:64)], c[t i], s[t i]) -> (y[t h (p i)]) "
     "{ y = x * c + flip(x, p) * where(p == 0, -s, s) }",
     {1, 128},
     "cs",
     NULL,
     NULL},
    {"e4m3_row",
     "(x[t n]) -> (q[t n]: e4m3, s[t]: f32) "
     "{ s = maximum(max(abs(x), n), 1e-10) / 448; q = x / s }",
     {1, 1},
     "",
     NULL,
     NULL},
    {"e4m3_group",
     "(x[t (g j:128)]) -> (q[t (g j)]: e4m3, s[t g]: f32) "
     "{ s = maximum(max(abs(x), j), 1e-10) / 448; q = x / s }",
     {1, 128},
     "",
     NULL,
     NULL},
    {"e4m3_block",
     "(x[(m i:128) (n j:128)]) -> (q[(m i) (n j)]: e4m3, s[m n]: f32) "
     "{ s = maximum(max(abs(x), (i, j)), 1e-10) / 448; q = x / s }",
     {128, 128},
     "",
     NULL,
     NULL},
    {"int8_row",
     "(x[t n]) -> (q[t n]: i8, s[t]: f32) "
     "{ m = max(abs(x), n); s = m / 127; q = x * where(m == 0, 0, 127 / m) }",
     {1, 1},
     "",
     NULL,
     NULL},
    {"rms_norm_e4m3",
     "(x[t n], r[t n], w[n]) -> (h[t n]: bf16, q[t n]: e4m3, s[t]: f32) "
     "{ h = bf16(x + r); y = h * rsqrt(mean(h * h, n) + 1e-6) * w; "
     "s = maximum(max(abs(y), n), 1e-10) / 448; q = y / s }",
     {1, 1},
     "",
     NULL,
     NULL},
    {"norm_e4m3",
     "(x[t n], w[n]) -> (q[t n]: e4m3, s[t]: f32) "
     "{ y = x * rsqrt(mean(x * x, n) + 1e-6) * w; "
     "s = maximum(max(abs(y), n), 1e-10) / 448; q = y / s }",
     {1, 1},
     "",
     NULL,
     NULL},
    {"loss",
     "(x[t n], y[t]) -> (l[t]: f32) "
     "{ m = max(x, n); l = m + log(sum(exp(x - m), n)) - sum(where(n == y, x, 0), n) }",
     {1, 1},
     "",
     NULL,
     "y"},
    {"draw",
     "(x[t n], u[t n]) -> (y[t]: i32) { y = argmax(x - log(-log(abs(u) * 0.0625)), n) }",
     {1, 1},
     "",
     NULL,
     NULL},
    {"mxfp8", MXFP8, {1, 32}, "", NULL, NULL},
    {"mxfp4", MXFP4, {1, 32}, "", NULL, NULL},
    {"nvfp4", NVFP4, {1, 16}, "", NULL, NULL},
    {"mxfp8_128x4", MXFP8, {1, 32}, "", tiled_scales, NULL},
    {"mxfp4_128x4", MXFP4, {1, 32}, "", tiled_scales, NULL},
    {"nvfp4_128x4", NVFP4, {1, 16}, "", tiled_scales, NULL},
    {"row_sum", "(x[t n]) -> (s[t]) { s = sum(x, n) }", {1, 1}, "", NULL, NULL},
    {"row_max", "(x[t n]) -> (s[t]) { s = max(x, n) }", {1, 1}, "", NULL, NULL},
    {"clamped_gate",
     "(x[t (n p:2)]) -> (y[t n]) "
     "{ g = minimum(x[p=0], 7); l = maximum(minimum(x[p=1], 7), -7); "
     "y = g * sigmoid(g * 1.702) * (l + 1) }",
     {1, 2},
     "",
     NULL,
     NULL},
    {"append_nhd", APPEND, {1, 6144}, "cs", nhd, NULL},
    {"append_hnd", APPEND, {1, 6144}, "cs", hnd, NULL},
    {"append_vllm_k", APPEND, {1, 6144}, "cs", vllm_k, NULL},
    {"append_vllm_kv", APPEND, {1, 6144}, "cs", vllm_kv, NULL},
    {"append_vllm_kv_odd", APPEND, {1, 6144}, "cs", vllm_kv_odd, NULL},
    {"append_nhd_apart", APPEND, {1, 6144}, "cs", nhd_apart, NULL},
    {"append_hnd_apart", APPEND, {1, 6144}, "cs", hnd_apart, NULL},
    {"append_vllm_k_apart", APPEND, {1, 6144}, "cs", vllm_k_apart, NULL},
    {"append_vllm_kv_apart", APPEND, {1, 6144}, "cs", vllm_kv_apart, NULL},
    {"append_rope_nhd", APPEND_ROPE, {1, 6144}, "cs", nhd, NULL},
    {"append_rope_vllm_kv", APPEND_ROPE, {1, 6144}, "cs", vllm_kv, NULL},
    {"append_rope_vllm_kv_apart", APPEND_ROPE, {1, 6144}, "cs", vllm_kv_apart, NULL},
    {"bias_cast", "(x[t n], b[n]) -> (y[t n]: bf16) { y = x + b }", {1, 1}, "x", NULL, NULL},
};
const int compute_forms_count = sizeof compute_forms / sizeof *compute_forms;

/* Of matrices of more than 128 MiB. */
#define LONG \
  "softmax layer_norm rms_norm rms_norm_residual silu_mul e4m3_group e4m3_row norm_e4m3 mxfp8 " \
  "mxfp4"

#define SCALED "nvfp4 mxfp8_128x4 mxfp4_128x4 nvfp4_128x4"

const compute_shape compute_shapes[] = {
    {LLRT_BF16, 8192, 4096, false, NULL},
    {LLRT_BF16, 16384, 128, false, NULL},
    {LLRT_BF16, 32768, 1024, false, NULL},
    {LLRT_BF16, 8192, 2880, false, NULL},
    {LLRT_BF16, 8192, 5760, false, NULL},
    {LLRT_BF16, 4096, 5000, false, NULL},
    {LLRT_BF16, 4096, 7168, false, NULL},
    {LLRT_BF16, 4096, 16384, false, NULL},
    {LLRT_BF16, 2048, 32768, false, NULL},
    {LLRT_BF16, 1024, 65536, false, NULL},
    {LLRT_BF16, 2048, 50257, false, NULL},
    {LLRT_BF16, 1024, 151936, false, NULL},
    {LLRT_BF16, 50257, 5341, false, NULL},
    {LLRT_BF16, 1, 16384, false, NULL},
    {LLRT_BF16, 16, 7168, false, NULL},
    {LLRT_BF16, 128, 4096, false, NULL},
    {LLRT_BF16, 1000, 2880, false, NULL},
    {LLRT_F32, 4096, 4096, false, NULL},
    {LLRT_F32, 4096, 5000, false, NULL},
    {LLRT_F16, 8192, 4096, false, NULL},
    {LLRT_BF16, 1, 6144, true, NULL},
    {LLRT_BF16, 8, 6144, true, NULL},
    {LLRT_BF16, 32, 6144, true, NULL},
    {LLRT_BF16, 64, 6144, true, NULL},
    {LLRT_BF16, 128, 6144, true, NULL},
    {LLRT_BF16, 256, 6144, true, NULL},
    {LLRT_BF16, 512, 6144, true, NULL},
    {LLRT_BF16, 1024, 6144, true, NULL},
    {LLRT_BF16, 8192, 6144, true, NULL},
    {LLRT_BF16, 32768, 6144, true, NULL},
    {LLRT_BF16, 16384, 4096, false, LONG " rope " SCALED},
    {LLRT_F16, 16384, 4096, false, "mxfp8 mxfp4 " SCALED},
    {LLRT_F32, 16384, 4096, false, "mxfp8 mxfp4 " SCALED},
    {LLRT_BF16, 16384, 16384, false, LONG},
    {LLRT_BF16, 4096, 65536, false, LONG},
    {LLRT_BF16, 8192, 8192, false, "rope"},
    {LLRT_BF16, 2048, 151936, false, "softmax loss"},
    {LLRT_BF16, 8192, 128256, false, "loss"},
};
const int compute_shapes_count = sizeof compute_shapes / sizeof *compute_shapes;

/* Whether a name is one of those between blanks. */
static bool is_named(const char *names, const char *name) {
  size_t n = strlen(name);
  for (const char *at = names; (at = strstr(at, name)) != NULL; at += n)
    if ((at == names || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0)) return true;
  return false;
}

bool compute_shape_within(const compute_form *form, const compute_shape *shape, int64_t bytes,
                          compute_shape *out) {
  *out = *shape;
  int64_t row = shape->columns * llrt_dtype_bits(shape->dtype) / 8, most = bytes / row;
  if (bytes > 0 && out->rows > most) out->rows = most;
  if (out->rows < form->unit[0]) out->rows = form->unit[0];
  out->rows -= bytes > 0 ? out->rows % form->unit[0] : 0;
  if (shape->forms && !is_named(shape->forms, form->name)) return false;
  bool slots = form->place && form->place->first != COMPUTE_STORED;
  return shape->appends == slots && out->rows <= shape->rows && out->rows % form->unit[0] == 0 &&
         out->columns % form->unit[1] == 0;
}

void compute_case_name(const compute_form *form, const compute_shape *shape, char *name,
                       size_t size) {
  snprintf(name, size, "%s %s %" PRId64 "x%" PRId64, form->name, llrt_dtype_name(shape->dtype),
           shape->rows, shape->columns);
}
