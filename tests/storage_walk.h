/* Every place that a bound storage has, one after the other, with the logical coordinate that lies
 * there: all copies, and pads as coordinates outside the shape. Straight from the definition,
 * forward only, over the public API: the reference that planning is tested against. */
#ifndef LLRT_TESTS_STORAGE_WALK_H
#define LLRT_TESTS_STORAGE_WALK_H

#include <llrt/storage.h>

#include <string.h>

typedef struct storage_walk {
  const llrt_storage *storage;
  const llrt_storage_binding *binding;
  int64_t tile;                      /* offset inside the tile */
  int64_t position[LLRT_MAX_DIGITS]; /* of each digit */
  int64_t coords[LLRT_MAX_RANK];     /* the result */
  int64_t place;
} storage_walk;

static inline void storage_walk_evaluate(storage_walk *walk) {
  const llrt_storage *storage = walk->storage;
  int64_t below[LLRT_MAX_RANK]; /* positions of each axis below the next digit */
  uint64_t inside = 0;
  if (storage->tile.n_in) inside = llrt_layout_apply_flat(&storage->tile, (uint64_t)walk->tile);
  for (int axis = 0, shift = 0; axis < storage->rank; axis++) {
    int bits = storage->tile.n_out ? storage->tile.out[axis].bits : 0;
    below[axis] = (int64_t)1 << bits;
    walk->coords[axis] = (int64_t)(inside >> shift & (((uint64_t)1 << bits) - 1));
    shift += bits;
  }
  walk->place = walk->binding->origin[0] + walk->tile;
  for (int i = 0; i < storage->n_digits; i++) {
    int axis = storage->digit[i].axis;
    walk->place += walk->position[i] * walk->binding->stride[i];
    if (axis < 0) continue;
    walk->coords[axis] += walk->position[i] * below[axis];
    below[axis] *= walk->binding->extent[i];
  }
  const llrt_swizzle *z = &storage->swizzle;
  uint64_t mask = (((uint64_t)1 << z->swizzle_len) - 1) << z->per_element;
  uint64_t place = (uint64_t)walk->place;
  walk->place ^= (int64_t)(z->upward ? (place & mask) << z->atom_len : place >> z->atom_len & mask);
}

static inline void storage_walk_begin(storage_walk *walk, const llrt_storage *storage,
                                      const llrt_storage_binding *binding) {
  memset(walk, 0, sizeof *walk);
  walk->storage = storage;
  walk->binding = binding;
  storage_walk_evaluate(walk);
}

/* To the next place; false after the last. Precondition: the tensor is not empty. */
static inline bool storage_walk_next(storage_walk *walk) {
  int bits = 0, i = 0;
  for (int in = 0; in < walk->storage->tile.n_in; in++) bits += walk->storage->tile.in[in].bits;
  if (++walk->tile == (int64_t)1 << bits) {
    walk->tile = 0;
    while (i < walk->storage->n_digits && ++walk->position[i] == walk->binding->extent[i])
      walk->position[i++] = 0;
    if (i == walk->storage->n_digits) return false;
  }
  storage_walk_evaluate(walk);
  return true;
}

/* Whether the coordinate lies inside the shape: no pad. */
static inline bool storage_walk_is_element(const storage_walk *walk, const int64_t *shape) {
  for (int axis = 0; axis < walk->storage->rank; axis++)
    if (walk->coords[axis] >= shape[axis]) return false;
  return true;
}

#endif
