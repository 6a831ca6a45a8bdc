/* Operations of the algebra in text: name '(' argument ',' … ')', one table for all. */
#include "layout/parser.h"

#include "base/status.h"
#include "layout/check.h"

#include <string.h>

#define MAX_LAYOUTS 2
#define MAX_NUMBERS 2
#define MAX_LISTS 2

/* name, name:size or number, as far as a list's kind has them. */
typedef struct argument_list {
  int n;
  llrt_dim dim[LLRT_MAX_OUT_DIMS];
  int number[LLRT_MAX_BITS];
} argument_list;

/* What has been read, each kind in the order of the text. */
typedef struct arguments {
  int n_layouts, n_names, n_numbers, n_lists;
  llrt_layout layout[MAX_LAYOUTS];
  char name[2][LLRT_NAME_BYTES];
  int64_t number[MAX_NUMBERS];
  argument_list list[MAX_LISTS];
} arguments;

typedef struct operation {
  const char *name;
  /* A letter an argument: L layout, N name, I number, S list of names, D list of name:size, B
   * list of numbers; a small letter may be left out, together with those after it. */
  const char *signature;
  llrt_status (*apply)(const arguments *given, llrt_layout *out);
} operation;

/* ---- what each does ---- */

#define ONE_LAYOUT(name) \
  static llrt_status apply_##name(const arguments *given, llrt_layout *out) { \
    return llrt_layout_##name(&given->layout[0], out); \
  }
#define TWO_LAYOUTS(name) \
  static llrt_status apply_##name(const arguments *given, llrt_layout *out) { \
    return llrt_layout_##name(&given->layout[0], &given->layout[1], out); \
  }
#define LAYOUT_AND_NAME(name_) \
  static llrt_status apply_##name_(const arguments *given, llrt_layout *out) { \
    return llrt_layout_##name_(&given->layout[0], given->name[0], out); \
  }
#define LAYOUT_AND_NAMES(name) \
  static llrt_status apply_##name(const arguments *given, llrt_layout *out) { \
    const char *names[LLRT_MAX_OUT_DIMS]; \
    names_of(&given->list[0], names); \
    return llrt_layout_##name(&given->layout[0], names, given->list[0].n, out); \
  }

static void names_of(const argument_list *list, const char **names) {
  for (int i = 0; i < list->n; i++) names[i] = list->dim[i].name;
}

ONE_LAYOUT(invert)
ONE_LAYOUT(pseudoinvert)
TWO_LAYOUTS(compose)
TWO_LAYOUTS(invert_and_compose)
TWO_LAYOUTS(invert_and_compose_block_local)
TWO_LAYOUTS(solve)
TWO_LAYOUTS(divide_left)
TWO_LAYOUTS(divide_right)
TWO_LAYOUTS(repetitions)
TWO_LAYOUTS(concat_ins)
TWO_LAYOUTS(concat_outs)
LAYOUT_AND_NAME(squeeze_in)
LAYOUT_AND_NAME(squeeze_out)
LAYOUT_AND_NAME(remove_zero_bases)
LAYOUT_AND_NAMES(quotient)
LAYOUT_AND_NAMES(transpose_ins)
LAYOUT_AND_NAMES(transpose_outs)

static llrt_status apply_sublayout(const arguments *given, llrt_layout *out) {
  const char *ins[LLRT_MAX_OUT_DIMS], *outs[LLRT_MAX_OUT_DIMS];
  names_of(&given->list[0], ins);
  names_of(&given->list[1], outs);
  return llrt_layout_sublayout(&given->layout[0], ins, given->list[0].n, outs, given->list[1].n,
                               out);
}

static llrt_status apply_reshape_ins(const arguments *given, llrt_layout *out) {
  return llrt_layout_reshape_ins(&given->layout[0], given->list[0].dim, given->list[0].n, out);
}

static llrt_status apply_reshape_outs(const arguments *given, llrt_layout *out) {
  return llrt_layout_reshape_outs(&given->layout[0], given->list[0].dim, given->list[0].n, out);
}

/* The one dim is named as the first was. */
static llrt_status apply_flatten_ins(const arguments *given, llrt_layout *out) {
  const llrt_layout *a = &given->layout[0];
  return llrt_layout_flatten_ins(a, a->n_in ? a->in[0].name : "none", out);
}

static llrt_status apply_flatten_outs(const arguments *given, llrt_layout *out) {
  const llrt_layout *a = &given->layout[0];
  return llrt_layout_flatten_outs(a, a->n_out ? a->out[0].name : "none", out);
}

static llrt_status apply_resize_in(const arguments *given, llrt_layout *out) {
  return llrt_layout_resize_in(&given->layout[0], given->name[0], given->number[0], out);
}

static llrt_status apply_resize_out(const arguments *given, llrt_layout *out) {
  return llrt_layout_resize_out(&given->layout[0], given->name[0], given->number[0], out);
}

static llrt_status apply_rename_in(const arguments *given, llrt_layout *out) {
  const char *from = given->name[0], *to = given->name[1];
  return llrt_layout_rename_ins(&given->layout[0], &from, &to, 1, out);
}

static llrt_status apply_rename_out(const arguments *given, llrt_layout *out) {
  const char *from = given->name[0], *to = given->name[1];
  return llrt_layout_rename_outs(&given->layout[0], &from, &to, 1, out);
}

