/* How a tile over rows is cut up: accesses, elements of a thread, warps of a row (rows_sizes.c), as
 * rows_tile.c asks. Private to jit/plan/rows. */
#ifndef LLRT_JIT_PLAN_ROWS_ROWS_SIZES_H
#define LLRT_JIT_PLAN_ROWS_ROWS_SIZES_H

#include "jit/plan/rows/rows.h"

/* A tile in the making. */
typedef struct rows_tiler {
  rows *r;
  draft *d;
  int anchor;                          /* the tensor whose memory orders the tile */
  uint64_t reduced, used;              /* draft bits */
  int n_sorted, sorted[LLRT_MAX_BITS]; /* bits in the anchor's order */
  int n[3], at[3][LLRT_MAX_BITS];      /* bits of registers, lanes, warps */
  int vector, fewer; /* GPUs: log2 elements of the anchor's accesses, and by how many times fewer
                        warps a row has than it could */
  int cluster;       /* walked: log2 blocks that share a row */
  bool odd;          /* accesses are narrower because rows are not aligned */
} rows_tiler;

/* By how many times fewer elements, as a logarithm, a thread has where each takes many
 * instructions: a kernel's code, and so the time until it is compiled, is as long as a thread's
 * elements together.
 */
int rows_fewer_elements(const rows *r);

/* log2 warps of a row of 2^bits elements beyond its lanes': what its registers leave. Warps come
 * before registers, so that registers which lie beyond the end of a row do so in all of them, and
 * take no work. */
int rows_row_warps(const rows_tiler *w, int bits);

/* Elements of a row of one known axis that is one digit; 0: it is none. */
int64_t rows_known_row(const rows_tiler *w);

/* Of resident rows: w->vector so that little is wasted; rather than narrower accesses half the
 * warps, w->fewer, whose threads have twice the elements. */
void rows_choose_resident(rows_tiler *w);

/* Whether accesses of 2^vector elements are not aligned in all rows. */
bool rows_are_odd(const rows_tiler *w, int vector);

/* log2 elements of accesses where those of 2^widest are not aligned in all rows: a word, or what
 * all rows are aligned to. Lanes beside each other then have words beside each other, and what lies
 * across two of them is shifted once, not for each access and each end of it. */
int rows_odd_vector(const rows_tiler *w, int widest);

/* How rows are walked: log2 elements of a thread in a turn and warps of a block; r->walk_blocks.
 *
 * In blocks of a multiprocessor that has room for several, one loads while others work; they have
 * few registers, and so half the elements. Where they cannot keep most of the row, which several
 * walks want, one block keeps as much as it can. Rows that are not aligned want more registers for
 * each element: of these a thread has half as many, and a block that is alone twice the warps. So
 * has one of a row whose elements, and one weight's at most, the registers of so many threads hold:
 * of its warps more work while others wait. Blocks of a cluster share a row of which a value stays
 * that is made of several tensors, if it has no room in one: w->cluster. */
void rows_choose_walk(rows_tiler *w, int *bits, int *warps);

#endif
