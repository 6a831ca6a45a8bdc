/* Parts of the text of `llrt explain`. Private to plan_print*.c. Each adds to `text`, without a
 * line end but for steps. */
#ifndef LLRT_JIT_PLAN_PRINT_H
#define LLRT_JIT_PLAN_PRINT_H

#include "base/text.h"
#include "jit/plan/kernel/plan.h"

/* ---- plan_print_value.c ---- */
/* "source", "destination", "tensor 2": of a kernel's tensors, as steps name them. */
void plan_print_tensor(int tensor, llrt_text *text);
void plan_print_number(const plan_kernel *kernel, const plan_number *number, llrt_text *text);
/* "v3: register=[…] lane=[…] warp=[…]", a basis vector of the tile for each bit. */
void plan_print_value(const plan_kernel *kernel, int i, llrt_text *text);
/* The name of a step's kind alone: of one that nothing else is said of. */
void plan_print_kind(const plan_step *step, llrt_text *text);

/* ---- plan_print_step.c ---- */
/* The line of step `at`, inside so many others; not those of its body. */
void plan_print_step(const plan_kernel *kernel, int at, int depth, llrt_text *text);

/* ---- plan_print_combine.c ---- */
/* A step that combines, walks, or passes totals on from block to block, without indentation. */
void plan_print_combining(const plan_kernel *kernel, const plan_step *step, llrt_text *text);

#endif
