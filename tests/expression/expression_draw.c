/* See expression_draw.h. */
#include "tests/expression/expression_draw.h"

#include "tests/expression/expression_fit.h"

#include <stdio.h>
#include <string.h>

/* ---- tensors ---- */

static void shape_of(const llrt_expr *expr, const trial *t, int i, llrt_tensor *out) {
  const expr_tensor *own = &expr->tensor[i];
  *out = (llrt_tensor){.rank = 0};
  for (int a = 0; a < (own->leading ? t->n_leading : 0); a++)
    out->shape[out->rank++] = t->leading[a];
  for (int d = 0; d < own->n_dims; d++) {
    int64_t extent = 1;
    for (int j = 0; j < own->dim[d].n; j++) {
      int axis = own->dim[d].axis[j];
      extent *= expr->axis[axis].extent ? expr->axis[axis].extent : t->extent[axis];
    }
    out->shape[out->rank++] = extent;
  }
}

/* Seeds below stand for what they did before there were tiles: some are fixed rows of a test. */
#define FIRST_WITH_TILES 990000
/* And below this: before all of the language was drawn. */
#define FIRST_WITH_ALL 3000000
/* And below this: with all that is refused. */
#define FIRST_THAT_FITS 5000000
/* And below this: without axes that have no position. */
#define FIRST_WITH_EMPTY 10000000

/* And below this: called at once, with elements of moderate size, indices and counts of the first
 * axis, and without what few use. */
#define FIRST_WITH_MORE 30000000

/* And below this: each tensor in memory of its own, and // and % of integers alone. */
#define FIRST_BESIDE 40000000

/* Tiles with pads: of scales, of packed weights, and one whose pads are no zeros. */
static void draw_tiles(writer *w, char *text, size_t size) {
  static const char *const names[] = {
      "scale_8x4", "scale_128x4", "scale_8x4(pad=3)",
      "storage(rank=2, digits=[dim0:rest, dim1:rest], tile={offset: [[1,0],[0,8],[8,0],[0,1],[2,0],"
      "[4,0],[0,2],[0,4]]} -> [dim0:16, dim1:16], pad=0)"};
  snprintf(text, size, "%s", ONE_OF(w, names));
}

/* A storage's text, where the shape may lie so: "" and extents that it does not divide may not. */
static void put_if_bound(const llrt_tensor *shape, const char *chosen, char *text, size_t size) {
  llrt_storage storage;
  llrt_storage_binding bound;
  if (*chosen && llrt_storage_parse(chosen, shape->rank, shape->shape, &storage) == LLRT_OK &&
      llrt_storage_bind(&storage, shape->rank, shape->shape, NULL, &bound) == LLRT_OK)
    snprintf(text, size, "%s", chosen);
}

/* Digits that count down, tiles along one axis and in the last two of three, a swizzle. */
static void draw_rare_storage(writer *w, const llrt_tensor *shape, char *text, size_t size) {
  static const char *const lines[] = {
      "storage(rank=1, digits=[dim0:rest], tile={offset: [[4],[1],[2]]} -> [dim0:8], pad=0)",
      "storage(rank=1, digits=[dim0:rest reversed])"};
  static const char *const planes[] = {
      "storage(rank=2, digits=[dim1:rest, dim0:rest reversed])",
      "storage(rank=2, digits=[dim1:2 reversed, dim1:rest, dim0:rest])",
      "storage(rank=2, digits=[dim0:rest, dim1:rest], tile={offset: [[0,1],[1,0],[0,2],[0,4]]} -> "
      "[dim0:2, dim1:8], pad=1)",
      "scale_128x4(pad=0)", "mma_m16n8k16_a"};
  static const char *const solids[] = {
      "storage(rank=3, digits=[dim1:rest, dim2:rest, dim0:rest])",
      "storage(rank=3, digits=[dim2:rest reversed, dim1:rest, dim0:rest])",
      "storage(rank=3, digits=[dim1:rest, dim2:rest, dim0:rest], tile={offset: [[0,0,1],[0,1,0],"
      "[0,0,2],[0,2,0]]} -> [dim0:1, dim1:4, dim2:4], pad=0)",
      "storage(rank=3, digits=[dim2:2, dim0:rest, dim2:rest, dim1:rest])"};
  const char *chosen = shape->rank == 1   ? ONE_OF(w, lines)
                       : shape->rank == 2 ? ONE_OF(w, planes)
                       : shape->rank == 3 ? ONE_OF(w, solids)
                                          : "";
  put_if_bound(shape, chosen, text, size);
}

