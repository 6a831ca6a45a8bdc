/* Every kernel that may run a product, timed: what the model of tiles (jit/plan/tiles) is fitted to
 * by fit_tiles.py. Prints a line of JSON for each class of shapes, with its candidates, and one for
 * each shape, with their times. Results of candidates are compared with each other where D is
 * small. --shapes models: the layers of model_layers.h and random ones (--seed); random: these
 * alone; MxNxK,...: what is asked for; --sizes: N = K, in the k of the option. */
#include "dot_kinds.h"
#include "flushed.h"
#include "jit/plan/plan_make.h"
#include "jit/plan/types/number.h"
#include "model_layers.h"
#include "random_shapes.h"
#include "runtime/context.h"
#include "runtime/description.h"
#include "runtime/prepared.h"
#include "subcommands.h"
#include "tile_clocks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  NAME = 80,
  MOST_CASES = 4096,
  MOST_CANDIDATES = PLAN_MAX_VARIANTS,
  SHARES = 10,
  COMPARED = 400000, /* elements of D at most, and at how many places */
  PLACES = 1024,
  SAMPLES = 32
};

typedef struct tile_case {
  const dot_kind *kind;
  dot_extents shape;
  char name[NAME];
} tile_case;

typedef struct candidate {
  llrt_op *op;
  char name[NAME]; /* its number */
  bool shared;
} candidate;

typedef struct tiles_bench {
  harness *h;
  flushed flush;
  llrt_tensor tensor[DOT_KIND_TENSORS];
  void *memory[DOT_KIND_TENSORS], *workspace;
  size_t bytes[DOT_KIND_TENSORS], workspace_bytes;
  llrt_dtype filled[DOT_KIND_TENSORS];
  llrt_storage columns;
  llrt_dot_packing packing;
  described_dot call;
  op_call bound;
  int n;
  candidate candidate[MOST_CANDIDATES];
  llrt_event *start, *stop;
  unsigned char *first, *now; /* D of the first candidate, and of another one */
} tiles_bench;

/* ---- cases ---- */

static int n_cases;
static tile_case cases[MOST_CASES];

static void add_case(harness *h, const dot_kind *kind, int64_t m, int64_t n, int64_t k) {
  tile_case *c = &cases[n_cases];
  *c = (tile_case){.kind = kind, .shape = {m, n, k}};
  snprintf(c->name, NAME, "%s %" PRId64 "x%" PRId64 "x%" PRId64, kind->name, m, n, k);
  if (n_cases < MOST_CASES - 1 && harness_wants(h, c->name)) n_cases++;
}

static void list_cases(harness *h, const dot_kind *kind) {
  const harness_options *o = &h->options;
  const int64_t *rows;
  const int n_rows = model_rows_asked(o, &rows);
  for (int s = 0; s < o->n_sizes; s++)
    for (int r = 0; r < n_rows; r++) add_case(h, kind, rows[r], o->size[s] >> 10, o->size[s] >> 10);
  for (int l = 0; l < model_layers_count && o->models; l++)
    for (int r = 0; r < n_rows; r++)
      add_case(h, kind, rows[r], model_layers[l].n, model_layers[l].k);
  for (int l = 0; l < odd_layers_count && o->odd; l++)
    for (int r = 0; r < n_rows; r++) add_case(h, kind, rows[r], odd_layers[l].n, odd_layers[l].k);
  dot_extents x;
  for (int i = 0; (o->models || o->random) && random_shape(o, i, &x); i++)
    add_case(h, kind, x.m, x.n, x.k);
}

/* Shapes with the same promises have the same kernels. */
static int multiple_of(int64_t x) {
  int64_t power = x & -x;
  return power > 256 ? 256 : (int)power;
}

static int rows_class(int64_t m) { return m == 1 ? 0 : m <= 16 ? 1 : 2; }

static bool same_class(const tile_case *a, const tile_case *b) {
  return a->kind == b->kind && rows_class(a->shape.m) == rows_class(b->shape.m) &&
         multiple_of(a->shape.n) == multiple_of(b->shape.n) &&
         multiple_of(a->shape.k) == multiple_of(b->shape.k);
}

/* ---- tensors ---- */

static uint64_t code_of(llrt_dtype dtype, bool scale, uint64_t random) {
  const number_format *format = number_format_of(dtype);
  if (dtype == LLRT_E8M0) return DOT_KIND_LOW + (random & (DOT_KIND_HIGH - DOT_KIND_LOW));
  if (format->bits == 4 || format->kind == NUMBER_INTEGER)
    return random & ((1u << format->bits) - 1);
  if (scale) return number_code(format, (double)(1 + (random & 7)) / 8);
  return number_code(format, (double)((int)(random & 255) - 128) / 128);
}

