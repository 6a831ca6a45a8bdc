/* Copies of boxes (plan_box): whether a kernel's tensor has such, and whether a step's are what its buffer holds. */
#ifndef LLRT_JIT_PLAN_DOT_BOX_H
#define LLRT_JIT_PLAN_DOT_BOX_H

#include "jit/plan/plan.h"

/* The stride of one position of a digit in a tensor, elements; false: there is no such number. */
bool dot_digit_stride(const plan_kernel *kernel, int tensor, int digit, plan_number *stride);

/* Bytes from box to box of a slot: rows that are no power of two leave some free. */
int dot_box_pitch(const plan_box *box);
/* Boxes of a slot that have something of the block's: beyond a digit's own bound there is nothing to copy. */
int dot_box_count(const plan_kernel *kernel, const plan_step *step);

/* Whether producers copy nothing but boxes. */
bool dot_only_boxes(const plan_kernel *kernel);

/* The number of the producers' PLAN_LANDED; -1: they only copy. */
int dot_landed_step(const plan_kernel *kernel);

/* Of PLAN_COPY with a box, number `at`. Errors: INTERNAL. */
llrt_status dot_verify_box(const plan_kernel *kernel, int at);

#endif
