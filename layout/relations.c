/* Predicates on parts of a layout, and masks of its matrix. */
#include "base/bits.h"
#include "base/status.h"
#include "layout/check.h"

/* The bits of the out word that a set of out-dims takes. */
static uint64_t outs_mask(const llrt_layout *a, uint32_t set) {
  uint64_t mask = 0;
  for (; set; set &= set - 1) {
    int index = bits_lowest(set), bits = a->out[index].bits;
    if (bits) mask |= bits_mask(bits) << llrt_layout_out_shift(a, index);
  }
  return mask;
}

static uint64_t low_mask(int bits, int shift) { return bits ? bits_mask(bits) << shift : 0; }

/* A set of dims that a layout has on both sides with equal sizes. */
typedef struct square {
  int n, in[LLRT_MAX_IN_DIMS], out[LLRT_MAX_OUT_DIMS];
  uint32_t ins, outs;
} square;

static bool find_square(const llrt_layout *a, const char *const *names, int n, square *dims) {
  if (!llrt_layout_is_valid(a) || n < 0 || (n > 0 && !names)) return false;
  *dims = (square){.n = n};
  if (n > LLRT_MAX_IN_DIMS) return false;
  for (int i = 0; i < n; i++) {
    dims->in[i] = llrt_layout_in_index(a, names[i]);
    dims->out[i] = llrt_layout_out_index(a, names[i]);
    if (dims->in[i] < 0 || dims->out[i] < 0) return false;
    if (a->in[dims->in[i]].bits != a->out[dims->out[i]].bits) return false;
    dims->ins |= 1u << dims->in[i];
    dims->outs |= 1u << dims->out[i];
  }
  return true;
}

/* The columns of the named in-dims, masked to `seen`, are units of the out-dims of the same
 * names. */
static bool columns_are_units(const llrt_layout *a, const square *dims, uint64_t seen) {
  for (int i = 0; i < dims->n; i++) {
    int first = llrt_layout_in_shift(a, dims->in[i]), to = llrt_layout_out_shift(a, dims->out[i]);
    for (int k = 0; k < a->in[dims->in[i]].bits; k++)
      if ((a->column[first + k] & seen) != 1ull << (to + k)) return false;
  }
  return true;
}

/* No column of an in-dim outside the set has a bit of `mask`. */
static bool others_avoid(const llrt_layout *a, uint32_t ins, uint64_t mask) {
  for (int i = 0, at = 0; i < a->n_in; at += a->in[i++].bits)
    for (int k = 0; !(ins >> i & 1) && k < a->in[i].bits; k++)
      if (a->column[at + k] & mask) return false;
  return true;
}

bool llrt_layout_is_identity_over(const llrt_layout *a, const char *const *names, int n) {
  square dims;
  return find_square(a, names, n, &dims) && columns_are_units(a, &dims, outs_mask(a, dims.outs));
}

bool llrt_layout_is_trivial_over(const llrt_layout *a, const char *const *names, int n) {
  square dims;
  return find_square(a, names, n, &dims) && columns_are_units(a, &dims, ~0ull) &&
         others_avoid(a, dims.ins, outs_mask(a, dims.outs));
}

bool llrt_layout_is_identity_on_out(const llrt_layout *a, const char *name) {
  square dims;
  return name && find_square(a, &name, 1, &dims) &&
         columns_are_units(a, &dims, outs_mask(a, dims.outs)) &&
         others_avoid(a, dims.ins, outs_mask(a, dims.outs));
}

/* ---- masks ---- */

/* *mask = the bits of the out word that outs[n] take. */
static llrt_status find_outs(const llrt_layout *a, const char *const *outs, int n, uint64_t *mask) {
  int index[LLRT_MAX_OUT_DIMS];
  uint32_t set;
  LLRT_TRY(layout_find_dims(a->out, a->n_out, "out", outs, n, index, &set));
  *mask = outs_mask(a, set);
  return LLRT_OK;
}

/* OR of the columns of ins[n]. */
static llrt_status columns_of(const llrt_layout *a, const char *const *ins, int n, uint64_t *all) {
  int index[LLRT_MAX_IN_DIMS];
  uint32_t set;
  LLRT_TRY(layout_find_dims(a->in, a->n_in, "in", ins, n, index, &set));
  *all = 0;
  for (int i = 0; i < n; i++) {
    int first = llrt_layout_in_shift(a, index[i]);
    for (int k = 0; k < a->in[index[i]].bits; k++) *all |= a->column[first + k];
  }
  return LLRT_OK;
}

static llrt_status sublayout_bits(const llrt_layout *a, const char *const *ins, int n_ins,
                                  const char *const *outs, int n_outs, uint64_t *bits) {
  uint64_t mask;
  LLRT_TRY(layout_check(a, "a"));
  LLRT_TRY(find_outs(a, outs, n_outs, &mask));
  LLRT_TRY(columns_of(a, ins, n_ins, bits));
  *bits &= mask;
  return LLRT_OK;
}

bool llrt_layout_sublayout_is_zero(const llrt_layout *a, const char *const *ins, int n_ins,
                                   const char *const *outs, int n_outs) {
  uint64_t bits;
  return sublayout_bits(a, ins, n_ins, outs, n_outs, &bits) == LLRT_OK && bits == 0;
}

llrt_status llrt_layout_input_mask(const llrt_layout *a, const char *in, const char *const *outs,
                                   int n, uint64_t *mask) {
  LLRT_ENTRY();
  LLRT_REQUIRE(mask, "mask: NULL");
  *mask = 0;
  LLRT_TRY(layout_check(a, "a"));
  uint64_t seen;
  LLRT_TRY(find_outs(a, outs, n, &seen));
  int index;
  uint32_t set;
  LLRT_TRY(layout_find_dims(a->in, a->n_in, "in", &in, 1, &index, &set));
  int first = llrt_layout_in_shift(a, index);
  for (int k = 0; k < a->in[index].bits; k++)
    if (a->column[first + k] & seen) *mask |= 1ull << k;
  return LLRT_OK;
}

llrt_status llrt_layout_output_mask(const llrt_layout *a, const char *const *ins, int n,
                                    const char *out_name, uint64_t *mask) {
  LLRT_ENTRY();
  LLRT_REQUIRE(mask, "mask: NULL");
  *mask = 0;
  uint64_t bits;
  LLRT_TRY(sublayout_bits(a, ins, n, &out_name, 1, &bits));
  int index = llrt_layout_out_index(a, out_name), shift = llrt_layout_out_shift(a, index);
  *mask = a->out[index].bits ? (bits & low_mask(a->out[index].bits, shift)) >> shift : 0;
  return LLRT_OK;
}
