/* Draws forms inside a block, prints them and makes them smaller. */
#include "tests/draw/tile_case.h"

#include "layout/f2.h"
#include "tests/draw/sides.h"

#include <llrt/combiner.h>

#include <string.h>

#define MOST_TILE 10 /* log2 elements */
#define MOST_LANES 5
#define MOST_WARPS 3

#define COUNT(list) ((int)(sizeof list / sizeof *list))

/* ---- layouts ---- */

/* A tile's shape: one to three axes. */
typedef struct tile_shape {
  int axes, bits[3], all;
} tile_shape;

static void draw_tile_shape(uint64_t *seed, tile_shape *made) {
  *made = (tile_shape){.axes = 1 + (int)draw_below(seed, 3)};
  int all = (int)draw_below(seed, MOST_TILE + 1);
  for (int i = 0; i < all; i++) made->bits[draw_below(seed, made->axes)]++;
  made->all = all;
}

/* Independent columns, of single bits or sums, and among them some of zero. */
static int draw_columns(uint64_t *seed, int all, int copies, uint64_t *column) {
  bool single = draw_one_in(seed, 2);
  f2_basis basis;
  f2_basis_init(&basis);
  int n = 0;
  while (n < all) {
    uint64_t x = single ? 1ull << draw_below(seed, all) : draw_next(seed) & bits_mask(all);
    if (f2_basis_insert(&basis, x)) column[n++] = x;
  }
  for (int i = 0; i < copies; i++, n++) {
    int at = (int)draw_below(seed, n + 1);
    column[n] = column[at];
    column[at] = 0;
  }
  return n;
}

/* `blocks` of the columns that are no copies are the last. */
static void draw_layout(uint64_t *seed, const tile_shape *shape, int blocks, bool copies,
                        llrt_layout *made) {
  uint64_t column[LLRT_MAX_BITS];
  int n = draw_columns(seed, shape->all, copies ? (int)draw_below(seed, 4) : 0, column);
  for (int i = n - 1, at = n; at > n - blocks; i--) { /* to the end */
    if (column[i] == 0) continue;
    at--;
    uint64_t kept = column[at];
    column[at] = column[i];
    column[i] = kept;
  }
  int left = n - blocks,
      lanes = (int)draw_below(seed, 2) ? MOST_LANES : (int)draw_below(seed, MOST_LANES + 1);
  if (lanes > left) lanes = left;
  int warps = (int)draw_below(seed, MOST_WARPS + 1);
  if (warps > left - lanes) warps = left - lanes;
  *made = llrt_layout_empty();
  for (int a = 0; a < shape->axes; a++)
    llrt_layout_add_out(made, (char[]){'d', 'i', 'm', (char)('0' + a), 0}, shape->bits[a]);
  llrt_layout_add_in(made, "register", left - lanes - warps);
  llrt_layout_add_in(made, "lane", lanes);
  llrt_layout_add_in(made, "warp", warps);
  if (blocks) llrt_layout_add_in(made, "block", blocks);
  memcpy(made->column, column, (size_t)n * sizeof *column);
}

/* ---- forms ---- */

static const llrt_dtype moved[] = {LLRT_B8, LLRT_B16, LLRT_B32, LLRT_B64};
static const llrt_dtype combined[] = {LLRT_I32, LLRT_U32, LLRT_I64, LLRT_U64, LLRT_F32, LLRT_F64};
static const llrt_dtype cast[] = {LLRT_F64, LLRT_F32, LLRT_F16, LLRT_BF16, LLRT_E4M3, LLRT_E5M2,
                                  LLRT_I32, LLRT_I16, LLRT_I8,  LLRT_U32,  LLRT_U16,  LLRT_U8};
static const struct {
  llrt_dtype factor, sum;
} products[] = {{LLRT_F16, LLRT_F32},
                {LLRT_BF16, LLRT_F32},
                {LLRT_I8, LLRT_I32},
                {LLRT_F64, LLRT_F64},
                {LLRT_F32, LLRT_F32}};

