/* Sums inside a block along either axis of a matrix whose layout holds elements several times: the
 * paper's table 3. Every result is checked. Counted are instructions to shared memory that a warp
 * of the block executes with a lane active (jit/plan/cost/cost.c, which tests compare with an
 * emulator's count): as planned; by a plan that is blind to copies, to which those in registers,
 * lanes and warps are elements of their own; and by one that also moves an element at a time, as
 * Triton's reductions do; at last those in our PTX, beside which peers/triton_broadcast.py counts
 * Triton's.
 *
 * Without a GPU nothing runs, and what is counted are plans for sm_90a. */
#include "broadcast_layouts.h"
#include "harness.h"
#include "jit/probe/tile_op.h"
#include "layout_json.h"
#include "runtime/context.h"
#include "subcommands.h"

#include <stdlib.h>
#include <string.h>

static const int64_t shapes[][2] = {{16, 16}, {32, 32}, {64, 64}, {128, 16}, {32, 128}, {128, 128}};
static const int warp_counts[] = {2, 4, 8, 16};
enum {
  SHAPES = sizeof shapes / sizeof *shapes,
  WARP_COUNTS = sizeof warp_counts / sizeof *warp_counts,
  TILES = 2,
  MAX_ELEMENTS = TILES * 128 * 128,
  KINDS = 16
};

/* What is counted. */
enum { OWN, BLIND, SINGLE, WAYS };
static const plan_options ways[WAYS] = {
    {.tile_bytes = 0}, {.ignore_copies = true}, {.ignore_copies = true, .single_accesses = true}};

/* Instructions of the cases of a kind. */
typedef struct totals {
  const char *kind;
  int cases, right;
  long executed[WAYS], program;
} totals;

typedef struct broadcast {
  harness *h;
  bool runs; /* on h's device */
  plan_target target;
  float *host, *found;
  void *device[2];
  int left_out; /* a thread would hold more elements than it has registers */
  int n_kinds;
  totals kind[KINDS];
} broadcast;

typedef struct broadcast_case {
  char name[64];
  const broadcast_layout *from;
  int64_t rows, columns;
  int warps, axis;
  llrt_layout layout;
} broadcast_case;

/* ---- running ---- */

static void memory_init(harness *h, broadcast *b) {
  size_t bytes = MAX_ELEMENTS * sizeof(float);
  b->host = malloc(bytes);
  b->found = malloc(bytes);
  if (!b->host || !b->found) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  for (int i = 0; i < MAX_ELEMENTS; i++)
    b->host[i] = (float)(harness_mix(h->options.seed + (uint64_t)i) % 2001) - 1000;
  for (int t = 0; t < 2 && b->runs; t++)
    harness_must(llrt_memory_allocate(h->device, bytes, &b->device[t]), "device memory");
  if (b->runs)
    harness_must(
        llrt_memory_copy(h->device, b->device[0], b->host, bytes, LLRT_COPY_TO_DEVICE, NULL),
        "copy to the device");
}

static void memory_fini(broadcast *b) {
  for (int t = 0; t < 2 && b->runs; t++) llrt_memory_free(b->h->device, b->device[t]);
  free(b->host);
  free(b->found);
}

/* Results lie where the axis's coordinate is 0. Sums of these integers are exact. */
static bool sums_are_right(const broadcast *b, const broadcast_case *c) {
  int64_t extent[] = {c->rows, c->columns}, step[] = {1, c->rows}, other = 1 - c->axis;
  for (int64_t tile = 0; tile < TILES; tile++)
    for (int64_t i = 0; i < extent[other]; i++) {
      int64_t first = tile * c->rows * c->columns + i * step[other];
      float sum = 0;
      for (int64_t k = 0; k < extent[c->axis]; k++) sum += b->host[first + k * step[c->axis]];
      if (b->found[first] != sum) return false;
    }
  return true;
}

static bool run_op(const broadcast *b, const broadcast_case *c, const llrt_op *op) {
  llrt_storage storage;
  llrt_tensor tensors[2];
  int64_t elements = TILES * c->rows * c->columns;
  size_t bytes = (size_t)elements * sizeof(float);
  harness_must(llrt_storage_row_major(1, &storage), "storage");
  for (int t = 0; t < 2; t++)
    tensors[t] = (llrt_tensor){.data = b->device[t],
                               .dtype = LLRT_B32,
                               .rank = 1,
                               .shape = {elements},
                               .storage = &storage,
                               .device = b->h->device};
  harness_must(llrt_memory_set(b->h->device, b->device[1], 0xff, bytes, NULL), "clear");
  if (llrt_op_run(op, NULL, tensors, 2, NULL) != LLRT_OK) return false;
  harness_must(
      llrt_memory_copy(b->h->device, b->found, b->device[1], bytes, LLRT_COPY_FROM_DEVICE, NULL),
      "copy from the device");
  return llrt_stream_synchronize(b->h->device, NULL) == LLRT_OK && sums_are_right(b, c);
}

static bool run_way(const broadcast *b, const broadcast_case *c, const plan_tile *tile,
                    const plan_options *options) {
  llrt_op *op;
  if (!b->runs) return true;
  bool right = llrt_tile_op_make(b->h->device, tile, options, NULL, &op) == LLRT_OK;
  if (right) {
    right = run_op(b, c, op);
    llrt_op_destroy(&op);
  }
  if (!right) printf("%s: %s\n", c->name, llrt_last_error());
  return right;
}

/* ---- counting ---- */

/* In the text of a kernel for NVIDIA. */
static int count_in(const char *ptx) {
  static const char *const opcodes[] = {"ld.shared", "st.shared", "ldmatrix", "stmatrix"};
  int n = 0;
  for (int i = 0; i < 4; i++)
    for (const char *at = strstr(ptx, opcodes[i]); at; at = strstr(at + 1, opcodes[i])) n++;
  return n;
}

