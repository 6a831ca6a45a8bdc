/* TIRx notation: axes with names, shards, replicas, offsets, and the swizzle of a tile's addresses.
 * What it calls a layout is a storage of one axis, the flattened index; given a shape, the digits
 * are dealt out to its axes where they divide so. */
#include "layout/tirx_text.h"

#include "base/status.h"
#include "layout/storage_parser.h"

#include <llrt/tirx.h>

#include <string.h>

/* One S[…] or R[…]: major to minor, as written. */
typedef struct iters {
  int n;
  llrt_digit iter[LLRT_MAX_DIGITS];
} iters;

/* ---- reading ---- */

bool parse_is_tirx(const parser *self) {
  return parser_at_name(self, "S") || parser_at_name(self, "swizzle");
}

static llrt_status parse_extent(parser *self, iters *out) {
  size_t column = parser_column(self);
  if (out->n == LLRT_MAX_DIGITS)
    return parser_fail_at(column, "more than %d extents", LLRT_MAX_DIGITS);
  llrt_digit *iter = &out->iter[out->n++];
  LLRT_TRY(parser_integer(self, &iter->extent));
  if (iter->extent == 0) return parser_fail_at(column, "an extent is 1 or more");
  return LLRT_OK;
}

/* number [ '@' target ] */
static llrt_status parse_stride(parser *self, llrt_storage *storage, llrt_digit *iter) {
  LLRT_TRY(parser_integer(self, &iter->stride));
  iter->target = 0;
  return parser_accept(self, '@') ? parse_target(self, storage, &iter->target) : LLRT_OK;
}

/* Strides left out: the last extent fastest, no gaps, in memory. */
static llrt_status fill_strides(const parser *self, iters *out) {
  int64_t stride = 1;
  for (int i = out->n - 1; i >= 0; i--) {
    out->iter[i].stride = stride;
    if (__builtin_mul_overflow(stride, out->iter[i].extent, &stride))
      return parser_fail(self, "the extents are too large");
  }
  return LLRT_OK;
}

/* '(' stride { ',' stride } ')' or one stride, as many as there are extents. */
static llrt_status parse_strides(parser *self, llrt_storage *storage, iters *out) {
  size_t column = parser_column(self);
  bool tuple = parser_accept(self, '(');
  int n = 0;
  do {
    if (n == out->n || (tuple && n > 0 && self->token == ')')) break;
    LLRT_TRY(parse_stride(self, storage, &out->iter[n]));
    n++;
  } while (tuple && parser_accept(self, ','));
  if (n != out->n || (tuple && self->token != ')' && self->token != ','))
    return n == out->n ? parser_expect(self, ')')
                       : parser_fail_at(column, "%d strides for %d extents", n, out->n);
  return tuple ? parser_expect(self, ')') : LLRT_OK;
}

/* '[' extents [ ':' strides ] ']', the token at hand being S or R. */
static llrt_status parse_iters(parser *self, llrt_storage *storage, iters *out) {
  *out = (iters){.n = 0};
  parser_next(self);
  LLRT_TRY(parser_expect(self, '['));
  bool tuple = parser_accept(self, '(');
  do {
    if (tuple && out->n > 0 && self->token == ')') break; /* (8,) */
    LLRT_TRY(parse_extent(self, out));
  } while (parser_accept(self, ','));
  if (tuple) LLRT_TRY(parser_expect(self, ')'));
  if (parser_accept(self, ':')) LLRT_TRY(parse_strides(self, storage, out));
  else LLRT_TRY(fill_strides(self, out));
  return parser_expect(self, ']');
}

/* Appends the iters as digits, minor to major. */
static llrt_status add_digits(const iters *from, int axis, size_t column, llrt_storage *out) {
  if (out->n_digits + from->n > LLRT_MAX_DIGITS)
    return parser_fail_at(column, "more than %d digits", LLRT_MAX_DIGITS);
  for (int i = from->n - 1; i >= 0; i--) {
    llrt_digit *digit = &out->digit[out->n_digits++];
    *digit = from->iter[i];
    digit->axis = axis;
  }
  return LLRT_OK;
}

/* R[…], or number [ '@' target ], after a '+'. */
static llrt_status parse_term(parser *self, llrt_storage *out) {
  size_t column = parser_column(self);
  if (parser_at_name(self, "R")) {
    iters replicas;
    LLRT_TRY(parse_iters(self, out, &replicas));
    return add_digits(&replicas, LLRT_AXIS_REPLICA, column, out);
  }
  llrt_digit offset = {.extent = 1};
  if (self->token != TOKEN_NUMBER) return parser_fail(self, "expected R or an offset");
  LLRT_TRY(parse_stride(self, out, &offset));
  if (__builtin_add_overflow(out->offset[offset.target], offset.stride,
                             &out->offset[offset.target]))
    return parser_fail_at(column, "the offset is too large");
  return LLRT_OK;
}

/* true: the inner bits are XORed with the outer ones; false: the other way round. */
static llrt_status parse_swizzle_inner(parser *self, llrt_swizzle *out) {
  bool inner = parser_at_name(self, "true");
  if (!inner && !parser_at_name(self, "false")) return parser_fail(self, "expected true or false");
  out->upward = !inner;
  parser_next(self);
  return LLRT_OK;
}

/* 'swizzle' '(' per_element '=' n ',' swizzle_len '=' n ',' atom_len '=' n [ ',' swizzle_inner '='
 * … ] ')' 'o', in any order. */
