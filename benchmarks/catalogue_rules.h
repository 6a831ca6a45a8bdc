/* What the catalogue of conversions needs to know of each named storage: shapes. */
#ifndef LLRT_BENCHMARKS_CATALOGUE_RULES_H
#define LLRT_BENCHMARKS_CATALOGUE_RULES_H

typedef struct catalogue_rule {
  const char *name;
  const char
      *expression; /* with its parameters; {bits} and {N/bits} stand for numbers. NULL: the name */
  /* Extents, one an axis. *N is the axis that grows with the size of the tensor, in multiples of N.
   * `odd` has shapes that models have and that are no powers of two; NULL: the same. */
  const char *even, *odd;
  const char *widths; /* NULL: those of the storage of that name. Else a shape of its own, not of
                         the catalogue */
} catalogue_rule;

extern const catalogue_rule catalogue_rules[];
extern const int catalogue_rules_count;

/* Conversions between two storages that are neither row_major; `to` is given with its axes swapped
 * where `swapped`. */
typedef struct catalogue_pair {
  const char *from, *to;
  int swapped;
} catalogue_pair;

extern const catalogue_pair catalogue_pairs[];
extern const int catalogue_pairs_count;

/* Names of the conversions that are measured at 1 GiB, too. */
extern const char *const catalogue_large[];
extern const int catalogue_large_count;

#endif
