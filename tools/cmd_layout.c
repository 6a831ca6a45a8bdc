/* llrt layout: shows what a layout expression means. */
#include "tools/common/array_file.h"
#include "tools/layout_draw.h"
#include "tools/layout_inverse.h"
#include "tools/layout_json.h"
#include "tools/layout_list.h"
#include "tools/layout_mesh.h"
#include "tools/tool.h"

#include <llrt/llrt.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPE, JSON, MATRIX, GRID, SVG, HTML, AT, TABLE, LIST, ELEMENT_BITS };

#define DEFAULT_ELEMENT_BITS 16
#define MAX_COPY_BITS 16             /* of one element, in an answer */
#define MAX_TABLE (INT64_C(1) << 26) /* elements: some hundred MB of text */

static const option_spec table[] = {
    [SHAPE] = {"shape", 0, "MxN", "logical shape that a family or storage is applied to"},
    [JSON] = {"json", 0, NULL, "basis vectors and properties as one JSON object"},
    [MATRIX] = {"matrix", 0, NULL, "the matrix over F2"},
    [GRID] = {"grid", 0, NULL, "which warp, lane and register owns each element"},
    [SVG] = {"svg", 0, "FILE", "the grid as a drawing; of shared memory, lines of banks"},
    [HTML] = {"html", 0, "FILE", "a page to explore: every owner of an element, step by step"},
    [AT] = {"at", 0, "I,J", "where one logical element lives, as JSON"},
    [TABLE] = {"table", 0, NULL, "storage offsets of all elements, row-major, as JSON"},
    [LIST] = {"list", 0, NULL, "name every family and storage (with --json: as JSON)"},
    [ELEMENT_BITS] = {"element-bits", 0, "N", "width of an element in a drawing of banks (16)"},
    {0},
};

/* An expression as far as it makes sense: a map over F2, a storage, or both. */
typedef struct meaning {
  bool is_layout;
  llrt_layout layout;
  llrt_storage storage; /* meaningful for !is_layout, and after need_storage */
  int rank;             /* of shape; 0 where none was given and the expression brings none */
  int64_t shape[LLRT_MAX_RANK];
} meaning;

/* The extents of a storage that fixes all of them: its tile's times its digits'. */
static bool storage_extents(const llrt_storage *storage, int64_t shape[LLRT_MAX_RANK]) {
  for (int axis = 0; axis < storage->rank; axis++) {
    int bits = storage->tile.n_out > 0 ? storage->tile.out[axis].bits : 0;
    if (bits > 62) return false;
    shape[axis] = INT64_C(1) << bits;
  }
  for (int i = 0; i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    if (digit->axis == LLRT_AXIS_REPLICA) continue;
    int64_t *extent = &shape[digit->axis];
    if (digit->extent == LLRT_EXTENT_REST || __builtin_mul_overflow(*extent, digit->extent, extent))
      return false;
  }
  return true;
}

static bool understand(const char *text, meaning *m) {
  const int64_t *shape = m->rank > 0 ? m->shape : NULL;
  m->is_layout = llrt_layout_parse(text, m->rank, shape, &m->layout) == LLRT_OK;
  if (m->is_layout) {
    if (!layout_extents(&m->layout, &m->rank, m->shape)) m->rank = 0;
    return true;
  }
  if (llrt_storage_parse(text, m->rank, shape, &m->storage) != LLRT_OK) return false;
  if (m->rank == 0 && storage_extents(&m->storage, m->shape)) m->rank = m->storage.rank;
  return true;
}

static bool need_storage(const char *text, meaning *m, llrt_storage_binding *binding) {
  return llrt_storage_parse(text, m->rank, m->rank > 0 ? m->shape : NULL, &m->storage) == LLRT_OK &&
         llrt_storage_bind(&m->storage, m->rank, m->shape, NULL, binding) == LLRT_OK;
}

/* ---- the forms of output; each returns the exit code ---- */

static int show_text(const meaning *m) {
  size_t length;
  llrt_status status = m->is_layout ? llrt_layout_print(&m->layout, NULL, 0, &length)
                                    : llrt_storage_print(&m->storage, NULL, 0, &length);
  char *buffer = status == LLRT_OK ? malloc(length + 1) : NULL;
  if (!buffer) return tool_refuse("the layout cannot be printed");
  if (m->is_layout) llrt_layout_print(&m->layout, buffer, length + 1, &length);
  else llrt_storage_print(&m->storage, buffer, length + 1, &length);
  puts(buffer);
  free(buffer);
  return TOOL_DONE;
}

/* Whether the expression is in TIRx notation, whose places have named axes. */
static bool names_axes(const char *text) {
  while (*text == ' ') text++;
  return strncmp(text, "swizzle(", 8) == 0 || (text[0] == 'S' && strchr(" [", text[1]));
}

static int refuse_copies(void) {
  return tool_refuse("--at: the element has more than %d copies", 1 << MAX_COPY_BITS);
}

