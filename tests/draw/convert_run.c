/* Runs a conversion: memory with guards, indices and counts in it, the call by one of its routes,
 * and all compared. */
#include "convert_case.h"
#include "interpret.h"
#include "promises.h"
#include "runtime/described.h"
#include "tests/number_reference.h"

#include <stdlib.h>
#include <string.h>

/* ---- tensors ---- */

static size_t bytes_of(int64_t elements, llrt_dtype type) {
  return ((size_t)elements * (size_t)llrt_dtype_bits(type) + 7) / 8;
}

static uint64_t small_code(llrt_dtype type, uint64_t random) {
  int64_t number = (int64_t)(random >> 20) % 15 - 7;
  bool whole = type >= LLRT_I64 && type <= LLRT_BOOL;
  if (type == LLRT_E8M0) return 120 + (random >> 20) % 15;
  if (whole || type >= LLRT_B4) return (uint64_t)number;
  return reference_encode(type, (double)number / 2);
}

/* Codes near every end of the type: its lowest and highest, and those beside them. */
static uint64_t edge_code(llrt_dtype type, uint64_t random) {
  int bits = llrt_dtype_bits(type);
  uint64_t top = 1ull << (bits - 1), near = (random >> 8) % 4;
  switch (random % 6) {
  case 0: return near;
  case 1: return top - 1 - near;
  case 2: return top + near;
  case 3: return 0 - 1 - near;
  case 4: return (random >> 16 & 1 ? top : 0) | (top >> 1) | near;
  default: return random >> 3;
  }
}

/* Elements of numbers, where the case does not take any bytes. */
static void fill_elements(const convert_case *of, llrt_dtype type, uint8_t *bytes, size_t n,
                          uint64_t seed) {
  int bits = llrt_dtype_bits(type);
  if (of->data == 0 || bits > 64) return;
  for (int64_t i = 0; i < (int64_t)(n * 8 / (size_t)bits); i++) {
    uint64_t random = draw_next(&seed), code[2] = {0};
    code[0] = of->data == 1 ? small_code(type, random) : edge_code(type, random);
    code_write(bytes, bits, i, code);
  }
}

static bool pointers_of(const convert_case *of, int s) {
  for (int i = 0; s < 2 && i < of->n_indices[s]; i++)
    if (of->index[s][i].index.kind == LLRT_INDEX_POINTER) return true;
  return false;
}

static int64_t alignment_of(const convert_case *of, int s) {
  for (int i = 0; s < 2 && i < of->n_indices[s]; i++)
    if (of->index[s][i].index.alignment > 16) return of->index[s][i].index.alignment;
  return 16;
}

static verdict make_tensor(convert_run *run, int s, int words) {
  const convert_case *of = run->of;
  convert_tensor *made = &run->tensor[s];
  const char *why;
  int64_t shape[LLRT_MAX_RANK];
  convert_seen_shape(of, s, shape);
  made->storage = words >> s & 1 ? of->other[s].storage : of->side[s].storage;
  bool meant = of->side[s].is_meant &&
               !(words >> s & 1); /* what the text means, whatever it was parsed as */
  if (!places_make(meant ? &of->side[s].meant : &made->storage, shape, of->side[s].strides,
                   &made->at, &why))
    return bench_say(run->at, VERDICT_LIMIT, "side %d: %s", s, why);
  llrt_tensor *tensor = &made->tensor;
  *tensor = (llrt_tensor){
      .dtype = of->type[s], .rank = of->rank, .storage = &made->storage, .device = run->at->device};
  memcpy(tensor->shape, s == 2 ? shape : of->shape, sizeof tensor->shape);
  memcpy(tensor->strides, of->side[s].strides, sizeof tensor->strides);
  return VERDICT_RIGHT;
}

