/* Grouped products as data: a product for each expert (dot_problem.h), put together as one, run,
 * and each expert's part of the result compared with what its product should be. Over the public
 * API alone. */
#ifndef LLRT_TESTS_DOT_GROUPED_CASE_H
#define LLRT_TESTS_DOT_GROUPED_CASE_H

#include "dot_problem.h"

#define GROUPED_EXPERTS 300

typedef struct grouped_case {
  dot_problem each; /* of an expert: m (sums: k) is its count, whatever it says */
  bool sums;        /* d[e] = a[:, e's] b[e's, :], not d[e's] = a[e's] b[e] */
  int experts;
  int count[GROUPED_EXPERTS];
  int beyond;           /* rows behind the last expert's */
  bool leading;         /* the ends have a leading zero */
  bool sorted;          /* no ends: each row has its expert's number */
  bool gather, scatter; /* rows: a, d are indexed; some of d's rows are nobody's */
  bool pointers;        /* rows: b is a list of pointers */
  bool spoilt;          /* ends decrease, are negative, past the last row: nothing may fault */
  int64_t promised[2];  /* prepared: the least and most rows of all experts; both 0: as it is */
  char storage[3][DOT_STORAGE_TEXT]; /* of a, d, b, by role; "": row_major */
} grouped_case;

typedef enum grouped_result { GROUPED_RIGHT, GROUPED_WRONG, GROUPED_REFUSED } grouped_result;

/* Runs it on the device, whose memory is the host's or copied to; by the one-line call, or prepared
 * (`prepared`). why[size]: what is wrong, or why it was refused (UNSUPPORTED). */
grouped_result grouped_case_run(const grouped_case *c, uint64_t seed, llrt_device *device,
                                bool prepared, char *why, size_t size);

/* A problem of seeded types, storages and edges, and of experts and counts that `rows` draws, which
 * kernels do not know; most: extents are below it. */
void grouped_case_random(uint64_t seed, uint64_t rows, int most, grouped_case *made);

/* The case in a line. */
void grouped_case_title(const grouped_case *c, char *title, size_t size);

#endif
