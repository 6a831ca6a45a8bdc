/* Runs a reduce or a scan, compares what it made with tests/conformance/combine_reference.h, and
 * everything else with what was there. */
#include "combine_case.h"
#include "promises.h"
#include "runtime/described.h"
#include "tests/number_reference.h"

#include <stdlib.h>
#include <string.h>

#define TRY_VERDICT(call) \
  do { \
    verdict tried = (call); \
    if (tried != VERDICT_RIGHT) return tried; \
  } while (0)

typedef struct combine_run {
  bench *at;
  const combine_case *of;
  combine_kind kind; /* with what its defaults are */
  int n;
  places places_of[3];
  llrt_storage storage[3], kept[2];
  llrt_tensor tensor[3];
  memory memory[3], counts[LLRT_MAX_RANK], workspace;
  op_description promised;
} combine_run;

/* ---- memory ---- */

static void fill_source(combine_run *run) {
  llrt_dtype type = run->tensor[0].dtype;
  int bits = llrt_dtype_bits(type);
  uint64_t seed = run->of->data_seed;
  memory *into = &run->memory[0];
  for (int64_t i = 0; i < (int64_t)(into->span * 8 / (size_t)bits); i++)
    code_write(memory_image(into), bits, i,
               (uint64_t[2]){combine_random_code(&run->of->data, run->kind.op, type, &seed), 0});
}

static verdict make_tensor(combine_run *run, int t, int words) {
  const combine_case *of = run->of;
  const draw_side *side = &of->side[t];
  bool other = words >> t & 1, meant = side->is_meant && !other;
  llrt_tensor *tensor = &run->tensor[t];
  const char *why;
  run->storage[t] = other ? of->other[t].storage : side->storage;
  *tensor = (llrt_tensor){.dtype = t == 1 ? run->kind.to : run->kind.from,
                          .storage = &run->storage[t],
                          .device = run->at->device};
  tensor->rank = combine_shape(of, t, tensor->shape);
  memcpy(tensor->strides, side->strides, sizeof tensor->strides);
  if (!places_make(meant ? &side->meant : &run->storage[t], tensor->shape, side->strides,
                   &run->places_of[t], &why))
    return bench_say(run->at, VERDICT_LIMIT, "side %d: %s", t, why);
  size_t span = (size_t)run->places_of[t].span * (size_t)llrt_dtype_bits(tensor->dtype) / 8;
  if (!memory_make(run->at, span, side->address, of->tight[t], of->data_seed + 1 + (uint64_t)t,
                   &run->memory[t]))
    return bench_fail(run->at, LLRT_OUT_OF_MEMORY, "memory");
  if (t == 0) fill_source(run);
  bool allocated = of->route == ROUTE_ALLOCATED && t == 1;
  if (allocated) memset(memory_image(&run->memory[t]), ALLOCATED_BYTE, span);
  if (!memory_send(run->at, &run->memory[t])) return bench_fail(run->at, LLRT_DEVICE, "sending");
  tensor->data = memory_data(&run->memory[t]);
  return VERDICT_RIGHT;
}

static verdict make_counts(combine_run *run) {
  for (int a = 0; a < run->of->rank; a++) {
    if (!(run->of->counted >> a & 1)) continue;
    memory *made = &run->counts[a];
    if (!memory_make(run->at, sizeof(int32_t), 0, run->of->tight[0], run->of->data_seed + 9, made))
      return bench_fail(run->at, LLRT_OUT_OF_MEMORY, "counts");
    memcpy(memory_image(made), &run->of->count[a], sizeof(int32_t));
    if (!memory_send(run->at, made)) return bench_fail(run->at, LLRT_DEVICE, "sending");
    run->tensor[0].extent_ptr[a] = (const int32_t *)(void *)memory_data(made);
  }
  return VERDICT_RIGHT;
}

static void free_all(combine_run *run) {
  for (int t = 0; t < 3; t++) {
    places_free(&run->places_of[t]);
    memory_free(run->at, &run->memory[t]);
  }
  for (int a = 0; a < LLRT_MAX_RANK; a++) memory_free(run->at, &run->counts[a]);
  memory_free(run->at, &run->workspace);
}

/* ---- calls ---- */

static int scan_axis(const combine_case *of) { return __builtin_ctz(of->axes); }

static verdict finish(combine_run *run, llrt_status status, const char *what) {
  if (status != LLRT_OK) return bench_fail(run->at, status, what);
  if (!run->at->is_host) status = llrt_stream_synchronize(run->at->device, NULL);
  return status == LLRT_OK ? VERDICT_RIGHT : bench_fail(run->at, status, "running");
}