/* Storages by name that have two or three axes. */
static void draw_named(writer *w, const llrt_tensor *shape, char *text, size_t size) {
  static const char *const planes[] = {"tma_32b",
                                       "tma_128b",
                                       "mma_m16n8k16_b",
                                       "mma_m16n8_c",
                                       "wgmma_m64_c",
                                       "wgmma_m64k16_a",
                                       "col32",
                                       "col4_4r2_8c",
                                       "fractal_nz",
                                       "mma_m16n8k32_a",
                                       "col32_2r_4r4",
                                       "tma_128b_atom_64b",
                                       "scale_128x4(k_align=8)"};
  static const char *const solids[] = {
      "storage(rank=3, digits=[dim2:rest, dim1:rest @ 600, dim0:rest])",
      "storage(rank=3, digits=[dim1:rest, dim0:rest, dim2:rest])",
      "storage(rank=3, digits=[dim2:rest, dim1:2, dim0:rest, dim1:rest])"};
  const char *chosen = shape->rank == 2   ? ONE_OF(w, planes)
                       : shape->rank == 3 ? ONE_OF(w, solids)
                                          : "";
  put_if_bound(shape, chosen, text, size);
}

/* Rows, columns, another order of axes, a pitch, columns in groups of 4, tiles. */
static void draw_storage(writer *w, const llrt_expr *expr, const llrt_tensor *shape, int i) {
  char *text = w->out->storage[i];
  size_t size = sizeof w->out->storage[i];
  trial_tensor *tensor = &w->out->trial.tensor[i];
  int64_t last = shape->rank ? shape->shape[shape->rank - 1] : 1;
  int kind = writer_draw(w, 8);
  *text = 0;
  if (shape->rank == 2 && kind == 0) snprintf(text, size, "col_major");
  if (shape->rank == 2 && kind == 1)
    snprintf(text, size, "storage(rank=2, digits=[dim1:rest, dim0:rest @ %lld])",
             (long long)last + writer_draw(w, 9));
  if (shape->rank == 2 && kind == 2 && last % 4 == 0)
    snprintf(text, size, "storage(rank=2, digits=[dim1:4, dim0:rest, dim1:rest])");
  if (shape->rank == 2 && kind == 3 && w->out->trial.seed >= FIRST_WITH_TILES)
    draw_tiles(w, text, size);
  if (w->all && kind == 4) draw_rare_storage(w, shape, text, size);
  if (w->more && kind == 5) draw_named(w, shape, text, size);
  bool copied = w->more && kind == 7 && w->out->trial.seed % 3 == 0 && !expr->tensor[i].output;
  if (copied && shape->rank == 2) /* of copies the first is read */
    snprintf(text, size, "storage(rank=2, digits=[dim1:rest, replica:2, dim0:rest])");
  if (copied && shape->rank == 3)
    snprintf(text, size, "storage(rank=3, digits=[replica:3, dim2:rest, dim1:rest, dim0:rest])");
  if (w->more && kind == 6) w->out->trial.rare[i].strided = true;
  if (shape->rank == 3 && kind == 0)
    snprintf(text, size, "storage(rank=3, digits=[dim2:rest, dim0:rest, dim1:rest])");
  if (shape->rank == 3 && kind == 1)
    snprintf(text, size, "storage(rank=3, digits=[dim0:rest, dim2:rest, dim1:rest])");
  if (shape->rank == 1 && kind == 0)
    snprintf(text, size, "storage(rank=1, digits=[dim0:rest @ 3])");
  if (*text && (!w->fits || fit_storage(w, expr, i, shape, text))) tensor->storage = text;
}

/* An axis of the tensor that the expression takes as it is; -1: none. */
static int plain_axis(writer *w, const llrt_expr *expr, int i) {
  const expr_tensor *own = &expr->tensor[i];
  int axis = own->n_dims ? writer_draw(w, own->n_dims) : 0;
  bool plain = own->n_dims > 0 && own->dim[axis].n == 1 && !own->dim[axis].reversed;
  return plain && !fit_is_moved(strchr(w->out->text, '{'), own->name) ? axis : -1;
}

