/* Products of rows that are sorted by expert with a stack of weights (llrt_dot_params.ends), as
 * layers of experts have them: tokens, each of which goes to `top` of E experts, evenly or as
 * Zipf's law has it; the same where each position's expert is given, sorted, in place of ends; with
 * rows gathered as they are loaded and scattered, weighed, as they are stored: each token's row is
 * read for every expert it goes to, in the order of tokens, as a stable sort by expert leaves them;
 * the gradient of the weights; and a dense product of as many operations. Results are
 * compared with sums in f64 at places spread over D, then single launches are timed with nothing in
 * the caches. */
#include "dot_run.h"
#include "jit/plan/types/number.h"
#include "runtime/described.h"
#include "subcommands.h"

#include <llrt/dot_pack.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 512, NAME = 96, MOST_EXPERTS = 128, GROUP = 32 };

typedef struct layer {
  const char *name;
  int experts, top;
  int64_t n, k;
} layer;

/* Gate and up projection: Qwen3-235B-A22B, gpt-oss-20b. */
static const layer layers[] = {{"128 top-8", 128, 8, 3072, 4096}, {"32 top-4", 32, 4, 5760, 2880}};
static const int64_t tokens[] = {1, 4, 16, 64, 128, 256, 512, 1024, 4096, 16384};
#define COUNT(list) ((int)(sizeof list / sizeof *list))

typedef enum form { ROWS, NUMBERED, ROUTED, SUMS, DENSE } form;

typedef enum routing { GATHER = 1, SCATTER = 2, WEIGH = 4, ALL_PARTS = 7 } routing; /* its parts */

static const struct kind {
  const char *name;
  form form;
  bool packed; /* weights are mxfp4, packed */
  int parts;   /* of ROUTED */
} kinds[] = {
    {"bf16", ROWS, false, 0},
    {"bf16 numbered", NUMBERED, false, 0},
    {"bf16 routed", ROUTED, false, ALL_PARTS},
    {"bf16 gathered", ROUTED, false, GATHER},
    {"bf16 scattered", ROUTED, false, SCATTER},
    {"bf16 weighed", ROUTED, false, WEIGH},
    {"mxfp4 packed", ROWS, true, 0},
    {"mxfp4 packed routed", ROUTED, true, ALL_PARTS},
    {"mxfp4 packed gathered", ROUTED, true, GATHER},
    {"mxfp4 packed scattered", ROUTED, true, SCATTER},
    {"mxfp4 packed weighed", ROUTED, true, WEIGH},
    {"bf16 gradient", SUMS, false, 0},
    {"bf16 dense", DENSE, false, 0},
};

/* ---- data ---- */

/* Numbers of which every expert, and every run of rows, has others: those from `step` on, of a
 * bank. */
typedef struct bank {
  device_matrix matrix; /* [elements] */
  int64_t own, step;    /* elements of one, and from the first of one to that of the next */
} bank;

typedef struct data {
  harness *h;
  const layer *layer;
  const struct kind *kind;
  int64_t tokens, rows; /* rows: of all experts */
  int32_t ends[MOST_EXPERTS];
  bank weights, scales, activations, results; /* results: of the gradient's second operand */
  llrt_tensor a, b, scale, d, ends_tensor, weigh;
  device_matrix out;
  llrt_dot_packing packing;
  llrt_storage turned, columns; /* b [E, N, K] in memory, as checkpoints have it; a's transpose */
  llrt_index from, to;
  int32_t *order; /* routed: where row t is written; it is row order[t] / top that is read */
  float *weight;
  void *memory[12];
  int n_memory;
} data;

static void *allocate(data *d, size_t bytes) {
  void *memory;
  harness_must(llrt_memory_allocate(d->h->device, bytes + 16, &memory), "device memory");
  d->memory[d->n_memory++] = memory;
  return memory;
}

static void *send(data *d, const void *bytes, size_t n) {
  void *memory = allocate(d, n);
  harness_must(llrt_memory_copy(d->h->device, memory, bytes, n, LLRT_COPY_TO_DEVICE, NULL), "copy");
  return memory;
}

