/* Named storages from their formulas. A formula lists what an element's place is made of, from the
 * fastest place outwards, in tokens of one axis letter each:
 *
 *   formula = [ bits "|" ] { digit } [ "+" number ]
 *   bits    = { row }
 *   row     = bit { "^" bit } | axis first "-" last
 *   digit   = axis ( "*" | ":" number ) [ "~" ] [ stride ]
 *   stride  = "@" number
 *   number  = factor { ( "*" | "/" ) factor }
 *
 * The formula's number is how many places come before the first element. `bits` are the tile: a row
 * says what one bit of the place inside it equals, as bits of the axes' coordinates (m3, b4^r2,
 * k0-1). A digit has so many positions of an axis, or ("*") the rest of it; "~": it counts down. A
 * digit without a stride, or with stride 0, is PACKED. A factor is a numeral or a parameter's name.
 *
 * An axis's digits stand with the lowest first. Formulas are compiled in: what is malformed about
 * one is a defect of the table, what is wrong with a parameter's value is the caller's. */
#include "layout/named_storage.h"

#include "base/bits.h"
#include "base/status.h"
#include "layout/check.h"
#include "layout/storage_rule.h"

#include <string.h>

typedef struct formula {
  const llrt_named_storage *entry;
  const char *at;
  int first_axis; /* of the entry's dims among the tensor's axes */
  int64_t value[LLRT_NAMED_MAX_PARAMS];
  /* The tile, a column for each bit of an axis: the place bits that it takes part in. */
  int n_places;
  int axis_bits[LLRT_MAX_RANK];
  uint64_t column[LLRT_MAX_RANK][LLRT_MAX_BITS];
} formula;

static int count_dims(const llrt_named_storage *entry) {
  return (int)(strlen(entry->dims) + 1) / 2;
}

static void skip_space(formula *self) {
  while (*self->at == ' ') self->at++;
}

