/* Rules that are equal but written differently, in one context: whichever comes first makes the
 * kernels, and the other one's calls share them. Every conversion is compared with the definition
 * of the rule, guards included. */
#include "runtime/described.h"
#include "tests/layout/layout_text.h"
#include "tests/open_device.h"
#include "tests/storage_walk.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const devices[] = {"host", "cuda-emu:sm_80", "cuda-emu:sm_90a",
                                      "hip-emu:gfx90a"};

#define GUARD 64 /* bytes before and behind a destination */
#define MOST_ELEMENTS 16384
#define LARGE_EXTENT \
  1024 /* from here on one-line calls leave an extent open, and with it strides */

/* ---- rules in other words ---- */

static void insert(llrt_storage *rule, int at, llrt_digit digit) {
  memmove(&rule->digit[at + 1], &rule->digit[at], sizeof digit * (size_t)(rule->n_digits++ - at));
  rule->digit[at] = digit;
}

/* A digit of a x b positions as one of a and one of b. */
static void split_one(random_source *source, llrt_storage *rule,
                      const llrt_storage_binding *binding) {
  int i = random_below(source, rule->n_digits), factor = 2 + random_below(source, 3);
  llrt_digit *digit = &rule->digit[i];
  if (digit->extent == LLRT_EXTENT_REST || digit->extent % factor ||
      digit->stride == LLRT_STRIDE_RUNTIME)
    return;
  llrt_digit outer = *digit;
  digit->extent = factor;
  outer.extent /= factor;
  if (outer.stride != LLRT_STRIDE_PACKED || digit->reversed) {
    digit->stride = llabs(binding->stride[i]);
    outer.stride = digit->stride * factor;
  }
  insert(rule, i + 1, outer);
}

/* A position that moves nothing, where it pads nothing. */
static void add_one_position(random_source *source, llrt_storage *rule,
                             const llrt_storage_binding *binding) {
  int axis = random_below(source, rule->rank + 1) - 1,
      at = random_below(source, rule->n_digits + 1);
  int64_t stride = at < rule->n_digits && random_below(source, 2) ? llabs(binding->stride[at])
                                                                  : LLRT_STRIDE_PACKED;
  for (int i = 0; i < at && axis >= 0; i++)
    if (rule->digit[i].axis == axis && rule->digit[i].extent == LLRT_EXTENT_REST) return;
  insert(rule, at,
         (llrt_digit){
             .extent = 1, .stride = stride, .axis = axis, .reversed = random_below(source, 2)});
}

/* PACKED as the number that it is on this shape. */
static void number_one(random_source *source, llrt_storage *rule,
                       const llrt_storage_binding *binding) {
  int i = random_below(source, rule->n_digits);
  if (rule->digit[i].stride == LLRT_STRIDE_PACKED)
    rule->digit[i].stride = llabs(binding->stride[i]);
}

static void swap_two(random_source *source, llrt_storage *rule) {
  if (rule->n_digits < 2) return;
  int i = random_below(source, rule->n_digits - 1);
  llrt_digit first = rule->digit[i];
  if (first.axis == rule->digit[i + 1].axis) return;
  rule->digit[i] = rule->digit[i + 1];
  rule->digit[i + 1] = first;
}

/* Changes the words of a rule; what no longer equals it is not taken. */
static void say_otherwise(random_source *source, llrt_storage *rule, const int64_t *shape) {
  for (int step = 0; step < 6; step++) {
    llrt_storage changed = *rule;
    llrt_storage_binding binding;
    cr_assert_eq(llrt_storage_bind(rule, rule->rank, shape, NULL, &binding), LLRT_OK, "%s",
                 llrt_last_error());
    if (rule->n_digits == 0 || rule->n_digits > LLRT_MAX_DIGITS - 2) return;
    switch (random_below(source, 4)) {
    case 0: split_one(source, &changed, &binding); break;
    case 1: add_one_position(source, &changed, &binding); break;
    case 2: number_one(source, &changed, &binding); break;
    default: swap_two(source, &changed);
    }
    if (llrt_storage_equal(rule, &changed)) *rule = changed;
  }
}

