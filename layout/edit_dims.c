/* Changing single dims and columns: names, sizes, joining, selecting. */
#include "base/bits.h"
#include "base/status.h"
#include "layout/check.h"
#include "layout/fields.h"

/* ---- names ---- */

/* Renames from[i] to to[i] among n_dims dims, all at once. */
static llrt_status rename_dims(llrt_dim *dim, int n_dims, const char *kind, const char *const *from,
                               const char *const *to, int n) {
  int index[LLRT_MAX_OUT_DIMS];
  uint32_t taken;
  LLRT_TRY(layout_find_dims(dim, n_dims, kind, from, n, index, &taken));
  LLRT_REQUIRE(to || n == 0, "rename: to: NULL");
  for (int i = 0; i < n; i++) {
    LLRT_REQUIRE(to[i] && layout_name_is_valid(to[i]), "rename: the new name is malformed");
    memset(dim[index[i]].name, 0, LLRT_NAME_BYTES);
    memcpy(dim[index[i]].name, to[i], strlen(to[i]));
  }
  for (int i = 0; i < n_dims; i++)
    LLRT_REQUIRE(layout_dim_index(dim, n_dims, &dim[i]) == i, "rename: two %s-dims are named %s",
                 kind, dim[i].name);
  return LLRT_OK;
}

static llrt_status rename_ins(const llrt_layout *a, const char *const *from, const char *const *to,
                              int n, llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  *out = *a;
  return rename_dims(out->in, out->n_in, "in", from, to, n);
}

llrt_status llrt_layout_rename_ins(const llrt_layout *a, const char *const *from,
                                   const char *const *to, int n, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(rename_ins(a, from, to, n, &result), &result, out);
}

static llrt_status rename_outs(const llrt_layout *a, const char *const *from, const char *const *to,
                               int n, llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  *out = *a;
  return rename_dims(out->out, out->n_out, "out", from, to, n);
}

llrt_status llrt_layout_rename_outs(const llrt_layout *a, const char *const *from,
                                    const char *const *to, int n, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(rename_outs(a, from, to, n, &result), &result, out);
}

/* ---- dropping dims of size 1: no column and no bit changes ---- */

/* Takes dim `name`, of no bits, out of *n dims. */
static llrt_status squeeze(llrt_dim *dim, uint8_t *n, const char *kind, const char *name) {
  int index;
  uint32_t taken;
  LLRT_TRY(layout_find_dims(dim, *n, kind, &name, 1, &index, &taken));
  LLRT_REQUIRE(dim[index].bits == 0, "squeeze: %s has 2^%d positions", name, dim[index].bits);
  --*n;
  memmove(dim + index, dim + index + 1, (size_t)(*n - index) * sizeof *dim);
  dim[*n] = (llrt_dim){.bits = 0};
  return LLRT_OK;
}

static llrt_status squeeze_in(const llrt_layout *a, const char *name, llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  *out = *a;
  return squeeze(out->in, &out->n_in, "in", name);
}

llrt_status llrt_layout_squeeze_in(const llrt_layout *a, const char *name, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(squeeze_in(a, name, &result), &result, out);
}

static llrt_status squeeze_out(const llrt_layout *a, const char *name, llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  *out = *a;
  return squeeze(out->out, &out->n_out, "out", name);
}

llrt_status llrt_layout_squeeze_out(const llrt_layout *a, const char *name, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(squeeze_out(a, name, &result), &result, out);
}

/* ---- joining ---- */

static llrt_status check_same_dims(const llrt_dim *a, int n_a, const llrt_dim *b, int n_b,
                                   const char *kind) {
  LLRT_REQUIRE(n_a == n_b, "concat: %d %s-dims against %d", n_a, kind, n_b);
  for (int i = 0; i < n_a; i++) {
    int index = layout_dim_index(b, n_b, &a[i]);
    LLRT_REQUIRE(index >= 0, "concat: the second has no %s-dim %s", kind, a[i].name);
    LLRT_REQUIRE(a[i].bits == b[index].bits, "concat: %s has 2^%d and 2^%d positions", a[i].name,
                 a[i].bits, b[index].bits);
  }
  return LLRT_OK;
}

