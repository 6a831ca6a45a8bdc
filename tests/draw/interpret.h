/* Planning and interpreting instead of compiling and running: in llrt_draws_plan, which is linked
 * with the library's insides. */
#ifndef LLRT_TESTS_DRAW_INTERPRET_H
#define LLRT_TESTS_DRAW_INTERPRET_H

#include "memory.h"

#include "runtime/described.h"

/* Plans the description for at->plan_target and interprets one of its kernels that take the
 * tensors, by `choice`. NULL in llrt_draws. */
verdict draw_interpret(bench *at, const op_description *asked, uint64_t choice)
    __attribute__((weak));

#endif
