/* Composition and direct sum. Each public function checks, computes in a local, hands over. */
#include "base/status.h"
#include "layout/check.h"
#include "layout/f2.h"
#include "layout/fields.h"

/* ---- compose ---- */

/* *move takes a's out word to b's in word. Names are distinct on each side, so equal counts and
 * every name found make a bijection. */
static llrt_status match_dims(const llrt_layout *a, const llrt_layout *b, fields *move) {
  LLRT_REQUIRE(a->n_out == b->n_in, "compose: the first has %d out-dims, the second %d in-dims",
               a->n_out, b->n_in);
  for (int i = 0, from = 0; i < a->n_out; from += a->out[i++].bits) {
    const llrt_dim *dim = &a->out[i];
    int index = layout_dim_index(b->in, b->n_in, dim);
    LLRT_REQUIRE(index >= 0, "compose: the second has no in-dim %s", dim->name);
    LLRT_REQUIRE(dim->bits <= b->in[index].bits,
                 "compose: %s has %d bits in the first, only %d in the second", dim->name,
                 dim->bits, b->in[index].bits);
    fields_add(move, from, llrt_layout_in_shift(b, index), dim->bits);
  }
  return LLRT_OK;
}

static llrt_status compose(const llrt_layout *a, const llrt_layout *b, llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  LLRT_TRY(layout_check(b, "b"));
  fields move = {.count = 0};
  LLRT_TRY(match_dims(a, b, &move));
  *out = *b;
  out->n_in = a->n_in;
  memcpy(out->in, a->in, sizeof out->in);
  int bits = llrt_layout_in_bits(a);
  for (int i = 0; i < bits; i++)
    out->column[i] = f2_apply(b->column, fields_move(&move, a->column[i]));
  for (int i = bits; i < LLRT_MAX_BITS; i++) out->column[i] = 0;
  return LLRT_OK;
}

llrt_status llrt_layout_compose(const llrt_layout *a, const llrt_layout *b, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(compose(a, b, &result), &result, out);
}

/* ---- product ---- */

static int bits_of(const llrt_dim *dim, int n, const llrt_dim *wanted) {
  int index = layout_dim_index(dim, n, wanted);
  return index < 0 ? 0 : dim[index].bits;
}

/* The dims of a product, sizes added: a's in their order, and before each that b has too, b's
 * own dims which stand before it there. So the order agrees with both factors' wherever these
 * agree with each other. Returns how many. */
static int merge_dims(const llrt_dim *a, int n_a, const llrt_dim *b, int n_b, llrt_dim *merged) {
  int n = 0, next = 0;
  for (int i = 0; i <= n_a; i++) {
    int shared = i < n_a ? layout_dim_index(b, n_b, &a[i]) : n_b;
    for (; next < shared; next++)
      if (layout_dim_index(a, n_a, &b[next]) < 0) merged[n++] = b[next];
    if (i == n_a) break;
    merged[n] = a[i];
    merged[n++].bits += shared < 0 ? 0 : b[shared].bits;
  }
  return n;
}

static llrt_status merge(const llrt_layout *a, const llrt_layout *b, llrt_layout *out) {
  llrt_dim ins[2 * LLRT_MAX_IN_DIMS], outs[2 * LLRT_MAX_OUT_DIMS];
  int n_ins = merge_dims(a->in, a->n_in, b->in, b->n_in, ins);
  int n_outs = merge_dims(a->out, a->n_out, b->out, b->n_out, outs);
  *out = (llrt_layout){0};
  for (int i = 0; i < n_ins; i++) LLRT_TRY(layout_append_in(out, ins[i].name, ins[i].bits));
  for (int i = 0; i < n_outs; i++) LLRT_TRY(layout_append_out(out, outs[i].name, outs[i].bits));
  return LLRT_OK;
}

/* Copies a factor's columns into the product: in and out fields start above those of `below`, the
 * factor to the left (NULL for the first). */
static void place_factor(const llrt_layout *factor, const llrt_layout *below, llrt_layout *out) {
  fields move = {.count = 0};
  for (int i = 0, from = 0; i < factor->n_out; from += factor->out[i++].bits) {
    const llrt_dim *dim = &factor->out[i];
    int to = llrt_layout_out_shift(out, layout_dim_index(out->out, out->n_out, dim));
    if (below) to += bits_of(below->out, below->n_out, dim);
    fields_add(&move, from, to, dim->bits);
  }
  for (int i = 0, from = 0; i < factor->n_in; from += factor->in[i++].bits) {
    const llrt_dim *dim = &factor->in[i];
    int to = llrt_layout_in_shift(out, layout_dim_index(out->in, out->n_in, dim));
    if (below) to += bits_of(below->in, below->n_in, dim);
    for (int k = 0; k < dim->bits; k++)
      out->column[to + k] = fields_move(&move, factor->column[from + k]);
  }
}

static llrt_status product(const llrt_layout *a, const llrt_layout *b, llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  LLRT_TRY(layout_check(b, "b"));
  LLRT_TRY(merge(a, b, out));
  place_factor(a, NULL, out);
  place_factor(b, a, out);
  return LLRT_OK;
}

llrt_status llrt_layout_product(const llrt_layout *a, const llrt_layout *b, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(product(a, b, &result), &result, out);
}
