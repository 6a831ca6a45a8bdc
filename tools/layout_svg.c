/* A register layout as a drawing. */
#include "tools/layout_draw.h"
#include "tools/layout_picture.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
  CELL_HEIGHT = 30,
  CHARACTER = 8,    /* width of one in a cell */
  LEFT = 64,        /* of the grid: row numbers and the axis's name */
  HEAD = 34,        /* above a grid: column numbers and the axis's name */
  TITLE = 84,       /* above all: expression and legend */
  GROUP_NAMES = 90, /* in the legend */
  SWATCH = 52,
  MAX_SWATCHES = 16,
  RULE_EVERY = 8, /* cells between heavier lines */
  MIN_WIDTH = 480
};

/* Hue goes round by the golden angle, so that neighbouring groups differ; shade from light to
 * middle. */
static void print_colour(FILE *stream, uint64_t group, double shade) {
  fprintf(stream, "hsl(%.0f,70%%,%.0f%%)", fmod(210 + 137.5 * (double)group, 360), 91 - 28 * shade);
}

static int legend_groups(const picture *p) {
  int bits = picture_group_bits(p);
  return bits == 0 ? 0 : 1 << bits < MAX_SWATCHES ? 1 << bits : MAX_SWATCHES;
}

static double shade_of(const picture *p, uint64_t x) {
  if (p->shade < 0) return 0;
  double size = ldexp(1, p->layout->in[p->shade].bits);
  return size > 1 ? (double)layout_in_coordinate(p->layout, p->shade, x) / (size - 1) : 0;
}

static int digits(int bits) { return 1 + (int)(0.30103 * bits); }

static int cell_width(const picture *p) {
  int widest = 2;
  if (p->number >= 0) widest = digits(p->layout->in[p->number].bits);
  if (p->shade >= 0 && digits(p->layout->in[p->shade].bits) > widest)
    widest = digits(p->layout->in[p->shade].bits);
  if (digits(p->column_bits) > widest) widest = digits(p->column_bits);
  return widest * CHARACTER + 10;
}

/* The words that resting on a cell shows. */
static void print_hint(FILE *stream, const picture *p, uint64_t y, uint64_t x) {
  const llrt_layout *layout = p->layout;
  fputs("<title>", stream);
  for (int i = 0; i < layout->n_out; i++)
    fprintf(stream, "%s%s %" PRIu64, i ? ", " : "", layout->out[p->axis[i]].name,
            layout_out_coordinate(layout, p->axis[i], y));
  for (int in = layout->n_in - 1; in >= 0; in--)
    fprintf(stream, "%s%s %" PRIu64, in == layout->n_in - 1 ? ": " : ", ", layout->in[in].name,
            layout_in_coordinate(layout, in, x));
  fputs("</title>", stream);
}

static void print_number(FILE *stream, const picture *p, int in, uint64_t x, int middle, int line,
                         const char *class_name) {
  if (in >= 0 && p->layout->in[in].bits)
    fprintf(stream, "<text x=\"%d\" y=\"%d\"%s>%" PRIu64 "</text>", middle, line, class_name,
            layout_in_coordinate(p->layout, in, x));
}

static void print_cell(FILE *stream, const picture *p, uint64_t y, int left, int top, int width) {
  uint64_t x;
  bool found = layout_inverse_find(&p->inverse, y, 0, &x);
  fprintf(stream, "<g><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"", left, top, width,
          CELL_HEIGHT);
  if (found) print_colour(stream, picture_group(p, x), shade_of(p, x));
  else fputs("#fff", stream);
  fputs("\"/>", stream);
  if (found) {
    print_hint(stream, p, y, x);
    print_number(stream, p, p->shade, x, left + width / 2, top + 11, " class=\"s\"");
    print_number(stream, p, p->number, x, left + width / 2, top + 25, "");
  }
  fputs("</g>\n", stream);
}

static void print_rules(FILE *stream, const picture *p, int top, int width) {
  int rows = 1 << p->row_bits, columns = 1 << p->column_bits;
  int bottom = top + rows * CELL_HEIGHT, right = LEFT + columns * width;
  fputs("<path class=\"rule\" d=\"", stream);
  for (int i = 0; i < columns; i += RULE_EVERY)
    fprintf(stream, "M%d %dV%d", LEFT + i * width, top, bottom);
  for (int i = 0; i < rows; i += RULE_EVERY)
    fprintf(stream, "M%d %dH%d", LEFT, top + i * CELL_HEIGHT, right);
  fprintf(stream, "M%d %dV%dH%d\"/>\n", right, top, bottom, LEFT);
}

