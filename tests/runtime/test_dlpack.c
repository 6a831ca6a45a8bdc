/* DLPack's tensors in and out, by brute force: every element of every small shape under strides of
 * either sign and zero lies where DLPack says, and back. */
#include "convert_fixture.h"

#include "third_party/dlpack/dlpack.h"

static DLManagedTensorVersioned of(DLTensor dl) {
  return (DLManagedTensorVersioned){.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
                                    .dl_tensor = dl};
}

/* Whether tensor t has DLPack's element at x where DLPack has it. */
static bool same_place(const DLTensor *dl, const llrt_tensor *t, const int64_t *x) {
  llrt_storage rows;
  llrt_storage_binding binding;
  const llrt_storage *storage = t->storage;
  int64_t at = 0;
  for (int i = 0; i < dl->ndim; i++) at += dl->strides[i] * x[i];
  cr_assert_eq(llrt_storage_row_major(t->rank, &rows), LLRT_OK);
  if (!storage) storage = &rows;
  cr_assert_eq(llrt_storage_bind(storage, t->rank, t->shape, t->strides, &binding), LLRT_OK, "%s",
               llrt_last_error());
  const char *own = (const char *)t->data + 4 * llrt_storage_offset(storage, &binding, x);
  return own == (const char *)dl->data + dl->byte_offset + 4 * at;
}

Test(dlpack, every_stride_in_and_out) {
  static const int64_t choices[] = {0, 1, -1, 2, 3, -3, 6, -12};
  static float memory[400];
  enum { N = sizeof choices / sizeof *choices };
  int tried = 0;
  for (int k = 0; k < N * N * N * 3; k++) {
    int64_t strides[3] = {choices[k % N], choices[k / N % N], choices[k / N / N % N]};
    int64_t shape[3] = {2, 3, 1 + k / N / N / N};
    DLManagedTensorVersioned managed = of((DLTensor){.data = memory + 100,
                                                     .device = {kDLCPU, 0},
                                                     .ndim = 3,
                                                     .dtype = {kDLFloat, 32, 1},
                                                     .shape = shape,
                                                     .strides = strides,
                                                     .byte_offset = 40});
    llrt_storage storage;
    llrt_tensor t;
    int32_t read_only = 1;
    cr_assert_eq(llrt_tensor_from_dlpack(&managed, NULL, &storage, &t, &read_only), LLRT_OK, "%s",
                 llrt_last_error());
    cr_assert(t.rank == 3 && t.dtype == LLRT_F32 && read_only == 0);
    DLManagedTensorVersioned *back = NULL;
    cr_assert_eq(llrt_tensor_to_dlpack(&t, 1, NULL, NULL, &back), LLRT_OK, "%s", llrt_last_error());
    cr_assert(back->flags == DLPACK_FLAG_BITMASK_READ_ONLY && back->dl_tensor.ndim == 3);
    for (int64_t i = 0; i < shape[0] * shape[1] * shape[2]; i++) {
      int64_t x[3] = {i / shape[2] / shape[1], i / shape[2] % shape[1], i % shape[2]};
      cr_assert(same_place(&managed.dl_tensor, &t, x), "case %d", k);
      cr_assert(same_place(&back->dl_tensor, &t, x), "case %d, back", k);
    }
    back->deleter(back);
    tried++;
  }
  cr_expect_eq(tried, N * N * N * 3);
}

typedef struct type_row {
  uint8_t code, bits;
  uint16_t lanes;
  llrt_dtype dtype; /* NONE: UNSUPPORTED */
} type_row;

Test(dlpack, types) {
  static const type_row rows[] = {{kDLFloat, 64, 1, LLRT_F64},
                                  {kDLBfloat, 16, 1, LLRT_BF16},
                                  {kDLInt, 4, 1, LLRT_I4},
                                  {kDLUInt, 4, 1, LLRT_U4},
                                  {kDLFloat8_e4m3fn, 8, 1, LLRT_E4M3},
                                  {kDLFloat8_e5m2fnuz, 8, 1, LLRT_E5M2FNUZ},
                                  {kDLFloat8_e8m0fnu, 8, 1, LLRT_E8M0},
                                  {kDLFloat4_e2m1fn, 4, 1, LLRT_E2M1},
                                  {kDLFloat4_e2m1fn, 4, 2, LLRT_E2M1},
                                  {kDLComplex, 64, 1, LLRT_B64},
                                  {kDLFloat, 32, 4, LLRT_B128},
                                  {99, 4, 2, LLRT_B4},
                                  {99, 16, 1, LLRT_B16},
                                  {kDLInt, 8, 2, LLRT_B16},
                                  {kDLFloat6_e2m3fn, 6, 1, LLRT_DTYPE_NONE},
                                  {kDLInt, 24, 1, LLRT_DTYPE_NONE}};
  static _Alignas(64) char memory[256];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int64_t shape = 2, stride = 1;
    DLManagedTensorVersioned managed =
        of((DLTensor){.data = memory,
                      .device = {kDLCPU, 0},
                      .ndim = 1,
                      .dtype = {rows[i].code, rows[i].bits, rows[i].lanes},
                      .shape = &shape,
                      .strides = &stride});
    llrt_storage storage;
    llrt_tensor t;
    llrt_status status = llrt_tensor_from_dlpack(&managed, NULL, &storage, &t, NULL);
    cr_expect_eq(status, rows[i].dtype ? LLRT_OK : LLRT_UNSUPPORTED, "row %zu", i);
    cr_expect_eq(t.dtype, rows[i].dtype, "row %zu", i);
    if (rows[i].bits == 4 && status == LLRT_OK)
      cr_expect_eq(t.shape[0], 2 * rows[i].lanes, "row %zu", i);
    llrt_dtype dtype;
    int32_t positions;
    cr_expect_eq(
        llrt_dtype_from_dlpack(rows[i].code, rows[i].bits, rows[i].lanes, &dtype, &positions),
        status, "row %zu", i);
    cr_expect(dtype == rows[i].dtype &&
                  positions == (rows[i].bits == 4 && rows[i].lanes == 2 ? 2 : 1),
              "row %zu", i);
  }
}