/* Along any axis, of values that lie apart, or of 32 bits. */
static void draw_rare_index(writer *w, const llrt_expr *expr, const llrt_tensor *shape, int i) {
  const expr_tensor *own = &expr->tensor[i];
  trial_index *index = &w->out->trial.tensor[i].index;
  int axis = plain_axis(w, expr, i), leading = own->leading ? w->out->trial.n_leading : 0;
  const char *stored = w->out->storage[i];
  if (writer_draw(w, 7) || axis < 0) return;
  int64_t extent = shape->shape[leading + axis];
  trial_index drawn = {
      .axis = leading + axis,
      .positions = (int)(own->output ? extent + writer_draw(w, 20) : 1 + writer_draw(w, 40)),
      .out_of_range = own->output || writer_draw(w, 2) ? LLRT_RANGE_SKIP : LLRT_RANGE_CLAMP};
  trial_rare *rare = &w->out->trial.rare[i];
  rare->index_dtype = writer_draw(w, 2) ? LLRT_I32 : LLRT_I64;
  rare->index_gap = writer_draw(w, 3) ? 0 : writer_draw(w, 4);
  rare->pointers = writer_draw(w, 4) == 0;
  if (rare->pointers) drawn.out_of_range = LLRT_RANGE_SKIP;
  int by = leading + (axis ? 0 : 1);
  bool second = !*stored && !leading && own->n_dims > 1 && !writer_draw(w, 3) && fit_by(w, own, by);
  if (second) drawn.by = 1 + by;
  if (second && own->output)
    drawn.positions = (int)(extent * shape->shape[by]) + writer_draw(w, 20);
  if (fit_index(stored, shape, &drawn)) *index = drawn;
}

/* Where the first axis is t as it is. */
static void draw_index(writer *w, const llrt_expr *expr, const llrt_tensor *shape, int i) {
  const expr_tensor *own = &expr->tensor[i];
  trial_index *index = &w->out->trial.tensor[i].index;
  if (w->more && writer_draw(w, 2)) {
    draw_rare_index(w, expr, shape, i);
    return;
  }
  bool plain = !own->leading && own->n_dims > 0 && own->dim[0].n == 1 && !own->dim[0].reversed &&
               strcmp(expr->axis[own->dim[0].axis[0]].name, "t") == 0;
  if (writer_draw(w, 7) || !plain) return;
  int64_t extent = shape->shape[0];
  index->axis = 0;
  index->positions = (int)(own->output ? extent + writer_draw(w, 20) : 1 + writer_draw(w, 40));
  if (w->more && !fit_index(w->out->storage[i], shape, index)) index->positions = 0;
  index->out_of_range = writer_draw(w, own->output ? 2 : 4);
  if (own->output && index->out_of_range) index->out_of_range = LLRT_RANGE_REPORT;
  bool counted_once = !w->form->others[0] && w->out->trial.extent[1] < FIT_LONG;
  if (w->fits && index->out_of_range == LLRT_RANGE_REPORT && !counted_once)
    index->out_of_range = LLRT_RANGE_SKIP;
  bool stored = w->out->trial.tensor[i].storage != NULL;
  if (!w->all || shape->rank < 2 || stored || writer_draw(w, 3)) return;
  if (w->fits && !fit_by(w, own, 1)) return;
  index->by = 2; /* values for each position of the second axis, too */
  if (own->output) index->positions = (int)(extent * shape->shape[1]) + writer_draw(w, 20);
}

/* The first output, or the second, in the place of an input of the same axes. */
static void draw_in_place(writer *w, const llrt_expr *expr) {
  trial *t = &w->out->trial;
  int i = writer_draw(w, expr->n_inputs + 1), out = expr->n_inputs;
  if (i == expr->n_inputs || writer_draw(w, 3) == 0) return;
  if (strstr(w->out->storage[i], "replica")) return; /* outputs have no copies */
  const expr_tensor *from = &expr->tensor[i], *to = &expr->tensor[out];
  bool alike = from->n_dims == to->n_dims && from->leading == to->leading &&
               memcmp(from->dim, to->dim, sizeof from->dim) == 0;
  if (!alike || t->tensor[i].index.positions || to->dtype) return;
  if (fit_is_moved(strchr(w->out->text, '{'), from->name)) return;
  if (fit_is_of_others(w, from->name)) return;
  if (w->fits && llrt_dtype_bits(t->tensor[i].type) < 8) return;
  t->tensor[out] = t->tensor[i];
  t->rare[out] = t->rare[i];
  t->in_place = 1 + i;
}

