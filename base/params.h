/* Structs of the public headers that begin with their size, between a caller of one minor version
 * and a library of another. */
#ifndef LLRT_BASE_PARAMS_H
#define LLRT_BASE_PARAMS_H

#include "base/params_sizes.h"

#include <llrt/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies the params that a caller gave (NULL: all zero) into *own, `known` bytes, of which the
 * first version had `first`: as many as the caller's header had, zeros behind. own->size is `known`
 * afterwards. Errors, naming the struct: INVALID_ARGUMENT for a size that no version has;
 * UNSUPPORTED for fields behind `known` that are not zero. */
llrt_status llrt_params_read(const void *given, const char *name, size_t known, size_t first,
                             void *own);
#define LLRT_PARAMS_READ(type, given, own) \
  llrt_params_read((const type *){given}, #type, sizeof(type), LLRT_FIRST_SIZE(type), (type *){own})

/* The other way: writes *own into the struct that a caller allocated, no more than its size says.
 * out->size becomes what was written. Errors: INVALID_ARGUMENT for a size that no version has;
 * nothing is written then. */
llrt_status llrt_params_write(void *out, const char *name, size_t known, size_t first,
                              const void *own);
#define LLRT_PARAMS_WRITE(type, out, own) \
  llrt_params_write((type *){out}, #type, sizeof(type), LLRT_FIRST_SIZE(type), (const type *){own})

/* Whether n bytes are zero: `reserved` fields. */
bool llrt_params_are_zero(const void *bytes, size_t n);

#endif
