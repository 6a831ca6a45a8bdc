/* Conversions inside a block, there and back in a loop: the planner's choice beside shared memory
 * alone (by accesses of lanes, and by matrix instructions where they divide both layouts), the
 * bound of shared memory (128 bytes a clock) and what the cost model predicts. Each is checked,
 * then timed.
 *
 * Microseconds of one there-and-back by 528 blocks: the difference of two launches that differ in
 * the number of turns only, so loading and storing the tile do not count. The JSON holds every
 * pair's bases, from which peers/triton_tile.py makes the same conversions. */
#include "harness.h"
#include "jit/plan/cost/cycles.h"
#include "jit/plan/types/number.h"
#include "layout_json.h"
#include "subcommands.h"
#include "tile_kernels.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = 128, MAX_PAIRS = 24, TEXT = 400 };

/* Of the bound: the highest clock of an H100 or H200 SXM, which a short benchmark keeps. */
#define CLOCK_MHZ 1980.0

typedef struct tile_pair {
  char name[48], a[TEXT], b[TEXT];
  plan_tile_cast
      cast; /* from: what the pair is for, where that is one type; to NONE: nothing is cast */
} tile_pair;

/* ---- the pairs: 128 x 128 elements, by width and warps ---- */

static void add_pair(tile_pair *pairs, int *n, const char *name, const char *a, const char *b) {
  tile_pair *p = &pairs[(*n)++];
  *p = (tile_pair){.cast = {LLRT_DTYPE_NONE, LLRT_DTYPE_NONE}};
  snprintf(p->name, sizeof p->name, "%s", name);
  snprintf(p->a, sizeof p->a, "%s", a);
  snprintf(p->b, sizeof p->b, "%s", b);
}

/* Bases of a layout with 2^warp_bits warps whose registers hold elements of a row; swaps: so many
 * register bits, from bit `first` of the row on, change places with lane bits. */
static void swap_layout(int warp_bits, int first, int swaps, char *text) {
  int registers[14], lanes[5], n = 0, at = 0, row = 7;
  /* Registers: the row, then what is left of the column; lanes and warps: the column. */
  for (int i = 0; i < row; i++) registers[n++] = 1 << i;
  for (int i = 0; i < 5; i++) lanes[i] = 1 << (row + i);
  int left = row - 5 - warp_bits; /* negative: the top of the row belongs to warps */
  for (int i = 0; i < left; i++) registers[n++] = 1 << (row + 5 + warp_bits + i);
  if (left < 0) n += left;
  for (int i = 0; i < swaps; i++) {
    int r = first + i, kept = registers[r];
    registers[r] = lanes[i];
    lanes[i] = kept;
  }
  at += sprintf(text + at, "{register: [");
  for (int i = 0; i < n; i++)
    at += sprintf(text + at, "%s[%d,%d]", i ? "," : "", registers[i] >> row, registers[i] % SIDE);
  at += sprintf(text + at, "], lane: [");
  for (int i = 0; i < 5; i++)
    at += sprintf(text + at, "%s[%d,%d]", i ? "," : "", lanes[i] >> row, lanes[i] % SIDE);
  at += sprintf(text + at, "], warp: [");
  for (int i = 0; i < warp_bits; i++) {
    int bit = row + 5 + i < 14 ? row + 5 + i : row - 1 - (row + 5 + i - 14);
    at += sprintf(text + at, "%s[%d,%d]", i ? "," : "", (1 << bit) >> row, (1 << bit) % SIDE);
  }
  sprintf(text + at, "]} -> [dim0:%d, dim1:%d]", SIDE, SIDE);
}

/* Two blocks that have halves of the rows, and then of the columns: among each other alone, and
 * with all else. */
static void add_clusters(int bits, int warps, tile_pair *pairs, int *n) {
  char upper[TEXT], left[TEXT], columns[TEXT];
  int vector = 128 / bits, across = SIDE / 2 / vector, down = 32 / across;
  const char *rows = "blocked(size_per_thread=[1,%d], threads_per_warp=[%d,%d], "
                     "warps_per_cta=[%d,1], order=[1,0], "
                     "ctas_per_cga=[%d,%d], cta_split=[%d,%d], cta_order=[1,0])";
  snprintf(upper, TEXT, rows, vector, down, across, warps, 2, 1, 2, 1);
  snprintf(left, TEXT, rows, vector, down, across, warps, 1, 2, 1, 2);
  snprintf(columns, TEXT,
           "blocked(size_per_thread=[%d,1], threads_per_warp=[%d,%d], warps_per_cta=[1,%d], "
           "order=[0,1], ctas_per_cga=[1,2], cta_split=[1,2], cta_order=[1,0])",
           vector, across, down, warps);
  add_pair(pairs, n, "blocks swap", upper, left);
  add_pair(pairs, n, "rows - columns, 2 blocks", upper, columns);
}

