/* Equality and hash of rules, and whether two rules mean the same bytes on one shape. */
#include "layout/storage_rule.h"

#include "base/bits.h"
#include "base/hash.h"
#include "base/status.h"

#include <string.h>

/* ---- rules ---- */

static bool digits_equal(const llrt_storage *a, const llrt_storage *b) {
  for (int i = 0; i < a->n_digits; i++) {
    const llrt_digit *x = &a->digit[i], *y = &b->digit[i];
    if (x->axis != y->axis || x->extent != y->extent || x->stride != y->stride ||
        x->target != y->target || x->reversed != y->reversed)
      return false;
  }
  return true;
}

static bool targets_equal(const llrt_storage *a, const llrt_storage *b) {
  if (a->n_targets != b->n_targets || a->offset[0] != b->offset[0]) return false;
  for (int t = 0; t < a->n_targets; t++)
    if (strcmp(a->target[t], b->target[t]) != 0 || a->offset[t + 1] != b->offset[t + 1])
      return false;
  return true;
}

/* Precondition: both are canonical. */
static bool canonical_equal(const llrt_storage *x, const llrt_storage *y) {
  return x->rank == y->rank && x->n_digits == y->n_digits && x->pad == y->pad &&
         x->pad_value == y->pad_value && digits_equal(x, y) && targets_equal(x, y) &&
         memcmp(&x->swizzle, &y->swizzle, sizeof x->swizzle) == 0 &&
         llrt_layout_equal(&x->tile, &y->tile);
}

bool llrt_storage_equal(const llrt_storage *a, const llrt_storage *b) {
  llrt_storage x, y;
  if (storage_canonicalise(a, &x) != LLRT_OK || storage_canonicalise(b, &y) != LLRT_OK)
    return false;
  return canonical_equal(&x, &y);
}

static void hash_digits(llrt_hasher *hasher, const llrt_storage *rule) {
  llrt_hasher_add_u64(hasher, (uint64_t)rule->n_digits);
  for (int i = 0; i < rule->n_digits; i++) {
    llrt_hasher_add_u64(hasher, (uint64_t)rule->digit[i].axis);
    llrt_hasher_add_u64(hasher, (uint64_t)rule->digit[i].extent);
    llrt_hasher_add_u64(hasher, (uint64_t)rule->digit[i].stride);
    llrt_hasher_add_u64(hasher, (uint64_t)rule->digit[i].target);
    llrt_hasher_add_u64(hasher, rule->digit[i].reversed);
  }
}

static void hash_targets(llrt_hasher *hasher, const llrt_storage *rule) {
  llrt_hasher_add_u64(hasher, (uint64_t)rule->n_targets);
  llrt_hasher_add_u64(hasher, (uint64_t)rule->offset[0]);
  for (int t = 0; t < rule->n_targets; t++) {
    llrt_hasher_add_bytes(hasher, rule->target[t], LLRT_NAME_BYTES);
    llrt_hasher_add_u64(hasher, (uint64_t)rule->offset[t + 1]);
  }
}

/* The hash of a malformed storage is that of nothing. */
llrt_hash llrt_storage_hash(const llrt_storage *storage) {
  llrt_hasher hasher;
  llrt_hasher_init(&hasher);
  llrt_storage rule;
  if (storage_canonicalise(storage, &rule) != LLRT_OK) return llrt_hasher_finish(&hasher);
  llrt_hasher_add_u64(&hasher, (uint64_t)rule.rank);
  hash_digits(&hasher, &rule);
  llrt_hash tile = llrt_layout_hash(&rule.tile);
  llrt_hasher_add_u64(&hasher, tile.low);
  llrt_hasher_add_u64(&hasher, tile.high);
  hash_targets(&hasher, &rule);
  llrt_hasher_add_u64(&hasher, (uint64_t)rule.swizzle.per_element | rule.swizzle.swizzle_len << 8 |
                                   rule.swizzle.atom_len << 16 | (uint64_t)rule.pad << 24 |
                                   (uint64_t)rule.swizzle.upward << 32);
  llrt_hasher_add_u64(&hasher, rule.pad_value);
  return llrt_hasher_finish(&hasher);
}

/* ---- one shape ---- */

#define MAX_COPIES 64
#define MAX_COMPARED (1ll << 20) /* elements: some tens of milliseconds */

/* The rule with the numbers of one shape in it: equal forms place every element alike. Positions
 * that the shape never reaches are cut off the digits. */