/* Digits of two axes, some open, with gaps between them, and a shape that they hold. */
static llrt_storage draw_rule(random_source *source, int64_t shape[2]) {
  llrt_storage rule = {.rank = 2, .pad = random_below(source, 3)};
  bool ended[2] = {false, false};
  shape[0] = shape[1] = 1;
  if (rule.pad == LLRT_PAD_VALUE) rule.pad_value = 1 + (uint64_t)random_below(source, 14);
  for (int n = 2 + random_below(source, 4); n > 0; n--) {
    int axis = random_below(source, 2);
    int64_t positions = 1 + random_below(source, 8);
    if (ended[axis]) continue;
    ended[axis] = random_below(source, 4) == 0;
    insert(&rule, rule.n_digits,
           (llrt_digit){.extent = ended[axis] ? LLRT_EXTENT_REST : positions,
                        .stride = LLRT_STRIDE_PACKED,
                        .axis = axis,
                        .reversed = random_below(source, 6) == 0});
    shape[axis] *= positions;
  }
  for (int a = 0; a < 2; a++)
    if (ended[a] && shape[1 - a] < MOST_ELEMENTS / LARGE_EXTENT / 2 && random_below(source, 2))
      shape[a] *= (LARGE_EXTENT + shape[a] - 1) / shape[a];
  for (int i = 0; i < rule.n_digits;
       i++) { /* strides further out are numbers, too, and leave gaps */
    llrt_storage_binding binding;
    cr_assert_eq(llrt_storage_bind(&rule, 2, shape, NULL, &binding), LLRT_OK, "%s",
                 llrt_last_error());
    if (random_below(source, 3) == 0)
      rule.digit[i].stride = llabs(binding.stride[i]) + random_below(source, 4);
  }
  for (int a = 0; a < 2; a++)
    if (rule.pad != LLRT_PAD_NONE && shape[a] > 1 && random_below(source, 2)) shape[a]--;
  return rule;
}

/* ---- one conversion ---- */

static uint32_t pattern(const int64_t *shape, const int64_t *coords) {
  return (uint32_t)(coords[0] * shape[1] + coords[1]) * 2654435761u >> 7;
}

static void put(unsigned char *memory, int64_t place, int bytes, uint32_t value) {
  memcpy(memory + place * bytes, &value, (size_t)bytes);
}

/* What is to be in a destination's memory, which holds 0xee before. */
static void expect(const llrt_storage *rule, const int64_t *shape, int bytes,
                   unsigned char *memory) {
  llrt_storage_binding binding;
  storage_walk walk;
  cr_assert_eq(llrt_storage_bind(rule, 2, shape, NULL, &binding), LLRT_OK);
  storage_walk_begin(&walk, rule, &binding);
  do {
    if (storage_walk_is_element(&walk, shape))
      put(memory, walk.place, bytes, pattern(shape, walk.coords));
    else if (rule->pad == LLRT_PAD_VALUE) put(memory, walk.place, bytes, (uint32_t)rule->pad_value);
  } while (storage_walk_next(&walk));
}

typedef struct trial {
  llrt_device *device;
  const int64_t *shape;
  llrt_dtype dtype;
  const char *name; /* of the case */
} trial;

/* Device memory that holds `content`. */
static char *upload(const trial *t, const unsigned char *content, size_t size) {
  void *memory;
  cr_assert_eq(llrt_memory_allocate(t->device, size, &memory), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_memory_copy(t->device, memory, content, size, LLRT_COPY_TO_DEVICE, NULL),
               LLRT_OK);
  return memory;
}

/* In one line, whose kernels have small extents compiled in; or prepared for any extents. */
static llrt_status convert(const trial *t, const llrt_tensor *from, const llrt_tensor *to,
                           bool prepared) {
  op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = {*from, *to}};
  llrt_op *op;
  if (!prepared) return llrt_convert_into(from, to, NULL, NULL);
  llrt_status status = described_prepare(t->device, &desc, &op);
  if (status == LLRT_OK) status = llrt_op_run(op, NULL, desc.tensors, 2, NULL);
  llrt_op_destroy(&op);
  return status;
}

