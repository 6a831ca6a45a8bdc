/* Runs and vectors: how many consecutive elements one thread holds, or moves at once. */
#include "base/bits.h"
#include "base/status.h"
#include "layout/check.h"
#include "layout/f2.h"
#include "layout/fields.h"

/* ---- contiguity ---- */

/* The span of the columns of ins[n_ins], of which `move` keeps what it names. */
static llrt_status span_of(const llrt_layout *a, const char *const *ins, int n_ins,
                           const fields *move, f2_basis *span) {
  int index[LLRT_MAX_IN_DIMS];
  uint32_t taken;
  LLRT_TRY(layout_find_dims(a->in, a->n_in, "in", ins, n_ins, index, &taken));
  f2_basis_init(span);
  for (int i = 0; i < n_ins; i++) {
    int first = llrt_layout_in_shift(a, index[i]);
    for (int k = 0; k < a->in[index[i]].bits; k++)
      f2_basis_insert(span, fields_move(move, a->column[first + k]));
  }
  return LLRT_OK;
}

/* Positions of outs[n] laid end to end; *bits is their total. */
static llrt_status line_up(const llrt_layout *a, const char *const *outs, int n, fields *move,
                           int *bits) {
  int index[LLRT_MAX_OUT_DIMS];
  uint32_t taken;
  LLRT_TRY(layout_find_dims(a->out, a->n_out, "out", outs, n, index, &taken));
  *move = (fields){.count = 0};
  *bits = 0;
  for (int i = 0; i < n; i++) {
    fields_add(move, llrt_layout_out_shift(a, index[i]), *bits, a->out[index[i]].bits);
    *bits += a->out[index[i]].bits;
  }
  return LLRT_OK;
}

llrt_status llrt_layout_contiguous(const llrt_layout *a, const char *const *ins, int n_ins,
                                   const char *const *outs, int n_outs, int64_t *count) {
  LLRT_ENTRY();
  LLRT_REQUIRE(count, "count: NULL");
  *count = 0;
  LLRT_TRY(layout_check(a, "a"));
  fields move;
  int bits;
  f2_basis span;
  LLRT_TRY(line_up(a, outs, n_outs, &move, &bits));
  LLRT_TRY(span_of(a, ins, n_ins, &move, &span));
  int run = 0;
  while (run < bits && run < 62 && f2_basis_contains(&span, 1ull << run)) run++;
  *count = 1ll << run;
  return LLRT_OK;
}

llrt_status llrt_layout_identity_prefix(const llrt_layout *a, const char *in, const char *out_name,
                                        int64_t limit, int64_t *count) {
  LLRT_ENTRY();
  LLRT_REQUIRE(count, "count: NULL");
  *count = 0;
  LLRT_TRY(layout_check(a, "a"));
  int index_in, index_out;
  uint32_t taken;
  LLRT_TRY(layout_find_dims(a->in, a->n_in, "in", &in, 1, &index_in, &taken));
  LLRT_TRY(layout_find_dims(a->out, a->n_out, "out", &out_name, 1, &index_out, &taken));
  LLRT_REQUIRE(bits_is_power_of_two(limit), "limit %lld is no power of two", (long long)limit);
  int first = llrt_layout_in_shift(a, index_in), shift = llrt_layout_out_shift(a, index_out);
  int most = bits_min(bits_log2(limit), bits_min(a->in[index_in].bits, a->out[index_out].bits));
  int run = 0;
  while (run < most && a->column[first + run] == 1ull << (shift + run)) run++;
  for (int i = 0; i < llrt_layout_in_bits(a); i++) {
    bool own = i >= first && i < first + run;
    uint64_t touched = own || run == 0 ? 0 : a->column[i] >> shift & bits_mask(run);
    if (touched) run = bits_lowest(touched), i = -1; /* fewer are the prefix's own: look again */
  }
  *count = 1ll << run;
  return LLRT_OK;
}

/* ---- vectors ---- */

static llrt_status find_in(const llrt_layout *a, const char *in, int *first, int *bits) {
  int index;
  uint32_t taken;
  LLRT_TRY(layout_find_dims(a->in, a->n_in, "in", &in, 1, &index, &taken));
  *first = llrt_layout_in_shift(a, index);
  *bits = a->in[index].bits;
  return LLRT_OK;
}

/* *move takes b's out word to a's; the dims are the same, sizes may differ, a coordinate that
 * a's size does not hold being lost, which `lost` masks. */
