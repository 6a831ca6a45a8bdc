/* Rows by expressions (compute_cases.h): one-line calls, from cold caches, beside a copy of the
 * same bytes and, where next to nothing is written, beside reading them. Positions of the slowest
 * axis repeat each other's numbers with a period: the first period of each output is compared with
 * what compute_reference.h allows in f64, each later position bit by bit with that of the first
 * period. */
#include "compute_beside.h"
#include "compute_cases.h"
#include "compute_reference.h"
#include "dot_run.h"
#include "flushed.h"
#include "numbers.h"
#include "subcommands.h"

#include <llrt/compute.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = LLRT_EXPR_MAX_TENSORS, NAME = 80, PERIOD = 5, REFERENCE_ELEMENTS = 1 << 17 };
enum { POISON = 0xee };

/* A case with its tensors. extent: of the expression's axes. */
typedef struct computing {
  llrt_expr *expr;
  int64_t extent[EXPR_MAX_AXES + 1], period;
  device_matrix tensor[MAX]; /* row-major, of any rank, on the host and where nothing is placed */
  placed place[MAX];
  llrt_arg args[MAX];
  int64_t bytes; /* of all tensors */
  const char *name;
  llrt_op_desc *desc; /* with --tune: what is prepared and run; else NULL, and calls are one line */
  llrt_op *op;
  llrt_run_params params;
} computing;

/* ---- tensors ---- */

static bool has_rows(const computing *c, int t) { return c->expr->tensor[t].axes & 1; }

static void find_extents(const compute_form *form, const compute_shape *shape, computing *c) {
  const int64_t open[2] = {shape->rows / form->unit[0], shape->columns / form->unit[1]};
  for (int a = 0, k = 0; a < c->expr->n_axes; a++) {
    c->extent[a] = c->expr->axis[a].extent;
    if (c->extent[a] == 0 && k < 2) c->extent[a] = open[k++];
  }
  c->extent[EXPR_LEADING] = 1;
  c->period = REFERENCE_ELEMENTS / (shape->columns * form->unit[0]);
  if (c->period < 1) c->period = 1;
  if (c->period > PERIOD) c->period = PERIOD;
  if (c->period > c->extent[0]) c->period = c->extent[0];
}

/* Any of so many columns. */
static void fill_positions(void *data, int64_t n, int64_t columns, uint64_t seed) {
  int32_t *position = data;
  for (int64_t i = 0; i < n; i++)
    position[i] = (int32_t)(harness_mix(seed ^ (uint64_t)i) % (uint64_t)columns);
}

/* Numbers or positions of the first period, then those again. */
static void fill(computing *c, int t, int64_t columns, uint64_t seed) {
  device_matrix *x = &c->tensor[t];
  size_t period = x->bytes;
  if (has_rows(c, t)) period = x->bytes / (size_t)c->extent[0] * (size_t)c->period;
  int64_t n = (int64_t)period * 8 / llrt_dtype_bits(x->tensor.dtype);
  if (x->tensor.dtype == LLRT_I32) fill_positions(x->host, n, columns, seed + (uint64_t)t);
  else numbers_fill(x->tensor.dtype, x->host, n, seed + (uint64_t)t);
  for (size_t at = period; at < x->bytes; at += period)
    memcpy(x->host + at, x->host, x->bytes - at < period ? x->bytes - at : period);
}

static const compute_place *place_of(const compute_form *form, const char *tensor) {
  for (const compute_place *place = form->place; place && place->tensor; place++)
    if (strcmp(place->tensor, tensor) == 0) return place;
  return NULL;
}

static void make_tensor(harness *h, const compute_form *form, const compute_shape *shape,
                        computing *c, int t) {
  const expr_tensor *own = &c->expr->tensor[t];
  device_matrix *x = &c->tensor[t];
  llrt_dtype dtype = own->dtype ? (llrt_dtype)own->dtype : shape->dtype;
  if (strchr(form->f32, own->name[0])) dtype = LLRT_F32;
  if (form->positions && strchr(form->positions, own->name[0])) dtype = LLRT_I32;
  x->tensor = (llrt_tensor){.dtype = dtype, .rank = own->n_dims};
  for (int d = 0; d < own->n_dims; d++) {
    x->tensor.shape[d] = 1;
    for (int j = 0; j < own->dim[d].n; j++) x->tensor.shape[d] *= c->extent[own->dim[d].axis[j]];
  }
  const compute_place *place = place_of(form, own->name);
  if (place) placed_begin(h, place, h->options.seed + (uint64_t)t, x, &c->place[t]);
  else device_matrix_allocate(h, x);
  c->args[t] = (llrt_arg){.name = own->name, .tensor = &x->tensor};
  c->bytes += (int64_t)x->bytes;
  if (own->output) return;
  fill(c, t, shape->columns, h->options.seed);
  device_matrix_upload(h, x);
}

static void poison(harness *h, const computing *c, int t) {
  const device_matrix *x = c->place[t].slots ? &c->place[t].memory : &c->tensor[t];
  harness_must(llrt_memory_set(h->device, x->tensor.data, POISON, x->bytes, NULL), "poison");
}