/* From row_major to the rule, and guards. */
static void check_conversion(const trial *t, llrt_storage *rule, bool prepared) {
  int bytes = llrt_dtype_bits(t->dtype) / 8;
  llrt_tensor from = {
      .dtype = t->dtype, .rank = 2, .shape = {t->shape[0], t->shape[1]}, .device = t->device};
  llrt_tensor to = from;
  size_t from_bytes, to_bytes;
  to.storage = rule;
  cr_assert_eq(llrt_tensor_bytes(&from, &from_bytes), LLRT_OK);
  cr_assert_eq(llrt_tensor_bytes(&to, &to_bytes), LLRT_OK);
  size_t size = to_bytes + 2 * GUARD;
  unsigned char *content = calloc(1, from_bytes), *wanted = malloc(size), *got = malloc(size);
  for (int64_t i = 0; i < t->shape[0] * t->shape[1]; i++)
    put(content, i, bytes, pattern(t->shape, (int64_t[]){i / t->shape[1], i % t->shape[1]}));
  memset(wanted, 0xee, size);
  char *source = upload(t, content, from_bytes), *destination = upload(t, wanted, size);
  expect(rule, t->shape, bytes, wanted + GUARD);
  from.data = source;
  to.data = destination + GUARD;
  cr_assert_eq(convert(t, &from, &to, prepared), LLRT_OK, "%s: %s", t->name, llrt_last_error());
  cr_assert_eq(llrt_memory_copy(t->device, got, destination, size, LLRT_COPY_FROM_DEVICE, NULL),
               LLRT_OK);
  cr_assert_eq(llrt_stream_synchronize(t->device, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(memcmp(got, wanted, size), 0, "%s", t->name);
  llrt_memory_free(t->device, source);
  llrt_memory_free(t->device, destination);
  free(content);
  free(wanted);
  free(got);
}

/* Both rules in one context of their own, the first one first. */
static void check_pair(const char *device, llrt_storage *first, llrt_storage *second,
                       const int64_t *shape, llrt_dtype dtype) {
  char name[1024], a[400] = "", b[400] = "";
  opened_device opened = open_device(device);
  llrt_storage_print(first, a, sizeof a, NULL);
  llrt_storage_print(second, b, sizeof b, NULL);
  snprintf(name, sizeof name, "%s, [%lld, %lld]: %s, then %s", device, (long long)shape[0],
           (long long)shape[1], a, b);
  trial t = {.device = opened.device, .shape = shape, .dtype = dtype, .name = name};
  for (int prepared = 0; prepared < 2; prepared++) {
    check_conversion(&t, first, prepared);
    check_conversion(&t, second, prepared);
  }
  close_device(&opened);
}

/* ---- tests ---- */

static llrt_storage parsed(const char *text) {
  llrt_storage rule;
  cr_assert_eq(llrt_storage_parse(text, 2, NULL, &rule), LLRT_OK, "%s: %s", text,
               llrt_last_error());
  return rule;
}

Test(equal_rules, share_kernels) {
  static const struct {
    const char *a, *b;
    int64_t shape[2];
  } rows[] = {
      {"storage(rank=2, digits=[dim1:2, dim0:1 @ 5, dim1:rest])",
       "storage(rank=2, digits=[dim1:2, dim1:rest @ 5])",
       {1, 8}},
      {"storage(rank=2, digits=[dim1:64, dim0:1 @ 67, dim1:rest])",
       "storage(rank=2, digits=[dim1:64, dim1:rest @ 67])",
       {1, 256}},
      {"row_major", "storage(rank=2, digits=[dim0:1, dim1:rest @ 1, dim0:rest])", {3, 1500}},
      {"storage(rank=2, digits=[dim1:3, dim0:2, dim1:rest, dim0:rest])",
       "storage(rank=2, digits=[dim1:3, dim0:1, dim0:2 @ 3, dim1:rest @ 6, dim0:rest])",
       {4, 1530}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (size_t d = 0; d < sizeof devices / sizeof devices[0]; d++)
      for (int turned = 0; turned < 2; turned++) {
        llrt_storage a = parsed(turned ? rows[i].b : rows[i].a),
                     b = parsed(turned ? rows[i].a : rows[i].b);
        cr_assert(llrt_storage_equal(&a, &b), "%s and %s", rows[i].a, rows[i].b);
        check_pair(devices[d], &a, &b, rows[i].shape, LLRT_U8);
      }
}

/* LLRT_TEST_EQUAL_RULES: how many pairs. */
Test(equal_rules, drawn) {
  static const llrt_dtype dtypes[] = {LLRT_U8, LLRT_U16, LLRT_U32};
  random_source source = random_start("runtime/equal_rules");
  const char *asked = getenv("LLRT_TEST_EQUAL_RULES");
  for (int i = 0, n = asked ? atoi(asked) : 60; i < n;) {
    int64_t shape[2];
    llrt_storage rule = draw_rule(&source, shape), other = rule;
    if (shape[0] * shape[1] > MOST_ELEMENTS) continue;
    say_otherwise(&source, &other, shape);
    if (memcmp(&rule, &other, sizeof rule) == 0) continue;
    check_pair(devices[i % 4], &rule, &other, shape, dtypes[random_below(&source, 3)]);
    i++;
  }
}
