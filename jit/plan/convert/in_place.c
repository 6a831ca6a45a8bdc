/* Conversions in place: the flat kernel on panels. A *panel* is a stretch of memory that the
 * conversion maps onto itself. One block takes one: it copies the panel into shared memory as it
 * lies, waits, and writes it back in the destination's order. So a tensor can be repacked without a
 * second copy of it wherever a panel fits in shared memory, whatever its extents: 16 rows of a 16 x
 * 16 weight format, 128 rows of scales.
 *
 * With B the panel's size, every digit is either *inside*, where both contributions stay below B in
 * all, or *outside*: then it adds the same multiple of B to both addresses.
 *
 * On a GPU several tensors may be converted at once, whose addresses stand in one list for both
 * sides. The digit along the list is outside, too: a panel is part of one of them. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/convert/tile_steps.h"
#include "layout/f2.h"

#include <stdlib.h>

/* Panels are grown to about this, so that a block has work for all its threads. */
#define PANEL_WANTED_BYTES (32 << 10)
/* Several small ones beside each other are one panel of this many bytes at most: an access of 16
 * for each of 512 threads. */
#define PANEL_JOINED_BYTES (8 << 10)

/* What a digit adds to the source's and the destination's address. */
typedef struct panel_digit {
  int64_t count;
  bool listed;       /* it counts tensors: an address from the list stands for its position */
  bool even;         /* stride * position on both sides */
  bool summed[2];    /* it adds a stride; else it XORs columns */
  int64_t stride[2]; /* where even */
  int64_t reach[2];  /* no more than this in all */
  int n_columns;
  const uint64_t *column[2]; /* where it is not summed */
} panel_digit;

static llrt_status not_in_place(const char *why) {
  return llrt_error(LLRT_UNSUPPORTED, "converting in place: %s", why);
}

static llrt_status describe_digit(const draft *d, int i, panel_digit *out) {
  const plan_digit *digit = &d->kernel->digit[i];
  *out = (panel_digit){.count = d->count[i], .even = true};
  out->listed = draft_is_listed(d, i);
  if (out->listed) return LLRT_OK;
  if (out->count < 0)
    return not_in_place("its kernel needs extents that are known when it is planned");
  for (int t = 0; t < 2; t++) {
    const plan_digit_side *side = &digit->side[t];
    const uint64_t *columns = &d->column[t][d->first[i]];
    if (side->stride.arg >= 0)
      return not_in_place("its kernel needs strides that are known when it is planned");
    out->summed[t] = side->kind == PLAN_STRIDE || digit->rest;
    out->column[t] = columns;
    out->n_columns = d->bits[i];
    out->stride[t] = out->summed[t] ? side->stride.value : d->bits[i] > 0 ? (int64_t)columns[0] : 0;
    if (out->stride[t] < 0) return not_in_place("a digit counts down");
    if (out->summed[t] || draft_is_even(d, t, i)) {
      if (__builtin_mul_overflow(out->stride[t], out->count - 1, &out->reach[t]))
        return not_in_place("a stride is too large");
    } else {
      out->even = false;
      for (int b = 0; b < d->bits[i]; b++) out->reach[t] |= (int64_t)columns[b];
    }
  }
  return LLRT_OK;
}

typedef struct panel_digits {
  int n;
  panel_digit at[PLAN_MAX_DIGITS];
} panel_digits;

static bool is_inside(const panel_digit *digit, int64_t size) {
  return !digit->listed && digit->reach[0] < size && digit->reach[1] < size;
}

/* The offsets on one tensor that digits inside a panel make: sums of strides, and what columns
 * span. */
typedef struct panel_offsets {
  int64_t sum;
  f2_basis columns;
  uint64_t bits; /* that columns move */
} panel_offsets;

