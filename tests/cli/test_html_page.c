/* The page of `llrt layout --html`: the data that it carries, read back, and, where a JavaScript
 * interpreter is installed, its script run on them. */
#include "tool_run.h"

#include "base/text.h"

#include <llrt/layout.h>

#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

TestSuite(html_page, .init = tool_folder_enter, .fini = tool_folder_leave);

#define SCRIPT LLRT_TEST_SOURCE_DIR "/tests/cli/html_page.js"

static const struct {
  const char *text;
  int rank;
  int64_t shape[3];
} pages[] = {
    {"nvmma(version=[2,0], warps_per_cta=[2,1], instr_shape=[16,8])", 2, {32, 8}},
    {"dot(operand=0, k_width=2, parent=nvmma(version=[2,0], warps_per_cta=[1,2], "
     "instr_shape=[16,8]))",
     2,
     {16, 16}}, /* copies */
    {"{register: [[1,0,0]], lane: [[0,1,0],[0,0,1]], warp: [[0,0,2],[0,0,0]]} -> "
     "[dim0:2, dim1:2, dim2:4]",
     3,
     {2, 2, 4}},                                                           /* several pages */
    {"{register: [[0,1]], lane: [[0,2]]} -> [dim0:2, dim1:4]", 2, {2, 4}}, /* elements of nobody */
    {"nvmma_shared(swizzle_bytes=32, element_bits=16)", 2, {8, 32}},
    {"{offset: [[1],[2],[4]]} -> [dim0:8]", 1, {8}},
};
enum { N_PAGES = sizeof pages / sizeof pages[0] };

static llrt_layout layout_at(int i) {
  llrt_layout layout;
  cr_assert(llrt_layout_parse(pages[i].text, pages[i].rank, pages[i].shape, &layout) == LLRT_OK,
            "%s", llrt_last_error());
  return layout;
}

/* The page's text; free it. */
static char *make_page(int i) {
  char line[512];
  size_t size;
  snprintf(line, sizeof line, "layout '%s' --shape %" PRId64, pages[i].text, pages[i].shape[0]);
  for (int a = 1; a < pages[i].rank; a++)
    snprintf(line + strlen(line), sizeof line - strlen(line), "x%" PRId64, pages[i].shape[a]);
  strcat(line, " --html page.html");
  tool_result r = tool_expect_success(line);
  tool_result_fini(&r);
  return tool_read_file("page.html", &size);
}

/* ---- the data ---- */

static const char *after(const char *text, const char *what) {
  const char *found = strstr(text, what);
  cr_assert(found, "the page lacks %s", what);
  return found + strlen(what);
}

static uint64_t number_after(const char *text, const char *what) {
  return strtoull(after(text, what), NULL, 10);
}

/* [1,2,3]: the numbers, and how many. */
static int numbers_after(const char *text, const char *what, uint64_t *out, int limit) {
  const char *at = after(text, what);
  int n = 0;
  while (*at != ']') {
    char *end;
    cr_assert(n < limit);
    out[n++] = strtoull(at, &end, 10);
    at = *end == ',' ? end + 1 : end;
  }
  return n;
}

static void expect_dims(const char *data, const char *list, const llrt_layout *layout, bool ins) {
  const char *at = after(data, list), *end = strchr(at, '\n');
  int n = ins ? layout->n_in : layout->n_out;
  for (int i = 0; i < n; i++) {
    char wanted[64];
    const llrt_dim *dim = ins ? &layout->in[i] : &layout->out[i];
    int shift = ins ? llrt_layout_in_shift(layout, i) : llrt_layout_out_shift(layout, i);
    snprintf(wanted, sizeof wanted, "{name: \"%s\", bits: %d, shift: %d}", dim->name, dim->bits,
             shift);
    const char *found = strstr(at, wanted);
    cr_expect(found && found < end, "%s: %s", list, wanted);
  }
}

/* The picture's position (page, row, column) is the element with these coordinates, the last axis
 * along columns, the one before along rows. */
static void expect_positions(const char *data, const llrt_layout *layout, int i) {
  uint64_t first[64];
  int n = numbers_after(data, "pages: [", first, 64), rank = pages[i].rank;
  int64_t rows = 1ll << number_after(data, "rowBits: "),
          columns = 1ll << number_after(data, "columnBits: ");
  uint64_t row_shift = number_after(data, "rowShift: "),
           column_shift = number_after(data, "columnShift: ");
  cr_assert_eq(columns, pages[i].shape[rank - 1]);
  cr_assert_eq(rows, rank > 1 ? pages[i].shape[rank - 2] : 1);
  for (int64_t page = 0; page < n; page++)
    for (int64_t row = 0; row < rows; row++)
      for (int64_t column = 0; column < columns; column++) {
        int64_t left = page;
        uint64_t flat = 0;
        for (int a = rank - 1; a >= 0; a--) {
          char name[16];
          int64_t at = a == rank - 1 ? column : a == rank - 2 ? row : left % pages[i].shape[a];
          if (a < rank - 2) left /= pages[i].shape[a];
          snprintf(name, sizeof name, "dim%d", a);
          flat |=
              (uint64_t)at << llrt_layout_out_shift(layout, llrt_layout_out_index(layout, name));
        }
        cr_assert_eq(first[page] | (uint64_t)row << row_shift | (uint64_t)column << column_shift,
                     flat);
      }
}

