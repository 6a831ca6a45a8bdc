/* Columns and sizes; and questions about one or two layouts. */
#include "tests/fuzz/operations.h"

#include <string.h>

/* A dim of the layout, chosen by a byte; -1 where there is none. */
static int read_index(bytes *from, int n) { return n ? bytes_next(from) % n : -1; }

static llrt_status nothing(llrt_layout *out) {
  *out = (llrt_layout){0};
  return LLRT_INVALID_ARGUMENT;
}

llrt_status check_resize_in(bytes *from, const llrt_layout *a, const llrt_layout *b,
                            llrt_layout *out) {
  int index = read_index(from, a->n_in), bits = bytes_next(from) % 5;
  (void)b;
  if (index < 0) return nothing(out);
  llrt_status status = llrt_layout_resize_in(a, a->in[index].name, INT64_C(1) << bits, out);
  FUZZ_CHECK(status == LLRT_OK && out->in[index].bits == bits);
  for (int x = 0; x < in_points(out); x++) {
    point in = point_of(out->in, out->n_in, (uint64_t)x);
    uint64_t wanted, end = value_flat(out, (uint64_t)x);
    point value = value_of(a, &in); /* a coordinate past a's dim counts modulo its size */
    FUZZ_CHECK(point_flat(&value, out->out, out->n_out, &wanted) && wanted == end);
  }
  return status;
}

llrt_status check_resize_out(bytes *from, const llrt_layout *a, const llrt_layout *b,
                             llrt_layout *out) {
  int index = read_index(from, a->n_out), bits = bytes_next(from) % 5;
  (void)b;
  if (index < 0) return nothing(out);
  llrt_status status = llrt_layout_resize_out(a, a->out[index].name, INT64_C(1) << bits, out);
  FUZZ_CHECK((status == LLRT_OK) == (bits <= a->out[index].bits));
  for (int i = 0; status == LLRT_OK && i < llrt_layout_in_bits(a); i++) {
    uint64_t wanted;
    point value = value_at(a, UINT64_C(1) << i);
    if (value.at[index] >> bits) value.at[index] = 0;
    FUZZ_CHECK(point_flat(&value, out->out, out->n_out, &wanted) && out->column[i] == wanted);
  }
  return status;
}

llrt_status check_remove_zero_bases(bytes *from, const llrt_layout *a, const llrt_layout *b,
                                    llrt_layout *out) {
  int index = read_index(from, a->n_in), kept = 0;
  (void)b;
  if (index < 0) return nothing(out);
  llrt_status status = llrt_layout_remove_zero_bases(a, a->in[index].name, out);
  FUZZ_CHECK(status == LLRT_OK);
  int first = llrt_layout_in_shift(a, index), past = first + a->in[index].bits;
  for (int i = 0; i < llrt_layout_in_bits(a); i++) {
    if (i >= first && i < past && a->column[i] == 0) continue;
    FUZZ_CHECK(out->column[kept++] == a->column[i]);
  }
  FUZZ_CHECK(kept == llrt_layout_in_bits(out));
  return status;
}

llrt_status check_select_bases(bytes *from, const llrt_layout *a, const llrt_layout *b,
                               llrt_layout *out) {
  int index = read_index(from, a->n_in), action[4], n = bytes_next(from) % 5;
  bool expected = true;
  (void)b;
  if (index < 0) return nothing(out);
  for (int i = 0; i < n; i++) {
    action[i] = bytes_next(from) % 4;
    expected &= action[i] < a->in[index].bits;
  }
  llrt_status status = llrt_layout_select_bases(a, a->in[index].name, action, n, out);
  FUZZ_CHECK((status == LLRT_OK) == expected);
  for (int x = 0; status == LLRT_OK && x < in_points(out); x++) {
    point in = point_of(out->in, out->n_in, (uint64_t)x);
    in.at[index] = llrt_layout_selected_position(action, n, in.at[index]);
    uint64_t wanted, end = value_flat(out, (uint64_t)x);
    point value = value_of(a, &in);
    FUZZ_CHECK(point_flat(&value, out->out, out->n_out, &wanted) && wanted == end);
  }
  return status;
}