/* False where the sum passes what an offset may be. */
static bool add_digit(panel_offsets *offsets, const panel_digit *digit, int t) {
  if (digit->summed[t])
    return !__builtin_add_overflow(offsets->sum, digit->reach[t], &offsets->sum);
  for (int b = 0; b < digit->n_columns; b++) {
    f2_basis_insert(&offsets->columns, digit->column[t][b]);
    offsets->bits |= digit->column[t][b];
  }
  return true;
}

/* The greatest offset of an element, exactly: what lies behind it need not be memory. */
static int64_t greatest_offset(const panel_offsets *offsets) {
  return offsets->sum + (int64_t)f2_basis_greatest(&offsets->columns);
}

/* Whether a digit outside of the panel moves source and destination by the same multiple of `size`
 * elements, whatever other digits do. Columns that share bits with those of the panel's digits
 * (offsets[t].bits), or, where the digit is a sum on one side alone, of other digits outside
 * (taken[t]), may cancel out. Adds the digit's bits to `taken`. */
static bool is_outside(const panel_digit *digit, int64_t size, const panel_offsets offsets[2],
                       uint64_t taken[2]) {
  bool mixed = digit->summed[0] != digit->summed[1];
  if (digit->listed) return true;
  if (!digit->even || digit->stride[0] != digit->stride[1] || digit->stride[0] % size != 0)
    return false;
  for (int t = 0; t < 2; t++) {
    uint64_t bits = 0;
    for (int b = 0; b < digit->n_columns && !digit->summed[t]; b++) bits |= digit->column[t][b];
    if (bits & (offsets[t].bits | (mixed ? taken[t] : 0))) return false;
    taken[t] |= bits;
  }
  return true;
}

/* Whether panels of `size` elements, `together` of which are whole bytes, map onto themselves; then
 * their positions, and the elements up to the last that is read, or its byte's. */
static bool is_panel(const panel_digits *digits, int64_t size, int together, plan_panel *panel) {
  panel_offsets offsets[2] = {{.sum = 0}, {.sum = 0}};
  uint64_t taken[2] = {0, 0};
  if (size % together != 0) return false;
  panel->positions = 1;
  for (int t = 0; t < 2; t++) f2_basis_init(&offsets[t].columns);
  for (int i = 0; i < digits->n; i++) {
    const panel_digit *digit = &digits->at[i];
    if (!is_inside(digit, size)) continue;
    panel->positions *= digit->count;
    for (int t = 0; t < 2; t++)
      if (!add_digit(&offsets[t], digit, t) || greatest_offset(&offsets[t]) >= size) return false;
  }
  for (int mixed = 0; mixed < 2; mixed++)
    for (int i = 0; i < digits->n; i++) {
      const panel_digit *digit = &digits->at[i];
      if (is_inside(digit, size) || (digit->summed[0] != digit->summed[1]) != mixed) continue;
      if (!is_outside(digit, size, offsets, taken)) return false;
    }
  panel->elements = (greatest_offset(&offsets[0]) + together) / together * together;
  return true;
}

