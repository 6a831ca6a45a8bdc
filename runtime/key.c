#include "runtime/key.h"

#include "base/hash.h"

#include <string.h>

/* Words per tensor: storage hash 2, address 1, per axis 3 of the extent and 1 of the stride, per
 * index 1. */
#define TENSOR_WORDS (3 + 4 * LLRT_MAX_RANK + LLRT_MAX_INDICES)
#define COUNT_FACT(type, name) +1
#define HEAD_WORDS (5 + 4 DEVICE_FACTS(COUNT_FACT))
#define DOT_WORDS \
  (12 + LLRT_MAX_TENSORS * (1 + LLRT_MAX_RANK / 2)) /* numbers; per tensor type and groups */
#define MAP_WORDS (2 + sizeof(((llrt_map *)0)->perm) / 8 + LLRT_MAX_RANK) /* kind and fields */
/* Per index: two words; their number, and the axes with extents on the device. */
#define INDEX_WORDS (2 + 2 * LLRT_MAX_INDICES)

static uint64_t *put_promises(uint64_t *at, const llrt_tensor_promise *promises, int rank) {
  *at++ = (uint64_t)promises->address.multiple;
  for (int axis = 0; axis < rank; axis++) {
    *at++ = (uint64_t)promises->shape[axis].multiple;
    *at++ = (uint64_t)promises->shape[axis].min;
    *at++ = (uint64_t)promises->shape[axis].max;
    *at++ = (uint64_t)promises->stride[axis].multiple;
  }
  for (int i = 0; i < LLRT_MAX_INDICES; i++)
    *at++ = (uint64_t)promises->index[i].along << 32 | (uint64_t)promises->index[i].multiple;
  return at;
}

/* Widths where elements only move, types where values are computed. */
static uint64_t types_of(const op_description *desc) {
  llrt_dtype from = desc->tensors[0].dtype, to = desc->tensors[1].dtype;
  if (from == to && desc->n_tensors == 2 && desc->kind == LLRT_OP_CONVERT)
    return (uint64_t)llrt_dtype_bits(from);
  uint64_t scale = desc->n_tensors > 2 ? (uint64_t)desc->tensors[2].dtype : 0;
  return (uint64_t)from << 32 | (uint64_t)to << 16 | scale;
}

static uint64_t *put_map(uint64_t *at, const llrt_map *map) {
  *at++ = (uint64_t)map->kind;
  if (map->kind == LLRT_MAP_XOR) *at++ = map->constant;
  if (map->kind == LLRT_MAP_WORD_BITS) {
    memcpy(at, map->perm, sizeof map->perm);
    at += sizeof map->perm / sizeof *at;
  }
  for (int axis = 0; map->kind == LLRT_MAP_SCALE && axis < LLRT_MAX_RANK; axis++)
    *at++ = (uint64_t)map->group[axis];
  return at;
}

static uint64_t *put_indices(uint64_t *at, const storage_set *set, int tensor) {
  *at++ = (uint64_t)set->n_indices[tensor];
  *at++ = set->device_extents[tensor];
  for (int i = 0; i < set->n_indices[tensor]; i++) {
    const llrt_index *index = &set->index[tensor][i];
    *at++ = (uint64_t)index->axis | (uint64_t)index->kind << 8 |
            (uint64_t)index->out_of_range << 16 | (uint64_t)index->dtype << 24;
    *at++ = (uint64_t)index->axes | (uint64_t)index->folded << 32;
  }
  return at;
}

/* What a dot computes, and all its types. */
static uint64_t *put_dot(uint64_t *at, const op_description *desc, int rank) {
  const op_dot *dot = &desc->dot;
  *at++ = (uint64_t)dot->roles << 32 | (uint64_t)dot->accumulate << 8 |
          (uint64_t)dot->batch_invariant << 2 | (uint64_t)dot->tf32 << 1 | dot->fast_accumulate;
  *at++ = (uint64_t)dot->has_alpha << 1 | dot->has_beta; /* their numbers are the call's */
  *at++ = (uint64_t)dot->scale_range[0][0] | (uint64_t)dot->scale_range[0][1] << 8 |
          (uint64_t)dot->scale_range[1][0] << 16 | (uint64_t)dot->scale_range[1][1] << 24;
  memcpy(at, dot->word_bits, sizeof dot->word_bits);
  at += sizeof dot->word_bits / sizeof *at;
  for (int t = 0; t < desc->n_tensors; t++) {
    *at++ = (uint64_t)desc->tensors[t].dtype;
    for (int a = 0; a < rank; a += 2) {
      uint32_t second = a + 1 < rank ? (uint32_t)dot->group[t][a + 1] : 0;
      *at++ = (uint64_t)second << 32 | (uint32_t)dot->group[t][a];
    }
  }
  return at;
}

static llrt_hash key_of(const llrt_device *whose, const plan_target *target,
                        const op_description *desc, const storage_set *set) {
  uint64_t words[HEAD_WORDS + DOT_WORDS + LLRT_MAX_TENSORS * (TENSOR_WORDS + INDEX_WORDS) +
                 LLRT_MAX_MAPS * MAP_WORDS];
  uint64_t *at = words;
  *at++ = (uint64_t)(uintptr_t)whose;
#define PUT_FACT(type, name) *at++ = (uint64_t)target->facts.name;
  DEVICE_FACTS(PUT_FACT)
#undef PUT_FACT
  *at++ = (uint64_t)desc->kind << 32 | (uint64_t)desc->n_maps;
  *at++ = types_of(desc);
  *at++ = (uint64_t)desc->in_place << 63 | (uint64_t)desc->any_order << 62 |
          (uint64_t)desc->linked << 61 | (uint64_t)set->n << 32 | (uint64_t)set->rank;
  *at++ = (uint64_t)desc->combine.exclusive << 63 | (uint64_t)desc->combine.reverse << 62 |
          (uint64_t)desc->combine.op << 48 | (uint64_t)desc->combine.accumulate << 32 |
          desc->combine.axes;
  _Static_assert(sizeof target->name == 4 * sizeof *at, "the name fills four words");
  memcpy(at, target->name, sizeof target->name);
  at += 4;
  for (int i = 0; i < set->n; i++) {
    *at++ = set->hash[i].low;
    *at++ = set->hash[i].high;
    at = put_indices(at, set, i);
    at = put_promises(at, &desc->promises[i], set->rank);
  }
  for (int i = 0; i < desc->n_maps; i++) at = put_map(at, &desc->maps[i]);
  if (desc->kind == LLRT_OP_COMPUTE) {
    const llrt_hash known = desc->program_hash;
    const llrt_hash program = known.low | known.high ? known : program_hash(&desc->program);
    *at++ = program.low;
    *at++ = program.high;
    for (int i = 0; i < desc->n_tensors; i++) *at++ = (uint64_t)desc->tensors[i].dtype;
  }
  if (desc->kind == LLRT_OP_DOT) at = put_dot(at, desc, set->rank);
  return llrt_hash_bytes(words, (size_t)(at - words) * sizeof *at);
}

llrt_hash llrt_op_key(const llrt_device *device, const op_description *desc,
                      const storage_set *set) {
  return key_of(device, &device->target, desc, set);
}

llrt_hash llrt_op_target_key(const plan_target *target, const op_description *desc,
                             const storage_set *set) {
  return key_of(NULL, target, desc, set);
}
