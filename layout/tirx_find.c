/* Places with named axes, backward: which element lies at a place. */
#include "layout/tirx_rule.h"

#include "base/bits.h"
#include "base/status.h"

#include <string.h>

#define MAX_STEPS (1 << 16) /* of the search; without overlapping strides one for each digit */

/* A digit, or the tile (digit -1) as one digit of stride 1. */
typedef struct step {
  int digit, target;
  int64_t extent, stride;
} step;

typedef struct search {
  const llrt_storage *storage;
  const bound_shape *bound;
  int n;
  step steps[LLRT_MAX_DIGITS + 1]; /* by target, then strides falling */
  int64_t
      reach[LLRT_MAX_DIGITS + 2]; /* the largest sum of the steps from here on the same target */
  int64_t want[LLRT_MAX_TARGETS + 1]; /* what the steps of each target must add up to */
  int64_t value[LLRT_MAX_DIGITS + 1]; /* chosen: [digit], and [LLRT_MAX_DIGITS] of the tile */
  int budget;
} search;

static void add_step(search *self, int digit, int target, int64_t extent, int64_t stride) {
  int at = self->n++;
  for (; at > 0; at--) {
    const step *before = &self->steps[at - 1];
    if (before->target < target || (before->target == target && before->stride >= stride)) break;
    self->steps[at] = *before;
  }
  self->steps[at] = (step){digit, target, extent, stride};
}

static void list_steps(search *self) {
  const llrt_storage *storage = self->storage;
  const llrt_storage_binding *binding = &self->bound->binding;
  if (storage_has_tile(storage)) add_step(self, -1, 0, 1ll << storage->tile.in[0].bits, 1);
  for (int i = 0; i < storage->n_digits; i++)
    add_step(self, i, storage->digit[i].target, binding->extent[i],
             storage->digit[i].reversed ? -binding->stride[i] : binding->stride[i]);
  for (int i = self->n - 1; i >= 0; i--) {
    bool more = i + 1 < self->n && self->steps[i + 1].target == self->steps[i].target;
    self->reach[i] =
        (self->steps[i].extent - 1) * self->steps[i].stride + (more ? self->reach[i + 1] : 0);
  }
}

/* The coordinates that the chosen values make; false for one in the pads. */
static bool read_coords(const search *self, int64_t *coords) {
  const llrt_storage *storage = self->storage;
  int64_t unit[LLRT_MAX_RANK];
  uint64_t inside = 0;
  if (storage_has_tile(storage))
    inside = llrt_layout_apply_flat(&storage->tile, (uint64_t)self->value[LLRT_MAX_DIGITS]);
  for (int axis = 0; axis < storage->rank; axis++) {
    int bits = storage_tile_bits(storage, axis);
    coords[axis] = (int64_t)(inside & bits_mask(bits));
    inside = bits < 64 ? inside >> bits : 0;
    unit[axis] = 1ll << bits;
  }
  for (int i = 0; i < storage->n_digits; i++) {
    int axis = storage->digit[i].axis;
    if (axis == LLRT_AXIS_REPLICA) continue;
    int64_t extent = self->bound->binding.extent[i], value = self->value[i];
    coords[axis] += (storage->digit[i].reversed ? extent - 1 - value : value) * unit[axis];
    unit[axis] *= extent;
  }
  for (int axis = 0; axis < storage->rank; axis++)
    if (coords[axis] >= self->bound->shape[axis]) return false;
  return true;
}

static bool search_from(search *self, int at, int64_t *coords);

