/* A shared memory's layout as lines of banks, and what a warp pays to read its rows and columns. */
#include "tools/layout_draw.h"
#include "tools/layout_picture.h"

#include <llrt/layout_questions.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
  BANKS = 32,
  BANK_BITS = 32,
  VECTOR_BITS = 128, /* of a lane's access */
  LANE_BITS = 5,
  OUTLINED = 8, /* lanes that are served together when each reads 16 bytes */
  CELL_HEIGHT = 20,
  CHARACTER = 6,
  LEFT = 64,
  TOP = 128,
  MIN_WIDTH = 760 /* for the words above */
};

/* A memory as a picture: one in-dim of elements, and the two axes that a warp walks. */
typedef struct memory {
  const llrt_layout *layout;   /* its elements' in-dim is `offset` */
  int axis[LLRT_MAX_OUT_DIMS]; /* out-dim of each logical axis */
  int element_bits;
  int offset_shift, offset_bits; /* of the in word */
  int along, across;             /* out-dims: contiguous, and the other; -1 where there is none */
  int vector_bits;               /* log2 of the elements of a lane's access */
} memory;

static int memory_dim(const llrt_layout *layout) {
  int index = llrt_layout_in_index(layout, "offset");
  return index >= 0 ? index : llrt_layout_in_index(layout, "m");
}

bool layout_is_memory(const llrt_layout *layout) {
  int index = memory_dim(layout);
  for (int in = 0; in < layout->n_in; in++)
    if (in != index && strcmp(layout->in[in].name, "block") != 0) return false;
  return index >= 0;
}

/* The out-dim that the first offset bit walks, else the last axis. */
static int contiguous_dim(const memory *m) {
  const llrt_layout *layout = m->layout;
  for (int out = 0; m->offset_bits && out < layout->n_out; out++)
    if (layout_out_coordinate(layout, out, layout->column[m->offset_shift])) return out;
  return layout->n_out ? m->axis[layout->n_out - 1] : -1;
}

static int log2_of(int size) {
  int bits = 0;
  while (1 << bits < size) bits++;
  return bits;
}

static void memory_init(memory *m, const llrt_layout *layout, int element_bits) {
  int index = memory_dim(layout);
  *m = (memory){.layout = layout, .element_bits = element_bits, .across = -1};
  layout_axes(layout, m->axis);
  m->offset_shift = llrt_layout_in_shift(layout, index);
  m->offset_bits = layout->in[index].bits;
  m->along = contiguous_dim(m);
  for (int i = 0; i < layout->n_out; i++)
    if (m->axis[i] != m->along) m->across = m->axis[i];
  m->vector_bits = log2_of(VECTOR_BITS / element_bits);
  int all = m->along >= 0 ? layout->out[m->along].bits : 0;
  if (m->vector_bits > all) m->vector_bits = all;
}

/* The flat output of the element at `offset` in block 0. */
static uint64_t element_at(const memory *m, int64_t offset) {
  return llrt_layout_apply_flat(m->layout, (uint64_t)offset << m->offset_shift);
}

/* ---- what a warp reads ---- */

/* Where the vector of lane 2^bit begins, as a flat output: lanes run along dim `first` from bit
 * `from` on, then along `second`; lanes past both repeat. */
static uint64_t lane_bit_output(const memory *m, int bit, int first, int from, int second) {
  const llrt_layout *layout = m->layout;
  int room = first >= 0 ? layout->out[first].bits - from : 0;
  if (bit < room) return UINT64_C(1) << (llrt_layout_out_shift(layout, first) + from + bit);
  bit -= room;
  int start = second == m->along ? m->vector_bits : 0;
  if (second < 0 || start + bit >= layout->out[second].bits) return 0;
  return UINT64_C(1) << (llrt_layout_out_shift(layout, second) + start + bit);
}

