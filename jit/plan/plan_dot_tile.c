/* See plan_dot_tile.h. */
#include "jit/plan/plan_dot_tile.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/cycles.h"
#include "jit/plan/dot_layout.h"
#include "jit/plan/draft.h"

#include <string.h>

enum { TENSOR_A = 0, TENSOR_D = 1, TENSOR_B = 2 };

/* Extents of an operand of A, B, D: bits along its rows and columns, and the kernel's tile bits of both. The tile
 * has m's bits lowest, then n's, then k's. */
typedef struct matrix {
  int tensor, rows, columns, row_bit, column_bit;
} matrix;

static matrix matrix_of(const plan_dot_tile *tile, int operand) {
  int n = tile->m, k = tile->m + tile->n;
  const matrix all[3] = {{TENSOR_A, tile->m, tile->k, 0, k}, {TENSOR_B, tile->k, tile->n, k, n},
                         {TENSOR_D, tile->m, tile->n, 0, n}};
  return all[operand];
}

int plan_dot_tile_bits(const plan_dot_tile *tile) {
  return tile->m + tile->n + tile->k - bits_min(tile->m, bits_min(tile->n, tile->k));
}

static uint64_t reduced_of(const plan_dot_tile *tile, int operand) {
  matrix x = matrix_of(tile, operand);
  uint64_t own = bits_mask(x.rows) << x.row_bit | bits_mask(x.columns) << x.column_bit;
  return bits_mask(tile->m + tile->n + tile->k) & ~own;
}

/* ---- space ---- */

static llrt_status fill_space(draft *d, const plan_dot_tile *tile) {
  plan_kernel *kernel = d->kernel;
  int bits = tile->m + tile->n + tile->k, size = plan_dot_tile_bits(tile);
  plan_digit *digit = &kernel->digit[0];
  *digit = (plan_digit){.bits = (uint8_t)bits, .rest = true, .step = 1};
  kernel->n_digits = 1;
  d->count[0] = d->shape[0].known = d->written[0].known = -1;
  for (int t = 0; t < kernel->n_tensors; t++) {
    plan_number address;
    LLRT_TRY(draft_arg(d, (plan_arg){.kind = PLAN_ARG_ADDRESS, .tensor = (uint8_t)t}, &address));
    digit->side[t].stride = (plan_number){.arg = -1, .value = (int64_t)1 << size};
  }
  for (int o = 0; o < 3; o++) {
    matrix x = matrix_of(tile, o);
    for (int i = 0; i < x.columns; i++) kernel->column[x.tensor][x.column_bit + i] = 1ull << i;
    for (int i = 0; i < x.rows; i++) kernel->column[x.tensor][x.row_bit + i] = 1ull << (x.columns + i);
  }
  LLRT_TRY(draft_digit_count(d, 0, (int64_t)1 << size, &digit->upper));
  kernel->space = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(&kernel->space, "d0", bits));
  LLRT_TRY(llrt_layout_add_in(&kernel->space, "tile", bits));
  LLRT_TRY(llrt_layout_add_in(&kernel->space, "grid", 0));
  for (int i = 0; i < bits; i++) kernel->space.column[i] = 1ull << i;
  return draft_digit_place(d, 0, (int64_t)1 << size);
}

/* ---- values as memory or the caller has them ---- */

static llrt_status add_dim(plan_value *value, const char *name, const uint64_t *tile, int n) {
  int first = llrt_layout_in_bits(&value->layout);
  LLRT_TRY(llrt_layout_add_in(&value->layout, name, n));
  for (int i = 0; i < n; i++) value->layout.column[first + i] = plan_value_bits_of(value, tile[i]);
  return LLRT_OK;
}

