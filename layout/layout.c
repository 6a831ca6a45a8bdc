/* Building layouts a dim or a basis vector at a time. */
#include "base/bits.h"
#include "base/status.h"
#include "layout/check.h"

llrt_layout llrt_layout_empty(void) { return (llrt_layout){0}; }

static llrt_status check_dim(const char *name, int bits) {
  LLRT_REQUIRE(name, "a dim's name is NULL");
  LLRT_REQUIRE(layout_name_is_valid(name),
               "'%.32s' is no dim name: [A-Za-z_][A-Za-z0-9_]*, at most %d characters", name,
               LLRT_NAME_BYTES - 1);
  LLRT_REQUIRE(bits >= 0, "dim %s has %d bits", name, bits);
  if (bits > LLRT_MAX_BITS)
    return llrt_error(LLRT_UNSUPPORTED, "dim %s has %d bits, more than %d", name, bits,
                      LLRT_MAX_BITS);
  return LLRT_OK;
}

llrt_status llrt_layout_add_in(llrt_layout *layout, const char *name, int bits) {
  LLRT_ENTRY();
  LLRT_TRY(layout_check(layout, "layout"));
  LLRT_TRY(check_dim(name, bits));
  int first = llrt_layout_in_bits(layout);
  LLRT_TRY(layout_append_in(layout, name, bits));
  for (int i = first; i < first + bits; i++) layout->column[i] = 0;
  return LLRT_OK;
}

llrt_status llrt_layout_add_out(llrt_layout *layout, const char *name, int bits) {
  LLRT_ENTRY();
  LLRT_TRY(layout_check(layout, "layout"));
  LLRT_TRY(check_dim(name, bits));
  return layout_append_out(layout, name, bits);
}

llrt_status llrt_layout_set_basis(llrt_layout *layout, const char *in, int bit,
                                  const uint64_t *coords) {
  LLRT_ENTRY();
  LLRT_TRY(layout_check(layout, "layout"));
  int index = llrt_layout_in_index(layout, in);
  LLRT_REQUIRE(index >= 0, "there is no in-dim %s", in ? in : "NULL");
  LLRT_REQUIRE(bit >= 0 && bit < layout->in[index].bits, "in-dim %s has no bit %d", in, bit);
  LLRT_REQUIRE(coords || layout->n_out == 0, "coords: NULL");
  uint64_t column = 0;
  for (int i = 0, shift = 0; i < layout->n_out; shift += layout->out[i++].bits) {
    const llrt_dim *dim = &layout->out[i];
    LLRT_REQUIRE((coords[i] & ~bits_mask(dim->bits)) == 0,
                 "coordinate %llu is outside %s of %d bits", (unsigned long long)coords[i],
                 dim->name, dim->bits);
    if (dim->bits) column |= coords[i] << shift;
  }
  layout->column[llrt_layout_in_shift(layout, index) + bit] = column;
  return LLRT_OK;
}

/* One in-dim of in_bits and one out-dim of out_bits. */
static llrt_status start_1d(llrt_layout *layout, const char *in, int in_bits, const char *out,
                            int out_bits) {
  *layout = (llrt_layout){0};
  LLRT_TRY(llrt_layout_add_in(layout, in, in_bits));
  return llrt_layout_add_out(layout, out, out_bits);
}

static llrt_status strided1d(int64_t size, int64_t stride, const char *in, const char *out_name,
                             llrt_layout *out) {
  *out = (llrt_layout){0};
  if (size == 0) return LLRT_OK;
  LLRT_REQUIRE(bits_is_power_of_two(size) && bits_is_power_of_two(stride),
               "size %lld and stride %lld must be powers of two", (long long)size,
               (long long)stride);
  int bits = bits_log2(size), step = bits_log2(stride);
  LLRT_TRY(start_1d(out, in, bits, out_name, bits + step));
  for (int i = 0; i < bits; i++) out->column[i] = 1ull << (i + step);
  return LLRT_OK;
}

llrt_status llrt_layout_strided1d(int64_t size, int64_t stride, const char *in,
                                  const char *out_name, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(strided1d(size, stride, in, out_name, &result), &result, out);
}

static llrt_status zeros1d(int64_t size, const char *in, const char *out_name, int64_t out_size,
                           llrt_layout *out) {
  *out = (llrt_layout){0};
  if (size == 0) return LLRT_OK;
  LLRT_REQUIRE(bits_is_power_of_two(size) && bits_is_power_of_two(out_size),
               "sizes %lld and %lld must be powers of two", (long long)size, (long long)out_size);
  return start_1d(out, in, bits_log2(size), out_name, bits_log2(out_size));
}

llrt_status llrt_layout_zeros1d(int64_t size, const char *in, const char *out_name,
                                int64_t out_size, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(zeros1d(size, in, out_name, out_size, &result), &result, out);
}

static llrt_status identity_nd(const char *in, int rank, const int64_t *size, const int *order,
                               llrt_layout *out) {
  LLRT_REQUIRE(rank >= 0 && rank <= LLRT_MAX_RANK && ((size && order) || rank == 0),
               "identity_nd: rank is %d, not 0 to %d, or size or order is NULL", rank,
               LLRT_MAX_RANK);
  *out = (llrt_layout){0};
  LLRT_TRY(llrt_layout_add_in(out, in, 0));
  for (int i = 0; i < rank; i++) {
    char name[LLRT_NAME_BYTES];
    LLRT_REQUIRE(order[i] >= 0 && order[i] < rank && bits_is_power_of_two(size[order[i]]),
                 "identity_nd: order[%d] is no axis, or the size of that axis no power of two", i);
    layout_axis_name(order[i], name);
    llrt_layout factor;
    LLRT_TRY(strided1d(size[order[i]], 1, in, name, &factor));
    LLRT_REQUIRE(llrt_layout_out_index(out, name) < 0, "identity_nd: order has axis %d twice",
                 order[i]);
    LLRT_TRY(llrt_layout_product(out, &factor, out));
  }
  return LLRT_OK;
}

llrt_status llrt_layout_identity_nd(const char *in, int rank, const int64_t *size, const int *order,
                                    llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(identity_nd(in, rank, size, order, &result), &result, out);
}
