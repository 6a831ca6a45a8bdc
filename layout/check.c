#include "layout/check.h"

#include "base/bits.h"
#include "base/status.h"

#include <stdio.h>

static bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name_part(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }

bool layout_name_is_valid(const char *name) {
  if (!is_name_start(name[0])) return false;
  int length = 1;
  while (length < LLRT_NAME_BYTES && is_name_part(name[length])) length++;
  return length < LLRT_NAME_BYTES && name[length] == 0;
}

/* A valid name whose bytes past its end are zero, as comparing by bytes needs. */
static bool stored_name_is_valid(const char *name) {
  if (!layout_name_is_valid(name)) return false;
  char rest = 0;
  for (size_t i = strlen(name); i < LLRT_NAME_BYTES; i++) rest |= name[i];
  return rest == 0;
}

/* What is wrong with a list of dims, or NULL; *bits is their sum. */
static const char *dims_flaw(const llrt_dim *dim, int n, int *bits) {
  *bits = 0;
  for (int i = 0; i < n; i++) {
    if (!stored_name_is_valid(dim[i].name)) return "a dim's name is malformed";
    for (int j = 0; j < i; j++)
      if (layout_same_name(&dim[i], &dim[j])) return "two dims have one name";
    *bits += dim[i].bits;
    if (*bits > LLRT_MAX_BITS) return "there are more bits than a layout holds";
  }
  return NULL;
}

static const char *layout_flaw(const llrt_layout *layout) {
  if (!layout) return "NULL";
  if (layout->n_in > LLRT_MAX_IN_DIMS) return "there are too many in-dims";
  if (layout->n_out > LLRT_MAX_OUT_DIMS) return "there are too many out-dims";
  int in_bits, out_bits;
  const char *flaw = dims_flaw(layout->in, layout->n_in, &in_bits);
  if (!flaw) flaw = dims_flaw(layout->out, layout->n_out, &out_bits);
  if (flaw) return flaw;
  uint64_t touched = 0;
  for (int i = 0; i < in_bits; i++) touched |= layout->column[i];
  return touched & ~bits_mask(out_bits) ? "a column has bits past the out-dims" : NULL;
}

bool llrt_layout_is_valid(const llrt_layout *layout) { return layout_flaw(layout) == NULL; }

llrt_status layout_check(const llrt_layout *layout, const char *argument) {
  const char *flaw = layout_flaw(layout);
  LLRT_REQUIRE(!flaw, "layout %s: %s", argument, flaw);
  return LLRT_OK;
}

llrt_status layout_finish(llrt_status status, const llrt_layout *result, llrt_layout *out) {
  if (!out) return status ? status : llrt_error(LLRT_INVALID_ARGUMENT, "out: NULL");
  *out = status ? (llrt_layout){0} : *result;
  return status;
}

/* Appends to a list of dims; `kind` is "in" or "out". */
static llrt_status dims_append(llrt_dim *dim, uint8_t *n, int limit, const char *kind,
                               const char *name, int bits) {
  llrt_dim added = {.bits = (uint8_t)bits};
  memcpy(added.name, name, strlen(name));
  int total = bits;
  for (int i = 0; i < *n; i++) {
    LLRT_REQUIRE(!layout_same_name(&dim[i], &added), "%s-dim %s is there already", kind, name);
    total += dim[i].bits;
  }
  if (*n == limit) return llrt_error(LLRT_UNSUPPORTED, "more than %d %s-dims", limit, kind);
  if (total > LLRT_MAX_BITS)
    return llrt_error(LLRT_UNSUPPORTED, "%d %s bits, more than %d", total, kind, LLRT_MAX_BITS);
  dim[(*n)++] = added;
  return LLRT_OK;
}

llrt_status layout_append_in(llrt_layout *layout, const char *name, int bits) {
  return dims_append(layout->in, &layout->n_in, LLRT_MAX_IN_DIMS, "in", name, bits);
}

llrt_status layout_append_out(llrt_layout *layout, const char *name, int bits) {
  return dims_append(layout->out, &layout->n_out, LLRT_MAX_OUT_DIMS, "out", name, bits);
}

llrt_status layout_find_dims(const llrt_dim *dim, int n_dims, const char *kind,
                             const char *const *names, int n, int *index, uint32_t *taken) {
  LLRT_REQUIRE(n >= 0 && n <= n_dims && (names || n == 0), "%d names for %d %s-dims", n, n_dims,
               kind);
  *taken = 0;
  for (int i = 0; i < n; i++) {
    index[i] = -1;
    for (int k = 0; k < n_dims; k++)
      if (names[i] && strcmp(dim[k].name, names[i]) == 0) index[i] = k;
    LLRT_REQUIRE(index[i] >= 0, "there is no %s-dim %s", kind, names[i] ? names[i] : "NULL");
    LLRT_REQUIRE(!(*taken >> index[i] & 1), "%s-dim %s is named twice", kind, names[i]);
    *taken |= 1u << index[i];
  }
  return LLRT_OK;
}

void layout_axis_name(int axis, char *name) {
  memset(name, 0, LLRT_NAME_BYTES);
  snprintf(name, LLRT_NAME_BYTES, "dim%d", axis);
}