static verdict call_once(combine_run *run, llrt_tensor *result) {
  const combine_case *of = run->of;
  llrt_reduce_params reduce = {.op = run->kind.op,
                               .axes = of->axes,
                               .accumulate = of->kind.accumulate,
                               .keep_axes = of->keeps,
                               .values = of->values ? &run->tensor[2] : NULL};
  llrt_scan_params scan = {.op = run->kind.op,
                           .axis = scan_axis(of),
                           .exclusive = of->exclusive,
                           .reverse = of->reverse,
                           .accumulate = of->kind.accumulate};
  const llrt_tensor *from = &run->tensor[0], *to = &run->tensor[1];
  if (!result)
    return of->scan ? finish(run, llrt_scan_into(from, to, &scan, NULL), "llrt_scan_into")
                    : finish(run, llrt_reduce_into(from, to, &reduce, NULL), "llrt_reduce_into");
  reduce.dtype = scan.dtype = run->kind.to;
  return of->scan
             ? finish(run, llrt_scan(from, to->storage, &scan, NULL, result), "llrt_scan")
             : finish(run, llrt_reduce(from, to->storage, &reduce, NULL, result), "llrt_reduce");
}

static verdict call_allocated(combine_run *run) {
  llrt_tensor result = {0};
  memory *into = &run->memory[1];
  TRY_VERDICT(call_once(run, &result));
  llrt_status status = LLRT_OK;
  if (into->span)
    status = llrt_memory_copy(run->at->device, memory_data(into), result.data, into->span,
                              LLRT_COPY_ON_DEVICE, NULL);
  verdict done = finish(run, status, "copying");
  llrt_tensor_free(&result, NULL);
  return done;
}

/* Twice, with one workspace: it is left zero, and every run gives the same. */
static verdict run_op(combine_run *run, const llrt_op *op, const op_description *desc) {
  size_t bytes = 0;
  llrt_status status = llrt_op_workspace(op, desc->tensors, desc->n_tensors, &bytes);
  if (status != LLRT_OK) return bench_fail(run->at, status, "llrt_op_workspace");
  if (!memory_make(run->at, bytes, 0, run->of->tight[0] && bytes % 16 == 0, run->of->data_seed,
                   &run->workspace))
    return bench_fail(run->at, LLRT_OUT_OF_MEMORY, "workspace");
  memset(memory_image(&run->workspace), 0, bytes);
  if (!memory_send(run->at, &run->workspace)) return bench_fail(run->at, LLRT_DEVICE, "sending");
  llrt_run_params params = {.workspace = memory_data(&run->workspace), .workspace_bytes = bytes};
  for (int turn = 0; turn < 2; turn++)
    TRY_VERDICT(
        finish(run, llrt_op_run(op, NULL, desc->tensors, desc->n_tensors, &params), "llrt_op_run"));
  return memory_compare(run->at, &run->workspace, "workspace", false);
}

static verdict describe(combine_run *run, op_description *desc) {
  const combine_case *of = run->of;
  *desc = (op_description){.kind = of->scan ? LLRT_OP_SCAN : LLRT_OP_REDUCE, .n_tensors = run->n};
  desc->combine = (llrt_op_combine){.op = run->kind.op,
                                    .accumulate = of->kind.accumulate,
                                    .axes = of->axes,
                                    .exclusive = of->exclusive,
                                    .reverse = of->reverse};
  for (int t = 0; t < run->n; t++) {
    desc->tensors[t] = run->tensor[t];
    if (t == 0 || of->scan) continue;
    llrt_status status = llrt_reduce_keep_axes(&run->tensor[t], of->rank, of->axes,
                                               &run->kept[t - 1], &desc->tensors[t]);
    if (status != LLRT_OK) return bench_fail(run->at, status, "llrt_reduce_keep_axes");
  }
  return VERDICT_RIGHT;
}

static verdict call_prepared(combine_run *run) {
  const combine_case *of = run->of;
  const places *at[] = {&run->places_of[0], of->scan ? &run->places_of[1] : NULL, NULL};
  op_description desc;
  llrt_op *op = NULL;
  llrt_status status = LLRT_OK;
  TRY_VERDICT(describe(run, &desc));
  if (of->route == ROUTE_PROMISED) promises_draw(of->promise_seed, of->promised, at, &desc);
  else status = described_promise(&desc);
  if (status != LLRT_OK) return bench_fail(run->at, status, "llrt_op_promise_coarse");
  run->promised = of->route == ROUTE_PROMISED ? desc : (op_description){.n_tensors = 0};
  status = described_prepare(run->at->device, &desc, &op);
  if (status != LLRT_OK) return bench_fail(run->at, status, "llrt_op_prepare");
  verdict made = of->route == ROUTE_LOADED ? bench_reload(run->at, &op) : VERDICT_RIGHT;
  if (made == VERDICT_RIGHT) made = run_op(run, op, &desc);
  llrt_op_destroy(&op);
  return made;
}