static verdict make_memory(convert_run *run, int s) {
  const convert_case *of = run->of;
  convert_tensor *made = &run->tensor[s];
  size_t span = bytes_of(made->at.span, of->type[s]);
  if (pointers_of(of, s)) {
    int64_t alignment = alignment_of(of, s);
    made->layer_bytes = ((int64_t)span + 32 + alignment - 1) / alignment * alignment;
    span = (size_t)((of->layers[s] - 1) * made->layer_bytes) + span;
  }
  if (s == 1 && of->in_place)
    span = run->tensor[0].memory.span > span ? run->tensor[0].memory.span : span;
  if (s == 0 && of->in_place) { /* the destination's memory is both */
    size_t other = bytes_of(run->tensor[1].at.span, of->type[1]);
    span = other > span ? other : span;
  }
  if (s == 1 && of->in_place) {
    made->memory = run->tensor[0].memory;
  } else {
    bool listed = pointers_of(of, s); /* addresses are multiples of what is promised */
    int address = listed ? (int)(of->side[s].address / alignment_of(of, s) * alignment_of(of, s))
                         : of->side[s].address;
    if (!memory_make(run->at, span, address, of->tight[s] && !(listed && run->at->is_host),
                     of->data_seed + (uint64_t)s, &made->memory))
      return bench_fail(run->at, LLRT_OUT_OF_MEMORY, "memory");
    if (s != 1)
      fill_elements(of, of->type[s], memory_image(&made->memory), span,
                    of->data_seed ^ (uint64_t)s);
    if (!memory_send(run->at, &made->memory)) return bench_fail(run->at, LLRT_DEVICE, "sending");
  }
  made->tensor.data = memory_data(&made->memory);
  return VERDICT_RIGHT;
}

/* ---- indices and counts ---- */

static void store_values(const convert_run *run, int s, int i) {
  const convert_tensor *of = &run->tensor[s];
  const llrt_index *index = &run->of->index[s][i].index;
  uint8_t *image = memory_image(&of->values[i]);
  for (int64_t v = 0; v < of->n_values[i]; v++) {
    int64_t value = of->value[i][v];
    if (index->kind == LLRT_INDEX_POINTER)
      value = value < 0 ? (v % 2 ? 0 : -8)
                        : (int64_t)(intptr_t)(memory_data(&of->memory) + value * of->layer_bytes);
    if (index->dtype == LLRT_I32) memcpy(image + 4 * v, &(int32_t){(int32_t)value}, 4);
    else memcpy(image + 8 * v, &value, 8);
  }
}

static bool make_report(convert_run *run, int s, int i) {
  convert_tensor *of = &run->tensor[s];
  if (of->index[i].out_of_range != LLRT_RANGE_REPORT) return true;
  if (!memory_make(run->at, sizeof(int32_t), 0, false, run->of->data_seed + 7, &of->report[i]))
    return false;
  memset(memory_image(&of->report[i]), 1, 3);
  memory_image(&of->report[i])[3] = 0;
  of->index[i].report = (int32_t *)(void *)memory_data(&of->report[i]);
  return memory_send(run->at, &of->report[i]);
}

static bool make_index(convert_run *run, int s, int i) {
  convert_tensor *of = &run->tensor[s];
  const drawn_index *drawn = &run->of->index[s][i];
  size_t bytes = drawn->index.dtype == LLRT_I32 ? 4 : 8;
  of->index[i] = drawn->index;
  if (!memory_make(run->at, bytes * (size_t)of->n_values[i], (int)(drawn->seed % 5 * bytes),
                   run->of->tight[s], drawn->seed, &of->values[i]))
    return false;
  store_values(run, s, i);
  of->index[i].data = memory_data(&of->values[i]);
  return memory_send(run->at, &of->values[i]) && make_report(run, s, i);
}

static verdict make_indices(convert_run *run, int s) {
  convert_tensor *of = &run->tensor[s];
  if (!convert_values_make(run, s)) return bench_fail(run->at, LLRT_OUT_OF_MEMORY, "values");
  for (int i = 0; i < run->of->n_indices[s]; i++)
    if (!make_index(run, s, i)) return bench_fail(run->at, LLRT_OUT_OF_MEMORY, "values");
  of->tensor.indices = run->of->n_indices[s] ? of->index : NULL;
  of->tensor.n_indices = run->of->n_indices[s];
  return VERDICT_RIGHT;
}

