/* Gathers inside a block, of int32 along the last axis, in a loop: by shuffles and by shared
 * memory, in layouts that have the axis in lanes or in a thread's registers, and as the cost model
 * chooses. Every row's coordinates are a permutation, so that no two turns are alike and none loses
 * anything. Each is checked, then timed.
 *
 * Microseconds of one gather by 528 blocks (tile_kernels.h). peers/triton_gather.py times Triton's
 * tl.gather on the cases of the JSON. */
#include "jit/plan/cost/cycles.h"
#include "subcommands.h"
#include "tile_kernels.h"

#include <stdlib.h>
#include <string.h>

/* log2 elements that a thread holds at most. */
enum { THREAD_BITS = 5, TEXT = 200, N_TENSORS = 3 };

static const struct {
  int64_t rows, columns;
} shapes[] = {{512, 4}, {512, 8}, {512, 16}, {512, 32}, {256, 64}, {128, 128}};
enum { SHAPE_COUNT = sizeof shapes / sizeof shapes[0] };

/* Where a layout has the axis. */
typedef enum axis_place { IN_LANES, IN_THREAD, AXIS_PLACES } axis_place;
static const char *const place_names[] = {"lanes", "thread"};

typedef struct gather_case {
  int64_t rows, columns;
  axis_place place;
  int warps;
  llrt_layout layout;
} gather_case;

/* Power-of-two sizes throughout. False where a thread cannot hold a row. */
static bool make_layout(int64_t rows, int64_t columns, axis_place place, gather_case *c) {
  char text[TEXT];
  const int64_t shape[] = {rows, columns};
  int64_t across = place == IN_THREAD ? 1 : columns < 32 ? columns : 32, warps = 4;
  while (rows * columns > warps * 32 << THREAD_BITS) warps *= 2;
  if (place == IN_THREAD && columns > 1 << THREAD_BITS) return false;
  *c = (gather_case){.rows = rows, .columns = columns, .place = place, .warps = (int)warps};
  snprintf(text, sizeof text,
           "blocked(size_per_thread=[1,%d], threads_per_warp=[%d,%d], warps_per_cta=[%d,1], "
           "order=[1,0])",
           place == IN_THREAD ? (int)columns : 1, (int)(32 / across), (int)across, (int)warps);
  harness_must(llrt_layout_parse(text, 2, shape, &c->layout), text);
  return true;
}

/* ---- memory ---- */

typedef struct gather_memory {
  int blocks;
  int64_t elements;                 /* of all blocks */
  int32_t *host[N_TENSORS], *found; /* source, wanted, coordinates */
  void *device[N_TENSORS];
} gather_memory;

/* A random permutation of each row's coordinates. A tile is stored with its first axis fastest. */
static void fill_coordinates(const harness *h, int64_t rows, int64_t columns,
                             const gather_memory *m) {
#pragma omp parallel for
  for (int64_t row = 0; row < rows * m->blocks; row++) {
    int32_t *first = m->host[2] + row / rows * rows * columns + row % rows;
    for (int64_t i = 0; i < columns; i++) {
      uint64_t j = harness_mix(h->options.seed ^ (uint64_t)(row * columns + i)) % (uint64_t)(i + 1);
      first[i * rows] = first[(int64_t)j * rows];
      first[(int64_t)j * rows] = (int32_t)i;
    }
  }
}

static void memory_init(harness *h, int64_t rows, int64_t columns, gather_memory *m) {
  m->blocks = h->options.check_only ? 2 : TILE_BLOCKS;
  m->elements = m->blocks * rows * columns;
  size_t bytes = (size_t)m->elements * sizeof(int32_t);
  m->found = malloc(bytes);
  if (!m->found) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  for (int t = 0; t < N_TENSORS; t++) {
    m->host[t] = malloc(bytes);
    if (!m->host[t]) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
    harness_must(llrt_memory_allocate(h->device, bytes, &m->device[t]), "device memory");
  }
  for (int64_t i = 0; i < m->elements; i++) m->host[0][i] = (int32_t)harness_mix((uint64_t)i);
  fill_coordinates(h, rows, columns, m);
  for (int t = 0; t < N_TENSORS; t += 2)
    harness_must(
        llrt_memory_copy(h->device, m->device[t], m->host[t], bytes, LLRT_COPY_TO_DEVICE, NULL),
        "copy to the device");
}

