/* Choosing, ordering, cutting and naming dims. */
#include "tests/fuzz/operations.h"

#include <string.h>

/* out is a with dims in another order or left out: equal by name, dims that are missing at 0. */
static void check_by_name(const llrt_layout *a, const llrt_layout *out) {
  for (int x = 0; x < in_points(out); x++) {
    point in = point_of(out->in, out->n_in, (uint64_t)x), got = value_at(out, (uint64_t)x);
    point wanted = value_of(a, &in);
    for (int i = 0; i < got.n; i++) FUZZ_CHECK(point_at(&wanted, got.name[i]) == got.at[i]);
  }
}

/* The same matrix, whatever the dims. */
static void check_flat(const llrt_layout *a, const llrt_layout *out) {
  FUZZ_CHECK(in_points(a) == in_points(out) && out_points(a) == out_points(out));
  for (int x = 0; x < in_points(a); x++)
    FUZZ_CHECK(value_flat(a, (uint64_t)x) == value_flat(out, (uint64_t)x));
}

llrt_status check_sublayout(bytes *from, const llrt_layout *a, const llrt_layout *b,
                            llrt_layout *out) {
  const char *ins[LLRT_MAX_IN_DIMS], *outs[LLRT_MAX_OUT_DIMS];
  int n_ins = bytes_names(from, a->in, a->n_in, ins);
  int n_outs = bytes_names(from, a->out, a->n_out, outs);
  (void)b;
  llrt_status status = llrt_layout_sublayout(a, ins, n_ins, outs, n_outs, out);
  FUZZ_CHECK(status == LLRT_OK && out->n_in == n_ins && out->n_out == n_outs);
  check_by_name(a, out);
  return status;
}

llrt_status check_transpose_ins(bytes *from, const llrt_layout *a, const llrt_layout *b,
                                llrt_layout *out) {
  const char *names[LLRT_MAX_IN_DIMS];
  int n = bytes_names(from, a->in, a->n_in, names);
  (void)b;
  llrt_status status = llrt_layout_transpose_ins(a, names, n, out);
  FUZZ_CHECK((status == LLRT_OK) == (n == a->n_in));
  if (status) return status;
  for (int i = 0; i < n; i++) FUZZ_CHECK(strcmp(out->in[i].name, names[i]) == 0);
  check_by_name(a, out);
  return status;
}

llrt_status check_transpose_outs(bytes *from, const llrt_layout *a, const llrt_layout *b,
                                 llrt_layout *out) {
  const char *names[LLRT_MAX_OUT_DIMS];
  int n = bytes_names(from, a->out, a->n_out, names);
  (void)b;
  llrt_status status = llrt_layout_transpose_outs(a, names, n, out);
  FUZZ_CHECK((status == LLRT_OK) == (n == a->n_out));
  if (status) return status;
  for (int i = 0; i < n; i++) FUZZ_CHECK(strcmp(out->out[i].name, names[i]) == 0);
  check_by_name(a, out);
  return status;
}

llrt_status check_flatten_ins(bytes *from, const llrt_layout *a, const llrt_layout *b,
                              llrt_layout *out) {
  (void)from, (void)b;
  llrt_status status = llrt_layout_flatten_ins(a, "lane", out);
  FUZZ_CHECK(status == LLRT_OK && out->n_in == (a->n_in > 0));
  check_flat(a, out);
  return status;
}

llrt_status check_flatten_outs(bytes *from, const llrt_layout *a, const llrt_layout *b,
                               llrt_layout *out) {
  (void)from, (void)b;
  llrt_status status = llrt_layout_flatten_outs(a, "lane", out);
  FUZZ_CHECK(status == LLRT_OK && out->n_out == (a->n_out > 0));
  check_flat(a, out);
  return status;
}

/* Two dims of some size; returns their bits. */
static int read_cut(bytes *from, llrt_dim *dims) {
  uint8_t sizes = bytes_next(from);
  memset(dims, 0, 2 * sizeof *dims);
  dims[0] = (llrt_dim){.name = "warp", .bits = sizes & 7};
  dims[1] = (llrt_dim){.name = "lane", .bits = sizes >> 3 & 7};
  return dims[0].bits + dims[1].bits;
}