static int show_places(const int64_t *coords, const meaning *m) {
  static llrt_places places; /* large for a stack */
  if (llrt_storage_places(&m->storage, m->rank, m->shape, coords, 0, &places) != LLRT_OK)
    return tool_refuse_library(NULL);
  if (places.copies > 1 << MAX_COPY_BITS) return refuse_copies();
  llrt_status status = places_json_print_at(stdout, &m->storage, m->rank, m->shape, coords);
  return status == LLRT_OK ? TOOL_DONE : tool_refuse_library(NULL);
}

static int show_at(const char *text, const char *at, meaning *m) {
  int64_t coords[LLRT_MAX_RANK];
  llrt_storage_binding binding;
  int count;
  bool named = !m->is_layout && (names_axes(text) || m->storage.n_targets > 0);
  if (!options_parse_numbers(at, ',', LLRT_MAX_RANK, coords, &count))
    return tool_wrong("layout", "--at %s is no list of coordinates", at);
  if (!m->is_layout && !named && !need_storage(text, m, &binding)) return tool_refuse_library(NULL);
  if (count != m->rank)
    return tool_refuse("--at names %d coordinates, the layout has %d axes", count, m->rank);
  for (int i = 0; i < count; i++)
    if (coords[i] >= m->shape[i])
      return tool_refuse("--at: coordinate %" PRId64 " is outside axis %d of extent %" PRId64,
                         coords[i], i, m->shape[i]);
  if (named) return show_places(coords, m);
  if (m->is_layout &&
      llrt_layout_in_bits(&m->layout) - llrt_layout_rank(&m->layout) > MAX_COPY_BITS)
    return refuse_copies();
  if (m->is_layout) layout_json_print_at(stdout, &m->layout, coords);
  else storage_json_print_at(stdout, &m->storage, &binding, coords);
  return TOOL_DONE;
}

static int show_table(const char *text, meaning *m) {
  llrt_storage_binding binding;
  if (!need_storage(text, m, &binding)) return tool_refuse_library(NULL);
  int64_t elements = 1;
  for (int i = 0; i < m->rank; i++)
    if (__builtin_mul_overflow(elements, m->shape[i], &elements)) elements = INT64_MAX;
  if (elements > MAX_TABLE)
    return tool_refuse("a table of more than %" PRId64 " elements is not printed", MAX_TABLE);
  storage_json_print_table(stdout, &m->storage, &binding, m->shape);
  return TOOL_DONE;
}

static int write_drawing(const char *text, const options *given, const llrt_layout *layout) {
  const char *svg = given->value[SVG], *width = given->value[ELEMENT_BITS];
  int64_t bits = DEFAULT_ELEMENT_BITS;
  int count;
  outfile file;
  array_error error;
  if (width && (!options_parse_numbers(width, ',', 1, &bits, &count) || bits < 4 || bits > 128 ||
                (bits & (bits - 1)) != 0))
    return tool_wrong("layout", "--element-bits %s is none of 4, 8, 16, 32, 64, 128", width);
  if (!outfile_open(svg ? svg : given->value[HTML], &file, &error))
    return tool_refuse("%s", error.text);
  if (!svg) layout_draw_html(file.stream, text, layout);
  else if (layout_is_memory(layout)) layout_draw_banks(file.stream, text, layout, (int)bits);
  else layout_draw_svg(file.stream, text, layout);
  return outfile_commit(&file, &error) ? TOOL_DONE : tool_refuse("%s", error.text);
}

/* The forms that need a map over F2. A storage is one where it is linear on this shape. */
static int show_layout(const char *text, const options *given, meaning *m) {
  if (!m->is_layout &&
      llrt_storage_to_layout(&m->storage, m->rank, m->shape, &m->layout) != LLRT_OK)
    return tool_refuse("'%s' is a storage rule, not a map over F2 (%s)", text, tool_library_says());
  const llrt_layout *layout = &m->layout;
  if (given->value[JSON]) {
    layout_json_print(stdout, layout);
    return TOOL_DONE;
  }
  if (given->value[MATRIX]) {
    layout_draw_matrix(stdout, layout);
    return TOOL_DONE;
  }
  if (llrt_layout_out_bits(layout) > LAYOUT_DRAW_MAX_BITS)
    return tool_refuse("a picture of more than %d elements is not drawn",
                       1 << LAYOUT_DRAW_MAX_BITS);
  if (llrt_layout_in_bits(layout) > LAYOUT_DRAW_MAX_IN_BITS)
    return tool_refuse("a picture of more than %d places is not drawn",
                       1 << LAYOUT_DRAW_MAX_IN_BITS);
  if (given->value[SVG] || given->value[HTML]) return write_drawing(text, given, layout);
  layout_draw_grid(stdout, layout);
  return TOOL_DONE;
}