static bool accept(formula *self, char c) {
  if (*self->at != c) return false;
  self->at++;
  return true;
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static int read_axis(formula *self) {
  const char *found = strchr(self->entry->dims, *self->at++);
  return self->first_axis + (int)(found - self->entry->dims) / 2;
}

static int64_t read_literal(formula *self) {
  int64_t value = 0;
  while (is_digit(*self->at)) value = value * 10 + (*self->at++ - '0');
  return value;
}

static int64_t read_factor(formula *self) {
  if (is_digit(*self->at)) return read_literal(self);
  const char *start = self->at;
  while (is_letter(*self->at)) self->at++;
  size_t length = (size_t)(self->at - start);
  for (int i = 0; i < LLRT_NAMED_MAX_PARAMS; i++) {
    const char *name = self->entry->param[i].name;
    if (name && strlen(name) == length && memcmp(name, start, length) == 0) return self->value[i];
  }
  return 0;
}

static llrt_status read_number(formula *self, int64_t *value) {
  *value = read_factor(self);
  for (;;) {
    bool times = accept(self, '*');
    if (!times && !accept(self, '/')) return LLRT_OK;
    int64_t factor = read_factor(self);
    if (times) {
      LLRT_REQUIRE(!__builtin_mul_overflow(*value, factor, value), "a parameter is too large");
      continue;
    }
    LLRT_REQUIRE(factor > 0 && *value % factor == 0, "%s: %lld does not divide by %lld",
                 self->entry->name, (long long)*value, (long long)factor);
    *value /= factor;
  }
}

/* ---- the tile ---- */

static void add_place(formula *self, int axis, int bit) {
  self->column[axis][bit] |= 1ull << self->n_places;
  if (self->axis_bits[axis] <= bit) self->axis_bits[axis] = bit + 1;
}

static void read_row(formula *self) {
  int axis = read_axis(self), bit = (int)read_literal(self), last = bit;
  if (accept(self, '-')) last = (int)read_literal(self);
  for (; bit < last; bit++, self->n_places++) add_place(self, axis, bit);
  add_place(self, axis, last);
  while (accept(self, '^')) {
    axis = read_axis(self);
    add_place(self, axis, (int)read_literal(self));
  }
  self->n_places++;
}

/* The bits give the place of an element; the tile is the inverse map. */
static llrt_status make_tile(const formula *self, llrt_storage *out) {
  llrt_layout places = {0};
  int column = 0;
  for (int axis = 0; axis < out->rank; axis++) {
    char name[LLRT_NAME_BYTES];
    layout_axis_name(axis, name);
    LLRT_TRY(layout_append_in(&places, name, self->axis_bits[axis]));
    for (int bit = 0; bit < self->axis_bits[axis]; bit++)
      places.column[column++] = self->column[axis][bit];
  }
  LLRT_TRY(layout_append_out(&places, STORAGE_IN_DIM, self->n_places));
  return llrt_layout_right_inverse(&places, &out->tile);
}

/* ---- digits ---- */

static llrt_status read_digit(formula *self, llrt_storage *out) {
  llrt_digit *digit = &out->digit[out->n_digits++];
  digit->axis = read_axis(self);
  digit->extent = LLRT_EXTENT_REST;
  digit->stride = LLRT_STRIDE_PACKED;
  if (!accept(self, '*')) {
    self->at++; /* ':' */
    LLRT_TRY(read_number(self, &digit->extent));
    LLRT_REQUIRE(digit->extent > 0,
                 "%s: its parameters make a digit of %lld positions, not 1 or more",
                 self->entry->name, (long long)digit->extent);
  }
  digit->reversed = accept(self, '~');
  if (!accept(self, '@')) return LLRT_OK;
  int64_t stride;
  LLRT_TRY(read_number(self, &stride));
  if (stride) digit->stride = stride;
  return LLRT_OK;
}

static llrt_status read_formula(formula *self, llrt_storage *out) {
  self->at = self->entry->formula;
  if (strchr(self->at, '|')) {
    for (skip_space(self); !accept(self, '|'); skip_space(self)) read_row(self);
    LLRT_TRY(make_tile(self, out));
  }
  for (skip_space(self); *self->at; skip_space(self)) {
    if (accept(self, '+')) LLRT_TRY(read_number(self, &out->offset[0]));
    else LLRT_TRY(read_digit(self, out));
  }
  for (int axis = self->first_axis - 1; axis >= 0; axis--)
    out->digit[out->n_digits++] =
        (llrt_digit){.extent = LLRT_EXTENT_REST, .stride = LLRT_STRIDE_PACKED, .axis = axis};
  return LLRT_OK;
}

/* ---- arguments ---- */

static llrt_status read_arguments(formula *self, const llrt_named_argument *arguments, int n,
                                  const int64_t *shape, int rank) {
  const llrt_named_storage *entry = self->entry;
  for (int k = 0; k < n; k++) {
    bool known = false;
    for (int i = 0; i < LLRT_NAMED_MAX_PARAMS && entry->param[i].name; i++)
      known |= strcmp(entry->param[i].name, arguments[k].name) == 0;
    LLRT_REQUIRE(known, "%s has no parameter '%.32s'", entry->name, arguments[k].name);
    LLRT_REQUIRE(arguments[k].value >= 0, "%s is negative", arguments[k].name);
  }
  for (int i = 0; i < LLRT_NAMED_MAX_PARAMS && entry->param[i].name; i++) {
    const llrt_named_param *param = &entry->param[i];
    self->value[i] = param->preset;
    if (param->preset == LLRT_NAMED_EXTENT && shape && rank > 0) self->value[i] = shape[rank - 1];
    for (int k = 0; k < n; k++)
      if (strcmp(param->name, arguments[k].name) == 0) self->value[i] = arguments[k].value;
    LLRT_REQUIRE(self->value[i] >= 0, "%s needs %s=…: %s", entry->name, param->name,
                 param->meaning);
  }
  return LLRT_OK;
}

/* ---- rules that depend on the rank ---- */

/* Axis 1 fastest, then the last, … the third, and axis 0 slowest. */
static llrt_status channels_last(int rank, llrt_storage *out) {
  LLRT_REQUIRE(rank >= 3, "channels_last has 3 axes or more, the tensor %d", rank);
  LLRT_TRY(llrt_storage_row_major(rank, out));
  for (int i = 0; i < rank; i++) out->digit[i].axis = i == 0 ? 1 : i == rank - 1 ? 0 : rank - i;
  return LLRT_OK;
}

static llrt_status make_without_formula(const char *name, int rank, llrt_storage *out) {
  if (strcmp(name, "row_major") == 0) return llrt_storage_row_major(rank, out);
  if (strcmp(name, "col_major") == 0) return llrt_storage_col_major(rank, out);
  if (strcmp(name, "strided") == 0) return llrt_storage_strided(rank, NULL, out);
  if (strcmp(name, "channels_last") == 0) return channels_last(rank ? rank : 4, out);
  return llrt_error(LLRT_INVALID_ARGUMENT, "%s takes lists: it has a function of its own", name);
}

/* ---- entry ---- */

int llrt_storage_named_count(void) { return named_storages_count; }

const llrt_named_storage *llrt_storage_named_at(int i) {
  return i >= 0 && i < named_storages_count ? &named_storages[i] : NULL;
}

static const llrt_named_storage *find(const char *name) {
  for (int i = 0; i < named_storages_count; i++)
    if (strcmp(named_storages[i].name, name) == 0) return &named_storages[i];
  return NULL;
}

static llrt_status make(const char *name, int rank, const int64_t *shape,
                        const llrt_named_argument *arguments, int n, llrt_storage *out) {
  *out = (llrt_storage){0};
  LLRT_REQUIRE(name, "name: NULL");
  LLRT_REQUIRE(rank >= 0 && rank <= LLRT_MAX_RANK, "rank %d is not in 0..%d", rank, LLRT_MAX_RANK);
  LLRT_REQUIRE(n == 0 || arguments, "arguments: NULL");
  formula self = {.entry = find(name)};
  LLRT_REQUIRE(self.entry, "there is no storage '%.32s'", name);
  LLRT_TRY(read_arguments(&self, arguments, n, shape, rank));
  if (!self.entry->formula) return make_without_formula(name, rank, out);
  int dims = count_dims(self.entry);
  LLRT_REQUIRE(rank == 0 || rank >= dims, "%s has axes %s, the tensor rank %d", name,
               self.entry->dims, rank);
  self.first_axis = rank ? rank - dims : 0;
  out->rank = rank ? rank : dims;
  out->pad = self.entry->pad;
  out->pad_value = (uint64_t)self.entry->pad_value;
  LLRT_TRY(read_formula(&self, out));
  return llrt_storage_validate(out);
}

llrt_status llrt_storage_named(const char *name, int rank, const int64_t *shape,
                               const llrt_named_argument *arguments, int n_arguments,
                               llrt_storage *out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "out: NULL");
  llrt_storage result;
  llrt_status status = make(name, rank, shape, arguments, n_arguments, &result);
  *out = status ? (llrt_storage){0} : result;
  return status;
}

