/* Reduces and scans drawn at random. Types and elements are those of
 * tests/conformance/combine_random.h, what is right combine_reference.h says; shapes of rank up to
 * 8, storages, promises and memory are drawn here. */
#ifndef LLRT_TESTS_DRAW_COMBINE_H
#define LLRT_TESTS_DRAW_COMBINE_H

#include "memory.h"
#include "places.h"
#include "sides.h"
#include "tests/conformance/combine_random.h"

typedef struct combine_case {
  bool scan, keeps, values, exclusive, reverse;
  combine_kind kind; /* as it is asked for */
  combine_data data;
  int rank;
  int64_t shape[LLRT_MAX_RANK];
  uint32_t axes;    /* that are reduced; of a scan the one */
  uint32_t counted; /* bit a: the reduced axis a has a count in device memory */
  int32_t count[LLRT_MAX_RANK];
  draw_side side[3], other[2];
  bool has_other[2];
  int32_t route, context;
  bool tight[3];
  uint32_t promised;
  uint64_t data_seed, promise_seed;
} combine_case;

void combine_case_make(uint64_t seed, draw_speed speed, bool scan, combine_case *made);
/* The axes and extents that tensor t has: a result's reduced axes are dropped, or have one
 * position. Returns the rank. */
int combine_shape(const combine_case *of, int t, int64_t *shape);
int combine_case_edit(combine_case *of, int way); /* as convert_case_edit */
void combine_case_print(const combine_case *of, char *text, size_t size);
verdict combine_case_run(bench *at, const combine_case *of, int words);

#endif
