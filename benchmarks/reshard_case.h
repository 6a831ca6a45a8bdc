/* What `llrt-bench reshard` moves: shardings, shapes and elements. Every failure ends the program.
 */
#ifndef LLRT_BENCHMARKS_RESHARD_CASE_H
#define LLRT_BENCHMARKS_RESHARD_CASE_H

#include <llrt/reshard.h>

#include <stdbool.h>
#include <stdint.h>

/* Over which ranks a side lies. */
typedef enum reshard_ranks {
  RESHARD_ALL,        /* mesh(a=n) */
  RESHARD_IN_TWO,     /* mesh(dp=2, a=n/2) */
  RESHARD_FIRST_HALF, /* mesh(a=n/2), of ranks 0 to n/2 - 1 */
  RESHARD_LAST_HALF
} reshard_ranks;

typedef struct reshard_case {
  const char *name, *source, *destination; /* without meshes */
  int rank;
  llrt_dtype to; /* from bf16 */
  reshard_ranks from_ranks, to_ranks;
  int64_t group; /* positions of the last axis that share a scale, in f32, which lie as the source
                    does; 0: nothing is scaled */
} reshard_case;

extern const reshard_case reshard_cases[];
extern const int reshard_case_count;

typedef struct reshard_problem {
  const reshard_case *c;
  llrt_sharding source, destination, scale;
  int64_t shape[LLRT_MAX_RANK], scale_shape[LLRT_MAX_RANK];
  int ranks;
  uint64_t seed;
} reshard_problem;

/* Of a tensor of which each part of the source has `bytes` bytes, about. false: not for so many
 * ranks. */
bool reshard_problem_make(const reshard_case *c, int ranks, int64_t bytes, uint64_t seed,
                          reshard_problem *out);

/* Of a rank's part; 0: it has none. */
int64_t reshard_problem_bytes(const reshard_problem *p, bool destination, int rank);

/* That go from one rank to another, in the narrower type; what the receiver has a copy of does not.
 */
int64_t reshard_problem_crossing(const reshard_problem *p, int from, int to);

/* Of the rank that sends, or receives, most. */
int64_t reshard_problem_busiest(const reshard_problem *p);

/* The rank's scales, malloc'ed, and their bytes; NULL, and 0, where it has none. */
float *reshard_problem_scales(const reshard_problem *p, int rank, size_t *bytes);

/* A part of the source on the host, and how many elements of one of the destination are wrong. */
void reshard_problem_fill(const reshard_problem *p, int rank, uint8_t *part);
int64_t reshard_problem_compare(const reshard_problem *p, int rank, const uint8_t *part);

#endif