/* What a product's accumulators become on the way to the next one's operand, and narrow weights to
 * wide ones. */
static void add_casts(int bits, const char *mma, const char *rows, tile_pair *pairs, int *n) {
  static const plan_tile_cast casts[] = {{LLRT_F32, LLRT_BF16},
                                         {LLRT_F32, LLRT_E4M3},
                                         {LLRT_BF16, LLRT_E4M3},
                                         {LLRT_E4M3, LLRT_BF16},
                                         {LLRT_I8, LLRT_F16}};
  for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
    char name[48], operand[TEXT];
    const plan_tile_cast *cast = &casts[i];
    int to = llrt_dtype_bits(cast->to);
    if (llrt_dtype_bits(cast->from) != bits) continue;
    snprintf(operand, TEXT, "dot(operand=0, k_width=%d, parent=%s)", 32 / to, mma);
    snprintf(name, sizeof name, "%s to %s", llrt_dtype_name(cast->from), llrt_dtype_name(cast->to));
    add_pair(pairs, n, name, to < bits ? mma : rows, operand);
    pairs[*n - 1].cast = *cast;
  }
}

static int make_pairs(int bits, int warp_bits, tile_pair *pairs) {
  char rows[TEXT], columns[TEXT], mma2[TEXT - 100], mma3[TEXT], dot_a[TEXT], dot_b[TEXT],
      slice[TEXT];
  char plain[TEXT], swapped[TEXT];
  int n = 0, warps = 1 << warp_bits, vector = 128 / bits, across = SIDE / vector,
      down = 32 / across;
  int k_width = bits >= 32 ? 1 : 32 / bits;
  snprintf(rows, TEXT,
           "blocked(size_per_thread=[1,%d], threads_per_warp=[%d,%d], warps_per_cta=[%d,1], "
           "order=[1,0])",
           vector, down, across, warps);
  snprintf(columns, TEXT,
           "blocked(size_per_thread=[%d,1], threads_per_warp=[%d,%d], "
           "warps_per_cta=[1,%d], order=[0,1])",
           vector, across, down, warps);
  snprintf(mma2, sizeof mma2, "nvmma(version=[2,0], warps_per_cta=[%d,2], instr_shape=[16,8])",
           warps / 2);
  snprintf(mma3, TEXT, "nvmma(version=[3,0], warps_per_cta=[%d,1], instr_shape=[16,64,16])", warps);
  snprintf(dot_a, TEXT, "dot(operand=0, k_width=%d, parent=%s)", k_width, mma2);
  snprintf(dot_b, TEXT, "dot(operand=1, k_width=%d, parent=%s)", k_width, mma2);
  snprintf(slice, TEXT,
           "slice(dim=2, parent=blocked(size_per_thread=[1,4,1], threads_per_warp=[2,4,4], "
           "warps_per_cta=[%d,1,1], order=[2,1,0]))",
           warps);
  add_pair(pairs, &n, "rows - columns", rows, columns);
  add_pair(pairs, &n, "rows - mma v2", rows, mma2);
  add_pair(pairs, &n, "columns - mma v2", columns, mma2);
  add_pair(pairs, &n, "rows - mma v3", rows, mma3);
  add_pair(pairs, &n, "mma v2 - operand A", mma2, dot_a);
  add_pair(pairs, &n, "mma v2 - operand B", mma2, dot_b);
  add_pair(pairs, &n, "rows - slice", rows, slice);
  swap_layout(warp_bits, 3, 0, plain);
  for (int swaps = 1; swaps <= 3; swaps++) {
    static const char *const names[] = {"one swap", "two swaps", "three swaps"};
    swap_layout(warp_bits, 3, swaps, swapped);
    add_pair(pairs, &n, names[swaps - 1], plain, swapped);
  }
  for (int swaps = 1; swaps <= 2 && 8 << swaps <= 32 * 8 / bits; swaps++) {
    static const char *const names[] = {"one word swap", "two word swaps"};
    swap_layout(warp_bits, 0, swaps, swapped);
    add_pair(pairs, &n, names[swaps - 1], plain, swapped);
  }
  add_clusters(bits, warps, pairs, &n);
  add_casts(bits, mma2, rows, pairs, &n);
  return n;
}

/* ---- memory ---- */

typedef struct tile_memory {
  int blocks;
  size_t bytes;
  void *device[2], *source, *result;
} tile_memory;

static void fill_random(harness *h, tile_memory *m) {
  for (size_t i = 0; i < m->bytes / 8; i++)
    ((uint64_t *)m->source)[i] = harness_mix(h->options.seed + i);
  harness_must(
      llrt_memory_copy(h->device, m->device[0], m->source, m->bytes, LLRT_COPY_TO_DEVICE, NULL),
      "copy to the device");
}