static void free_tensor(harness *h, computing *c, int t) {
  if (c->place[t].slots) placed_end(h, &c->tensor[t], &c->place[t]);
  device_matrix_free(h, &c->tensor[t]);
}

/* With --tune: the fastest candidate, prepared; what cannot be tuned is called in one line. */
static void tune(harness *h, computing *c) {
  if (!h->options.tune) return;
  if (llrt_compute_describe(c->expr, c->args, c->expr->n_tensors, NULL, &c->desc) != LLRT_OK)
    return; /* the call says why */
  harness_must(llrt_op_promise_coarse(c->desc), c->name);
  llrt_status status = harness_tune(h, c->desc, &c->op);
  if (status == LLRT_UNSUPPORTED) return;
  harness_must(status, c->name);
  c->params.scalars = c->desc->scalars;
  harness_must(harness_add_workspace(h, c->op, c->desc->tensors, c->desc->n_tensors, &c->params),
               c->name);
}

static void untune(harness *h, computing *c) {
  llrt_op_destroy(&c->op);
  if (c->desc) harness_drop_workspace(h, &c->params);
  llrt_op_desc_destroy(&c->desc);
}

static llrt_status run(const computing *c) {
  if (c->op) return llrt_op_run(c->op, NULL, c->desc->tensors, c->desc->n_tensors, &c->params);
  return llrt_compute_into(c->expr, c->args, c->expr->n_tensors, NULL, NULL);
}

/* ---- what is right ---- */

/* The first period, in f64. Ownership: reference_fini and free_reference. */
static void make_reference(const computing *c, reference *r) {
  *r = (reference){.expr = c->expr};
  memcpy(r->extent, c->extent, sizeof r->extent);
  r->extent[0] = c->period;
  for (int t = 0; t < c->expr->n_tensors; t++) {
    r->type[t] = c->tensor[t].tensor.dtype;
    if (c->expr->tensor[t].output) continue;
    int64_t n = reference_count(r, t);
    double *number = malloc((size_t)n * sizeof *number);
    if (!number) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
    for (int64_t i = 0; i < n; i++) number[i] = device_matrix_number(&c->tensor[t], i);
    r->input[t] = number;
  }
  reference_run(r);
}

static void free_reference(reference *r) {
  reference_fini(r);
  for (int t = 0; t < r->expr->n_inputs; t++) free((void *)(uintptr_t)r->input[t]);
}

/* Whether output t, on the host, is right. */
static bool is_output_right(const computing *c, const reference *r, int t) {
  const device_matrix *x = &c->tensor[t];
  size_t period = x->bytes / (size_t)c->extent[0] * (size_t)c->period;
  for (int64_t i = 0; i < reference_count(r, t); i++) {
    double got = device_matrix_number(x, i);
    range expected = reference_element(r, t, i);
    if (reference_allows(x->tensor.dtype, expected, got)) continue;
    printf("%s: %s[%" PRId64 "] is %.9g, not in [%.9g, %.9g]\n", c->name, c->expr->tensor[t].name,
           i, got, expected.low, expected.high);
    return false;
  }
  if (memcmp(x->host, x->host + period, x->bytes - period) == 0) return true;
  printf("%s: rows of the same numbers have different results\n", c->name);
  return false;
}

/* An output's elements onto the host. False where something beside them changed. */
static bool read_back(harness *h, computing *c, int t) {
  device_matrix *x = &c->tensor[t];
  if (c->place[t].slots) {
    bool untouched = placed_read(h, &c->place[t], POISON, x);
    if (!untouched)
      printf("%s: %s is written beside its slots\n", c->name, c->expr->tensor[t].name);
    return untouched;
  }
  harness_must(
      llrt_memory_copy(h->device, x->host, x->tensor.data, x->bytes, LLRT_COPY_FROM_DEVICE, NULL),
      "copy from the device");
  harness_must(llrt_stream_synchronize(h->device, NULL), c->name);
  return true;
}

static bool is_right(harness *h, computing *c) {
  reference r;
  bool right = true;
  make_reference(c, &r);
  for (int t = c->expr->n_inputs; t < c->expr->n_tensors; t++)
    right = right && read_back(h, c, t) && is_output_right(c, &r, t);
  free_reference(&r);
  return right;
}

/* ---- timing ---- */

static void launch(const void *data) {
  const computing *c = data;
  harness_must(run(c), c->name);
}

/* Whether results are next to nothing beside what is read. */
static bool only_reads(const computing *c) {
  int64_t written = 0;
  for (int t = c->expr->n_inputs; t < c->expr->n_tensors; t++)
    written += (int64_t)c->tensor[t].bytes;
  return written * 64 <= c->bytes;
}