/* ---- comparing ---- */

typedef struct checker {
  combine_run *run;
  uint8_t *found[3]; /* a result's bytes as they are on the device */
} checker;

static bool fetch(checker *at, int t) {
  memory *of = &at->run->memory[t];
  at->found[t] = malloc(of->bytes);
  if (!at->found[t]) return false;
  if (llrt_memory_copy(at->run->at->device, at->found[t], of->base, of->bytes,
                       LLRT_COPY_FROM_DEVICE, NULL) != LLRT_OK)
    return false;
  return at->run->at->is_host || llrt_stream_synchronize(at->run->at->device, NULL) == LLRT_OK;
}

/* Coordinates of a result in tensor t. */
static void own_coords(const combine_case *of, const int64_t *x, int64_t *own) {
  for (int a = 0, n = 0; a < of->rank; a++) {
    bool reduced = !of->scan && of->axes >> a & 1;
    if (of->scan || of->keeps || !reduced) own[n++] = reduced ? 0 : x[a];
  }
}

/* Checks the first copy of the result at x, and expects what it is in all copies. */
static verdict check_result(checker *at, int t, const int64_t *x, const combine_joined *joined,
                            double joins) {
  combine_run *run = at->run;
  llrt_dtype type = run->tensor[t].dtype;
  int64_t own[LLRT_MAX_RANK] = {0};
  uint64_t code[2];
  own_coords(run->of, x, own);
  code_read(at->found[t] + run->memory[t].front, llrt_dtype_bits(type),
            places_at(&run->places_of[t], own, 0), code);
  bool agrees = t == 1 ? combine_agrees(&run->kind, joined, joins, code[0])
                       : combine_value_agrees(&run->kind, joined, type, code[0]);
  for (int copy = 0; copy < run->places_of[t].copies; copy++)
    code_write(memory_image(&run->memory[t]), llrt_dtype_bits(type),
               places_at(&run->places_of[t], own, copy), code);
  if (agrees) return VERDICT_RIGHT;
  return bench_say(
      run->at, VERDICT_WRONG,
      "%s at %lld,%lld,%lld,%lld: %llx; of %lld joined: sum %.9g, integer %llx, best %g at %lld",
      t == 1 ? "result" : "value", (long long)x[0], (long long)x[1], (long long)x[2],
      (long long)x[3], (unsigned long long)code[0], (long long)joined->n, joined->sum,
      (unsigned long long)joined->integer, joined->best, (long long)joined->at);
}

static uint64_t source_code_at(const combine_run *run, const int64_t *x) {
  uint64_t code[2];
  code_read(memory_image(&run->memory[0]), llrt_dtype_bits(run->kind.from),
            places_at(&run->places_of[0], x, 0), code);
  return code[0];
}

/* To the next coordinates along `axes`. */
static bool next_along(const combine_case *of, uint32_t axes, int64_t *x) {
  for (int a = of->rank - 1; a >= 0; a--) {
    if (!(axes >> a & 1)) continue;
    if (++x[a] < of->shape[a]) return true;
    x[a] = 0;
  }
  return false;
}

static bool is_counted(const combine_case *of, const int64_t *x) {
  for (int a = 0; a < of->rank; a++)
    if (of->counted >> a & 1 && x[a] >= of->count[a]) return false;
  return true;
}

/* Which of the reduced elements x is, row by row. */
static int64_t number_of(const combine_case *of, const int64_t *x) {
  int64_t number = 0;
  for (int a = 0; a < of->rank; a++)
    if (of->axes >> a & 1) number = number * of->shape[a] + x[a];
  return number;
}

static verdict check_reduced(checker *at, int64_t *x, bool nothing) {
  const combine_case *of = at->run->of;
  combine_joined joined = combine_nothing();
  do
    if (!nothing && is_counted(of, x))
      combine_take(&at->run->kind, source_code_at(at->run, x), number_of(of, x), &joined);
  while (!nothing && next_along(of, of->axes, x));
  TRY_VERDICT(check_result(at, 1, x, &joined, (double)joined.n / 4 + 48));
  return of->values ? check_result(at, 2, x, &joined, 0) : VERDICT_RIGHT;
}

