/* All that planning and emission may ask of a device beside its target: two devices of one target
 * with equal facts get the same kernels, and whoever plans without a device uses the target's
 * reference facts (target.c). They are part of a kernel's key and of saved kernels.
 *
 * Results must not depend on them where numbers are joined in an order that is promised for a
 * target (docs/reduce.md, docs/scan.md): those numbers are in tuning.h. Of a product they may: how
 * blocks share K follows the units. */
#ifndef LLRT_JIT_PLAN_TYPES_DEVICE_FACTS_H
#define LLRT_JIT_PLAN_TYPES_DEVICE_FACTS_H

#include <stdbool.h>
#include <stdint.h>

/* X(type, name): a new fact is a row here; keys, saved kernels and their tests follow the list.
 *
 *   - capability: NVIDIA: 10 * major + minor of the device's compute capability; else 0
 *   - units: multiprocessors (compute units) over which blocks are spread; host: 0, since kernels
 *     serve any number of threads
 *   - shared_bytes: shared memory that a block may have, at most
 *   - l2_bytes: of the cache in front of global memory; 0: not known
 *   - early_launches: a kernel's blocks may start while the kernel in front of it on the stream
 *     ends, and wait for that themselves. Code waits wherever the target can, whatever the driver
 *     of today does, so that saved kernels are right under the next one */
#define DEVICE_FACTS(X) \
  X(int32_t, capability) \
  X(int32_t, units) \
  X(int32_t, shared_bytes) \
  X(int64_t, l2_bytes) \
  X(bool, early_launches)

typedef struct device_facts {
#define DEVICE_FACTS_FIELD(type, name) type name;
  DEVICE_FACTS(DEVICE_FACTS_FIELD)
#undef DEVICE_FACTS_FIELD
} device_facts;

#endif
