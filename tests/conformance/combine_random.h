/* Reduces and scans made of seeds: any types, shapes, axes, storages and elements that the library
 * takes. */
#ifndef LLRT_TESTS_COMBINE_RANDOM_H
#define LLRT_TESTS_COMBINE_RANDOM_H

#include "combine_reference.h"

/* What elements are drawn from. */
typedef struct combine_data {
  uint64_t seed;
  int few;       /* so many values, which stand beside each other again and again */
  bool any_code; /* floats: any numbers of their type, not only small multiples of 1/512 */
  int rare;      /* > 0: one in so many elements is special (of ANY and ALL: decides) */
  uint8_t kinds; /* bits: NaN, infinity, -infinity, 0, -0; special ones are of these */
} combine_data;

typedef struct combine_problem {
  combine_kind kind; /* NONE: the default */
  int rank;
  int64_t shape[4];
  uint32_t axes; /* reduces: 0: all; scans: the one */
  bool keeps, values, exclusive, reverse;
  int32_t count; /* > 0: so many positions along the first reduced axis, says device memory; < 0:
                    none */
  llrt_storage storage[3];
  int shift[3]; /* elements between an aligned address and the tensor */
  combine_data data;
} combine_problem;

/* most: bounds the number of elements. */
void combine_random_reduce(uint64_t seed, int64_t most, combine_problem *made);
void combine_random_scan(uint64_t seed, int64_t most, combine_problem *made);

/* An element's code; never a NaN's unless data says so. */
uint64_t combine_random_code(const combine_data *data, llrt_combiner op, llrt_dtype type,
                             uint64_t *seed);

/* The operation, its types and its shape. */
void combine_problem_title(const combine_problem *problem, const char *what, char *title,
                           size_t size);
/* Appends the storages to what a failed case says. */
void combine_say_storages(const combine_problem *problem, char *why, size_t size);

#endif
