/* Products, and what divides them. */
#include "tests/fuzz/operations.h"

#include <string.h>

/* Cuts every coordinate of p in two: the low bits, as many as dim has in `low`, and those above. */
static void cut(const point *p, const llrt_dim *low, int n, point *below, point *above) {
  *below = *above = *p;
  for (int i = 0; i < p->n; i++) {
    int bits = dim_bits(low, n, p->name[i]);
    below->at[i] = p->at[i] & ((UINT64_C(1) << bits) - 1);
    above->at[i] = p->at[i] >> bits;
  }
}

/* product = low * high, at every point. */
static bool is_product(const llrt_layout *product, const llrt_layout *low,
                       const llrt_layout *high) {
  for (int x = 0; x < in_points(product); x++) {
    point in = point_of(product->in, product->n_in, (uint64_t)x), in_low, in_high;
    point out = value_at(product, (uint64_t)x), out_low, out_high;
    cut(&in, low->in, low->n_in, &in_low, &in_high);
    cut(&out, low->out, low->n_out, &out_low, &out_high);
    point a = value_of(low, &in_low), b = value_of(high, &in_high);
    for (int i = 0; i < out.n; i++)
      if (out_low.at[i] != point_at(&a, out.name[i]) || out_high.at[i] != point_at(&b, out.name[i]))
        return false;
  }
  return true;
}

static bool small_enough(const llrt_layout *a) {
  return llrt_layout_in_bits(a) <= POINTS_MAX_BITS && llrt_layout_out_bits(a) <= POINTS_MAX_BITS;
}

llrt_status check_product(bytes *from, const llrt_layout *a, const llrt_layout *b,
                          llrt_layout *out) {
  (void)from;
  llrt_status status = llrt_layout_product(a, b, out);
  FUZZ_CHECK(status == LLRT_OK);
  if (small_enough(out)) FUZZ_CHECK(is_product(out, a, b));
  return status;
}

/* Names and sizes of b among those of a, in both kinds of dims. */
static bool has_dims(const llrt_layout *a, const llrt_layout *b) {
  for (int i = 0; i < b->n_in; i++)
    if (llrt_layout_in_index(a, b->in[i].name) < 0 ||
        dim_bits(a->in, a->n_in, b->in[i].name) < b->in[i].bits)
      return false;
  for (int i = 0; i < b->n_out; i++)
    if (llrt_layout_out_index(a, b->out[i].name) < 0 ||
        dim_bits(a->out, a->n_out, b->out[i].name) < b->out[i].bits)
      return false;
  return true;
}

/* a's dims, smaller by what b has of them. */
static llrt_layout rest_of(const llrt_layout *a, const llrt_layout *b) {
  llrt_layout rest = llrt_layout_empty();
  for (int i = 0; i < a->n_in; i++)
    llrt_layout_add_in(&rest, a->in[i].name,
                       a->in[i].bits - dim_bits(b->in, b->n_in, a->in[i].name));
  for (int i = 0; i < a->n_out; i++)
    llrt_layout_add_out(&rest, a->out[i].name,
                        a->out[i].bits - dim_bits(b->out, b->n_out, a->out[i].name));
  return rest;
}

/* The one candidate for the other factor: a where b's part of the input is 0. Its bits of a dim lie
 * above b's (left) or below them. */
static llrt_layout candidate(const llrt_layout *a, const llrt_layout *b, bool left) {
  llrt_layout rest = rest_of(a, b);
  for (int x = 0; x < in_points(&rest); x = x ? 2 * x : 1) {
    point in = point_of(rest.in, rest.n_in, (uint64_t)x);
    for (int i = 0; left && i < in.n; i++) in.at[i] <<= dim_bits(b->in, b->n_in, in.name[i]);
    point y = value_of(a, &in);
    uint64_t flat = 0;
    for (int i = 0, shift = 0; i < rest.n_out; shift += rest.out[i++].bits) {
      uint64_t at = left ? y.at[i] >> dim_bits(b->out, b->n_out, y.name[i]) : y.at[i];
      flat |= (at & ((UINT64_C(1) << rest.out[i].bits) - 1)) << shift;
    }
    if (x) rest.column[__builtin_ctz((unsigned)x)] = flat;
  }
  return rest;
}

static bool divides(const llrt_layout *a, const llrt_layout *b, bool left, llrt_layout *quotient) {
  if (!has_dims(a, b)) return false;
  *quotient = candidate(a, b, left);
  return left ? is_product(a, b, quotient) : is_product(a, quotient, b);
}

static llrt_status check_divide(const llrt_layout *a, const llrt_layout *b, bool left,
                                llrt_layout *out) {
  llrt_layout wanted;
  bool expected = divides(a, b, left, &wanted);
  llrt_status status =
      left ? llrt_layout_divide_left(a, b, out) : llrt_layout_divide_right(a, b, out);
  FUZZ_CHECK((status == LLRT_OK) == expected);
  if (expected) FUZZ_CHECK(llrt_layout_equal(out, &wanted));
  return status;
}

