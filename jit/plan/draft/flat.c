/* The flat kernel (in place: on panels, see in_place.c): thread n takes element n of the
 * destination's order and finds its coordinates by division. Right for every shape, and the better
 * choice where a tile would be mostly outside. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/index_eval.h"

#include <stdio.h>

#define FLAT_HOST_BITS 10    /* log2 elements of a block on the host */
#define FLAT_REGISTER_BITS 2 /* GPU: log2 independent elements that a thread has in flight */

/* The digits' out-dims without a tile: column[t] is indexed by them. */
static llrt_status fill_digits(draft *d) {
  plan_kernel *kernel = d->kernel;
  char name[LLRT_NAME_BYTES];
  kernel->space = llrt_layout_empty();
  for (int i = 0; i < kernel->n_digits; i++) {
    plan_digit *digit = &kernel->digit[i];
    digit->bits = (uint8_t)d->bits[i];
    if (digit->rest) LLRT_TRY(draft_digit_count(d, i, digit->step, &digit->upper));
    snprintf(name, sizeof name, "d%d", i);
    LLRT_TRY(llrt_layout_add_out(&kernel->space, name, digit->bits));
    for (int t = 0; t < d->desc->n_tensors; t++)
      for (int b = 0; b < digit->bits; b++)
        kernel->column[t][d->first[i] + b] = d->column[t][d->first[i] + b];
  }
  LLRT_TRY(llrt_layout_add_in(&kernel->space, "tile", 0));
  return llrt_layout_add_in(&kernel->space, "grid", 0);
}

int draft_memory_order(const draft *d, int i, int t) {
  const plan_digit *digit = &d->kernel->digit[i];
  if (digit->side[t].kind == PLAN_STRIDE) return 64 + d->side[i][t].order;
  uint64_t first = d->bits[i] ? d->column[t][d->first[i]] : (uint64_t)digit->side[t].stride.value;
  return first ? bits_lowest(first) : 63;
}

/* Places of the digits in `which` in a tensor's order, fastest first. */
static llrt_status add_places(draft *d, int t, uint64_t which) {
  plan_kernel *kernel = d->kernel;
  for (int order = 0; order < 64 + LLRT_MAX_DIGITS; order++) {
    for (int i = 0; i < kernel->n_digits; i++) {
      bool walked = draft_is_walked(d, kernel->digit[i].axis);
      if (which >> i & 1 && draft_memory_order(d, i, t) == order && !walked)
        LLRT_TRY(draft_digit_place(d, i, kernel->digit[i].step));
    }
  }
  return LLRT_OK;
}

/* Splits the flat index in a tensor's order: digits inside a panel before all others, then the one
 * of which it has several positions, and the one that counts the tensors of a list behind all. */
static llrt_status fill_places(draft *d, int t) {
  uint64_t listed = 0;
  for (int i = 0; i < d->kernel->n_digits; i++) listed |= (uint64_t)draft_is_listed(d, i) << i;
  LLRT_TRY(add_places(d, t, d->inside));
  LLRT_TRY(add_places(d, t, d->beside));
  LLRT_TRY(add_places(d, t, ~(d->inside | d->beside | listed)));
  LLRT_TRY(add_places(d, t, listed));
  return draft_walk_places(d, false);
}

llrt_status draft_flat_digits(draft *d, int t) {
  LLRT_TRY(fill_digits(d));
  LLRT_TRY(draft_bounds(d));
  LLRT_TRY(fill_places(d, t));
  return draft_arg(d, (plan_arg){.kind = PLAN_ARG_POSITIONS, .factor = 1},
                   &d->kernel->flat_elements);
}

static llrt_status add_dim(llrt_layout *layout, const char *name, int bits, int *next,
                           bool copies) {
  int first = llrt_layout_in_bits(layout);
  LLRT_TRY(llrt_layout_add_in(layout, name, bits));
  for (int i = 0; i < bits && !copies; i++) layout->column[first + i] = 1ull << (*next)++;
  return LLRT_OK;
}

/* ---- vectors ---- */

/* Whether digit i, the fastest of the destination's, moves tensor t's address by 1, and its
 * positions are whole groups of 2^vector; whether bound and all else are multiples of that, is
 * asked below. */