/* Memory of random codes, of which the first PIECE bytes recur. */
enum { PIECE = 32 << 20 };

static void fill(tiles_bench *b, int t, llrt_dtype dtype) {
  llrt_device *device = b->h->device;
  unsigned char *piece = malloc(PIECE);
  int bits = llrt_dtype_bits(dtype), step = bits < 8 ? 8 : bits;
  if (!piece) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  uint64_t codes[256];
  bool scale = t == DOT_KIND_SCALE || t == DOT_KIND_GLOBAL;
  for (uint64_t i = 0; i < 256; i++) codes[i] = code_of(dtype, scale, i);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < (int64_t)PIECE * 8 / step; i++) {
    uint64_t random = harness_mix((uint64_t)i * DOT_KIND_TENSORS + (uint64_t)t),
             code = codes[random & 255];
    if (bits < 8) code |= codes[random >> 8 & 255] << 4;
    memcpy(piece + i * step / 8, &code, (size_t)step / 8);
  }
  for (size_t at = 0; at < b->bytes[t]; at += PIECE) {
    size_t n = b->bytes[t] - at < PIECE ? b->bytes[t] - at : PIECE;
    harness_must(
        llrt_memory_copy(device, (char *)b->memory[t] + at, piece, n, LLRT_COPY_TO_DEVICE, NULL),
        "copy to the device");
  }
  harness_must(llrt_stream_synchronize(device, NULL), "copy to the device");
  free(piece);
}

/* The case's tensors, in memory that all cases share. */
static void place(tiles_bench *b, const tile_case *c, int t) {
  llrt_device *device = b->h->device;
  llrt_tensor *x = &b->tensor[t];
  size_t bytes = 0;
  *x = dot_kind_tensor(c->kind, t, &c->shape, &b->columns);
  if (!x->dtype) return;
  x->device = device;
  if (c->kind->order && t >= DOT_KIND_B && t <= DOT_KIND_ZERO &&
      (t == DOT_KIND_B || c->kind->group > 0))
    x->storage = &b->packing.storages[t - DOT_KIND_B];
  harness_must(llrt_tensor_bytes(x, &bytes), "bytes");
  if (bytes > b->bytes[t]) {
    if (b->memory[t]) llrt_memory_free(device, b->memory[t]);
    harness_must(llrt_memory_allocate(device, bytes, &b->memory[t]), "device memory");
    b->bytes[t] = bytes;
    b->filled[t] = LLRT_DTYPE_NONE;
  }
  if (t != DOT_KIND_D && b->filled[t] != x->dtype) fill(b, t, x->dtype);
  b->filled[t] = x->dtype;
  x->data = b->memory[t];
}

static bool describe(tiles_bench *b, const tile_case *c) {
  const llrt_tensor *tensors[DOT_KIND_TENSORS];
  llrt_device_info info = {0};
  harness_must(llrt_device_get_info(b->h->device, &info), "the device");
  b->packing = (llrt_dot_packing){.n_maps = 0};
  if (c->kind->order &&
      dot_kind_packing(c->kind, info.target, &c->shape, &b->packing) == LLRT_UNSUPPORTED)
    return false;
  for (int t = 0; t < DOT_KIND_TENSORS; t++) {
    place(b, c, t);
    tensors[t] = &b->tensor[t];
  }
  harness_must(dot_kind_describe(c->kind, tensors, &b->packing, &b->call), c->name);
  harness_must(described_promise(&b->call.desc), c->name);
  llrt_description_normalise(&b->call.desc);
  return true;
}

/* ---- candidates ---- */

/* Those of a plan that say how long they take. */
static void add_candidates(tiles_bench *b, const plan_kernel **stages, plan *made,
                           storage_set *set) {
  llrt_device *device = b->h->device;
  const plan_options options = {.wide = true};
  if (plan_make(&b->call.desc, &device->target, &options, made) != LLRT_OK) return;
  for (int v = 0; v < made->n_variants; v += 1 + made->variant[v].launch.later) {
    plan_kernel *kernel = &made->variant[v];
    candidate *c = &b->candidate[b->n];
    if (kernel->launch.pace.units == 0) continue;
    *c = (candidate){.shared = kernel->tile.shares};
    snprintf(c->name, NAME, "%d", b->n);
    kernel->launch.range = (plan_range){.min_elements = 0};
    harness_must(llrt_op_make(device, &b->call.desc, set, &c->op), "an operation");
    stages[b->n++] = kernel;
  }
}

