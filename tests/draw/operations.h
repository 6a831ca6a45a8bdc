/* The operations that are drawn, as one table. */
#ifndef LLRT_TESTS_DRAW_OPERATIONS_H
#define LLRT_TESTS_DRAW_OPERATIONS_H

#include "memory.h"
#include "weights.h"

typedef struct draw_operation {
  const char *name;
  size_t bytes; /* of a case */
  void (*make)(uint64_t seed, draw_speed speed, void *made);
  int (*edit)(void *of, int way); /* see convert_case_edit */
  void (*print)(const void *of, char *text, size_t size);
  verdict (*run)(bench *at, const void *of, int words);
  int (*context)(const void *of); /* draw_CONTEXT */
  int (*words)(
      const void *of); /* of CONTEXT_WORDS: which sides are in other words first; 0: none */
  bool is_planned;     /* also without a device, on "plan:TARGET" */
} draw_operation;

/* Entry i of draw_OPERATION. */
const draw_operation *draw_operation_at(int i);
int draw_operation_named(const char *name); /* -1: there is none */

/* Whether the device is one that plans are interpreted for, "plan:TARGET". */
bool draw_is_plan(const char *device);
bool draw_serves(const char *device, int operation);

/* Which operation case `number` of a seed is on the device, unless `only` (>= 0) says so, and the
 * seed of its own. Operations that the device does not serve are drawn again. */
int draw_case_of(const char *device, uint64_t seed, uint64_t number, int only, uint64_t *own);

#endif
