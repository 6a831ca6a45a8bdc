/* Runs a form inside a block: by the planner's interpreter, or compiled, and compares with plain
 * loops. */
#include "tests/draw/tile_case.h"

#include "jit/interpret/plan_interpret.h"
#include "jit/probe/tile_op.h"
#include "tests/number_reference.h"

#include <llrt/llrt.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TRY_VERDICT(call) \
  do { \
    verdict tried = (call); \
    if (tried != VERDICT_RIGHT) return tried; \
  } while (0)

enum { FROM, TO, OTHER, TENSORS };

typedef struct tile_run {
  bench *at;
  const tile_case *of;
  memory memory[TENSORS];
  llrt_dtype type[TENSORS];
  int n_tensors;
  int64_t elements; /* of every tensor */
  int tile;         /* log2 elements of a tile */
  uint8_t *open;    /* of a reduce, a byte for each element: what may be anything */
} tile_run;

/* ---- what it is ---- */

/* What plan_tile borrows. */
typedef struct tile_parts {
  plan_tile_scan scan;
  plan_tile_reduce reduce;
  plan_tile_gather gather;
  plan_tile_cast cast;
} tile_parts;

static plan_tile tile_of(const tile_case *of, tile_parts *parts) {
  plan_tile tile = {
      .a = &of->a, .b = &of->b, .element_bits = llrt_dtype_bits(of->type), .turns = of->turns};
  *parts = (tile_parts){
      .scan = {of->combiner, of->type, of->axis, of->exclusive, of->reverse},
      .reduce = {of->combiner, of->type, of->axis},
      .gather = {of->axis},
      .cast = {of->type, of->other},
  };
  if (of->form == TILE_SCAN) tile.scan = &parts->scan;
  if (of->form == TILE_REDUCE) tile.reduce = &parts->reduce;
  if (of->form == TILE_GATHER) tile.gather = &parts->gather;
  if (of->form == TILE_CAST) tile.cast = &parts->cast;
  return tile;
}

static plan_dot_tile dot_of(const tile_case *of) {
  plan_dot_tile tile = {.m = of->mnk[0],
                        .n = of->mnk[1],
                        .k = of->mnk[2],
                        .warps = of->warps,
                        .a = of->type,
                        .b = of->type,
                        .d = of->other,
                        .product_a = of->type,
                        .product_b = of->type,
                        .sum = of->other};
  if (of->placed) {
    tile.layout[0] = &of->a;
    tile.layout[1] = &of->b;
  }
  return tile;
}

/* ---- memory ---- */

/* Small whole numbers, whose sums are exact. */
static void fill_numbers(llrt_dtype type, uint8_t *bytes, int64_t n, uint64_t seed) {
  bool sign = type != LLRT_U8 && type != LLRT_U16 && type != LLRT_U32 && type != LLRT_U64;
  for (int64_t i = 0; i < n; i++) {
    int64_t x = (int64_t)(draw_next(&seed) >> 20) % 8 - (sign ? 4 : 0);
    bool real = type < LLRT_I64 || type > LLRT_BOOL;
    uint64_t code[2] = {real ? reference_encode(type, (double)x) : (uint64_t)x};
    code_write(bytes, llrt_dtype_bits(type), i, code);
  }
}

static verdict make_memory(tile_run *run) {
  const tile_case *of = run->of;
  for (int t = 0; t < run->n_tensors; t++) {
    size_t bytes = (size_t)run->elements * (size_t)llrt_dtype_bits(run->type[t]) / 8;
    if (!memory_make(run->at, bytes, of->address, false, of->seed + (uint64_t)t, &run->memory[t]))
      return bench_fail(run->at, LLRT_OUT_OF_MEMORY, "memory");
    bool numbers = t != TO && (of->form == TILE_DOT ||
                               (t == FROM && of->form != TILE_CONVERT && of->form != TILE_GATHER));
    if (numbers)
      fill_numbers(run->type[t], memory_image(&run->memory[t]), run->elements, of->seed ^ 77);
    if (!memory_send(run->at, &run->memory[t])) return bench_fail(run->at, LLRT_DEVICE, "sending");
  }
  return VERDICT_RIGHT;
}