static llrt_status parse_swizzle_prefix(parser *self, llrt_swizzle *out) {
  static const char *const names[] = {"per_element", "swizzle_len", "atom_len", "swizzle_inner"};
  uint8_t *const bits[] = {&out->per_element, &out->swizzle_len, &out->atom_len};
  uint32_t given = 0;
  parser_next(self);
  LLRT_TRY(parser_expect(self, '('));
  do {
    int field;
    LLRT_TRY(parser_key(self, names, 4,
                        "expected per_element, swizzle_len, atom_len or swizzle_inner", &given,
                        &field));
    LLRT_TRY(field < 3 ? parse_swizzle_bits(self, bits[field]) : parse_swizzle_inner(self, out));
  } while (parser_accept(self, ','));
  LLRT_TRY(parser_expect(self, ')'));
  if ((given & 7) != 7)
    return parser_fail(self, "a swizzle has per_element, swizzle_len and atom_len");
  if (!parser_at_name(self, "o")) return parser_fail(self, "expected 'o'");
  parser_next(self);
  return LLRT_OK;
}

/* Deals the digits out to the parser's shape. A shape that cuts through digits keeps the one axis:
 * it is flattened when an element is looked up. */
static llrt_status admit_shape(const parser *self, size_t column, llrt_storage *out) {
  llrt_storage grouped;
  if (!self->shape) return LLRT_OK;
  llrt_status status = llrt_tirx_admits(out, self->rank, self->shape);
  if (status) return llrt_error_prefix(status, "column %zu", column);
  if (llrt_tirx_group(out, self->rank, self->shape, &grouped) == LLRT_OK) *out = grouped;
  return LLRT_OK;
}

llrt_status parse_tirx(parser *self, llrt_storage *out) {
  size_t column = parser_column(self);
  iters shards;
  *out = (llrt_storage){.rank = 1};
  if (parser_at_name(self, "swizzle")) LLRT_TRY(parse_swizzle_prefix(self, &out->swizzle));
  if (!parser_at_name(self, "S")) return parser_fail(self, "expected S");
  LLRT_TRY(parse_iters(self, out, &shards));
  LLRT_TRY(add_digits(&shards, 0, column, out));
  while (parser_accept(self, '+')) LLRT_TRY(parse_term(self, out));
  llrt_status status = llrt_storage_validate(out);
  if (status) return llrt_error_prefix(status, "column %zu", column);
  return admit_shape(self, column, out);
}

/* ---- writing ---- */

static bool is_digits_only(const llrt_storage *storage) {
  int shards = 0;
  for (int i = 0; i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    if (digit->extent == LLRT_EXTENT_REST || digit->reversed || !storage_stride_is_number(digit))
      return false;
    shards += digit->axis != LLRT_AXIS_REPLICA;
  }
  return storage->rank == 1 && shards > 0 && !storage_has_tile(storage) &&
         storage->pad == LLRT_PAD_NONE;
}

bool tirx_is_writable(const llrt_storage *storage) {
  bool more = storage->n_targets > 0 || storage->offset[0] != 0 || storage_has_swizzle(storage);
  for (int i = 0; i < storage->n_digits; i++) more |= storage->digit[i].axis == LLRT_AXIS_REPLICA;
  return more && is_digits_only(storage);
}

static void add_target(writer *text, const llrt_storage *storage, int target) {
  if (target) writer_add(text, "@%s", storage->target[target - 1]);
}

/* S[(…):(…)] of the shards, or R[(…):(…)] of the replicas. */
static void add_iters(writer *text, const llrt_storage *storage, bool replicas) {
  const char *separator = "";
  writer_add(text, replicas ? "R[(" : "S[(");
  for (int i = storage->n_digits - 1; i >= 0; i--) {
    if ((storage->digit[i].axis == LLRT_AXIS_REPLICA) != replicas) continue;
    writer_add(text, "%s%lld", separator, (long long)storage->digit[i].extent);
    separator = ",";
  }
  separator = "):(";
  for (int i = storage->n_digits - 1; i >= 0; i--) {
    if ((storage->digit[i].axis == LLRT_AXIS_REPLICA) != replicas) continue;
    writer_add(text, "%s%lld", separator, (long long)storage->digit[i].stride);
    add_target(text, storage, storage->digit[i].target);
    separator = ",";
  }
  writer_add(text, ")]");
}

void writer_add_tirx(writer *text, const llrt_storage *storage) {
  const llrt_swizzle *swizzle = &storage->swizzle;
  bool replicas = false;
  for (int i = 0; i < storage->n_digits; i++)
    replicas |= storage->digit[i].axis == LLRT_AXIS_REPLICA;
  if (storage_has_swizzle(storage))
    writer_add(text, "swizzle(per_element=%d, swizzle_len=%d, atom_len=%d%s) o ",
               swizzle->per_element, swizzle->swizzle_len, swizzle->atom_len,
               swizzle->upward ? ", swizzle_inner=false" : "");
  add_iters(text, storage, false);
  if (replicas) {
    writer_add(text, " + ");
    add_iters(text, storage, true);
  }
  for (int t = 0; t <= storage->n_targets; t++) {
    if (storage->offset[t] == 0) continue;
    writer_add(text, " + %lld", (long long)storage->offset[t]);
    add_target(text, storage, t);
  }
}