static void memory_init(harness *h, int bits, tile_memory *m) {
  m->blocks = h->options.check_only ? 2 : TILE_BLOCKS;
  m->bytes = (size_t)m->blocks * SIDE * SIDE * (size_t)bits / 8;
  m->source = malloc(m->bytes);
  m->result = malloc(m->bytes);
  if (!m->source || !m->result) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  for (int t = 0; t < 2; t++)
    harness_must(llrt_memory_allocate(h->device, m->bytes, &m->device[t]), "device memory");
  fill_random(h, m);
}

static void memory_fini(harness *h, tile_memory *m) {
  for (int t = 0; t < 2; t++) llrt_memory_free(h->device, m->device[t]);
  free(m->source);
  free(m->result);
}

/* ---- one kernel ---- */

/* Multiples of 1/4 below 2 of either sign, which every type of the casts has (those of integers:
 * whole numbers). */
static void fill_numbers(harness *h, tile_memory *m, llrt_dtype dtype) {
  int bytes = llrt_dtype_bits(dtype) / 8;
  for (size_t i = 0; i < m->bytes / (size_t)bytes; i++) {
    int k = (int)(harness_mix(h->options.seed + i) % 15) - 7;
    uint64_t code = number_code(number_format_of(dtype), dtype == LLRT_I8 ? k : k / 4.0);
    memcpy((char *)m->source + i * (size_t)bytes, &code, (size_t)bytes);
  }
  harness_must(
      llrt_memory_copy(h->device, m->device[0], m->source, m->bytes, LLRT_COPY_TO_DEVICE, NULL),
      "copy to the device");
}

static void describe(harness *h, const tile_memory *m, int bits, const llrt_storage *storage,
                     llrt_tensor tensors[2]) {
  for (int t = 0; t < 2; t++)
    tensors[t] = (llrt_tensor){.data = m->device[t],
                               .dtype = bits == 8    ? LLRT_B8
                                        : bits == 16 ? LLRT_B16
                                                     : LLRT_B32,
                               .rank = 1,
                               .shape = {(int64_t)m->blocks * SIDE * SIDE},
                               .storage = storage,
                               .device = h->device};
}

static bool is_right(harness *h, const tile_kernels *k, int which, const tile_memory *m,
                     const llrt_tensor *tensors) {
  harness_must(llrt_memory_set(h->device, m->device[1], 0xee, m->bytes, NULL), "clear");
  tile_kernels_launch(k, which, tensors, 2);
  harness_must(
      llrt_memory_copy(h->device, m->result, m->device[1], m->bytes, LLRT_COPY_FROM_DEVICE, NULL),
      "copy from the device");
  harness_must(llrt_stream_synchronize(h->device, NULL), "run");
  return memcmp(m->source, m->result, m->bytes) == 0;
}

/* ---- one line ---- */

typedef struct tile_case {
  const tile_pair *pair;
  int bits, warps;
  llrt_layout a, b;
} tile_case;

/* Microseconds at which 128 bytes a clock on every multiprocessor would move what shared memory
 * must. */
static double shared_bound(const harness *h, int bits) {
  double bytes = 4.0 * SIDE * SIDE * bits / 8; /* there and back, stored and loaded */
  return bytes / 128 * TILE_BLOCKS / h->info.compute_units / CLOCK_MHZ;
}

static void report(harness *h, const tile_case *c, const char *way, const tile_kernels *k,
                   const harness_statistic *s) {
  char a[600], b[600], name[96];
  const plan_cost *cost = &k->plan.cost;
  plan_cycles cycles;
  double bound = shared_bound(h, c->bits);
  plan_cycles_of(&k->plan.target, cost, c->warps, &cycles);
  int wavefronts = cost->shared_store_wavefronts + cost->shared_load_wavefronts;
  printf("%-20s %4d %5d %-7s %9.3f %9.3f %9.3f %8.0f %6d+%-6d %6d %6d %6d\n", c->pair->name,
         c->bits, c->warps, way, s->median, bound, s->median > 0 ? bound / s->median : 0,
         cycles.total, cost->shared_store_wavefronts, cost->shared_load_wavefronts, cost->shuffles,
         cost->selects, cost->permutes);
  fflush(stdout);
  layout_json(&c->a, a, sizeof a);
  layout_json(&c->b, b, sizeof b);
  snprintf(name, sizeof name, "%s, %d bits, %d warps, %s", c->pair->name, c->bits, c->warps, way);
  harness_record(
      h, name,
      "\"pair\":\"%s\",\"bits\":%d,\"warps\":%d,\"way\":\"%s\",\"side\":%d,\"blocks\":%d,"
      "\"median_us\":%.4f,\"min_us\":%.4f,\"max_us\":%.4f,\"n\":%d,\"bound_us\":%.4f,"
      "\"predicted_clocks\":%.0f,\"shared_wavefronts\":%d,\"shuffles\":%d,\"selects\":%d,"
      "\"permutes\":%d,\"cast\":\"%s\",\"a\":%s,\"b\":%s",
      c->pair->name, c->bits, c->warps, way, SIDE, TILE_BLOCKS, s->median, s->min, s->max, s->count,
      bound, cycles.total, wavefronts, cost->shuffles, cost->selects, cost->permutes,
      c->pair->cast.to != LLRT_DTYPE_NONE ? llrt_dtype_name(c->pair->cast.to) : "", a, b);
}

