/* Whole-tensor conversions beside a plain copy: each is checked, then timed.
 *
 * A conversion runs once into poisoned memory, with a guard behind it, and every byte is compared
 * on the host with what the definitions of the two storages say (conversion.h); families of linear
 * maps are compared with their own statement of what is right (workload.h). Then slots rotate over
 * at least four times the cache, for the copy as for the kernels. GB/s counts bytes read and
 * written. */
#include "arena.h"
#include "catalogue.h"
#include "footprint.h"
#include "harness.h"
#include "reference.h"
#include "subcommands.h"

#include "runtime/described.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STORAGE_TEXT 2048
#define FIELDS_TEXT (3 * STORAGE_TEXT)
#define MIB(n) ((int64_t)(n) << 20)

/* One size's pass over all conversions. */
typedef struct pass {
  harness *h;
  arena a;
  int64_t size;
  int64_t largest; /* bytes that a side needs */
  bool counting;   /* only `largest` is wanted, or names */
  int right, wrong, skipped;
  double log_sum; /* of the ratios to the copy */
  int measured;
} pass;

/* Without --sizes: the catalogue at 8 and 64 MiB, the large ones at 1 GiB, families at 64 and 512.
 */
static bool wanted(const pass *p, const conversion *c) {
  if (!harness_wants(p->h, c->name)) return false;
  if (p->h->options.n_sizes) return true;
  if (c->extra) return p->size == MIB(64) || p->size == MIB(512);
  return p->size == MIB(8) || p->size == MIB(64) ||
         (p->size == MIB(1024) && catalogue_is_large(c->name));
}

/* ---- one conversion ---- */

typedef struct prepared {
  llrt_op *op; /* NULL: every run is a one-line call */
  llrt_tensor tensors[2];
  double prepare_us; /* processor time: planning and compiling of all variants, or the first call */
} prepared;

static void launch(harness *h, const timed *t, int slot) {
  const prepared *p = t->data;
  llrt_tensor tensors[2] = {p->tensors[0], p->tensors[1]};
  (void)h;
  tensors[0].data = t->a->source + (size_t)slot * t->s.source_step;
  tensors[1].data = t->a->destination + (size_t)slot * t->s.destination_step;
  harness_must(p->op ? llrt_op_run(p->op, NULL, tensors, 2, NULL)
                     : llrt_convert_into(&tensors[0], &tensors[1], NULL, NULL),
               "run");
}

/* Prepares the operation of these tensors with all that they promise. */
static llrt_status prepare(harness *h, prepared *ready) {
  op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
  memcpy(desc.tensors, ready->tensors, sizeof ready->tensors);
  llrt_status status = described_promise(&desc);
  return status ? status : harness_prepare(h, &desc, &ready->op);
}

/* What one-line calls of these tensors compile is there after one of them. */
static llrt_status call_once(harness *h, prepared *ready) {
  llrt_status status = llrt_convert_into(&ready->tensors[0], &ready->tensors[1], NULL, NULL);
  return status ? status : llrt_stream_synchronize(h->device, NULL);
}

static llrt_tensor make_tensor(const conversion *c, const llrt_storage *storage, void *data,
                               llrt_device *device) {
  llrt_tensor tensor = {
      .data = data, .dtype = c->dtype, .rank = c->rank, .storage = storage, .device = device};
  memcpy(tensor.shape, c->shape, sizeof c->shape);
  return tensor;
}

