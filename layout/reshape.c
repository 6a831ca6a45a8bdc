/* Choosing, reordering and joining dims. */
#include "base/bits.h"
#include "base/status.h"
#include "layout/check.h"
#include "layout/fields.h"

/* The layout of a's in-dims index[0..n) in that order. */
static void select_ins(const llrt_layout *a, const int *index, int n, llrt_layout *out) {
  *out = *a;
  out->n_in = (uint8_t)n;
  memset(out->in, 0, sizeof out->in);
  memset(out->column, 0, sizeof out->column);
  int to = 0;
  for (int i = 0; i < n; i++) {
    int from = llrt_layout_in_shift(a, index[i]), bits = a->in[index[i]].bits;
    out->in[i] = a->in[index[i]];
    memcpy(out->column + to, a->column + from, (size_t)bits * sizeof a->column[0]);
    to += bits;
  }
}

/* The layout onto a's out-dims index[0..n) in that order. */
static void select_outs(const llrt_layout *a, const int *index, int n, llrt_layout *out) {
  *out = *a;
  out->n_out = (uint8_t)n;
  memset(out->out, 0, sizeof out->out);
  fields move = {.count = 0};
  int to = 0;
  for (int i = 0; i < n; i++) {
    out->out[i] = a->out[index[i]];
    fields_add(&move, llrt_layout_out_shift(a, index[i]), to, out->out[i].bits);
    to += out->out[i].bits;
  }
  for (int i = 0; i < llrt_layout_in_bits(a); i++)
    out->column[i] = fields_move(&move, a->column[i]);
}

/* The places of a set, ascending; returns how many. */
static int list_places(uint32_t taken, int *index) {
  int n = 0;
  for (; taken; taken &= taken - 1) index[n++] = bits_lowest(taken);
  return n;
}

static llrt_status sublayout(const llrt_layout *a, const char *const *ins, int n_ins,
                             const char *const *outs, int n_outs, llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  int in_index[LLRT_MAX_IN_DIMS], out_index[LLRT_MAX_OUT_DIMS];
  uint32_t in_taken, out_taken;
  LLRT_TRY(layout_find_dims(a->in, a->n_in, "in", ins, n_ins, in_index, &in_taken));
  LLRT_TRY(layout_find_dims(a->out, a->n_out, "out", outs, n_outs, out_index, &out_taken));
  llrt_layout chosen;
  select_ins(a, in_index, list_places(in_taken, in_index), &chosen);
  select_outs(&chosen, out_index, list_places(out_taken, out_index), out);
  return LLRT_OK;
}

llrt_status llrt_layout_sublayout(const llrt_layout *a, const char *const *ins, int n_ins,
                                  const char *const *outs, int n_outs, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(sublayout(a, ins, n_ins, outs, n_outs, &result), &result, out);
}

static llrt_status transpose_ins(const llrt_layout *a, const char *const *names, int n,
                                 llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  int index[LLRT_MAX_IN_DIMS];
  uint32_t taken;
  LLRT_REQUIRE(n == a->n_in, "%d names for %d in-dims", n, a->n_in);
  LLRT_TRY(layout_find_dims(a->in, a->n_in, "in", names, n, index, &taken));
  select_ins(a, index, n, out);
  return LLRT_OK;
}

llrt_status llrt_layout_transpose_ins(const llrt_layout *a, const char *const *names, int n,
                                      llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(transpose_ins(a, names, n, &result), &result, out);
}

static llrt_status transpose_outs(const llrt_layout *a, const char *const *names, int n,
                                  llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  int index[LLRT_MAX_OUT_DIMS];
  uint32_t taken;
  LLRT_REQUIRE(n == a->n_out, "%d names for %d out-dims", n, a->n_out);
  LLRT_TRY(layout_find_dims(a->out, a->n_out, "out", names, n, index, &taken));
  select_outs(a, index, n, out);
  return LLRT_OK;
}

llrt_status llrt_layout_transpose_outs(const llrt_layout *a, const char *const *names, int n,
                                       llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(transpose_outs(a, names, n, &result), &result, out);
}

/* ---- flattening and cutting anew: the columns stay as they are, the dims over them change ---- */

static llrt_status flatten_ins(const llrt_layout *a, const char *name, llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  *out = *a;
  out->n_in = 0;
  memset(out->in, 0, sizeof out->in);
  LLRT_REQUIRE(name && layout_name_is_valid(name), "flatten_ins: the name is malformed");
  if (a->n_in == 0) return LLRT_OK;
  return layout_append_in(out, name, llrt_layout_in_bits(a));
}

llrt_status llrt_layout_flatten_ins(const llrt_layout *a, const char *name, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(flatten_ins(a, name, &result), &result, out);
}

static llrt_status flatten_outs(const llrt_layout *a, const char *name, llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  *out = *a;
  out->n_out = 0;
  memset(out->out, 0, sizeof out->out);
  LLRT_REQUIRE(name && layout_name_is_valid(name), "flatten_outs: the name is malformed");
  if (a->n_out == 0) return LLRT_OK;
  return layout_append_out(out, name, llrt_layout_out_bits(a));
}

llrt_status llrt_layout_flatten_outs(const llrt_layout *a, const char *name, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(flatten_outs(a, name, &result), &result, out);
}

/* dims[n] are named as dims may be and have `bits` bits together. */
static llrt_status check_dims(const llrt_dim *dims, int n, int bits) {
  LLRT_REQUIRE(n >= 0 && (dims || n == 0), "reshape: dims: NULL");
  int total = 0;
  for (int i = 0; i < n; i++) {
    LLRT_REQUIRE(layout_name_is_valid(dims[i].name), "reshape: a name is malformed");
    total += dims[i].bits;
  }
  LLRT_REQUIRE(total == bits, "reshape: 2^%d positions into 2^%d", bits, total);
  return LLRT_OK;
}

static llrt_status reshape_ins(const llrt_layout *a, const llrt_dim *dims, int n,
                               llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  LLRT_TRY(check_dims(dims, n, llrt_layout_in_bits(a)));
  *out = *a;
  out->n_in = 0;
  memset(out->in, 0, sizeof out->in);
  for (int i = 0; i < n; i++) LLRT_TRY(layout_append_in(out, dims[i].name, dims[i].bits));
  return LLRT_OK;
}

llrt_status llrt_layout_reshape_ins(const llrt_layout *a, const llrt_dim *dims, int n,
                                    llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(reshape_ins(a, dims, n, &result), &result, out);
}

static llrt_status reshape_outs(const llrt_layout *a, const llrt_dim *dims, int n,
                                llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  LLRT_TRY(check_dims(dims, n, llrt_layout_out_bits(a)));
  *out = *a;
  out->n_out = 0;
  memset(out->out, 0, sizeof out->out);
  for (int i = 0; i < n; i++) LLRT_TRY(layout_append_out(out, dims[i].name, dims[i].bits));
  return LLRT_OK;
}

llrt_status llrt_layout_reshape_outs(const llrt_layout *a, const llrt_dim *dims, int n,
                                     llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(reshape_outs(a, dims, n, &result), &result, out);
}
