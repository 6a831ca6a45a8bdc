/* See expression_draw.h. */
#include "tests/expression/expression_draw.h"

#include <stdio.h>
#include <string.h>

/* A signature, and what a body may say of it. */
typedef struct form {
  const char *inputs, *output, *row; /* row: an output that lacks what joins[0] joins */
  const char *whole;                 /* a value along all axes */
  const char *leaves[10];
  const char *joins[3]; /* axes of reductions, the largest set first */
  const char *positions[3];
} form;

static const form forms[] = {
    {"x[t n], z[t n], w[n], s[t], c: f32",
     "y[t n]",
     "r[t]",
     "x",
     {"x", "x", "z", "w", "s", "c"},
     {"n"},
     {"n", "t"}},
    {"x[t n], z[n t], w[n], s[t], c: f32",
     "y[t n]",
     "r[t]",
     "z",
     {"x", "z", "z", "w", "s", "c"},
     {"n"},
     {"n", "t"}},
    {"x[t n], z[t n], w[n], s[t], c: f32",
     "y[n t]",
     "r[n]",
     "x",
     {"x", "x", "z", "w", "s", "c"},
     {"t"},
     {"n", "t"}},
    {"x[t (g j:16)], z[t (g j)], w[(g j)], s[t g], c: f32",
     "y[t (g j)]",
     "r[t]",
     "z",
     {"x", "z", "flip(x, j)", "x[j=3]", "w", "s", "c"},
     {"(g, j)", "j"},
     {"j", "g", "t"}},
    {"x[t (g j:3)], z[t g j], w[j], s[t g], c: f32",
     "y[t (g j)]",
     "r[t g]",
     "z",
     {"x", "z", "flip(z, j)", "w[j=1]", "w", "s", "c"},
     {"j"},
     {"j", "g", "t"}},
    {"x[t h (p:2 i)], z[t h (p i)], w[(p i)], s[t i], c: f32",
     "y[t h (p i)]",
     "r[t h]",
     "z",
     {"x", "z", "flip(x, p)", "x[p=0]", "w", "s", "c"},
     {"(p, i)", "i"},
     {"p", "i", "h"}},
    {"x[t h (i p:2)], z[t h (i p)], w[p], s[t i], c: f32",
     "y[t h (i p)]",
     "r[t]",
     "x",
     {"x", "z", "flip(z, p)", "z[p=1]", "w", "s", "c"},
     {"(h, i, p)", "(i, p)", "p"},
     {"p", "t", "h"}},
    {"x[... n], z[... n], w[n], s[1 n], c: f32",
     "y[... n]",
     "r[...]",
     "x",
     {"x", "x", "z", "w", "s", "c"},
     {"n"},
     {"n"}},
    {"x[t ~n], z[t n 1], w[~n], s[t], c: f32",
     "y[t n]",
     "r[t 1]",
     "x",
     {"x", "z", "w", "s", "c"},
     {"n"},
     {"n", "t"}},
    {"x[t n], z[t n], w[n], s[t], c: i32",
     "y[t n]",
     "r[]",
     "x",
     {"x", "x", "z", "w", "s", "c"},
     {"(t, n)", "n"},
     {"n", "t"}},
};

typedef struct writer {
  uint64_t state;
  expression_draw *out;
  const form *form;
  int length, left; /* left: nodes that may still be made */
} writer;

/* ---- letters ---- */

static int draw(writer *w, int n) {
  w->state = w->state * 6364136223846793005u + 1442695040888963407u;
  return (int)((w->state >> 33) % (uint64_t)n);
}

static void add(writer *w, const char *text) {
  int room = (int)sizeof w->out->text - w->length;
  int n = snprintf(w->out->text + w->length, (size_t)room, "%s", text);
  if (n < room) w->length += n;
}

static int count_of(const char *const *texts, int most) {
  int n = 0;
  while (n < most && texts[n]) n++;
  return n;
}

#define ONE_OF(w, texts) (texts)[draw(w, (int)(sizeof(texts) / sizeof *(texts)))]

/* ---- values ---- */

static void real_value(writer *w);
static void whole_value(writer *w);
static void truth_value(writer *w);