static uint64_t code_of(llrt_dtype dtype, uint64_t random) {
  if (dtype == LLRT_E8M0) return 120 + (random & 7);
  const number_format *format = number_format_of(dtype);
  if (format->bits == 4) return random & 15;
  return number_code(format, (double)((int)(random & 255) - 128) / 128);
}

static void make_bank(data *d, llrt_dtype dtype, int64_t own, int64_t step, int n, bank *b) {
  int bits = llrt_dtype_bits(dtype), per_byte = bits < 8 ? 2 : 1;
  *b = (bank){.own = own, .step = step};
  b->matrix.tensor = (llrt_tensor){.dtype = dtype, .rank = 1, .shape = {own + step * n}};
  device_matrix_allocate(d->h, &b->matrix);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < own + step * n; i += per_byte) {
    uint64_t random = harness_mix(d->h->options.seed + (uint64_t)i * 7 + (uint64_t)bits);
    uint64_t code = code_of(dtype, random);
    if (bits < 8) code |= code_of(dtype, random >> 8) << 4;
    memcpy(b->matrix.host + i * bits / 8, &code, (size_t)(bits < 8 ? 1 : bits / 8));
  }
  device_matrix_upload(d->h, &b->matrix);
}

/* n of the bank's, one behind the other. */
static void *stack(data *d, const bank *b, int64_t n) {
  int bits = llrt_dtype_bits(b->matrix.tensor.dtype);
  size_t own = (size_t)b->own * (size_t)bits / 8, step = (size_t)b->step * (size_t)bits / 8;
  char *memory = allocate(d, own * (size_t)n);
  for (int64_t i = 0; i < n; i++)
    harness_must(llrt_memory_copy(d->h->device, memory + (size_t)i * own,
                                  (char *)b->matrix.tensor.data + (size_t)i * step, own,
                                  LLRT_COPY_ON_DEVICE, NULL),
                 "copy");
  return memory;
}

static double number_at(const bank *b, int64_t which, int64_t i) {
  return device_matrix_number(&b->matrix, which * b->step + i);
}

/* Rows follow each other in runs of RUN, each run the bank's from elsewhere. */
enum { RUN = 256 };

static double row_number(const bank *b, int64_t row, int64_t width, int64_t i) {
  return number_at(b, row / RUN, row % RUN * width + i);
}

/* How many rows each expert has: as even as may be, or in proportion to 1, 1/2, 1/3, … */
static void spread_rows(data *d, bool skewed) {
  const int experts = d->layer->experts;
  double sum = 0, part = 0;
  for (int e = 0; e < experts; e++) sum += skewed ? 1.0 / (e + 1) : 1;
  for (int e = 0; e < experts; e++) {
    part += skewed ? 1.0 / ((e * 37) % experts + 1) : 1;
    d->ends[e] = (int32_t)llround(part / sum * (double)d->rows);
  }
}

static int expert_of(const data *d, int64_t row) {
  int e = 0;
  while (d->ends[e] <= row) e++;
  return e;
}

static void pack(data *d) {
  const layer *l = d->layer;
  const llrt_dot_pack_params what = {.dtype = LLRT_E2M1,
                                     .scale = LLRT_E8M0,
                                     .group = {GROUP},
                                     .other = LLRT_BF16,
                                     .range_low = 120,
                                     .range_high = 127,
                                     .n_batch = 1};
  llrt_device_info info = {0};
  llrt_tensor *tensors[] = {&d->b, &d->scale};
  harness_must(llrt_device_get_info(d->h->device, &info), "the device");
  harness_must(llrt_dot_pack(&what, info.target, LLRT_DOT_B, &d->packing), "packing");
  for (int i = 0; i < 2; i++) {
    llrt_convert_params params = {.n_maps = i == 0 ? d->packing.n_maps : 0,
                                  .maps = &d->packing.map};
    llrt_tensor packed = *tensors[i];
    size_t bytes;
    packed.storage = &d->packing.storages[i];
    harness_must(llrt_tensor_bytes(&packed, &bytes), "bytes");
    packed.data = allocate(d, bytes);
    harness_must(llrt_convert_into(tensors[i], &packed, &params, NULL), "packing");
    harness_must(llrt_stream_synchronize(d->h->device, NULL), "packing");
    *tensors[i] = packed;
  }
  (void)l;
}

