/* Drawing cases: meshes, splits and storages of any kind that a convert takes. */
#include "tests/reshard/reshard_case.h"

#include <stdio.h>
#include <string.h>

/* A mesh of up to `most` devices, which need not begin at 0. */
static void draw_mesh(random_source *source, int most, llrt_mesh *mesh) {
  static const char names[3][4] = {"dp", "cp", "tp"};
  int devices = 1;
  *mesh = (llrt_mesh){.n_axes = 1 + random_below(source, 3)};
  for (int i = 0; i < mesh->n_axes; i++) {
    int room = most / devices,
        size = random_below(source, 3) ? room : 1 + random_below(source, room);
    if (i + 1 < mesh->n_axes && size > 2 && random_below(source, 2)) size = 2;
    mesh->size[i] = size;
    devices *= size;
    strcpy(mesh->name[i], names[i]);
  }
  mesh->first = random_below(source, most - devices + 1);
}

static void draw_splits(random_source *source, bool sums, llrt_sharding *s) {
  int order[LLRT_MAX_MESH_AXES] = {0, 1, 2};
  for (int i = s->mesh.n_axes - 1; i > 0; i--) {
    int j = random_below(source, i + 1), t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  for (int i = 0; i < s->mesh.n_axes; i++) {
    int what = random_below(source, 6);
    if (what == 0 && sums) s->partial |= 1ull << order[i];
    else if (what > 1 && s->rank > 0)
      s->split[s->n_splits++] =
          (llrt_split){.mesh_axis = order[i], .axis = random_below(source, s->rank)};
  }
}

/* Bits of some axes, in any order, perhaps with sums of them. */
static void draw_tile(random_source *source, llrt_storage *storage) {
  int bits[LLRT_MAX_RANK] = {0}, n = 0, column = 0;
  for (int axis = 0; axis < storage->rank; axis++) n += bits[axis] = random_below(source, 3);
  if (n == 0) return;
  storage->tile = llrt_layout_empty();
  llrt_layout_add_in(&storage->tile, "offset", n);
  for (int axis = 0; axis < storage->rank; axis++) {
    char name[16];
    snprintf(name, sizeof name, "dim%d", axis);
    llrt_layout_add_out(&storage->tile, name, bits[axis]);
  }
  for (int i = 0; i < n; i++) storage->tile.column[i] = 1ull << i;
  for (int i = n - 1; i > 0; i--) {
    int j = random_below(source, i + 1);
    uint64_t t = storage->tile.column[i];
    storage->tile.column[i] = storage->tile.column[j];
    storage->tile.column[j] = t;
  }
  for (; random_below(source, 3) == 0 && n > 1; column++) {
    int i = random_below(source, n), j = random_below(source, n);
    if (i != j) storage->tile.column[i] ^= storage->tile.column[j];
  }
}

/* Digits of all axes in a random order, each axis's own in its order, packed. */
static void draw_digits(random_source *source, llrt_storage *storage) {
  int left[LLRT_MAX_RANK], open = storage->rank;
  for (int axis = 0; axis < storage->rank; axis++)
    left[axis] = random_below(source, 3) ? 1 : 1 + random_below(source, 2);
  while (open > 0) {
    int axis = random_below(source, storage->rank);
    if (left[axis] == 0) continue;
    llrt_digit *digit = &storage->digit[storage->n_digits++];
    *digit = (llrt_digit){.axis = axis, .stride = LLRT_STRIDE_PACKED};
    digit->extent = --left[axis] ? 2 + random_below(source, 3) : LLRT_EXTENT_REST;
    digit->reversed = random_below(source, 12) == 0;
    open -= left[axis] == 0;
  }
}

static void draw_storage(random_source *source, int rank, llrt_storage *storage) {
  *storage = (llrt_storage){.rank = rank};
  int kind = random_below(source, 6);
  if (kind == 0) llrt_storage_row_major(rank, storage);
  if (kind == 1) llrt_storage_col_major(rank, storage);
  if (kind < 2) return;
  if (random_below(source, 3) == 0) draw_tile(source, storage);
  draw_digits(source, storage);
  if (random_below(source, 8) == 0 && storage->n_digits < 8) {
    llrt_digit copies = {.axis = LLRT_AXIS_REPLICA, .extent = 2, .stride = LLRT_STRIDE_PACKED};
    storage->digit[storage->n_digits++] = copies;
  }
  if (random_below(source, 8) == 0) storage->offset[0] = 8 * (1 + random_below(source, 3));
  if (random_below(source, 10) == 0) storage->swizzle = (llrt_swizzle){1, 1, 2, 0};
  storage->pad = random_below(source, 2) ? LLRT_PAD_KEEP : LLRT_PAD_VALUE;
  if (storage->pad == LLRT_PAD_VALUE) storage->pad_value = 5;
}

static void draw_types(random_source *source, bool sums, reshard_case *c) {
  static const llrt_dtype plain[] = {LLRT_B8, LLRT_B16, LLRT_B32, LLRT_B64, LLRT_B4};
  static const llrt_dtype numbers[] = {LLRT_F32, LLRT_BF16, LLRT_I32, LLRT_F64, LLRT_I16};
  if (sums || random_below(source, 4) == 0) {
    c->from = numbers[random_below(source, 5)];
    c->to = numbers[random_below(source, 5)];
    return;
  }
  c->from = c->to = plain[random_below(source, 5)];
  if (random_below(source, 6) == 0) c->flip = 1 + (uint64_t)random_below(source, 15);
}

static void draw_side(random_source *source, const reshard_case *c, int rank, bool sums,
                      llrt_sharding *s) {
  *s = (llrt_sharding){.rank = rank};
  draw_mesh(source, c->ranks, &s->mesh);
  draw_splits(source, sums, s);
  draw_storage(source, rank, &s->storage);
}

/* ---- scales ---- */

/* A case with numbers that are exact in all of these types: 0 to 3 times a power of two. */
static void draw_scales(random_source *source, reshard_case *c) {
  static const llrt_dtype numbers[] = {LLRT_F32,  LLRT_BF16, LLRT_F16, LLRT_E4M3, LLRT_E5M2,
                                       LLRT_E2M1, LLRT_I8,   LLRT_F64, LLRT_I32};
  static const llrt_dtype scales[] = {LLRT_F32,  LLRT_BF16, LLRT_F16,
                                      LLRT_E4M3, LLRT_E5M2, LLRT_E8M0};
  static const int64_t groups[] = {0, 1, 2, 3, 4, 5, 8, LLRT_GROUP_ALL};
  bool sums = c->source.partial != 0 || c->destination.partial != 0;
  c->scaled = true;
  c->flip = 0;
  if (!sums) c->from = numbers[random_below(source, 9)];
  if (!sums) c->to = numbers[random_below(source, 9)];
  c->scale_dtype = scales[random_below(source, 6)];
  for (int axis = 0; axis < c->source.rank; axis++)
    c->group[axis] = groups[random_below(source, 8)];
  draw_side(source, c, c->source.rank, false, &c->scale);
  if (c->destination.storage.pad == LLRT_PAD_VALUE && random_below(source, 8))
    c->destination.storage.pad_value = 0;
}

void reshard_case_scale_shape(const reshard_case *c, int64_t *shape) {
  for (int axis = 0; axis < c->source.rank; axis++) {
    int64_t group = c->group[axis] ? c->group[axis] : 1;
    shape[axis] = group == LLRT_GROUP_ALL ? 1 : (c->shape[axis] + group - 1) / group;
  }
}

/* Of destinations that are dense in most cases, or none would have whole words. */
static void draw_permutation(random_source *source, reshard_case *c) {
  c->permuted = true;
  for (int i = 0; i < 32; i++) c->perm[i] = (uint8_t)i;
  for (int i = 31; i > 0; i--) {
    int j = random_below(source, i + 1);
    uint8_t t = c->perm[i];
    c->perm[i] = c->perm[j];
    c->perm[j] = t;
  }
  if (random_below(source, 4)) c->destination.storage.pad = LLRT_PAD_KEEP;
  if (c->destination.storage.pad == LLRT_PAD_KEEP) c->destination.storage.pad_value = 0;
}

/* ---- strides that a run brings ---- */

/* The outer digits, each of another axis, become RUN-TIME. */
static bool open_digits(random_source *source, llrt_storage *storage) {
  uint32_t seen = 0;
  int open = 0;
  for (int i = storage->n_digits - 1; i >= 0; i--) {
    llrt_digit *digit = &storage->digit[i];
    if (digit->axis < 0 || seen >> digit->axis & 1 || (open && random_below(source, 3) == 0)) break;
    digit->stride = LLRT_STRIDE_RUNTIME;
    digit->reversed = false;
    seen |= 1u << digit->axis;
    open++;
  }
  return open > 0;
}

/* Strides that keep a part's digits apart, with gaps. */
static void draw_strides(random_source *source, const llrt_sharding *s, const int64_t *shape,
                         int rank, int64_t *strides) {
  llrt_part part;
  llrt_storage packed = s->storage;
  llrt_storage_binding binding;
  int64_t below[LLRT_MAX_RANK], span = 0;
  for (int axis = 0; axis < s->rank; axis++)
    below[axis] = s->storage.tile.n_in ? 1ll << s->storage.tile.out[axis].bits : 1;
  for (int i = 0; i < packed.n_digits; i++) packed.digit[i].stride = LLRT_STRIDE_PACKED;
  if (llrt_sharding_part(s, shape, rank, &part) != LLRT_OK ||
      llrt_storage_bind(&packed, s->rank, part.extent, NULL, &binding) != LLRT_OK)
    return;
  for (int i = 0; i < packed.n_digits; i++) {
    int axis = packed.digit[i].axis;
    if (axis < 0) continue;
    if (s->storage.digit[i].stride == LLRT_STRIDE_RUNTIME) {
      if (span == 0) span = binding.stride[i];
      strides[axis] = (span + below[axis] - 1) / below[axis] + random_below(source, 3);
      span += (binding.extent[i] - (binding.extent[i] > 0)) * strides[axis] * below[axis];
    }
    below[axis] *= binding.extent[i];
  }
}

static void draw_open(random_source *source, reshard_case *c) {
  llrt_sharding *side[2] = {&c->source, &c->destination};
  for (int i = 0; i < 2; i++) {
    c->brought[i] = 1;
    if (c->indexed[i] >= 0 || random_below(source, 2) || !open_digits(source, &side[i]->storage))
      continue;
    uint64_t seed = random_bits(source); /* parts of equal extents have equal strides */
    for (int64_t r = 0; r < llrt_mesh_devices(&side[i]->mesh); r++) {
      random_source again = {.state = seed};
      int rank = side[i]->mesh.first + (int)r;
      draw_strides(&again, side[i], c->shape, rank, c->strides[i][rank]);
    }
    if (c->source.partial == 0) c->brought[i] = random_below(source, 2) ? 3 : 1;
  }
}

/* ---- indices ---- */

static void draw_index(random_source *source, int side, reshard_case *c) {
  c->indexed[side] = random_below(source, c->source.rank);
  c->pool[side] = c->shape[c->indexed[side]] + random_below(source, 5);
  int other = random_below(source, c->source.rank);
  c->across[side] = other == c->indexed[side] ? -1 : other;
}

int64_t reshard_case_value(const reshard_case *c, int side, int rank, const llrt_part *part,
                           const int64_t *local) {
  int axis = c->indexed[side], across = c->across[side];
  int64_t x = local[axis], y = across < 0 ? 0 : local[across];
  int64_t whole_x = part->begin[axis] + x, whole_y = across < 0 ? 0 : part->begin[across] + y;
  uint64_t hash = (uint64_t)(whole_x * 131 + whole_y * 31 + side) * 0x9e3779b97f4a7c15ull;
  if (hash >> 60 == 0) return -1; /* the same on all ranks that have the element */
  return (x + 3 * rank + 5 * y) % c->pool[side];
}

/* What came later is drawn from a source of its own: cases stay what they are. */
static void draw_more(uint64_t seed, reshard_case *c) {
  random_source own = {.state = seed * 0x9e3779b97f4a7c15ull + 1};
  random_below(&own, 2);
  c->access = random_below(&own, 3);
  if (random_below(&own, 3) == 0) draw_scales(&own, c);
  if (random_below(&own, 10) == 0) draw_permutation(&own, c);
  c->indexed[0] = c->indexed[1] = -1;
  bool plain = !c->permuted && !c->source.partial && !c->destination.partial;
  for (int side = 0; side < 2 && plain && c->source.rank > 0; side++)
    if (random_below(&own, 8) == 0) draw_index(&own, side, c);
  c->brought[0] = c->brought[1] = 1;
  if (random_below(&own, 4) == 0) draw_open(&own, c);
  if (random_below(&own, 4) == 0) c->saved = (unsigned)random_below(&own, 1 << RESHARD_MAX_RANKS);
}

void reshard_case_draw(random_source *source, reshard_case *c) {
  static const int sizes[] = {2, 3, 4, 6, 8};
  int rank = random_below(source, 20) ? 1 + random_below(source, 3) : 0;
  bool sums = random_below(source, 5) == 0;
  *c = (reshard_case){.ranks = sizes[random_below(source, 5)]};
  for (int axis = 0; axis < rank; axis++)
    c->shape[axis] =
        random_below(source, 3) ? 8 << random_below(source, 2) : random_below(source, 20);
  draw_side(source, c, rank, sums, &c->source);
  draw_side(source, c, rank, sums, &c->destination);
  draw_types(source, (c->source.partial | c->destination.partial) != 0, c);
  c->parts = 1 + (int)((source->state >> 20) % 4); /* takes no number: cases stay what they are */
  draw_more(source->state, c);
}

void reshard_case_print(const reshard_case *c, char *text, size_t size) {
  char side[2][1500];
  size_t length, used = 0;
  llrt_sharding_print(&c->source, side[0], sizeof side[0], &length);
  llrt_sharding_print(&c->destination, side[1], sizeof side[1], &length);
  used += (size_t)snprintf(text, size, "%d ranks, ", c->ranks);
  for (int axis = 0; axis < c->source.rank; axis++)
    used += (size_t)snprintf(text + used, size - used, "%s%lld", axis ? "x" : "",
                             (long long)c->shape[axis]);
  used += (size_t)snprintf(
      text + used, size - used, " %s -> %s flip %llx%s parts %d access %d saved %x\n  %s\n  %s",
      llrt_dtype_name(c->from), llrt_dtype_name(c->to), (unsigned long long)c->flip,
      c->permuted ? " words" : "", c->parts, c->access, c->saved, side[0], side[1]);
  for (int i = 0; i < 2; i++)
    if (c->indexed[i] >= 0)
      used += (size_t)snprintf(text + used, size - used, "\n  %s: index on %d across %d, pool %lld",
                               i ? "destination" : "source", c->indexed[i], c->across[i],
                               (long long)c->pool[i]);
  if (!c->scaled) return;
  llrt_sharding_print(&c->scale, side[0], sizeof side[0], &length);
  used += (size_t)snprintf(text + used, size - used, "\n  scales %s, a group",
                           llrt_dtype_name(c->scale_dtype));
  for (int axis = 0; axis < c->source.rank; axis++)
    used += (size_t)snprintf(text + used, size - used, " %lld", (long long)c->group[axis]);
  snprintf(text + used, size - used, ": %s", side[0]);
}
