/* The canonical description of an operation as a 128-bit hash: the cache's key. */
#ifndef LLRT_RUNTIME_KEY_H
#define LLRT_RUNTIME_KEY_H

#include "backends/backend.h"
#include "runtime/storage_set.h"

/* Equal for checked descriptions that need the same kernels: moves treat types as widths, and
 * storages count by their canonical form (the set's, not the description's). Kernels are loaded
 * into a device, so its identity counts too. */
llrt_hash llrt_op_key(const llrt_device *device, const op_description *desc,
                      const storage_set *set);

/* The same of a target instead of a device: of what outlives the process. */
llrt_hash llrt_op_target_key(const plan_target *target, const op_description *desc,
                             const storage_set *set);

#endif