static llrt_status concat_ins(const llrt_layout *a, const llrt_layout *b, llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  LLRT_TRY(layout_check(b, "b"));
  LLRT_TRY(check_same_dims(a->out, a->n_out, b->out, b->n_out, "out"));
  *out = *a;
  fields move = {.count = 0};
  for (int i = 0, from = 0; i < b->n_out; from += b->out[i++].bits) {
    int index = layout_dim_index(a->out, a->n_out, &b->out[i]);
    fields_add(&move, from, llrt_layout_out_shift(a, index), b->out[i].bits);
  }
  for (int i = 0; i < b->n_in; i++) LLRT_TRY(layout_append_in(out, b->in[i].name, b->in[i].bits));
  int first = llrt_layout_in_bits(a);
  for (int i = 0; i < llrt_layout_in_bits(b); i++)
    out->column[first + i] = fields_move(&move, b->column[i]);
  return LLRT_OK;
}

llrt_status llrt_layout_concat_ins(const llrt_layout *a, const llrt_layout *b, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(concat_ins(a, b, &result), &result, out);
}

static llrt_status concat_outs(const llrt_layout *a, const llrt_layout *b, llrt_layout *out) {
  LLRT_TRY(layout_check(a, "a"));
  LLRT_TRY(layout_check(b, "b"));
  LLRT_TRY(check_same_dims(a->in, a->n_in, b->in, b->n_in, "in"));
  *out = *a;
  for (int i = 0; i < b->n_out; i++)
    LLRT_TRY(layout_append_out(out, b->out[i].name, b->out[i].bits));
  int above = llrt_layout_out_bits(a);
  for (int i = 0, at = 0; i < a->n_in; at += a->in[i++].bits) {
    int from = llrt_layout_in_shift(b, layout_dim_index(b->in, b->n_in, &a->in[i]));
    for (int k = 0; above < 64 && k < a->in[i].bits; k++)
      out->column[at + k] |= b->column[from + k] << above;
  }
  return LLRT_OK;
}

llrt_status llrt_layout_concat_outs(const llrt_layout *a, const llrt_layout *b, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(concat_outs(a, b, &result), &result, out);
}

/* ---- columns of one in-dim ---- */

static llrt_status find_in(const llrt_layout *a, const char *name, int *index) {
  uint32_t taken;
  LLRT_TRY(layout_check(a, "a"));
  return layout_find_dims(a->in, a->n_in, "in", &name, 1, index, &taken);
}

/* a with in-dim `index` made of columns[n]. Errors: more than 64 in bits. */
static llrt_status replace_columns(const llrt_layout *a, int index, const uint64_t *columns, int n,
                                   llrt_layout *out) {
  int first = llrt_layout_in_shift(a, index), after = first + a->in[index].bits;
  int rest = llrt_layout_in_bits(a) - after;
  if (first + n + rest > LLRT_MAX_BITS)
    return llrt_error(LLRT_UNSUPPORTED, "%d in bits, more than %d", first + n + rest,
                      LLRT_MAX_BITS);
  *out = *a;
  memset(out->column + first, 0, (size_t)(LLRT_MAX_BITS - first) * sizeof out->column[0]);
  memcpy(out->column + first, columns, (size_t)n * sizeof columns[0]);
  memcpy(out->column + first + n, a->column + after, (size_t)rest * sizeof columns[0]);
  out->in[index].bits = (uint8_t)n;
  return LLRT_OK;
}