static void two(writer *w, void (*value)(writer *), const char *sign) {
  add(w, "(");
  value(w);
  add(w, sign);
  value(w);
  add(w, ")");
}

static void call(writer *w, const char *name, void (*value)(writer *), int arguments,
                 const char *rest) {
  add(w, name);
  add(w, "(");
  for (int i = 0; i < arguments; i++) {
    if (i) add(w, ", ");
    value(w);
  }
  add(w, rest);
  add(w, ")");
}

/* Of something that varies along the axes in any case. */
static void reduction(writer *w, const char *axes) {
  static const char *const names[] = {"sum",    "mean",   "max",  "min", "max", "sum",
                                      "argmax", "argmin", "prod", "sum", "mean"};
  const char *name = ONE_OF(w, names);
  if (strchr(axes, ',') && name[0] == 'a') name = "max";
  add(w, name);
  add(w, "(");
  add(w, w->form->whole);
  add(w, " + ");
  real_value(w);
  add(w, ", ");
  add(w, axes);
  add(w, ")");
}

static const char *drawn_axes(writer *w) {
  return w->form->joins[draw(w, count_of(w->form->joins, 3))];
}

static void leaf(writer *w) {
  static const char *const numbers[] = {"2", "0.5", "-3", "1.25"};
  int n = count_of(w->form->leaves, 10);
  int i = draw(w, n + 2);
  if (i < n) add(w, w->form->leaves[i]);
  else if (i == n) add(w, ONE_OF(w, numbers));
  else add(w, w->form->positions[draw(w, count_of(w->form->positions, 3))]);
}

static void choice(writer *w, void (*value)(writer *)) {
  add(w, "where(");
  truth_value(w);
  add(w, ", ");
  value(w);
  add(w, ", ");
  value(w);
  add(w, ")");
}

static void real_value(writer *w) {
  static const char *const signs[] = {" + ", " - ", " * ", " / "};
  static const char *const functions[] = {"exp",   "tanh", "sigmoid", "silu",  "gelu", "abs",
                                          "sqrt",  "log",  "erf",     "rsqrt", "exp2", "log2",
                                          "floor", "ceil", "round",   "rcp",   "sin",  "cos"};
  static const char *const casts[] = {"bf16", "f16", "e4m3", "e5m2", "f32", "e2m1"};
  if (--w->left <= 0) {
    leaf(w);
    return;
  }
  switch (draw(w, 16)) {
  case 0:
  case 1:
  case 2:
  case 3:
  case 4: two(w, real_value, ONE_OF(w, signs)); break;
  case 5: call(w, draw(w, 2) ? "maximum" : "minimum", real_value, 2, ""); break;
  case 6:
  case 7:
  case 8: call(w, ONE_OF(w, functions), real_value, 1, ""); break;
  case 9: call(w, ONE_OF(w, casts), real_value, 1, ""); break;
  case 10: choice(w, real_value); break;
  case 11: reduction(w, drawn_axes(w)); break;
  case 12: call(w, "fma", real_value, 3, ""); break;
  case 13: whole_value(w); break;
  case 14:
    add(w, "e8m0(");
    call(w, "abs", real_value, 1, "");
    add(w, draw(w, 2) ? ", round=up)" : ")");
    break;
  default: leaf(w); break;
  }
}

static void whole_value(writer *w) {
  static const char *const signs[] = {" + ", " - ", " * ", " // ", " % ", " & ", " | ", " ^ "};
  static const char *const shifts[] = {" << 2", " >> 1", " << 1", " >> 3"};
  static const char *const casts[] = {"i8", "u8", "i16", "i4"};
  if (--w->left <= 0) {
    add(w, w->form->positions[draw(w, count_of(w->form->positions, 3))]);
    return;
  }
  switch (draw(w, 6)) {
  case 0:
  case 1:
  case 2: two(w, whole_value, ONE_OF(w, signs)); break;
  case 3: call(w, ONE_OF(w, casts), real_value, 1, ""); break;
  case 4:
    add(w, "(");
    whole_value(w);
    add(w, ONE_OF(w, shifts));
    add(w, ")");
    break;
  default: choice(w, whole_value); break;
  }
}

