/* Conversions whose extent along the outermost axis lies in device memory, and what they must give
 * for each count, in plain C. */
#ifndef LLRT_BENCHMARKS_GRAPH_CASE_H
#define LLRT_BENCHMARKS_GRAPH_CASE_H

#include <llrt/tensor.h>

#include <stdbool.h>
#include <stddef.h>

#define GRAPH_CASES 3

/* What the destination holds before: a byte. */
#define GRAPH_POISON 0xee

/* The offset in elements of inner element `inner` (row-major number) at outer position `position`.
 */
typedef int64_t graph_place(int64_t position, int64_t inner);

typedef struct graph_case {
  const char *name, *from, *to;
  graph_place *place_from, *place_to;
  llrt_dtype dtype;
  int rank;
  int64_t inner[LLRT_MAX_RANK - 1]; /* extents of the axes after the outermost */
  int64_t small, large;             /* limits of the outermost axis; `small` for checks alone */
  int64_t unit; /* the destination pads the outermost axis to multiples of so many, with zeros */
  bool paged;   /* the source's outermost axis goes through a block table */
} graph_case;

extern const graph_case graph_cases[GRAPH_CASES];

/* One case at one limit: both tensors in host memory. */
typedef struct graph_data {
  const graph_case *of;
  int64_t limit, inner; /* elements of one outer position */
  int64_t pool;         /* outer positions of the source */
  size_t element;       /* bytes */
  size_t source_bytes, destination_bytes;
  unsigned char *source;
  int32_t *
      table; /* paged: for each outer position a position of the pool; some -1, which are skipped */
} graph_data;

/* False when there is no memory; graph_data_fini in any event. */
bool graph_data_init(const graph_case *of, int64_t limit, uint64_t seed, graph_data *data);
void graph_data_fini(graph_data *data);

/* How many of the destination's elements differ from what `count` must leave there: the elements of
 * outer positions below count (negative counts as 0, too large as the limit), zeros up to the next
 * multiple of the unit, poison in all others and where the table says -1. */
int64_t graph_data_wrong(const graph_data *data, int64_t count, const unsigned char *destination);

#endif