/* lists: register, lane, warp. */
static llrt_status make_value(const draft *d, uint64_t reduced, int bits, uint64_t lists[3][24], const int n[3],
                              plan_value *value) {
  static const char *const names[] = {"register", "lane", "warp"};
  *value = (plan_value){.bits = (uint8_t)bits, .reduced = reduced};
  value->word = (uint8_t)bits_min(draft_word_of(d, bits), n[0]);
  if (d->kernel->target.lanes_first && bits >= 8) value->word = 0;
  value->layout = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(&value->layout, "tile", d->kernel->space.in[0].bits - bits_count(reduced)));
  for (int i = 0; i < 3; i++) LLRT_TRY(add_dim(value, names[i], lists[i], n[i]));
  if (n[0] - value->word > 8)
    return llrt_error(LLRT_UNSUPPORTED, "a thread would hold %d elements of a tile", 1 << n[0]);
  return add_dim(value, "iteration", lists[0], 0);
}

/* In memory's order: an access, lanes, warps, what is left. */
static llrt_status default_value(const draft *d, const plan_dot_tile *tile, int operand, int bits, plan_value *value) {
  const plan_kernel *kernel = d->kernel;
  matrix x = matrix_of(tile, operand);
  bool host = kernel->target.lanes_first;
  uint64_t order[48], lists[3][24] = {{0}};
  int n = 0, at = 0, counts[3] = {0, 0, 0};
  for (int i = 0; i < x.columns; i++) order[n++] = 1ull << (x.column_bit + i);
  for (int i = 0; i < x.rows; i++) order[n++] = 1ull << (x.row_bit + i);
  int vector = host ? 0 : bits_min(bits_log2(kernel->target.access_bytes * 8 / bits), n);
  vector = bits_max(vector, draft_word_of(d, bits) * !host);
  while (at < vector && at < n) lists[0][counts[0]++] = order[at++];
  for (int i = 0; i < kernel->lane_bits; i++) lists[1][counts[1]++] = at < n ? order[at++] : 0;
  for (int i = 0; i < kernel->warp_bits; i++) lists[2][counts[2]++] = at < n ? order[at++] : 0;
  while (at < n) lists[0][counts[0]++] = order[at++];
  return make_value(d, reduced_of(tile, operand), bits, lists, counts, value);
}

static llrt_status given_value(const draft *d, const plan_dot_tile *tile, int operand, int bits, plan_value *value) {
  static const char *const names[] = {"register", "lane", "warp"};
  const llrt_layout *layout = tile->layout[operand];
  const int wanted[3] = {-1, d->kernel->lane_bits, d->kernel->warp_bits};
  matrix x = matrix_of(tile, operand);
  uint64_t lists[3][24] = {{0}};
  int counts[3] = {0, 0, 0};
  if (d->kernel->target.lanes_first) return llrt_error(LLRT_UNSUPPORTED, "layouts of lanes on the host");
  LLRT_REQUIRE(layout->n_out == 2 && layout->out[0].bits == x.rows && layout->out[1].bits == x.columns,
               "a layout of another matrix");
  for (int i = 0; i < 3; i++) {
    int dim = llrt_layout_in_index(layout, names[i]);
    counts[i] = dim < 0 ? 0 : layout->in[dim].bits;
    if (i > 0 && counts[i] > wanted[i]) return llrt_error(LLRT_UNSUPPORTED, "a layout of %d %ss", 1 << counts[i], names[i]);
    for (int j = 0; j < counts[i]; j++) {
      uint64_t flat = layout->column[llrt_layout_in_shift(layout, dim) + j];
      lists[i][j] = (flat & bits_mask(x.rows)) << x.row_bit | flat >> x.rows << x.column_bit;
    }
    while (counts[i] < wanted[i]) lists[i][counts[i]++] = 0;
  }
  LLRT_TRY(make_value(d, reduced_of(tile, operand), bits, lists, counts, value));
  LLRT_REQUIRE(llrt_layout_is_surjective(&value->layout), "a layout that leaves elements without a place");
  return LLRT_OK;
}

static llrt_status outer_value(const draft *d, const plan_dot_tile *tile, int operand, llrt_dtype type,
                               plan_value *value) {
  int bits = llrt_dtype_bits(type);
  return tile->layout[operand] ? given_value(d, tile, operand, bits, value)
                               : default_value(d, tile, operand, bits, value);
}

/* ---- steps ---- */

