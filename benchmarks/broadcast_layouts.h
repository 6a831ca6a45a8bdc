/* Layouts of a matrix over warps whose places hold copies where it is small: those of the paper's
 * table 3. */
#ifndef LLRT_BENCHMARKS_BROADCAST_LAYOUTS_H
#define LLRT_BENCHMARKS_BROADCAST_LAYOUTS_H

#include <stdint.h>

enum { BROADCAST_TEXT = 1200, BROADCAST_LAYOUTS = 40 };

typedef struct broadcast_layout {
  const char *kind;          /* "blocked", "mma", "mma input", "sliced blocked", ..., "custom" */
  char text[BROADCAST_TEXT]; /* for llrt_layout_parse with the shape */
} broadcast_layout;

/* Layouts of rows x columns elements over `warps` warps of 32 lanes, all powers of two; of one kind
 * after the other. Returns how many, at most BROADCAST_LAYOUTS. */
int broadcast_layouts(int64_t rows, int64_t columns, int warps, broadcast_layout *list);

#endif