static void draw_combiner(uint64_t *seed, tile_case *made) {
  static const int32_t of_numbers[] = {LLRT_COMBINE_SUM, LLRT_COMBINE_MIN, LLRT_COMBINE_MAX,
                                       LLRT_COMBINE_PROD};
  made->type = combined[draw_below(seed, COUNT(combined))];
  bool whole = made->type != LLRT_F32 && made->type != LLRT_F64;
  made->combiner =
      of_numbers[draw_below(seed, whole ? 4 : 3)]; /* sums of small numbers are exact */
}

static void draw_product(uint64_t *seed, tile_case *made) {
  tile_shape shape = {.axes = 2};
  int p = (int)draw_below(seed, COUNT(products));
  made->type = products[p].factor;
  made->other = products[p].sum;
  for (int i = 0; i < 3; i++) made->mnk[i] = 3 + (int)draw_below(seed, 4);
  made->warps = (int)draw_below(seed, 4);
  made->placed = draw_one_in(seed, 3);
  shape.bits[0] = made->mnk[0];
  shape.bits[1] = made->mnk[2];
  shape.all = shape.bits[0] + shape.bits[1];
  draw_layout(seed, &shape, 0, false, &made->a);
  shape.bits[0] = made->mnk[2];
  shape.bits[1] = made->mnk[1];
  shape.all = shape.bits[0] + shape.bits[1];
  draw_layout(seed, &shape, 0, false, &made->b);
}

static void draw_form(uint64_t *seed, tile_case *made) {
  tile_shape shape;
  draw_tile_shape(seed, &shape);
  made->type = moved[draw_below(seed, COUNT(moved))];
  made->axis = (int32_t)draw_below(seed, shape.axes);
  int blocks = made->form == TILE_CONVERT && draw_one_in(seed, 5) && shape.all > 1
                   ? 1 + (int)draw_below(seed, shape.all > 2 ? 2 : 1)
                   : 0;
  bool copies = draw_one_in(seed, 2);
  draw_layout(seed, &shape, blocks, copies, &made->a);
  draw_layout(seed, &shape, blocks, copies && draw_one_in(seed, 2), &made->b);
  if (made->form == TILE_CAST) {
    made->type = cast[draw_below(seed, COUNT(cast))];
    made->other = cast[draw_below(seed, COUNT(cast))];
  }
  if (made->form == TILE_REDUCE || made->form == TILE_SCAN) draw_combiner(seed, made);
  made->exclusive = draw_one_in(seed, 2);
  made->reverse = draw_one_in(seed, 2);
}

void tile_case_make(uint64_t seed, draw_speed speed, void *into) {
  tile_case *made = into;
  (void)speed;
  memset(made, 0, sizeof *made);
  made->form = draw_pick(&seed, LIST_TILE);
  if (made->form == TILE_DOT) draw_product(&seed, made);
  else draw_form(&seed, made);
  made->exchange = draw_one_in(&seed, 2) ? 0 : (int32_t)draw_below(&seed, 3);
  made->turns = 1 + (int32_t)draw_below(&seed, 3);
  made->tiles = 1 + (int32_t)draw_below(&seed, 3);
  made->address = draw_one_in(&seed, 2) ? 0 : 16 * (int32_t)draw_below(&seed, 16);
  made->seed = draw_next(&seed);
}

/* ---- print ---- */

static void say_layout(side_text *to, const char *name, const llrt_layout *layout) {
  char text[DRAW_TEXT_BYTES];
  size_t length;
  if (llrt_layout_print(layout, text, sizeof text, &length) == LLRT_OK)
    side_say(to, "\n    %s %s", name, text);
}

void tile_case_print(const void *from, char *text, size_t size) {
  static const char *const combiners[] = {[LLRT_COMBINE_SUM] = "sum",
                                          [LLRT_COMBINE_PROD] = "prod",
                                          [LLRT_COMBINE_MIN] = "min",
                                          [LLRT_COMBINE_MAX] = "max"};
  const tile_case *of = from;
  side_text to = {text, 0, size};
  side_say(&to, "tile %s of %s", draw_choice_text(LIST_TILE, of->form), llrt_dtype_name(of->type));
  if (of->other) side_say(&to, " (%s)", llrt_dtype_name(of->other));
  if (of->form == TILE_DOT)
    side_say(&to, " [%d,%d]x[%d,%d] by %d warps", 1 << of->mnk[0], 1 << of->mnk[2], 1 << of->mnk[2],
             1 << of->mnk[1], 1 << of->warps);
  if (of->form == TILE_REDUCE || of->form == TILE_SCAN)
    side_say(&to, ", %s%s%s", combiners[of->combiner],
             of->form == TILE_SCAN && of->exclusive ? ", exclusive" : "",
             of->form == TILE_SCAN && of->reverse ? ", reverse" : "");
  if (of->form >= TILE_GATHER && of->form != TILE_DOT) side_say(&to, " along %d", of->axis);
  side_say(&to, "; %d turns, %d tiles, exchange %d, at +%d bytes", of->turns, of->tiles,
           of->exchange, of->address);
  if (of->form == TILE_DOT && !of->placed) return;
  say_layout(&to, "a", &of->a);
  say_layout(&to, "b", &of->b);
}

