/* Pairs of distributed layouts of one tile, for tests of the exchange. */
#ifndef LLRT_TESTS_PLAN_TILE_PAIRS_H
#define LLRT_TESTS_PLAN_TILE_PAIRS_H

#include "jit/plan/kernel/plan.h"

#define TILE_ROWS_4 \
  "blocked(size_per_thread=[1,4], threads_per_warp=[4,8], warps_per_cta=[4,1], order=[1,0])"
#define TILE_COLUMNS_4 \
  "blocked(size_per_thread=[4,1], threads_per_warp=[8,4], warps_per_cta=[1,4], order=[0,1])"

int tile_pair_count(void);
/* Layouts of pair i (asserts that they parse); its name. */
const char *tile_pair_make(int i, llrt_layout *a, llrt_layout *b);

/* Pairs of layouts with blocks; *local: no block reads what another holds. */
int tile_block_pair_count(void);
const char *tile_block_pair_make(int i, llrt_layout *a, llrt_layout *b, bool *local);
/* A layout of 512 elements (1024 where it names 512) by its in-dims; registers 1 and 2, but after
 * an X those that follow it. */
void tile_parse_blocks(const char *text, llrt_layout *layout);

/* 2^registers x 2^lanes x 2^warps places of a one-dimensional tile: a random bit permutation or
 * invertible matrix; copies: one lane bit and one warp bit hold copies, two more register bits make
 * up for them. */
void tile_random_layout(uint64_t *seed, int registers, int lanes, int warps, bool copies,
                        bool permutation, llrt_layout *layout);

/* 2^blocks of the warps are blocks, by a permutation or a matrix. */
void tile_random_blocks(uint64_t *seed, int registers, int lanes, int warps, int blocks,
                        bool permutation, llrt_layout *layout);

/* The same with permuted bits, of which so many lane bits, wherever they are, hold copies. */
void tile_random_copies(uint64_t *seed, int registers, int lanes, int warps, int copies,
                        llrt_layout *layout);

/* Runs the kernel in the interpreter over a few tiles and compares destination with source. The
 * middle of a conversion that is wrong both ways would pass: the interpreter moves elements by
 * their coordinates, so it cannot be. */
void tile_execute(const plan_kernel *kernel, const char *what);

#endif