static void truth_value(writer *w) {
  static const char *const compares[] = {" < ", " > ", " <= ", " >= ", " == ", " != "};
  static const char *const signs[] = {" & ", " | ", " ^ "};
  w->left--;
  switch (draw(w, 7)) {
  case 0:
    two(w, w->left > 1 ? truth_value : whole_value, w->left > 1 ? ONE_OF(w, signs) : " < ");
    break;
  case 1: two(w, whole_value, ONE_OF(w, compares)); break;
  case 2:
    add(w, draw(w, 2) ? "any(" : "all(");
    add(w, w->form->whole);
    add(w, " < ");
    real_value(w);
    add(w, ", ");
    add(w, drawn_axes(w));
    add(w, ")");
    break;
  default: two(w, real_value, ONE_OF(w, compares)); break;
  }
}

/* ---- text ---- */

static void write_text(writer *w) {
  static const char *const types[] = {"",       "",     ": f32", ": bf16",
                                      ": e4m3", ": i8", ": i32", ": bool"};
  bool row = draw(w, 2) != 0;
  w->left = 2 + draw(w, 28);
  add(w, "(");
  add(w, w->form->inputs);
  add(w, ") -> (");
  add(w, w->form->output);
  add(w, ONE_OF(w, types));
  if (row) {
    add(w, ", ");
    add(w, w->form->row);
    add(w, draw(w, 3) ? ": f32" : ONE_OF(w, types));
  }
  add(w, ") { y = ");
  real_value(w);
  if (row) {
    w->left = 1 + draw(w, 8);
    add(w, "; r = ");
    reduction(w, w->form->joins[0]);
  }
  add(w, " }");
}

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

/* Tiles with pads: of scales, of packed weights, and one whose pads are no zeros. */
static void draw_tiles(writer *w, char *text, size_t size) {
  static const char *const names[] = {
      "scale_8x4", "scale_128x4", "scale_8x4(pad=3)",
      "storage(rank=2, digits=[dim0:rest, dim1:rest], tile={offset: [[1,0],[0,8],[8,0],[0,1],[2,0],"
      "[4,0],[0,2],[0,4]]} -> [dim0:16, dim1:16], pad=0)"};
  snprintf(text, size, "%s", ONE_OF(w, names));
}

/* Rows, columns, another order of axes, a pitch, columns in groups of 4, tiles. */
static void draw_storage(writer *w, const llrt_tensor *shape, int i) {
  char *text = w->out->storage[i];
  size_t size = sizeof w->out->storage[i];
  trial_tensor *tensor = &w->out->trial.tensor[i];
  int64_t last = shape->rank ? shape->shape[shape->rank - 1] : 1;
  int kind = draw(w, 8);
  *text = 0;
  if (shape->rank == 2 && kind == 0) snprintf(text, size, "col_major");
  if (shape->rank == 2 && kind == 1)
    snprintf(text, size, "storage(rank=2, digits=[dim1:rest, dim0:rest @ %lld])",
             (long long)last + draw(w, 9));
  if (shape->rank == 2 && kind == 2 && last % 4 == 0)
    snprintf(text, size, "storage(rank=2, digits=[dim1:4, dim0:rest, dim1:rest])");
  if (shape->rank == 2 && kind == 3 && w->out->trial.seed >= FIRST_WITH_TILES)
    draw_tiles(w, text, size);
  if (shape->rank == 3 && kind == 0)
    snprintf(text, size, "storage(rank=3, digits=[dim2:rest, dim0:rest, dim1:rest])");
  if (shape->rank == 3 && kind == 1)
    snprintf(text, size, "storage(rank=3, digits=[dim0:rest, dim2:rest, dim1:rest])");
  if (shape->rank == 1 && kind == 0)
    snprintf(text, size, "storage(rank=1, digits=[dim0:rest @ 3])");
  if (*text) tensor->storage = text;
}

