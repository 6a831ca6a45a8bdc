/* Matrices in shared memory as wgmma reads them: the canonical layouts of the PTX ISA, and the
 * descriptor of a shared layout that is one of them.
 *
 * A matrix has axes mn (dim0: rows of A, columns of B) and k (dim1). T is the number of elements in
 * 16 bytes, w the 16-byte units of the swizzle's span (1 without one). The place of an element, in
 * elements, is Swizzle(s) with s the sum of
 *
 *   K-major, no swizzle     ((8,m),(T,2k)) : ((T,SBO),(1,LBO))
 *   K-major, swizzled       ((8,m),(T,2k)) : ((wT,SBO),(1,T))
 *   MN-major, no swizzle    ((T,1,m),(8,k)) : ((1,T,SBO),(T,LBO))
 *   MN-major, swizzled      ((T,w,m),(8,k)) : ((1,T,LBO),(wT,SBO))
 *
 * A K-major swizzled matrix of more than wT elements along k is several such spans side by side,
 * the step from one to the next being LBO here. No instruction reads more than a span, so the
 * descriptor has no place for it: kernels add it to the address.
 *
 * The general rules of layout.h hold here too. Source: PTX ISA, asynchronous warpgroup matrix
 * instructions, shared memory matrix layout, canonical layouts and matrix descriptor. */
#ifndef LLRT_MATRIX_H
#define LLRT_MATRIX_H

#include <llrt/storage.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llrt_matrix {
  int32_t element_bits;  /* 4, 8, 16, 32 or 64 */
  int32_t swizzle_bytes; /* 0 (none), 32, 64 or 128 */
  bool mn_major;         /* else K-major */
  int64_t leading_bytes; /* LBO; 0 where there is one repeat only, or one span */
  int64_t stride_bytes;  /* SBO; 0 where there is one repeat only */
  int64_t reserved[2];   /* 0 */
} llrt_matrix;

/* The canonical layout of an mn x k matrix as a storage. leading_bytes or stride_bytes 0: packed,
 * atoms along mn first. Errors: INVALID_ARGUMENT when extents are no multiples of the atom, or an
 * offset is no multiple of 16 bytes. */
LLRT_API llrt_status llrt_matrix_storage(const llrt_matrix *matrix, int64_t mn, int64_t k,
                                         llrt_storage *out);

/* The first of the rows above (K-major before MN-major, no swizzle before 32, 64, 128 bytes) that
 * places every element of an mn x k matrix as `shared` does, a storage of two axes. Errors:
 * INVALID_ARGUMENT as llrt_storage_bind, or more than 2^20 elements; UNSUPPORTED when none does:
 * the message says how near the nearest came. Cost: each row up to its first difference. */
LLRT_API llrt_status llrt_matrix_match(const llrt_storage *shared, int64_t mn, int64_t k,
                                       int element_bits, llrt_matrix *out);

/* The same of an F2 layout onto dim0, dim1. */
LLRT_API llrt_status llrt_matrix_match_layout(const llrt_layout *shared, int element_bits,
                                              llrt_matrix *out);

/* The 64-bit descriptor of a matrix whose place 0 has shared-memory address `address` (bytes):
 * bits 0-13 address, 16-29 LBO, 32-45 SBO, each divided by 16, 49-51 base offset, 62-63 swizzle.
 * The LBO of K-major swizzles does not count and is written as 1. Errors: INVALID_ARGUMENT when an
 * address or offset is no multiple of 16 bytes or has more than 18 bits. */
LLRT_API llrt_status llrt_matrix_descriptor(const llrt_matrix *matrix, uint64_t address,
                                            uint64_t *descriptor);

#ifdef __cplusplus
}
#endif
#endif
