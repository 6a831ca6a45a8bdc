/* The families: what they share, blocked, slice and dot. Matrix instructions and memories have
 * files of their own. Source: Triton's linear layout conversions; every rule is checked against
 * recorded results in tests/layout. */
#include "layout/families.h"

#include "base/bits.h"
#include "base/status.h"
#include "layout/check.h"
#include "layout/family_rules.h"

/* One position along every axis. */
static const int64_t ones[LLRT_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};

/* ---- checking parameters ---- */

llrt_status family_check_sizes(const char *what, const family_list *list, int rank) {
  LLRT_REQUIRE(list->n == rank, "%s has %d entries, not %d", what, list->n, rank);
  for (int i = 0; i < rank; i++)
    LLRT_REQUIRE(bits_is_power_of_two(list->value[i]), "%s: %lld is no power of two", what,
                 (long long)list->value[i]);
  return LLRT_OK;
}

llrt_status family_check_order(const char *what, const family_list *list, int rank) {
  LLRT_REQUIRE(list->n == rank, "%s has %d entries, not %d", what, list->n, rank);
  uint32_t seen = 0;
  for (int i = 0; i < rank; i++) {
    int64_t axis = list->value[i];
    LLRT_REQUIRE(axis >= 0 && axis < rank && !(seen >> axis & 1),
                 "%s does not list every axis once", what);
    seen |= 1u << axis;
  }
  return LLRT_OK;
}

llrt_status family_check_power(const char *what, int64_t value) {
  LLRT_REQUIRE(bits_is_power_of_two(value) && value <= 1ll << 32,
               "%s %lld is no power of two up to 2^32", what, (long long)value);
  return LLRT_OK;
}

/* ---- what families are made of ---- */

void family_matrix_order(int rank, bool column_major, int64_t *order) {
  for (int i = 0; i < rank; i++) order[i] = rank - 1 - i;
  if (column_major && rank >= 2) {
    order[0] = rank - 2;
    order[1] = rank - 1;
  }
}

llrt_status family_start(const char *in, int rank, const int64_t *order, llrt_layout *out) {
  return fit_spread(in, rank, ones, order, FIT_NO_AXIS, out);
}

llrt_status family_cluster(const family *self, int rank, int whole, llrt_layout *out) {
  int64_t order[LLRT_MAX_RANK];
  family_matrix_order(rank, false, order);
  bool given = self->ctas_per_cga.n || self->cta_split.n || self->cta_order.n;
  if (!given) return family_start("block", rank, order, out);
  LLRT_TRY(family_check_sizes("ctas_per_cga", &self->ctas_per_cga, rank));
  LLRT_TRY(family_check_sizes("cta_split", &self->cta_split, rank));
  LLRT_TRY(family_check_order("cta_order", &self->cta_order, rank));
  LLRT_TRY(family_start("block", rank, self->cta_order.value, out));
  for (int i = 0; i < rank; i++) {
    int axis = (int)self->cta_order.value[i];
    int64_t blocks = self->ctas_per_cga.value[axis], split = self->cta_split.value[axis];
    LLRT_REQUIRE(split <= blocks, "cta_split of axis %d is more than its blocks", axis);
    if (axis == whole) split = 1;
    LLRT_TRY(fit_extend(out, split, "block", axis));
    LLRT_TRY(fit_repeat(out, blocks / split, "block", axis));
  }
  return LLRT_OK;
}

llrt_status family_finish_warps(const family *self, int rank, const int64_t *shape,
                                const int64_t *warp_order, int k, const llrt_layout *block,
                                llrt_layout *out) {
  llrt_layout warps, cga;
  LLRT_TRY(fit_spread("warp", rank, self->warps_per_cta.value, warp_order, k, &warps));
  LLRT_TRY(llrt_layout_product(block, &warps, &warps));
  LLRT_TRY(family_cluster(self, rank, k, &cga));
  return fit_to_shape(&warps, &cga, rank, shape, out);
}

/* ---- blocked ---- */

static llrt_status check_blocked(const family *self, int rank) {
  LLRT_TRY(family_check_sizes("size_per_thread", &self->size_per_thread, rank));
  LLRT_TRY(family_check_sizes("threads_per_warp", &self->threads_per_warp, rank));
  LLRT_TRY(family_check_sizes("warps_per_cta", &self->warps_per_cta, rank));
  return family_check_order("order", &self->order, rank);
}

/* registers * lanes. As a dot operand, a thread holds all of axis k, and lanes and warps
 * along it hold copies; k is FIT_NO_AXIS otherwise. */
static llrt_status blocked_block(const family *self, int rank, const int64_t *shape, int k,
                                 llrt_layout *out) {
  int64_t sizes[LLRT_MAX_RANK];
  for (int i = 0; i < rank; i++) sizes[i] = i == k ? shape[i] : self->size_per_thread.value[i];
  const int64_t *order = self->order.value;
  llrt_layout part;
  LLRT_TRY(fit_spread("register", rank, sizes, order, FIT_NO_AXIS, out));
  LLRT_TRY(fit_spread("lane", rank, self->threads_per_warp.value, order, k, &part));
  return llrt_layout_product(out, &part, out);
}

