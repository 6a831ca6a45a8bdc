/* Tensors of tuning's own: memory, data, results that are compared, launches that are timed. */
#include "runtime/tune.h"

#include "base/memory.h"
#include "base/status.h"
#include "jit/plan/types/dot_type.h"
#include "runtime/context.h"
#include "runtime/index_check.h"
#include "runtime/tune_data.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_CACHE ((size_t)64 << 20)  /* bytes that are taken for a cache where less is known */
#define ENOUGH_RESULTS 4096             /* elements, of all fills together */
#define MOST_FILLED ((size_t)256 << 20) /* bytes of data, of all fills together */

/* ---- the call ---- */

static bool is_written(const op_description *desc, int tensor) {
  if (desc->kind == LLRT_OP_COMPUTE) return desc->program.tensor[tensor].output;
  return tensor == 1 || (desc->kind == LLRT_OP_REDUCE && tensor > 1);
}

static llrt_status check_tensor(const llrt_tensor *tensor, int number) {
  int64_t alignment;
  LLRT_REQUIRE(tensor->n_indices >= 0 && tensor->n_indices <= LLRT_MAX_INDICES,
               "tensor %d has %d indices", number, tensor->n_indices);
  for (int a = 0; a < LLRT_MAX_RANK; a++)
    if (tensor->extent_ptr[a])
      return llrt_error(LLRT_UNSUPPORTED,
                        "tensor %d has an extent in device memory, which tuning cannot make up",
                        number);
  if (tensor->n_indices == 0 || !llrt_index_has_pointers(tensor, &alignment)) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED,
                    "tensor %d lies at an index's addresses, which tuning cannot make up", number);
}

/* The tensors as a run gives them, at addresses that stand for memory that is not there yet. */
static llrt_status take_tensors(const llrt_op_desc *given, tune_bench *bench,
                                llrt_tensor tensors[LLRT_MAX_TENSORS]) {
  for (int t = 0; t < given->n_tensors; t++) {
    tensors[t] = given->tensors[t];
    tensors[t].device = bench->device;
    tensors[t].data = (void *)(uintptr_t)((uintptr_t)(t + 1) << 56);
    LLRT_TRY(check_tensor(&tensors[t], t));
    for (int i = 0; i < tensors[t].n_indices; i++) bench->index[t][i] = tensors[t].indices[i];
    tensors[t].indices = tensors[t].n_indices > 0 ? bench->index[t] : NULL;
  }
  if (bench->desc->in_place) tensors[1].data = tensors[0].data;
  return LLRT_OK;
}

static llrt_status count_bytes(tune_bench *bench) {
  size_t filled = 0;
  int64_t results = 0;
  for (int t = 0; t < bench->call.n; t++) {
    int64_t bytes;
    LLRT_TRY(llrt_storage_bytes(&bench->call.binding[t], bench->call.bits[t], &bytes));
    bench->bytes[t] = (size_t)bytes;
    bench->written[t] = is_written(bench->desc, t);
    if (bench->written[t]) bench->result_bytes += (size_t)bytes;
    if (bench->written[t]) results += bytes * 8 / bench->call.bits[t];
    else filled += (size_t)bytes;
    const size_t made = bench->written[t] ? 0 : tune_made_bytes(bench, t);
    if (made > bench->input_bytes) bench->input_bytes = made;
  }
  int wanted = results > 0 ? (int)((ENOUGH_RESULTS - 1) / results) + 1 : 1;
  int affordable = filled > 0 ? (int)(MOST_FILLED / filled) + 1 : TUNE_MOST_FILLS;
  bench->n_fills = wanted < affordable ? wanted : affordable;
  if (bench->n_fills > TUNE_MOST_FILLS) bench->n_fills = TUNE_MOST_FILLS;
  const bool refills = bench->n_fills > 1 || bench->desc->in_place;
  bench->moved_bytes = (size_t)bench->n_fills * (bench->result_bytes + (refills ? filled : 0));
  bench->filled = -1;
  return LLRT_OK;
}

llrt_status tune_bench_begin(const llrt_op *op, const llrt_op_desc *given, tune_bench *bench) {
  llrt_tensor tensors[LLRT_MAX_TENSORS];
  memset(bench, 0, sizeof *bench);
  bench->device = op->device;
  bench->desc = &op->desc;
  LLRT_TRY(take_tensors(given, bench, tensors));
  LLRT_TRY(llrt_validate_tensors(tensors, given->n_tensors, op->set->roles, NULL));
  LLRT_TRY(llrt_validate_shapes(&op->desc, tensors, op->set, &bench->call));
  if (given->scalars && op->desc.kind == LLRT_OP_COMPUTE)
    memcpy(bench->scalars, given->scalars,
           (size_t)op->desc.program.n_scalars * sizeof *bench->scalars);
  if (op->desc.kind == LLRT_OP_COMPUTE) bench->call.scalars = bench->scalars;
  return bench->call.empty ? LLRT_OK : count_bytes(bench);
}

/* ---- memory ---- */

static llrt_status allocate_host(char **memory, size_t bytes) {
  *memory = memory_new(bytes ? bytes : 1);
  return *memory ? LLRT_OK : llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %zu bytes", bytes);
}

