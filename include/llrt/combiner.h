/* Combiners: what a reduce or a scan joins two values with. */
#ifndef LLRT_COMBINER_H
#define LLRT_COMBINER_H

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers are part of saved kernels.
 * Sums and products of integers are modulo 2^n of the type they are made in. MIN and MAX are
 * minimum and maximum of IEEE 754-2019: NaN where any value is NaN, -0 below +0. ARGMIN and ARGMAX
 * give the position of the first NaN, else of the first value that equals the extreme one (-0
 * equals +0). ANY and ALL take what is not zero, NaN included, for true. */
typedef enum llrt_combiner {
  LLRT_COMBINE_SUM = 1,
  LLRT_COMBINE_PROD = 2,
  LLRT_COMBINE_MIN = 3,
  LLRT_COMBINE_MAX = 4,
  LLRT_COMBINE_ARGMIN = 5,
  LLRT_COMBINE_ARGMAX = 6,
  LLRT_COMBINE_ANY = 7,
  LLRT_COMBINE_ALL = 8
} llrt_combiner;

#ifdef __cplusplus
}
#endif
#endif