/* Registers hold one vector; lanes follow rows or columns. */
static llrt_layout access_layout(const memory *m, bool columns) {
  llrt_layout access = llrt_layout_empty();
  llrt_layout_add_in(&access, "register", m->vector_bits);
  llrt_layout_add_in(&access, "lane", LANE_BITS);
  for (int out = 0; out < m->layout->n_out; out++)
    llrt_layout_add_out(&access, m->layout->out[out].name, m->layout->out[out].bits);
  for (int i = 0; i < m->vector_bits; i++)
    access.column[i] = UINT64_C(1) << (llrt_layout_out_shift(m->layout, m->along) + i);
  for (int i = 0; i < LANE_BITS; i++)
    access.column[m->vector_bits + i] =
        columns ? lane_bit_output(m, i, m->across, 0, m->along)
                : lane_bit_output(m, i, m->along, m->vector_bits, m->across);
  return access;
}

static void print_access(FILE *stream, const memory *m, bool columns, int line) {
  llrt_layout access = access_layout(m, columns);
  llrt_bank_report report = {0};
  if (m->along < 0 ||
      llrt_layout_bank_conflicts(&access, m->layout, m->element_bits, NULL, &report) != LLRT_OK)
    return;
  const char *name = m->layout->out[columns ? m->across : m->along].name;
  double bytes = (double)report.vector * m->element_bits / 8;
  fprintf(stream,
          "<text x=\"%d\" y=\"%d\" class=\"k\">32 lanes along %s, %g bytes each: %d wavefronts, %d "
          "without conflicts%s</text>\n",
          LEFT, line, name, bytes, report.wavefronts, report.min_wavefronts,
          report.instructions > 1 ? "; several instructions" : "");
}

/* ---- drawing ---- */

/* Elements that begin in one cell: those of a bank, or one where it is wider. */
static int cell_elements(const memory *m) {
  return m->element_bits < BANK_BITS ? BANK_BITS / m->element_bits : 1;
}

static int line_cells(const memory *m) {
  return m->element_bits > BANK_BITS ? BANKS * BANK_BITS / m->element_bits : BANKS;
}

/* "3,16": a logical coordinate, the axes in order. */
static int format_coords(const memory *m, uint64_t y, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; i < m->layout->n_out; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64, i ? "," : "",
                             layout_out_coordinate(m->layout, m->axis[i], y));
  return (int)used;
}

/* Hue by vector along the contiguous axis, shade by the other. */
static void print_cell_colour(FILE *stream, const memory *m, uint64_t y) {
  const llrt_layout *layout = m->layout;
  uint64_t at = m->along < 0 ? 0 : layout_out_coordinate(layout, m->along, y);
  uint64_t vector = at >> m->vector_bits;
  uint64_t other = m->across < 0 ? 0 : layout_out_coordinate(layout, m->across, y);
  double size = m->across < 0 ? 1 : ldexp(1, layout->out[m->across].bits);
  fprintf(stream, "hsl(%.0f,70%%,%.0f%%)", fmod(210 + 137.5 * (double)vector, 360),
          91 - 26 * (double)other / size);
}

static void print_line(FILE *stream, const memory *m, int64_t line, int width) {
  char text[LLRT_MAX_OUT_DIMS * 24];
  int cells = line_cells(m), per_cell = cell_elements(m), top = TOP + (int)line * CELL_HEIGHT;
  fprintf(stream, "<text x=\"%d\" y=\"%d\" class=\"a e\">%" PRId64 "</text>\n", LEFT - 8, top + 14,
          line * BANKS * BANK_BITS / 8);
  for (int cell = 0; cell < cells; cell++) {
    int64_t offset = (line * cells + cell) * per_cell;
    if (offset >> m->offset_bits) return;
    uint64_t y = element_at(m, offset);
    format_coords(m, y, text, sizeof text);
    fprintf(stream, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"",
            LEFT + cell * width, top, width, CELL_HEIGHT);
    print_cell_colour(stream, m, y);
    fprintf(stream, "\"/><text x=\"%d\" y=\"%d\">%s</text>\n", LEFT + cell * width + width / 2,
            top + 14, text);
  }
}

