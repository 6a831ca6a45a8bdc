/* What is true of every step of a kind: one row each (step_table.c). Who asks whether a step owns a
 * body, wants whole warps or only moves elements asks here, so that the order of plan_step_kind
 * means nothing. */
#ifndef LLRT_JIT_PLAN_KERNEL_STEP_TABLE_H
#define LLRT_JIT_PLAN_KERNEL_STEP_TABLE_H

#include "jit/plan/kernel/plan_step.h"

#include <stdbool.h>
#include <stdint.h>

/* What a step is about. */
typedef enum plan_step_family {
  PLAN_OF_MEMORY = 1, /* elements between memory and threads, or to shared memory */
  PLAN_OF_EXCHANGE,   /* what a block holds, moved inside it or mapped */
  PLAN_OF_CONTROL,    /* whether and how often other steps are done */
  PLAN_OF_PRODUCTS,   /* products, and the warps that copy for them */
  PLAN_OF_COMBINING   /* reduces and scans, also with other blocks */
} plan_step_family;

/* What a step costs a thread beside others, as jit/plan/cost counts it. */
typedef enum plan_step_cost {
  PLAN_FREE = 1,    /* nothing that is counted */
  PLAN_PER_ELEMENT, /* an instruction for each element of `out` that it makes */
  PLAN_PER_DROPPED, /* a select for each element that `in` has and `out` has not */
  PLAN_COUNTED      /* what cost.c counts of this kind */
} plan_step_cost;

/* Operands whose elements a step uses. What it takes of a value's layout alone is no use, nor is
 * what a loop carries. */
enum { PLAN_USES_IN = 1, PLAN_USES_WITH = 2, PLAN_USES_SECOND = 4 };

typedef struct plan_step_row {
  const char *name;
  uint8_t family; /* plan_step_family */
  uint8_t cost;   /* plan_step_cost */
  uint8_t uses;   /* of PLAN_USES_* */
  bool owns;      /* the `body` and `otherwise` steps behind it are its own */
  bool loops;     /* its body may be done more than once */
  bool warps;     /* all lanes of a warp do it at once */
  bool moves; /* it moves elements or maps them, one after the other: a thread holds little beside
                 what it moves */
  bool parts; /* lanes look for their elements by themselves, and may come apart */
  bool multiplies; /* by matrix instructions, where the target has them */
} plan_step_row;

/* NULL: there is no such kind. */
const plan_step_row *plan_step_row_of(int kind);

#endif