/* Runs once into poisoned memory and compares. */
static bool is_right(pass *p, const timed *t, const conversion *c, const workload *w, char *why,
                     size_t size) {
  harness *h = p->h;
  arena *a = &p->a;
  size_t bytes = (size_t)c->to_bytes + ARENA_GUARD;
  harness_must(llrt_memory_set(h->device, a->destination, ARENA_POISON, bytes, NULL), "poison");
  t->launch(h, t, 0);
  harness_must(llrt_memory_copy(h->device, a->host_result, a->destination, bytes,
                                LLRT_COPY_FROM_DEVICE, NULL),
               "copy from the device");
  harness_must(llrt_stream_synchronize(h->device, NULL), c->name);
  for (size_t i = (size_t)c->to_bytes; i < bytes; i++) {
    if (a->host_result[i] == ARENA_POISON) continue;
    snprintf(why, size, "byte %zu behind the destination written", i - (size_t)c->to_bytes);
    return false;
  }
  if (!w) return conversion_check(c, a->host_source, a->host_result, ARENA_POISON, why, size);
  snprintf(why, size, "elements are wrong");
  return reference_check(w, a->host_source, a->host_result, h->options.seed);
}

static void print_row(const conversion *c, const char *text) {
  printf("%-52s %s\n", c->name, text);
  fflush(stdout);
}

/* {"shape":[…],…}: the fields that every row has. The storages' text is what peers make theirs of.
 */
static void describe(const pass *p, const conversion *c, char *out, size_t size) {
  char from[STORAGE_TEXT], to[STORAGE_TEXT];
  harness_must(llrt_storage_print(&c->from, from, sizeof from, NULL), c->name);
  harness_must(llrt_storage_print(&c->to, to, sizeof to, NULL), c->name);
  int used = snprintf(out, size,
                      "\"from\":\"%s\",\"to\":\"%s\",\"width\":%d,\"size\":%" PRId64
                      ",\"bytes\":%" PRId64 ",\"from_storage\":\"%s\",\"to_storage\":\"%s\","
                      "\"shape\":[",
                      c->from_name, c->to_name, llrt_dtype_bits(c->dtype), p->size, c->moved_bytes,
                      from, to);
  for (int a = 0; a < c->rank; a++)
    used += snprintf(out + used, size - (size_t)used, "%s%" PRId64, a ? "," : "", c->shape[a]);
  snprintf(out + used, size - (size_t)used, "]");
}

/* Times the conversion; GB/s of it and of the copy. By turns the least times are compared. */
static harness_statistic measure(pass *p, const timed *t, const conversion *c, double *speed,
                                 double *copy) {
  harness_statistic s, copied;
  if (!p->h->options.processor_time || !harness_is_host(p->h)) {
    *copy = arena_copy_speed(p->h, &p->a);
    s = arena_measure(p->h, t);
    *speed = 1e-3 * (double)c->moved_bytes / s.median;
    return s;
  }
  s = arena_measure_by_turns(p->h, t, &copied);
  *speed = 1e-3 * (double)c->moved_bytes / s.min;
  *copy = 2e-3 * (double)p->a.nominal / copied.min;
  return s;
}

/* Beside a tensor with gaps: what it touches, and the time of a copy of just that, as fields of its
 * record and a row of the table; no text where neither side has gaps. */
static void compare_footprint(pass *p, const timed *t, const conversion *c,
                              const harness_statistic *own, char *out, size_t size) {
  footprint side[2];
  harness_statistic s;
  bool least = p->h->options.processor_time && harness_is_host(p->h);
  bool known = c->from_bytes + c->to_bytes > c->moved_bytes && c->to.pad != LLRT_PAD_VALUE;
  out[0] = 0;
  for (int i = 0; i < 2 && known; i++) known = footprint_of(c, i, p->a.host_result, &side[i]);
  if (!known || side[0].bytes + side[1].bytes != c->moved_bytes) return;
  int used = snprintf(out, size,
                      ",\"source_sectors\":%" PRId64 ",\"destination_sectors\":%" PRId64
                      ",\"partial_sectors\":%" PRId64,
                      side[0].sectors, side[1].sectors, side[1].partial);
  if (!footprint_measure(p->h, &p->a, t, side, &s)) return;
  double took = least ? s.min : s.median, of = took / (least ? own->min : own->median);
  snprintf(out + used, size - (size_t)used, ",\"footprint_us\":%.3f,\"of_footprint\":%.4f", took,
           of);
  printf("%-52s %9.1f %9.1f %9.1f %4d %8.1f %7.3f\n",
         "  a copy of what it touches; its time of the above", s.median, s.min, s.max, s.count,
         1e-3 * (double)c->moved_bytes / took, of);
}

