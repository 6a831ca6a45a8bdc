/* Conversions drawn at random: what they are, what they have to leave in memory, running them,
 * making them smaller. */
#ifndef LLRT_TESTS_DRAW_CONVERT_H
#define LLRT_TESTS_DRAW_CONVERT_H

#include "memory.h"
#include "places.h"
#include "sides.h"

#include "runtime/described.h"

/* An indirection, but for the addresses of its values and of its counter. */
typedef struct drawn_index {
  llrt_index index;
  int32_t bad;   /* so many in 16 values are out of range */
  int32_t order; /* 0: any values, 1: ascending, 2: few, again and again */
  uint64_t seed;
} drawn_index;

typedef struct convert_case {
  int rank;
  int64_t shape[LLRT_MAX_RANK];
  int64_t most;       /* places of a side */
  llrt_dtype type[3]; /* of the source, the destination, the scales (NONE: there are none) */
  int32_t n_maps;
  llrt_map maps[LLRT_MAX_MAPS];
  draw_side side[3], other[2];
  bool has_other[2]; /* in other words, on a kept context: `other` before `side`, and then the other
                        way round */
  drawn_index index[2][LLRT_MAX_INDICES];
  int32_t n_indices[2];
  int32_t
      gather; /* 1 + llrt_gather_form: the one index is a gather's (on the source) or scatter's */
  int64_t layers[2]; /* of a pointer list: allocations, as many as there are */
  uint32_t counted;  /* bit a: axis a has a count in device memory */
  int32_t count[LLRT_MAX_RANK], count_sides; /* bit s: on side s */
  int32_t route, context;                    /* draw_ROUTE, draw_CONTEXT */
  bool in_place, tight[3];
  int32_t data; /* elements: 0 any codes, 1 small numbers, 2 numbers at edges */
  uint32_t
      promised; /* bit 4 t: addresses of tensor t; 4 t + 1: its shape; + 2: strides; + 3: indices */
  uint64_t data_seed, promise_seed;
} convert_case;

/* Draws case `seed`. Of a size that the device runs in time. */
void convert_case_make(uint64_t seed, draw_speed speed, convert_case *made);
/* The same for llrt_gather and its like; scatter: for llrt_scatter_into. */
void convert_case_make_gather(uint64_t seed, draw_speed speed, bool scatter, convert_case *made);
/* The extents that side s (2: the scales) sees. */
void convert_seen_shape(const convert_case *of, int s, int64_t *shape);
/* Whether sides suit, and everything else that the headers ask for. */
bool convert_case_suits(const convert_case *of);
/* Makes the case smaller by way `edit`; 0: there is no such way, < 0: it changes nothing or does
 * not suit, > 0: done. */
int convert_case_edit(convert_case *of, int edit);
/* What the case is, for people: in one line. */
void convert_case_print(const convert_case *of, char *text, size_t size);

/* Runs it on the device, compares all memory, and says in at->why what is wrong. words: side s is
 * `other` where bit s is set. */
verdict convert_case_run(bench *at, const convert_case *of, int words);

/* ---- shared by the reference and the run ---- */

typedef struct convert_tensor {
  places at;
  llrt_storage storage;
  llrt_tensor tensor;
  llrt_index index[LLRT_MAX_INDICES];
  memory memory, values[LLRT_MAX_INDICES], report[LLRT_MAX_INDICES];
  int64_t *value[LLRT_MAX_INDICES]; /* numbers: of a pointer list the allocation */
  int64_t n_values[LLRT_MAX_INDICES];
  int64_t layer_bytes; /* between the allocations of a pointer list */
} convert_tensor;

typedef struct convert_run {
  bench *at;
  const convert_case *of;
  convert_tensor tensor[3];
  memory counts[LLRT_MAX_RANK];
  int64_t end[LLRT_MAX_RANK]; /* elements along each axis, the counts reckoned with */
  bool empty;
  op_description promised; /* where promises were drawn by number */
  llrt_op *op;             /* and what was prepared under them */
} convert_run;

/* Number `at` of the values for coordinates. */
int64_t convert_value_at(const llrt_index *index, int rank, const int64_t *coords);
/* Fills the values of side s; where it is written, so that no two elements get one place. False: no
 * memory. */
bool convert_values_make(convert_run *run, int s);
/* Which side the index of a gather or scatter stands on. */
static inline int convert_gather_side(const convert_case *of) { return of->n_indices[1] ? 1 : 0; }
llrt_convert_params convert_params_of(const convert_run *run);
/* Copies the bytes of an allocated result to the destination's memory, and frees it. */
verdict convert_take_result(convert_run *run, llrt_tensor *allocated);
/* convert_gather.c: the calls of llrt/gather.h. */
verdict convert_gather_call(convert_run *run);
/* Makes side s's tensor the view that llrt_gather_view gives; `view` is the caller's, and outlives
 * the tensor. */
verdict convert_gather_view(convert_run *run, llrt_view *view);

/* Puts into the images of the destination and of counters what the conversion has to leave there.
 */
bool convert_reference(convert_run *run);

#define TRY_VERDICT(call) \
  do { \
    verdict tried = (call); \
    if (tried != VERDICT_RIGHT) return tried; \
  } while (0)

#endif
