/* See broadcast_layouts.h. Warps stand along one axis, along the other and along both; sliced
 * layouts have them along the axis that is taken away, too. */
#include "broadcast_layouts.h"

#include "harness.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

typedef struct layout_list {
  int64_t rows, columns;
  int warps, tall, wide; /* warps = tall * wide, as square as can be */
  int n;
  broadcast_layout *at;
} layout_list;

static void add(layout_list *list, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add(layout_list *list, const char *kind, const char *format, ...) {
  assert(list->n < BROADCAST_LAYOUTS);
  broadcast_layout *made = &list->at[list->n++];
  va_list values;
  made->kind = kind;
  va_start(values, format);
  vsnprintf(made->text, sizeof made->text, format, values);
  va_end(values);
}

/* ---- families ---- */

static void add_blocked(layout_list *list) {
  static const char format[] =
      "blocked(size_per_thread=[%s], threads_per_warp=[%s], warps_per_cta=[%d,%d], order=[%s])";
  add(list, "blocked", format, "1,4", "8,4", list->warps, 1, "1,0");
  add(list, "blocked", format, "1,4", "8,4", list->warps, 1, "0,1");
  add(list, "blocked", format, "4,4", "2,16", list->warps, 1, "1,0");
  add(list, "blocked", format, "1,4", "8,4", 1, list->warps, "1,0");
  add(list, "blocked", format, "1,8", "4,8", list->tall, list->wide, "1,0");
}

#define MMA "nvmma(version=[2,0], warps_per_cta=[%d,%d], instr_shape=[16,8])"
#define WGMMA "nvmma(version=[3,0], warps_per_cta=[%d,1], instr_shape=[16,16,16])"
#define BATCHED "nvmma(version=[2,0], warps_per_cta=[%d,%d,%d], instr_shape=[1,16,8])"
#define OPERAND(parent) "dot(operand=%d, k_width=%d, parent=" parent ")"
#define SLICED(parent) "slice(dim=%d, parent=" parent ")"

static void add_mma(layout_list *list) {
  add(list, "mma", MMA, list->warps, 1);
  add(list, "mma", MMA, 1, list->warps);
  add(list, "mma", MMA, list->tall, list->wide);
  if (list->warps >= 4) add(list, "mma", WGMMA, list->warps);
}

static void add_inputs(layout_list *list) {
  for (int operand = 0; operand < 2; operand++) {
    add(list, "mma input", OPERAND(MMA), operand, 2, list->tall, list->wide);
    add(list, "mma input", OPERAND(MMA), operand, 1, list->warps, 1);
    add(list, "mma input", OPERAND(MMA), operand, 8, 1, list->warps);
  }
  if (list->warps >= 4) add(list, "mma input", OPERAND(WGMMA), 0, 2, list->warps);
}

static void add_sliced_blocked(layout_list *list) {
  static const char format[] = SLICED("blocked(size_per_thread=[%s], threads_per_warp=[%s], "
                                      "warps_per_cta=[%d,%d,%d], order=[2,1,0])");
  int tall = list->tall, wide = list->wide;
  add(list, "sliced blocked", format, 0, "1,1,4", "2,4,4", tall, wide, 1);
  add(list, "sliced blocked", format, 1, "1,2,2", "4,2,4", tall, wide, 1);
  add(list, "sliced blocked", format, 2, "1,4,1", "2,4,4", tall, 1, wide);
  add(list, "sliced blocked", format, 1, "1,1,4", "4,1,8", list->warps, 1, 1);
}

static void add_sliced_mma(layout_list *list) {
  int tall = list->tall, wide = list->wide;
  for (int dim = 0; dim < 3; dim++) {
    add(list, "sliced mma", SLICED(BATCHED), dim, dim == 0 ? wide : tall, dim == 0 ? tall : 1,
        dim == 0 ? 1 : wide);
    add(list, "sliced mma", SLICED(BATCHED), dim, dim == 1 ? tall : 1, dim == 1 ? wide : tall,
        dim == 1 ? 1 : wide);
  }
}

static void add_sliced_inputs(layout_list *list) {
  int tall = list->tall, wide = list->wide;
  for (int dim = 0; dim < 3; dim++)
    for (int operand = 0; operand < 2; operand++)
      add(list, "sliced mma input", SLICED(OPERAND(BATCHED)), dim, operand, 2,
          dim == 0 ? wide : tall, dim == 0 ? tall : 1, dim == 0 ? 1 : wide);
}

/* ---- literals ---- */

enum { REGISTERS, LANES, WARPS, PLACES };

typedef struct literal {
  int n[PLACES];
  int64_t at[PLACES][32][2];
} literal;

static void put(literal *l, int place, int64_t row, int64_t column) {
  int64_t *at = l->at[place][l->n[place]++];
  at[0] = row;
  at[1] = column;
}

static void add_literal(layout_list *list, const literal *l) {
  static const char *const names[] = {"register", "lane", "warp"};
  char text[BROADCAST_TEXT];
  int at = 0;
  for (int p = 0; p < PLACES; p++) {
    at += sprintf(text + at, "%s%s: [", p ? ", " : "{", names[p]);
    for (int i = 0; i < l->n[p]; i++)
      at += sprintf(text + at, "%s[%d,%d]", i ? "," : "", (int)l->at[p][i][0], (int)l->at[p][i][1]);
    at += sprintf(text + at, "]");
  }
  add(list, "custom", "%s} -> [dim0:%d, dim1:%d]", text, (int)list->rows, (int)list->columns);
}

/* Every bit of the matrix: rows' first, or by turns. */
static int matrix_bits(const layout_list *list, bool by_turns, int64_t bits[][2]) {
  int n = 0;
  for (int64_t row = 1, column = 1; row < list->rows || column < list->columns;) {
    if (row < list->rows) {
      bits[n][0] = row;
      bits[n++][1] = 0;
      row *= 2;
    }
    if (column < list->columns && (by_turns || row == list->rows)) {
      bits[n][0] = 0;
      bits[n++][1] = column;
      column *= 2;
    }
  }
  return n;
}

/* Bits in the order given fill lanes (of which `lane_copies` have copies), then warps, then
 * registers. */
static void add_filled(layout_list *list, const int64_t bits[][2], int n, unsigned lane_copies,
                       unsigned warp_copies) {
  literal l = {0};
  int next = 0;
  for (int i = 0; i < 5; i++) {
    bool copy = lane_copies >> i & 1 || next == n;
    put(&l, LANES, copy ? 0 : bits[next][0], copy ? 0 : bits[next][1]);
    next += !copy;
  }
  for (int i = 0; 1 << i < list->warps; i++) {
    bool copy = warp_copies >> i & 1 || next == n;
    put(&l, WARPS, copy ? 0 : bits[next][0], copy ? 0 : bits[next][1]);
    next += !copy;
  }
  for (; next < n; next++) put(&l, REGISTERS, bits[next][0], bits[next][1]);
  put(&l, REGISTERS, 0, 0);
  add_literal(list, &l);
}

static void add_custom(layout_list *list) {
  int64_t bits[64][2], taken[2];
  int n = matrix_bits(list, false, bits);
  add_filled(list, bits, n, 1, 0);
  n = matrix_bits(list, true, bits);
  add_filled(list, bits, n, 0, 1);
  add_filled(list, bits, n, 4, 2);
  uint64_t random = (uint64_t)(list->rows * 1024 + list->columns) * 64 + (uint64_t)list->warps;
  for (int i = n - 1; i > 0; i--) {
    int j = (int)(harness_mix(random++) % (uint64_t)(i + 1));
    memcpy(taken, bits[i], sizeof taken);
    memcpy(bits[i], bits[j], sizeof taken);
    memcpy(bits[j], taken, sizeof taken);
  }
  add_filled(list, bits, n, (unsigned)harness_mix(random) & 9,
             (unsigned)harness_mix(random + 1) & 5);
}

int broadcast_layouts(int64_t rows, int64_t columns, int warps, broadcast_layout *list) {
  layout_list made = {.rows = rows, .columns = columns, .warps = warps, .tall = 1, .at = list};
  while (made.tall * made.tall < warps) made.tall *= 2;
  made.wide = warps / made.tall;
  add_blocked(&made);
  add_mma(&made);
  add_inputs(&made);
  add_sliced_blocked(&made);
  add_sliced_mma(&made);
  add_sliced_inputs(&made);
  add_custom(&made);
  return made.n;
}