static int compare_sizes(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* A panel ends where an outer digit's stride begins, or with the tensor. */
static int list_sizes(const panel_digits *digits, int64_t *sizes) {
  int n = 0;
  int64_t whole[2] = {1, 1};
  for (int i = 0; i < digits->n; i++) {
    const panel_digit *digit = &digits->at[i];
    for (int t = 0; t < 2; t++)
      if (__builtin_add_overflow(whole[t], digit->reach[t], &whole[t])) whole[t] = INT64_MAX;
    if (digit->even && digit->stride[0] > 0) sizes[n++] = digit->stride[0];
  }
  sizes[n++] = whole[0] > whole[1] ? whole[0] : whole[1];
  qsort(sizes, (size_t)n, sizeof *sizes, compare_sizes);
  return n;
}

/* The axis along which the tensors stand in a list; -1: there is no list. */
static int list_axis(const draft *d) {
  return d->kernel->n_indices > 0 ? d->desc->tensors[0].indices[0].axis : -1;
}

static bool span_of(const llrt_storage *storage, const int64_t *shape, int64_t *span) {
  llrt_storage_binding binding;
  if (llrt_storage_bind(storage, storage->rank, shape, NULL, &binding) != LLRT_OK) return false;
  *span = binding.span;
  return true;
}

/* Panels are staged as far as the source goes when its extents are the greatest that are possible.
 * A run whose extents are smaller has that memory only if the destination is as long even with the
 * least. */
static llrt_status check_reach(const draft *d, const int64_t *most) {
  int64_t least[LLRT_MAX_RANK], reach, memory;
  for (int a = 0; a < draft_storage(d, 0)->rank; a++) {
    const draft_extent *extent = &d->shape[a];
    int64_t promised = d->desc->promises[0].shape[a].min;
    least[a] = extent->known < 0 ? extent->multiple : extent->known;
    if (least[a] < promised) least[a] = promised;
    if (a == list_axis(d)) least[a] = 1;
  }
  if (span_of(draft_storage(d, 0), most, &reach) && span_of(draft_storage(d, 1), least, &memory) &&
      reach <= memory)
    return LLRT_OK;
  return not_in_place("its kernel needs extents that are known when it is planned");
}

/* Elements of the source from its first on, in whole bytes, where some digit overhangs it; else 0:
 * then every panel lies in it. */
static llrt_status find_total(const draft *d, int together, int64_t *total) {
  const llrt_storage *storage = draft_storage(d, 0);
  int64_t shape[LLRT_MAX_RANK] = {0};
  llrt_storage_binding binding;
  bool overhangs = false, unknown = false;
  *total = 0;
  for (int a = 0; a < storage->rank; a++) {
    int64_t walked = 1;
    if (a == list_axis(d)) {
      shape[a] = 1;
      continue;
    }
    for (int i = 0; i < d->kernel->n_digits; i++)
      if (d->kernel->digit[i].axis == a) walked *= d->count[i];
    shape[a] = d->shape[a].known < 0 ? d->shape[a].most : d->shape[a].known;
    overhangs |= walked != shape[a];
    unknown |= d->shape[a].known < 0;
  }
  if (unknown) LLRT_TRY(check_reach(d, shape));
  if (!overhangs) return LLRT_OK;
  LLRT_TRY(llrt_storage_bind(storage, storage->rank, shape, NULL, &binding));
  int64_t elements = (binding.span - storage->offset[0])
                     << d->kernel->split_128; /* as panels count: 64 bits of 128 are one */
  *total = bits_ceil_div(elements, together) * together;
  return LLRT_OK;
}

/* log2 bytes that divide every panel's address, its size and where the last one ends; accesses of
 * up to 16. */
static int staging_unit(const draft *d, const panel_digits *digits, int64_t size,
                        const plan_panel *panel) {
  int bits = d->kernel->tensor_bits[0], element = draft_log2_bytes(d, 0);
  int unit = bits_min(4, bits_alignment(panel->elements * bits / 8));
  unit = bits_min(unit, bits_max(d->address_align[0] + element, 0));
  if (panel->total > 0) unit = bits_min(unit, bits_alignment(panel->total * bits / 8));
  for (int i = 0; i < digits->n; i++)
    if (!digits->at[i].listed && !is_inside(&digits->at[i], size) && digits->at[i].count > 1)
      unit = bits_min(unit, bits_alignment(digits->at[i].stride[0]) + element);
  return unit;
}

static uint64_t digits_inside(const panel_digits *digits, int64_t size) {
  uint64_t inside = 0;
  for (int i = 0; i < digits->n; i++)
    if (is_inside(&digits->at[i], size)) inside |= 1ull << i;
  return inside;
}

/* Positions of a digit that lie beside each other, of which a panel may have several: the most that
 * divide all of them. */
static int64_t joined(int64_t count, int64_t most) {
  int64_t n = most < count ? most : count;
  while (n > 1 && count % n != 0) n--;
  return n;
}

/* Takes several panels of `size` elements that lie beside each other as one. */
static void join_panels(draft *d, const panel_digits *digits, int64_t size) {
  plan_panel *panel = &d->kernel->panel;
  int64_t bytes = size * d->kernel->tensor_bits[0] / 8;
  if (bytes == 0) return;
  for (int i = 0; i < digits->n; i++) {
    const panel_digit *digit = &digits->at[i];
    if (digit->listed || is_inside(digit, size) || digit->stride[0] != size ||
        digit->stride[1] != size)
      continue;
    int64_t n = joined(digit->count, PANEL_JOINED_BYTES / bytes);
    if (n < 2 || panel->total % (n * size) != 0) return; /* the last one would end early */
    panel->positions *= n;
    panel->elements += (n - 1) * size;
    panel->unit = (uint8_t)staging_unit(d, digits, size, panel);
    d->beside = 1ull << i;
    return;
  }
}

static llrt_status choose_panel(draft *d, const panel_digits *digits) {
  int64_t chosen_size = 0, sizes[PLAN_MAX_DIGITS + 1], least = 0;
  int n = list_sizes(digits, sizes), bits = d->kernel->tensor_bits[0],
      together = bits_max(8 / bits, 1);
  plan_panel *chosen = &d->kernel->panel, panel = {.positions = 0};
  LLRT_TRY(find_total(d, together, &panel.total));
  for (int i = 0; i < n; i++) {
    if (sizes[i] >= INT64_MAX / 16 || !is_panel(digits, sizes[i], together, &panel)) continue;
    int64_t bytes = panel.elements * bits / 8;
    if (least == 0) least = bytes;
    if (bytes > d->kernel->target.facts.shared_bytes) break;
    if (chosen->positions > 0 && bytes > PANEL_WANTED_BYTES) break;
    *chosen = panel;
    chosen_size = sizes[i];
    d->inside = digits_inside(digits, sizes[i]);
    chosen->unit = (uint8_t)staging_unit(d, digits, sizes[i], &panel);
  }
  if (chosen->positions > 0) {
    join_panels(d, digits, chosen_size);
    return LLRT_OK;
  }
  if (least == 0) return not_in_place("no part of the tensor stays where it is");
  return llrt_error(
      LLRT_UNSUPPORTED,
      "converting in place: the least part that stays where it is has %lld bytes, a block's "
      "shared memory %d",
      (long long)least, d->kernel->target.facts.shared_bytes);
}

static llrt_status check_in_place(const draft *d) {
  const plan_kernel *kernel = d->kernel;
  const plan_arg *address = kernel->launch.arg;
  if (kernel->tensor_bits[0] != kernel->tensor_bits[1])
    return not_in_place("the elements change their width");
  if (kernel->n_indices > 0 && (kernel->target.simd_lanes || !draft_lists_alike(d)))
    return not_in_place("a tensor has indices");
  for (int i = 0; i < kernel->n_indices; i++)
    if (kernel->index[i].out_of_range != LLRT_RANGE_SKIP)
      return not_in_place("addresses that are missing are not skipped");
  if (d->divided) return not_in_place("the storages have no common refinement");
  if (kernel->swizzle[0].swizzle_len || kernel->swizzle[1].swizzle_len)
    return not_in_place("a swizzle does not divide into digits");
  if (address[0].factor != address[1].factor || address[0].index || address[1].index ||
      kernel->origin[0] || kernel->origin[1])
    return not_in_place("the storages begin at different offsets");
  return LLRT_OK;
}

llrt_status draft_panel(draft *d) {
  panel_digits digits = {.n = d->kernel->n_digits};
  LLRT_TRY(check_in_place(d));
  for (int i = 0; i < digits.n; i++) LLRT_TRY(describe_digit(d, i, &digits.at[i]));
  return choose_panel(d, &digits);
}