/* ---- smaller ---- */

static bool set(int32_t *number, int32_t to) {
  bool differs = *number != to;
  *number = to;
  return differs;
}

/* Without column i. */
static void drop_column(llrt_layout *of, int i) {
  int n = llrt_layout_in_bits(of);
  for (int d = 0, first = 0; d < of->n_in; first += of->in[d++].bits)
    if (i >= first && i < first + of->in[d].bits) {
      of->in[d].bits--;
      break;
    }
  memmove(&of->column[i], &of->column[i + 1], sizeof *of->column * (size_t)(n - 1 - i));
  of->column[n - 1] = 0;
}

static bool drop_copy(llrt_layout *of) {
  for (int i = 0; i < llrt_layout_in_bits(of); i++)
    if (of->column[i] == 0) {
      drop_column(of, i);
      return true;
    }
  return false;
}

/* Without coordinate bit j, and the column that then depends on those before it. */
static void drop_bit(llrt_layout *of, int j) {
  f2_basis basis;
  f2_basis_init(&basis);
  for (int i = 0; i < llrt_layout_in_bits(of); i++) {
    uint64_t x = of->column[i];
    of->column[i] = (x & bits_mask(j)) | x >> (j + 1) << j;
  }
  for (int i = llrt_layout_in_bits(of) - 1, left = 1; i >= 0 && left; i--) {
    uint64_t others = 0;
    f2_basis_init(&basis);
    for (int k = 0; k < llrt_layout_in_bits(of); k++)
      others += k != i && f2_basis_insert(&basis, of->column[k]);
    if (others + 1 != (uint64_t)llrt_layout_out_bits(of))
      continue; /* the others do not reach all */
    drop_column(of, i);
    left = 0;
  }
  for (int a = 0, first = 0; a < of->n_out; first += of->out[a++].bits)
    if (j >= first && j < first + of->out[a].bits) {
      of->out[a].bits--;
      break;
    }
}

static bool drop_blocks(llrt_layout *of) {
  if (of->n_in < 4) return false;
  of->in[0].bits += of->in[3].bits; /* the columns of registers come first: turn them there */
  int n = llrt_layout_in_bits(of) - of->in[3].bits, blocks = of->in[3].bits;
  for (int i = 0; i < blocks; i++) {
    uint64_t last = of->column[n - 1];
    memmove(&of->column[1], &of->column[0], sizeof *of->column * (size_t)(n - 1));
    of->column[0] = last;
  }
  of->n_in = 3;
  memset(&of->in[3], 0, sizeof of->in[3]);
  return true;
}

int tile_case_edit(void *from, int way) {
  tile_case *of = from;
  int bits = llrt_layout_out_bits(&of->a);
  switch (way) {
  case 0: return set(&of->turns, 1) ? 1 : -1;
  case 1: return set(&of->tiles, 1) ? 1 : -1;
  case 2: return set(&of->exchange, 0) ? 1 : -1;
  case 3: return set(&of->address, 0) ? 1 : -1;
  case 4: return drop_copy(&of->a) ? 1 : -1;
  case 5: return drop_copy(&of->b) ? 1 : -1;
  case 6: {
    bool both = drop_blocks(&of->a);
    return drop_blocks(&of->b) || both ? 1 : -1;
  }
  default: break;
  }
  if (way >= 7 + MOST_TILE) return 0;
  if (of->form == TILE_DOT || way - 7 >= bits) return -1;
  drop_bit(&of->a, way - 7);
  drop_bit(&of->b, way - 7);
  return 1;
}
