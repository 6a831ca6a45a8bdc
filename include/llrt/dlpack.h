/* Tensors to and from DLPack 1.3, whose header is the caller's. */
#ifndef LLRT_DLPACK_H
#define LLRT_DLPACK_H

#include <llrt/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensorVersioned;

/* What elements of DLPack's type (DLDataType) are here: their type, or bits of their width, as
 * complex numbers and several lanes are. *positions: of the last axis that such an element takes, 2
 * for two lanes of 4 bits, else 1. Errors: UNSUPPORTED for widths that no type has;
 * INVALID_ARGUMENT. */
LLRT_API llrt_status llrt_dtype_from_dlpack(uint8_t code, uint8_t bits, uint16_t lanes,
                                            llrt_dtype *dtype, int32_t *positions);

/* DLPack's type, of one lane. Errors: UNSUPPORTED for a type that DLPack lacks (B4 to B16, and
 * such); INVALID_ARGUMENT. */
LLRT_API llrt_status llrt_dtype_to_dlpack(llrt_dtype dtype, uint8_t *code, uint8_t *bits);

/* Views the memory of a DLPack tensor, which stays its producer's: the view is good until the
 * caller calls managed->deleter, which this function never does. *storage is written too, and
 * tensor->storage points to it, or is NULL where the elements lie row by row. Any strides: 0 (a
 * source), negative; byte_offset; strides NULL for row-major. Complex numbers, and types of several
 * lanes, are bits of their width; two lanes of 4 bits are two positions of the last axis. device
 * must be the one that the memory is on (NULL: nobody asks, and the view has none).
 * *read_only (may be NULL): whether the producer forbids writing. Nobody waits for a stream.
 * Errors: INVALID_ARGUMENT for another device, data off the elements' alignment, negative extents;
 * UNSUPPORTED for another major version, more axes than LLRT_MAX_RANK, types that llrt lacks,
 * padded elements of less than a byte, a view that would begin inside a byte. */
LLRT_API llrt_status llrt_tensor_from_dlpack(const struct DLManagedTensorVersioned *managed,
                                             llrt_device *device, llrt_storage *storage,
                                             llrt_tensor *tensor, int32_t *read_only);

/* Makes a DLPack tensor over the tensor's memory, without copying. *managed is the caller's, who
 * hands it on; its deleter, which any thread may call once, calls release(owner) (NULL: nothing)
 * and frees it. read_only: 1 to forbid writing. The tensor's device need not outlive it. Errors:
 * UNSUPPORTED where strides do not say it all (tiles, swizzles, axes of several digits, copies,
 * indices, extents in device memory), for types that DLPack lacks (B4 to B16 and such), devices
 * that are neither host, cuda:N nor hip:N; OUT_OF_MEMORY. release is not called then. */
LLRT_API llrt_status llrt_tensor_to_dlpack(const llrt_tensor *tensor, int32_t read_only,
                                           void (*release)(void *owner), void *owner,
                                           struct DLManagedTensorVersioned **managed);

#ifdef __cplusplus
}
#endif

#endif