/* ---- reference ---- */

static uint64_t get(const tile_run *run, int tensor, int64_t at) {
  uint64_t code[2] = {0};
  code_read(memory_image(&run->memory[tensor]), llrt_dtype_bits(run->type[tensor]), at, code);
  return code[0];
}

static void put(tile_run *run, int64_t at, uint64_t element) {
  code_write(memory_image(&run->memory[TO]), llrt_dtype_bits(run->type[TO]), at,
             (uint64_t[2]){element});
}

/* Which coordinate bits the axis has. */
static int axis_of(const tile_run *run, int *bits) {
  const llrt_layout *layout = &run->of->a;
  int shift = 0;
  for (int a = 0; a < run->of->axis; a++) shift += layout->out[a].bits;
  *bits = layout->out[run->of->axis].bits;
  return shift;
}

static void reference_moves(tile_run *run) {
  for (int64_t i = 0; i < run->elements; i++) {
    uint64_t element = get(run, FROM, i);
    for (int turn = 0; turn < run->of->turns && run->of->form == TILE_CAST; turn++) {
      element = reference_cast(run->of->type, run->of->other, element, 1, false);
      element = reference_cast(run->of->other, run->of->type, element, 1, false);
    }
    put(run, i, element);
  }
}

/* Turn after turn, from an element to where it was asked for. */
static void reference_gather(tile_run *run) {
  int bits, shift = axis_of(run, &bits);
  int64_t mask = (((int64_t)1 << bits) - 1) << shift;
  for (int64_t i = 0; i < run->elements; i++) {
    int64_t from = i;
    for (int turn = 0; turn < run->of->turns; turn++)
      from = (from & ~mask) | ((int64_t)get(run, OTHER, from) << shift & mask);
    put(run, i, get(run, FROM, from));
  }
}

static uint64_t bits_of(llrt_dtype type) {
  return llrt_dtype_bits(type) == 64 ? ~0ull : (1ull << llrt_dtype_bits(type)) - 1;
}

static bool is_real(llrt_dtype type) { return type == LLRT_F32 || type == LLRT_F64; }

static bool is_less(llrt_dtype type, uint64_t a, uint64_t b) {
  if (is_real(type)) return reference_decode(type, a) < reference_decode(type, b);
  if (type == LLRT_U32 || type == LLRT_U64) return a < b;
  int up = 64 - llrt_dtype_bits(type);
  return (int64_t)(a << up) < (int64_t)(b << up);
}

static uint64_t joined(const tile_case *of, uint64_t a, uint64_t b) {
  llrt_dtype type = of->type;
  if (of->combiner == LLRT_COMBINE_MIN) return is_less(type, b, a) ? b : a;
  if (of->combiner == LLRT_COMBINE_MAX) return is_less(type, a, b) ? b : a;
  if (is_real(type))
    return reference_encode(type, reference_decode(type, a) + reference_decode(type, b));
  return (of->combiner == LLRT_COMBINE_SUM ? a + b : a * b) & bits_of(type);
}

/* What an exclusive scan begins with. */
static uint64_t neutral(const tile_case *of) {
  uint64_t all = bits_of(of->type), top = all ^ all >> 1;
  bool least = of->combiner == LLRT_COMBINE_MAX, real = is_real(of->type);
  if (of->combiner == LLRT_COMBINE_SUM) return 0;
  if (of->combiner == LLRT_COMBINE_PROD) return 1;
  if (real) return reference_encode(of->type, least ? -INFINITY : INFINITY);
  if (of->type == LLRT_U32 || of->type == LLRT_U64) return least ? 0 : all;
  return least ? top : all ^ top;
}