static llrt_status allocate_tensors(tune_bench *bench) {
  op_call *call = &bench->call;
  for (int t = 0; t < call->n; t++) call->tensor[t].data = NULL;
  for (int t = 0; t < call->n; t++) {
    bool shares = bench->desc->in_place && t == 1;
    size_t bytes = bench->bytes[t];
    if (bench->desc->in_place && bench->bytes[1] > bytes) bytes = bench->bytes[1];
    if (shares) call->tensor[t].data = call->tensor[0].data;
    else LLRT_TRY(llrt_memory_allocate(bench->device, bytes ? bytes : 1, &call->tensor[t].data));
    for (int i = 0; i < call->tensor[t].n_indices; i++)
      if (bench->index[t][i].report) bench->index[t][i].report = bench->flush;
  }
  return LLRT_OK;
}

llrt_status tune_bench_allocate(tune_bench *bench) {
  llrt_device *device = bench->device;
  size_t cache = device->info.l2_bytes > LEAST_CACHE ? device->info.l2_bytes : LEAST_CACHE;
  bench->flush_bytes = 2 * cache;
  LLRT_TRY(llrt_memory_allocate(device, bench->flush_bytes, &bench->flush));
  LLRT_TRY(allocate_tensors(bench));
  LLRT_TRY(allocate_host(&bench->input, bench->input_bytes));
  LLRT_TRY(allocate_host(&bench->result, bench->result_bytes));
  LLRT_TRY(allocate_host(&bench->planned, bench->result_bytes * (size_t)bench->n_fills));
  LLRT_TRY(llrt_event_create(device, &bench->start));
  return llrt_event_create(device, &bench->stop);
}

void tune_bench_end(tune_bench *bench) {
  for (int t = 0; t < bench->call.n && bench->flush; t++)
    if (!(bench->desc->in_place && t == 1) && bench->call.tensor[t].data)
      llrt_memory_free(bench->device, bench->call.tensor[t].data);
  if (bench->flush) llrt_memory_free(bench->device, bench->flush);
  llrt_event_destroy(&bench->start);
  llrt_event_destroy(&bench->stop);
  free(bench->input);
  free(bench->result);
  free(bench->planned);
}

/* ---- results ---- */

static llrt_status launch(tune_bench *bench, const llrt_op *op, int variant) {
  const llrt_run_params params = {.own_workspace = 1};
  return llrt_op_launch(op, variant, &bench->call, &params, NULL);
}

/* Runs on one fill, and copies all that is written to `result`. */
static llrt_status run(tune_bench *bench, const llrt_op *op, int variant, int number,
                       char *result) {
  const op_call *call = &bench->call;
  LLRT_TRY(tune_fill(bench, number));
  LLRT_TRY(launch(bench, op, variant));
  for (int t = 0; t < call->n; t++) {
    if (!bench->written[t] || bench->bytes[t] == 0) continue;
    LLRT_TRY(llrt_memory_copy(bench->device, result, call->tensor[t].data, bench->bytes[t],
                              LLRT_COPY_FROM_DEVICE, NULL));
    result += bench->bytes[t];
  }
  return llrt_stream_synchronize(bench->device, NULL);
}

llrt_status tune_bench_keep(tune_bench *bench, const llrt_op *op, int variant) {
  for (int i = 0; i < bench->n_fills; i++)
    LLRT_TRY(run(bench, op, variant, i, bench->planned + (size_t)i * bench->result_bytes));
  return LLRT_OK;
}

static bool are_near(const tune_bench *bench, const char *got, const char *wanted) {
  for (int t = 0; t < bench->call.n; t++) {
    if (!bench->written[t]) continue;
    if (!tune_data_is_near(bench->call.tensor[t].dtype, bench->call.bits[t], got, wanted,
                           bench->bytes[t]))
      return false;
    got += bench->bytes[t];
    wanted += bench->bytes[t];
  }
  return true;
}

llrt_status tune_bench_compare(tune_bench *bench, const llrt_op *op, int variant,
                               tune_results *results) {
  *results = TUNE_SAME_BITS;
  for (int i = 0; i < bench->n_fills && *results != TUNE_WRONG; i++) {
    const char *wanted = bench->planned + (size_t)i * bench->result_bytes;
    LLRT_TRY(run(bench, op, variant, i, bench->result));
    if (memcmp(bench->result, wanted, bench->result_bytes) == 0) continue;
    *results = are_near(bench, bench->result, wanted) ? TUNE_OTHER_ORDER : TUNE_WRONG;
  }
  return LLRT_OK;
}

/* ---- times ---- */

llrt_status tune_bench_time(tune_bench *bench, const llrt_op *op, int variant, double *us) {
  LLRT_TRY(llrt_memory_set(bench->device, bench->flush, 0, bench->flush_bytes, NULL));
  LLRT_TRY(llrt_event_record(bench->start, NULL));
  LLRT_TRY(launch(bench, op, variant));
  LLRT_TRY(llrt_event_record(bench->stop, NULL));
  return llrt_event_elapsed(bench->start, bench->stop, us);
}
