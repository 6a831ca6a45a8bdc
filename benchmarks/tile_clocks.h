/* Clocks that the model of tiles (jit/plan/kernel/pace.h) gives to candidates of a file. */
#ifndef LLRT_BENCHMARKS_TILE_CLOCKS_H
#define LLRT_BENCHMARKS_TILE_CLOCKS_H

/* Prints a line for each line of the file ("-": of standard input), which fit_tiles.py --lines
 * writes: 16 numbers of the tile, M, N, K, shares of K, blocks without shares, turns of a tile.
 * Returns the exit status: 1 where the file cannot be read or a line has another form. */
int tile_clocks_print(const char *path);

#endif
