/* Products drawn at random: types, scales, edges and elements as tests/dot/dot_problem.h draws
 * them, groups, batches, storages, promises and memory as they are drawn here; what is right
 * dot_reference.h says. */
#ifndef LLRT_TESTS_DRAW_DOT_H
#define LLRT_TESTS_DRAW_DOT_H

#include "memory.h"
#include "places.h"
#include "sides.h"
#include "tests/dot/dot_problem.h"

typedef struct dot_case {
  dot_problem problem; /* its storages where the case has none of its own */
  bool lies[LLRT_DOT_ROLES];
  draw_side side[LLRT_DOT_ROLES]; /* where `lies`; addresses of all */
  draw_side other[2];             /* A, D in other words */
  bool has_other[2];
  int32_t route, context;
  uint32_t tight, promised; /* a bit a role; 4 bits a tensor */
  uint64_t data_seed, promise_seed;
} dot_case;

void dot_case_make(uint64_t seed, draw_speed speed, bool packed, dot_case *made);
int dot_case_edit(dot_case *of, int way);
void dot_case_print(const dot_case *of, char *text, size_t size);
verdict dot_case_run(bench *at, const dot_case *of, int words);

/* Which roles have a tensor. */
static inline bool dot_case_has(const dot_case *of, int role) {
  return of->problem.type[role] || role == LLRT_DOT_D;
}

#endif