static llrt_status onednn(int rank, const int64_t *blocks, const int *axes, int n, const int *order,
                          llrt_storage *out) {
  *out = (llrt_storage){.rank = rank, .pad = LLRT_PAD_VALUE};
  LLRT_REQUIRE(rank >= 0 && rank <= LLRT_MAX_RANK, "rank %d is not in 0..%d", rank, LLRT_MAX_RANK);
  LLRT_REQUIRE(n >= 0 && n + rank <= LLRT_MAX_DIGITS && (n == 0 || (blocks && axes)),
               "n is %d: with the rank %d not 0 to %d digits, or blocks or axes is NULL", n, rank,
               LLRT_MAX_DIGITS);
  unsigned seen = 0;
  for (int i = n - 1; i >= 0; i--) {
    LLRT_REQUIRE(blocks[i] > 0, "blocks[%d] is %lld, not 1 or more", i, (long long)blocks[i]);
    out->digit[out->n_digits++] =
        (llrt_digit){.extent = blocks[i], .stride = LLRT_STRIDE_PACKED, .axis = axes[i]};
  }
  for (int i = rank - 1; i >= 0; i--) {
    int axis = order ? order[i] : i;
    LLRT_REQUIRE(axis >= 0 && axis < rank && !(seen >> axis & 1),
                 "order does not list every axis once");
    seen |= 1u << axis;
    out->digit[out->n_digits++] =
        (llrt_digit){.extent = LLRT_EXTENT_REST, .stride = LLRT_STRIDE_PACKED, .axis = axis};
  }
  return llrt_storage_validate(out);
}

llrt_status llrt_storage_onednn(int rank, const int64_t *blocks, const int *axes, int n_blocks,
                                const int *order, llrt_storage *out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "out: NULL");
  llrt_storage result;
  llrt_status status = onednn(rank, blocks, axes, n_blocks, order, &result);
  *out = status ? (llrt_storage){0} : result;
  return status;
}
