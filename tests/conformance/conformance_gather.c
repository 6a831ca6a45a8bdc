/* llrt_gather and llrt_scatter against plain loops: both forms, indices of both widths in several
 * storages, every way to treat values out of range. */
#include "captured.h"
#include "area.h"
#include "conformance.h"
#include "rows.h"

#include <stdio.h>
#include <string.h>

#define GUARD_BYTES 512

int gather_cases(void) { return randoms_alone() ? 0 : gather_rows_count; }

typedef struct bench {
  const gather_case *tested;
  area_owner owner;
  llrt_storage storage[3]; /* store, index, dense */
  llrt_storage_binding binding[3];
  llrt_tensor tensor[3];
  area memory[3], counter;
} bench;

enum { STORE, INDEX, DENSE };

/* ---- making ---- */

static void dense_shape(const gather_case *of, int64_t *shape) {
  memcpy(shape, of->store_shape, sizeof of->store_shape);
  if (of->form == LLRT_GATHER_SELECT) shape[of->axis] = of->index_shape[0];
  for (int a = 0; a < of->rank && of->form == LLRT_GATHER_TAKE_ALONG; a++)
    if (a == of->axis || shape[a] == 1) shape[a] = of->index_shape[a];
}

static bool make_tensor(bench *at, int number, int rank, const int64_t *shape, const char *text,
                        llrt_dtype dtype, uint64_t seed) {
  area *memory = &at->memory[number];
  AREA_CHECK(&at->owner, llrt_storage_parse(text, rank, shape, &at->storage[number]));
  AREA_CHECK(&at->owner,
             llrt_storage_bind(&at->storage[number], rank, shape, NULL, &at->binding[number]));
  size_t bytes = (size_t)at->binding[number].span * (size_t)llrt_dtype_bits(dtype) / 8;
  if (!area_make(&at->owner, bytes + 2 * GUARD_BYTES, memory)) return false;
  for (size_t i = 0; i < memory->bytes; i++) memory->bits[i] = (uint8_t)(random_next(&seed) >> 56);
  at->tensor[number] = (llrt_tensor){.data = memory->memory + GUARD_BYTES,
                                     .dtype = dtype,
                                     .rank = rank,
                                     .storage = &at->storage[number],
                                     .device = at->owner.device};
  memcpy(at->tensor[number].shape, shape, (size_t)rank * sizeof *shape);
  return true;
}

static uint8_t *element(const bench *at, int number, const int64_t *coords) {
  int64_t at_offset = llrt_storage_offset(&at->storage[number], &at->binding[number], coords);
  int bits = llrt_dtype_bits(at->tensor[number].dtype);
  return at->memory[number].bits + GUARD_BYTES + at_offset * bits / 8;
}

static bool next_coordinate(const llrt_tensor *tensor, int64_t *coords) {
  for (int axis = tensor->rank - 1; axis >= 0; axis--) {
    if (++coords[axis] < tensor->shape[axis]) return true;
    coords[axis] = 0;
  }
  return false;
}

static bool is_empty(const llrt_tensor *tensor) {
  for (int axis = 0; axis < tensor->rank; axis++)
    if (tensor->shape[axis] == 0) return true;
  return false;
}

/* One value in 16 is out of range; those of a scatter are different along the axis. */
static void fill_values(bench *at, uint64_t seed) {
  const gather_case *of = at->tested;
  int own = of->form == LLRT_GATHER_SELECT ? 0 : of->axis;
  int64_t coords[3] = {0}, extent = of->store_shape[of->axis];
  if (is_empty(&at->tensor[INDEX])) return;
  do {
    int64_t value = extent ? (int64_t)(random_next(&seed) >> 8) % extent : 0;
    if (of->call == SCATTER_INTO) value = (coords[own] * 7 + coords[1 - own]) % extent;
    static const int64_t bad[] = {-1, INT32_MIN, INT32_MAX};
    int pick = random_below(&seed, 64);
    if (pick < 3) value = bad[pick];
    if (pick == 3) value = extent;
    if (of->values == LLRT_I32) memcpy(element(at, INDEX, coords), &(int32_t){(int32_t)value}, 4);
    else memcpy(element(at, INDEX, coords), &value, 8);
  } while (next_coordinate(&at->tensor[INDEX], coords));
}

static bool make(bench *at, uint64_t seed) {
  const gather_case *of = at->tested;
  int64_t shape[3];
  llrt_dtype to = of->to ? of->to : of->dtype;
  bool scatter = of->call == SCATTER_INTO;
  int index_rank = of->form == LLRT_GATHER_SELECT ? 1 : of->rank;
  dense_shape(of, shape);
  if (!make_tensor(at, STORE, of->rank, of->store_shape, of->store, scatter ? to : of->dtype,
                   seed) ||
      !make_tensor(at, INDEX, index_rank, of->index_shape, of->index, of->values, ~seed) ||
      !make_tensor(at, DENSE, of->rank, shape, of->dense, scatter ? of->dtype : to, seed + 1) ||
      !area_make(&at->owner, sizeof(int32_t), &at->counter))
    return false;
  fill_values(at, seed ^ 0x9a7e);
  for (int i = 0; i < 3; i++)
    if (!area_send(&at->owner, &at->memory[i])) return false;
  return area_send(&at->owner, &at->counter);
}

/* ---- the reference ---- */

static int64_t value_at(const bench *at, const int64_t *coords) {
  const gather_case *of = at->tested;
  int64_t where[3] = {0}, wide;
  for (int a = 0; a < at->tensor[INDEX].rank; a++)
    where[a] = of->form == LLRT_GATHER_SELECT ? coords[of->axis]
               : of->index_shape[a] == 1      ? 0
                                              : coords[a];
  int32_t narrow;
  memcpy(&narrow, element(at, INDEX, where), 4);
  if (of->values == LLRT_I32) return narrow;
  memcpy(&wide, element(at, INDEX, where), 8);
  return wide;
}

