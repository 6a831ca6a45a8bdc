/* See expression_text.h. */
#include "tests/expression/expression_text.h"

#include <stdio.h>
#include <string.h>

static const form forms[] = {
    {"x[t n], z[t n], w[n], s[t], c: f32",
     "y[t n]",
     "r[t]",
     "x",
     {"x", "x", "z", "w", "s", "c"},
     {"n"},
     {"n", "t"},
     {NULL},
     false},
    {"x[t n], z[n t], w[n], s[t], c: f32",
     "y[t n]",
     "r[t]",
     "z",
     {"x", "z", "z", "w", "s", "c"},
     {"n"},
     {"n", "t"},
     {NULL},
     false},
    {"x[t n], z[t n], w[n], s[t], c: f32",
     "y[n t]",
     "r[n]",
     "x",
     {"x", "x", "z", "w", "s", "c"},
     {"t"},
     {"n", "t"},
     {NULL},
     false},
    {"x[t (g j:16)], z[t (g j)], w[(g j)], s[t g], c: f32",
     "y[t (g j)]",
     "r[t]",
     "z",
     {"x", "z", "flip(x, j)", "x[j=3]", "w", "s", "c"},
     {"(g, j)", "j"},
     {"j", "g", "t"},
     {NULL},
     false},
    {"x[t (g j:3)], z[t g j], w[j], s[t g], c: f32",
     "y[t (g j)]",
     "r[t g]",
     "z",
     {"x", "z", "flip(z, j)", "w[j=1]", "w", "s", "c"},
     {"j"},
     {"j", "g", "t"},
     {NULL},
     false},
    {"x[t h (p:2 i)], z[t h (p i)], w[(p i)], s[t i], c: f32",
     "y[t h (p i)]",
     "r[t h]",
     "z",
     {"x", "z", "flip(x, p)", "x[p=0]", "w", "s", "c"},
     {"(p, i)", "i"},
     {"p", "i", "h"},
     {NULL},
     false},
    {"x[t h (i p:2)], z[t h (i p)], w[p], s[t i], c: f32",
     "y[t h (i p)]",
     "r[t]",
     "x",
     {"x", "z", "flip(z, p)", "z[p=1]", "w", "s", "c"},
     {"(h, i, p)", "(i, p)", "p"},
     {"p", "t", "h"},
     {NULL},
     false},
    {"x[... n], z[... n], w[n], s[1 n], c: f32",
     "y[... n]",
     "r[...]",
     "x",
     {"x", "x", "z", "w", "s", "c"},
     {"n"},
     {"n"},
     {NULL},
     false},
    {"x[t ~n], z[t n 1], w[~n], s[t], c: f32",
     "y[t n]",
     "r[t 1]",
     "x",
     {"x", "z", "w", "s", "c"},
     {"n"},
     {"n", "t"},
     {NULL},
     false},
    {"x[t n], z[t n], w[n], s[t], c: i32",
     "y[t n]",
     "r[]",
     "x",
     {"x", "x", "z", "w", "s", "c"},
     {"(t, n)", "n"},
     {"n", "t"},
     {NULL},
     false},
    /* from here on: of seeds that draw all of the language */
    {"c: f32, k: i32, m: i64",
     "y[t n]",
     "r[t]",
     "n",
     {"c", "k", "m", "n", "t", "(c * k)"},
     {"n"},
     {"n", "t"},
     {NULL},
     false},
    {"x[t n], z[n], c: f64, k: i32",
     "y[t n]",
     "r[n t]",
     "x",
     {"x", "x", "z", "k", "f32(c)", "f32(f64(x) * c)"},
     {"n"},
     {"n", "t"},
     {NULL},
     true},
    {"x[t h:3 n], z[t n], w[n], s[t h], c: f32",
     "y[t n]",
     "r[t h n]",
     "z",
     {"z", "z", "w", "c"},
     {"n"},
     {"n", "t"},
     {"x", "x", "w", "s", "c", "x[h=0]"},
     true},
    {"x[t (h:4 n)], z[t (n q:8)], s[t], c: f32",
     "y[t (h n)]",
     "r[t (n q)]",
     "x",
     {"x", "x", "x[h=1]", "flip(x, h)", "s", "c"},
     {"(h, n)", "n"},
     {"n", "t"},
     {"z", "z", "z[q=5]", "flip(z, q)", "s"},
     true},
    {"x[n], z[n], c: f32", "y[n]", "r[]", "x", {"x", "x", "z", "c"}, {"n"}, {"n"}, {NULL}, false},
    {"x[t (g h:2 j:16)], z[t g h j], s[(g h)], c: i64",
     "y[t (g h j)]",
     "r[t g]",
     "x",
     {"x", "z", "x", "flip(x, j)", "z[h=1]", "s", "c"},
     {"(h, j)", "j"},
     {"j", "g", "h"},
     {NULL},
     false},
    /* from here on: of seeds that draw axes without positions */
    {"x[t n], z[t m], w[n], s[t], c: f32",
     "y[t n]",
     "r[t m]",
     "x",
     {"x", "x", "w", "s", "c"},
     {"t"},
     {"t"},
     {"z", "z", "s", "c"},
     true},
    {"x[t n], z[m n], w[n], s[t], c: f32",
     "y[t n]",
     "r[m n]",
     "x",
     {"x", "x", "w", "s", "c"},
     {"n"},
     {"n"},
     {"z", "z", "w", "c"},
     true},
    {"x[t n], z[t m n], w[m], c: f32",
     "y[t n]",
     "r[t m n]",
     "x",
     {"x", "x", "c"},
     {"n"},
     {"n", "t"},
     {"z", "x", "w", "c"},
     true},
    {"x[t n], s[t], c: f32",
     "y[t n]",
     "r[t]",
     "x",
     {"x", "s", "c"},
     {"t"},
     {"t"},
     {"s", "c"},
     true},
    {"x[t n], z[n], c: f32",
     "y[t n]",
     "r[n]",
     "x",
     {"x", "x", "c"},
     {"n"},
     {"n"},
     {"z", "c"},
     true},
};

