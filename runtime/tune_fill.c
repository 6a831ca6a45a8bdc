/* What is in tuning's tensors before a run whose results are compared. */
#include "runtime/tune.h"

#include "base/status.h"
#include "jit/plan/types/dot_type.h"
#include "runtime/tune_data.h"

#include <string.h>

#define POISON 0xa5 /* of memory that is written, before it is */

static bool is_ends(const tune_bench *bench, int tensor) {
  return bench->desc->kind == LLRT_OP_DOT && dot_tensor(&bench->desc->dot, LLRT_DOT_ENDS) == tensor;
}

size_t tune_made_bytes(const tune_bench *bench, int tensor) {
  const size_t bytes = bench->bytes[tensor], period = tune_data_period(bench->call.bits[tensor]);
  return is_ends(bench, tensor) || bytes < period ? bytes : period;
}

/* Ends of a grouped product's experts, of which each has as many rows, or each row's expert. */
static void make_ends(tune_bench *bench, int tensor) {
  int64_t n = (int64_t)bench->bytes[tensor] / 4,
          experts = bench->call.tensor[0].shape[DOT_EXPERT_AXIS];
  int64_t rows = bench->call.tensor[0].shape[dot_grouped_axis(&bench->desc->dot)];
  const bool sorted = dot_is_sorted(&bench->desc->dot);
  for (int64_t i = 0; i < n; i++) {
    int32_t end = (int32_t)(sorted ? i * experts / rows : rows * (i + 1 - (n - experts)) / experts);
    memcpy(bench->input + 4 * i, &end, sizeof end);
  }
}

/* A period of the data is made on the host, and copied to behind itself on the device. */
static llrt_status fill_tensor(tune_bench *bench, int tensor, uint64_t seed) {
  const llrt_tensor *to = &bench->call.tensor[tensor];
  const size_t bytes = bench->bytes[tensor];
  size_t done = tune_made_bytes(bench, tensor);
  if (is_ends(bench, tensor)) make_ends(bench, tensor);
  else tune_data_fill(to->dtype, bench->call.bits[tensor], seed, bench->input, done);
  LLRT_TRY(
      llrt_memory_copy(bench->device, to->data, bench->input, done, LLRT_COPY_TO_DEVICE, NULL));
  for (size_t part; done < bytes; done += part) {
    part = bytes - done < done ? bytes - done : done;
    LLRT_TRY(llrt_memory_copy(bench->device, (char *)to->data + done, to->data, part,
                              LLRT_COPY_ON_DEVICE, NULL));
  }
  return llrt_stream_synchronize(bench->device, NULL);
}

/* What is written and not read has other bytes than any result. */
static llrt_status poison(const tune_bench *bench) {
  const op_call *call = &bench->call;
  for (int t = 0; t < call->n; t++)
    if (bench->written[t] && bench->bytes[t] > 0 && !(bench->desc->in_place && t == 1))
      LLRT_TRY(llrt_memory_set(bench->device, call->tensor[t].data, POISON, bench->bytes[t], NULL));
  return LLRT_OK;
}

llrt_status tune_fill(tune_bench *bench, int number) {
  LLRT_TRY(poison(bench));
  if (bench->filled == number && !bench->desc->in_place) return LLRT_OK;
  for (int t = 0; t < bench->call.n; t++)
    if (bench->bytes[t] > 0 && !bench->written[t])
      LLRT_TRY(fill_tensor(bench, t, (uint64_t)(number * LLRT_MAX_TENSORS + t)));
  bench->filled = number;
  return LLRT_OK;
}