/* Along the axis, from its first element on; what is left of a reduce stands there. */
static void reference_combine(tile_run *run) {
  const tile_case *of = run->of;
  int bits, shift = axis_of(run, &bits);
  int64_t n = (int64_t)1 << bits, mask = (n - 1) << shift;
  for (int64_t first = 0; first < run->elements; first++) {
    uint64_t sum = neutral(of);
    if (first & mask) continue;
    for (int64_t k = 0; k < n; k++) {
      int64_t at = first | (of->form == TILE_SCAN && of->reverse ? n - 1 - k : k) << shift;
      uint64_t before = sum;
      sum = k ? joined(of, sum, get(run, FROM, at)) : get(run, FROM, at);
      if (of->form == TILE_SCAN) put(run, at, of->exclusive ? before : sum);
    }
    if (of->form == TILE_REDUCE) put(run, first, sum);
  }
}

/* Tensors hold of each tile the operand first, in row-major order. */
static void reference_dot(tile_run *run) {
  const int32_t *log = run->of->mnk;
  const int64_t m = 1ll << log[0], n = 1ll << log[1], k = 1ll << log[2];
  memset(run->open, 1, (size_t)run->elements);
  for (int64_t first = 0; first < run->elements; first += (int64_t)1 << run->tile)
    for (int64_t i = 0; i < m * n; i++) {
      double sum = 0;
      for (int64_t j = 0; j < k; j++)
        sum += reference_decode(run->type[FROM], get(run, FROM, first + i / n * k + j)) *
               reference_decode(run->type[OTHER], get(run, OTHER, first + j * n + i % n));
      put(run, first + i, reference_encode(run->type[TO], sum));
      run->open[first + i] = 0;
    }
}

static void reference(tile_run *run) {
  switch (run->of->form) {
  case TILE_GATHER: reference_gather(run); break;
  case TILE_REDUCE:
  case TILE_SCAN: reference_combine(run); break;
  case TILE_DOT: reference_dot(run); break;
  default: reference_moves(run);
  }
}

/* ---- the run ---- */

static verdict plan_and_interpret(tile_run *run, const llrt_tensor *tensor) {
  static plan_kernel kernel;
  const plan_options options = {.exchange = (plan_exchange)run->of->exchange};
  llrt_storage_binding binding[TENSORS];
  plan_target target;
  tile_parts parts;
  for (int t = 0; t < run->n_tensors; t++)
    if (llrt_storage_bind(tensor[t].storage, 1, tensor[t].shape, tensor[t].strides, &binding[t]) !=
        LLRT_OK)
      return bench_fail(run->at, LLRT_INTERNAL, "binding");
  llrt_status status = plan_target_find(run->at->plan_target, &target);
  if (status == LLRT_OK && run->of->form == TILE_DOT) {
    plan_dot_tile dot = dot_of(run->of);
    status = plan_dot_tile_make(&dot, &target, &options, &kernel);
  } else if (status == LLRT_OK) {
    plan_tile tile = tile_of(run->of, &parts);
    status = plan_tile_make(&tile, &target, &options, &kernel);
  }
  if (status != LLRT_OK) return bench_fail(run->at, status, "planning");
  status = plan_interpret(&kernel, tensor, binding, run->n_tensors);
  return status == LLRT_OK ? VERDICT_RIGHT : bench_fail(run->at, status, "interpreting");
}

static verdict compile_and_run(tile_run *run, const llrt_tensor *tensor) {
  const plan_options options = {.exchange = (plan_exchange)run->of->exchange};
  llrt_op *op;
  tile_parts parts;
  llrt_status status;
  if (run->of->form == TILE_DOT) {
    plan_dot_tile dot = dot_of(run->of);
    status = llrt_dot_tile_op_make(run->at->device, &dot, &options, NULL, &op);
  } else {
    plan_tile tile = tile_of(run->of, &parts);
    status = llrt_tile_op_make(run->at->device, &tile, &options, NULL, &op);
  }
  if (status != LLRT_OK) return bench_fail(run->at, status, "preparing");
  status = llrt_op_run(op, NULL, tensor, run->n_tensors, NULL);
  if (status == LLRT_OK && !run->at->is_host)
    status = llrt_stream_synchronize(run->at->device, NULL);
  llrt_op_destroy(&op);
  return status == LLRT_OK ? VERDICT_RIGHT : bench_fail(run->at, status, "running");
}

