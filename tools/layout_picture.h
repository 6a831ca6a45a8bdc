/* A layout seen as pages of rows and columns: what its pictures in text, SVG and HTML share. */
#ifndef LLRT_TOOLS_LAYOUT_PICTURE_H
#define LLRT_TOOLS_LAYOUT_PICTURE_H

#include "tools/layout_inverse.h"

#include <stdio.h>

/* Columns are the last axis, rows the one before it, pages the others. */
typedef struct picture {
  const llrt_layout *layout; /* borrowed */
  layout_inverse inverse;
  int axis[LLRT_MAX_OUT_DIMS]; /* out-dim of each logical axis */
  int row_bits, column_bits, page_bits;
  /* In-dims by their part in a cell, -1 where there is none: `number` (register, else the first
   * that is no warp or block) is written, `shade` (lane, else the next) above it; all others
   * together choose the hue. */
  int number, shade;
} picture;

void picture_init(picture *p, const llrt_layout *layout);

/* The flat output at position (page, row, column); page counts the outer axes, the last fastest. */
uint64_t picture_output(const picture *p, uint64_t page, uint64_t row, uint64_t column);

/* "dim0=1 dim1=0": the outer axes of a page, then `tail`; nothing for rank <= 2. */
void picture_print_page(FILE *stream, const picture *p, uint64_t page, const char *tail);

/* The hue of flat input x: its coordinates in all in-dims but `number` and `shade`, end to end. */
uint64_t picture_group(const picture *p, uint64_t x);
int picture_group_bits(const picture *p);

/* The name of the axis along columns (0) or rows (1); "" where there is none. */
const char *picture_axis_name(const picture *p, int which);

/* log2 of the copies that every element has. */
int picture_copies(const picture *p);

/* Writes text with &, < and > as entities. */
void picture_print_escaped(FILE *stream, const char *text);

#endif