static verdict make_counts(convert_run *run) {
  const convert_case *of = run->of;
  for (int a = 0; a < of->rank; a++) {
    int64_t count = of->count[a] < 0              ? 0
                    : of->count[a] > of->shape[a] ? of->shape[a]
                                                  : of->count[a];
    run->end[a] = of->counted >> a & 1 ? count : of->shape[a];
    run->empty |= run->end[a] == 0;
    if (!(of->counted >> a & 1)) continue;
    if (!memory_make(run->at, sizeof(int32_t), 0, of->tight[0], of->data_seed + 31 + (uint64_t)a,
                     &run->counts[a]))
      return bench_fail(run->at, LLRT_OUT_OF_MEMORY, "counts");
    memcpy(memory_image(&run->counts[a]), &of->count[a], sizeof(int32_t));
    if (!memory_send(run->at, &run->counts[a])) return bench_fail(run->at, LLRT_DEVICE, "sending");
    for (int s = 0; s < 2; s++)
      if (of->count_sides >> s & 1)
        run->tensor[s].tensor.extent_ptr[a] = (const int32_t *)(void *)memory_data(&run->counts[a]);
  }
  return VERDICT_RIGHT;
}

static verdict make_all(convert_run *run, int words) {
  int tensors = run->of->type[2] ? 3 : 2;
  for (int s = 0; s < tensors; s++) TRY_VERDICT(make_tensor(run, s, words));
  for (int s = 0; s < tensors; s++) TRY_VERDICT(make_memory(run, s));
  for (int s = 0; s < 2; s++) TRY_VERDICT(make_indices(run, s));
  return make_counts(run);
}

static void free_all(convert_run *run) {
  for (int s = 0; s < 3; s++) {
    convert_tensor *of = &run->tensor[s];
    places_free(&of->at);
    if (!(s == 1 && run->of->in_place)) memory_free(run->at, &of->memory);
    for (int i = 0; i < LLRT_MAX_INDICES; i++) {
      memory_free(run->at, &of->values[i]);
      memory_free(run->at, &of->report[i]);
      free(of->value[i]);
    }
  }
  for (int a = 0; a < LLRT_MAX_RANK; a++) memory_free(run->at, &run->counts[a]);
}

/* ---- routes ---- */

llrt_convert_params convert_params_of(const convert_run *run) {
  llrt_convert_params params = {.n_maps = run->of->n_maps,
                                .maps = run->of->maps,
                                .scale = run->of->type[2] ? &run->tensor[2].tensor : NULL};
  if (run->of->type[0] != run->of->type[1]) params.dtype = run->of->type[1];
  return params;
}

static verdict run_op(convert_run *run, const llrt_op *op) {
  llrt_tensor tensors[] = {run->tensor[0].tensor, run->tensor[1].tensor, run->tensor[2].tensor};
  llrt_status status = llrt_op_run(op, NULL, tensors, run->of->type[2] ? 3 : 2, NULL);
  if (status != LLRT_OK) return bench_fail(run->at, status, "llrt_op_run");
  if (!run->at->is_host) status = llrt_stream_synchronize(run->at->device, NULL);
  return status == LLRT_OK ? VERDICT_RIGHT : bench_fail(run->at, status, "running");
}

static verdict call_prepared(convert_run *run) {
  const convert_case *of = run->of;
  op_description desc = {.kind = LLRT_OP_CONVERT,
                         .n_tensors = of->type[2] ? 3 : 2,
                         .in_place = of->in_place,
                         .n_maps = of->n_maps};
  llrt_status status = LLRT_OK;
  memcpy(desc.maps, of->maps, sizeof desc.maps);
  llrt_view view;
  if (of->gather) TRY_VERDICT(convert_gather_view(run, &view));
  for (int t = 0; t < desc.n_tensors; t++) desc.tensors[t] = run->tensor[t].tensor;
  if (of->route == ROUTE_PROMISED) { /* by number */
    const places *at[] = {&run->tensor[0].at, &run->tensor[1].at, &run->tensor[2].at};
    promises_draw(of->promise_seed, of->promised, at, &desc);
  }
  if (of->route != ROUTE_PROMISED) status = described_promise(&desc);
  if (status != LLRT_OK) return bench_fail(run->at, status, "llrt_op_promise_coarse");
  if (run->at->plan_target) { /* nothing is compiled */
    run->promised = of->route == ROUTE_PROMISED ? desc : (op_description){.n_tensors = 0};
    return draw_interpret(run->at, &desc, of->promise_seed);
  }
  status = described_prepare(run->at->device, &desc, &run->op);
  run->promised = of->route == ROUTE_PROMISED ? desc : (op_description){.n_tensors = 0};
  if (status != LLRT_OK) return bench_fail(run->at, status, "llrt_op_prepare");
  if (of->route == ROUTE_LOADED) TRY_VERDICT(bench_reload(run->at, &run->op));
  return run_op(run, run->op);
}

