/* Grouped products made of seeds: grouped_case.h. */
#include "grouped_case.h"

#include <stdio.h>
#include <string.h>

static bool one_in(uint64_t *seed, int n) { return dot_random_below(seed, n) == 0; }

/* Rows of an expert: none, one, ends of tiles, any. */
static int draw_count(uint64_t *seed, int most) {
  static const int edges[] = {0, 0, 1, 1, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129};
  int count = one_in(seed, 2) ? edges[dot_random_below(seed, sizeof edges / sizeof *edges)]
                              : dot_random_below(seed, most);
  return count < most ? count : most - 1;
}

static void draw_counts(uint64_t *seed, int most, grouped_case *c) {
  bool many = one_in(seed, 12), alone = one_in(seed, 8), nobody = one_in(seed, 24);
  c->experts = many              ? 120 + dot_random_below(seed, GROUPED_EXPERTS - 120)
               : one_in(seed, 6) ? 1
                                 : 1 + dot_random_below(seed, 9);
  int all = dot_random_below(seed, c->experts);
  for (int e = 0; e < c->experts; e++)
    c->count[e] = alone && e != all ? 0 : many ? dot_random_below(seed, 3) : draw_count(seed, most);
  c->beyond = one_in(seed, 2) ? 0 : dot_random_below(seed, 20);
  if (!nobody) return;
  memset(c->count, 0, sizeof c->count);
  c->beyond = one_in(seed, 2);
}

/* Seldom no column, or nothing to sum. */
static void draw_emptiness(uint64_t *seed, dot_problem *p) {
  if (!one_in(seed, 12)) return;
  if (one_in(seed, 2)) p->n = 0;
  else p->k = 0;
}

/* What a grouped product does not have, or has for all experts. */
static void drop_roles(const grouped_case *c, dot_problem *p) {
  static const int of_k[] = {LLRT_DOT_SCALE_A, LLRT_DOT_ZERO_A, LLRT_DOT_SCALE_B, LLRT_DOT_ZERO_B};
  for (int i = 0; i < 4 && c->sums; i++) p->type[of_k[i]] = LLRT_DTYPE_NONE;
  if (c->sums) memset(p->group, 0, sizeof p->group);
  if (c->sums) memset(p->range, 0, sizeof p->range);
  p->n_batch = 0;
  p->shared[0] = p->shared[1] = p->in_place = p->twiddled = false;
  for (int r = 0; r < LLRT_DOT_ROLES; r++) p->storage[r][0] = 0;
  memset(p->shift, 0, sizeof p->shift);
}

void grouped_case_random(uint64_t seed, uint64_t rows, int most, grouped_case *c) {
  static const char turned[] = "storage(rank=3, digits=[dim1: rest, dim2: rest, dim0: rest])",
                    columns[] = "col_major";
  memset(c, 0, sizeof *c);
  c->sums = one_in(&seed, 5);
  bool packed = !c->sums && one_in(&seed, 3);
  (packed ? dot_problem_random_packed : dot_problem_random)(dot_random(&seed), most, &c->each);
  draw_emptiness(&seed, &c->each);
  drop_roles(c, &c->each);
  if (!packed || c->sums) c->each.packed = false;
  draw_counts(&rows, most, c);
  c->leading = one_in(&seed, 2);
  c->gather = !c->sums && one_in(&seed, 4) && llrt_dtype_bits(c->each.type[LLRT_DOT_A]) >= 8;
  c->scatter = !c->sums && one_in(&seed, 4);
  bool wide = llrt_dtype_bits(c->each.type[LLRT_DOT_B]) >= 8;
  c->pointers = !c->sums && one_in(&seed, 6) && wide && !c->each.packed;
  if (one_in(&seed, 4)) snprintf(c->storage[LLRT_DOT_A], DOT_STORAGE_TEXT, "%s", columns);
  if (one_in(&seed, 4) && !c->each.packed && !c->pointers)
    snprintf(c->storage[LLRT_DOT_B], DOT_STORAGE_TEXT, "%s", c->sums ? columns : turned);
  c->sorted = one_in(&seed, 4);
  if (one_in(&seed, 6) && !c->sums)
    snprintf(c->storage[LLRT_DOT_D], DOT_STORAGE_TEXT, "%s", columns);
}