/* log2 elements of an access. */
static int access_vector(const plan_kernel *kernel, int tensor, const plan_value *value) {
  plan_value spread;
  plan_address_map map;
  int positions[LLRT_MAX_BITS];
  plan_value_spread(kernel, value, &spread);
  plan_address_of_tensor(kernel, tensor, &map);
  plan_dim dim = kernel->target.lanes_first ? PLAN_LANE : PLAN_REGISTER;
  for (int vector = bits_log2(kernel->target.access_bytes * 8 / value->bits); vector > 0; vector--) {
    uint64_t own = 0;
    bool fits = plan_access_positions(&spread, &map, dim, vector, positions);
    for (int j = 0; fits && j < vector && dim == PLAN_REGISTER; j++) {
      own |= 1ull << positions[j];
      fits &= (j >= value->word && positions[j] >= value->word) || positions[j] == j;
    }
    for (int i = 0; fits && dim == PLAN_REGISTER && i < llrt_layout_in_bits(&spread.layout); i++)
      fits &= own >> i & 1 || (f2_apply(map.column, spread.layout.column[i]) & bits_mask(vector)) == 0;
    if (fits) return vector;
  }
  return 0;
}

static llrt_status cast(draft *d, llrt_dtype from, llrt_dtype to, int *value) {
  plan_kernel *kernel = d->kernel;
  if (from == to) return LLRT_OK;
  kernel->map[kernel->n_maps] = (plan_map){.kind = PLAN_MAP_CAST, .from = (uint8_t)from, .to = (uint8_t)to};
  return draft_map_steps(d, kernel->n_maps++, 1, false, value);
}

/* Casts on the side of the exchange on which elements are narrower. */
static llrt_status move_value(draft *d, llrt_dtype from, llrt_dtype to, const plan_value *target, int *value) {
  bool early = llrt_dtype_bits(to) <= llrt_dtype_bits(from);
  plan_value moved = draft_retyped(d, target, llrt_dtype_bits(early ? to : from));
  if (d->kernel->target.lanes_first && moved.bits >= 8) moved.word = 0;
  if (early) LLRT_TRY(cast(d, from, to, value));
  LLRT_TRY(draft_exchange(d, *value, &moved, value));
  return early ? LLRT_OK : cast(d, from, to, value);
}

static llrt_status load_operand(draft *d, const plan_dot_tile *tile, int operand, llrt_dtype type, llrt_dtype product,
                                const plan_value *target, int *value) {
  plan_kernel *kernel = d->kernel;
  plan_value loaded;
  int tensor = matrix_of(tile, operand).tensor;
  LLRT_TRY(outer_value(d, tile, operand, type, &loaded));
  LLRT_TRY(draft_value(kernel, &loaded, value));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOAD, .tensor = (uint8_t)tensor, .out = (uint8_t)*value,
                                          .vector = (uint8_t)access_vector(kernel, tensor, &loaded)}));
  return move_value(d, type, product, target, value);
}

static llrt_status dot_steps(draft *d, const plan_dot_tile *tile, const dot_layouts *how) {
  plan_kernel *kernel = d->kernel;
  plan_value stored;
  int a, b, zero, sum;
  LLRT_TRY(load_operand(d, tile, 0, tile->a, tile->product_a, &how->a, &a));
  LLRT_TRY(load_operand(d, tile, 1, tile->b, tile->product_b, &how->b, &b));
  LLRT_TRY(draft_value(kernel, &how->acc, &zero));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_FILL, .combiner = LLRT_COMBINE_SUM, .type = (uint8_t)tile->sum,
                                          .exclusive = true, .out = (uint8_t)zero}));
  LLRT_TRY(draft_value(kernel, &how->acc, &sum));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_DOT, .in = (uint8_t)(how->how.swapped ? b : a),
                                          .second = (uint8_t)(how->how.swapped ? a : b), .with = (uint8_t)zero,
                                          .out = (uint8_t)sum, .instruction = (uint8_t)how->how.instruction}));
  LLRT_TRY(outer_value(d, tile, 2, tile->d, &stored));
  LLRT_TRY(move_value(d, tile->sum, tile->d, &stored, &sum));
  return draft_step(kernel, (plan_step){.kind = PLAN_STORE, .tensor = TENSOR_D, .in = (uint8_t)sum,
                                        .vector = (uint8_t)access_vector(kernel, TENSOR_D, &kernel->value[sum])});
}