/* As fit_tiles.py reads them. */
static void print_facts(const tile_facts *t) {
  printf("[%d,%d,%d,%d,%d,%d,%d,%d,%g,%g,%g,%d,%d,%d,%d,%d,%d,%d,%d]", t->kind, t->positions[0],
         t->positions[1], t->positions[2], t->cluster, t->resident, t->slots, t->groups, t->bits[0],
         t->bits[1], t->bits[2], t->bytes, t->short_sums, t->rounds, t->dealt, t->shares, t->beside,
         t->across, t->teams > 1 ? t->teams : 1);
}

static void make_candidates(tiles_bench *b, const char *name) {
  static plan *made;
  const plan_kernel *stages[MOST_CANDIDATES];
  storage_set set;
  b->n = 0;
  harness_must(llrt_memory_set(b->h->device, b->workspace, 0, b->workspace_bytes, NULL),
               "workspace");
  harness_must(llrt_storage_set_init(b->call.desc.tensors, b->call.desc.n_tensors,
                                     b->call.desc.dot.roles, &set),
               "storages");
  double begin = harness_now();
  if (!made) made = malloc(sizeof *made);
  if (!made) harness_must(LLRT_OUT_OF_MEMORY, "a plan");
  add_candidates(b, stages, made, &set);
  int failed = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : failed)
  for (int i = 0; i < b->n; i++) {
    candidate *c = &b->candidate[i];
    if (llrt_op_build_kernels(c->op, stages[i], 1 + stages[i]->launch.later) == LLRT_OK) continue;
    fprintf(stderr, "%s %s: %s\n", name, c->name, llrt_last_error());
    llrt_op_release(c->op);
    c->op = NULL;
    failed++;
  }
  printf("{\"class\":\"%s\",\"seconds\":%.2f,\"failed\":%d,\"candidates\":{", name,
         1e-6 * (harness_now() - begin), failed);
  bool comma = false;
  for (int i = 0; i < b->n; i++) {
    if (!b->candidate[i].op) continue;
    printf("%s\"%s\":", comma ? "," : "", b->candidate[i].name);
    print_facts(&stages[i]->tile);
    comma = true;
  }
  printf("}}\n");
  fflush(stdout);
}

static void drop_candidates(tiles_bench *b) {
  for (int i = 0; i < b->n; i++) llrt_op_release(b->candidate[i].op);
  b->n = 0;
}

/* ---- times ---- */

static bool launch(tiles_bench *b, const candidate *c) {
  const llrt_run_params params = {.workspace = b->workspace, .workspace_bytes = b->workspace_bytes};
  llrt_status status = llrt_op_launch(c->op, 0, &b->bound, &params, NULL);
  if (status != LLRT_OK) fprintf(stderr, "%s: %s\n", c->name, llrt_last_error());
  return status == LLRT_OK;
}

