/* Pictures of a layout: text, SVG, HTML. */
#ifndef LLRT_TOOLS_LAYOUT_DRAW_H
#define LLRT_TOOLS_LAYOUT_DRAW_H

#include <llrt/layout.h>

#include <stdio.h>

/* Of a tensor that is drawn, and of the places that hold it: 65536 elements make a picture of some
 * MB. */
#define LAYOUT_DRAW_MAX_BITS 16
#define LAYOUT_DRAW_MAX_IN_BITS 20

/* The matrix over F2: one row an out bit, one column an in bit, low bits first. */
void layout_draw_matrix(FILE *stream, const llrt_layout *layout);

/* One cell an element with the coordinates that hold it; the last axis runs to the right, the one
 * before it down, and outer axes follow as further grids. Precondition: at most
 * LAYOUT_DRAW_MAX_BITS out bits and LAYOUT_DRAW_MAX_IN_BITS in bits; the same below. */
void layout_draw_grid(FILE *stream, const llrt_layout *layout);

/* The same as a drawing: hue by warp and block, shade by lane, the register's number in the cell;
 * resting the pointer on a cell shows it in words. */
void layout_draw_svg(FILE *stream, const char *expression, const llrt_layout *layout);

/* Whether the layout is a memory's: places are `offset` (or `m`), possibly in several blocks. */
bool layout_is_memory(const llrt_layout *layout);

/* A memory's layout as lines of 32 banks of 4 bytes, elements having element_bits (4 to 128) bits:
 * each bank shows the element that begins there, hue by 16-byte vector along the contiguous axis. A
 * warp's reads along rows and columns are counted, the first eight lanes of the column outlined. */
void layout_draw_banks(FILE *stream, const char *expression, const llrt_layout *layout,
                       int element_bits);

/* A page that stands alone: resting the pointer on an element shows every owner; its controls step
 * through registers, lanes and warps. */
void layout_draw_html(FILE *stream, const char *expression, const llrt_layout *layout);

#endif