Test(html_page, carries_the_layout) {
  for (int i = 0; i < N_PAGES; i++) {
    llrt_layout layout = layout_at(i);
    uint64_t column[LLRT_MAX_BITS];
    char *page = make_page(i);
    const char *data = after(page, "const layout = {");
    expect_dims(data, "ins: [", &layout, true);
    expect_dims(data, "outs: [", &layout, false);
    int n = numbers_after(data, "columns: [", column, LLRT_MAX_BITS);
    cr_expect_eq(n, llrt_layout_in_bits(&layout), "%s", pages[i].text);
    cr_expect(memcmp(column, layout.column, (size_t)n * sizeof *column) == 0, "%s", pages[i].text);
    cr_expect_eq(number_after(data, "outBits: "), (uint64_t)llrt_layout_out_bits(&layout));
    expect_positions(data, &layout, i);
    free(page);
  }
}

/* ---- the script ---- */

static uint64_t part_of(const llrt_layout *layout, int in, uint64_t x) {
  return x >> llrt_layout_in_shift(layout, in) & ((UINT64_C(1) << layout->in[in].bits) - 1);
}

/* What the page says of the element at `at`: its coordinates, how many copies, each one's place. */
static void describe(const llrt_layout *layout, int rank, const int64_t *at, llrt_text *out) {
  llrt_text owners;
  int copies = 0;
  llrt_text_init(&owners);
  for (uint64_t x = 0; x < UINT64_C(1) << llrt_layout_in_bits(layout); x++) {
    uint64_t image = llrt_layout_apply_flat(layout, x);
    bool here = true;
    for (int a = 0; a < rank; a++) {
      char name[16];
      snprintf(name, sizeof name, "dim%d", a);
      int index = llrt_layout_out_index(layout, name);
      uint64_t mask = (UINT64_C(1) << layout->out[index].bits) - 1;
      here &= (image >> llrt_layout_out_shift(layout, index) & mask) == (uint64_t)at[a];
    }
    if (!here) continue;
    if (copies++) llrt_text_add(&owners, " | ");
    for (int i = layout->n_in - 1; i >= 0; i--)
      llrt_text_add(&owners, "%s %" PRIu64 "%s", layout->in[i].name, part_of(layout, i, x),
                    i ? ", " : "");
  }
  for (int a = 0; a < rank; a++) llrt_text_add(out, "%sdim%d %" PRId64, a ? ", " : "", a, at[a]);
  llrt_text_add(out, ": ");
  if (copies == 0) llrt_text_add(out, "nobody");
  if (copies > 1) llrt_text_add(out, "%d copies", copies);
  llrt_text_add(out, " | ");
  if (copies) llrt_text_add(out, "%s", owners.data);
  llrt_text_fini(&owners);
}

/* Elements that position v of in-dim `in` holds. */
static int count_held(const llrt_layout *layout, int in, uint64_t v) {
  static bool has[1 << 12];
  int n = 0;
  memset(has, 0, sizeof has);
  for (uint64_t x = 0; x < UINT64_C(1) << llrt_layout_in_bits(layout); x++) {
    uint64_t image = llrt_layout_apply_flat(layout, x);
    if (part_of(layout, in, x) != v) continue;
    n += !has[image];
    has[image] = true;
  }
  return n;
}

/* Takes one line off the script's output; frees what it should be. */
static void expect_line(char **from, llrt_text *wanted) {
  char *end = strchr(*from, '\n');
  cr_assert(end, "the script ends before: %s", wanted->data);
  *end = 0;
  cr_assert_str_eq(*from, wanted->data);
  *from = end + 1;
  llrt_text_fini(wanted);
}

static void expect_shown(char *shown, const llrt_layout *layout, int i) {
  int64_t at[3] = {0}, elements = 1;
  llrt_text wanted;
  for (int a = 0; a < pages[i].rank; a++) elements *= pages[i].shape[a];
  for (int64_t e = 0; e < elements; e++) {
    llrt_text_init(&wanted);
    describe(layout, pages[i].rank, at, &wanted);
    expect_line(&shown, &wanted);
    for (int a = pages[i].rank - 1; a >= 0 && ++at[a] == pages[i].shape[a]; a--) at[a] = 0;
  }
  for (int in = 0; in < layout->n_in; in++)
    for (uint64_t v = 0; layout->in[in].bits && v < UINT64_C(1) << layout->in[in].bits; v++) {
      llrt_text_init(&wanted);
      llrt_text_add(&wanted, "%s %" PRIu64 ": %d held", layout->in[in].name, v,
                    count_held(layout, in, v));
      expect_line(&shown, &wanted);
    }
  cr_expect_str_empty(shown);
}

/* Hovering over every element names every owner; stepping through every dim draws what it holds. */
Test(html_page, script_shows_every_owner) {
  if (system("node -e 0 > /dev/null 2>&1") != 0)
    cr_skip_test("there is no node to run the script with");
  for (int i = 0; i < N_PAGES; i++) {
    llrt_layout layout = layout_at(i);
    size_t size;
    free(make_page(i));
    cr_assert(system("node '" SCRIPT "' page.html > shown.txt") == 0, "%s", pages[i].text);
    char *shown = tool_read_file("shown.txt", &size);
    expect_shown(shown, &layout, i);
    free(shown);
  }
}
