/* Inverses and systems: X with outer X = inner. Cost: elimination of outer's columns, then one
 * reduction for each of inner's. */
#include "base/bits.h"
#include "base/status.h"
#include "layout/check.h"
#include "layout/f2.h"
#include "layout/fields.h"

/* ---- inverses ---- */

static llrt_status right_inverse(const llrt_layout *a, llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  if (a->n_out > LLRT_MAX_IN_DIMS)
    return llrt_error(LLRT_UNSUPPORTED, "right inverse: its %d in-dims are more than %d", a->n_out,
                      LLRT_MAX_IN_DIMS);
  *out = (llrt_layout){.n_in = a->n_out, .n_out = a->n_in};
  memcpy(out->in, a->out, a->n_out * sizeof a->out[0]);
  memcpy(out->out, a->in, a->n_in * sizeof a->in[0]);
  uint64_t units[LLRT_MAX_BITS];
  int bits = llrt_layout_out_bits(a);
  for (int i = 0; i < bits; i++) units[i] = 1ull << i;
  LLRT_REQUIRE(f2_solve(a->column, llrt_layout_in_bits(a), units, bits, out->column),
               "right inverse: the layout is not surjective");
  return LLRT_OK;
}

llrt_status llrt_layout_right_inverse(const llrt_layout *a, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(right_inverse(a, &result), &result, out);
}

llrt_status llrt_layout_pseudoinvert(const llrt_layout *a, llrt_layout *out) {
  LLRT_ENTRY();
  return llrt_layout_right_inverse(a, out);
}

static llrt_status invert(const llrt_layout *a, llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  LLRT_REQUIRE(llrt_layout_in_bits(a) == llrt_layout_out_bits(a), "invert: %d in bits, %d out bits",
               llrt_layout_in_bits(a), llrt_layout_out_bits(a));
  return right_inverse(a, out);
}

llrt_status llrt_layout_invert(const llrt_layout *a, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(invert(a, &result), &result, out);
}

/* ---- outer X = inner ---- */

/* *move takes inner's out word to outer's. Sizes may differ; a coordinate of inner that outer's
 * size does not hold is caught as outside outer's image. */
static llrt_status match_outs(const llrt_layout *inner, const llrt_layout *outer, fields *move) {
  LLRT_REQUIRE(inner->n_out == outer->n_out, "invert_and_compose: %d out-dims against %d",
               inner->n_out, outer->n_out);
  uint64_t used = 0, held = 0;
  for (int i = 0; i < llrt_layout_in_bits(inner); i++) used |= inner->column[i];
  for (int i = 0, from = 0; i < inner->n_out; from += inner->out[i++].bits) {
    const llrt_dim *dim = &inner->out[i];
    int index = layout_dim_index(outer->out, outer->n_out, dim);
    LLRT_REQUIRE(index >= 0, "invert_and_compose: the outer layout has no out-dim %s", dim->name);
    int bits = bits_min(dim->bits, outer->out[index].bits);
    fields_add(move, from, llrt_layout_out_shift(outer, index), bits);
    if (bits) held |= bits_mask(bits) << from;
  }
  LLRT_REQUIRE((used & ~held) == 0,
               "invert_and_compose: the image of the inner layout is not inside that of the outer");
  return LLRT_OK;
}

/* OR of the n columns from `first` on. */
static uint64_t touched(const uint64_t *columns, int first, int n) {
  uint64_t bits = 0;
  for (int i = first; i < first + n; i++) bits |= columns[i];
  return bits;
}

/* Whether in-dim [first, first + n) of a matrix shares output bits with another in-dim. */
static bool stands_alone(const uint64_t *columns, int total, int first, int n) {
  uint64_t others = touched(columns, 0, first) | touched(columns, first + n, total - first - n);
  return (touched(columns, first, n) & others) == 0;
}

/* The two systems of invert_and_compose, inner's columns already in outer's out word. `kept` marks
 * the columns of in-dims that map to themselves and leave the system. */
typedef struct inversion {
  int inner_bits, outer_bits;
  uint64_t inner[LLRT_MAX_BITS];
  uint64_t inner_kept, outer_kept;
} inversion;

/* Marks in-dims with equal bases on both sides whose output bits no other in-dim of either touches,
 * and fills their part of x. */
static void keep_equal_dims(const llrt_layout *inner, const llrt_layout *outer, inversion *work,
                            uint64_t *x) {
  for (int i = 0, at = 0; i < inner->n_in; at += inner->in[i++].bits) {
    int n = inner->in[i].bits;
    int index = layout_dim_index(outer->in, outer->n_in, &inner->in[i]);
    if (n == 0 || index < 0 || outer->in[index].bits != n) continue;
    int to = llrt_layout_in_shift(outer, index);
    if (memcmp(work->inner + at, outer->column + to, (size_t)n * sizeof *work->inner) != 0)
      continue;
    if (!stands_alone(work->inner, work->inner_bits, at, n)) continue;
    if (!stands_alone(outer->column, work->outer_bits, to, n)) continue;
    work->inner_kept |= bits_mask(n) << at;
    work->outer_kept |= bits_mask(n) << to;
    for (int k = 0; k < n; k++) x[at + k] = 1ull << (to + k);
  }
}