static void make_weights(data *d) {
  const layer *l = d->layer;
  const bool dense = d->kind->form == DENSE;
  const int experts = dense ? 1 : l->experts;
  llrt_dtype type = d->kind->packed ? LLRT_E2M1 : LLRT_BF16;
  harness_must(
      llrt_storage_parse(dense ? "col_major"
                               : "storage(rank=3, digits=[dim1: rest, dim2: rest, dim0: rest])",
                         dense ? 2 : 3, NULL, &d->turned),
      "storage");
  make_bank(d, type, l->n * l->k, 4096, experts, &d->weights);
  d->b = (llrt_tensor){.dtype = type, .rank = 3, .shape = {experts, l->k, l->n}};
  if (dense) d->b = (llrt_tensor){.dtype = type, .rank = 2, .shape = {l->k, l->n}};
  d->b.storage = &d->turned;
  d->b.device = d->h->device;
  d->b.data = stack(d, &d->weights, experts);
  if (!d->kind->packed) return;
  make_bank(d, LLRT_E8M0, l->n * l->k / GROUP, 512, experts, &d->scales);
  d->scale = d->b;
  d->scale.dtype = LLRT_E8M0;
  d->scale.shape[1] = l->k / GROUP;
  d->scale.data = stack(d, &d->scales, experts);
  pack(d);
}

/* `rows` rows of `width` elements, of which `bank` has runs, of a tensor of d->rows. */
static void make_rows(data *d, int64_t rows, int64_t width, bank *b, llrt_tensor *tensor) {
  int64_t runs = (rows + RUN - 1) / RUN;
  make_bank(d, LLRT_BF16, RUN * width, 1024, (int)runs, b);
  *tensor = (llrt_tensor){.dtype = LLRT_BF16,
                          .rank = 2,
                          .shape = {d->rows, width},
                          .device = d->h->device,
                          .data = stack(d, b, runs)};
}