static bool time_once(tiles_bench *b, const candidate *c, double *us) {
  harness_must(llrt_memory_set(b->h->device, b->flush.memory, 0, b->flush.bytes, NULL), "flush");
  harness_must(llrt_event_record(b->start, NULL), "event");
  if (!launch(b, c)) return false;
  harness_must(llrt_event_record(b->stop, NULL), "event");
  harness_must(llrt_event_elapsed(b->start, b->stop, us), "event");
  return true;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Of a kernel whose blocks share K: positions of its grid, and turns. */
static void count(tiles_bench *b, plan_launch *recipe, int64_t *blocks, int64_t *turns) {
  uint64_t args[PLAN_MAX_ARGS];
  plan_run run;
  int64_t was = recipe->walk.blocks;
  recipe->walk.blocks = 0; /* not shared */
  harness_must(plan_run_begin(recipe, b->bound.tensor, b->bound.binding, b->bound.n, &run), "run");
  harness_must(plan_run_stage(recipe, &run, args, blocks), "run");
  *turns = run.turns;
  recipe->walk.blocks = was;
}

static void set_shares(plan_launch *recipe, int64_t blocks, int shares) {
  recipe->pace.units = 0; /* by the walk's own rule */
  recipe->walk.blocks = blocks * shares;
  recipe->walk.least = 1;
  recipe->walk.enough = 0;
}

/* A candidate, or one whose blocks share K in so many shares. */
typedef struct timing {
  candidate *c;
  int shares, n;
  int64_t blocks, turns, wrong;
  double once, sample[SAMPLES];
} timing;

static void shuffle(int *order, int n, uint64_t round) {
  for (int i = n - 1; i > 0; i--) {
    const uint64_t drawn = harness_mix(round * MOST_CANDIDATES * SHARES + (uint64_t)i);
    const int other = (int)(drawn % (uint64_t)(i + 1)), was = order[i];
    order[i] = order[other];
    order[other] = was;
  }
}

/* Again, by turns: a device that gets hot, or has its clock lowered, does so for all of them; and
 * in another order each time, for what ran before decides the clock of long ones. Those that are
 * far from the best are timed once. */
static void time_by_turns(tiles_bench *b, timing *all, int n) {
  static int order[MOST_CANDIDATES * SHARES];
  const int rounds = b->h->options.repeat < SAMPLES ? b->h->options.repeat : SAMPLES;
  double best = 1e30;
  int near = 0;
  for (int i = 0; i < n; i++)
    if (all[i].once > 0 && all[i].once < best) best = all[i].once;
  for (int i = 0; i < n; i++)
    if (all[i].once >= 0 && all[i].once <= 1.4 * best + 3) order[near++] = i;
  for (int r = 0; r < rounds; r++) {
    shuffle(order, near, (uint64_t)r);
    for (int i = 0; i < near; i++) {
      timing *t = &all[order[i]];
      if (t->c->shared) set_shares(&t->c->op->variant[0].launch, t->blocks, t->shares);
      if (time_once(b, t->c, &t->sample[t->n])) t->n++;
    }
  }
}

static double number_at(const tiles_bench *b, const unsigned char *d, int64_t at) {
  llrt_dtype type = b->tensor[DOT_KIND_D].dtype;
  uint64_t code = 0;
  size_t bytes = (size_t)llrt_dtype_bits(type) / 8;
  memcpy(&code, d + (size_t)at * bytes, bytes);
  return number_value(number_format_of(type), code);
}

/* How many elements differ by more than sums in another order do; -1: D is large. */
static int64_t compare(tiles_bench *b, const candidate *c, bool first) {
  const llrt_tensor *d = &b->tensor[DOT_KIND_D];
  const int64_t n = d->shape[0] * d->shape[1];
  size_t bytes;
  if (n > COMPARED) return -1;
  unsigned char *to = first ? b->first : b->now;
  harness_must(llrt_tensor_bytes(d, &bytes), "bytes");
  harness_must(llrt_memory_set(b->h->device, d->data, 0xee, bytes, NULL), "poison");
  if (!launch(b, c)) return n;
  harness_must(llrt_memory_copy(b->h->device, to, d->data, bytes, LLRT_COPY_FROM_DEVICE, NULL),
               "copy from the device");
  harness_must(llrt_stream_synchronize(b->h->device, NULL), "run");
  if (first) return 0;
  if (memcmp(b->first, b->now, bytes) == 0) return 0;
  int64_t wrong = 0, places = n < PLACES ? n : PLACES;
  double square = 0;
  for (int64_t i = 0; i < places; i++) {
    double x = number_at(b, b->first, (int64_t)(harness_mix((uint64_t)i) % (uint64_t)n));
    square += x * x;
  }
  const double rms = sqrt(square / (double)places);
  for (int64_t i = 0; i < places; i++) {
    int64_t at = (int64_t)(harness_mix((uint64_t)i) % (uint64_t)n);
    double x = number_at(b, b->first, at), y = number_at(b, to, at);
    wrong += !(fabs(x - y) <= fabs(x) / 64 + rms / 64);
  }
  return wrong;
}

static void report(timing *t, bool comma) {
  double us = t->once, least = t->once;
  qsort(t->sample, (size_t)t->n, sizeof *t->sample, by_value);
  if (t->n > 0) {
    us = t->n % 2 ? t->sample[t->n / 2] : (t->sample[t->n / 2 - 1] + t->sample[t->n / 2]) / 2;
    least = t->sample[0];
  }
  printf("%s[\"%s\",%d,%" PRId64 ",%" PRId64 ",%.2f,%.2f", comma ? "," : "", t->c->name, t->shares,
         t->blocks, t->turns, us, least);
  if (t->wrong > 0) printf(",%" PRId64, t->wrong);
  printf("]");
}

static bool fits_workspace(tiles_bench *b, const plan_launch *recipe) {
  plan_run run;
  harness_must(plan_run_begin(recipe, b->bound.tensor, b->bound.binding, b->bound.n, &run), "run");
  return (size_t)run.workspace_bytes <= b->workspace_bytes;
}

/* Compares the results of all candidates, and times each once. How many there are. */
static int begin_case(tiles_bench *b, timing *all) {
  static const int shares[SHARES] = {2, 3, 4, 5, 6, 8, 10, 12, 16, 24};
  const int units = b->h->info.compute_units;
  int n = 0;
  for (int i = 0; i < b->n; i++) {
    candidate *x = &b->candidate[i];
    timing t = {.c = x, .shares = 1};
    if (!x->op) continue;
    plan_launch *recipe = &x->op->variant[0].launch;
    count(b, recipe, &t.blocks, &t.turns);
    for (int s = 0; s < (x->shared ? SHARES : 1); s++) {
      if (x->shared) t.shares = shares[s];
      if (x->shared &&
          (t.blocks > units || t.turns < 2 * t.shares || t.blocks * t.shares > 3 * units))
        continue;
      if (x->shared) set_shares(recipe, t.blocks, t.shares);
      if (!fits_workspace(b, recipe)) continue;
      t.wrong = compare(b, x, n == 0);
      if (!time_once(b, x, &t.once)) t.once = -1;
      all[n++] = t;
    }
  }
  return n;
}

static int64_t run_case(tiles_bench *b, const tile_case *c) {
  static timing all[MOST_CANDIDATES * SHARES];
  int64_t wrong = 0;
  if (!describe(b, c)) return 0;
  harness_must(llrt_op_bind(b->candidate[0].op, b->call.desc.tensors, b->call.desc.n_tensors, NULL,
                            &b->bound),
               c->name);
  const int n = begin_case(b, all);
  time_by_turns(b, all, n);
  printf("{\"kind\":\"%s\",\"shape\":[%" PRId64 ",%" PRId64 ",%" PRId64 "],\"times\":[",
         c->kind->name, c->shape.m, c->shape.n, c->shape.k);
  for (int i = 0; i < n; i++) {
    report(&all[i], i > 0);
    wrong += all[i].wrong > 0;
  }
  printf("]}\n");
  fflush(stdout);
  return wrong;
}

/* ---- the whole ---- */

static void begin(harness *h, tiles_bench *b) {
  *b = (tiles_bench){.h = h, .workspace_bytes = (size_t)256 << 20};
  flushed_init(h, &b->flush);
  harness_must(llrt_storage_col_major(2, &b->columns), "storage");
  harness_must(llrt_memory_allocate(h->device, b->workspace_bytes, &b->workspace), "workspace");
  harness_must(llrt_memory_set(h->device, b->workspace, 0, b->workspace_bytes, NULL), "workspace");
  harness_must(llrt_event_create(h->device, &b->start), "event");
  harness_must(llrt_event_create(h->device, &b->stop), "event");
  b->first = malloc(8 * COMPARED);
  b->now = malloc(8 * COMPARED);
  if (!b->first || !b->now) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
}

static void end(tiles_bench *b) {
  for (int t = 0; t < DOT_KIND_TENSORS; t++)
    if (b->memory[t]) llrt_memory_free(b->h->device, b->memory[t]);
  llrt_memory_free(b->h->device, b->workspace);
  llrt_event_destroy(&b->start);
  llrt_event_destroy(&b->stop);
  flushed_fini(&b->flush);
  free(b->first);
  free(b->now);
}

/* The classes one after the other, with the kernels of one at a time. */
static int64_t run_all(tiles_bench *b) {
  static bool done[MOST_CASES];
  int64_t wrong = 0;
  for (int i = 0; i < n_cases; i++) {
    if (done[i] || !describe(b, &cases[i])) continue;
    make_candidates(b, cases[i].name);
    for (int j = i; j < n_cases && b->n > 0; j++) {
      if (done[j] || !same_class(&cases[i], &cases[j])) continue;
      done[j] = true;
      wrong += run_case(b, &cases[j]);
    }
    drop_candidates(b);
  }
  return wrong;
}

int bench_tiles(int argc, char *argv[]) {
  static tiles_bench b;
  harness_options options;
  harness h;
  harness_parse(argc, argv, &options);
  if (options.predict) return tile_clocks_print(options.predict);
  harness_init(&options, &h);
  for (int i = 0; i < dot_kinds_count; i++) list_cases(&h, &dot_kinds[i]);
  if (options.list)
    for (int i = 0; i < n_cases; i++) printf("%s\n", cases[i].name);
  int64_t wrong = 0;
  if (!options.list) {
    begin(&h, &b);
    wrong = run_all(&b);
    end(&b);
    printf("{\"cases\":%d,\"wrong\":%" PRId64 "}\n", n_cases, wrong);
  }
  harness_fini(&h);
  return wrong ? 1 : 0;
}
