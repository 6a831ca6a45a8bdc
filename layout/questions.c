/* What can be asked of a layout, and evaluating it. */
#include "base/bits.h"
#include "base/hash.h"
#include "base/status.h"
#include "layout/check.h"
#include "layout/f2.h"

/* Counts are clamped and sums bounded so that the questions below are safe on malformed layouts
 * too. */
static int in_dims(const llrt_layout *layout) {
  return layout ? bits_min(layout->n_in, LLRT_MAX_IN_DIMS) : 0;
}

static int out_dims(const llrt_layout *layout) {
  return layout ? bits_min(layout->n_out, LLRT_MAX_OUT_DIMS) : 0;
}

/* The sum of the first `count` dims' bits. */
static int dims_bits(const llrt_dim *dim, int count) {
  int bits = 0;
  for (int i = 0; i < count; i++) bits += dim[i].bits;
  return bits_min(bits, LLRT_MAX_BITS);
}

static int dims_index(const llrt_dim *dim, int count, const char *name) {
  for (int i = 0; name && i < count; i++)
    if (strncmp(dim[i].name, name, LLRT_NAME_BYTES) == 0) return i;
  return -1;
}

int llrt_layout_in_bits(const llrt_layout *layout) {
  return layout ? dims_bits(layout->in, in_dims(layout)) : 0;
}

int llrt_layout_out_bits(const llrt_layout *layout) {
  return layout ? dims_bits(layout->out, out_dims(layout)) : 0;
}

int llrt_layout_in_index(const llrt_layout *layout, const char *name) {
  return layout ? dims_index(layout->in, in_dims(layout), name) : -1;
}

int llrt_layout_out_index(const llrt_layout *layout, const char *name) {
  return layout ? dims_index(layout->out, out_dims(layout), name) : -1;
}

int llrt_layout_in_shift(const llrt_layout *layout, int index) {
  return layout ? dims_bits(layout->in, bits_min(index, in_dims(layout))) : 0;
}

int llrt_layout_out_shift(const llrt_layout *layout, int index) {
  return layout ? dims_bits(layout->out, bits_min(index, out_dims(layout))) : 0;
}

int llrt_layout_rank(const llrt_layout *layout) {
  return layout ? bits_count(f2_pivots(layout->column, llrt_layout_in_bits(layout))) : 0;
}

bool llrt_layout_is_surjective(const llrt_layout *layout) {
  return llrt_layout_is_valid(layout) && llrt_layout_rank(layout) == llrt_layout_out_bits(layout);
}

bool llrt_layout_is_injective(const llrt_layout *layout) {
  return llrt_layout_is_valid(layout) && llrt_layout_rank(layout) == llrt_layout_in_bits(layout);
}

llrt_status llrt_layout_free_variable_masks(const llrt_layout *layout, uint64_t *masks) {
  LLRT_ENTRY();
  LLRT_REQUIRE(masks, "masks: NULL");
  LLRT_TRY(layout_check(layout, "layout"));
  uint64_t dependent = ~f2_pivots(layout->column, llrt_layout_in_bits(layout));
  for (int i = 0, shift = 0; i < layout->n_in; shift += layout->in[i++].bits) {
    int bits = layout->in[i].bits;
    masks[i] = bits ? (dependent >> shift) & bits_mask(bits) : 0;
  }
  return LLRT_OK;
}

/* The leading columns 1, 2, 4, … of the first in-dim, cut where another column has a bit below. */
int64_t llrt_layout_num_consecutive(const llrt_layout *layout) {
  if (!llrt_layout_is_valid(layout) || layout->n_in == 0 || layout->n_out == 0) return 1;
  int limit = bits_min(layout->in[0].bits, layout->out[0].bits);
  int run = 0;
  while (run < limit && layout->column[run] == 1ull << run) run++;
  uint64_t others = 0;
  for (int i = run; i < llrt_layout_in_bits(layout); i++) others |= layout->column[i];
  others &= bits_mask(layout->out[0].bits);
  if (others) run = bits_min(run, bits_lowest(others));
  return 1ll << bits_min(run, 62);
}

static bool dims_equal(const llrt_dim *a, const llrt_dim *b, int n) {
  for (int i = 0; i < n; i++)
    if (!layout_same_name(&a[i], &b[i]) || a[i].bits != b[i].bits) return false;
  return true;
}

bool llrt_layout_equal(const llrt_layout *a, const llrt_layout *b) {
  if (!llrt_layout_is_valid(a) || !llrt_layout_is_valid(b)) return false;
  return a->n_in == b->n_in && a->n_out == b->n_out && dims_equal(a->in, b->in, a->n_in) &&
         dims_equal(a->out, b->out, a->n_out) &&
         memcmp(a->column, b->column, (size_t)llrt_layout_in_bits(a) * sizeof a->column[0]) == 0;
}

static void hash_dims(llrt_hasher *hasher, const llrt_dim *dim, int n) {
  llrt_hasher_add_u64(hasher, (uint64_t)n);
  for (int i = 0; i < n; i++) {
    llrt_hasher_add_bytes(hasher, dim[i].name, LLRT_NAME_BYTES);
    llrt_hasher_add_u64(hasher, dim[i].bits);
  }
}

llrt_hash llrt_layout_hash(const llrt_layout *layout) {
  llrt_hasher hasher;
  llrt_hasher_init(&hasher);
  hash_dims(&hasher, layout ? layout->in : NULL, in_dims(layout));
  hash_dims(&hasher, layout ? layout->out : NULL, out_dims(layout));
  if (layout) llrt_hasher_add_u64s(&hasher, layout->column, (size_t)llrt_layout_in_bits(layout));
  return llrt_hasher_finish(&hasher);
}

uint64_t llrt_layout_apply_flat(const llrt_layout *layout, uint64_t input) {
  return f2_apply(layout->column, input & bits_mask(llrt_layout_in_bits(layout)));
}

/* *image = the flat image of one coordinate per in-dim. */
static llrt_status apply(const llrt_layout *layout, const uint64_t *in_coords, uint64_t *image) {
  *image = 0;
  for (int i = 0, shift = 0; i < layout->n_in; shift += layout->in[i++].bits) {
    const llrt_dim *dim = &layout->in[i];
    LLRT_REQUIRE((in_coords[i] & ~bits_mask(dim->bits)) == 0,
                 "coordinate %llu is outside %s of %d bits", (unsigned long long)in_coords[i],
                 dim->name, dim->bits);
    *image ^= f2_apply(layout->column + shift, in_coords[i]);
  }
  return LLRT_OK;
}

llrt_status llrt_layout_apply(const llrt_layout *layout, const uint64_t *in_coords,
                              uint64_t *out_coords) {
  LLRT_ENTRY();
  LLRT_TRY(layout_check(layout, "layout"));
  LLRT_REQUIRE(in_coords || layout->n_in == 0, "in_coords: NULL");
  LLRT_REQUIRE(out_coords || layout->n_out == 0, "out_coords: NULL");
  uint64_t image;
  llrt_status status = apply(layout, in_coords, &image);
  if (status) image = 0;
  for (int i = 0; i < layout->n_out; i++) {
    int bits = layout->out[i].bits;
    out_coords[i] = image & bits_mask(bits);
    image = bits < 64 ? image >> bits : 0;
  }
  return status;
}