/* Solves outer X = inner for what is not kept. Free variables are zero, pivots leftmost. */
static bool solve_rest(const llrt_layout *outer, const inversion *work, uint64_t *x) {
  f2_basis basis;
  f2_basis_init(&basis);
  for (int i = 0; i < work->outer_bits; i++)
    if (!(work->outer_kept >> i & 1)) f2_basis_insert_as(&basis, outer->column[i], 1ull << i);
  for (int i = 0; i < work->inner_bits; i++)
    if (!(work->inner_kept >> i & 1) && !f2_basis_coordinates(&basis, work->inner[i], &x[i]))
      return false;
  return true;
}

/* Whether both layouts are one map from the same in-dims. */
static bool is_same_map(const llrt_layout *inner, const llrt_layout *outer, const inversion *work) {
  if (inner->n_in != outer->n_in) return false;
  for (int i = 0; i < inner->n_in; i++)
    if (!layout_same_name(&inner->in[i], &outer->in[i]) || inner->in[i].bits != outer->in[i].bits)
      return false;
  return memcmp(work->inner, outer->column, (size_t)work->inner_bits * sizeof *work->inner) == 0;
}

/* Everything but the solution: out's dims, inner's columns in outer's out word. */
static llrt_status start_inversion(const llrt_layout *inner, const llrt_layout *outer,
                                   inversion *work, llrt_layout *out) {
  LLRT_TRY(layout_check(inner, "inner"));
  LLRT_TRY(layout_check(outer, "outer"));
  fields move = {.count = 0};
  LLRT_TRY(match_outs(inner, outer, &move));
  *out = (llrt_layout){.n_in = inner->n_in, .n_out = outer->n_in};
  memcpy(out->in, inner->in, inner->n_in * sizeof inner->in[0]);
  memcpy(out->out, outer->in, outer->n_in * sizeof outer->in[0]);
  work->inner_bits = llrt_layout_in_bits(inner);
  work->outer_bits = llrt_layout_in_bits(outer);
  work->inner_kept = work->outer_kept = 0;
  for (int i = 0; i < work->inner_bits; i++) work->inner[i] = fields_move(&move, inner->column[i]);
  return LLRT_OK;
}

static llrt_status solve(const llrt_layout *inner, const llrt_layout *outer, llrt_layout *out) {
  inversion work;
  LLRT_TRY(start_inversion(inner, outer, &work, out));
  LLRT_REQUIRE(solve_rest(outer, &work, out->column),
               "solve: the image of the inner layout is not inside that of the outer");
  return LLRT_OK;
}

llrt_status llrt_layout_solve(const llrt_layout *a, const llrt_layout *b, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(solve(b, a, &result), &result, out);
}

static llrt_status invert_and_compose(const llrt_layout *inner, const llrt_layout *outer,
                                      llrt_layout *out) {
  inversion work;
  LLRT_TRY(start_inversion(inner, outer, &work, out));
  if (is_same_map(inner, outer, &work)) {
    for (int i = 0; i < work.inner_bits; i++) out->column[i] = 1ull << i;
    return LLRT_OK;
  }
  keep_equal_dims(inner, outer, &work, out->column);
  LLRT_REQUIRE(solve_rest(outer, &work, out->column),
               "invert_and_compose: the image of the inner layout is not inside that of the outer");
  return LLRT_OK;
}

llrt_status llrt_layout_invert_and_compose(const llrt_layout *inner, const llrt_layout *outer,
                                           llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(invert_and_compose(inner, outer, &result), &result, out);
}

/* Adding vectors of outer's kernel, here the zero columns of its block bits, keeps outer X =
 * inner. */
static llrt_status block_local(const llrt_layout *inner, const llrt_layout *outer,
                               llrt_layout *out) {
  LLRT_TRY(invert_and_compose(inner, outer, out));
  int from = llrt_layout_in_index(inner, "block"), to = llrt_layout_in_index(outer, "block");
  if (from < 0 || to < 0) return LLRT_OK;
  int first = llrt_layout_in_shift(inner, from), first_out = llrt_layout_in_shift(outer, to);
  for (int i = 0; i < outer->in[to].bits; i++) {
    if (outer->column[first_out + i] != 0) continue;
    uint64_t bit = 1ull << (first_out + i);
    for (int k = 0; k < llrt_layout_in_bits(out); k++) out->column[k] &= ~bit;
    if (i < inner->in[from].bits) out->column[first + i] |= bit;
  }
  return LLRT_OK;
}

llrt_status llrt_layout_invert_and_compose_block_local(const llrt_layout *inner,
                                                       const llrt_layout *outer, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(block_local(inner, outer, &result), &result, out);
}