/* Tries each value of step `at` that leaves a sum which the later ones can reach. */
static bool try_step(search *self, int at, int64_t *coords) {
  const step *now = &self->steps[at];
  bool more = at + 1 < self->n && self->steps[at + 1].target == now->target;
  int64_t want = self->want[now->target], later = more ? self->reach[at + 1] : 0;
  int64_t low = 0, high = now->extent - 1;
  if (now->stride > 0) {
    if (want > later) low = bits_ceil_div(want - later, now->stride);
    if (high > want / now->stride) high = want / now->stride;
  }
  for (int64_t v = low; v <= high && self->budget > 0; v++) {
    self->value[now->digit < 0 ? LLRT_MAX_DIGITS : now->digit] = v;
    self->want[now->target] = want - v * now->stride;
    if (search_from(self, at + 1, coords)) return true;
  }
  self->want[now->target] = want;
  return false;
}

/* Depth is at most the number of digits plus one. */
static bool search_from(search *self, int at, int64_t *coords) {
  if (--self->budget <= 0) return false;
  if (at > 0 && (at == self->n || self->steps[at].target != self->steps[at - 1].target) &&
      self->want[self->steps[at - 1].target] != 0)
    return false;
  return at == self->n ? read_coords(self, coords) : try_step(self, at, coords);
}

/* want[] from the coordinates given: offsets taken off, the swizzle undone. False when some
 * coordinate is below its offset, or one that no digit adds to is not at it. */
static llrt_status read_place(const llrt_storage *storage, const char *const *axes,
                              const int64_t *at, int n, search *self, bool *possible) {
  for (int i = 0; i < n; i++) {
    int target = strcmp(axes[i], STORAGE_MEMORY) == 0 ? 0 : -1;
    for (int t = 0; t < storage->n_targets; t++)
      if (strcmp(axes[i], storage->target[t]) == 0) target = t + 1;
    LLRT_REQUIRE(target >= 0, "the storage has no axis %.32s", axes[i]);
    self->want[target] = at[i];
  }
  if (self->want[0] > 0)
    self->want[0] = (int64_t)storage_swizzle(&storage->swizzle, (uint64_t)self->want[0]);
  bool used[LLRT_MAX_TARGETS + 1] = {false};
  for (int i = 0; i < self->n; i++) used[self->steps[i].target] = true;
  *possible = true;
  for (int t = 0; t <= storage->n_targets; t++) {
    self->want[t] -= storage->offset[t];
    if (self->want[t] < 0 || (!used[t] && self->want[t] != 0)) *possible = false;
  }
  return LLRT_OK;
}

/* Coordinates of the storage as those of shape[rank]. */
static void from_own_axes(const llrt_storage *storage, int rank, const int64_t *shape,
                          const int64_t *own, int64_t *coords) {
  int64_t left = own[0];
  for (int axis = rank - 1; axis >= 0; axis--) {
    coords[axis] = storage->rank == 1 ? left % shape[axis] : own[axis];
    left /= shape[axis];
  }
}

llrt_status llrt_storage_find(const llrt_storage *storage, int rank, const int64_t *shape,
                              const char *const *axes, const int64_t *at, int n, bool *found,
                              int64_t *coords) {
  LLRT_ENTRY();
  LLRT_REQUIRE(found && (coords || rank == 0), "found or coords: NULL");
  LLRT_REQUIRE(n == 0 || (axes && at), "axes or at: NULL");
  *found = false;
  for (int axis = 0; axis < rank && axis < LLRT_MAX_RANK; axis++) coords[axis] = 0;
  bound_shape bound;
  LLRT_TRY(tirx_bind(storage, rank, shape, &bound));
  search self = {.storage = storage, .bound = &bound, .budget = MAX_STEPS};
  int64_t own[LLRT_MAX_RANK] = {0};
  bool possible;
  if (bound.binding.span == 0) return LLRT_OK;
  list_steps(&self);
  LLRT_TRY(read_place(storage, axes, at, n, &self, &possible));
  if (!possible) return LLRT_OK;
  *found = search_from(&self, 0, own);
  if (!*found && self.budget <= 0)
    return llrt_error(LLRT_UNSUPPORTED, "the strides overlap too much to search them");
  if (*found) from_own_axes(storage, rank, shape, own, coords);
  return LLRT_OK;
}
