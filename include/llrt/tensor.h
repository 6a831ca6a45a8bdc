/* Element types and the tensor view. */
#ifndef LLRT_TENSOR_H
#define LLRT_TENSOR_H

#include <llrt/device.h>
#include <llrt/storage.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, text, bits). Moves without maps treat every type as its width. */
/* clang-format off */
#define LLRT_DTYPE_LIST(X)                                                                       \
  X(F64, "f64", 64) X(F32, "f32", 32) X(F16, "f16", 16) X(BF16, "bf16", 16)                      \
  X(E4M3, "e4m3", 8) X(E5M2, "e5m2", 8) X(E4M3FNUZ, "e4m3fnuz", 8) X(E5M2FNUZ, "e5m2fnuz", 8)    \
  X(E8M0, "e8m0", 8) X(E2M1, "e2m1", 4) X(I64, "i64", 64) X(I32, "i32", 32) X(I16, "i16", 16)    \
  X(I8, "i8", 8) X(I4, "i4", 4) X(U64, "u64", 64) X(U32, "u32", 32) X(U16, "u16", 16)            \
  X(U8, "u8", 8) X(U4, "u4", 4) X(BOOL, "bool", 8) X(B4, "b4", 4) X(B8, "b8", 8)                 \
  X(B16, "b16", 16) X(B32, "b32", 32) X(B64, "b64", 64) X(B128, "b128", 128)
/* clang-format on */

typedef enum llrt_dtype {
  LLRT_DTYPE_NONE = 0,
#define LLRT_DTYPE_ENUM(name, text, bits) LLRT_##name,
  LLRT_DTYPE_LIST(LLRT_DTYPE_ENUM)
#undef LLRT_DTYPE_ENUM
      LLRT_DTYPE_COUNT
} llrt_dtype;

/* "bf16"; "none" for what is no dtype. Static text. Bits of one element; 0 for what is no dtype. */
LLRT_API const char *llrt_dtype_name(llrt_dtype dtype);
LLRT_API int llrt_dtype_bits(llrt_dtype dtype);

/* The type of that name. Errors: INVALID_ARGUMENT for an unknown one; *dtype is NONE then. */
LLRT_API llrt_status llrt_dtype_parse(const char *text, llrt_dtype *dtype);

#define LLRT_MAX_INDICES 4 /* of a tensor, in this version: no struct's size depends on it */

/* What an index's values are. */
typedef enum llrt_index_kind {
  LLRT_INDEX_COORDINATE = 0, /* positions along the axis: block ids, slots, rows to gather */
  LLRT_INDEX_POINTER = 1 /* 64-bit addresses that replace tensor.data; one such index a tensor */
} llrt_index_kind;

/* What becomes of elements whose value is out of range: not in [0, extent); a pointer that is not
 * positive. With any of them no memory outside the tensor is touched. Pads of the destination are
 * no elements: along axes that the value does not differ by, those of elements that are not moved
 * stay, too; those of elements that are read as zero or clamped are written as always. */
typedef enum llrt_out_of_range {
  LLRT_RANGE_SKIP = 0,  /* not moved: what the destination holds there stays */
  LLRT_RANGE_ZERO = 1,  /* read as zero bits; on sources only */
  LLRT_RANGE_CLAMP = 2, /* the nearest position in range; coordinates of sources only */
  LLRT_RANGE_REPORT =
      3 /* as SKIP, and *report grows by one for every such value that an element has */
} llrt_out_of_range;

/* An indirection between a logical coordinate x and one tensor's storage. The value that x selects
 * is
 *
 *   v(x) = data[sum of x[a] * strides[a] over the axes a in `axes`]
 *
 * COORDINATE: the storage sees v(x) as the coordinate of `axis`, before that is split into the tile
 * and digits: a slot number falls into block and position by itself. POINTER: v(x) is the address
 * of the storage's offset 0, and the coordinate of `axis` is 0.
 * Axes in `folded` do no more than select: their coordinate is 0 and their extent 1 on this tensor.
 * So
 * block_table[request][block] is axis = block, axes = {request, block}, folded = {request}.
 * Values are never trusted, but two elements of a destination that values send to one place race. A
 * destination with indices keeps its pads: elements alone are written. */
typedef struct llrt_index {
  int32_t axis;         /* logical axis, 0 <= axis < rank; another one for each index of a tensor */
  int32_t kind;         /* llrt_index_kind */
  int32_t out_of_range; /* llrt_out_of_range */
  llrt_dtype dtype;     /* of the values: I32 or I64; POINTER: I64 or U64 */
  uint32_t axes;        /* bit a: values differ along logical axis a */
  uint32_t folded;      /* bit a, other than `axis`: see above; no other index has that axis */
  int64_t extent;       /* COORDINATE: positions of `axis` on this tensor, >= 0; else 0 */
  int64_t alignment;    /* POINTER: bytes, a power of two that divides every address; 0: what an
                           element needs */
  const void *data;     /* address of value 0, aligned to a value; the device must reach it */
  int64_t strides[LLRT_MAX_RANK]; /* values, >= 0; read for the axes in `axes`, that many positions
                                     each */
  int32_t *report;                /* REPORT: counter that the device reaches; else NULL */
  int64_t reserved[2];            /* 0 */
} llrt_index;

/* A borrowed view: nothing here is owned, except by what llrt_convert returns. */
typedef struct llrt_tensor {
  void *data; /* address of offset 0, a multiple of the element's size; may be NULL
                 when the tensor is empty */
  llrt_dtype dtype;
  int32_t rank;                   /* 0..LLRT_MAX_RANK */
  int64_t shape[LLRT_MAX_RANK];   /* positions, >= 0 */
  int64_t strides[LLRT_MAX_RANK]; /* elements; read for RUN-TIME digits of the storage only */
  const llrt_storage *storage;    /* NULL: row_major */
  llrt_device *device;            /* who runs operations on it */
  const llrt_index *indices; /* n_indices of them, borrowed; NULL where there are none. shape stays
                                the logical shape; data may be NULL with a pointer list */
  int32_t n_indices;         /* 0..LLRT_MAX_INDICES */
  const int32_t *extent_ptr[LLRT_MAX_RANK]; /* NULL, or where the device reads the axis's extent
                                    when the operation runs: 0 to shape[axis], which is the limit
                                    (other numbers count as the nearest). Strides and memory are
                                    those of the limit; elements beyond are not moved. One tensor's
                                    will do; where several have one, it is the same */
  int64_t reserved[4];                      /* 0 */
} llrt_tensor;

/* Bytes from data (each address of a pointer list) to the end of the tensor's storage: the span of
 * its binding in whole bytes, indexed axes having the indices' extents and folded ones 1. Errors:
 * as llrt_storage_bind. */
LLRT_API llrt_status llrt_tensor_bytes(const llrt_tensor *tensor, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