/* ---- the whole ---- */

static void begin(draft *d, const plan_dot_tile *tile, const plan_target *target, plan_kernel *out) {
  const llrt_dtype types[] = {tile->a, tile->d, tile->b};
  int narrowest = llrt_dtype_bits(tile->sum);
  memset(out, 0, sizeof *out);
  memset(d, 0, sizeof *d);
  d->kernel = out;
  out->target = *target;
  out->n_tensors = 3;
  for (int t = 0; t < 3; t++) {
    out->tensor_bits[t] = (uint8_t)llrt_dtype_bits(types[t]);
    narrowest = bits_max(bits_min(narrowest, out->tensor_bits[t]), 8);
  }
  out->lane_bits = target->lanes_first ? bits_log2(target->vector_bytes * 8 / narrowest) : target->lane_bits;
  out->warp_bits = target->lanes_first ? 0 : tile->warps;
}

static llrt_status plan_way(const plan_dot_tile *tile, const plan_target *target, const plan_options *options,
                            const dot_layouts *how, plan_kernel *out) {
  draft d;
  begin(&d, tile, target, out);
  d.options = options;
  LLRT_TRY(fill_space(&d, tile));
  LLRT_TRY(dot_steps(&d, tile, how));
  draft_finish(out);
  return LLRT_OK;
}

static dot_space space_of(const plan_dot_tile *tile) {
  dot_space space = {.n = {tile->m, tile->n, tile->k}, .a = tile->product_a, .b = tile->product_b,
                     .acc = tile->sum, .tf32 = tile->tf32};
  const int first[3] = {0, tile->m, tile->m + tile->n};
  for (int dim = 0; dim < 3; dim++)
    for (int i = 0; i < space.n[dim]; i++) space.bit[dim][i] = (uint8_t)(first[dim] + i);
  return space;
}

/* Clocks of the block: products, and everything else beside them. */
static double clocks_of(const plan_kernel *kernel) {
  plan_cycles cycles;
  plan_cycles_of(&kernel->target, &kernel->cost, 1 << kernel->warp_bits, &cycles);
  return cycles.total + kernel->cost.product_clocks * (1 << kernel->warp_bits);
}

#define MAX_REGISTERS 8 /* log2 words of a value */
#define MAX_WAYS 16

llrt_status plan_dot_tile_make(const plan_dot_tile *tile, const plan_target *target, const plan_options *options,
                               plan_kernel *out) {
  dot_layouts ways[MAX_WAYS];
  dot_space space = space_of(tile);
  draft d;
  double best = -1;
  int chosen = -1;
  begin(&d, tile, target, out);
  if (out->warp_bits > target->warp_bits) return llrt_error(LLRT_UNSUPPORTED, "%d warps", 1 << out->warp_bits);
  LLRT_TRY(fill_space(&d, tile));
  int n = dot_layouts_list(out, &space, MAX_REGISTERS, ways, MAX_WAYS);
  llrt_status refused = LLRT_OK;
  if (tile->choice > 0) chosen = tile->choice <= n ? tile->choice - 1 : -1;
  for (int i = 0; i < n && tile->choice == 0; i++) {
    llrt_status status = plan_way(tile, target, options, &ways[i], out);
    if (status != LLRT_OK) refused = status;
    if (status != LLRT_OK || (chosen >= 0 && clocks_of(out) >= best)) continue;
    chosen = i;
    best = clocks_of(out);
  }
  if (chosen < 0 && refused != LLRT_OK) return refused;
  if (chosen < 0) return llrt_error(LLRT_UNSUPPORTED, "no way of this dot fits the threads of a block");
  LLRT_TRY(plan_way(tile, target, options, &ways[chosen], out));
  return plan_verify(out);
}
