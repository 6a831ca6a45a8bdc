/* One conversion to check and to time: two storages of one logical tensor. */
#ifndef LLRT_BENCHMARKS_CONVERSION_H
#define LLRT_BENCHMARKS_CONVERSION_H

#include <llrt/tensor.h>

#include <stdbool.h>
#include <stddef.h>

typedef struct conversion {
  char name[128]; /* "row_major->marlin_w4/4": the number is the element's bits */
  char from_name[48], to_name[48];
  llrt_dtype dtype;
  int rank;
  int64_t shape[LLRT_MAX_RANK];
  llrt_storage from, to;
  bool extra; /* not of the catalogue */
  /* Bytes that the buffers need, and that must be read and written: elements, and pads with a
   * value. */
  int64_t from_bytes, to_bytes, moved_bytes;
} conversion;

/* The type without a meaning of 4, 8, … 128 bits. */
llrt_dtype conversion_dtype(int width);

/* Fills the three numbers of bytes. Errors: as llrt_storage_bind. */
llrt_status conversion_measure(conversion *c);

/* Whether `destination`, which was filled with `poison` bytes, is what the conversion makes of
 * `source`: every element, every pad, and nothing else written. The places come from the
 * definition of a storage, evaluated axis by axis. Else says in why[size] what is wrong.
 * Precondition: no copies in either. */
bool conversion_check(const conversion *c, const void *source, const void *destination,
                      unsigned char poison, char *why, size_t size);

/* Sets touched[i] for every byte i that one side's elements (0: the source's) lie in, and clears
 * the others. Widths from 8 bits on; pads do not count. */
llrt_status conversion_touched(const conversion *c, int side, unsigned char *touched);

#endif
