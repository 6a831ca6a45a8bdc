/* Forms inside a block drawn at random: conversions, casts, gathers, reductions, scans and products
 * of a tile that is in registers (jit/probe), by layouts of registers, lanes, warps and blocks.
 * They have no public call: llrt_draws_plan alone has them. */
#ifndef LLRT_TESTS_DRAW_TILE_H
#define LLRT_TESTS_DRAW_TILE_H

#include "memory.h"
#include "weights.h"

typedef struct tile_case {
  int32_t form;     /* draw_TILE */
  llrt_layout a, b; /* from and to; of a reduction and a scan where elements are combined (a, b) */
  llrt_dtype type, other; /* of the elements; of a cast what they are in b, of a dot the sums' */
  int32_t axis, combiner, exchange, turns, tiles;
  bool exclusive, reverse;
  int32_t mnk[3], warps; /* of a dot: log2 */
  bool placed;           /* of a dot: a, b are the layouts of A, B; else as memory likes it */
  int32_t address;       /* multiples of 16 bytes behind an aligned one */
  uint64_t seed;
} tile_case;

/* Each is missing from programs without jit/probe. */
void tile_case_make(uint64_t seed, draw_speed speed, void *made) __attribute__((weak));
int tile_case_edit(void *of, int way) __attribute__((weak));
void tile_case_print(const void *of, char *text, size_t size) __attribute__((weak));
verdict tile_case_run(bench *at, const void *of, int words) __attribute__((weak));

#endif
