/* See dot_tile_value.h. */
#include "jit/probe/dot_tile_value.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/value.h"

dot_tile_matrix dot_tile_matrix_of(const plan_dot_tile *tile, int operand) {
  int n = tile->m, k = tile->m + tile->n;
  const dot_tile_matrix all[3] = {{TENSOR_A, tile->m, tile->k, 0, k},
                                  {TENSOR_B, tile->k, tile->n, k, n},
                                  {TENSOR_D, tile->m, tile->n, 0, n}};
  return all[operand];
}

static uint64_t reduced_of(const plan_dot_tile *tile, int operand) {
  dot_tile_matrix x = dot_tile_matrix_of(tile, operand);
  uint64_t own = bits_mask(x.rows) << x.row_bit | bits_mask(x.columns) << x.column_bit;
  return bits_mask(tile->m + tile->n + tile->k) & ~own;
}

static llrt_status add_dim(plan_value *value, const char *name, const uint64_t *tile, int n) {
  int first = llrt_layout_in_bits(&value->layout);
  LLRT_TRY(llrt_layout_add_in(&value->layout, name, n));
  for (int i = 0; i < n; i++) value->layout.column[first + i] = plan_value_bits_of(value, tile[i]);
  return LLRT_OK;
}

/* lists: register, lane, warp, iteration. */
static llrt_status make_value(const draft *d, uint64_t reduced, int bits, uint64_t lists[4][24],
                              const int n[4], plan_value *value) {
  static const char *const names[] = {"register", "lane", "warp", "iteration"};
  *value = (plan_value){.bits = (uint8_t)bits, .reduced = reduced};
  value->word = (uint8_t)bits_min(draft_word_of(d, bits), n[0]);
  value->layout = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(&value->layout, "tile",
                               d->kernel->space.in[0].bits - bits_count(reduced)));
  for (int i = 0; i < 4; i++) LLRT_TRY(add_dim(value, names[i], lists[i], n[i]));
  if (n[0] - value->word > PLAN_VALUE_BITS)
    return llrt_error(LLRT_UNSUPPORTED, "a thread would hold %d elements of a tile", 1 << n[0]);
  return LLRT_OK;
}

/* In memory's order: an access, lanes, warps, what is left; the highest `parts` bits of k are
 * counted by iterations. */
static llrt_status default_value(const draft *d, const plan_dot_tile *tile, int operand, int parts,
                                 int bits, plan_value *value) {
  const plan_kernel *kernel = d->kernel;
  dot_tile_matrix x = dot_tile_matrix_of(tile, operand);
  uint64_t order[48], lists[4][24] = {{0}};
  int n = 0, at = 0, counts[4] = {0, 0, 0, parts}, counted = tile->m + tile->n + tile->k - parts;
  for (int i = 0; i < x.columns; i++)
    if (x.column_bit + i < counted) order[n++] = 1ull << (x.column_bit + i);
  for (int i = 0; i < x.rows; i++)
    if (x.row_bit + i < counted) order[n++] = 1ull << (x.row_bit + i);
  for (int i = 0; i < parts; i++) lists[3][i] = 1ull << (counted + i);
  int vector = bits_max(bits_min(bits_log2(kernel->target.access_bytes * 8 / bits), n),
                        draft_word_of(d, bits));
  while (at < vector && at < n) lists[0][counts[0]++] = order[at++];
  for (int i = 0; i < kernel->lane_bits; i++) lists[1][counts[1]++] = at < n ? order[at++] : 0;
  for (int i = 0; i < kernel->warp_bits; i++) lists[2][counts[2]++] = at < n ? order[at++] : 0;
  while (at < n) lists[0][counts[0]++] = order[at++];
  return make_value(d, reduced_of(tile, operand), bits, lists, counts, value);
}

static llrt_status given_value(const draft *d, const plan_dot_tile *tile, int operand, int bits,
                               plan_value *value) {
  static const char *const names[] = {"register", "lane", "warp"};
  const llrt_layout *layout = tile->layout[operand];
  const int wanted[3] = {-1, d->kernel->lane_bits, d->kernel->warp_bits};
  dot_tile_matrix x = dot_tile_matrix_of(tile, operand);
  uint64_t lists[4][24] = {{0}};
  int counts[4] = {0, 0, 0, 0};
  LLRT_REQUIRE(layout->n_out == 2 && layout->out[0].bits == x.rows &&
                   layout->out[1].bits == x.columns,
               "a layout of another matrix");
  for (int i = 0; i < 3; i++) {
    int dim = llrt_layout_in_index(layout, names[i]);
    counts[i] = dim < 0 ? 0 : layout->in[dim].bits;
    if (i > 0 && counts[i] > wanted[i])
      return llrt_error(LLRT_UNSUPPORTED, "a layout of %d %ss", 1 << counts[i], names[i]);
    for (int j = 0; j < counts[i]; j++) {
      uint64_t flat = layout->column[llrt_layout_in_shift(layout, dim) + j];
      lists[i][j] = (flat & bits_mask(x.rows)) << x.row_bit | flat >> x.rows << x.column_bit;
    }
    while (counts[i] < wanted[i]) lists[i][counts[i]++] = 0;
  }
  LLRT_TRY(make_value(d, reduced_of(tile, operand), bits, lists, counts, value));
  LLRT_REQUIRE(llrt_layout_is_surjective(&value->layout),
               "a layout that leaves elements without a place");
  return LLRT_OK;
}

llrt_status dot_tile_value(const draft *d, const plan_dot_tile *tile, int operand, int parts,
                           llrt_dtype type, plan_value *value) {
  int bits = llrt_dtype_bits(type);
  return tile->layout[operand] ? given_value(d, tile, operand, bits, value)
                               : default_value(d, tile, operand, parts, bits, value);
}