llrt_status check_divide_left(bytes *from, const llrt_layout *a, const llrt_layout *b,
                              llrt_layout *out) {
  (void)from;
  return check_divide(a, b, true, out);
}

llrt_status check_divide_right(bytes *from, const llrt_layout *a, const llrt_layout *b,
                               llrt_layout *out) {
  (void)from;
  return check_divide(a, b, false, out);
}

/* A product can be divided by either factor. */
llrt_status check_product_divided(bytes *from, const llrt_layout *a, const llrt_layout *b,
                                  llrt_layout *out) {
  llrt_layout rest;
  llrt_status status = check_product(from, a, b, out);
  if (!small_enough(out)) return status;
  FUZZ_CHECK(check_divide(out, a, true, &rest) == LLRT_OK);
  FUZZ_CHECK(check_divide(out, b, false, &rest) == LLRT_OK);
  return status;
}

static bool is_named(const char *const *names, int n, const char *name) {
  bool named = false;
  for (int i = 0; i < n; i++) named |= strcmp(names[i], name) == 0;
  return named;
}

/* a is the identity over the named dims, and mixes them with no other: the others' value is the
 * same where the named coordinates are 0. */
static bool is_trivial(const llrt_layout *a, const char *const *names, int n) {
  for (int i = 0; i < n; i++)
    if (llrt_layout_out_index(a, names[i]) < 0 ||
        dim_bits(a->in, a->n_in, names[i]) != dim_bits(a->out, a->n_out, names[i]))
      return false;
  for (int x = 0; x < in_points(a); x++) {
    point in = point_of(a->in, a->n_in, (uint64_t)x), out = value_at(a, (uint64_t)x), others = in;
    for (int i = 0; i < in.n; i++)
      if (is_named(names, n, in.name[i])) others.at[i] = 0;
    point without = value_of(a, &others);
    for (int i = 0; i < out.n; i++) {
      bool named = is_named(names, n, out.name[i]);
      if (out.at[i] != (named ? point_at(&in, out.name[i]) : without.at[i])) return false;
    }
  }
  return true;
}

llrt_status check_quotient(bytes *from, const llrt_layout *a, const llrt_layout *b,
                           llrt_layout *out) {
  const char *names[LLRT_MAX_IN_DIMS];
  int n = bytes_names(from, a->in, a->n_in, names);
  (void)b;
  bool expected = is_trivial(a, names, n);
  llrt_status status = llrt_layout_quotient(a, names, n, out);
  FUZZ_CHECK((status == LLRT_OK) == expected);
  FUZZ_CHECK(llrt_layout_is_trivial_over(a, names, n) == expected);
  for (int x = 0; expected && x < in_points(out); x++) {
    point in = point_of(out->in, out->n_in, (uint64_t)x), got = value_at(out, (uint64_t)x);
    point wanted = value_of(a, &in);
    for (int i = 0; i < got.n; i++) FUZZ_CHECK(point_at(&wanted, got.name[i]) == got.at[i]);
  }
  return status;
}

/* All in-dims of a begin with the tile's columns, and what the others reach has no bit that the
 * tile reaches. */
static bool is_repeated(const llrt_layout *a, const llrt_layout *tile) {
  if (!has_dims(a, tile)) return false;
  uint64_t used = 0;
  for (int i = 0; i < llrt_layout_in_bits(tile); i++) used |= tile->column[i];
  point reached = point_of(tile->out, tile->n_out, used);
  for (int x = 0; x < in_points(a); x++) {
    point in = point_of(a->in, a->n_in, (uint64_t)x), low, high, out = value_at(a, (uint64_t)x);
    cut(&in, tile->in, tile->n_in, &low, &high);
    point wanted = value_of(tile, &low);
    for (int i = 0; i < out.n; i++)
      if ((out.at[i] & point_at(&reached, out.name[i])) != point_at(&wanted, out.name[i]))
        return false;
    bool inside = true; /* the tile's own part */
    for (int i = 0; i < in.n; i++) inside &= high.at[i] == 0;
    for (int i = 0; inside && i < out.n; i++)
      if (out.at[i] != point_at(&wanted, out.name[i])) return false;
  }
  return true;
}

/* The result is a with the tile's part of the input at 0. */
llrt_status check_repetitions(bytes *from, const llrt_layout *a, const llrt_layout *b,
                              llrt_layout *out) {
  (void)from;
  llrt_status status = llrt_layout_repetitions(a, b, out);
  FUZZ_CHECK((status == LLRT_OK) == is_repeated(a, b));
  for (int x = 0; status == LLRT_OK && x < in_points(a); x++) {
    point in = point_of(a->in, a->n_in, (uint64_t)x);
    for (int i = 0; i < in.n; i++) {
      int bits = dim_bits(b->in, b->n_in, in.name[i]);
      in.at[i] = in.at[i] >> bits << bits;
    }
    point wanted = value_of(a, &in), got = value_at(out, (uint64_t)x);
    for (int i = 0; i < got.n; i++) FUZZ_CHECK(point_at(&wanted, got.name[i]) == got.at[i]);
  }
  return status;
}