/* Every type of DLPack's that llrt has comes back as it went. */
Test(dlpack, types_there_and_back) {
  int known = 0;
  for (int code = 0; code < 32; code++)
    for (int bits = 4; bits <= 128; bits *= 2) {
      llrt_dtype dtype;
      int32_t positions;
      uint8_t back[2];
      if (llrt_dtype_from_dlpack((uint8_t)code, (uint8_t)bits, 1, &dtype, &positions) != LLRT_OK)
        continue;
      if (llrt_dtype_to_dlpack(dtype, &back[0], &back[1]) != LLRT_OK) continue;
      cr_expect_eq(back[1], bits, "code %d, %d bits", code, bits);
      known += back[0] == code;
    }
  cr_expect_eq(known, 24);
  uint8_t code = 1, bits = 1;
  cr_expect_eq(llrt_dtype_to_dlpack(LLRT_B8, &code, &bits), LLRT_UNSUPPORTED);
  cr_expect(code == 0 && bits == 0);
}

/* Without elements strides say nothing. */
Test(dlpack, no_elements) {
  static float memory[4];
  int64_t shapes[][2] = {{0, 4}, {4, 0}}, strides[][2] = {{0, 0}, {-3, 5}, {1, 1}};
  for (int i = 0; i < 6; i++) {
    DLManagedTensorVersioned managed = of((DLTensor){.data = memory,
                                                     .device = {kDLCPU, 0},
                                                     .ndim = 2,
                                                     .dtype = {kDLFloat, 32, 1},
                                                     .shape = shapes[i % 2],
                                                     .strides = strides[i / 2]});
    llrt_storage storage;
    llrt_tensor t;
    cr_expect_eq(llrt_tensor_from_dlpack(&managed, NULL, &storage, &t, NULL), LLRT_OK, "%s",
                 llrt_last_error());
    cr_expect(!t.storage && t.data == memory, "case %d", i);
  }
}

static void count_release(void *owner) { ++*(int *)owner; }

Test(dlpack, owners_flags_and_refusals) {
  fixture at;
  int released = 0;
  DLManagedTensorVersioned *out = NULL;
  llrt_storage storage;
  llrt_tensor t;
  fixture_make(&at, &fixture_params);
  cr_assert_eq(llrt_tensor_to_dlpack(&at.destination, 0, count_release, &released, &out), LLRT_OK);
  cr_expect(out->dl_tensor.strides[0] == 1 && out->dl_tensor.strides[1] == ROWS);
  cr_expect_eq(llrt_tensor_from_dlpack(out, at.host, &storage, &t, NULL), LLRT_OK);
  cr_assert_eq(llrt_convert_into(&at.source, &t, NULL, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_expect(fixture_is_converted(&at));
  out->version.major = 2;
  cr_expect_eq(llrt_tensor_from_dlpack(out, at.host, &storage, &t, NULL), LLRT_UNSUPPORTED);
  out->version.major = 1;
  out->dl_tensor.device = (DLDevice){kDLCUDA, 0};
  cr_expect_eq(llrt_tensor_from_dlpack(out, at.host, &storage, &t, NULL), LLRT_INVALID_ARGUMENT);
  out->dl_tensor.device = (DLDevice){kDLCPU, 0};
  out->dl_tensor.byte_offset = 1;
  cr_expect_eq(llrt_tensor_from_dlpack(out, at.host, &storage, &t, NULL), LLRT_INVALID_ARGUMENT);
  out->dl_tensor.ndim = LLRT_MAX_RANK + 1;
  cr_expect_eq(llrt_tensor_from_dlpack(out, at.host, &storage, &t, NULL), LLRT_UNSUPPORTED);
  cr_expect_eq(released, 0);
  out->deleter(out);
  cr_expect_eq(released, 1);
  llrt_tensor tiled = at.source;
  cr_assert_eq(llrt_storage_parse("nhwc", 4, (int64_t[]){1, 2, 3, 4}, &storage), LLRT_OK);
  tiled.dtype = LLRT_B16;
  cr_expect_eq(llrt_tensor_to_dlpack(&tiled, 0, count_release, &released, &out), LLRT_UNSUPPORTED);
  cr_expect(out == NULL && released == 1);
  fixture_end(&at);
}