static void report_time(pass *p, const timed *t, const conversion *c, const char *fields) {
  double copy, speed;
  harness_statistic s = measure(p, t, c, &speed, &copy);
  char text[80], touched[300];
  snprintf(text, sizeof text, "%9.1f %9.1f %9.1f %4d %8.1f %7.3f", s.median, s.min, s.max, s.count,
           speed, speed / copy);
  print_row(c, text);
  compare_footprint(p, t, c, &s, touched, sizeof touched);
  p->log_sum += log(speed / copy);
  p->measured++;
  harness_record(p->h, c->name,
                 "%s,\"median_us\":%.3f,\"min_us\":%.3f,\"max_us\":%.3f,\"n\":%d,"
                 "\"gb_per_s\":%.2f,\"copy_gb_per_s\":%.2f,\"of_copy\":%.4f,\"prepare_us\":%.0f%s",
                 fields, s.median, s.min, s.max, s.count, speed, copy, speed / copy,
                 ((const prepared *)t->data)->prepare_us, touched);
}

static void report_refusal(pass *p, const conversion *c, const char *fields, llrt_status status) {
  char text[600], reason[512];
  bool skip = status == LLRT_UNSUPPORTED;
  snprintf(reason, sizeof reason, "%s", llrt_last_error());
  for (char *at = reason; *at; at++)
    if (*at == '"' || *at == '\\' || (unsigned char)*at < ' ') *at = '\'';
  snprintf(text, sizeof text, "%s: %s", skip ? "skipped" : llrt_status_name(status), reason);
  print_row(c, text);
  harness_record(p->h, c->name, "%s,\"%s\":\"%s\"", fields, skip ? "skipped" : "wrong", reason);
  *(skip ? &p->skipped : &p->wrong) += 1;
}

static void run_prepared(pass *p, const conversion *c, const workload *w, const prepared *ready,
                         const char *fields) {
  char why[256], text[300];
  timed t = {.launch = launch, .a = &p->a, .data = ready};
  t.s = arena_slots(p->h, &p->a, (size_t)c->from_bytes, (size_t)c->to_bytes);
  if (!is_right(p, &t, c, w, why, sizeof why)) {
    snprintf(text, sizeof text, "WRONG: %s", why);
    print_row(c, text);
    harness_record(p->h, c->name, "%s,\"wrong\":\"%s\"", fields, why);
    p->wrong++;
    return;
  }
  p->right++;
  if (!p->h->options.check_only) report_time(p, &t, c, fields);
  else
    harness_record(p->h, c->name, "%s,\"right\":true,\"prepare_us\":%.0f", fields,
                   ready->prepare_us);
}

static void run_one(pass *p, const conversion *c, const workload *w) {
  char fields[FIELDS_TEXT];
  prepared ready = {0};
  ready.tensors[0] = make_tensor(c, &c->from, p->a.source, p->h->device);
  ready.tensors[1] = make_tensor(c, &c->to, p->a.destination, p->h->device);
  describe(p, c, fields, sizeof fields);
  double before = harness_processor_now();
  llrt_status status = p->h->options.one_line ? call_once(p->h, &ready) : prepare(p->h, &ready);
  ready.prepare_us = harness_processor_now() - before;
  if (status) {
    report_refusal(p, c, fields, status);
    return;
  }
  run_prepared(p, c, w, &ready, fields);
  harness_must(llrt_stream_synchronize(p->h->device, NULL), c->name);
  llrt_op_destroy(&ready.op);
}

/* ---- all of them ---- */