static int count_program(const broadcast *b, const plan_kernel *kernel) {
  const llrt_jit_interface *jit;
  llrt_jit_result result = {0};
  if (b->target.isa != PLAN_ISA_NVPTX || kernel->cost.shared_accesses == 0) return 0;
  harness_must(llrt_jit_library_get(&b->h->context->jit, &jit), "compiler");
  harness_must(jit->compile(kernel, LLRT_EMIT_ASM, &result), result.message);
  int n = count_in(result.data);
  jit->release(&result);
  return n;
}

static totals *totals_of(broadcast *b, const char *kind) {
  for (int i = 0; i < b->n_kinds; i++)
    if (strcmp(b->kind[i].kind, kind) == 0) return &b->kind[i];
  b->kind[b->n_kinds] = (totals){.kind = kind};
  return &b->kind[b->n_kinds++];
}

static void record(broadcast *b, const broadcast_case *c, bool right, const int *executed,
                   int program) {
  char bases[900];
  totals *sum = totals_of(b, c->from->kind);
  sum->cases++;
  sum->right += right;
  for (int w = 0; w < WAYS; w++) sum->executed[w] += executed[w];
  sum->program += program;
  layout_json(&c->layout, bases, sizeof bases);
  harness_record(
      b->h, c->name,
      "\"kind\":\"%s\",\"layout\":\"%s\",\"bases\":%s,\"shape\":[%d,%d],\"warps\":%d,\"axis\":%d,"
      "\"right\":%s,\"executed\":%d,\"blind\":%d,\"single\":%d,\"program\":%d",
      c->from->kind, c->from->text, bases, (int)c->rows, (int)c->columns, c->warps, c->axis,
      right ? "true" : "false", executed[OWN], executed[BLIND], executed[SINGLE], program);
}

static void run_case(broadcast *b, const broadcast_case *c) {
  static plan_kernel kernel;
  const plan_tile_reduce reduce = {.combiner = LLRT_COMBINE_SUM, .type = LLRT_F32, .axis = c->axis};
  const plan_tile tile = {.a = &c->layout, .element_bits = 32, .reduce = &reduce};
  int executed[WAYS], program = 0;
  bool right = true;
  for (int w = 0; w < WAYS; w++) {
    llrt_status status = plan_tile_make(&tile, &b->target, &ways[w], &kernel);
    if (status == LLRT_UNSUPPORTED) {
      b->left_out++;
      return;
    }
    harness_must(status, c->name);
    executed[w] = kernel.cost.shared_accesses;
    if (w == OWN) program = count_program(b, &kernel);
  }
  for (int w = 0; w < WAYS; w++) right &= run_way(b, c, &tile, &ways[w]);
  record(b, c, right, executed, program);
}

static void run_layout(broadcast *b, const broadcast_layout *from, int number, int64_t rows,
                       int64_t columns, int warps) {
  const int64_t shape[] = {rows, columns};
  for (int axis = 0; axis < 2; axis++) {
    broadcast_case c = {
        .from = from, .rows = rows, .columns = columns, .warps = warps, .axis = axis};
    snprintf(c.name, sizeof c.name, "%s %d [%d,%d], %d warps, axis %d", from->kind, number,
             (int)rows, (int)columns, warps, axis);
    if (!harness_wants(b->h, c.name)) continue;
    if (b->h->options.list) {
      printf("%s: %s\n", c.name, from->text);
      continue;
    }
    harness_must(llrt_layout_parse(from->text, 2, shape, &c.layout), from->text);
    run_case(b, &c);
  }
}

/* ---- the table ---- */

static double less_percent(long own, long other) {
  return other ? 100.0 * (double)(other - own) / (double)other : 0;
}

static void print_totals(const broadcast *b) {
  printf("%-18s %6s %6s %9s %9s %7s %9s %7s %7s\n", "layout", "cases", "right", "executed", "blind",
         "fewer", "single", "fewer", "in PTX");
  for (int i = 0; i < b->n_kinds; i++) {
    const totals *t = &b->kind[i];
    const long *n = t->executed;
    printf("%-18s %6d %6d %9ld %9ld %6.1f%% %9ld %6.1f%% %7ld\n", t->kind, t->cases, t->right,
           n[OWN], n[BLIND], less_percent(n[OWN], n[BLIND]), n[SINGLE],
           less_percent(n[OWN], n[SINGLE]), t->program);
  }
  printf("left out, because a thread would hold more than 256 elements: %d\n", b->left_out);
  if (!b->runs) printf("counted only: nothing ran\n");
}

int bench_broadcast(int argc, char *argv[]) {
  static broadcast_layout list[BROADCAST_LAYOUTS];
  harness_options options;
  harness h;
  bool right = true;
  harness_parse(argc, argv, &options);
  harness_init(&options, &h);
  broadcast b = {.h = &h, .runs = !harness_is_host(&h)};
  harness_must(plan_target_find(b.runs ? h.info.target : "sm_90a", &b.target), "target");
  memory_init(&h, &b);
  for (int s = 0; s < SHAPES; s++)
    for (int w = 0; w < WARP_COUNTS; w++) {
      int n = broadcast_layouts(shapes[s][0], shapes[s][1], warp_counts[w], list);
      for (int i = 0; i < n; i++)
        run_layout(&b, &list[i], i, shapes[s][0], shapes[s][1], warp_counts[w]);
    }
  if (!options.list) print_totals(&b);
  for (int i = 0; i < b.n_kinds; i++) right &= b.kind[i].right == b.kind[i].cases;
  memory_fini(&b);
  harness_fini(&h);
  return right ? 0 : 1;
}