static verdict call_once(convert_run *run) {
  llrt_convert_params params = convert_params_of(run);
  llrt_status status =
      llrt_convert_into(&run->tensor[0].tensor, &run->tensor[1].tensor, &params, NULL);
  if (status != LLRT_OK) return bench_fail(run->at, status, "llrt_convert_into");
  if (!run->at->is_host) status = llrt_stream_synchronize(run->at->device, NULL);
  return status == LLRT_OK ? VERDICT_RIGHT : bench_fail(run->at, status, "running");
}

verdict convert_take_result(convert_run *run, llrt_tensor *allocated) {
  memory *into = &run->tensor[1].memory;
  llrt_tensor result = *allocated;
  llrt_status status = LLRT_OK;
  if (into->span)
    status = llrt_memory_copy(run->at->device, memory_data(into), result.data, into->span,
                              LLRT_COPY_ON_DEVICE, NULL);
  if (status == LLRT_OK && !run->at->is_host)
    status = llrt_stream_synchronize(run->at->device, NULL);
  llrt_tensor_free(&result, NULL);
  return status == LLRT_OK ? VERDICT_RIGHT : bench_fail(run->at, status, "running");
}

static verdict call_allocated(convert_run *run) {
  llrt_convert_params params = convert_params_of(run);
  llrt_tensor result;
  params.dtype = run->of->type[1];
  llrt_status status =
      llrt_convert(&run->tensor[0].tensor, &run->tensor[1].storage, &params, NULL, &result);
  if (status != LLRT_OK) return bench_fail(run->at, status, "llrt_convert");
  return convert_take_result(run, &result);
}

/* Without a device everything is: planned and interpreted. */
static bool is_prepared(const convert_run *run) {
  return run->at->plan_target ||
         (run->of->route != ROUTE_CALL && run->of->route != ROUTE_ALLOCATED);
}

static verdict call(convert_run *run) {
  if (is_prepared(run)) return call_prepared(run);
  if (run->of->gather) return convert_gather_call(run);
  return run->of->route == ROUTE_ALLOCATED ? call_allocated(run) : call_once(run);
}

/* What memory of the context's allocator holds; where a REPORT leaves elements out of a gather's
 * result, zeros. */
static int allocated_byte(const convert_case *of) {
  bool clears =
      of->gather && of->n_indices[0] && of->index[0][0].index.out_of_range == LLRT_RANGE_REPORT;
  return clears ? 0 : ALLOCATED_BYTE;
}

/* ---- comparing ---- */

static verdict compare_read_only(convert_run *run) {
  for (int s = 0; s < 3; s++) {
    convert_tensor *of = &run->tensor[s];
    if (s != 1 && of->memory.image && !(s == 0 && run->of->in_place))
      TRY_VERDICT(memory_compare(run->at, &of->memory, s ? "scales" : "source", true));
    for (int i = 0; s < 2 && i < run->of->n_indices[s]; i++)
      TRY_VERDICT(memory_compare(run->at, &of->values[i], "index", true));
  }
  for (int a = 0; a < run->of->rank; a++)
    if (run->counts[a].image) TRY_VERDICT(memory_compare(run->at, &run->counts[a], "count", true));
  return VERDICT_RIGHT;
}

static verdict compare_all(convert_run *run) {
  TRY_VERDICT(memory_compare(run->at, &run->tensor[1].memory, "destination", false));
  for (int s = 0; s < 2; s++)
    for (int i = 0; i < run->of->n_indices[s]; i++)
      if (run->tensor[s].report[i].image)
        TRY_VERDICT(memory_compare(run->at, &run->tensor[s].report[i], "report", false));
  return compare_read_only(run);
}