/* Elements that may be anything, and zeros of either sign, are taken as they are. */
static verdict settle(tile_run *run) {
  size_t bytes = run->memory[TO].span;
  llrt_dtype type = run->type[TO];
  int bits = llrt_dtype_bits(type);
  uint8_t *found = malloc(bytes + 1);
  llrt_status status = LLRT_OK;
  if (!found) return bench_say(run->at, VERDICT_LIMIT, "no memory");
  if (run->at->device && !run->at->is_host)
    status = llrt_memory_copy(run->at->device, found, memory_data(&run->memory[TO]), bytes,
                              LLRT_COPY_FROM_DEVICE, NULL);
  else memcpy(found, memory_data(&run->memory[TO]), bytes);
  for (int64_t i = 0; i < run->elements && status == LLRT_OK; i++) {
    uint64_t got[2] = {0}, wanted = get(run, TO, i);
    code_read(found, bits, i, got);
    bool zeros = (is_real(type) || run->of->form == TILE_CAST) &&
                 ((got[0] ^ wanted) & bits_of(type)) &&
                 ((got[0] | wanted) & bits_of(type) >> 1) == 0;
    if (zeros || run->open[i]) put(run, i, got[0]);
  }
  free(found);
  return status == LLRT_OK ? VERDICT_RIGHT : bench_fail(run->at, status, "reading back");
}

/* Elements go as bits of their width, but for products. */
static llrt_dtype opaque_of(llrt_dtype type) {
  int bits = llrt_dtype_bits(type);
  return bits == 8 ? LLRT_B8 : bits == 16 ? LLRT_B16 : bits == 32 ? LLRT_B32 : LLRT_B64;
}

static verdict run_all(tile_run *run) {
  llrt_storage storage;
  llrt_tensor tensor[TENSORS];
  llrt_storage_row_major(1, &storage);
  TRY_VERDICT(make_memory(run));
  for (int t = 0; t < run->n_tensors; t++)
    tensor[t] = (llrt_tensor){
        .data = memory_data(&run->memory[t]),
        .dtype = run->of->form == TILE_DOT || t == OTHER ? run->type[t] : opaque_of(run->type[t]),
        .rank = 1,
        .shape = {run->elements},
        .storage = &storage,
        .device = run->at->device};
  TRY_VERDICT(run->at->plan_target ? plan_and_interpret(run, tensor)
                                   : compile_and_run(run, tensor));
  reference(run);
  TRY_VERDICT(settle(run));
  for (int t = 0; t < run->n_tensors; t++)
    TRY_VERDICT(memory_compare(run->at, &run->memory[t], t == TO ? "result" : "operand", t != TO));
  return VERDICT_RIGHT;
}

verdict tile_case_run(bench *at, const void *from, int words) {
  const tile_case *of = from;
  bool dot = of->form == TILE_DOT;
  tile_run run = {.at = at, .of = of, .n_tensors = dot || of->form == TILE_GATHER ? 3 : 2};
  plan_dot_tile product = dot_of(of);
  (void)words;
  run.tile = dot ? plan_dot_tile_bits(&product) : llrt_layout_out_bits(&of->a);
  run.elements = (int64_t)of->tiles << run.tile;
  run.type[FROM] = of->type;
  run.type[TO] = dot ? of->other : of->type;
  run.type[OTHER] = dot ? of->type : LLRT_I32;
  run.open = calloc((size_t)run.elements + 1, 1);
  if (!run.open) return bench_say(at, VERDICT_LIMIT, "no memory");
  verdict made = run_all(&run);
  for (int t = 0; t < run.n_tensors; t++) memory_free(at, &run.memory[t]);
  free(run.open);
  return made;
}