static void draw_tensors(writer *w, const llrt_expr *expr) {
  static const llrt_dtype types[] = {
      LLRT_F32,  LLRT_BF16, LLRT_F16,  LLRT_E4M3, LLRT_I8,  LLRT_F32, LLRT_BF16, LLRT_I32,
      LLRT_E5M2, LLRT_U8,   LLRT_BOOL, LLRT_BF16, LLRT_F32, LLRT_I16, LLRT_E2M1, LLRT_F64};
  static const llrt_dtype rare[] = {LLRT_U4,  LLRT_I4,   LLRT_U16, LLRT_U32,      LLRT_I64,
                                    LLRT_U64, LLRT_E8M0, LLRT_F16, LLRT_E4M3FNUZ, LLRT_E5M2FNUZ};
  trial *t = &w->out->trial;
  for (int i = 0; i < expr->n_tensors; i++) {
    llrt_tensor shape;
    shape_of(expr, t, i, &shape);
    t->tensor[i].type = w->all && writer_draw(w, 6) == 0 ? ONE_OF(w, rare) : ONE_OF(w, types);
    bool casts = llrt_dtype_bits(t->tensor[i].type) < 64 || t->tensor[i].type == LLRT_F64;
    if (w->all && expr->tensor[i].output && !casts) t->tensor[i].type = LLRT_F32;
    if (w->fits && t->tensor[i].type == LLRT_F64 && !expr->tensor[i].output &&
        fit_has_functions(w->out->text))
      t->tensor[i].type = LLRT_F32;
    draw_storage(w, expr, &shape, i);
    draw_index(w, expr, &shape, i);
    if (w->more) t->rare[i].wide = writer_draw(w, 6) == 0;
  }
  if (w->all) {
    if (expr->n_inputs > 0) draw_in_place(w, expr);
    return;
  }
  const char *body = strchr(w->out->text, '{');
  bool moved = strstr(body, "(x, ") || strstr(body, "x[") || t->tensor[0].index.positions;
  bool alike = expr->tensor[0].n_dims == expr->tensor[expr->n_inputs].n_dims &&
               memcmp(expr->tensor[0].dim, expr->tensor[expr->n_inputs].dim,
                      sizeof expr->tensor[0].dim) == 0;
  if (writer_draw(w, 5) == 0 && alike && !moved && !expr->tensor[expr->n_inputs].dtype) {
    t->tensor[expr->n_inputs] = t->tensor[0];
    t->in_place = 1;
  }
}

/* Of any axis that all tensors take as it is and nothing joins. */
static void draw_rare_count(writer *w, const llrt_expr *expr) {
  trial *t = &w->out->trial;
  int axis = writer_draw(w, expr->n_axes);
  bool plain = !expr->axis[axis].extent && fit_count(w, expr);
  for (int i = 0; i < expr->n_nodes; i++)
    plain &= !(expr->node[i].reduced >> axis & 1) &&
             !(expr_row_of(expr->node[i].op)->family == EXPR_MOVE && expr->node[i].slot == axis);
  for (int i = 0; i < expr->n_tensors; i++)
    for (int d = 0; d < expr->tensor[i].n_dims; d++) {
      const expr_dim *dim = &expr->tensor[i].dim[d];
      for (int j = 0; j < dim->n; j++)
        plain &= dim->axis[j] != axis || (dim->n == 1 && !dim->reversed);
    }
  if (writer_draw(w, 8) || !plain) return;
  t->counted = 1 + axis;
  t->count = writer_draw(w, (int)t->extent[axis] + 2);
}

/* Of t, where the signature has it first. */
static void draw_count(writer *w, const llrt_expr *expr) {
  trial *t = &w->out->trial;
  bool joined = false;
  for (int i = 0; i < expr->n_nodes; i++) joined |= (expr->node[i].reduced & 1) != 0;
  if (writer_draw(w, 8) || joined || strcmp(expr->axis[0].name, "t") != 0) return;
  if (w->fits && !fit_count(w, expr)) return;
  t->counted = 1;
  t->count = writer_draw(w, (int)t->extent[0] + 2);
}

