#include "dot_kinds.h"

#include "runtime/described.h"

#include <string.h>

#define KIND(name_, a_, b_, d_, ...) \
  {.name = name_, .a = LLRT_##a_, .b = LLRT_##b_, .d = LLRT_##d_, __VA_ARGS__}
#define SCALES(type, n) .scale = LLRT_##type, .group = n
#define MXFP4(name, type, result, ...) KIND(name, type, E2M1, result, SCALES(E8M0, 32), __VA_ARGS__)
#define DENSE(name, type, result, ...) KIND(name, type, type, result, .square = true, __VA_ARGS__)
const dot_kind dot_kinds[] = {
    MXFP4("mxfp4 packed x bf16", BF16, BF16, .order = DOT_KIND_PACKED, .promised = true),
    MXFP4("mxfp4 packed x f16", F16, F16, .order = DOT_KIND_PACKED, .promised = true),
    MXFP4("mxfp4 packed x e4m3", E4M3, BF16, .order = DOT_KIND_PACKED, .promised = true),
    MXFP4("mxfp4 packed x e5m2", E5M2, BF16, .order = DOT_KIND_PACKED, .promised = true),
    MXFP4("mxfp4 packed x e4m3 fast", E4M3, BF16, .order = DOT_KIND_PACKED, .promised = true,
          .fast = true),
    MXFP4("mxfp4 packed, any scales x bf16", BF16, BF16, .order = DOT_KIND_PACKED),
    KIND("int4 packed x f16", F16, I4, F16, SCALES(F16, 128), .order = DOT_KIND_PACKED),
    KIND("int4 marlin x f16", F16, I4, F16, SCALES(F16, 128), .order = DOT_KIND_MARLIN),
    KIND("int4 machete x f16", F16, I4, F16, SCALES(F16, 128), .order = DOT_KIND_MACHETE),
    KIND("int4 packed, zeros x f16", F16, U4, F16, SCALES(F16, 128), .zero = LLRT_U4,
         .order = DOT_KIND_PACKED),
    KIND("int4 packed, zeros x bf16", BF16, U4, BF16, SCALES(BF16, 128), .zero = LLRT_U4,
         .order = DOT_KIND_PACKED),
    KIND("int8 packed x bf16", BF16, I8, BF16, SCALES(BF16, 128), .order = DOT_KIND_PACKED),
    KIND("int8 packed x f16", F16, I8, F16, SCALES(F16, 128), .order = DOT_KIND_PACKED),
    KIND("int8 packed, columns x bf16", BF16, I8, BF16, SCALES(F32, DOT_KIND_CHANNEL),
         .order = DOT_KIND_PACKED),
    KIND("e4m3 packed, columns x bf16", BF16, E4M3, BF16, SCALES(F32, DOT_KIND_CHANNEL),
         .order = DOT_KIND_PACKED),
    KIND("e4m3 packed, columns x f16", F16, E4M3, F16, SCALES(F32, DOT_KIND_CHANNEL),
         .order = DOT_KIND_PACKED),
    KIND("e4m3 packed x bf16", BF16, E4M3, BF16, SCALES(BF16, 128), .order = DOT_KIND_PACKED),
    KIND("mxfp8 packed x bf16", BF16, E4M3, BF16, SCALES(E8M0, 32), .order = DOT_KIND_PACKED,
         .promised = true),
    KIND("mxfp8 packed x f16", F16, E4M3, F16, SCALES(E8M0, 32), .order = DOT_KIND_PACKED,
         .promised = true),
    KIND("nvfp4 packed x bf16", BF16, E2M1, BF16, SCALES(E4M3, 16), .global = true,
         .order = DOT_KIND_PACKED),
    KIND("nvfp4 packed x f16", F16, E2M1, F16, SCALES(E4M3, 16), .global = true,
         .order = DOT_KIND_PACKED),
    MXFP4("mxfp4 x bf16", BF16, BF16),
    MXFP4("mxfp4 x f16", F16, F16),
    MXFP4("mxfp4 x e4m3", E4M3, BF16),
    MXFP4("mxfp4 x e5m2", E5M2, BF16),
    KIND("int4 x f16", F16, I4, F16, SCALES(F16, 128)),
    DENSE("bf16 x bf16", BF16, BF16),
    DENSE("f16 x f16", F16, F16),
    DENSE("e4m3 x e4m3", E4M3, BF16),
    DENSE("e4m3 x e4m3 fast", E4M3, BF16, .fast = true),
};
const int dot_kinds_count = sizeof dot_kinds / sizeof dot_kinds[0];

const int64_t dot_kind_rows[] = {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
const int dot_kind_rows_count = sizeof dot_kind_rows / sizeof dot_kind_rows[0];

static const char *const engine_orders[][2] = {
    [DOT_KIND_MARLIN] = {"marlin_w4", "marlin_scales"},
    [DOT_KIND_MACHETE] = {"transposed(machete_w4)", "row_major"}};

llrt_tensor dot_kind_tensor(const dot_kind *kind, int which, const dot_extents *shape,
                            const llrt_storage *columns) {
  const int64_t m = shape->m, n = shape->n, k = shape->k;
  const int64_t groups = kind->group > 0 ? (k + kind->group - 1) / kind->group : 1;
  switch (which) {
  case DOT_KIND_A: return (llrt_tensor){.dtype = kind->a, .rank = 2, .shape = {m, k}};
  case DOT_KIND_B:
    return (llrt_tensor){.dtype = kind->b, .rank = 2, .shape = {k, n}, .storage = columns};
  case DOT_KIND_SCALE:
    return (llrt_tensor){.dtype = kind->scale, .rank = 2, .shape = {groups, n}, .storage = columns};
  case DOT_KIND_ZERO:
    return (llrt_tensor){.dtype = kind->zero, .rank = 2, .shape = {groups, n}, .storage = columns};
  case DOT_KIND_GLOBAL: return (llrt_tensor){.dtype = kind->global ? LLRT_F32 : LLRT_DTYPE_NONE};
  default: return (llrt_tensor){.dtype = kind->d, .rank = 2, .shape = {m, n}};
  }
}

static llrt_status describe_order(const dot_kind *kind, const dot_extents *shape,
                                  llrt_dot_packing *packing) {
  const int64_t extents[2] = {shape->k, shape->n};
  llrt_storage_binding binding;
  *packing = (llrt_dot_packing){.n_maps = 0};
  for (int i = 0; i < 2; i++) {
    llrt_status status =
        llrt_storage_parse(engine_orders[kind->order][i], 2, NULL, &packing->storages[i]);
    if (status != LLRT_OK) return status;
  }
  return llrt_storage_bind(&packing->storages[0], 2, extents, NULL, &binding) == LLRT_OK
             ? LLRT_OK
             : LLRT_UNSUPPORTED;
}

llrt_status dot_kind_packing(const dot_kind *kind, const char *target, const dot_extents *shape,
                             llrt_dot_packing *packing) {
  const llrt_dot_pack_params what = {.dtype = kind->b,
                                     .scale = kind->group > 0 ? kind->scale : LLRT_DTYPE_NONE,
                                     .group = {kind->group},
                                     .other = kind->a,
                                     .zero = kind->zero,
                                     .range_low = kind->promised ? DOT_KIND_LOW : 0,
                                     .range_high = kind->promised ? DOT_KIND_HIGH : 0};
  if (kind->order > DOT_KIND_PACKED) return describe_order(kind, shape, packing);
  return llrt_dot_pack(&what, target, LLRT_DOT_B, packing);
}

llrt_status dot_kind_describe(const dot_kind *kind,
                              const llrt_tensor *const tensors[DOT_KIND_TENSORS],
                              const llrt_dot_packing *packing, described_dot *call) {
  llrt_dot_params params = {.fast_accumulate = kind->fast};
  const int64_t group = kind->group > 0 ? kind->group : LLRT_GROUP_ALL;
  if (kind->group)
    params.b = (llrt_dot_scaling){.scale = tensors[DOT_KIND_SCALE], .group = {group, 1}};
  if (kind->zero) params.b.zero = tensors[DOT_KIND_ZERO];
  if (kind->global) params.b.global = tensors[DOT_KIND_GLOBAL];
  if (kind->promised) params.b.range_low = DOT_KIND_LOW, params.b.range_high = DOT_KIND_HIGH;
  if (packing->n_maps) memcpy(params.b.word_bits, packing->word_bits, sizeof params.b.word_bits);
  return described_dot_make(tensors[DOT_KIND_A], tensors[DOT_KIND_B], tensors[DOT_KIND_D], &params,
                            call);
}
