/* Objects into what drivers and the dynamic loader take. */
#ifndef LLRT_JIT_COMPILE_LINK_H
#define LLRT_JIT_COMPILE_LINK_H

#include "jit/plan/types/target.h"

#include <stddef.h>

/* Links one relocatable object into an HSACO or a host shared object. One link runs at a time.
 * Ownership: free(*linked), whose *size bytes are followed by a zero. Thread: any.
 * Errors: COMPILE with the linker's words, IO, OUT_OF_MEMORY. */
llrt_status jit_link_object(const plan_target *target, const void *object, size_t object_size,
                            char **linked, size_t *size);

#endif