static verdict check_line(checker *at, int64_t *x) {
  const combine_case *of = at->run->of;
  int axis = scan_axis(of);
  combine_joined joined = combine_nothing();
  for (int64_t k = 0; k < of->shape[axis]; k++) {
    x[axis] = of->reverse ? of->shape[axis] - 1 - k : k;
    combine_joined before = joined;
    combine_take(&at->run->kind, source_code_at(at->run, x), 0, &joined);
    const combine_joined *here = of->exclusive ? &before : &joined;
    TRY_VERDICT(check_result(at, 1, x, here, (double)here->n));
  }
  x[axis] = 0;
  return VERDICT_RIGHT;
}

static verdict check_results(checker *at) {
  const combine_case *of = at->run->of;
  int64_t x[LLRT_MAX_RANK] = {0};
  bool nothing = false;
  for (int a = 0; a < of->rank; a++) {
    bool combined = of->axes >> a & 1;
    if (of->shape[a] == 0 && (!combined || of->scan)) return VERDICT_RIGHT;
    nothing |= of->shape[a] == 0;
  }
  do TRY_VERDICT(of->scan ? check_line(at, x) : check_reduced(at, x, nothing));
  while (next_along(of, ~of->axes, x));
  return VERDICT_RIGHT;
}

static void expect_pads(combine_run *run, int t) {
  const places *into = &run->places_of[t];
  int64_t x[LLRT_MAX_RANK] = {0};
  if (into->rule.pad != LLRT_PAD_VALUE || into->elements == 0) return;
  do {
    bool pad = false;
    for (int a = 0; a < into->rule.rank; a++) pad |= x[a] >= into->shape[a];
    for (int copy = 0; pad && copy < into->copies; copy++)
      code_write(memory_image(&run->memory[t]), llrt_dtype_bits(run->tensor[t].dtype),
                 places_at(into, x, copy), (uint64_t[2]){into->rule.pad_value, 0});
  } while (places_next(into->padded, into->rule.rank, x));
}

static verdict compare_memory(combine_run *run) {
  for (int t = 1; t < run->n; t++)
    TRY_VERDICT(memory_compare(run->at, &run->memory[t], t == 1 ? "result" : "values", false));
  TRY_VERDICT(memory_compare(run->at, &run->memory[0], "source", true));
  for (int a = 0; a < run->of->rank; a++)
    if (run->counts[a].image) TRY_VERDICT(memory_compare(run->at, &run->counts[a], "count", true));
  return VERDICT_RIGHT;
}

static verdict compare_all(combine_run *run) {
  checker at = {.run = run};
  verdict made = VERDICT_RIGHT;
  for (int t = 1; t < run->n && made == VERDICT_RIGHT; t++)
    if (!fetch(&at, t)) made = bench_fail(run->at, LLRT_DEVICE, "reading back");
  if (made == VERDICT_RIGHT) made = check_results(&at);
  for (int t = 1; t < run->n; t++) {
    expect_pads(run, t);
    free(at.found[t]);
  }
  return made == VERDICT_RIGHT ? compare_memory(run) : made;
}

/* After a call that failed nothing is written. */
static verdict compare_untouched(combine_run *run, verdict failed) {
  char kept[WHY_BYTES];
  if (failed == VERDICT_FAULT || verdict_is_finding(failed)) return failed;
  memcpy(kept, run->at->why, sizeof kept);
  if (compare_memory(run) != VERDICT_RIGHT) return VERDICT_TOUCHED;
  memcpy(run->at->why, kept, sizeof kept);
  return failed;
}

static verdict call(combine_run *run) {
  if (run->of->route == ROUTE_ALLOCATED) return call_allocated(run);
  return run->of->route == ROUTE_CALL ? call_once(run, NULL) : call_prepared(run);
}

static verdict run_all(combine_run *run, int words) {
  for (int t = 0; t < run->n; t++) TRY_VERDICT(make_tensor(run, t, words));
  TRY_VERDICT(make_counts(run));
  verdict called = call(run);
  return called == VERDICT_RIGHT ? compare_all(run) : compare_untouched(run, called);
}

verdict combine_case_run(bench *at, const combine_case *of, int words) {
  combine_run *run = calloc(1, sizeof *run);
  if (!run) return bench_say(at, VERDICT_LIMIT, "no memory");
  run->at = at;
  run->of = of;
  run->n = of->values ? 3 : 2;
  run->kind =
      combine_reference_resolve(of->kind.op, of->kind.from, of->kind.accumulate, of->kind.to);
  verdict made = run_all(run, words);
  if (verdict_is_finding(made)) promises_say(at, &run->promised);
  free_all(run);
  free(run);
  return made;
}