static void print_page(FILE *stream, const picture *p, uint64_t page, int top, int width) {
  int rows = 1 << p->row_bits, columns = 1 << p->column_bits;
  fprintf(stream, "<text x=\"%d\" y=\"%d\" class=\"k\">", LEFT, top - 20);
  picture_print_page(stream, p, page, "; ");
  fprintf(stream, "%s \xe2\x86\x92</text>\n", picture_axis_name(p, 0));
  if (p->layout->n_out > 1)
    fprintf(stream,
            "<text transform=\"translate(14 %d) rotate(-90)\" class=\"e\">\xe2\x86\x90 "
            "%s</text>\n",
            top, picture_axis_name(p, 1));
  for (int column = 0; column < columns; column++)
    fprintf(stream, "<text x=\"%d\" y=\"%d\" class=\"a\">%d</text>\n",
            LEFT + column * width + width / 2, top - 5, column);
  for (int row = 0; row < rows; row++) {
    fprintf(stream, "<text x=\"%d\" y=\"%d\" class=\"a e\">%d</text>\n", LEFT - 8,
            top + row * CELL_HEIGHT + 19, row);
    for (int column = 0; column < columns; column++)
      print_cell(stream, p, picture_output(p, page, (uint64_t)row, (uint64_t)column),
                 LEFT + column * width, top + row * CELL_HEIGHT, width);
  }
  print_rules(stream, p, top, width);
}

/* "block, warp": the in-dims of more than one position that choose the hue. */
static void print_group_names(FILE *stream, const picture *p) {
  const char *separator = "";
  for (int in = p->layout->n_in - 1; in >= 0; in--) {
    if (in == p->number || in == p->shade || p->layout->in[in].bits == 0) continue;
    fprintf(stream, "%s%s", separator, p->layout->in[in].name);
    separator = ", ";
  }
}

static void print_words(FILE *stream, const picture *p) {
  const char *separator = "";
  if (p->shade >= 0 && p->layout->in[p->shade].bits) {
    fprintf(stream, "small: %s", p->layout->in[p->shade].name);
    separator = "; ";
  }
  if (p->number >= 0 && p->layout->in[p->number].bits) {
    fprintf(stream, "%slarge: %s", separator, p->layout->in[p->number].name);
    separator = "; ";
  }
  if (picture_copies(p) > 0)
    fprintf(stream, "%severy element has %.0f copies, the first is shown", separator,
            ldexp(1, picture_copies(p)));
}

/* A bar of shades for each of the first groups. */
static void print_groups(FILE *stream, const picture *p) {
  int bits = picture_group_bits(p), groups = legend_groups(p), x = LEFT + GROUP_NAMES;
  fprintf(stream, "<text x=\"%d\" y=\"66\" class=\"k\">", LEFT);
  print_group_names(stream, p);
  fputs(":</text>\n", stream);
  for (int group = 0; group < groups; group++, x += SWATCH) {
    fprintf(stream, "<text x=\"%d\" y=\"66\" class=\"e\">%d</text>", x + 14, group);
    for (int step = 0; step < 4; step++) {
      fprintf(stream, "<rect x=\"%d\" y=\"54\" width=\"7\" height=\"14\" fill=\"",
              x + 18 + 7 * step);
      print_colour(stream, (uint64_t)group, step / 3.0);
      fputs("\"/>", stream);
    }
    fputc('\n', stream);
  }
  if (1 << bits > groups)
    fprintf(stream, "<text x=\"%d\" y=\"66\" class=\"k\">\xe2\x80\xa6</text>\n", x + 14);
}

/* What small and large numbers and colours are. */
static void print_legend(FILE *stream, const picture *p) {
  fprintf(stream, "<text x=\"%d\" y=\"44\" class=\"k\">", LEFT);
  print_words(stream, p);
  fputs("</text>\n", stream);
  if (picture_group_bits(p) > 0) print_groups(stream, p);
}

void layout_draw_svg(FILE *stream, const char *expression, const llrt_layout *layout) {
  picture p;
  picture_init(&p, layout);
  int cell = cell_width(&p), page = (CELL_HEIGHT << p.row_bits) + HEAD + 10;
  int width = LEFT + (cell << p.column_bits) + 16;
  int title = LEFT + 15 * (int)strlen(expression) / 2 + 16;
  int legend = LEFT + GROUP_NAMES + SWATCH * (legend_groups(&p) + 1);
  if (width < MIN_WIDTH) width = MIN_WIDTH;
  if (width < legend) width = legend;
  if (width < title) width = title;
  fprintf(stream,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
          "font-family=\"sans-serif\" font-size=\"12\" text-anchor=\"middle\">\n"
          "<style>rect{stroke:#fff;stroke-width:.6}.s{font-size:9px;fill:#333}"
          ".a{font-size:10px;fill:#555}.k{text-anchor:start}.e{text-anchor:end}"
          ".rule{stroke:#333;fill:none}.t{font:12px monospace;text-anchor:start}</style>\n"
          "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
          "<text x=\"%d\" y=\"22\" class=\"t\">",
          width, TITLE + (page << p.page_bits), LEFT);
  picture_print_escaped(stream, expression);
  fputs("</text>\n", stream);
  print_legend(stream, &p);
  for (int i = 0; i < 1 << p.page_bits; i++)
    print_page(stream, &p, (uint64_t)i, TITLE + HEAD + i * page, cell);
  fputs("</svg>\n", stream);
}
