/* Whether a device reaches the memory that a call is about. */
#ifndef LLRT_RUNTIME_REACH_H
#define LLRT_RUNTIME_REACH_H

#include "runtime/prepared.h"

/* INVALID_ARGUMENT where the driver is sure that the device cannot use a tensor's memory, or the
 * values of an index: a kernel that did would end the driver's context. Cost: a few loads for
 * memory near to which a call has been before. */
llrt_status llrt_check_reach(const op_call *call, const storage_set *set, void *stream);

#endif