static llrt_status bound_form(const llrt_storage *storage, const llrt_storage_binding *binding,
                              const int64_t *shape, llrt_storage *out) {
  int64_t below[LLRT_MAX_RANK];
  llrt_storage fixed = *storage;
  for (int axis = 0; axis < storage->rank; axis++)
    below[axis] = 1ll << storage_tile_bits(storage, axis);
  for (int i = 0; i < fixed.n_digits; i++) {
    llrt_digit *digit = &fixed.digit[i];
    digit->stride = digit->reversed ? -binding->stride[i] : binding->stride[i];
    digit->extent = binding->extent[i];
    if (digit->axis == LLRT_AXIS_REPLICA) continue;
    int64_t reached = bits_ceil_div(shape[digit->axis], below[digit->axis]);
    below[digit->axis] *= digit->extent;
    if (reached >= digit->extent) continue;
    if (digit->reversed) fixed.offset[digit->target] += (digit->extent - reached) * digit->stride;
    digit->extent = reached;
  }
  fixed.pad = LLRT_PAD_NONE;
  fixed.pad_value = 0;
  return storage_canonicalise(&fixed, out);
}

/* One of the rules with what is needed to evaluate it. */
typedef struct side {
  const llrt_storage *storage;
  llrt_storage_binding binding;
  int64_t copies;
  int number[LLRT_MAX_TARGETS + 1]; /* of each target among those of the other side; -1 */
} side;

/* Whether copy `copy` of x's element is at a place where y has one, too. */
static bool is_at(const side *x, const side *y, const int64_t *coords, int64_t copy) {
  int64_t place[LLRT_MAX_TARGETS + 1], other[LLRT_MAX_TARGETS + 1];
  storage_place(x->storage, &x->binding, coords, copy, place);
  for (int64_t c = 0; c < y->copies; c++) {
    storage_place(y->storage, &y->binding, coords, c, other);
    bool same = true;
    for (int t = 0; t <= x->storage->n_targets; t++)
      same &= place[t] == (x->number[t] < 0 ? 0 : other[x->number[t]]);
    for (int t = 0; t <= y->storage->n_targets; t++) same &= y->number[t] >= 0 || other[t] == 0;
    if (same) return true;
  }
  return false;
}

static bool places_equal(const side *x, const side *y, const int64_t *coords) {
  for (int64_t copy = 0; copy < x->copies; copy++)
    if (!is_at(x, y, coords, copy)) return false;
  for (int64_t copy = 0; copy < y->copies; copy++)
    if (!is_at(y, x, coords, copy)) return false;
  return true;
}

static void match_targets(side *x, const llrt_storage *other) {
  for (int t = 1; t <= x->storage->n_targets; t++) {
    x->number[t] = -1;
    for (int u = 1; u <= other->n_targets; u++)
      if (strcmp(x->storage->target[t - 1], other->target[u - 1]) == 0) x->number[t] = u;
  }
}

static llrt_status compare_places(side *x, side *y, int rank, const int64_t *shape, bool *same) {
  int64_t coords[LLRT_MAX_RANK] = {0}, elements = 1;
  bool many = false;
  x->copies = storage_copies(x->storage, &x->binding);
  y->copies = storage_copies(y->storage, &y->binding);
  if (x->copies > MAX_COPIES || y->copies > MAX_COPIES)
    return llrt_error(LLRT_UNSUPPORTED, "an element has more than %d copies", MAX_COPIES);
  match_targets(x, y->storage);
  match_targets(y, x->storage);
  for (int axis = 0; axis < rank; axis++)
    many |= __builtin_mul_overflow(elements, shape[axis], &elements);
  *same = true;
  for (int64_t n = 0; *same && n < MAX_COMPARED && (many || n < elements); n++) {
    *same = places_equal(x, y, coords);
    for (int axis = rank - 1; axis >= 0 && ++coords[axis] == shape[axis]; axis--) coords[axis] = 0;
  }
  if (*same && (many || elements > MAX_COMPARED)) {
    *same = false;
    return llrt_error(LLRT_UNSUPPORTED, "the rules differ too much to compare them on this shape");
  }
  return LLRT_OK;
}

llrt_status llrt_storage_same_bytes(const llrt_storage *a, const llrt_storage *b, int rank,
                                    const int64_t *shape, const int64_t *strides_a,
                                    const int64_t *strides_b, bool *same) {
  LLRT_ENTRY();
  LLRT_REQUIRE(same, "same: NULL");
  *same = false;
  LLRT_TRY(llrt_storage_validate(a));
  LLRT_TRY(llrt_storage_validate(b));
  side x = {.storage = a}, y = {.storage = b};
  llrt_storage form_a, form_b;
  LLRT_TRY(llrt_storage_bind(a, rank, shape, strides_a, &x.binding));
  LLRT_TRY(llrt_storage_bind(b, rank, shape, strides_b, &y.binding));
  *same = true;
  if (x.binding.span == 0) return LLRT_OK;
  LLRT_TRY(bound_form(a, &x.binding, shape, &form_a));
  LLRT_TRY(bound_form(b, &y.binding, shape, &form_b));
  if (canonical_equal(&form_a, &form_b)) return LLRT_OK;
  return compare_places(&x, &y, rank, shape, same);
}
