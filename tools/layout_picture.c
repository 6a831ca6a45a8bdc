#include "tools/layout_picture.h"

#include <inttypes.h>
#include <string.h>

/* The in-dim of this name, else the first that is neither `taken` nor a group of threads; -1 where
 * there is none. */
static int choose_in(const llrt_layout *layout, const char *name, int taken) {
  int index = llrt_layout_in_index(layout, name);
  if (index >= 0) return index;
  for (int in = 0; in < layout->n_in; in++)
    if (in != taken && strcmp(layout->in[in].name, "warp") != 0 &&
        strcmp(layout->in[in].name, "block") != 0)
      return in;
  return -1;
}

void picture_init(picture *p, const llrt_layout *layout) {
  int rank = layout->n_out;
  *p = (picture){.layout = layout};
  layout_inverse_init(layout, &p->inverse);
  layout_axes(layout, p->axis);
  if (rank > 0) p->column_bits = layout->out[p->axis[rank - 1]].bits;
  if (rank > 1) p->row_bits = layout->out[p->axis[rank - 2]].bits;
  p->page_bits = llrt_layout_out_bits(layout) - p->row_bits - p->column_bits;
  int lane = llrt_layout_in_index(layout, "lane");
  if (lane < 0) lane = llrt_layout_in_index(layout, "laneid");
  p->number = choose_in(layout, "register", lane);
  p->shade = lane >= 0 ? lane : choose_in(layout, "lane", p->number);
}

uint64_t picture_output(const picture *p, uint64_t page, uint64_t row, uint64_t column) {
  uint64_t position[LLRT_MAX_OUT_DIMS] = {0}, y = 0;
  int rank = p->layout->n_out;
  if (rank > 0) position[rank - 1] = column;
  if (rank > 1) position[rank - 2] = row;
  for (int i = rank - 3; i >= 0; i--) {
    int bits = p->layout->out[p->axis[i]].bits;
    position[i] = page & ((UINT64_C(1) << bits) - 1);
    page >>= bits;
  }
  for (int i = 0; i < rank; i++)
    if (position[i]) y |= position[i] << llrt_layout_out_shift(p->layout, p->axis[i]);
  return y;
}

void picture_print_page(FILE *stream, const picture *p, uint64_t page, const char *tail) {
  int outer = p->layout->n_out - 2;
  uint64_t y = picture_output(p, page, 0, 0);
  for (int i = 0; i < outer; i++)
    fprintf(stream, "%s%s=%" PRIu64, i ? " " : "", p->layout->out[p->axis[i]].name,
            layout_out_coordinate(p->layout, p->axis[i], y));
  if (outer > 0) fputs(tail, stream);
}

uint64_t picture_group(const picture *p, uint64_t x) {
  uint64_t group = 0;
  for (int in = p->layout->n_in - 1; in >= 0; in--)
    if (in != p->number && in != p->shade && p->layout->in[in].bits)
      group = group << p->layout->in[in].bits | layout_in_coordinate(p->layout, in, x);
  return group;
}

int picture_group_bits(const picture *p) {
  int bits = 0;
  for (int in = 0; in < p->layout->n_in; in++)
    if (in != p->number && in != p->shade) bits += p->layout->in[in].bits;
  return bits;
}

const char *picture_axis_name(const picture *p, int which) {
  int axis = p->layout->n_out - 1 - which;
  return axis >= 0 ? p->layout->out[p->axis[axis]].name : "";
}

int picture_copies(const picture *p) { return p->inverse.n_free; }

void picture_print_escaped(FILE *stream, const char *text) {
  for (; *text; text++) {
    if (*text == '<') fputs("&lt;", stream);
    else if (*text == '>') fputs("&gt;", stream);
    else if (*text == '&') fputs("&amp;", stream);
    else fputc(*text, stream);
  }
}