/* Of one axis or two no position, or one. */
static void draw_empty_axes(writer *w, const llrt_expr *expr) {
  trial *t = &w->out->trial;
  for (int n = writer_draw(w, 3); n > 0; n--) {
    int a = writer_draw(w, expr->n_axes + t->n_leading);
    int64_t *extent = a < expr->n_axes ? &t->extent[a] : &t->leading[a - expr->n_axes];
    *extent = writer_draw(w, 3) == 0;
  }
}

/* How it is called, and with which numbers. */
static void draw_call(writer *w) {
  static const double numbers[] = {2, 3, 5, 2, 3, 0, -1, -7, 100, 0.3, -0.0, 12345};
  trial *t = &w->out->trial;
  t->way = (trial_way)(writer_draw(w, 2) ? TRIAL_AT_ONCE : writer_draw(w, TRIAL_WAYS));
  for (int i = 0; i < 3; i++) t->scalar[i] = ONE_OF(w, numbers);
}

/* Rows of several tensors behind each other in one buffer. */
static void draw_beside(writer *w, const llrt_expr *expr) {
  trial *t = &w->out->trial;
  t->beside = writer_draw(w, 4) == 0;
  for (int i = 0; i < expr->n_tensors && t->beside; i++) {
    bool own = writer_draw(w, 3) == 0 || t->in_place == i + 1;
    if (own || (t->in_place && i == expr->n_inputs)) continue;
    t->tensor[i].storage = NULL;
    t->rare[i].strided = false;
  }
}

void expression_draw_seed(uint64_t seed, expression_draw *out) {
  writer w = {.state = seed * 0x9E3779B97F4A7C15u + 1,
              .out = out,
              .all = seed >= FIRST_WITH_ALL,
              .fits = seed >= FIRST_THAT_FITS,
              .empties = seed >= FIRST_WITH_EMPTY,
              .more = seed >= FIRST_WITH_MORE,
              .floors = seed >= FIRST_BESIDE};
  llrt_expr *expr;
  *out = (expression_draw){.trial = {.seed = seed, .scalar = {2, 3, 5}}};
  trial *t = &out->trial;
  t->text = out->text;
  for (int i = 0; i < 4; i++) writer_draw(&w, 2);
  writer_write(&w);
  if (llrt_expr_parse(out->text, &expr) != LLRT_OK) return; /* the trial says what is wrong */
  bool few = expr->n_axes > 2;
  for (int a = 0; a < expr->n_axes; a++)
    t->extent[a] = 1 + writer_draw(&w, few ? 20 : writer_draw(&w, 4) ? 70 : 500);
  t->extent[0] = 1 + writer_draw(&w, writer_draw(&w, 4) ? 5 : 40);
  if (!few && writer_draw(&w, 12) == 0)
    t->extent[1] = 2000 + writer_draw(&w, 4000), t->extent[0] = 1 + writer_draw(&w, 3);
  if (w.all && !few && expr->n_axes > 1 && writer_draw(&w, 40) == 0)
    t->extent[1] = 32700 + writer_draw(&w, 6000), t->extent[0] = 1; /* which GPUs walk */
  if (w.more && !few && expr->n_axes > 1 && writer_draw(&w, 100) == 0)
    t->extent[1] = 40000 + writer_draw(&w, 130000), t->extent[0] = 1 + writer_draw(&w, 2);
  if (w.more && !few && expr->n_axes > 1 && writer_draw(&w, 16) == 0) /* which fill threads */
    t->extent[1] = 1024ll << writer_draw(&w, 4), t->extent[0] = 1 + writer_draw(&w, 3);
  if (w.fits && !few && !fit_may_be_long(&w) && t->extent[1] >= FIT_LONG)
    t->extent[1] = 1 + t->extent[1] % FIT_LONG;
  t->n_leading = writer_draw(&w, 3);
  for (int a = 0; a < 2; a++) t->leading[a] = 1 + writer_draw(&w, 6);
  if (w.empties) draw_empty_axes(&w, expr);
  t->special = writer_draw(&w, 4) == 0;
  t->offset = writer_draw(&w, 3) == 0 ? writer_draw(&w, 8) : 0;
  draw_tensors(&w, expr);
  if (w.more) draw_rare_count(&w, expr);
  else draw_count(&w, expr);
  if (w.more) draw_call(&w);
  if (seed >= FIRST_BESIDE) draw_beside(&w, expr);
  llrt_expr_destroy(&expr);
}
