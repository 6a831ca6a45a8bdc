/* Which operation serves a one-line call. */
#ifndef LLRT_RUNTIME_CHOOSE_H
#define LLRT_RUNTIME_CHOOSE_H

#include "runtime/prepared.h"

/* The operation for a checked call whose promises llrt_promises_coarse has filled, ready or not. A
 * call whose class, or of converts class and small extents, was met before finds it by one lookup,
 * and one of storages for which somebody prepared operations finds those that take it by one
 * before. Else:
 *
 *   - of operations that are there, the one serves for which the model expects least time, unless
 *     it expects a twentieth less from the call's own promises: only of converts, because the
 *     order in which numbers are joined must not depend on what happens to be there;
 *   - one that is made promises addresses if all tensors' are full multiples, else nothing about
 *     any, and strides so, so that a pair of storages has few kernels whatever addresses come;
 *   - extents are compiled in where the context asks for it, in place, and where no plan is found
 *     without; and of converts those small ones that make the call faster (choice.h).
 *
 * *alternative: an operation that is ready and serves until *op is, in a capture or while *op is
 * compiled; NULL: none. Both are held: the caller releases them. Errors: NOT_PREPARED where the
 * policy is never and nothing serves; UNSUPPORTED, OUT_OF_MEMORY. */
llrt_status llrt_choose(op_description *desc, storage_set *set, const op_call *call, llrt_op **op,
                        llrt_op **alternative);

#endif
