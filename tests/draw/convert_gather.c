/* Conversions that llrt/gather.h makes of a store and an index tensor. */
#include "convert_case.h"

/* The store and the index tensor that the view of the case's tensor comes from. */
typedef struct pieces {
  llrt_tensor store, index;
  llrt_storage storage; /* of the index */
  llrt_gather_params params;
  llrt_convert_params convert; /* the params' */
  int axis;
} pieces;

static int policy_of(const convert_run *run, const llrt_index *index) {
  const convert_case *of = run->of;
  bool allocated = of->route == ROUTE_ALLOCATED &&
                   !run->at->plan_target; /* without a device the view is planned alone */
  bool same = allocated && index->out_of_range == LLRT_RANGE_ZERO && of->data_seed & 1;
  return same ? LLRT_RANGE_SKIP : index->out_of_range; /* what is allocated has zeros either way */
}

static verdict make_pieces(convert_run *run, pieces *made) {
  const convert_case *of = run->of;
  int s = convert_gather_side(of), form = of->gather - 1;
  const convert_tensor *side = &run->tensor[s];
  const llrt_index *index = &side->index[0];
  int rank = form == LLRT_GATHER_SELECT ? 1 : of->rank;
  *made = (pieces){.store = side->tensor, .axis = index->axis};
  made->store.indices = NULL;
  made->store.n_indices = 0;
  convert_seen_shape(of, s, made->store.shape);
  made->index = (llrt_tensor){.data = (void *)(intptr_t)index->data,
                              .dtype = index->dtype,
                              .rank = rank,
                              .storage = &made->storage,
                              .device = run->at->device};
  for (int a = 0; a < of->rank; a++) {
    int at = form == LLRT_GATHER_SELECT ? 0 : a;
    bool varies = index->axes >> a & 1;
    if (form == LLRT_GATHER_SELECT && a != index->axis) continue;
    made->index.shape[at] = varies ? of->shape[a] : 1;
    made->index.strides[at] = varies ? index->strides[a] : 1;
  }
  made->params = (llrt_gather_params){.form = form,
                                      .out_of_range = policy_of(run, index),
                                      .report = index->report,
                                      .convert = &made->convert};
  made->convert = convert_params_of(run);
  llrt_status status =
      llrt_storage_strided(rank, of->promise_seed & 1 ? NULL : made->index.strides, &made->storage);
  return status == LLRT_OK ? VERDICT_RIGHT : bench_fail(run->at, status, "llrt_storage_strided");
}

verdict convert_gather_view(convert_run *run, llrt_view *view) {
  pieces made;
  int s = convert_gather_side(run->of);
  TRY_VERDICT(make_pieces(run, &made));
  llrt_status status = llrt_gather_view(&made.store, &made.index, made.axis, &made.params, view);
  if (status != LLRT_OK) return bench_fail(run->at, status, "llrt_gather_view");
  run->tensor[s].tensor = view->tensor;
  return VERDICT_RIGHT;
}

verdict convert_gather_call(convert_run *run) {
  pieces made;
  llrt_tensor result, *tensor[] = {&run->tensor[0].tensor, &run->tensor[1].tensor};
  llrt_status status;
  TRY_VERDICT(make_pieces(run, &made));
  if (run->of->route == ROUTE_ALLOCATED) {
    made.convert.dtype = run->of->type[1];
    status = llrt_gather(&made.store, &made.index, made.axis, &run->tensor[1].storage, &made.params,
                         NULL, &result);
    return status == LLRT_OK ? convert_take_result(run, &result)
                             : bench_fail(run->at, status, "llrt_gather");
  }
  if (convert_gather_side(run->of))
    status = llrt_scatter_into(tensor[0], &made.index, made.axis, &made.store, &made.params, NULL);
  else
    status = llrt_gather_into(&made.store, &made.index, made.axis, tensor[1], &made.params, NULL);
  if (status != LLRT_OK) return bench_fail(run->at, status, "llrt_gather_into, llrt_scatter_into");
  if (!run->at->is_host) status = llrt_stream_synchronize(run->at->device, NULL);
  return status == LLRT_OK ? VERDICT_RIGHT : bench_fail(run->at, status, "running");
}