static void report(harness *h, const flushed *f, const computing *c, const char *fields) {
  char read_fields[80] = "";
  harness_statistic s = flushed_measure(f, launch, c), copy = beside_copy(f, c->bytes), read = {0};
  double speed = 1e-3 * (double)c->bytes / s.median, share = copy.median / s.median;
  printf("%-40s %9.1f %9.1f %9.1f %4d %8.1f %9.1f %7.3f", c->name, s.median, s.min, s.max, s.count,
         speed, copy.median, share);
  if (only_reads(c)) read = beside_read(f, &c->tensor[0], c->bytes);
  if (read.median > 0) {
    snprintf(read_fields, sizeof read_fields, ",\"read_us\":%.3f,\"of_read\":%.4f", read.median,
             read.median / s.median);
    printf(" %9.1f %7.3f", read.median, read.median / s.median);
  }
  printf("\n");
  fflush(stdout);
  harness_record(h, c->name,
                 "%s,\"median_us\":%.3f,\"min_us\":%.3f,\"max_us\":%.3f,\"n\":%d,"
                 "\"gb_per_s\":%.2f,\"copy_us\":%.3f,\"copy_gb_per_s\":%.2f,\"of_copy\":%.4f%s",
                 fields, s.median, s.min, s.max, s.count, speed, copy.median,
                 1e-3 * (double)c->bytes / copy.median, share, read_fields);
}

/* ---- one case ---- */

/* Runs and compares, then times. Returns whether it was right, or refused as UNSUPPORTED. */
static bool measure(harness *h, const flushed *f, computing *c, const char *fields) {
  tune(h, c);
  llrt_status status = run(c);
  if (status == LLRT_UNSUPPORTED) {
    printf("%-40s skipped: %s\n", c->name, llrt_last_error());
    harness_record(h, c->name, "%s,\"skipped\":\"unsupported\"", fields);
    return true;
  }
  harness_must(status, c->name);
  bool right = is_right(h, c);
  if (!right) printf("%-40s WRONG\n", c->name);
  if (right && !h->options.check_only) report(h, f, c, fields);
  else harness_record(h, c->name, "%s,\"%s\":true", fields, right ? "right" : "wrong");
  return right;
}

static bool run_case(harness *h, const flushed *f, const compute_form *form,
                     const compute_shape *shape, const char *name) {
  computing c = {.name = name};
  char fields[1000];
  harness_must(llrt_expr_parse(form->text, &c.expr), name);
  find_extents(form, shape, &c);
  for (int t = 0; t < c.expr->n_tensors; t++) make_tensor(h, form, shape, &c, t);
  for (int t = c.expr->n_inputs; t < c.expr->n_tensors; t++) poison(h, &c, t);
  snprintf(fields, sizeof fields,
           "\"op\":\"%s\",\"dtype\":\"%s\",\"shape\":[%" PRId64 ",%" PRId64 "],\"bytes\":%" PRId64
           ",\"text\":\"%s\"",
           form->name, llrt_dtype_name(shape->dtype), shape->rows, shape->columns, c.bytes,
           form->text);
  bool right = measure(h, f, &c, fields);
  harness_must(llrt_stream_synchronize(h->device, NULL), name);
  untune(h, &c);
  for (int t = 0; t < c.expr->n_tensors; t++) free_tensor(h, &c, t);
  llrt_expr_destroy(&c.expr);
  return right;
}

/* Of several shapes that a size cuts to one, the first alone. */
static bool is_repeated(const compute_form *form, int number, int64_t size,
                        const compute_shape *shape) {
  compute_shape other;
  for (int s = 0; s < number; s++)
    if (compute_shape_within(form, &compute_shapes[s], size, &other) &&
        other.dtype == shape->dtype && other.rows == shape->rows && other.columns == shape->columns)
      return true;
  return false;
}

static bool run_form(harness *h, const flushed *f, const compute_form *form, int64_t size, int *n) {
  bool right = true;
  for (int s = 0; s < compute_shapes_count; s++) {
    compute_shape shape;
    char name[NAME];
    if (!compute_shape_within(form, &compute_shapes[s], size, &shape) ||
        is_repeated(form, s, size, &shape))
      continue;
    compute_case_name(form, &shape, name, sizeof name);
    if (!harness_wants(h, name)) continue;
    ++*n;
    if (h->options.list) printf("%s\n", name);
    else right &= run_case(h, f, form, &shape, name);
  }
  return right;
}

int bench_compute(int argc, char *argv[]) {
  harness_options options;
  harness h;
  flushed f;
  bool right = true;
  int n = 0;
  harness_parse(argc, argv, &options);
  harness_init(&options, &h);
  flushed_init(&h, &f);
  if (!options.list && !options.check_only) {
    flushed_floor(&f);
    printf("%-40s %9s %9s %9s %4s %8s %9s %s %9s %s\n", "compute", "median us", "min us", "max us",
           "n", "GB/s", "copy us", "of copy", "read us", "of read");
  }
  for (int i = 0; i < compute_forms_count; i++)
    right &= run_form(&h, &f, &compute_forms[i], options.n_sizes ? options.size[0] : 0, &n);
  if (!options.list) printf("%d cases: %s\n", n, right ? "right" : "WRONG");
  flushed_fini(&f);
  harness_fini(&h);
  return right ? 0 : 1;
}
