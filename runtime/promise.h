/* Promises: deriving the coarse ones from tensors, and checking tensors against given ones. */
#ifndef LLRT_RUNTIME_PROMISE_H
#define LLRT_RUNTIME_PROMISE_H

#include "runtime/validate.h"

/* The promises of a one-line call: per tensor, the address and every open stride as a multiple of
 * the largest power of two up to 16 bytes on a GPU, else 64; per axis, the extent itself where it
 * is small, else whether it fits 31 bits, and where a map acts on words of the destination, whether
 * words go into it. Fills the axes below the rank of desc->promises, which must be zero. */
void llrt_promises_coarse(const op_call *call, const storage_set *set, op_description *desc);

/* The call's extents, each as it is: for llrt_promises_imply. */
void llrt_promises_exact(const op_call *call, llrt_tensor_promise *promises);

/* The same as fewer classes: each tensor's address, and each one's strides, either keep the full
 * multiple of coarse promises or nothing but what every tensor does. Dots keep what they have. */
void llrt_promises_classes(const storage_set *set, op_description *desc);

/* Of all addresses nothing but what every tensor keeps, unless all are full; the same of strides.
 */
void llrt_promises_widen(const storage_set *set, op_description *desc);

/* Whether whatever keeps `kept` keeps `promises`: n tensors of the set's. */
bool llrt_promises_imply(const llrt_tensor_promise *kept, const llrt_tensor_promise *promises,
                         int n, int rank);

/* Whether a promise names one extent alone, and the same promises for any extents; axes below rank.
 */
bool llrt_promises_fix_extents(const op_description *desc, int rank);
void llrt_promises_open_extents(op_description *desc, int rank);

/* The same of one axis; whether a promise named its extent. */
bool llrt_promises_open_axis(op_description *desc, int axis);

/* Errors: OUT_OF_CLASS naming tensor, axis and value of the first broken promise. */
llrt_status llrt_promises_check(const op_call *call, const storage_set *set,
                                const llrt_tensor_promise *promises);

#endif
