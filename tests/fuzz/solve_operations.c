/* Composing and solving. */
#include "tests/fuzz/operations.h"

llrt_status check_compose(bytes *from, const llrt_layout *a, const llrt_layout *b,
                          llrt_layout *out) {
  (void)from;
  bool fits = same_names(a->out, a->n_out, b->in, b->n_in);
  for (int i = 0; fits && i < a->n_out; i++)
    fits = a->out[i].bits <= dim_bits(b->in, b->n_in, a->out[i].name);
  llrt_status status = llrt_layout_compose(a, b, out);
  FUZZ_CHECK((status == LLRT_OK) == fits);
  for (int x = 0; fits && x < in_points(a); x++) {
    point middle = value_at(a, (uint64_t)x), end = value_of(b, &middle);
    uint64_t wanted;
    FUZZ_CHECK(point_flat(&end, out->out, out->n_out, &wanted));
    FUZZ_CHECK(value_flat(out, (uint64_t)x) == wanted);
  }
  return status;
}

/* outer(X(x)) = inner(x) for all x. */
static void check_solution(const llrt_layout *outer, const llrt_layout *inner,
                           const llrt_layout *solution) {
  for (int x = 0; x < in_points(inner); x++) {
    point middle = value_at(solution, (uint64_t)x), end = value_of(outer, &middle);
    point wanted = value_at(inner, (uint64_t)x);
    for (int i = 0; i < end.n; i++) FUZZ_CHECK(point_at(&wanted, end.name[i]) == end.at[i]);
  }
}

llrt_status check_solve(bytes *from, const llrt_layout *a, const llrt_layout *b, llrt_layout *out) {
  (void)from;
  bool expected = same_names(a->out, a->n_out, b->out, b->n_out) && is_inside(b, a);
  llrt_status status = llrt_layout_solve(a, b, out);
  FUZZ_CHECK((status == LLRT_OK) == expected);
  if (expected) check_solution(a, b, out);
  return status;
}

llrt_status check_invert_and_compose(bytes *from, const llrt_layout *a, const llrt_layout *b,
                                     llrt_layout *out) {
  llrt_layout local;
  bool expected = same_names(a->out, a->n_out, b->out, b->n_out) && is_inside(a, b);
  (void)from;
  llrt_status status = llrt_layout_invert_and_compose(a, b, out);
  FUZZ_CHECK((status == LLRT_OK) == expected);
  FUZZ_CHECK((llrt_layout_invert_and_compose_block_local(a, b, &local) == LLRT_OK) == expected);
  if (!expected) return status;
  check_solution(b, a, out);
  check_solution(b, a, &local);
  for (int x = 0; llrt_layout_equal(a, b) && x < in_points(a); x++)
    FUZZ_CHECK(value_flat(out, (uint64_t)x) == (uint64_t)x);
  return status;
}

llrt_status check_right_inverse(bytes *from, const llrt_layout *a, const llrt_layout *b,
                                llrt_layout *out) {
  image all;
  (void)from, (void)b;
  image_of(a, ~UINT64_C(0), &all);
  llrt_status status = llrt_layout_right_inverse(a, out);
  FUZZ_CHECK((status == LLRT_OK) == (all.n == out_points(a)));
  for (int y = 0; status == LLRT_OK && y < out_points(a); y++)
    FUZZ_CHECK(value_flat(a, value_flat(out, (uint64_t)y)) == (uint64_t)y);
  return status;
}

llrt_status check_invert(bytes *from, const llrt_layout *a, const llrt_layout *b,
                         llrt_layout *out) {
  image all;
  (void)from, (void)b;
  image_of(a, ~UINT64_C(0), &all);
  llrt_status status = llrt_layout_invert(a, out);
  FUZZ_CHECK((status == LLRT_OK) == (all.n == out_points(a) && all.n == in_points(a)));
  for (int x = 0; status == LLRT_OK && x < in_points(a); x++)
    FUZZ_CHECK(value_flat(out, value_flat(a, (uint64_t)x)) == (uint64_t)x);
  return status;
}
