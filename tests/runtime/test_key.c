/* What makes two descriptions different: every field that a kernel follows from is changed alone,
 * by its lowest bit, and the cache's key, the key of the set of storages and the bytes of a saved
 * description must be others. A field that one of them left out would give one operation the kernel
 * of another. */
#include "base/hash.h"
#include "runtime/described.h"
#include "runtime/description_bytes.h"
#include "runtime/key.h"

#include <criterion/criterion.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { RANK = 4, INDICES = 2 };

/* ---- descriptions that have a bit of everything ---- */

typedef struct base {
  const char *name;
  op_description desc;
  storage_set set;
  llrt_storage storage[LLRT_MAX_TENSORS];
  llrt_index index[LLRT_MAX_TENSORS][LLRT_MAX_INDICES];
} base;

static struct llrt_device *the_device(void) {
  static struct llrt_device device;
  memcpy(device.target.name, "x86-64-v3", sizeof "x86-64-v3");
  device.target.facts.shared_bytes = 96 << 10;
  return &device;
}

static void make_base(const char *name, llrt_op_kind kind, int n_tensors, base *made) {
  static const int32_t somewhere = 0;
  memset(made, 0, sizeof *made);
  made->name = name;
  made->desc = (op_description){.kind = kind, .n_tensors = n_tensors};
  for (int t = 0; t < n_tensors; t++) {
    cr_assert_eq(llrt_storage_parse("row_major", RANK, NULL, &made->storage[t]), LLRT_OK);
    made->desc.tensors[t] =
        (llrt_tensor){.dtype = LLRT_F32, .rank = RANK, .storage = &made->storage[t]};
  }
  for (int i = 0; kind == LLRT_OP_CONVERT && i < INDICES; i++)
    made->index[0][i] =
        (llrt_index){.axis = i + 1, .kind = LLRT_INDEX_COORDINATE, .dtype = LLRT_I32, .axes = 8u};
  if (kind == LLRT_OP_CONVERT) {
    made->desc.tensors[0].indices = made->index[0];
    made->desc.tensors[0].n_indices = INDICES;
    made->desc.tensors[0].extent_ptr[0] = &somewhere;
  }
  if (kind == LLRT_OP_DOT) made->desc.dot.roles = (1u << n_tensors) - 1;
}

/* Behind what a caller put into desc and index. */
static void finish_base(base *made) {
  cr_assert_eq(llrt_storage_set_init(made->desc.tensors, made->desc.n_tensors, made->desc.dot.roles,
                                     &made->set),
               LLRT_OK, "%s: %s", made->name, llrt_last_error());
}

static void make_map(base *made, llrt_map_kind kind) {
  llrt_map *map = &made->desc.maps[made->desc.n_maps++];
  map->kind = kind;
  for (int i = 0; i < 32; i++) map->perm[i] = (uint8_t)i;
}

/* ---- what follows from a description ---- */

typedef struct marks {
  llrt_hash key, bytes;
} marks;

static llrt_hash hash_text(const llrt_text *text) {
  return llrt_hash_bytes(text->data, text->length);
}

static marks marks_of(const op_description *desc, const storage_set *set) {
  llrt_text text;
  llrt_text_init(&text);
  llrt_description_write(&text, desc, set);
  marks made = {llrt_op_key(the_device(), desc, set), hash_text(&text)};
  llrt_text_fini(&text);
  return made;
}

enum { IN_KEY = 1, IN_BYTES = 2, IN_BOTH = 3 };

static void expect_marks(const base *of, marks changed, int in, const char *field) {
  marks before = marks_of(&of->desc, &of->set);
  cr_expect_eq(!llrt_hash_equal(before.key, changed.key), in & IN_KEY ? 1 : 0,
               "%s: the key with another %s is %s", of->name, field,
               in & IN_KEY ? "the same" : "another");
  cr_expect_eq(!llrt_hash_equal(before.bytes, changed.bytes), in & IN_BYTES ? 1 : 0,
               "%s: the bytes with another %s are %s", of->name, field,
               in & IN_BYTES ? "the same" : "others");
}

/* Little-endian: the lowest bit of a number of any width. */
static void change(void *field) { *(unsigned char *)field ^= 1; }