/* Returns whether the results were right; what a device cannot do is said and passed over. */
static bool run_way(harness *h, const tile_case *c, const tile_memory *m, plan_exchange exchange) {
  static tile_kernels k;
  const char *way = exchange == PLAN_EXCHANGE_AUTO     ? "chosen"
                    : exchange == PLAN_EXCHANGE_SHARED ? "shared"
                                                       : "matrix";
  harness_statistic s = {0};
  const plan_tile_cast *cast = c->pair->cast.to != LLRT_DTYPE_NONE ? &c->pair->cast : NULL;
  const plan_tile tile = {.a = &c->a, .b = &c->b, .element_bits = c->bits, .cast = cast};
  llrt_storage storage;
  llrt_tensor tensors[2];
  llrt_status status = tile_kernels_init(h, &tile, exchange, &k);
  if (status == LLRT_UNSUPPORTED && exchange == PLAN_EXCHANGE_MATRIX) return true;
  if (status == LLRT_UNSUPPORTED) {
    printf("%-20s %4d %5d %-7s not here: %s\n", c->pair->name, c->bits, c->warps, way,
           llrt_last_error());
    return true;
  }
  harness_must(status, c->pair->name);
  harness_must(llrt_storage_row_major(1, &storage), "storage");
  describe(h, m, c->bits, &storage, tensors);
  bool right = is_right(h, &k, 0, m, tensors) && is_right(h, &k, 1, m, tensors);
  if (!right) printf("%-20s %4d %5d %-7s WRONG RESULT\n", c->pair->name, c->bits, c->warps, way);
  if (right && !h->options.check_only) s = tile_kernels_measure(h, &k, tensors, 2);
  if (right) report(h, c, way, &k, &s);
  tile_kernels_fini(&k);
  return right;
}

static bool run_width(harness *h, int bits) {
  static tile_pair pairs[MAX_PAIRS];
  const int64_t shape[] = {SIDE, SIDE};
  tile_memory m;
  bool right = true;
  memory_init(h, bits, &m);
  for (int warp_bits = 2; warp_bits <= 3; warp_bits++) {
    int n = make_pairs(bits, warp_bits, pairs);
    for (int i = 0; i < n; i++) {
      tile_case c = {.pair = &pairs[i], .bits = bits, .warps = 1 << warp_bits};
      if (!harness_wants(h, pairs[i].name)) continue;
      if (h->options.list) {
        printf("%s, %d bits, %d warps\n", pairs[i].name, bits, c.warps);
        continue;
      }
      harness_must(llrt_layout_parse(pairs[i].a, 2, shape, &c.a), pairs[i].a);
      harness_must(llrt_layout_parse(pairs[i].b, 2, shape, &c.b), pairs[i].b);
      bool casts = pairs[i].cast.to != LLRT_DTYPE_NONE;
      if (casts) fill_numbers(h, &m, pairs[i].cast.from);
      right &= run_way(h, &c, &m, PLAN_EXCHANGE_AUTO);
      right &= run_way(h, &c, &m, PLAN_EXCHANGE_SHARED);
      right &= run_way(h, &c, &m, PLAN_EXCHANGE_MATRIX);
      if (casts) fill_random(h, &m);
    }
  }
  memory_fini(h, &m);
  return right;
}

int bench_tile(int argc, char *argv[]) {
  static const int widths[] = {32, 16, 8};
  harness_options options;
  harness h;
  bool right = true;
  harness_parse(argc, argv, &options);
  harness_init(&options, &h);
  if (!options.list)
    printf("%-20s %4s %5s %-7s %9s %9s %9s %8s %13s %6s %6s %6s\n", "pair", "bits", "warps", "way",
           "us", "bound us", "of bound", "clocks", "wavefronts", "shfl", "sel", "prmt");
  for (int i = 0; i < 3; i++) right &= run_width(&h, widths[i]);
  harness_fini(&h);
  return right ? 0 : 1;
}
