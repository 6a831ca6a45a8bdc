#include "tools/layout_draw.h"

#include "tools/layout_picture.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- cells ---- */

/* "w1 l13 r2": first letter and coordinate of every in-dim, major first, size-1 dims left out. */
static int format_label(const picture *p, uint64_t x, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int in = p->layout->n_in - 1; in >= 0; in--) {
    if (p->layout->in[in].bits == 0) continue;
    used += (size_t)snprintf(text + used, size - used, "%s%c%" PRIu64, used ? " " : "",
                             p->layout->in[in].name[0], layout_in_coordinate(p->layout, in, x));
  }
  return (int)used;
}

/* What the letters of a label stand for, and how many copies there are. */
static void print_key(FILE *stream, const picture *p) {
  const char *separator = "each cell: ";
  for (int in = p->layout->n_in - 1; in >= 0; in--) {
    if (p->layout->in[in].bits == 0) continue;
    fprintf(stream, "%s%c = %s", separator, p->layout->in[in].name[0], p->layout->in[in].name);
    separator = ", ";
  }
  if (picture_copies(p) > 0)
    fprintf(stream, "; every element has %.0f copies, the first is shown",
            ldexp(1, picture_copies(p)));
}

/* ---- text ---- */

/* Characters that the bits of in-dim `in` and its name take side by side; 0 for a dim of size 1. */
static int matrix_width(const llrt_layout *layout, int in) {
  int bits = layout->in[in].bits, name = (int)strlen(layout->in[in].name);
  if (bits == 0) return 0;
  return 2 * bits - 1 > name ? 2 * bits - 1 : name;
}

static void print_matrix_row(FILE *stream, const llrt_layout *layout, int row) {
  int column = 0, pad = 0;
  for (int in = 0; in < layout->n_in; in++) {
    int bits = layout->in[in].bits;
    if (bits == 0) continue;
    fprintf(stream, "%*s |", pad, "");
    for (int i = 0; i < bits; i++) fputs(layout->column[column++] >> row & 1 ? " 1" : " .", stream);
    pad = matrix_width(layout, in) - (2 * bits - 1);
  }
}

void layout_draw_matrix(FILE *stream, const llrt_layout *layout) {
  int pad = LLRT_NAME_BYTES + 4;
  for (int in = 0; in < layout->n_in; in++) {
    if (layout->in[in].bits == 0) continue;
    fprintf(stream, "%*s | %s", pad, "", layout->in[in].name);
    pad = matrix_width(layout, in) - (int)strlen(layout->in[in].name);
  }
  fputc('\n', stream);
  for (int out = 0; out < layout->n_out; out++) {
    for (int bit = 0; bit < layout->out[out].bits; bit++) {
      fprintf(stream, "%*s %3d", LLRT_NAME_BYTES, layout->out[out].name, bit);
      print_matrix_row(stream, layout, llrt_layout_out_shift(layout, out) + bit);
      fputc('\n', stream);
    }
  }
}

static void print_grid_page(FILE *stream, const picture *p, uint64_t page) {
  char label[LLRT_MAX_IN_DIMS * 24];
  uint64_t rows = UINT64_C(1) << p->row_bits, columns = UINT64_C(1) << p->column_bits, x;
  int widest = format_label(p, ~UINT64_C(0), label, sizeof label);
  int width = widest > 5 ? widest : 5;
  fprintf(stream, "%6s", "");
  for (uint64_t column = 0; column < columns; column++)
    fprintf(stream, " |%*" PRIu64, width, column);
  fputc('\n', stream);
  for (uint64_t row = 0; row < rows; row++) {
    fprintf(stream, "%6" PRIu64, row);
    for (uint64_t column = 0; column < columns; column++) {
      bool found = layout_inverse_find(&p->inverse, picture_output(p, page, row, column), 0, &x);
      if (found) format_label(p, x, label, sizeof label);
      fprintf(stream, " |%*s", width, found ? label : "-");
    }
    fputc('\n', stream);
  }
}

void layout_draw_grid(FILE *stream, const llrt_layout *layout) {
  picture p;
  picture_init(&p, layout);
  print_key(stream, &p);
  fputc('\n', stream);
  for (uint64_t page = 0; page < UINT64_C(1) << p.page_bits; page++) {
    picture_print_page(stream, &p, page, ":\n");
    print_grid_page(stream, &p, page);
  }
}