llrt_status check_reshape_ins(bytes *from, const llrt_layout *a, const llrt_layout *b,
                              llrt_layout *out) {
  llrt_dim dims[2];
  int bits = read_cut(from, dims);
  (void)b;
  llrt_status status = llrt_layout_reshape_ins(a, dims, 2, out);
  FUZZ_CHECK((status == LLRT_OK) == (bits == llrt_layout_in_bits(a)));
  if (status == LLRT_OK) check_flat(a, out);
  return status;
}

llrt_status check_reshape_outs(bytes *from, const llrt_layout *a, const llrt_layout *b,
                               llrt_layout *out) {
  llrt_dim dims[2];
  int bits = read_cut(from, dims);
  (void)b;
  llrt_status status = llrt_layout_reshape_outs(a, dims, 2, out);
  FUZZ_CHECK((status == LLRT_OK) == (bits == llrt_layout_out_bits(a)));
  if (status == LLRT_OK) check_flat(a, out);
  return status;
}

llrt_status check_rename_ins(bytes *from, const llrt_layout *a, const llrt_layout *b,
                             llrt_layout *out) {
  const char *names[LLRT_MAX_IN_DIMS], *turned[LLRT_MAX_IN_DIMS];
  int n = bytes_names(from, a->in, a->n_in, names);
  (void)b;
  for (int i = 0; i < n; i++) turned[i] = names[(i + 1) % n];
  llrt_status status = llrt_layout_rename_ins(a, names, turned, n, out);
  FUZZ_CHECK(status == LLRT_OK);
  check_flat(a, out);
  return status;
}

llrt_status check_rename_outs(bytes *from, const llrt_layout *a, const llrt_layout *b,
                              llrt_layout *out) {
  const char *names[LLRT_MAX_OUT_DIMS], *turned[LLRT_MAX_OUT_DIMS];
  int n = bytes_names(from, a->out, a->n_out, names);
  (void)b;
  for (int i = 0; i < n; i++) turned[i] = names[(i + 1) % n];
  llrt_status status = llrt_layout_rename_outs(a, names, turned, n, out);
  FUZZ_CHECK(status == LLRT_OK);
  check_flat(a, out);
  return status;
}

static bool share_name(const llrt_dim *a, int n_a, const llrt_dim *b, int n_b) {
  for (int i = 0; i < n_a; i++)
    for (int k = 0; k < n_b; k++)
      if (strcmp(a[i].name, b[k].name) == 0) return true;
  return false;
}

static bool same_sizes(const llrt_dim *a, int n_a, const llrt_dim *b, int n_b) {
  for (int i = 0; i < n_a; i++)
    if (dim_bits(b, n_b, a[i].name) != a[i].bits) return false;
  return same_names(a, n_a, b, n_b);
}

llrt_status check_concat_ins(bytes *from, const llrt_layout *a, const llrt_layout *b,
                             llrt_layout *out) {
  (void)from;
  bool expected =
      same_sizes(a->out, a->n_out, b->out, b->n_out) && !share_name(a->in, a->n_in, b->in, b->n_in);
  llrt_status status = llrt_layout_concat_ins(a, b, out);
  FUZZ_CHECK((status == LLRT_OK) == expected);
  for (int x = 0; expected && x < in_points(out) && x < 1 << POINTS_MAX_BITS; x++) {
    point in = point_of(out->in, out->n_in, (uint64_t)x), got = value_at(out, (uint64_t)x);
    point u = value_of(a, &in), v = value_of(b, &in);
    for (int i = 0; i < got.n; i++)
      FUZZ_CHECK(got.at[i] == (point_at(&u, got.name[i]) ^ point_at(&v, got.name[i])));
  }
  return status;
}

llrt_status check_concat_outs(bytes *from, const llrt_layout *a, const llrt_layout *b,
                              llrt_layout *out) {
  (void)from;
  bool expected =
      same_sizes(a->in, a->n_in, b->in, b->n_in) && !share_name(a->out, a->n_out, b->out, b->n_out);
  llrt_status status = llrt_layout_concat_outs(a, b, out);
  FUZZ_CHECK((status == LLRT_OK) == expected);
  for (int x = 0; expected && x < in_points(a); x++) {
    point in = point_of(a->in, a->n_in, (uint64_t)x), got = value_of(out, &in);
    point u = value_at(a, (uint64_t)x), v = value_of(b, &in);
    for (int i = 0; i < got.n; i++)
      FUZZ_CHECK(got.at[i] == (point_at(&u, got.name[i]) | point_at(&v, got.name[i])));
  }
  return status;
}
