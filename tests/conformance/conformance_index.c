/* Cases with indices: tests/indices has them and their reference. Values and counters lie in device memory,
 * a pointer list holds device addresses. */
#include "conformance.h"

#include "../indices/index_cases.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_BYTES 512

/* Memory on the host with its double on the device. */
typedef struct area {
  size_t bytes;
  uint8_t *bits;
  uint8_t *memory;
} area;

typedef struct index_bench {
  const index_case *tested;
  llrt_device *device;
  area tensor[2]; /* guards included */
  area values[2][LLRT_MAX_INDICES], counters, count;
  llrt_index index[2][LLRT_MAX_INDICES];
  char *why;
  size_t why_size;
} index_bench;

static bool fail(index_bench *at, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(index_bench *at, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(at->why, at->why_size, format, arguments);
  va_end(arguments);
  return false;
}

#define CHECK(call) \
  do {              \
    if ((call) != LLRT_OK) return fail(at, "%s: %s", #call, llrt_last_error()); \
  } while (0)

static bool area_make(index_bench *at, size_t bytes, area *made) {
  made->bytes = bytes;
  made->bits = calloc(bytes, 1);
  if (!made->bits) return fail(at, "no memory for %zu bytes", bytes);
  void *memory;
  CHECK(llrt_memory_allocate(at->device, bytes, &memory));
  made->memory = memory;
  return true;
}

static bool area_send(index_bench *at, const area *from) {
  CHECK(llrt_memory_copy(at->device, from->memory, from->bits, from->bytes, LLRT_COPY_TO_DEVICE, NULL));
  return true;
}

static void area_free(index_bench *at, area *gone) {
  free(gone->bits);
  llrt_memory_free(at->device, gone->memory);
}

static int32_t *counter_of(const index_bench *at, int s, int number) {
  return (int32_t *)(void *)at->counters.memory + s * LLRT_MAX_INDICES + number;
}

static bool make_side(index_bench *at, int s) {
  const index_side *of = &at->tested->side[s];
  uint64_t seed = at->tested->seed + (uint64_t)s;
  area *tensor = &at->tensor[s];
  if (!area_make(at, index_side_bytes(at->tested, s) + 2 * GUARD_BYTES, tensor)) return false;
  for (size_t i = 0; i < tensor->bytes; i++) tensor->bits[i] = (uint8_t)(random_next(&seed) >> 56);
  for (int i = 0; i < of->n_indices; i++) {
    area *values = &at->values[s][i];
    if (!area_make(at, index_side_values_bytes(at->tested, s, i), values)) return false;
    index_side_write_values(at->tested, s, i, tensor->memory + GUARD_BYTES, values->bits);
    if (!area_send(at, values)) return false;
    at->index[s][i] = of->index[i];
    at->index[s][i].data = values->memory;
    if (of->index[i].out_of_range == LLRT_RANGE_REPORT)
      at->index[s][i].report = counter_of(at, s, i);
  }
  return area_send(at, tensor);
}

static llrt_tensor tensor_of(const index_bench *at, int s) {
  llrt_tensor tensor = index_side_tensor(at->tested, s, at->tensor[s].memory + GUARD_BYTES);
  tensor.indices = at->index[s];
  tensor.device = at->device;
  if (at->tested->counted >= 0 && s == (int)(at->tested->seed & 1)) /* either side may say it */
    tensor.extent_ptr[at->tested->counted] = (const int32_t *)(void *)at->count.memory;
  return tensor;
}

static bool same(index_bench *at, const area *expected, const char *name) {
  uint8_t *found = malloc(expected->bytes);
  if (!found) return fail(at, "no memory for %zu bytes", expected->bytes);
  llrt_status status = llrt_memory_copy(at->device, found, expected->memory, expected->bytes,
                                        LLRT_COPY_FROM_DEVICE, NULL);
  if (status == LLRT_OK) status = llrt_stream_synchronize(at->device, NULL);
  size_t wrong = 0, first = 0;
  for (size_t i = expected->bytes; i-- > 0 && status == LLRT_OK;) {
    if (found[i] == expected->bits[i]) continue;
    wrong++;
    first = i;
  }
  free(found);
  if (status != LLRT_OK) return fail(at, "reading back: %s", llrt_last_error());
  return wrong == 0 || fail(at, "%zu bytes of the %s are wrong, the first at %zu of %zu", wrong, name,
                            first, expected->bytes);
}

static bool run(index_bench *at, route by) {
  if (!area_make(at, 2 * LLRT_MAX_INDICES * sizeof(int32_t), &at->counters)) return false;
  if (!area_send(at, &at->counters)) return false;
  if (!area_make(at, sizeof(int32_t), &at->count)) return false;
  memcpy(at->count.bits, &at->tested->count, sizeof at->tested->count);
  if (!area_send(at, &at->count)) return false;
  for (int s = 0; s < 2; s++)
    if (!make_side(at, s)) return false;
  const llrt_op_desc desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2,
                             .tensors = {tensor_of(at, 0), tensor_of(at, 1)}};
  if (!conformance_convert(at->device, &desc, by, at->why, at->why_size)) return false;
  int32_t reports[2][LLRT_MAX_INDICES];
  index_case_reference(at->tested, at->tensor[0].bits + GUARD_BYTES,
                       at->tensor[1].bits + GUARD_BYTES, reports);
  memcpy(at->counters.bits, reports, sizeof reports);
  return same(at, &at->tensor[1], "destination and its guards") && same(at, &at->tensor[0], "source") &&
         same(at, &at->counters, "counters");
}

bool index_case_passes(int number, uint64_t seed, llrt_device *device, char *title, size_t title_size,
                       char *why, size_t size) {
  index_case tested;
  index_bench at = {.tested = &tested, .device = device, .why = why, .why_size = size};
  why[0] = 0;
  bool passed = index_case_make(number, seed, &tested);
  snprintf(title, title_size, "%s", tested.title);
  passed = passed ? run(&at, (route)(number % ROUTE_COUNT))
                  : fail(&at, "it cannot be made: %s", llrt_last_error());
  for (int s = 0; s < 2; s++) {
    area_free(&at, &at.tensor[s]);
    for (int i = 0; i < LLRT_MAX_INDICES; i++) area_free(&at, &at.values[s][i]);
  }
  area_free(&at, &at.counters);
  area_free(&at, &at.count);
  index_case_free(&tested);
  return passed;
}

int index_cases(void) { return index_cases_count(); }
