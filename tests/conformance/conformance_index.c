/* Cases with indices: tests/indices has them and their reference. Values and counters lie in device
 * memory, a pointer list holds device addresses. */
#include "area.h"
#include "conformance.h"

#include "../indices/index_cases.h"
#include "runtime/described.h"

#include <stdio.h>
#include <string.h>

#define GUARD_BYTES 512

typedef struct index_bench {
  const index_case *tested;
  area_owner owner;
  area tensor[2]; /* guards included */
  area values[2][LLRT_MAX_INDICES], counters, count;
  llrt_index index[2][LLRT_MAX_INDICES];
} index_bench;

static int32_t *counter_of(const index_bench *at, int s, int number) {
  return (int32_t *)(void *)at->counters.memory + s * LLRT_MAX_INDICES + number;
}

static bool make_side(index_bench *at, int s) {
  const index_side *of = &at->tested->side[s];
  uint64_t seed = at->tested->seed + (uint64_t)s;
  area *tensor = &at->tensor[s];
  if (!area_make(&at->owner, index_side_bytes(at->tested, s) + 2 * GUARD_BYTES, tensor))
    return false;
  for (size_t i = 0; i < tensor->bytes; i++) tensor->bits[i] = (uint8_t)(random_next(&seed) >> 56);
  for (int i = 0; i < of->n_indices; i++) {
    area *values = &at->values[s][i];
    if (!area_make(&at->owner, index_side_values_bytes(at->tested, s, i), values)) return false;
    index_side_write_values(at->tested, s, i, tensor->memory + GUARD_BYTES, values->bits);
    if (!area_send(&at->owner, values)) return false;
    at->index[s][i] = of->index[i];
    at->index[s][i].data = values->memory;
    if (of->index[i].out_of_range == LLRT_RANGE_REPORT)
      at->index[s][i].report = counter_of(at, s, i);
  }
  return area_send(&at->owner, tensor);
}

static llrt_tensor tensor_of(const index_bench *at, int s) {
  llrt_tensor tensor = index_side_tensor(at->tested, s, at->tensor[s].memory + GUARD_BYTES);
  tensor.indices = at->index[s];
  tensor.device = at->owner.device;
  for (int a = 0; a < at->tested->rank && at->tested->said >> s & 1; a++)
    if (at->tested->counted >> a & 1)
      tensor.extent_ptr[a] = (const int32_t *)(void *)at->count.memory + a;
  return tensor;
}

static bool run(index_bench *at, route by) {
  if (!area_make(&at->owner, 2 * LLRT_MAX_INDICES * sizeof(int32_t), &at->counters)) return false;
  if (!area_send(&at->owner, &at->counters)) return false;
  if (!area_make(&at->owner, sizeof at->tested->count, &at->count)) return false;
  memcpy(at->count.bits, at->tested->count, sizeof at->tested->count);
  if (!area_send(&at->owner, &at->count)) return false;
  for (int s = 0; s < 2; s++)
    if (!make_side(at, s)) return false;
  const op_description desc = {
      .kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = {tensor_of(at, 0), tensor_of(at, 1)}};
  if (!conformance_convert(at->owner.device, &desc, by, at->owner.why, at->owner.why_size))
    return false;
  int32_t reports[2][LLRT_MAX_INDICES];
  index_case_reference(at->tested, at->tensor[0].bits + GUARD_BYTES,
                       at->tensor[1].bits + GUARD_BYTES, reports);
  memcpy(at->counters.bits, reports, sizeof reports);
  return area_same(&at->owner, &at->tensor[1], "destination and its guards") &&
         area_same(&at->owner, &at->tensor[0], "source") &&
         area_same(&at->owner, &at->counters, "counters");
}

bool index_case_passes(int number, uint64_t seed, llrt_device *device, char *title,
                       size_t title_size, char *why, size_t size) {
  index_case tested;
  index_bench at = {.tested = &tested, .owner = {device, why, size}};
  why[0] = 0;
  bool passed = index_case_make(number, seed, &tested);
  snprintf(title, title_size, "%s", tested.title);
  passed = passed ? run(&at, (route)(number % ROUTE_COUNT))
                  : area_fail(&at.owner, "it cannot be made: %s", llrt_last_error());
  for (int s = 0; s < 2; s++) {
    area_free(&at.owner, &at.tensor[s]);
    for (int i = 0; i < LLRT_MAX_INDICES; i++) area_free(&at.owner, &at.values[s][i]);
  }
  area_free(&at.owner, &at.counters);
  area_free(&at.owner, &at.count);
  index_case_free(&tested);
  return passed;
}

int index_cases(void) { return randoms_alone() ? 0 : index_cases_count(); }
