/* Dividing: the inverse of the direct sum, and what is like it. */
#include "base/bits.h"
#include "base/status.h"
#include "layout/check.h"
#include "layout/fields.h"

/* ---- divide_left, divide_right ---- */

/* Where the factors lie in a's out word: at each out-dim one takes the low bits, the other the
 * rest. */
typedef struct split {
  fields known;  /* b's out word to its place in a's */
  fields rest;   /* the quotient's place in a's word to the quotient's word */
  uint64_t mask; /* b's place in a's word */
} split;

/* Bits that dim `wanted` has in b: 0 where it is missing. */
static int bits_in(const llrt_dim *dim, int n, const llrt_dim *wanted) {
  int index = layout_dim_index(dim, n, wanted);
  return index < 0 ? 0 : dim[index].bits;
}

/* Every dim of b is one of a, and no larger. */
static llrt_status check_divisor(const llrt_dim *a, int n_a, const llrt_dim *b, int n_b,
                                 const char *kind) {
  for (int i = 0; i < n_b; i++) {
    int index = layout_dim_index(a, n_a, &b[i]);
    LLRT_REQUIRE(index >= 0, "divide: the dividend has no %s-dim %s", kind, b[i].name);
    LLRT_REQUIRE(b[i].bits <= a[index].bits, "divide: the divisor's %s is larger", b[i].name);
  }
  return LLRT_OK;
}

static void split_outs(const llrt_layout *a, const llrt_layout *b, bool left, split *where) {
  *where = (split){.mask = 0};
  for (int i = 0, at = 0, to = 0; i < a->n_out; at += a->out[i++].bits) {
    int all = a->out[i].bits, index = layout_dim_index(b->out, b->n_out, &a->out[i]);
    int taken = index < 0 ? 0 : b->out[index].bits, rest = all - taken;
    int known_at = left ? at : at + rest, rest_at = left ? at + taken : at;
    if (taken) where->mask |= bits_mask(taken) << known_at;
    if (taken) fields_add(&where->known, llrt_layout_out_shift(b, index), known_at, taken);
    fields_add(&where->rest, rest_at, to, rest);
    to += rest;
  }
}

/* Identity: a = b * out (left) or a = out * b. b's columns must be the first (last) of each
 * in-dim, and the others stay clear of b's bits; that is also enough, so the result needs no
 * other check. */
static llrt_status divide(const llrt_layout *a, const llrt_layout *b, bool left, llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  LLRT_TRY(layout_check(b, "b"));
  LLRT_TRY(check_divisor(a->in, a->n_in, b->in, b->n_in, "in"));
  LLRT_TRY(check_divisor(a->out, a->n_out, b->out, b->n_out, "out"));
  split where;
  split_outs(a, b, left, &where);
  *out = *a;
  memset(out->column, 0, sizeof out->column);
  for (int i = 0; i < a->n_out; i++)
    out->out[i].bits = (uint8_t)(a->out[i].bits - bits_in(b->out, b->n_out, &a->out[i]));
  for (int i = 0, at = 0, to = 0; i < a->n_in; at += a->in[i++].bits) {
    int all = a->in[i].bits, taken = bits_in(b->in, b->n_in, &a->in[i]), rest = all - taken;
    int from = taken ? llrt_layout_in_shift(b, layout_dim_index(b->in, b->n_in, &a->in[i])) : 0;
    const uint64_t *known = a->column + at + (left ? 0 : rest);
    const uint64_t *others = a->column + at + (left ? taken : 0);
    for (int k = 0; k < taken; k++)
      LLRT_REQUIRE(known[k] == fields_move(&where.known, b->column[from + k]),
                   "divide: the divisor's basis %d of %s is another", k, a->in[i].name);
    for (int k = 0; k < rest; k++) {
      LLRT_REQUIRE((others[k] & where.mask) == 0,
                   "divide: a basis of %s beside the divisor's uses its bits", a->in[i].name);
      out->column[to++] = fields_move(&where.rest, others[k]);
    }
    out->in[i].bits = (uint8_t)rest;
  }
  return LLRT_OK;
}

llrt_status llrt_layout_divide_left(const llrt_layout *a, const llrt_layout *b, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(divide(a, b, true, &result), &result, out);
}

llrt_status llrt_layout_divide_right(const llrt_layout *a, const llrt_layout *b, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(divide(a, b, false, &result), &result, out);
}

/* ---- repetitions of a tile ---- */

static llrt_status repetitions(const llrt_layout *a, const llrt_layout *tile, llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  LLRT_TRY(layout_check(tile, "tile"));
  LLRT_TRY(check_divisor(a->in, a->n_in, tile->in, tile->n_in, "in"));
  LLRT_TRY(check_divisor(a->out, a->n_out, tile->out, tile->n_out, "out"));
  split where;
  split_outs(a, tile, true, &where);
  uint64_t used = 0;
  for (int i = 0; i < llrt_layout_in_bits(tile); i++)
    used |= fields_move(&where.known, tile->column[i]);
  *out = *a;
  for (int i = 0, at = 0; i < a->n_in; at += a->in[i++].bits) {
    int index = layout_dim_index(tile->in, tile->n_in, &a->in[i]);
    int taken = index < 0 ? 0 : tile->in[index].bits;
    for (int k = 0; k < a->in[i].bits; k++) {
      uint64_t column = a->column[at + k];
      if (k >= taken) {
        LLRT_REQUIRE((column & used) == 0, "repetitions: a basis of %s has bits of the tile's",
                     a->in[i].name);
        continue;
      }
      uint64_t wanted = tile->column[llrt_layout_in_shift(tile, index) + k];
      LLRT_REQUIRE(column == fields_move(&where.known, wanted),
                   "repetitions: %s does not begin with the tile's bases", a->in[i].name);
      out->column[at + k] = 0;
    }
  }
  return LLRT_OK;
}

llrt_status llrt_layout_repetitions(const llrt_layout *a, const llrt_layout *tile,
                                    llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(repetitions(a, tile, &result), &result, out);
}

/* ---- quotient ---- */

/* The names of a's dims that are not among names[n]; returns how many. */
static int other_names(const llrt_dim *dim, int n_dims, const char *const *names, int n,
                       const char **others) {
  int count = 0;
  for (int i = 0; i < n_dims; i++) {
    bool named = false;
    for (int k = 0; k < n; k++) named |= strcmp(dim[i].name, names[k]) == 0;
    if (!named) others[count++] = dim[i].name;
  }
  return count;
}

static llrt_status quotient(const llrt_layout *a, const char *const *names, int n,
                            llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  LLRT_REQUIRE(llrt_layout_is_trivial_over(a, names, n),
               "quotient: the layout is not trivial over these dims");
  const char *ins[LLRT_MAX_IN_DIMS], *outs[LLRT_MAX_OUT_DIMS];
  int n_ins = other_names(a->in, a->n_in, names, n, ins);
  int n_outs = other_names(a->out, a->n_out, names, n, outs);
  return llrt_layout_sublayout(a, ins, n_ins, outs, n_outs, out);
}

llrt_status llrt_layout_quotient(const llrt_layout *a, const char *const *names, int n,
                                 llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(quotient(a, names, n, &result), &result, out);
}
