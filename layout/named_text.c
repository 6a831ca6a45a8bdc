/* Named storages as text: name [ '(' argument { ',' argument } ')' ]. */
#include "base/status.h"
#include "layout/named_storage.h"
#include "layout/storage_parser.h"

#include <string.h>

#define MAX_ARGUMENTS (LLRT_NAMED_MAX_PARAMS + 1)

static const llrt_named_storage *entry_at(const parser *self) {
  for (int i = 0; i < named_storages_count; i++)
    if (parser_at_name(self, named_storages[i].name)) return &named_storages[i];
  return NULL;
}

bool parse_is_named(const parser *self) { return entry_at(self) != NULL; }

typedef struct arguments {
  int n;
  llrt_named_argument argument[MAX_ARGUMENTS];
  char name[MAX_ARGUMENTS][LLRT_NAME_BYTES];
  bool has_pad;
  llrt_storage pad; /* its pad rule only */
} arguments;

/* name '=' number, or pad '=' ( number | keep ) */
static llrt_status parse_argument(parser *self, const llrt_named_storage *entry, arguments *out) {
  size_t column = parser_column(self);
  if (parser_at_name(self, "pad")) {
    if (out->has_pad) return parser_fail(self, "this is given twice");
    if (entry->pad == LLRT_PAD_NONE)
      return parser_fail_at(column, "%s has no pads: its extents must divide", entry->name);
    out->has_pad = true;
    parser_next(self);
    LLRT_TRY(parser_expect(self, '='));
    return parse_pad(self, &out->pad);
  }
  char *name = out->name[out->n];
  LLRT_TRY(parser_name(self, name));
  for (int i = 0; i < out->n; i++)
    if (strcmp(out->name[i], name) == 0) return parser_fail_at(column, "this is given twice");
  bool known = false;
  for (int i = 0; i < LLRT_NAMED_MAX_PARAMS && entry->param[i].name; i++)
    known |= strcmp(entry->param[i].name, name) == 0;
  if (!known) return parser_fail_at(column, "%s has no parameter '%s'", entry->name, name);
  LLRT_TRY(parser_expect(self, '='));
  out->argument[out->n].name = name;
  return parser_integer(self, &out->argument[out->n++].value);
}

/* onednn '(' inner_blks '=' list ',' inner_idxs '=' list [ ',' order '=' list ] ')' */
static llrt_status parse_onednn(parser *self, llrt_storage *out) {
  static const char *const names[3] = {"inner_blks", "inner_idxs", "order"};
  size_t column = parser_column(self);
  family_list list[3] = {{.n = 0}};
  uint32_t given = 0;
  parser_next(self);
  LLRT_TRY(parser_expect(self, '('));
  do {
    int i;
    LLRT_TRY(parser_key(self, names, 3, "expected inner_blks, inner_idxs or order", &given, &i));
    LLRT_TRY(parser_list(self, &list[i]));
  } while (parser_accept(self, ','));
  LLRT_TRY(parser_expect(self, ')'));
  int rank = given & 4 ? list[2].n : self->rank, axes[LLRT_MAX_RANK], order[LLRT_MAX_RANK];
  if (list[0].n != list[1].n || (self->rank && rank != self->rank))
    return parser_fail_at(column, "the lists do not have one length, or not the tensor's rank");
  for (int i = 0; i < list[1].n; i++)
    axes[i] = (int)(list[1].value[i] < LLRT_MAX_RANK ? list[1].value[i] : LLRT_MAX_RANK);
  for (int i = 0; i < list[2].n; i++)
    order[i] = (int)(list[2].value[i] < LLRT_MAX_RANK ? list[2].value[i] : LLRT_MAX_RANK);
  llrt_status status =
      llrt_storage_onednn(rank, list[0].value, axes, list[0].n, given & 4 ? order : NULL, out);
  return status ? llrt_error_prefix(status, "column %zu", column) : LLRT_OK;
}

llrt_status parse_named(parser *self, llrt_storage *out) {
  const llrt_named_storage *entry = entry_at(self);
  size_t column = parser_column(self);
  arguments given = {.n = 0};
  if (parser_at_name(self, "onednn")) return parse_onednn(self, out);
  parser_next(self);
  if ((entry->formula || entry->param[0].name) && parser_accept(self, '(')) {
    if (!parser_accept(self, ')')) {
      do {
        if (given.n == LLRT_NAMED_MAX_PARAMS && !parser_at_name(self, "pad"))
          return parser_fail_at(parser_column(self), "too many arguments");
        LLRT_TRY(parse_argument(self, entry, &given));
      } while (parser_accept(self, ','));
      LLRT_TRY(parser_expect(self, ')'));
    }
  }
  llrt_status status =
      llrt_storage_named(entry->name, self->rank, self->shape, given.argument, given.n, out);
  if (status) return llrt_error_prefix(status, "column %zu", column);
  if (given.has_pad) {
    out->pad = given.pad.pad;
    out->pad_value = given.pad.pad_value;
  }
  return LLRT_OK;
}
