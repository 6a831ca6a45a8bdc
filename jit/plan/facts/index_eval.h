/* Indices of the tensors on numbers: what they choose, where their values lie, what they add. */
#ifndef LLRT_JIT_PLAN_FACTS_INDEX_EVAL_H
#define LLRT_JIT_PLAN_FACTS_INDEX_EVAL_H

#include "jit/plan/kernel/plan.h"

/* What a tensor's indices add at one position. */
typedef struct plan_index_terms {
  uint64_t columns; /* joins the XOR */
  int64_t sum;      /* joins the sum */
  void *base;       /* a pointer list's address; NULL: the tensor's own */
  bool valid;       /* every value is in range: memory may be touched */
  bool kept;        /* no value leaves the element out: it is written */
} plan_index_terms;

/* The out bits of space that belong to digits along any of the axes (bit a: axis a); those that
 * choose a value of one of the tensor's indices. */
uint64_t plan_axes_bits(const plan_kernel *kernel, unsigned axes);
uint64_t plan_selecting_bits(const plan_kernel *kernel, int tensor);

/* The digit that holds the lowest positions of an axis; -1: there is none. */
int plan_lowest_digit(const plan_kernel *kernel, int axis);

/* Whether elements with a value out of range are not moved. */
bool plan_leaves_out(const plan_index *index);
/* The same, and with them what other tensors have at these positions: a convert's. */
bool plan_leaves_out_all(const plan_index *index);
/* Whether a value out of range leaves a block nothing to do. */
bool plan_ends_block(const plan_index *index);

/* Whether a kernel's elements may lie beyond the axis's shape. */
bool plan_overhangs(const plan_kernel *kernel, int axis);

/* Where the index's value for these positions lies, in values; -1: beyond the last. */
int64_t plan_index_place(const plan_kernel *kernel, const plan_index *index,
                         const int64_t position[PLAN_MAX_DIGITS], const uint64_t *args,
                         int64_t unknown);

/* log2 consecutive values that a thread loads at once for an access by `value`, all of whose
 * elements lie inside the shape: position[j] is the register bit that moves the index's coordinate
 * by 2^j. */
int plan_index_vector(const plan_kernel *kernel, const plan_index *index, const plan_value *value,
                      int position[]);

/* Reads the value from memory, clamps it where asked to; whether it is in range. True beyond the
 * shape, where there are no values: an index says nothing of pads. */
bool plan_index_value(const plan_kernel *kernel, const plan_index *index,
                      const int64_t position[PLAN_MAX_DIGITS], const uint64_t *args,
                      int64_t *value);

/* What all indices of a tensor add; and, for the cost, with values unknown: `far` apart. */
void plan_index_terms_at(const plan_kernel *kernel, int tensor,
                         const int64_t position[PLAN_MAX_DIGITS], const uint64_t *args,
                         plan_index_terms *terms);
void plan_index_terms_far(const plan_kernel *kernel, int tensor,
                          const int64_t position[PLAN_MAX_DIGITS], int64_t far,
                          plan_index_terms *terms);

#endif
