/* What reduces and scans join, one element after the other: the reference of conformance_reduce.c
 * and conformance_scan.c. Integers, extremes and positions are known bit for bit, products of
 * powers of two as well; sums of floats within
 *
 *   joins * 2^-24 * sum |x|  (2^-53 in f64), and half a unit in the last place of the result,
 *
 * where joins bounds how often any element is added on its way. Where a product of some elements
 * leaves the accumulator's range the order decides: infinity, NaN and 0 are right then as well. */
#ifndef LLRT_TESTS_COMBINE_REFERENCE_H
#define LLRT_TESTS_COMBINE_REFERENCE_H

#include <llrt/llrt.h>

/* accumulate, to: NONE for what the library takes then, which combine_reference_resolve puts in. */
typedef struct combine_kind {
  llrt_combiner op;
  llrt_dtype from, accumulate, to;
} combine_kind;

/* Everything joined so far. Integers modulo 2^64, of sign-extended elements. */
typedef struct combine_joined {
  double sum, magnitude, product, best;
  double above, below; /* log2 of the greatest and the least product of some of them */
  uint64_t integer, whole_product, best_code;
  int64_t at, n; /* position of the best; how many */
  bool any, all;
} combine_joined;

/* Floats of 8 bits and more; integers without a sign. */
bool combine_is_float(llrt_dtype type);
bool combine_is_unsigned(llrt_dtype type);
/* MIN, MAX, ARGMIN, ARGMAX; ARGMIN, ARGMAX; ANY, ALL. */
bool combine_is_extreme(llrt_combiner op);
bool combine_is_arg(llrt_combiner op);
bool combine_is_truth(llrt_combiner op);

combine_kind combine_reference_resolve(llrt_combiner op, llrt_dtype from, llrt_dtype accumulate,
                                       llrt_dtype to);
combine_joined combine_nothing(void);
void combine_take(const combine_kind *kind, uint64_t code, int64_t position,
                  combine_joined *joined);
/* Whether `code`, of kind->to, is the result; and whether, of another type, it is the value beside
 * a position. */
bool combine_agrees(const combine_kind *kind, const combine_joined *joined, double joins,
                    uint64_t code);
bool combine_value_agrees(const combine_kind *kind, const combine_joined *joined, llrt_dtype type,
                          uint64_t code);

#endif