static llrt_status resize_in(const llrt_layout *a, const char *name, int64_t size,
                             llrt_layout *out) {
  int index;
  LLRT_TRY(find_in(a, name, &index));
  LLRT_REQUIRE(bits_is_power_of_two(size), "resize: %lld is no power of two", (long long)size);
  uint64_t columns[LLRT_MAX_BITS] = {0};
  int bits = bits_log2(size);
  memcpy(columns, a->column + llrt_layout_in_shift(a, index),
         (size_t)bits_min(bits, a->in[index].bits) * sizeof columns[0]);
  return replace_columns(a, index, columns, bits, out);
}

llrt_status llrt_layout_resize_in(const llrt_layout *a, const char *name, int64_t size,
                                  llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(resize_in(a, name, size, &result), &result, out);
}

static llrt_status remove_zero_bases(const llrt_layout *a, const char *name, llrt_layout *out) {
  int index, n = 0;
  LLRT_TRY(find_in(a, name, &index));
  uint64_t columns[LLRT_MAX_BITS];
  int first = llrt_layout_in_shift(a, index);
  for (int k = 0; k < a->in[index].bits; k++)
    if (a->column[first + k]) columns[n++] = a->column[first + k];
  return replace_columns(a, index, columns, n, out);
}

llrt_status llrt_layout_remove_zero_bases(const llrt_layout *a, const char *name,
                                          llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(remove_zero_bases(a, name, &result), &result, out);
}

static llrt_status select_bases(const llrt_layout *a, const char *name, const int *action, int n,
                                llrt_layout *out) {
  int index;
  LLRT_TRY(find_in(a, name, &index));
  LLRT_REQUIRE(n >= 0 && n <= LLRT_MAX_BITS && (action || n == 0),
               "select: n is %d, not 0 to %d, or action is NULL", n, LLRT_MAX_BITS);
  uint64_t columns[LLRT_MAX_BITS];
  for (int k = 0; k < n; k++) {
    LLRT_REQUIRE(action[k] >= 0 && action[k] < a->in[index].bits, "select: %s has no bit %d", name,
                 action[k]);
    columns[k] = a->column[llrt_layout_in_shift(a, index) + action[k]];
  }
  return replace_columns(a, index, columns, n, out);
}

llrt_status llrt_layout_select_bases(const llrt_layout *a, const char *name, const int *action,
                                     int n, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(select_bases(a, name, action, n, &result), &result, out);
}

uint64_t llrt_layout_selected_position(const int *action, int n, uint64_t position) {
  uint64_t before = 0;
  for (int k = 0; action && k < n && k < 64; k++)
    if (position >> k & 1) before ^= 1ull << (action[k] & 63);
  return before;
}

/* ---- the size of one out-dim ---- */

static llrt_status resize_out(const llrt_layout *a, const char *name, int64_t size,
                              llrt_layout *out) {
  int index;
  uint32_t taken;
  LLRT_TRY(layout_check(a, "a"));
  LLRT_TRY(layout_find_dims(a->out, a->n_out, "out", &name, 1, &index, &taken));
  LLRT_REQUIRE(bits_is_power_of_two(size), "resize: %lld is no power of two", (long long)size);
  int had = a->out[index].bits, kept = bits_log2(size);
  LLRT_REQUIRE(kept <= had, "resize: %s has only 2^%d positions", name, had);
  *out = *a;
  out->out[index].bits = (uint8_t)kept;
  if (kept == had) return LLRT_OK;
  int shift = llrt_layout_out_shift(a, index);
  for (int i = 0; i < llrt_layout_in_bits(a); i++) {
    uint64_t column = a->column[i], coordinate = (column >> shift) & bits_mask(had);
    uint64_t above = shift + had < 64 ? column >> (shift + had) : 0;
    out->column[i] = column & bits_mask(shift);
    if (coordinate <= bits_mask(kept)) out->column[i] |= coordinate << shift;
    if (above) out->column[i] |= above << (shift + kept);
  }
  return LLRT_OK;
}

llrt_status llrt_layout_resize_out(const llrt_layout *a, const char *name, int64_t size,
                                   llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  return layout_finish(resize_out(a, name, size, &result), &result, out);
}
