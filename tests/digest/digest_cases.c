/* Plans and compiles the benchmarks' catalogue and products without a device, through the observer,
 * and writes a line of digests for every case and target: what scripts/digest compares.
 *
 *   llrt_digest [--until plan|ir] [--sample I/N] [--only TEXT] [--target NAME] FILE
 *
 * --until: goes no further; the line has 0 for what is behind. --sample: part I, from 0, of the
 * cases, dealt at random into N.
 * --only: cases whose name has TEXT. */
#include "benchmarks/catalogue.h"
#include "benchmarks/dense_cases.h"
#include "benchmarks/dot_kinds.h"
#include "benchmarks/harness.h"
#include "runtime/described.h"
#include "tests/conformance/digest_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CATALOGUE_BYTES = 1 << 20 };

static const char *const targets[] = {"sm_80",          "sm_89",     "sm_90a",    "gfx90a",
                                      "gfx942",         "x86-64-v2", "x86-64-v3", "x86-64-v4",
                                      "x86-64-v4-vbmi", "aarch64"};
enum { TARGET_COUNT = sizeof targets / sizeof targets[0] };

typedef struct digest_run {
  digest_log log;
  llrt_context *context;
  int part, parts;
  const char *only, *target, *until;
  uint64_t made, refused;
} digest_run;

/* ---- a case ---- */

static bool is_gpu(const char *target) {
  return strncmp(target, "sm_", 3) == 0 || strncmp(target, "gfx", 3) == 0;
}

/* As promises are for tensors on such a device: a tensor without one is promised as on the host. */
static llrt_status promise_as_on(const char *target, op_description *desc) {
  llrt_status status = described_promise(desc);
  for (int t = 0; t < desc->n_tensors && is_gpu(target); t++) {
    llrt_tensor_promise *promise = &desc->promises[t];
    int64_t most = 16 * 8 / llrt_dtype_bits(desc->tensors[t].dtype);
    if (promise->address.multiple > 16) promise->address.multiple = 16;
    for (int axis = 0; axis < desc->tensors[t].rank; axis++)
      if (promise->stride[axis].multiple > most) promise->stride[axis].multiple = most;
  }
  return status;
}

static void run_case(digest_run *run, const char *suite, const char *target, const char *name,
                     op_description *desc) {
  char *bytes = NULL;
  size_t size;
  llrt_status status = promise_as_on(target, desc);
  if (status == LLRT_OK)
    status = described_compile(run->context, target, desc, LLRT_EMIT_KERNEL, &bytes, &size);
  if (status != LLRT_OK && status != LLRT_UNSUPPORTED) harness_must(status, name);
  llrt_buffer_free(&bytes);
  run->made += status == LLRT_OK;
  run->refused += status != LLRT_OK;
  digest_log_add(&run->log, suite, target, name);
}

static uint64_t hash_name(const char *name) {
  uint64_t hash = 0;
  for (; *name; name++) hash = harness_mix(hash ^ (unsigned char)*name);
  return hash;
}

static bool is_asked(const digest_run *run, const char *target, const char *name) {
  if (run->target && strcmp(run->target, target) != 0) return false;
  if (run->only && !strstr(name, run->only)) return false;
  return (hash_name(name) ^ hash_name(target)) % (uint64_t)run->parts == (uint64_t)run->part;
}

/* ---- the catalogue ---- */

typedef struct catalogue_walk {
  digest_run *run;
  bool odd;
} catalogue_walk;

static void visit(void *user, const conversion *c) {
  const catalogue_walk *walk = user;
  char name[160];
  snprintf(name, sizeof name, "%s, %s shape", c->name, walk->odd ? "odd" : "even");
  for (int i = 0; i < TARGET_COUNT; i++) {
    if (!is_asked(walk->run, targets[i], name)) continue;
    op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
    const llrt_storage *sides[] = {&c->from, &c->to};
    for (int t = 0; t < 2; t++) {
      desc.tensors[t] = (llrt_tensor){.dtype = c->dtype, .rank = c->rank, .storage = sides[t]};
      memcpy(desc.tensors[t].shape, c->shape, sizeof c->shape);
    }
    run_case(walk->run, "catalogue", targets[i], name, &desc);
  }
}

static void run_catalogue(digest_run *run) {
  for (int odd = 0; odd < 2; odd++) {
    catalogue_walk walk = {run, odd};
    catalogue_visit(CATALOGUE_BYTES, odd, &walk, visit);
  }
}