/* Casts as the suite's cases with maps do. */
static void move(const bench *at, const uint8_t *from, uint8_t *to) {
  conformance_case cast = {.dtype = at->tested->dtype, .to = at->tested->to};
  size_t in = (size_t)llrt_dtype_bits(cast.dtype) / 8,
         out = (size_t)llrt_dtype_bits(result_type(&cast)) / 8;
  uint64_t code = 0;
  if (in > sizeof code) { /* which nothing casts */
    if (from) memcpy(to, from, in);
    else memset(to, 0, in);
    return;
  }
  if (from) memcpy(&code, from, in);
  code = map_element(&cast, code, 1);
  memcpy(to, &code, out);
}

static void reference(bench *at) {
  const gather_case *of = at->tested;
  int64_t coords[3] = {0}, extent = of->store_shape[of->axis];
  bool leaves = of->range == LLRT_RANGE_SKIP || of->range == LLRT_RANGE_REPORT;
  if (is_empty(&at->tensor[DENSE])) return;
  do {
    int64_t seen[3], value = value_at(at, coords);
    if (of->range == LLRT_RANGE_CLAMP) value = value < 0 ? 0 : value >= extent ? extent - 1 : value;
    bool valid = value >= 0 && value < extent, first = true;
    for (int a = 0; a < of->rank; a++) {
      bool selects =
          of->form == LLRT_GATHER_SELECT ? a == of->axis : a == of->axis || of->index_shape[a] > 1;
      first &= selects || coords[a] == 0;
      seen[a] = a == of->axis ? value : of->store_shape[a] == 1 ? 0 : coords[a];
    }
    uint8_t *dense = element(at, DENSE, coords);
    if (!valid && first && of->range == LLRT_RANGE_REPORT) ++*(int32_t *)(void *)at->counter.bits;
    if (of->call == SCATTER_INTO) {
      if (valid) move(at, dense, element(at, STORE, seen));
    } else if (valid || !leaves || of->call == GATHER_NEW) {
      move(at, valid ? element(at, STORE, seen) : NULL, dense);
    }
  } while (next_coordinate(&at->tensor[DENSE], coords));
}

/* ---- running ---- */

/* The allocated result against the elements of the dense tensor, pads and gaps aside. */
static bool check_new(bench *at, llrt_tensor *result) {
  size_t bytes, total = at->memory[DENSE].bytes - 2 * GUARD_BYTES;
  area found = {0};
  AREA_CHECK(&at->owner, llrt_tensor_bytes(result, &bytes));
  if (bytes != total) return area_fail(&at->owner, "a result of %zu bytes, not %zu", bytes, total);
  if (bytes == 0) return true;
  bool passed = area_make(&at->owner, bytes, &found);
  if (passed) {
    memcpy(found.bits, at->memory[DENSE].bits + GUARD_BYTES, bytes);
    void *own = found.memory;
    found.memory = result->data;
    passed = area_same(&at->owner, &found, "result");
    found.memory = own;
  }
  area_free(&at->owner, &found);
  return passed;
}

static bool run(bench *at) {
  const gather_case *of = at->tested;
  const llrt_convert_params convert = {.dtype = of->to};
  llrt_gather_params params = {.form = of->form, .out_of_range = of->range, .convert = &convert};
  if (of->range == LLRT_RANGE_REPORT) params.report = (int32_t *)(void *)at->counter.memory;
  llrt_tensor result = {0}, *tensor = at->tensor;
  if (of->call == GATHER_INTO)
    CAPTURED_CHECK(&at->owner, llrt_gather_into(&tensor[STORE], &tensor[INDEX], of->axis,
                                                &tensor[DENSE], &params, CAPTURED_STREAM));
  if (of->call == SCATTER_INTO)
    CAPTURED_CHECK(&at->owner, llrt_scatter_into(&tensor[DENSE], &tensor[INDEX], of->axis,
                                                 &tensor[STORE], &params, CAPTURED_STREAM));
  if (of->call == GATHER_NEW)
    AREA_CHECK(&at->owner, llrt_gather(&tensor[STORE], &tensor[INDEX], of->axis,
                                       &at->storage[DENSE], &params, NULL, &result));
  reference(at);
  bool passed = true;
  if (of->call == GATHER_NEW) passed = check_new(at, &result);
  else passed = area_same(&at->owner, &at->memory[DENSE], "dense tensor and its guards");
  llrt_tensor_free(&result, NULL);
  return passed && area_same(&at->owner, &at->memory[STORE], "store and its guards") &&
         area_same(&at->owner, &at->memory[INDEX], "index") &&
         area_same(&at->owner, &at->counter, "counter");
}

bool gather_case_passes(int number, uint64_t seed, llrt_device *device, char *title,
                        size_t title_size, char *why, size_t size) {
  static const char *const calls[] = {"gather into", "gather", "scatter"};
  const gather_case *of = &gather_rows[number];
  bench at = {.tested = of, .owner = {device, why, size}};
  why[0] = 0;
  snprintf(title, title_size, "%s, axis %d, %s, %s by %s to %s", calls[of->call], of->axis,
           llrt_dtype_name(of->dtype), of->store, of->index, of->dense);
  bool passed = make(&at, seed + (uint64_t)number) && run(&at);
  for (int i = 0; i < 3; i++) area_free(&at.owner, &at.memory[i]);
  area_free(&at.owner, &at.counter);
  return passed;
}