operation *const operations[] = {
    check_compose,
    check_solve,
    check_invert_and_compose,
    check_right_inverse,
    check_invert,
    check_product,
    check_divide_left,
    check_divide_right,
    check_quotient,
    check_repetitions,
    check_product_divided,
    check_sublayout,
    check_transpose_ins,
    check_flatten_ins,
    check_transpose_outs,
    check_flatten_outs,
    check_reshape_ins,
    check_reshape_outs,
    check_rename_ins,
    check_rename_outs,
    check_concat_ins,
    check_concat_outs,
    check_resize_in,
    check_resize_out,
    check_select_bases,
    check_remove_zero_bases,
    check_same_bytes,
};
const int n_operations = sizeof operations / sizeof operations[0];

/* ---- questions ---- */

static void check_rank(const llrt_layout *a) {
  image all;
  image_of(a, ~UINT64_C(0), &all);
  FUZZ_CHECK(1 << llrt_layout_rank(a) == all.n);
  FUZZ_CHECK(llrt_layout_is_surjective(a) == (all.n == out_points(a)));
  FUZZ_CHECK(llrt_layout_is_injective(a) == (all.n == in_points(a)));
}

/* A bit is free when what the bits before it reach holds its column. */
static void check_free_variables(const llrt_layout *a) {
  uint64_t masks[LLRT_MAX_IN_DIMS];
  FUZZ_CHECK(llrt_layout_free_variable_masks(a, masks) == LLRT_OK);
  for (int in = 0, bit = 0; in < a->n_in; in++)
    for (int i = 0; i < a->in[in].bits; i++, bit++) {
      image before;
      image_of(a, (UINT64_C(1) << bit) - 1, &before);
      FUZZ_CHECK((masks[in] >> i & 1) == before.has[a->column[bit]]);
    }
}

/* 2^k elements in a row: the positions of the first in-dim reach 1, 2, … 2^(k-1). */
static void check_contiguous(const llrt_layout *a) {
  const char *in = a->in[0].name, *outs[LLRT_MAX_OUT_DIMS];
  int64_t count, k = 1;
  image held;
  for (int i = 0; i < a->n_out; i++) outs[i] = a->out[i].name;
  image_of(a, (UINT64_C(1) << a->in[0].bits) - 1, &held);
  FUZZ_CHECK(llrt_layout_contiguous(a, &in, 1, outs, a->n_out, &count) == LLRT_OK);
  while (k < out_points(a) && held.has[k]) k *= 2;
  FUZZ_CHECK(count == k);
}

static void check_num_consecutive(const llrt_layout *a) {
  int64_t wanted = 1;
  for (int k = 1; k <= a->in[0].bits && k <= a->out[0].bits; k++) {
    bool holds = true;
    for (int i = 0; i < llrt_layout_in_bits(a); i++)
      holds &=
          i < k ? a->column[i] == UINT64_C(1) << i : (a->column[i] & ((UINT64_C(1) << k) - 1)) == 0;
    if (holds) wanted = INT64_C(1) << k;
  }
  FUZZ_CHECK(llrt_layout_num_consecutive(a) == wanted);
}

/* What both first in-dims hold; out-dims equal, in the same order. */
static void check_common_vector(const llrt_layout *a, const llrt_layout *b) {
  image u, v;
  int common = 0;
  int64_t count;
  if (a->n_out != b->n_out || memcmp(a->out, b->out, sizeof a->out[0] * a->n_out) != 0) return;
  image_of(a, (UINT64_C(1) << a->in[0].bits) - 1, &u);
  image_of(b, (UINT64_C(1) << b->in[0].bits) - 1, &v);
  for (int y = 0; y < out_points(a); y++) common += u.has[y] && v.has[y];
  FUZZ_CHECK(llrt_layout_common_vector(a, a->in[0].name, b, b->in[0].name, &count) == LLRT_OK);
  FUZZ_CHECK(count == common);
}

void check_questions(const llrt_layout *a, const llrt_layout *b) {
  check_rank(a);
  check_free_variables(a);
  if (a->n_in && a->n_out) {
    check_contiguous(a);
    check_num_consecutive(a);
  }
  if (a->n_in && b->n_in) check_common_vector(a, b);
}