static void change_desc(const base *of, size_t offset, int in, const char *field) {
  op_description desc = of->desc;
  change((char *)&desc + offset);
  expect_marks(of, marks_of(&desc, &of->set), in, field);
}

static void change_set(const base *of, size_t offset, int in, const char *field) {
  storage_set set = of->set;
  change((char *)&set + offset);
  expect_marks(of, marks_of(&of->desc, &set), in, field);
}

#define DESC(field) change_desc(of, offsetof(op_description, field), IN_BOTH, #field)
#define DESC_NOT(field) change_desc(of, offsetof(op_description, field), 0, #field)
#define SET(field) change_set(of, offsetof(storage_set, field), IN_BOTH, #field)

/* ---- fields ---- */

/* A number of the array element [t][i] of a promise. */
static void change_promise(const base *of, int t, size_t offset, int in, const char *what, int i) {
  char field[80];
  snprintf(field, sizeof field, "promises[%d].%s of %d", t, what, i);
  change_desc(of,
              offsetof(op_description, promises) + (size_t)t * sizeof(llrt_tensor_promise) + offset,
              in, field);
}

#define PROMISE(member, array, i, in) \
  change_promise(of, t, offsetof(llrt_tensor_promise, member) + (size_t)(i) * sizeof(array), in, \
                 #member, i)

static void promises_count(const base *of) {
  for (int t = 0; t < of->desc.n_tensors; t++) {
    PROMISE(address.multiple, int64_t, 0, IN_BOTH);
    for (int axis = 0; axis <= RANK; axis++) {
      const int in = axis < RANK ? IN_BOTH : 0; /* there is no such axis */
      PROMISE(shape[0].multiple, llrt_promise, axis, in);
      PROMISE(shape[0].min, llrt_promise, axis, in);
      PROMISE(shape[0].max, llrt_promise, axis, in);
      PROMISE(stride[0].multiple, llrt_promise, axis, in);
    }
    for (int i = 0; i < of->set.n_indices[t]; i++) {
      PROMISE(index[0].along, llrt_index_promise, i, IN_BOTH);
      PROMISE(index[0].multiple, llrt_index_promise, i, IN_BOTH);
    }
  }
}

/* What every description has; a rule counts in the key by its hash, in the bytes by its fields. */
static void everything_has(const base *of) {
  DESC(kind);
  DESC(in_place);
  for (int t = 0; t < of->desc.n_tensors; t++) {
    char field[40];
    snprintf(field, sizeof field, "hash[%d]", t);
    change_set(of, offsetof(storage_set, hash) + (size_t)t * sizeof(llrt_hash), IN_KEY, field);
    change_set(of, offsetof(storage_set, hash) + (size_t)t * sizeof(llrt_hash) + 8, IN_KEY, field);
    snprintf(field, sizeof field, "storage[%d]", t);
    change_set(of,
               offsetof(storage_set, storage) + (size_t)t * sizeof(llrt_storage) +
                   offsetof(llrt_storage, pad),
               IN_BYTES, field);
    snprintf(field, sizeof field, "device_extents[%d]", t);
    change_set(of, offsetof(storage_set, device_extents) + (size_t)t * 4, IN_BOTH, field);
  }
  promises_count(of);
}

/* Types whose values are computed with. */
static void types_count(const base *of) {
  for (int t = 0; t < of->desc.n_tensors; t++) {
    char field[40];
    snprintf(field, sizeof field, "dtype of tensor %d", t);
    change_desc(of,
                offsetof(op_description, tensors) + (size_t)t * sizeof(llrt_tensor) +
                    offsetof(llrt_tensor, dtype),
                IN_BOTH, field);
  }
}

static void combine_counts(const base *of) {
  DESC(combine.op);
  DESC(combine.accumulate);
  DESC(combine.axes);
  DESC(combine.exclusive);
  DESC(combine.reverse);
}

static void dot_counts(const base *of) {
  DESC(dot.roles);
  DESC(dot.has_alpha);
  DESC(dot.has_beta);
  DESC(dot.accumulate);
  DESC(dot.tf32);
  DESC(dot.fast_accumulate);
  DESC(dot.batch_invariant);
  for (size_t i = 0; i < sizeof of->desc.dot.scale_range; i++)
    change_desc(of, offsetof(op_description, dot.scale_range) + i, IN_BOTH, "dot.scale_range");
  for (size_t i = 0; i < sizeof of->desc.dot.word_bits; i++)
    change_desc(of, offsetof(op_description, dot.word_bits) + i, IN_BOTH, "dot.word_bits");
  for (int t = 0; t < of->desc.n_tensors; t++)
    for (int a = 0; a < RANK; a++) {
      char field[40];
      snprintf(field, sizeof field, "dot.group[%d][%d]", t, a);
      change_desc(of, offsetof(op_description, dot.group) + (size_t)(t * LLRT_MAX_RANK + a) * 4,
                  IN_BOTH, field);
    }
}

static void indices_count(const base *of) {
  for (int i = 0; i < INDICES; i++) {
    const size_t at = offsetof(storage_set, index) + (size_t)i * sizeof(llrt_index);
    change_set(of, at + offsetof(llrt_index, axis), IN_BOTH, "an index's axis");
    change_set(of, at + offsetof(llrt_index, kind), IN_BOTH, "an index's kind");
    change_set(of, at + offsetof(llrt_index, out_of_range), IN_BOTH, "an index's out_of_range");
    change_set(of, at + offsetof(llrt_index, dtype), IN_BOTH, "an index's dtype");
    change_set(of, at + offsetof(llrt_index, axes), IN_BOTH, "an index's axes");
    change_set(of, at + offsetof(llrt_index, folded), IN_BOTH, "an index's folded axes");
  }
  SET(n_indices);
}

Test(key, reduce_and_scan) {
  static base made;
  for (int kind = LLRT_OP_REDUCE; kind <= LLRT_OP_SCAN; kind++) {
    const base *of = &made;
    make_base(kind == LLRT_OP_REDUCE ? "reduce" : "scan", (llrt_op_kind)kind,
              kind == LLRT_OP_REDUCE ? 3 : 2, &made);
    made.desc.combine =
        (llrt_op_combine){.op = LLRT_COMBINE_SUM, .accumulate = LLRT_F32, .axes = 2};
    finish_base(&made);
    everything_has(of);
    types_count(of);
    combine_counts(of);
    DESC_NOT(dot.has_alpha);
  }
}

Test(key, dot) {
  static base made;
  const base *of = &made;
  make_base("dot", LLRT_OP_DOT, LLRT_MAX_TENSORS, &made);
  finish_base(&made);
  everything_has(of);
  types_count(of);
  dot_counts(of);
}

Test(key, convert_with_indices) {
  static base made;
  const base *of = &made;
  make_base("convert with indices", LLRT_OP_CONVERT, 2, &made);
  finish_base(&made);
  everything_has(of);
  indices_count(of);
  DESC_NOT(dot.has_alpha);
  DESC_NOT(maps[0].constant); /* there are none */
}

/* Elements that only move are of a width. */
Test(key, moves_have_no_type) {
  static base made;
  make_base("move", LLRT_OP_CONVERT, 2, &made);
  finish_base(&made);
  op_description desc = made.desc;
  desc.tensors[0].dtype = desc.tensors[1].dtype = LLRT_I32;
  cr_expect(llrt_hash_equal(llrt_op_key(the_device(), &desc, &made.set),
                            marks_of(&made.desc, &made.set).key));
  desc.tensors[1].dtype = LLRT_F32;
  cr_expect(!llrt_hash_equal(llrt_op_key(the_device(), &desc, &made.set),
                             marks_of(&made.desc, &made.set).key),
            "a cast");
  desc.tensors[0].dtype = desc.tensors[1].dtype = LLRT_BF16;
  cr_expect(!llrt_hash_equal(llrt_op_key(the_device(), &desc, &made.set),
                             marks_of(&made.desc, &made.set).key),
            "16 bits");
}

Test(key, maps) {
  static base made;
  const base *of = &made;
  make_base("maps", LLRT_OP_CONVERT, 3, &made);
  make_map(&made, LLRT_MAP_SCALE);
  make_map(&made, LLRT_MAP_XOR);
  make_map(&made, LLRT_MAP_WORD_BITS);
  finish_base(&made);
  everything_has(of);
  types_count(of);
  DESC(maps[0].kind);
  DESC(maps[1].kind);
  DESC(maps[2].kind);
  DESC(maps[1].constant);
  for (int i = 0; i < 32; i++)
    change_desc(of, offsetof(op_description, maps[2].perm) + (size_t)i, IN_BOTH, "maps[2].perm");
  for (int a = 0; a < RANK; a++)
    change_desc(
        of, offsetof(op_description, maps[0].group) + (size_t)a * sizeof made.desc.maps[0].group[0],
        IN_BOTH, "maps[0].group");
  DESC_NOT(maps[0].constant);
  DESC_NOT(maps[1].perm);
  DESC_NOT(maps[2].group);
}

Test(key, devices) {
  static base made;
  make_base("devices", LLRT_OP_CONVERT, 2, &made);
  finish_base(&made);
  static struct llrt_device device, other;
  device = *the_device();
  llrt_hash first = llrt_op_key(&device, &made.desc, &made.set);
  cr_expect(llrt_hash_equal(first, llrt_op_key(&device, &made.desc, &made.set)));
  other = device;
  cr_expect(!llrt_hash_equal(first, llrt_op_key(&other, &made.desc, &made.set)), "another device");
#define CHANGE_FACT(type, name) \
  device.target.facts.name ^= 1; \
  cr_expect(!llrt_hash_equal(first, llrt_op_key(&device, &made.desc, &made.set)), "other " #name); \
  device.target.facts.name ^= 1;
  DEVICE_FACTS(CHANGE_FACT)
#undef CHANGE_FACT
  device.target.name[0] ^= 1;
  cr_expect(!llrt_hash_equal(first, llrt_op_key(&device, &made.desc, &made.set)), "another target");
}

/* ---- sets of storages ---- */

static llrt_hash set_key(const base *of) {
  llrt_hash key;
  cr_assert_eq(llrt_storage_set_key(of->desc.tensors, of->desc.n_tensors, of->desc.dot.roles, &key),
               LLRT_OK);
  return key;
}

/* Of what a set is kept by: everything as it is written. `part` is the made base's own. */
static void change_part(base *made, void *part, bool counts, const char *field) {
  llrt_hash before = set_key(made);
  change(part);
  cr_expect_eq(!llrt_hash_equal(before, set_key(made)), counts, "the set's key with another %s",
               field);
  change(part);
}

#define STORAGE(t, field) \
  change_part(&made, &made.storage[t].field, true, "storage[" #t "]." #field)
#define INDEX(field, counts) change_part(&made, &made.index[0][1].field, counts, "index's " #field)

Test(key, sets) {
  static base made;
  static const int64_t shape[RANK] = {16, 16, 16, 16};
  make_base("set", LLRT_OP_CONVERT, 2, &made);
  cr_assert_eq(
      llrt_storage_parse("{offset: [[1,0,0,0],[0,1,0,0]]} -> [dim0:2, dim1:2, dim2:1, dim3:1]",
                         RANK, shape, &made.storage[1]),
      LLRT_OK, "%s", llrt_last_error());
  STORAGE(0, digit[0].extent);
  STORAGE(0, digit[0].stride);
  STORAGE(0, digit[0].axis);
  STORAGE(0, digit[0].target);
  STORAGE(0, digit[0].reversed);
  STORAGE(0, swizzle.per_element);
  STORAGE(0, swizzle.swizzle_len);
  STORAGE(0, swizzle.atom_len);
  STORAGE(0, swizzle.upward);
  STORAGE(0, pad);
  STORAGE(0, pad_value);
  STORAGE(0, offset[0]);
  STORAGE(1, tile.column[0]);
  STORAGE(1, tile.in[0].name);
  STORAGE(1, tile.out[1].name);
  INDEX(axis, true);
  INDEX(kind, true);
  INDEX(out_of_range, true);
  INDEX(dtype, true);
  INDEX(axes, true);
  INDEX(folded, true);
  INDEX(extent, false);
  INDEX(strides[0], false);
  llrt_hash before = set_key(&made);
  made.desc.tensors[0].extent_ptr[0] = NULL;
  cr_expect(!llrt_hash_equal(before, set_key(&made)), "an extent on the device");
  before = set_key(&made);
  made.desc.tensors[0].n_indices = 1;
  cr_expect(!llrt_hash_equal(before, set_key(&made)), "the number of indices");
}