static int show(const char *text, const options *given, meaning *m) {
  int forms = 0;
  for (int i = JSON; i <= TABLE; i++) forms += given->value[i] != NULL;
  if (forms > 1) return tool_wrong("layout", "choose one form of output");
  if (!understand(text, m)) return tool_refuse_library(NULL);
  if (forms == 0) return show_text(m);
  if (!m->is_layout && m->rank == 0)
    return tool_refuse("'%s' is a rule for any shape: say --shape MxN", text);
  if (given->value[AT]) return show_at(text, given->value[AT], m);
  if (given->value[TABLE]) return show_table(text, m);
  return show_layout(text, given, m);
}

/* ---- tensors over several devices ---- */

static int show_sharding_at(const char *at, const llrt_sharding *sharding, const int64_t *shape) {
  int64_t coords[LLRT_MAX_RANK];
  int count;
  if (!options_parse_numbers(at, ',', LLRT_MAX_RANK, coords, &count))
    return tool_wrong("layout", "--at %s is no list of coordinates", at);
  if (count != sharding->rank)
    return tool_refuse("--at names %d coordinates, the tensor has %d axes", count, sharding->rank);
  for (int i = 0; i < count; i++)
    if (coords[i] >= shape[i])
      return tool_refuse("--at: coordinate %" PRId64 " is outside axis %d of extent %" PRId64,
                         coords[i], i, shape[i]);
  if (llrt_sharding_holders(sharding) > 1 << MAX_COPY_BITS) return refuse_copies();
  llrt_status status = sharding_json_print_at(stdout, sharding, shape, coords);
  return status == LLRT_OK ? TOOL_DONE : tool_refuse_library(NULL);
}

static int show_sharding_text(const llrt_sharding *sharding) {
  size_t length;
  if (llrt_sharding_print(sharding, NULL, 0, &length) != LLRT_OK) return tool_refuse_library(NULL);
  char *buffer = malloc(length + 1);
  if (!buffer) return tool_refuse("the sharding cannot be printed");
  llrt_sharding_print(sharding, buffer, length + 1, &length);
  puts(buffer);
  free(buffer);
  return TOOL_DONE;
}

static int show_sharding(const char *text, const options *given, const meaning *m) {
  llrt_sharding sharding;
  llrt_status status;
  bool drawn = true;
  int forms = 0;
  for (int i = JSON; i <= TABLE; i++) forms += given->value[i] != NULL;
  if (forms > 1) return tool_wrong("layout", "choose one form of output");
  if (llrt_sharding_parse(text, NULL, m->rank, m->rank > 0 ? m->shape : NULL, &sharding) != LLRT_OK)
    return tool_refuse_library(NULL);
  if (forms == 0) return show_sharding_text(&sharding);
  if (!given->value[AT] && !given->value[JSON] && !given->value[GRID])
    return tool_refuse("of a tensor over several devices there are --at, --json and --grid");
  if (m->rank == 0 && sharding.rank > 0)
    return tool_refuse("'%s' is a rule for any shape: say --shape MxN", text);
  if (given->value[AT]) return show_sharding_at(given->value[AT], &sharding, m->shape);
  if (given->value[JSON]) status = sharding_json_print(stdout, &sharding, m->shape);
  else status = sharding_draw_grid(stdout, &sharding, m->shape, &drawn);
  if (status != LLRT_OK) return tool_refuse_library(NULL);
  return drawn
             ? TOOL_DONE
             : tool_refuse("a picture of no parts, or of more than %d along an axis or %d in all, "
                           "is not drawn",
                           MESH_DRAW_MAX_CUTS, MESH_DRAW_MAX_CELLS);
}

static int run(const options *given) {
  meaning m = {0};
  if (given->value[LIST]) {
    layout_list_print(stdout, given->value[JSON] != NULL);
    return TOOL_DONE;
  }
  if (given->n_words == 0) return tool_wrong("layout", "which expression?");
  const char *shape = given->value[SHAPE];
  if (shape && !options_parse_numbers(shape, 'x', LLRT_MAX_RANK, m.shape, &m.rank))
    return tool_wrong("layout", "--shape %s is no shape like 128x64", shape);
  return text_names_mesh(given->word[0]) ? show_sharding(given->word[0], given, &m)
                                         : show(given->word[0], given, &m);
}

const command cmd_layout = {
    .name = "layout",
    .summary = "show what a layout expression means",
    .synopsis = "EXPR [--shape MxN] [one form of output] | --list [--json]",
    .text =
        "Parses a layout expression and prints it: as the literal form, which lists the image of\n"
        "each bit of register, lane, warp, block or offset, or in one of the forms below.\n"
        "Families (blocked, nvmma, dot, slice) and storages (row_major, col_major, strided) are\n"
        "applied to --shape; a literal carries its own, and so do TIRx and CuTe notation: one\n"
        "axis of the size of S[...], one for each member of CuTe's tuple. Of tensors over several\n"
        "devices, mesh(dp=2, tp=4): P(dp, tp) o row_major, --grid tells which device owns what,\n"
        "--at device and offset, --json what each device holds.",
    .example = "  llrt layout 'nvmma(version=[2,0], warps_per_cta=[2,1], instr_shape=[16,8])' \\\n"
               "       --shape 32x8 --grid",
    .option = table,
    .max_words = 1,
    .run = run,
};