static void memory_fini(harness *h, gather_memory *m) {
  for (int t = 0; t < N_TENSORS; t++) {
    free(m->host[t]);
    llrt_memory_free(h->device, m->device[t]);
  }
  free(m->found);
}

static void describe(harness *h, const gather_memory *m, const llrt_storage *storage,
                     llrt_tensor tensors[N_TENSORS]) {
  for (int t = 0; t < N_TENSORS; t++)
    tensors[t] = (llrt_tensor){.data = m->device[t],
                               .dtype = t < 2 ? LLRT_B32 : LLRT_I32,
                               .rank = 1,
                               .shape = {m->elements},
                               .storage = storage,
                               .device = h->device};
}

/* ---- checking ---- */

/* One row, `turns` times: an element's coordinate is followed as often. */
static void gather_row(const gather_memory *m, int64_t first, int64_t rows, int64_t columns,
                       int turns) {
  for (int64_t i = 0; i < columns; i++) {
    int64_t at = i;
    for (int turn = 0; turn < turns; turn++) at = m->host[2][first + at * rows];
    m->host[1][first + i * rows] = m->host[0][first + at * rows];
  }
}

static bool is_right(harness *h, const gather_case *c, const gather_memory *m,
                     const tile_kernels *k, int which, const llrt_tensor *tensors) {
  size_t bytes = (size_t)m->elements * sizeof(int32_t);
#pragma omp parallel for
  for (int64_t row = 0; row < c->rows * m->blocks; row++)
    gather_row(m, row / c->rows * c->rows * c->columns + row % c->rows, c->rows, c->columns,
               k->turns[which]);
  harness_must(llrt_memory_set(h->device, m->device[1], 0xee, bytes, NULL), "clear");
  tile_kernels_launch(k, which, tensors, N_TENSORS);
  harness_must(
      llrt_memory_copy(h->device, m->found, m->device[1], bytes, LLRT_COPY_FROM_DEVICE, NULL),
      "copy from the device");
  harness_must(llrt_stream_synchronize(h->device, NULL), "run");
  return memcmp(m->found, m->host[1], bytes) == 0;
}

/* ---- one line ---- */

/* The way that a plan takes. */
static const char *way_of(const plan_kernel *kernel) {
  if (kernel->n_buffers > 0) return "shared";
  return kernel->cost.shuffles > 0 ? "shuffles" : "selects";
}

static double predicted(const tile_kernels *k, int warps) {
  plan_cycles cycles;
  plan_cycles_of(&k->plan.target, &k->plan.cost, warps, &cycles);
  return cycles.total;
}

static void report(harness *h, const gather_case *c, const char *name, const tile_kernels *k,
                   const harness_statistic *s) {
  const plan_cost *cost = &k->plan.cost;
  int wavefronts = cost->shared_store_wavefronts + cost->shared_load_wavefronts;
  int64_t bytes = 2 * TILE_BLOCKS * c->rows * c->columns * 4;
  double speed = s->median > 0 ? 1e-3 * (double)bytes / s->median : 0,
         clocks = predicted(k, c->warps);
  printf("%-34s %-7s %-8s %5d %9.3f %8.0f %6d+%-6d %6d %6d %6d\n", name, place_names[c->place],
         way_of(&k->plan), c->warps, s->median, clocks, cost->shared_store_wavefronts,
         cost->shared_load_wavefronts, cost->shuffles, cost->selects, cost->logic);
  fflush(stdout);
  harness_record(
      h, name,
      "\"shape\":[%d,%d],\"axis\":1,\"size\":%d,\"bytes\":%lld,\"blocks\":%d,\"warps\":%d,"
      "\"place\":\"%s\",\"way\":\"%s\",\"median_us\":%.4f,\"min_us\":%.4f,\"max_us\":%.4f,\"n\":%d,"
      "\"gb_per_s\":%.2f,\"predicted_clocks\":%.0f,\"shared_wavefronts\":%d,\"shuffles\":%d,"
      "\"selects\":%d,\"logic\":%d",
      (int)c->rows, (int)c->columns, (int)(c->rows * c->columns * 4), (long long)bytes, TILE_BLOCKS,
      c->warps, place_names[c->place], way_of(&k->plan), s->median, s->min, s->max, s->count, speed,
      clocks, wavefronts, cost->shuffles, cost->selects, cost->logic);
}