/* Outlines the vectors that the first lanes of the column read. */
static void print_outlines(FILE *stream, const memory *m, int width) {
  layout_inverse inverse;
  int cells = line_cells(m), per_cell = cell_elements(m);
  int elements = 1 << m->vector_bits, length = elements > per_cell ? elements / per_cell : 1;
  int lanes = m->across < 0 ? 0 : 1 << m->layout->out[m->across].bits;
  layout_inverse_init(m->layout, &inverse);
  for (int lane = 0; lane < lanes && lane < OUTLINED; lane++) {
    uint64_t x, y = (uint64_t)lane << llrt_layout_out_shift(m->layout, m->across);
    if (!layout_inverse_find(&inverse, y, 0, &x)) continue;
    uint64_t offset = x >> m->offset_shift & ((UINT64_C(1) << m->offset_bits) - 1);
    int64_t cell = (int64_t)offset / per_cell;
    fprintf(stream, "<rect class=\"o\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
            LEFT + (int)(cell % cells) * width + 1, TOP + (int)(cell / cells) * CELL_HEIGHT + 1,
            length * width - 2, CELL_HEIGHT - 2);
  }
}

static void print_head(FILE *stream, const char *expression, const memory *m, int width) {
  fprintf(stream, "<text x=\"%d\" y=\"22\" class=\"t\">", LEFT);
  picture_print_escaped(stream, expression);
  fprintf(stream,
          "</text>\n<text x=\"%d\" y=\"44\" class=\"k\">elements of %d bits; each cell: the "
          "logical element that begins there",
          LEFT, m->element_bits);
  if (m->across >= 0) fprintf(stream, "; outlined: the first %d lanes of a column", OUTLINED);
  fputs("</text>\n", stream);
  print_access(stream, m, false, 64);
  if (m->across >= 0) print_access(stream, m, true, 82);
  fprintf(stream,
          "<text x=\"%d\" y=\"106\" class=\"k\">bank \xe2\x86\x92</text>\n"
          "<text x=\"%d\" y=\"%d\" class=\"a e\">byte</text>\n",
          LEFT, LEFT - 8, TOP - 5);
  for (int cell = 0; cell < line_cells(m); cell++)
    fprintf(stream, "<text x=\"%d\" y=\"%d\" class=\"a\">%d</text>\n",
            LEFT + cell * width + width / 2, TOP - 5, cell * BANKS / line_cells(m));
}

void layout_draw_banks(FILE *stream, const char *expression, const llrt_layout *layout,
                       int element_bits) {
  static const char *const from[] = {"m"}, *const to[] = {"offset"};
  char widest[LLRT_MAX_OUT_DIMS * 24];
  llrt_layout named = *layout;
  memory m;
  if (llrt_layout_in_index(layout, "offset") < 0)
    llrt_layout_rename_ins(layout, from, to, 1, &named);
  memory_init(&m, &named, element_bits);
  int64_t line_elements = (int64_t)line_cells(&m) * cell_elements(&m);
  int64_t lines = ((INT64_C(1) << m.offset_bits) + line_elements - 1) / line_elements;
  int cell = CHARACTER * format_coords(&m, ~UINT64_C(0), widest, sizeof widest) + 8;
  int width = LEFT + line_cells(&m) * cell + 16;
  int title = LEFT + 15 * (int)strlen(expression) / 2 + 16;
  if (width < title) width = title;
  if (width < MIN_WIDTH) width = MIN_WIDTH;
  fprintf(stream,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
          "font-family=\"sans-serif\" font-size=\"10\" text-anchor=\"middle\">\n"
          "<style>rect{stroke:#fff;stroke-width:.6}.a{fill:#555}.e{text-anchor:end}"
          ".k{font-size:12px;text-anchor:start}.t{font:12px monospace;text-anchor:start}"
          ".o{fill:none;stroke:#000;stroke-width:2}</style>\n"
          "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
          width, TOP + (int)lines * CELL_HEIGHT + 16);
  print_head(stream, expression, &m, cell);
  for (int64_t line = 0; line < lines; line++) print_line(stream, &m, line, cell);
  print_outlines(stream, &m, cell);
  fputs("</svg>\n", stream);
}