/* Where the first axis is t as it is. */
static void draw_index(writer *w, const llrt_expr *expr, const llrt_tensor *shape, int i) {
  const expr_tensor *own = &expr->tensor[i];
  trial_index *index = &w->out->trial.tensor[i].index;
  bool plain = !own->leading && own->n_dims > 0 && own->dim[0].n == 1 && !own->dim[0].reversed &&
               strcmp(expr->axis[own->dim[0].axis[0]].name, "t") == 0;
  if (draw(w, 7) || !plain) return;
  int64_t extent = shape->shape[0];
  index->axis = 0;
  index->positions = (int)(own->output ? extent + draw(w, 20) : 1 + draw(w, 40));
  index->out_of_range = draw(w, own->output ? 2 : 4);
  if (own->output && index->out_of_range) index->out_of_range = LLRT_RANGE_REPORT;
}

static void draw_tensors(writer *w, const llrt_expr *expr) {
  static const llrt_dtype types[] = {
      LLRT_F32,  LLRT_BF16, LLRT_F16,  LLRT_E4M3, LLRT_I8,  LLRT_F32, LLRT_BF16, LLRT_I32,
      LLRT_E5M2, LLRT_U8,   LLRT_BOOL, LLRT_BF16, LLRT_F32, LLRT_I16, LLRT_E2M1, LLRT_F64};
  trial *t = &w->out->trial;
  for (int i = 0; i < expr->n_tensors; i++) {
    llrt_tensor shape;
    shape_of(expr, t, i, &shape);
    t->tensor[i].type = types[draw(w, 16)];
    draw_storage(w, &shape, i);
    draw_index(w, expr, &shape, i);
  }
  const char *body = strchr(w->out->text, '{');
  bool moved = strstr(body, "(x, ") || strstr(body, "x[") || t->tensor[0].index.positions;
  bool alike = expr->tensor[0].n_dims == expr->tensor[expr->n_inputs].n_dims &&
               memcmp(expr->tensor[0].dim, expr->tensor[expr->n_inputs].dim,
                      sizeof expr->tensor[0].dim) == 0;
  if (draw(w, 5) == 0 && alike && !moved && !expr->tensor[expr->n_inputs].dtype) {
    t->tensor[expr->n_inputs] = t->tensor[0];
    t->in_place = 1;
  }
}

/* Of t, where the signature has it first. */
static void draw_count(writer *w, const llrt_expr *expr) {
  trial *t = &w->out->trial;
  bool joined = false;
  for (int i = 0; i < expr->n_nodes; i++) joined |= (expr->node[i].reduced & 1) != 0;
  if (draw(w, 8) || joined || strcmp(expr->axis[0].name, "t") != 0) return;
  t->counted = 1;
  t->count = draw(w, (int)t->extent[0] + 2);
}

void expression_draw_seed(uint64_t seed, expression_draw *out) {
  writer w = {.state = seed * 0x9E3779B97F4A7C15u + 1, .out = out};
  llrt_expr *expr;
  *out = (expression_draw){.trial = {.seed = seed, .scalar = {2}}};
  trial *t = &out->trial;
  t->text = out->text;
  for (int i = 0; i < 4; i++) draw(&w, 2);
  w.form = &forms[draw(&w, (int)(sizeof forms / sizeof *forms))];
  write_text(&w);
  if (llrt_expr_parse(out->text, &expr) != LLRT_OK) return; /* the trial says what is wrong */
  bool few = expr->n_axes > 2;
  for (int a = 0; a < expr->n_axes; a++)
    t->extent[a] = 1 + draw(&w, few ? 20 : draw(&w, 4) ? 70 : 500);
  t->extent[0] = 1 + draw(&w, draw(&w, 4) ? 5 : 40);
  if (!few && draw(&w, 12) == 0)
    t->extent[1] = 2000 + draw(&w, 4000), t->extent[0] = 1 + draw(&w, 3);
  t->n_leading = draw(&w, 3);
  for (int a = 0; a < 2; a++) t->leading[a] = 1 + draw(&w, 6);
  t->special = draw(&w, 4) == 0;
  t->offset = draw(&w, 3) == 0 ? draw(&w, 8) : 0;
  draw_tensors(&w, expr);
  draw_count(&w, expr);
  llrt_expr_destroy(&expr);
}
