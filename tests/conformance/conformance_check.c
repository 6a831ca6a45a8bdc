/* One case: buffers with guards, the conversion, and a comparison of every byte. */
#include "captured.h"
#include "area.h"
#include "conformance.h"
#include "runtime/described.h"
#include "tests/storage_walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_BYTES 512 /* before and after each tensor; keeps the base's 256-byte alignment */

typedef struct buffer {
  area all;    /* guards and shift included */
  size_t base; /* where offset 0 lies */
  size_t span; /* bytes of the tensor itself */
} buffer;

typedef struct bench {
  const conformance_case *tested;
  area_owner owner;
  llrt_storage_binding binding[3];
  buffer source, destination, scale;
  uint8_t *written; /* a byte for each of the destination's, where words are mapped; else NULL */
} bench;

static llrt_dtype type_of(const bench *at, int tensor) {
  if (tensor == 2) return at->tested->scale_type;
  return tensor == 0 ? at->tested->dtype : result_type(at->tested);
}

static int element_bits(const bench *at, int tensor) {
  return llrt_dtype_bits(type_of(at, tensor));
}

/* The bytes of n elements. */
static size_t bytes_of(const bench *at, int tensor, int64_t n) {
  return ((size_t)n * (size_t)element_bits(at, tensor) + 7) / 8;
}

/* ---- buffers ---- */

static void fill_codes(const bench *at, buffer *made) {
  size_t size = bytes_of(at, 0, 1);
  for (size_t i = 0; i < made->span / size; i++) {
    uint64_t code = source_code(at->tested->dtype, i);
    memcpy(made->all.bits + made->base + i * size, &code, size);
  }
}

static bool buffer_make(bench *at, const side *of, int index, uint64_t seed, buffer *made) {
  int64_t shape[LLRT_MAX_RANK];
  memcpy(shape, at->tested->shape, sizeof shape);
  if (index == 2) scale_shape(at->tested, shape);
  AREA_CHECK(&at->owner, llrt_storage_bind(&of->storage, at->tested->rank, shape, of->strides,
                                           &at->binding[index]));
  made->span = bytes_of(at, index, at->binding[index].span);
  made->base = GUARD_BYTES + bytes_of(at, index, of->shift);
  if (!area_make(&at->owner, made->base + made->span + GUARD_BYTES, &made->all)) return false;
  for (size_t i = 0; i < made->all.bytes; i++)
    made->all.bits[i] = (uint8_t)(random_next(&seed) >> 56);
  if (at->tested->every_code && index == 0) fill_codes(at, made);
  return area_send(&at->owner, &made->all);
}

static llrt_tensor tensor_of(const bench *at, int tensor_number) {
  const side *sides[] = {&at->tested->source, &at->tested->destination, &at->tested->scale};
  const buffer *buffers[] = {&at->source, &at->destination, &at->scale};
  const side *of = sides[tensor_number];
  const buffer *in = buffers[tensor_number];
  llrt_tensor tensor = {.data = in->all.memory + in->base,
                        .dtype = type_of(at, tensor_number),
                        .rank = at->tested->rank,
                        .storage = &of->storage,
                        .device = at->owner.device};
  memcpy(tensor.shape, at->tested->shape, sizeof tensor.shape);
  if (tensor_number == 2) scale_shape(at->tested, tensor.shape);
  memcpy(tensor.strides, of->strides, sizeof tensor.strides);
  return tensor;
}

/* ---- the reference ---- */

/* Element `index` of an array of elements of 4 bits, the first of a byte in its low half. */
static uint64_t get_nibble(const uint8_t *array, int64_t index) {
  return array[index / 2] >> index % 2 * 4 & 15;
}

static void put_nibble(uint8_t *array, int64_t index, uint64_t bits) {
  int shift = (int)(index % 2) * 4;
  array[index / 2] = (uint8_t)((array[index / 2] & ~(15 << shift)) | (int)(bits & 15) << shift);
}

/* Puts an element of up to 128 bits into the destination. */
static void put_bits(bench *at, const uint64_t bits[2], int64_t to) {
  uint8_t *destination = at->destination.all.bits + at->destination.base;
  size_t size = (size_t)element_bits(at, 1) / 8;
  if (size == 0) put_nibble(destination, to, bits[0]);
  else memcpy(destination + (size_t)to * size, bits, size);
  size_t one = bytes_of(at, 1, 1);
  if (at->written) memset(at->written + bytes_of(at, 1, to + 1) - one, 1, one);
}

/* The scale of an element; 1 without scales. */
static double scale_at(const bench *at, const int64_t *coords) {
  int64_t scale[LLRT_MAX_RANK] = {0};
  uint64_t code = 0;
  if (!at->tested->scale_type) return 1;
  scale_coords(at->tested, coords, scale);
  size_t size = bytes_of(at, 2, 1);
  int64_t offset = llrt_storage_offset(&at->tested->scale.storage, &at->binding[2], scale);
  memcpy(&code, at->scale.all.bits + at->scale.base + (size_t)offset * size, size);
  return scale_value(at->tested, code);
}

static void put_element(bench *at, int64_t from, int64_t to, double scale) {
  const uint8_t *source = at->source.all.bits + at->source.base;
  size_t size = (size_t)element_bits(at, 0) / 8;
  uint64_t bits[2] = {0};
  if (size == 0) bits[0] = get_nibble(source, from);
  else memcpy(bits, source + (size_t)from * size, size);
  bits[0] = map_element(at->tested, bits[0], scale);
  put_bits(at, bits, to);
}

/* Applies the map of words to those that the conversion wrote. */
static void map_words(bench *at) {
  for (size_t i = 0; i + 4 <= at->destination.span; i += 4) {
    uint32_t word;
    if (!at->written[i]) continue;
    memcpy(&word, at->destination.all.bits + at->destination.base + i, sizeof word);
    word = map_word(at->tested, word);
    memcpy(at->destination.all.bits + at->destination.base + i, &word, sizeof word);
  }
}