static void list_one(pass *p, const conversion *c) {
  char shape[96] = "", fields[FIELDS_TEXT];
  int used = 0;
  for (int a = 0; a < c->rank; a++)
    used += snprintf(shape + used, sizeof shape - (size_t)used, "%s%" PRId64, a ? "x" : "",
                     c->shape[a]);
  print_row(c, shape);
  describe(p, c, fields, sizeof fields);
  harness_record(p->h, c->name, "%s", fields);
}

static void visit(pass *p, const conversion *c, const workload *w) {
  if (!wanted(p, c)) return;
  if (!p->counting) {
    run_one(p, c, w);
    return;
  }
  int64_t larger = c->from_bytes > c->to_bytes ? c->from_bytes : c->to_bytes;
  if (larger > p->largest) p->largest = larger;
  if (p->h->options.list) list_one(p, c);
}

static void visit_catalogue(void *user, const conversion *c) { visit(user, c, NULL); }

static void visit_workloads(pass *p) {
  static workload w;
  for (int i = 0; i < workload_count(); i++) {
    workload_make(i, p->size, p->h->options.seed, &w);
    conversion c = {.dtype = w.dtype, .rank = w.rank, .extra = true};
    if (!harness_wants(p->h, w.name)) continue;
    snprintf(c.name, sizeof c.name, "%s", w.name);
    snprintf(c.from_name, sizeof c.from_name, "%s", w.backward ? w.name : "row_major");
    snprintf(c.to_name, sizeof c.to_name, "%s", w.backward ? "row_major" : w.name);
    memcpy(c.shape, w.shape, sizeof w.shape);
    harness_must(llrt_storage_parse(w.from, w.rank, w.shape, &c.from), w.from);
    harness_must(llrt_storage_parse(w.to, w.rank, w.shape, &c.to), w.to);
    harness_must(conversion_measure(&c), w.name);
    visit(p, &c, &w);
  }
}

static void skip_missing(void *user, const char *name) {
  pass *p = user;
  if (!harness_wants(p->h, name)) return;
  printf("%-52s skipped: no shapes in catalogue_rules.c\n", name);
  p->skipped++;
}

static void visit_all(pass *p, bool counting) {
  p->counting = counting;
  visit_workloads(p);
  catalogue_visit(p->size, p->h->options.odd, p, visit_catalogue);
  if (!counting) catalogue_visit_missing(p, skip_missing);
}

/* Returns whether nothing was wrong. */
static bool run_size(harness *h, int64_t size) {
  pass p = {.h = h, .size = size};
  visit_all(&p, true);
  if (h->options.list || p.largest == 0) return true;
  bool small = size < MIB(1);
  printf("\n%" PRId64 " %s\n%-52s %9s %9s %9s %4s %8s %7s\n", size >> (small ? 10 : 20),
         small ? "KiB" : "MiB", "conversion", "median us", "min us", "max us", "n", "GB/s",
         "of copy");
  arena_init(h, (size_t)(p.largest > size ? p.largest : size), (size_t)size, &p.a);
  visit_all(&p, false);
  arena_fini(h, &p.a);
  printf("%d right, %d wrong, %d skipped", p.right, p.wrong, p.skipped);
  if (p.measured) printf("; geometric mean %.3f of the copy", exp(p.log_sum / p.measured));
  printf("\n");
  return p.wrong == 0;
}

int bench_convert(int argc, char *argv[]) {
  static const int64_t standard[] = {MIB(8), MIB(64), MIB(512), MIB(1024)};
  harness_options options;
  harness h;
  bool right = true;
  harness_parse(argc, argv, &options);
  harness_init(&options, &h);
  int n = options.n_sizes ? options.n_sizes : (int)(sizeof standard / sizeof standard[0]);
  for (int i = 0; i < n; i++)
    right &= run_size(&h, options.n_sizes ? options.size[i] : standard[i]);
  harness_fini(&h);
  return right ? 0 : 1;
}