/* Those of seeds before all of the language was drawn, and before axes without positions were. */
enum { FIRST_FORMS = 10, FULL_FORMS = 16, FORMS = sizeof forms / sizeof *forms };

/* ---- letters ---- */

int writer_draw(writer *w, int n) {
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

/* What varies along all axes of an output. */
static const char *whole_of(const writer *w) {
  return w->others ? w->form->others[0] : w->form->whole;
}

/* The sum of the positions along "n" or "(h, w)". */
static void positions(writer *w, const char *axes) {
  char letter[2] = {0};
  for (int n = 0; *axes; axes++) {
    if (!strchr("(), ", *axes)) letter[0] = *axes;
    else continue;
    if (n++) add(w, " + ");
    add(w, letter);
  }
}

/* Of something that varies along the axes in any case. */
static void reduction(writer *w, const char *axes) {
  static const char *const names[] = {"sum",    "mean",   "max",  "min", "max", "sum",
                                      "argmax", "argmin", "prod", "sum", "mean"};
  const char *name = ONE_OF(w, names);
  if (strchr(axes, ',') && name[0] == 'a') name = "max";
  add(w, name);
  add(w, "(");
  if (w->floors && writer_draw(w, 4) == 0) positions(w, axes);
  else add(w, whole_of(w));
  add(w, " + ");
  real_value(w);
  add(w, w->all && writer_draw(w, 4) == 0 ? ", axis=" : ", ");
  add(w, axes);
  add(w, ")");
}

/* Along one of the axes that are joined. */
static void scan(writer *w, void (*value)(writer *)) {
  static const char *const names[] = {"cumsum", "cumsum", "cummax", "cummin", "cumprod"};
  static const char *const options[] = {"", "", ", exclusive=True", ", reverse=True",
                                        ", exclusive=True, reverse=True"};
  int n = count_of(w->form->joins, 3);
  const char *axis = w->form->joins[writer_draw(w, n)];
  if (w->fits && *axis == '(') axis = w->form->joins[n - 1]; /* the set that the others hold */
  if (*axis == '(') axis = w->form->positions[0];
  add(w, ONE_OF(w, names));
  add(w, "(");
  add(w, value == whole_value ? axis : whole_of(w));
  add(w, " + ");
  value(w);
  add(w, ", ");
  add(w, axis);
  add(w, ONE_OF(w, options));
  add(w, ")");
}

static const char *drawn_axes(writer *w) {
  int n = count_of(w->form->joins, 3), drawn = writer_draw(w, n);
  return w->form->joins[w->others ? n - 1 : drawn];
}

static void leaf(writer *w) {
  static const char *const numbers[] = {"2", "0.5", "-3", "1.25"};
  static const char *const rare[] = {"0",    "1",     "1e30", "1e-30", "-0.0",  "0x1F",
                                     "7e-9", "65504", "1e38", "448",   "1e-45", "16777217"};
  const char *const *leaves = w->others ? w->form->others : w->form->leaves;
  int n = count_of(leaves, 10), names = w->others ? 0 : w->names;
  int i = writer_draw(w, n + names + 2);
  if (i < n) add(w, leaves[i]);
  else if (i < n + names) add(w, w->name[i - n]);
  else if (i == n + names && w->more && writer_draw(w, 3) == 0) add(w, ONE_OF(w, rare));
  else if (i == n + names) add(w, ONE_OF(w, numbers));
  else add(w, w->form->positions[writer_draw(w, count_of(w->form->positions, 3))]);
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

/* Functions that there are of f64, and its bits. */
static void wide_real_value(writer *w) {
  static const char *const functions[] = {"sqrt", "rsqrt", "rcp", "floor", "ceil", "round"};
  if (writer_draw(w, 3) == 0) {
    add(w, "f32(bitcast(bitcast(f64(");
    real_value(w);
    add(w, "), i64) ^ 1, f64))");
    return;
  }
  add(w, "f32(");
  add(w, ONE_OF(w, functions));
  add(w, "(f64(");
  real_value(w);
  add(w, writer_draw(w, 2) ? ") + 0.25))" : ")))");
}

/* What earlier seeds do not draw. */
static void rare_real_value(writer *w) {
  static const char *const casts[] = {"e4m3fnuz", "e5m2fnuz", "f16", "e2m1", "f32"};
  if (w->more && writer_draw(w, 6) == 0) {
    wide_real_value(w);
    return;
  }
  switch (writer_draw(w, 8)) {
  case 0:
  case 1:
  case 2: scan(w, real_value); break;
  case 3: call(w, "-", real_value, 1, ""); break;
  case 4: call(w, ONE_OF(w, casts), real_value, 1, ""); break;
  case 5:
    add(w, "f32(f64(");
    real_value(w);
    add(w, writer_draw(w, 2) ? ") * f64(" : ") - f64(");
    real_value(w);
    add(w, "))");
    break;
  case 6:
    add(w, "bitcast(bitcast(f32(");
    real_value(w);
    add(w, writer_draw(w, 2) ? "), i32) & -65536, f32)" : "), i32) ^ 1, f32)");
    break;
  default: call(w, "e8m0", real_value, 1, writer_draw(w, 2) ? ", round=down" : ", round=nearest");
  }
}

static void real_value(writer *w) {
  static const char *const signs[] = {" + ", " - ", " * ", " / ", " // ", " % "};
  static const char *const functions[] = {"exp",   "tanh", "sigmoid", "silu",  "gelu", "abs",
                                          "sqrt",  "log",  "erf",     "rsqrt", "exp2", "log2",
                                          "floor", "ceil", "round",   "rcp",   "sin",  "cos"};
  static const char *const casts[] = {"bf16", "f16", "e4m3", "e5m2", "f32", "e2m1"};
  if (--w->left <= 0) {
    leaf(w);
    return;
  }
  if (w->all && writer_draw(w, 6) == 0) {
    rare_real_value(w);
    return;
  }
  switch (writer_draw(w, 16)) {
  case 0:
  case 1:
  case 2:
  case 3:
  case 4: two(w, real_value, signs[writer_draw(w, w->floors ? 6 : 4)]); break;
  case 5: call(w, writer_draw(w, 2) ? "maximum" : "minimum", real_value, 2, ""); break;
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
    add(w, writer_draw(w, 2) ? ", round=up)" : ")");
    break;
  default: leaf(w); break;
  }
}

static void rare_whole_value(writer *w) {
  static const char *const casts[] = {"u4", "u16", "i32", "i64"};
  static const char *const more_casts[] = {"i64", "i32", "u16", "i16"};
  static const char *const numbers[] = {"0", "1", "7", "0xFF", "1000000007", "(-5)", "2147483647"};
  if (w->more && writer_draw(w, 4) == 0) {
    if (writer_draw(w, 2)) add(w, ONE_OF(w, numbers));
    else call(w, ONE_OF(w, more_casts), whole_value, 1, "");
    return;
  }
  switch (writer_draw(w, 6)) {
  case 0: call(w, "~", whole_value, 1, ""); break;
  case 1: call(w, "-", whole_value, 1, ""); break;
  case 2: call(w, "abs", whole_value, 1, ""); break;
  case 3: call(w, ONE_OF(w, casts), whole_value, 1, ""); break;
  case 4: scan(w, whole_value); break;
  default: call(w, writer_draw(w, 2) ? "maximum" : "minimum", whole_value, 2, ""); break;
  }
}

static void whole_value(writer *w) {
  static const char *const signs[] = {" + ", " - ", " * ", " // ", " % ", " & ", " | ", " ^ "};
  static const char *const shifts[] = {" << 2", " >> 1", " << 1", " >> 3"};
  static const char *const more_shifts[] = {" << 31", " >> 40", " >> 31", " << 33", " << -1"};
  static const char *const casts[] = {"i8", "u8", "i16", "i4"};
  if (--w->left <= 0) {
    add(w, w->form->positions[writer_draw(w, count_of(w->form->positions, 3))]);
    return;
  }
  if (w->all && writer_draw(w, 5) == 0) {
    rare_whole_value(w);
    return;
  }
  switch (writer_draw(w, 6)) {
  case 0:
  case 1:
  case 2: two(w, whole_value, ONE_OF(w, signs)); break;
  case 3: call(w, ONE_OF(w, casts), real_value, 1, ""); break;
  case 4:
    add(w, "(");
    whole_value(w);
    if (w->more && writer_draw(w, 3) == 0) add(w, ONE_OF(w, more_shifts));
    else add(w, ONE_OF(w, shifts));
    add(w, ")");
    break;
  default: choice(w, whole_value); break;
  }
}

static void truth_value(writer *w) {
  static const char *const compares[] = {" < ", " > ", " <= ", " >= ", " == ", " != "};
  static const char *const signs[] = {" & ", " | ", " ^ "};
  w->left--;
  if (w->all && w->left > 1 && writer_draw(w, 8) == 0) {
    call(w, writer_draw(w, 2) ? "~" : "bool", truth_value, 1, "");
    return;
  }
  switch (writer_draw(w, 7)) {
  case 0:
    two(w, w->left > 1 ? truth_value : whole_value, w->left > 1 ? ONE_OF(w, signs) : " < ");
    break;
  case 1: two(w, whole_value, ONE_OF(w, compares)); break;
  case 2:
    add(w, writer_draw(w, 2) ? "any(" : "all(");
    add(w, whole_of(w));
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

/* Statements whose names later ones may use. */
static void write_names(writer *w) {
  static const char *const names[] = {"a", "b", "d"};
  for (int n = writer_draw(w, 4); w->names < n; w->names++) {
    int left = w->left;
    w->left = 1 + writer_draw(w, 6);
    add(w, names[w->names]);
    add(w, " = ");
    if (writer_draw(w, 3) == 0) reduction(w, drawn_axes(w));
    else if (writer_draw(w, 4) == 0) whole_value(w);
    else real_value(w);
    add(w, "; ");
    w->name[w->names] = names[w->names];
    w->left = left;
  }
}

/* A value that varies with its output's own tensors, so that outputs along different axes are parts
 * of their own. */
static void own_value(writer *w) {
  if (!w->fits || !w->form->others[0]) {
    real_value(w);
    return;
  }
  add(w, "(");
  add(w, whole_of(w));
  add(w, " + ");
  real_value(w);
  add(w, ")");
}

/* One more output of the axes that the first one has. */
static void write_beside(writer *w) {
  w->left = 1 + writer_draw(w, 10);
  w->others = false;
  add(w, "; v = ");
  own_value(w);
}

/* The second output: what lacks the axes that are joined, or has others. */
static void write_row(writer *w) {
  w->left = 1 + writer_draw(w, 8);
  add(w, "; r = ");
  w->others = w->form->others[0] != NULL;
  if (w->form->copies) own_value(w);
  else reduction(w, w->form->joins[0]);
}

void writer_write(writer *w) {
  static const char *const types[] = {"",       "",     ": f32", ": bf16",
                                      ": e4m3", ": i8", ": i32", ": bool"};
  static const char *const all_types[] = {"",      "",      ": f32",  ": bf16",    ": e4m3",
                                          ": i8",  ": i32", ": bool", ": f16",     ": e5m2",
                                          ": u16", ": i16", ": e2m1", ": e4m3fnuz"};
  bool row;
  w->form = &forms[writer_draw(w, w->empties ? FORMS : w->all ? FULL_FORMS : FIRST_FORMS)];
  row = writer_draw(w, 2) != 0;
  w->left = 2 + writer_draw(w, 28);
  add(w, "(");
  add(w, w->form->inputs);
  add(w, ") -> (");
  add(w, w->form->output);
  add(w, w->all ? ONE_OF(w, all_types) : ONE_OF(w, types));
  if (row) {
    add(w, ", ");
    add(w, w->form->row);
    add(w, writer_draw(w, 3) ? ": f32" : w->all ? ONE_OF(w, all_types) : ONE_OF(w, types));
  }
  bool beside = w->more && writer_draw(w, 5) == 0;
  if (beside) {
    add(w, ", v");
    add(w, strchr(w->form->output, '['));
    add(w, ONE_OF(w, all_types));
  }
  add(w, ") { ");
  if (w->all) write_names(w);
  add(w, "y = ");
  own_value(w);
  if (w->all && !w->form->others[0]) w->name[w->names++] = "y";
  if (row) write_row(w);
  if (beside) write_beside(w);
  add(w, " }");
}
