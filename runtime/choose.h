/* Which operation serves a one-line call. */
#ifndef LLRT_RUNTIME_CHOOSE_H
#define LLRT_RUNTIME_CHOOSE_H

#include "runtime/prepared.h"

/* The operation for a checked call whose promises llrt_promises_coarse has filled, ready or not. A
 * call of a class that was met before finds it by one lookup, and one of storages for which
 * somebody prepared operations finds those that take it by one before. Else:
 *
 *   - of operations that are there, one that promises less serves, if the model expects no more
 *     than a twentieth of its time from the call's own promises: only of converts, because the
 *     order in which numbers are joined must not depend on what happens to be there;
 *   - one that is made promises addresses if all tensors' are full multiples, else nothing about
 *     any, and strides so, so that a pair of storages has few kernels whatever addresses come;
 *   - extents are compiled in where the context asks for it, in place, and where no plan is found
 *     without; and for the first shape of a pair of storages, if the model sees as much in that,
 *     and for 15 more where it sees half the time.
 *
 * *alternative: an operation that is ready and serves until *op is, in a capture or while *op is
 * compiled; NULL: none. Both are held: the caller releases them. Errors: NOT_PREPARED where the
 * policy is never and nothing serves; UNSUPPORTED, OUT_OF_MEMORY. */
llrt_status llrt_choose(op_description *desc, storage_set *set, const op_call *call, llrt_op **op,
                        llrt_op **alternative);

#endif