static llrt_status apply_select_bases(const arguments *given, llrt_layout *out) {
  return llrt_layout_select_bases(&given->layout[0], given->name[0], given->list[0].number,
                                  given->list[0].n, out);
}

static llrt_status apply_conversion(const arguments *given, llrt_layout *out) {
  return llrt_layout_conversion(&given->layout[0], &given->layout[1], NULL, out);
}

static llrt_status apply_identity1d(const arguments *given, llrt_layout *out) {
  return llrt_layout_strided1d(given->number[0], 1, given->name[0], given->name[1], out);
}

static llrt_status apply_strided1d(const arguments *given, llrt_layout *out) {
  return llrt_layout_strided1d(given->number[0], given->number[1], given->name[0], given->name[1],
                               out);
}

static llrt_status apply_zeros1d(const arguments *given, llrt_layout *out) {
  int64_t out_size = given->n_numbers > 1 ? given->number[1] : 1;
  return llrt_layout_zeros1d(given->number[0], given->name[0], given->name[1], out_size, out);
}

#define OPERATION(name, signature) {#name, signature, apply_##name}
static const operation operations[] = {
    OPERATION(compose, "LL"),
    OPERATION(invert, "L"),
    OPERATION(pseudoinvert, "L"),
    OPERATION(invert_and_compose, "LL"),
    OPERATION(invert_and_compose_block_local, "LL"),
    OPERATION(solve, "LL"),
    OPERATION(divide_left, "LL"),
    OPERATION(divide_right, "LL"),
    OPERATION(repetitions, "LL"),
    OPERATION(quotient, "LS"),
    OPERATION(sublayout, "LSS"),
    OPERATION(transpose_ins, "LS"),
    OPERATION(transpose_outs, "LS"),
    OPERATION(reshape_ins, "LD"),
    OPERATION(reshape_outs, "LD"),
    OPERATION(flatten_ins, "L"),
    OPERATION(flatten_outs, "L"),
    OPERATION(concat_ins, "LL"),
    OPERATION(concat_outs, "LL"),
    OPERATION(squeeze_in, "LN"),
    OPERATION(squeeze_out, "LN"),
    OPERATION(resize_in, "LNI"),
    OPERATION(resize_out, "LNI"),
    OPERATION(remove_zero_bases, "LN"),
    OPERATION(select_bases, "LNB"),
    OPERATION(rename_in, "LNN"),
    OPERATION(rename_out, "LNN"),
    OPERATION(conversion, "LL"),
    OPERATION(identity1d, "INN"),
    OPERATION(strided1d, "IINN"),
    OPERATION(zeros1d, "INNi"),
};

/* ---- reading ---- */

static const operation *find_operation(const parser *self) {
  for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
    if (parser_at_name(self, operations[i].name)) return &operations[i];
  return NULL;
}

bool parse_is_operation(const parser *self) { return find_operation(self) != NULL; }

/* An entry of a list of the given kind. */
static llrt_status parse_entry(parser *self, char kind, argument_list *list) {
  int at = list->n;
  if (at == (kind == 'B' ? LLRT_MAX_BITS : LLRT_MAX_OUT_DIMS))
    return parser_fail_at(parser_column(self), "more than %d entries", at);
  list->n++;
  if (kind == 'B') {
    int64_t number;
    LLRT_TRY(parser_integer(self, &number));
    list->number[at] = number < LLRT_MAX_BITS ? (int)number : LLRT_MAX_BITS;
    return LLRT_OK;
  }
  int bits = 0;
  LLRT_TRY(parser_name(self, list->dim[at].name));
  if (kind == 'D') {
    LLRT_TRY(parser_expect(self, ':'));
    LLRT_TRY(parser_size(self, &bits));
  }
  list->dim[at].bits = (uint8_t)bits;
  return LLRT_OK;
}

/* '[' [ entry { ',' entry } ] ']' */
static llrt_status parse_entries(parser *self, char kind, argument_list *list) {
  LLRT_TRY(parser_expect(self, '['));
  list->n = 0;
  if (parser_accept(self, ']')) return LLRT_OK;
  do {
    LLRT_TRY(parse_entry(self, kind, list));
  } while (parser_accept(self, ','));
  return parser_expect(self, ']');
}

static llrt_status parse_argument(parser *self, char kind, arguments *given) {
  switch (kind) {
  case 'L': return parse_layout(self, &given->layout[given->n_layouts++]);
  case 'N': return parser_name(self, given->name[given->n_names++]);
  case 'I':
  case 'i': return parser_integer(self, &given->number[given->n_numbers++]);
  default: return parse_entries(self, kind, &given->list[given->n_lists++]);
  }
}

llrt_status parse_operation(parser *self, llrt_layout *out) {
  const operation *found = find_operation(self);
  size_t column = parser_column(self);
  arguments given;
  given.n_layouts = given.n_names = given.n_numbers = given.n_lists = 0;
  parser_next(self);
  LLRT_TRY(parser_expect(self, '('));
  for (const char *kind = found->signature; *kind; kind++) {
    bool optional = *kind >= 'a';
    if (optional && self->token == ')') break;
    if (kind != found->signature) LLRT_TRY(parser_expect(self, ','));
    LLRT_TRY(parse_argument(self, *kind, &given));
  }
  LLRT_TRY(parser_expect(self, ')'));
  llrt_status status = found->apply(&given, out);
  return status ? llrt_error_prefix(status, "column %zu", column) : LLRT_OK;
}