static llrt_status apply_blocked(const family *self, int rank, const int64_t *shape, int k,
                                 llrt_layout *out) {
  llrt_layout block;
  LLRT_TRY(check_blocked(self, rank));
  LLRT_TRY(blocked_block(self, rank, shape, k, &block));
  return family_finish_warps(self, rank, shape, self->order.value, k, &block, out);
}

/* ---- dot operands and slices ---- */

static llrt_status apply_dot(const family *self, int rank, const int64_t *shape, llrt_layout *out) {
  LLRT_REQUIRE(self->operand == 0 || self->operand == 1, "operand %lld is neither 0 nor 1",
               (long long)self->operand);
  LLRT_REQUIRE(rank >= 2, "dot needs rank 2 or more, not %d", rank);
  switch (self->parent->kind) {
  case FAMILY_BLOCKED:
    return apply_blocked(self->parent, rank, shape, family_k_axis(self, rank), out);
  case FAMILY_NVMMA: return family_dot_nvmma(self, rank, shape, out);
  case FAMILY_MFMA: return family_dot_mfma(self, rank, shape, out);
  case FAMILY_WMMA: return family_dot_wmma(self, rank, shape, out);
  default: return llrt_error(LLRT_UNSUPPORTED, "the parent of dot is blocked, nvmma, mfma or wmma");
  }
}

/* Drops out-dim dim<axis>, which has size 1 or loses its bits, and renames those above it. */
static llrt_status drop_axis(llrt_layout *self, int rank, int axis) {
  char names[LLRT_MAX_RANK][LLRT_NAME_BYTES];
  const char *ins[LLRT_MAX_IN_DIMS], *outs[LLRT_MAX_RANK];
  llrt_layout parent = *self;
  for (int i = 0; i < parent.n_in; i++) ins[i] = parent.in[i].name;
  for (int i = 0, n = 0; i < rank; i++) {
    layout_axis_name(i, names[i]);
    if (i != axis) outs[n++] = names[i];
  }
  LLRT_TRY(llrt_layout_sublayout(&parent, ins, parent.n_in, outs, rank - 1, self));
  for (int i = 0; i < self->n_out; i++) layout_axis_name(i, self->out[i].name);
  return LLRT_OK;
}

/* Takes the zero columns out of the first in-dim. */
static void drop_zero_registers(llrt_layout *self) {
  int bits = llrt_layout_in_bits(self), registers = self->in[0].bits, kept = 0;
  for (int i = 0; i < bits; i++)
    if (i >= registers || self->column[i] != 0) self->column[kept++] = self->column[i];
  self->in[0].bits = (uint8_t)(registers - (bits - kept));
  memset(self->column + kept, 0, (size_t)(bits - kept) * sizeof self->column[0]);
}

static llrt_status apply_slice(const family *self, int rank, const int64_t *shape,
                               llrt_layout *out) {
  LLRT_REQUIRE(rank < LLRT_MAX_RANK, "slice: its parent has more than %d axes", LLRT_MAX_RANK);
  LLRT_REQUIRE(self->dim >= 0 && self->dim <= rank,
               "slice: there is no dim %lld in a parent of rank %d", (long long)self->dim,
               rank + 1);
  int64_t parent_shape[LLRT_MAX_RANK];
  for (int i = 0; i <= rank; i++)
    parent_shape[i] = i == self->dim ? 1 : shape[i < self->dim ? i : i - 1];
  LLRT_TRY(family_apply(self->parent, rank + 1, parent_shape, out));
  LLRT_REQUIRE(strcmp(out->in[0].name, "register") == 0, "slice: its parent holds no registers");
  LLRT_TRY(drop_axis(out, rank + 1, (int)self->dim));
  drop_zero_registers(out);
  return LLRT_OK;
}

/* ---- all of them ---- */

llrt_status family_apply(const family *self, int rank, const int64_t *shape, llrt_layout *out) {
  LLRT_REQUIRE(rank >= 1 && rank <= LLRT_MAX_RANK && shape, "a layout family needs a shape");
  for (int i = 0; i < rank; i++)
    LLRT_REQUIRE(bits_is_power_of_two(shape[i]), "axis %d has %lld positions, no power of two", i,
                 (long long)shape[i]);
  switch (self->kind) {
  case FAMILY_BLOCKED: return apply_blocked(self, rank, shape, FIT_NO_AXIS, out);
  case FAMILY_NVMMA: return family_nvmma(self, rank, shape, out);
  case FAMILY_MFMA: return family_mfma(self, rank, shape, out);
  case FAMILY_WMMA: return family_wmma(self, rank, shape, out);
  case FAMILY_SLICE: return apply_slice(self, rank, shape, out);
  case FAMILY_DOT: return apply_dot(self, rank, shape, out);
  case FAMILY_SWIZZLED_SHARED:
  case FAMILY_ROTATING_SHARED: return family_swizzled(self, rank, shape, out);
  case FAMILY_NVMMA_SHARED: return family_nvmma_shared(self, rank, shape, out);
  case FAMILY_TENSOR_MEMORY: return family_tensor_memory(self, rank, shape, out);
  case FAMILY_TENSOR_MEMORY_SCALES: return family_tensor_memory_scales(self, rank, shape, out);
  }
  return llrt_error(LLRT_INTERNAL, "family %d", (int)self->kind);
}