static bool is_empty(const conformance_case *tested) {
  bool empty = false;
  for (int axis = 0; axis < tested->rank; axis++) empty |= tested->shape[axis] == 0;
  return empty;
}

/* Writes into destination.bits what the conversion must leave there: every copy of every element,
 * and pads where the rule writes them; nothing of an empty tensor. */
static void convert_reference(bench *at) {
  const conformance_case *tested = at->tested;
  if (is_empty(tested)) return;
  const llrt_storage *source = &tested->source.storage, *into = &tested->destination.storage;
  storage_walk walk;
  storage_walk_begin(&walk, into, &at->binding[1]);
  do {
    if (storage_walk_is_element(&walk, tested->shape))
      put_element(at, llrt_storage_offset(source, &at->binding[0], walk.coords), walk.place,
                  scale_at(at, walk.coords));
    else if (into->pad == LLRT_PAD_VALUE) put_bits(at, (uint64_t[2]){into->pad_value}, walk.place);
  } while (storage_walk_next(&walk));
  if (at->written) map_words(at);
}

static bool same_bytes(bench *at, const buffer *expected, const char *name) {
  size_t wrong = 0, first = 0;
  if (!area_compare(&at->owner, &expected->all, &wrong, &first)) return false;
  if (!wrong) return true;
  bool guard = first < expected->base || first >= expected->base + expected->span;
  return area_fail(&at->owner,
                   "%zu of the %s's %zu bytes are wrong, the first at %lld from its base%s", wrong,
                   name, expected->span, (long long)first - (long long)expected->base,
                   guard ? " (outside the tensor)" : "");
}

/* ---- routes ---- */

static bool say(char *why, size_t size, const char *what) {
  snprintf(why, size, "%s: %s", what, llrt_last_error());
  return false;
}

/* *op becomes what its saved bytes give. */
static bool reload(llrt_device *device, llrt_op **op, char *why, size_t why_size) {
  size_t size = 0;
  if (llrt_op_save(*op, NULL, &size) != LLRT_OK) return say(why, why_size, "llrt_op_save");
  void *bytes = malloc(size);
  if (!bytes) return say(why, why_size, "no memory");
  llrt_status status = llrt_op_save(*op, bytes, &size);
  llrt_op_destroy(op);
  if (status == LLRT_OK) status = llrt_op_load(device, bytes, size, op);
  free(bytes);
  return status == LLRT_OK ? true : say(why, why_size, "save and load");
}

static bool run_op(const area_owner *owner, const llrt_op *op, const llrt_tensor *tensors, int n) {
  CAPTURED_CHECK(owner, llrt_op_run(op, CAPTURED_STREAM, tensors, n, NULL));
  return true;
}

bool conformance_convert(llrt_device *device, const op_description *asked, route by, char *why,
                         size_t size) {
  const llrt_tensor *tensors = asked->tensors;
  const area_owner owner = {.device = device, .why = why, .why_size = size};
  if (by == ROUTE_CONVERT) {
    llrt_convert_params params = {.n_maps = asked->n_maps,
                                  .maps = asked->maps,
                                  .scale = asked->n_tensors > 2 ? &tensors[2] : NULL};
    CAPTURED_CHECK(&owner, llrt_convert_into(&tensors[0], &tensors[1], &params, CAPTURED_STREAM));
    return true;
  }
  op_description desc = *asked;
  if (described_promise(&desc) != LLRT_OK) return say(why, size, "llrt_op_promise_coarse");
  llrt_op *op;
  if (described_prepare(device, &desc, &op) != LLRT_OK) return say(why, size, "llrt_op_prepare");
  bool done = by != ROUTE_LOAD || reload(device, &op, why, size);
  done = done && run_op(&owner, op, tensors, asked->n_tensors);
  llrt_op_destroy(&op);
  return done;
}

static bool convert(bench *at) {
  bool scaled = at->tested->scale_type != LLRT_DTYPE_NONE;
  op_description desc = {.kind = LLRT_OP_CONVERT,
                         .n_tensors = scaled ? 3 : 2,
                         .tensors = {tensor_of(at, 0), tensor_of(at, 1)},
                         .n_maps = at->tested->n_maps};
  if (scaled) desc.tensors[2] = tensor_of(at, 2);
  memcpy(desc.maps, at->tested->maps, sizeof desc.maps);
  return conformance_convert(at->owner.device, &desc, at->tested->route, at->owner.why,
                             at->owner.why_size);
}

static bool run(bench *at) {
  uint64_t seed = at->tested->data_seed;
  if (!buffer_make(at, &at->tested->source, 0, seed, &at->source)) return false;
  if (!buffer_make(at, &at->tested->destination, 1, ~seed, &at->destination)) return false;
  if (at->tested->scale_type && !buffer_make(at, &at->tested->scale, 2, seed ^ 0x5ca1e, &at->scale))
    return false;
  if (maps_words(at->tested) && !(at->written = calloc(1, at->destination.span + 1)))
    return area_fail(&at->owner, "no memory");
  if (!convert(at)) return false;
  convert_reference(at);
  return same_bytes(at, &at->destination, "destination") && same_bytes(at, &at->source, "source");
}

bool case_passes(const conformance_case *tested, llrt_device *device, char *why, size_t size) {
  bench at = {.tested = tested, .owner = {device, why, size}};
  why[0] = 0;
  bool passed = run(&at);
  area_free(&at.owner, &at.source.all);
  area_free(&at.owner, &at.destination.all);
  area_free(&at.owner, &at.scale.all);
  free(at.written);
  return passed;
}