/* ---- products ---- */

static void run_kind(digest_run *run, const char *target, const dot_kind *kind, int64_t m,
                     int64_t size) {
  static described_dot call;
  char name[120];
  llrt_tensor tensor[DOT_KIND_TENSORS];
  const llrt_tensor *tensors[DOT_KIND_TENSORS];
  llrt_storage columns;
  llrt_dot_packing packing = {.n_maps = 0};
  const dot_extents shape = {m, size, size};
  snprintf(name, sizeof name, "%s %" PRId64 "x%" PRId64 "x%" PRId64, kind->name, m, size, size);
  if (!is_asked(run, target, name)) return;
  if (kind->order && dot_kind_packing(kind, target, &shape, &packing) == LLRT_UNSUPPORTED) return;
  harness_must(llrt_storage_col_major(2, &columns), "storage");
  for (int t = 0; t < DOT_KIND_TENSORS; t++) {
    tensor[t] = dot_kind_tensor(kind, t, &shape, &columns);
    tensors[t] = &tensor[t];
    if (kind->order && t >= DOT_KIND_B && t <= (kind->group > 0 ? DOT_KIND_ZERO : DOT_KIND_B))
      tensor[t].storage = &packing.storages[t - DOT_KIND_B];
  }
  harness_must(dot_kind_describe(kind, tensors, &packing, &call), name);
  run_case(run, "products", target, name, &call.desc);
}

static void run_dense(digest_run *run, const char *target, const dense_case *c) {
  static described_dot call;
  char name[120];
  llrt_tensor tensors[DENSE_TENSORS];
  llrt_storage storage[DENSE_TENSORS];
  dense_case_name(c, name, sizeof name);
  if (!is_asked(run, target, name)) return;
  for (int t = 0; t < DENSE_TENSORS; t++)
    harness_must(dense_case_tensor(c, t, &storage[t], &tensors[t]), name);
  harness_must(
      described_dot_make(&tensors[DENSE_A], &tensors[DENSE_B], &tensors[DENSE_D], NULL, &call),
      name);
  run_case(run, "products", target, name, &call.desc);
}

/* A plan has kernels for every number of rows, and promises know three classes of them. */
static void run_products(digest_run *run) {
  static const int64_t rows[] = {1, 16, 4096}, sizes[] = {2880, 8192};
  for (int i = 0; i < TARGET_COUNT; i++) {
    for (int k = 0; k < dot_kinds_count; k++)
      for (int s = 0; s < 2; s++)
        for (int r = 0; r < 3; r++) run_kind(run, targets[i], &dot_kinds[k], rows[r], sizes[s]);
    for (int k = 0; k < dense_cases_count; k++) run_dense(run, targets[i], &dense_cases[k]);
  }
}

/* ---- the program ---- */

static int usage(void) {
  fprintf(stderr,
          "llrt_digest [--until plan|ir] [--sample I/N] [--only TEXT] [--target NAME] FILE\n");
  return 2;
}

static bool parse(int argc, char *argv[], digest_run *run, const char **file) {
  *run = (digest_run){.parts = 1};
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strncmp(argv[i], "--", 2) != 0) {
      *file = argv[i];
      continue;
    }
    if (!value) return false;
    if (strcmp(argv[i], "--until") == 0) run->until = value;
    else if (strcmp(argv[i], "--only") == 0) run->only = value;
    else if (strcmp(argv[i], "--target") == 0) run->target = value;
    else if (strcmp(argv[i], "--sample") != 0 ||
             sscanf(value, "%d/%d", &run->part, &run->parts) != 2)
      return false;
    i++;
  }
  return *file && run->parts > 0;
}

int main(int argc, char *argv[]) {
  digest_run run;
  const char *file = NULL;
  if (!parse(argc, argv, &run, &file)) return usage();
  setenv("LLRT_TEST_DIGEST", file, 1);
  if (run.until) setenv("LLRT_DIGEST_UNTIL", run.until, 1);
  if (!digest_log_open(&run.log)) return 1;
  harness_must(
      llrt_context_create(&(llrt_context_params){.jit_library = run.log.library}, &run.context),
      "context");
  run_catalogue(&run);
  run_products(&run);
  llrt_context_destroy(&run.context);
  printf("%llu cases, %llu refused\n", (unsigned long long)(run.made + run.refused),
         (unsigned long long)run.refused);
  return digest_log_close(&run.log) ? 0 : 1;
}
