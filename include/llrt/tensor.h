/* Element types and the tensor view. */
#ifndef LLRT_TENSOR_H
#define LLRT_TENSOR_H

#include <llrt/device.h>
#include <llrt/storage.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, text, bits). Moves without maps treat every type as its width. */
#define LLRT_DTYPE_LIST(X)                                                                       \
  X(F64, "f64", 64) X(F32, "f32", 32) X(F16, "f16", 16) X(BF16, "bf16", 16)                      \
  X(E4M3, "e4m3", 8) X(E5M2, "e5m2", 8) X(E4M3FNUZ, "e4m3fnuz", 8) X(E5M2FNUZ, "e5m2fnuz", 8)    \
  X(E8M0, "e8m0", 8) X(E2M1, "e2m1", 4) X(I64, "i64", 64) X(I32, "i32", 32) X(I16, "i16", 16)    \
  X(I8, "i8", 8) X(I4, "i4", 4) X(U64, "u64", 64) X(U32, "u32", 32) X(U16, "u16", 16)            \
  X(U8, "u8", 8) X(U4, "u4", 4) X(BOOL, "bool", 8) X(B4, "b4", 4) X(B8, "b8", 8)                 \
  X(B16, "b16", 16) X(B32, "b32", 32) X(B64, "b64", 64) X(B128, "b128", 128)

typedef enum llrt_dtype {
  LLRT_DTYPE_NONE = 0,
#define LLRT_DTYPE_ENUM(name, text, bits) LLRT_##name,
  LLRT_DTYPE_LIST(LLRT_DTYPE_ENUM)
#undef LLRT_DTYPE_ENUM
  LLRT_DTYPE_COUNT
} llrt_dtype;

/* "bf16"; "none" for what is no dtype. Bits of one element; 0 for what is no dtype. */
LLRT_API const char *llrt_dtype_name(llrt_dtype dtype);
LLRT_API int llrt_dtype_bits(llrt_dtype dtype);
/* Errors: INVALID_ARGUMENT for an unknown name. */
LLRT_API llrt_status llrt_dtype_parse(const char *text, llrt_dtype *dtype);

/* A borrowed view: nothing here is owned, except by what llrt_convert returns. */
typedef struct llrt_tensor {
  void *data;                    /* address of offset 0, a multiple of the element's size; may be NULL
                                    when the tensor is empty */
  llrt_dtype dtype;
  int32_t rank;                  /* 0..LLRT_MAX_RANK */
  int64_t shape[LLRT_MAX_RANK];  /* positions, >= 0 */
  int64_t strides[LLRT_MAX_RANK];/* elements; read for RUN-TIME digits of the storage only */
  const llrt_storage *storage;   /* NULL: row_major */
  llrt_device *device;           /* who runs operations on it */
} llrt_tensor;

/* Bytes from data to the end of the tensor's storage (the span of its binding in whole bytes).
 * Errors: as llrt_storage_bind. */
LLRT_API llrt_status llrt_tensor_bytes(const llrt_tensor *tensor, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