static llrt_status match_outs(const llrt_layout *a, const llrt_layout *b, fields *move,
                              uint64_t *lost) {
  LLRT_REQUIRE(a->n_out == b->n_out, "%d out-dims against %d", a->n_out, b->n_out);
  *move = (fields){.count = 0};
  *lost = 0;
  for (int i = 0, from = 0; i < b->n_out; from += b->out[i++].bits) {
    int index = layout_dim_index(a->out, a->n_out, &b->out[i]);
    LLRT_REQUIRE(index >= 0, "the first layout has no out-dim %s", b->out[i].name);
    int had = b->out[i].bits, kept = bits_min(had, a->out[index].bits);
    fields_add(move, from, llrt_layout_out_shift(a, index), kept);
    if (had > kept) *lost |= (bits_mask(had) & ~bits_mask(kept)) << from;
  }
  return LLRT_OK;
}

/* dim(A and B) = dim A + dim B - dim(A + B). Coordinates of b that a's out-dims do not hold are
 * laid above a's in the sum by projecting: a vector with such a bit is not in A, and counts for
 * B only. */
static llrt_status common_bits(const llrt_layout *a, const char *in_a, const llrt_layout *b,
                               const char *in_b, int *common) {
  LLRT_TRY(layout_check(a, "a"));
  LLRT_TRY(layout_check(b, "b"));
  fields move;
  uint64_t lost;
  int first_a, bits_a, first_b, bits_b;
  LLRT_TRY(match_outs(a, b, &move, &lost));
  LLRT_TRY(find_in(a, in_a, &first_a, &bits_a));
  LLRT_TRY(find_in(b, in_b, &first_b, &bits_b));
  /* B's vectors without lost bits: those whose lost part is zero, found as relations. */
  f2_basis outside, inside, sum;
  f2_basis_init(&outside);
  f2_basis_init(&inside);
  f2_basis_init(&sum);
  for (int k = 0; k < bits_b; k++) {
    uint64_t column = b->column[first_b + k], kept = fields_move(&move, column);
    uint64_t rest = f2_basis_reduce(&outside, column & lost, &kept);
    if (rest) f2_basis_insert_as(&outside, rest, kept);
    else f2_basis_insert(&inside, kept);
  }
  for (int k = 0; k < bits_a; k++) f2_basis_insert(&sum, a->column[first_a + k]);
  int rank_a = sum.rank;
  for (uint64_t p = inside.pivots; p; p &= p - 1) f2_basis_insert(&sum, inside.row[bits_lowest(p)]);
  *common = rank_a + inside.rank - sum.rank;
  return LLRT_OK;
}

llrt_status llrt_layout_common_vector(const llrt_layout *a, const char *in_a, const llrt_layout *b,
                                      const char *in_b, int64_t *count) {
  LLRT_ENTRY();
  LLRT_REQUIRE(count, "count: NULL");
  *count = 0;
  int common;
  LLRT_TRY(common_bits(a, in_a, b, in_b, &common));
  *count = 1ll << bits_min(common, 62);
  return LLRT_OK;
}

/* The register whose column is exactly `unit`, or -1. */
static int register_of(const llrt_layout *access, int first, int bits, uint64_t unit) {
  for (int k = 0; k < bits; k++)
    if (access->column[first + k] == unit) return k;
  return -1;
}

/* The action that puts the registers `vector[n]` first and keeps the order of the others. */
static void order_registers(const int *vector, int n, int bits, int *action) {
  uint64_t used = 0;
  for (int k = 0; k < n; k++) {
    action[k] = vector[k];
    used |= 1ull << vector[k];
  }
  for (int k = 0; k < bits; k++)
    if (!(used >> k & 1)) action[n++] = k;
}

/* The low v bits of offset belong to v registers and to nothing else. */
llrt_status llrt_layout_vector_width(const llrt_layout *access, int64_t limit, int64_t *count,
                                     int *action) {
  LLRT_ENTRY();
  LLRT_REQUIRE(count, "count: NULL");
  *count = 0;
  LLRT_TRY(layout_check(access, "access"));
  LLRT_REQUIRE(bits_is_power_of_two(limit), "limit %lld is no power of two", (long long)limit);
  int first, bits, offset, vector[LLRT_MAX_BITS], n = 0;
  uint32_t taken;
  const char *names[] = {"offset"};
  LLRT_TRY(find_in(access, "register", &first, &bits));
  LLRT_TRY(layout_find_dims(access->out, access->n_out, "out", names, 1, &offset, &taken));
  int shift = llrt_layout_out_shift(access, offset);
  int most = bits_min(bits_log2(limit), access->out[offset].bits);
  for (; n < most; n++) {
    uint64_t unit = 1ull << (shift + n);
    int users = 0;
    for (int i = 0; i < llrt_layout_in_bits(access); i++) users += (access->column[i] & unit) != 0;
    vector[n] = register_of(access, first, bits, unit);
    if (vector[n] < 0 || users > 1) break;
  }
  *count = 1ll << bits_min(n, 62);
  if (action) order_registers(vector, n, bits, action);
  return LLRT_OK;
}