/* After a call that failed: nothing is written, `failed` stays the verdict. */
static verdict compare_untouched(convert_run *run, verdict failed) {
  char kept[WHY_BYTES];
  if (failed == VERDICT_FAULT) return failed;
  memcpy(kept, run->at->why, sizeof kept);
  if (compare_all(run) != VERDICT_RIGHT) return VERDICT_TOUCHED;
  memcpy(run->at->why, kept, sizeof kept);
  return failed;
}

static verdict run_made(convert_run *run) {
  bool allocated = run->of->route == ROUTE_ALLOCATED;
  if (allocated)
    memset(memory_image(&run->tensor[1].memory), allocated_byte(run->of),
           run->tensor[1].memory.span);
  if (allocated && !memory_send(run->at, &run->tensor[1].memory))
    return bench_fail(run->at, LLRT_DEVICE, "sending");
  verdict called = call(run);
  if (called != VERDICT_RIGHT) return compare_untouched(run, called);
  if (!convert_reference(run)) return bench_say(run->at, VERDICT_LIMIT, "no memory");
  return compare_all(run);
}

/* ---- other shapes that keep the promises ---- */

static void say_shape(bench *at, const convert_case *of) {
  char kept[WHY_BYTES];
  side_text to = {at->why, 0, sizeof at->why};
  memcpy(kept, at->why, sizeof kept);
  side_say(&to, "the same operation on another shape, ");
  side_say_shape(&to, of->rank, of->shape);
  side_say(&to, ": %s", kept);
}

/* Runs `op`, prepared for another shape, on the case's tensors, if they keep what was promised. */
static verdict run_again(bench *at, const convert_case *of, const convert_run *first, int words) {
  convert_run *run = calloc(1, sizeof *run);
  if (!run) return VERDICT_RIGHT;
  run->at = at;
  run->of = of;
  verdict made = make_all(run, words);
  const places *lie[] = {&run->tensor[0].at, &run->tensor[1].at, &run->tensor[2].at};
  llrt_tensor tensors[] = {run->tensor[0].tensor, run->tensor[1].tensor, run->tensor[2].tensor};
  bool holds = made == VERDICT_RIGHT && promises_hold(&first->promised, tensors, lie);
  if (holds) {
    verdict called = run_op(run, first->op);
    if (called != VERDICT_RIGHT) made = compare_untouched(run, called);
    else if (convert_reference(run)) made = compare_all(run);
  }
  free_all(run);
  free(run);
  return holds && verdict_is_finding(made) ? made : VERDICT_RIGHT;
}

static verdict run_other_shapes(convert_run *run, int words) {
  const convert_case *of = run->of;
  bool alone = !of->n_indices[0] && !of->n_indices[1] && !of->counted && !of->in_place &&
               run->promised.n_tensors;
  convert_case *next = malloc(sizeof *next);
  uint64_t seed = of->promise_seed + 1;
  verdict made = VERDICT_RIGHT;
  for (int turn = 0; next && run->op && alone && turn < 6 && made == VERDICT_RIGHT; turn++) {
    int64_t elements = 1;
    *next = *of;
    for (int a = 0; a < of->rank; a++) {
      const llrt_promise *promise = &run->promised.promises[(draw_next(&seed) >> 40) % 2].shape[a];
      elements *= next->shape[a] = promise_other_extent(&seed, promise, of->shape[a]);
    }
    bool same = memcmp(next->shape, of->shape, sizeof next->shape) == 0;
    for (int s = 0; s < 3; s++) next->side[s].is_meant = false;
    if (!same && elements <= 1 << 15 && convert_case_suits(next))
      made = run_again(run->at, next, run, words);
    if (made != VERDICT_RIGHT) say_shape(run->at, next);
  }
  free(next);
  return made;
}

verdict convert_case_run(bench *at, const convert_case *of, int words) {
  convert_run *run = calloc(1, sizeof *run);
  if (!run) return bench_say(at, VERDICT_LIMIT, "no memory");
  run->at = at;
  run->of = of;
  verdict made = make_all(run, words);
  if (made == VERDICT_RIGHT) made = run_made(run);
  if (made == VERDICT_RIGHT) made = run_other_shapes(run, words);
  if (verdict_is_finding(made)) promises_say(at, &run->promised);
  llrt_op_destroy(&run->op);
  free_all(run);
  free(run);
  return made;
}