static int compare_places(const void *a, const void *b) {
  const int32_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* Places are given to experts' rows at random, each expert's in ascending order. */
static void order_rows(data *d) {
  d->order = malloc((size_t)d->rows * sizeof *d->order);
  d->weight = malloc((size_t)d->rows * sizeof *d->weight);
  if (!d->order || !d->weight) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  for (int64_t i = 0; i < d->rows; i++) {
    int64_t j = (int64_t)(harness_mix((uint64_t)i + 99) % (uint64_t)(i + 1));
    d->order[i] = d->order[j];
    d->order[j] = (int32_t)i;
    d->weight[i] = (float)(1 + i % 4) / 4;
  }
  for (int e = 0, first = 0; e < d->layer->experts; first = d->ends[e++])
    qsort(d->order + first, (size_t)(d->ends[e] - first), sizeof *d->order, compare_places);
}

/* Each row is read from its token's, written to the token's place for that expert, has a weight, or
 * all of these. */
static void route(data *d) {
  order_rows(d);
  d->to = (llrt_index){.axis = 0, .dtype = LLRT_I32, .axes = 1, .extent = d->rows};
  d->to.strides[0] = 1;
  d->to.data = send(d, d->order, (size_t)d->rows * 4);
  int32_t *of = malloc((size_t)d->rows * sizeof *of);
  if (!of) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  for (int64_t i = 0; i < d->rows; i++) of[i] = d->order[i] / d->layer->top;
  d->from = d->to;
  d->from.extent = d->tokens;
  d->from.data = send(d, of, (size_t)d->rows * 4);
  free(of);
  d->a.indices = &d->from;
  d->d.indices = &d->to;
  d->a.n_indices = d->kind->parts & GATHER ? 1 : 0;
  d->d.n_indices = d->kind->parts & SCATTER ? 1 : 0;
  d->weigh = (llrt_tensor){.dtype = LLRT_F32,
                           .rank = 2,
                           .shape = {d->rows, 1},
                           .device = d->h->device,
                           .data = send(d, d->weight, (size_t)d->rows * 4)};
}

/* Each row's expert, in place of ends. */
static void number_rows(data *d) {
  int32_t *numbers = malloc((size_t)d->rows * sizeof *numbers);
  if (!numbers) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  for (int64_t t = 0; t < d->rows; t++) numbers[t] = expert_of(d, t);
  d->ends_tensor.shape[0] = d->rows;
  d->ends_tensor.data = send(d, numbers, (size_t)d->rows * 4);
  free(numbers);
}

static void make_data(harness *h, const layer *l, const struct kind *kind, int64_t n_tokens,
                      bool skewed, data *d) {
  *d = (data){.h = h, .layer = l, .kind = kind, .tokens = n_tokens, .rows = n_tokens * l->top};
  spread_rows(d, skewed);
  make_rows(d, kind->parts & GATHER ? n_tokens : d->rows, l->k, &d->activations, &d->a);
  device_matrix *out = &d->out;
  out->tensor = (llrt_tensor){.dtype = LLRT_BF16, .rank = 2, .shape = {d->rows, l->n}};
  if (kind->form == SUMS)
    out->tensor = (llrt_tensor){.dtype = LLRT_BF16, .rank = 3, .shape = {l->experts, l->k, l->n}};
  device_matrix_allocate(h, out);
  d->d = out->tensor;
  if (kind->form == SUMS) {
    make_rows(d, d->rows, l->n, &d->results, &d->b);
    harness_must(llrt_storage_col_major(2, &d->columns), "storage");
    d->a.shape[0] = l->k;
    d->a.shape[1] = d->rows;
    d->a.storage = &d->columns;
  } else {
    make_weights(d);
  }
  if (kind->form == ROUTED) route(d);
  d->ends_tensor = (llrt_tensor){.dtype = LLRT_I32, .rank = 1, .device = h->device};
  if (kind->form == NUMBERED) {
    number_rows(d);
    return;
  }
  d->ends_tensor.shape[0] = l->experts;
  d->ends_tensor.data = send(d, d->ends, (size_t)l->experts * 4);
}

static void free_data(data *d) {
  bank *banks[] = {&d->weights, &d->scales, &d->activations, &d->results};
  for (int i = 0; i < d->n_memory; i++) llrt_memory_free(d->h->device, d->memory[i]);
  for (int i = 0; i < COUNT(banks); i++) device_matrix_free(d->h, &banks[i]->matrix);
  device_matrix_free(d->h, &d->out);
  free(d->order);
  free(d->weight);
}

/* ---- what is right ---- */

static double weight_at(const data *d, int e, int64_t k, int64_t n) {
  const int64_t all = d->layer->k;
  double x = number_at(&d->weights, e, n * all + k);
  if (d->kind->packed) x *= number_at(&d->scales, e, n * (all / GROUP) + k / GROUP);
  return x;
}

static bool is_near(const data *d, int64_t at, double sum, double magnitude, int64_t terms) {
  double error = magnitude * ldexp((double)terms + 16, -23);
  return dot_is_near(LLRT_BF16, device_matrix_number(&d->out, at), sum, error);
}

static bool is_sum_right(const data *d, int64_t at) {
  const layer *l = d->layer;
  const int64_t e = at / (l->k * l->n), k = at / l->n % l->k, n = at % l->n;
  double sum = 0, magnitude = 0;
  for (int64_t t = e ? d->ends[e - 1] : 0; t < d->ends[e]; t++) {
    double product = row_number(&d->activations, t, l->k, k) * row_number(&d->results, t, l->n, n);
    sum += product;
    magnitude += fabs(product);
  }
  return is_near(d, at, sum, magnitude, d->ends[e]);
}

static bool is_right_at(const void *of, int64_t at) {
  const data *d = of;
  const layer *l = d->layer;
  if (d->kind->form == SUMS) return is_sum_right(d, at);
  const int64_t row = at / l->n, n = at % l->n;
  const int64_t from = d->kind->parts & GATHER ? d->order[row] / l->top : row;
  const int64_t to = d->kind->parts & SCATTER ? d->order[row] : row;
  const int e = d->kind->form == DENSE ? 0 : expert_of(d, row);
  double sum = 0, magnitude = 0, scale = d->kind->parts & WEIGH ? d->weight[row] : 1;
  for (int64_t k = 0; k < l->k; k++) {
    double product = row_number(&d->activations, from, l->k, k) * weight_at(d, e, k, n) * scale;
    sum += product;
    magnitude += fabs(product);
  }
  return is_near(d, to * l->n + n, sum, magnitude, l->k);
}

/* ---- one case ---- */

static void describe(data *d, const char *name, described_dot *call) {
  static const llrt_map weigh = {.kind = LLRT_MAP_SCALE, .group = {1, LLRT_GROUP_ALL}};
  llrt_dot_params params = {.size = sizeof params, .dtype = LLRT_BF16};
  if (d->kind->form == NUMBERED) params.experts = &d->ends_tensor;
  else if (d->kind->form != DENSE) params.ends = &d->ends_tensor;
  if (d->kind->packed) {
    params.b = (llrt_dot_scaling){
        .scale = &d->scale, .group = {GROUP, 1}, .range_low = 120, .range_high = 127};
    memcpy(params.b.word_bits, d->packing.word_bits, sizeof params.b.word_bits);
  }
  if (d->kind->parts & WEIGH) {
    params.maps = &weigh;
    params.n_maps = 1;
    params.scale = &d->weigh;
  }
  harness_must(described_dot_make(&d->a, &d->b, &d->d, &params, call), name);
  harness_must(described_promise(&call->desc), name);
}

static bool run_case(harness *h, const flushed *f, const layer *l, const struct kind *kind,
                     int64_t n_tokens, bool skewed, const char *name) {
  static described_dot call;
  static data d;
  char fields[240];
  make_data(h, l, kind, n_tokens, skewed, &d);
  describe(&d, name, &call);
  snprintf(fields, sizeof fields,
           "\"op\":\"grouped\",\"kind\":\"%s\",\"experts\":%d,\"top\":%d,\"tokens\":%" PRId64
           ",\"spread\":\"%s\",\"shape\":[%" PRId64 ",%" PRId64 ",%" PRId64 "]",
           kind->name, l->experts, l->top, n_tokens, skewed ? "skewed" : "even", d.rows, l->n,
           l->k);
  bool right =
      dot_run(h, f,
              &(dot_case){.name = name,
                          .fields = fields,
                          .call = &call,
                          .d = &d.out,
                          .elements = kind->form == SUMS ? l->experts * l->k * l->n : d.rows * l->n,
                          .places = PLACES,
                          .is_right_at = is_right_at,
                          .data = &d,
                          .operations = 2 * (double)d.rows * (double)l->n * (double)l->k});
  free_data(&d);
  return right;
}

static bool run_layer(harness *h, const flushed *f, const layer *l, int *cases) {
  char name[NAME];
  bool right = true;
  for (int k = 0; k < COUNT(kinds); k++)
    for (int t = 0; t < COUNT(tokens); t++)
      for (int skewed = 0; skewed < 2; skewed++) {
        if (kinds[k].form == DENSE && skewed) continue;
        snprintf(name, NAME, "%s, %s, %" PRId64 " tokens, %s", kinds[k].name, l->name, tokens[t],
                 skewed ? "skewed" : "even");
        if (!harness_wants(h, name)) continue;
        if (h->options.list) printf("%s\n", name);
        if (h->options.list) continue;
        ++*cases;
        right &= run_case(h, f, l, &kinds[k], tokens[t], skewed, name);
      }
  return right;
}

int bench_grouped(int argc, char *argv[]) {
  harness_options options;
  harness h;
  flushed f;
  int cases = 0;
  bool right = true;
  harness_parse(argc, argv, &options);
  harness_init(&options, &h);
  flushed_init(&h, &f);
  if (!options.list && !options.check_only) {
    dot_run_title(&h, "grouped", false);
    flushed_floor(&f);
  }
  for (int l = 0; l < COUNT(layers); l++) right &= run_layer(&h, &f, &layers[l], &cases);
  if (!options.list) printf("%d cases: %s\n", cases, right ? "right" : "WRONG");
  flushed_fini(&f);
  harness_fini(&h);
  return right ? 0 : 1;
}