/* Checks and times one way; false where the result is wrong. What a device cannot do is passed
 * over. */
static bool run_way(harness *h, const gather_case *c, const gather_memory *m,
                    plan_exchange exchange, const char *name) {
  static tile_kernels k;
  const plan_tile_gather gather = {.axis = 1};
  const plan_tile tile = {.a = &c->layout, .b = &c->layout, .element_bits = 32, .gather = &gather};
  harness_statistic s = {0};
  llrt_storage storage;
  llrt_tensor tensors[N_TENSORS];
  llrt_status status = tile_kernels_init(h, &tile, exchange, &k);
  if (status == LLRT_UNSUPPORTED) {
    printf("%-34s %-7s not here: %s\n", name, place_names[c->place], llrt_last_error());
    return true;
  }
  harness_must(status, name);
  harness_must(llrt_storage_row_major(1, &storage), "storage");
  describe(h, m, &storage, tensors);
  bool right = is_right(h, c, m, &k, 0, tensors) && is_right(h, c, m, &k, 1, tensors);
  if (!right) printf("%-34s %-7s WRONG RESULT\n", name, place_names[c->place]);
  if (right && !h->options.check_only) s = tile_kernels_measure(h, &k, tensors, N_TENSORS);
  if (right) report(h, c, name, &k, &s);
  tile_kernels_fini(&k);
  return right;
}

/* The layout whose gather the cost model finds cheapest; on the host, where it knows nothing, the
 * first. */
static axis_place best_place(harness *h, int64_t rows, int64_t columns) {
  static tile_kernels k;
  double least = -1;
  axis_place best = IN_LANES;
  for (axis_place place = IN_LANES; place < AXIS_PLACES; place++) {
    gather_case c;
    const plan_tile_gather gather = {.axis = 1};
    if (!make_layout(rows, columns, place, &c)) continue;
    const plan_tile tile = {.a = &c.layout, .b = &c.layout, .element_bits = 32, .gather = &gather};
    if (tile_kernels_init(h, &tile, PLAN_EXCHANGE_AUTO, &k) != LLRT_OK) continue;
    double clocks = predicted(&k, c.warps);
    tile_kernels_fini(&k);
    if (least >= 0 && clocks >= least) continue;
    least = clocks;
    best = place;
  }
  return best;
}

static bool run_shape(harness *h, int64_t rows, int64_t columns) {
  static const struct {
    plan_exchange exchange;
    const char *name;
  } ways[] = {{PLAN_EXCHANGE_SHUFFLE, "in the warp"}, {PLAN_EXCHANGE_SHARED, "shared"}};
  char name[64], part[96];
  gather_memory m = {0};
  gather_case c;
  bool right = true;
  snprintf(name, sizeof name, "gather [%d,%d]", (int)rows, (int)columns);
  if (!harness_wants(h, name)) return true;
  if (h->options.list) {
    printf("%s\n", name);
    return true;
  }
  memory_init(h, rows, columns, &m);
  make_layout(rows, columns, best_place(h, rows, columns), &c);
  right &= run_way(h, &c, &m, PLAN_EXCHANGE_AUTO, name);
  for (axis_place place = IN_LANES; place < AXIS_PLACES; place++) {
    if (!make_layout(rows, columns, place, &c)) continue;
    for (int w = 0; w < 2; w++) {
      snprintf(part, sizeof part, "%s, %s, %s", name, place_names[place], ways[w].name);
      right &= run_way(h, &c, &m, ways[w].exchange, part);
    }
  }
  memory_fini(h, &m);
  return right;
}

int bench_gather(int argc, char *argv[]) {
  harness_options options;
  harness h;
  bool right = true;
  harness_parse(argc, argv, &options);
  harness_init(&options, &h);
  if (!options.list)
    printf("%-34s %-7s %-8s %5s %9s %8s %13s %6s %6s %6s\n", "case", "axis in", "way", "warps",
           "us", "clocks", "wavefronts", "shfl", "sel", "logic");
  for (int i = 0; i < SHAPE_COUNT; i++) right &= run_shape(&h, shapes[i].rows, shapes[i].columns);
  harness_fini(&h);
  return right ? 0 : 1;
}
