/* Promises of prepared operations that exactly the tensors at hand keep: nothing, tight, at their
 * ends, loose. */
#ifndef LLRT_TESTS_DRAW_PROMISES_H
#define LLRT_TESTS_DRAW_PROMISES_H

#include "memory.h"
#include "places.h"

#include "runtime/described.h"

/* Fills desc->promises for desc->tensors, which lie at[t] (NULL: nothing is promised of its
 * strides). Of tensor t bit 4 t of `kept` keeps what is promised of its address, 4 t + 1 of its
 * extents, 4 t + 2 of its strides, 4 t + 3 of its indices. */
void promises_draw(uint64_t seed, uint32_t kept, const places *const at[], op_description *desc);
/* Whether tensors that lie at[t] keep desc's promises of addresses, extents and strides. */
bool promises_hold(const op_description *desc, const llrt_tensor *tensors,
                   const places *const at[]);
/* A number that keeps a promise, near `extent`. */
int64_t promise_other_extent(uint64_t *seed, const llrt_promise *promise, int64_t extent);
/* Appends them to what is wrong. */
void promises_say(bench *at, const op_description *desc);

#endif