static bool steps_by_one(const draft *d, int i, int t, int vector) {
  const plan_digit *digit = &d->kernel->digit[i];
  const plan_digit_side *side = &digit->side[t];
  for (int b = 0; b < bits_min(d->bits[i], vector); b++)
    if (side->kind != PLAN_COLUMNS || d->column[t][d->first[i] + b] != 1ull << b) return false;
  if (d->bits[i] >= vector) return true;
  return d->bits[i] == 0 && side->kind != PLAN_INDEXED && side->stride.arg < 0 &&
         side->stride.value == 1 && d->count[i] > 0 && d->count[i] % (1 << vector) == 0;
}

/* Whether what digit i adds to tensor t's address, but for the low bits of the fastest, is a
 * multiple of 2^vector. */
static bool steps_by_vectors(const draft *d, int i, int t, int vector, bool fastest) {
  const plan_digit *digit = &d->kernel->digit[i];
  const plan_digit_side *side = &digit->side[t];
  int align = d->side[i][t].align;
  if (side->kind == PLAN_INDEXED) return false;
  if (fastest && d->bits[i] == 0) return true;
  if (side->kind == PLAN_STRIDE) return align >= vector;
  for (int b = fastest ? vector : 0; b < d->bits[i]; b++)
    if (d->column[t][d->first[i] + b] & bits_mask(vector)) return false;
  return !digit->rest || align + d->bits[i] >= vector;
}

/* Whether a bound that digit i is under parts no group. */
static bool parts_no_vector(const draft *d, const plan_bound *bound, int i, int vector) {
  const plan_digit *digit = &d->kernel->digit[i];
  if (bound->axis < 0 ? bound->top != i : bound->axis != digit->axis) return true;
  int64_t step = bound->axis < 0 ? 1 : digit->step;
  return !bound->device && bound->limit.arg < 0 && bound->limit.value % (step << vector) == 0;
}

static bool is_flat_vector(const draft *d, int fastest, int vector) {
  const plan_kernel *kernel = d->kernel;
  for (int t = 0; t <= PLAN_DESTINATION; t++) {
    const llrt_swizzle *swizzle = &kernel->swizzle[t];
    if (d->address_align[t] < vector || kernel->origin[t] % (1 << vector) != 0) return false;
    if (swizzle->swizzle_len > 0 && swizzle->per_element < vector) return false;
    if (!steps_by_one(d, fastest, t, vector)) return false;
    for (int i = 0; i < kernel->n_digits; i++)
      if (!steps_by_vectors(d, i, t, vector, i == fastest)) return false;
  }
  for (int i = 0; i < kernel->n_bounds; i++)
    if (!parts_no_vector(d, &kernel->bound[i], fastest, vector)) return false;
  return true;
}

/* As wide as an access may be, of whole words; else single elements. */
void draft_flat_vector(draft *d) {
  const plan_kernel *kernel = d->kernel;
  int most = bits_log2(kernel->target.access_bytes) - draft_log2_bytes(d, 0);
  d->flat_vector = 0;
  if (kernel->target.simd_lanes || d->desc->in_place || d->divided || kernel->n_maps > 0 ||
      kernel->n_indices > 0 || kernel->n_terms > 0 || kernel->n_places == 0 ||
      kernel->place[0].digit < 0)
    return;
  for (int v = most; v > 0 && v >= draft_word_of(d, kernel->tensor_bits[0]) && d->flat_vector == 0;
       v--)
    if (is_flat_vector(d, kernel->place[0].digit, v)) d->flat_vector = v;
}

/* Whether bits from `from` on of a vector of tensor t are digit i's first positions, and how many
 * of them it has; 0: they are not. */
static int vector_part(const draft *d, int t, int i, int from, int vector) {
  const plan_digit *digit = &d->kernel->digit[i];
  const plan_digit_side *side = &digit->side[t];
  int left = vector - from;
  if (d->bits[i] == 0)
    return side->kind != PLAN_INDEXED && side->stride.arg < 0 &&
                   side->stride.value == (int64_t)1 << from && d->count[i] > 0 &&
                   d->count[i] % (1 << left) == 0
               ? left
               : 0;
  if (side->kind != PLAN_COLUMNS || digit->rest) return 0;
  for (int b = 0; b < bits_min(d->bits[i], left); b++)
    if (d->column[t][d->first[i] + b] != 1ull << (from + b)) return 0;
  for (int b = left; b < d->bits[i]; b++)
    if (d->column[t][d->first[i] + b] & bits_mask(vector)) return 0;
  return bits_min(d->bits[i], left);
}

