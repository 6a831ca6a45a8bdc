#include "workload.h"

#include "conversion.h"
#include "harness.h"

#include <inttypes.h>
#include <string.h>

/* ---- the columns ---- */

/* Offset bits of a col_major matrix: the row's bits first. Row-major index = row << c | column. */
static void transpose_columns(workload *w, int r, int c) {
  for (int i = 0; i < r; i++) w->column[i] = UINT64_C(1) << (c + i);
  for (int i = 0; i < c; i++) w->column[r + i] = UINT64_C(1) << i;
}

static void reversal_columns(workload *w, int r, int c) {
  (void)r, (void)c;
  for (int i = 0; i < w->bits; i++) w->column[i] = UINT64_C(1) << (w->bits - 1 - i);
}

/* An invertible matrix: random unit lower times random unit upper triangular. */
static void random_columns(workload *w, uint64_t seed) {
  uint64_t lower[LLRT_MAX_BITS];
  for (int i = 0; i < w->bits; i++) {
    uint64_t above = ~UINT64_C(0) << i << 1;
    uint64_t all = w->bits < 64 ? (UINT64_C(1) << w->bits) - 1 : ~UINT64_C(0);
    lower[i] = UINT64_C(1) << i | (harness_mix(seed * 131 + (uint64_t)i) & above & all);
  }
  for (int j = 0; j < w->bits; j++) {
    uint64_t upper = harness_mix(seed * 257 + 64 + (uint64_t)j) & ((UINT64_C(1) << j) - 1);
    upper |= UINT64_C(1) << j;
    w->column[j] = 0;
    for (int i = 0; i <= j; i++)
      if (upper >> i & 1) w->column[j] ^= lower[i];
  }
}

/* Appends bits [from, to) of the row ('r') or column ('c') to the offset. */
typedef struct bit_list {
  workload *w;
  int used, c;
} bit_list;

static void append(bit_list *list, char axis, int from, int to) {
  for (int i = from; i < to; i++)
    list->w->column[list->used++] = UINT64_C(1) << (axis == 'r' ? list->c + i : i);
}

/* The accumulators of mma.m16n8k16 (PTX ISA 9.7.14.5.8): lane = (row % 8) * 4 + column / 2 % 4;
 * registers are column % 2, row / 8, then the tiles along the row, then down; four warps take 16
 * rows each. The image puts registers first, then lanes, then warps. Operand A with 16-bit elements
 * (PTX ISA, same section) has the same order, k in place of the column. */
static void accumulator_columns(workload *w, int r, int c) {
  bit_list list = {w, 0, c};
  append(&list, 'c', 0, 1);
  append(&list, 'r', 3, 4);
  append(&list, 'c', 3, c);
  append(&list, 'r', 6, r);
  append(&list, 'c', 1, 3);
  append(&list, 'r', 0, 3);
  append(&list, 'r', 4, 6);
}

/* ---- the table ---- */

#define MMA "nvmma(version=[2,0], warps_per_cta=[4,1], instr_shape=[16,8])"
#define OPERAND_A "dot(operand=0, k_width=2, parent=" MMA ")"

typedef void make_columns(workload *w, int r, int c);

static const struct {
  const char *name;
  int width;          /* bits of an element */
  const char *to;     /* NULL: the columns as a literal, on a one-dimensional tensor */
  make_columns *make; /* NULL: random_columns */
  bool backward;
} table[] = {
    {"transpose", 4, "col_major", transpose_columns, false},
    {"transpose", 8, "col_major", transpose_columns, false},
    {"transpose", 16, "col_major", transpose_columns, false},
    {"transpose", 32, "col_major", transpose_columns, false},
    {"transpose", 64, "col_major", transpose_columns, false},
    {"transpose", 128, "col_major", transpose_columns, false},
    {"to-accumulators", 32, MMA, accumulator_columns, false},
    {"from-accumulators", 32, MMA, accumulator_columns, true},
    {"to-operand-a", 16, OPERAND_A, accumulator_columns, false},
    {"from-operand-a", 16, OPERAND_A, accumulator_columns, true},
    {"bit-reversal", 8, NULL, reversal_columns, false},
    {"bit-reversal", 16, NULL, reversal_columns, false},
    {"bit-reversal", 32, NULL, reversal_columns, false},
    {"bit-reversal", 64, NULL, reversal_columns, false},
    {"random-map", 8, NULL, NULL, false},
    {"random-map", 16, NULL, NULL, false},
    {"random-map", 32, NULL, NULL, false},
    {"random-map", 64, NULL, NULL, false},
};

int workload_count(void) { return sizeof table / sizeof table[0]; }

/* {offset: [[…],…]} -> [dim0:N] */
static void print_literal(const workload *w, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "{offset: [");
  for (int i = 0; i < w->bits; i++)
    used +=
        (size_t)snprintf(text + used, size - used, "%s[%" PRIu64 "]", i ? "," : "", w->column[i]);
  snprintf(text + used, size - used, "]} -> [dim0:%" PRIu64 "]", UINT64_C(1) << w->bits);
}

void workload_make(int index, int64_t bytes, uint64_t seed, workload *out) {
  int64_t elements = bytes * 8 / table[index].width;
  *out = (workload){.backward = table[index].backward};
  out->dtype = conversion_dtype(table[index].width);
  snprintf(out->name, sizeof out->name, "%s/%d", table[index].name, table[index].width);
  while (INT64_C(2) << out->bits <= elements) out->bits++;
  int r = out->bits / 2, c = out->bits - r;
  if (table[index].make) table[index].make(out, r, c);
  else random_columns(out, seed);

  char *plain = out->backward ? out->to : out->from;
  char *special = out->backward ? out->from : out->to;
  snprintf(plain, WORKLOAD_TEXT, "row_major");
  if (table[index].to) {
    out->rank = 2;
    out->shape[0] = INT64_C(1) << r;
    out->shape[1] = INT64_C(1) << c;
    snprintf(special, WORKLOAD_TEXT, "%s", table[index].to);
  } else {
    out->rank = 1;
    out->shape[0] = INT64_C(1) << out->bits;
    print_literal(out, special, WORKLOAD_TEXT);
  }
}