/* Of stores bounds part none. */
static bool is_place_vector(const draft *d, int t, int vector) {
  const plan_kernel *kernel = d->kernel;
  uint64_t parts = 0;
  int from = 0;
  if (d->address_align[t] < vector || kernel->origin[t] % (1 << vector) != 0) return false;
  for (int k = 0; k < kernel->n_places && from < vector; k++) {
    int i = kernel->place[k].digit, part = i < 0 ? 0 : vector_part(d, t, i, from, vector);
    if (part == 0) return false;
    parts |= 1ull << i;
    from += part;
  }
  for (int i = 0; i < kernel->n_digits; i++) {
    if (!(parts >> i & 1) && !steps_by_vectors(d, i, t, vector, false)) return false;
    for (int j = 0; j < kernel->n_bounds && parts >> i & 1 && t == PLAN_DESTINATION; j++)
      if (kernel->bound[j].tensors >> t & 1 && !parts_no_vector(d, &kernel->bound[j], i, vector))
        return false;
  }
  return from == vector;
}

void draft_place_vector(draft *d, int t) {
  int most = bits_log2(d->kernel->target.access_bytes) - draft_log2_bytes(d, t);
  d->flat_vector = 0;
  for (int v = most; v > 0 && d->flat_vector == 0; v--)
    if (is_place_vector(d, t, v)) d->flat_vector = v;
}

/* ---- values ---- */

int draft_flat_pair(const draft *d) {
  bool shares = d->kernel->tensor_bits[1] < 8 && !d->kernel->stored_half;
  if (d->flat_vector > 0) return d->flat_vector;
  int panel = d->desc->in_place ? d->kernel->panel.vector : 0;
  return panel > 0 ? panel : bits_max(shares, d->word_elements);
}

/* log2 lanes among them: on the host words are lanes, each of which has the elements of a byte. */
static int word_lanes(const draft *d) {
  return d->kernel->target.simd_lanes
             ? bits_max(d->word_elements - (d->kernel->tensor_bits[1] < 8), 0)
             : 0;
}

static int register_bits(const draft *d) {
  bool one = d->kernel->target.simd_lanes || (d->desc->in_place && d->kernel->panel.vector > 0);
  return (one ? 0 : FLAT_REGISTER_BITS) + draft_flat_pair(d) - word_lanes(d);
}

/* GPU: lanes, then warps, then registers; host: one scalar element an iteration, or a word's in
 * lanes. Before these, the two elements of a byte, or a vector of them. */
llrt_status draft_flat_value(const draft *d, int tile_bits, plan_value *value, int *iterations) {
  const plan_kernel *kernel = d->kernel;
  llrt_layout *layout = &value->layout;
  bool host = kernel->target.simd_lanes;
  int lanes = host ? word_lanes(d) : kernel->lane_bits, pair = draft_flat_pair(d) - word_lanes(d),
      registers = register_bits(d);
  int next = 0, upper = pair + lanes + kernel->warp_bits;
  *value = (plan_value){.bits = kernel->tensor_bits[0]};
  value->word = (uint8_t)bits_min(pair, draft_word_of(d, value->bits));
  *layout = llrt_layout_empty();
  *iterations = tile_bits - lanes - kernel->warp_bits - registers;
  LLRT_TRY(llrt_layout_add_out(layout, "tile", tile_bits));
  LLRT_TRY(add_dim(layout, "register", registers, &next, false));
  for (int i = pair; i < registers; i++) layout->column[i] = 1ull << (upper + i - pair);
  next = pair;
  LLRT_TRY(add_dim(layout, "lane", kernel->lane_bits, &next, host));
  for (int i = 0; i < lanes && host; i++) layout->column[registers + i] = 1ull << next++;
  LLRT_TRY(add_dim(layout, "warp", kernel->warp_bits, &next, false));
  next = upper + registers - pair;
  return add_dim(layout, "iteration", *iterations, &next, false);
}

int draft_flat_tile(const draft *d) {
  const plan_kernel *kernel = d->kernel;
  if (kernel->target.simd_lanes) return FLAT_HOST_BITS;
  return register_bits(d) + kernel->lane_bits + kernel->warp_bits;
}
