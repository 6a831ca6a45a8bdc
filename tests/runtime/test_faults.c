/* Memory, maps, files of memory and threads end, at every request in turn: a call fails with a
 * status and a message, or does without; the same call then works, and nothing is lost, which the
 * address sanitizer's build tells. Requests are counted where all of llrt's own are made
 * (base/memory.h), in libllrt and in the compiler's library; LLVM's are LLVM's. */
#include "convert_fixture.h"

#include "base/memory.h"
#include "tests/digest/observer.h"

#include <dlfcn.h>

/* What a call under test may keep between its two tries. */
typedef struct trial {
  fixture at;
  void *kernel; /* bytes of a saved kernel */
  size_t kernel_bytes;
} trial;

static void *saved_kernel;
static size_t saved_bytes;

static const llrt_context_params params = {.jit_library = LLRT_TEST_OBSERVER};

static llrt_op_desc convert_desc(trial *t, llrt_tensor tensors[2]) {
  tensors[0] = t->at.source;
  tensors[1] = t->at.destination;
  return (llrt_op_desc){.kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = tensors};
}

static llrt_tensor of_rows(trial *t, void *data, int rank, int64_t first) {
  return (llrt_tensor){
      .data = data, .dtype = LLRT_F32, .rank = rank, .shape = {first}, .device = t->at.host};
}

/* ---- calls ---- */

static llrt_status parse_layout(trial *t) {
  llrt_layout layout;
  (void)t;
  return llrt_layout_parse("blocked(size_per_thread=[1,2], threads_per_warp=[8,4], "
                           "warps_per_cta=[2,1], order=[1,0])",
                           2, (int64_t[]){16, 16}, &layout);
}

static llrt_status print_layout(trial *t) {
  llrt_layout layout;
  char text[4096];
  (void)t;
  llrt_status status = llrt_layout_strided1d(8, 1, "lane", "dim0", &layout);
  return status == LLRT_OK ? llrt_layout_print(&layout, text, sizeof text, NULL) : status;
}

static llrt_status parse_storage(trial *t) {
  llrt_storage storage;
  (void)t;
  return llrt_storage_parse("marlin_w4", 2, (int64_t[]){64, 64}, &storage);
}

static llrt_status print_storage(trial *t) {
  char text[4096];
  return llrt_storage_print(&t->at.col_major, text, sizeof text, NULL);
}

static llrt_status create_context(trial *t) {
  llrt_context *context = NULL;
  (void)t;
  llrt_status status = llrt_context_create(&params, &context);
  llrt_context_destroy(&context);
  return status;
}

static llrt_status open_device(trial *t) {
  llrt_device *device = NULL;
  llrt_status status = llrt_device_open(t->at.context, "host", NULL, &device);
  llrt_device_close(&device);
  return status;
}

static llrt_status device_info(trial *t) {
  llrt_device_info info = {0};
  return llrt_device_get_info(t->at.host, &info);
}

static llrt_status allocate(trial *t) {
  void *memory = NULL;
  llrt_status status = llrt_memory_allocate(t->at.host, 4096, &memory);
  if (status == LLRT_OK) status = llrt_memory_free(t->at.host, memory);
  return status;
}

static llrt_status set_memory(trial *t) {
  return llrt_memory_set(t->at.host, t->at.output, 0, 16, NULL);
}

static llrt_status copy_memory(trial *t) {
  return llrt_memory_copy(t->at.host, t->at.output, t->at.input, 64, LLRT_COPY_ON_DEVICE, NULL);
}

static llrt_status events(trial *t) {
  llrt_event *event = NULL;
  llrt_status status = llrt_event_create(t->at.host, &event);
  if (status == LLRT_OK) status = llrt_event_record(event, NULL);
  llrt_event_destroy(&event);
  return status;
}

static llrt_status trim(trial *t) { return llrt_context_trim(t->at.context, 0); }

static llrt_status stats(trial *t) {
  llrt_cache_stats got = {0};
  return llrt_context_get_cache_stats(t->at.context, &got);
}

static llrt_status convert_into(trial *t) {
  llrt_status status = llrt_convert_into(&t->at.source, &t->at.destination, NULL, NULL);
  if (status == LLRT_OK) cr_expect(fixture_is_converted(&t->at));
  return status;
}

static llrt_status convert(trial *t) {
  llrt_tensor made = {0};
  llrt_status status = llrt_convert(&t->at.source, &t->at.col_major, NULL, NULL, &made);
  if (status == LLRT_OK) status = llrt_tensor_free(&made, NULL);
  return status;
}

static llrt_status cast(trial *t) {
  llrt_tensor to = t->at.destination;
  to.dtype = LLRT_BF16;
  return llrt_convert_into(&t->at.source, &to, NULL, NULL);
}

static llrt_status in_place(trial *t) {
  llrt_tensor tensors[2];
  llrt_op *op = NULL;
  llrt_op_desc desc = convert_desc(t, tensors);
  llrt_tensor_promise promises[2];
  memset(promises, 0, sizeof promises);
  tensors[1].data = tensors[0].data;
  desc.in_place = 1;
  desc.promises = promises;
  llrt_status status = llrt_op_promise_coarse(&desc);
  if (status == LLRT_OK) status = llrt_op_prepare(t->at.host, &desc, &op);
  llrt_op_destroy(&op);
  return status;
}

static llrt_status sum(trial *t) {
  llrt_tensor to = of_rows(t, t->at.output, 1, ROWS);
  return llrt_reduce_into(&t->at.source, &to, &(llrt_reduce_params){.axes = 2}, NULL);
}

static llrt_status sum_of_all(trial *t) {
  llrt_tensor made = {0};
  llrt_status status = llrt_reduce(&t->at.source, NULL, NULL, NULL, &made);
  if (status == LLRT_OK) status = llrt_tensor_free(&made, NULL);
  return status;
}

static llrt_status scan(trial *t) {
  llrt_tensor made = {0};
  llrt_status status = llrt_scan(&t->at.source, NULL, &(llrt_scan_params){.axis = 1}, NULL, &made);
  if (status == LLRT_OK) status = llrt_tensor_free(&made, NULL);
  return status;
}

static int64_t chosen[] = {3, 1, 2};

static llrt_status gather(trial *t) {
  llrt_tensor made = {0}, index = of_rows(t, chosen, 1, 3);
  index.dtype = LLRT_I64;
  llrt_gather_params select = {.form = LLRT_GATHER_SELECT};
  llrt_status status = llrt_gather(&t->at.source, &index, 0, NULL, &select, NULL, &made);
  if (status == LLRT_OK) status = llrt_tensor_free(&made, NULL);
  return status;
}

static llrt_status scatter(trial *t) {
  llrt_tensor index = of_rows(t, chosen, 1, 3), from = t->at.source, to = t->at.source;
  index.dtype = LLRT_I64;
  from.shape[0] = 3;
  to.data = t->at.output;
  llrt_gather_params select = {.form = LLRT_GATHER_SELECT};
  return llrt_scatter_into(&from, &index, 0, &to, &select, NULL);
}

static llrt_status dot(trial *t) {
  llrt_tensor a = t->at.source, b = t->at.source, made = {0};
  b.shape[0] = COLUMNS;
  b.shape[1] = 8;
  llrt_status status = llrt_dot(&a, &b, NULL, NULL, NULL, &made);
  if (status == LLRT_OK) status = llrt_tensor_free(&made, NULL);
  return status;
}

static llrt_status dot_describe(trial *t) {
  llrt_tensor a = t->at.source, b = t->at.source, d = {0};
  llrt_op_desc *desc = NULL;
  b.shape[0] = COLUMNS;
  b.shape[1] = 8;
  llrt_status status = llrt_dot_result(&a, &b, NULL, &d);
  d.data = t->at.output;
  d.device = t->at.host;
  if (status == LLRT_OK) status = llrt_dot_describe(&a, &b, &d, NULL, &desc);
  llrt_op_desc_destroy(&desc);
  return status;
}

static llrt_status prepare(trial *t) {
  llrt_tensor tensors[2];
  llrt_op *op = NULL;
  llrt_op_desc desc = convert_desc(t, tensors);
  llrt_status status = llrt_op_prepare(t->at.host, &desc, &op);
  if (status == LLRT_OK) status = llrt_op_run(op, NULL, tensors, 2, NULL);
  llrt_op_destroy(&op);
  return status;
}

static llrt_status save(trial *t) {
  llrt_tensor tensors[2];
  llrt_op *op = NULL;
  size_t bytes = 0;
  llrt_op_desc desc = convert_desc(t, tensors);
  llrt_status status = llrt_op_prepare(t->at.host, &desc, &op);
  if (status == LLRT_OK) status = llrt_op_save(op, NULL, &bytes);
  char *memory = bytes ? malloc(bytes) : NULL;
  if (memory) status = llrt_op_save(op, memory, &bytes);
  if (memory && status == LLRT_OK && !saved_kernel) {
    saved_kernel = memory;
    saved_bytes = bytes;
  } else {
    free(memory);
  }
  llrt_op_destroy(&op);
  return status;
}

static llrt_status load(trial *t) {
  llrt_op *op = NULL;
  llrt_tensor tensors[] = {t->at.source, t->at.destination};
  cr_assert(saved_kernel);
  llrt_status status = llrt_op_load(t->at.host, saved_kernel, saved_bytes, &op);
  if (status == LLRT_OK) status = llrt_op_run(op, NULL, tensors, 2, NULL);
  llrt_op_destroy(&op);
  return status;
}

static llrt_status inspect(trial *t) {
  llrt_kernel_info info = {0};
  return llrt_kernel_inspect(saved_kernel, saved_bytes, t->at.host, &info);
}

static llrt_status compile_for(trial *t, const char *target, llrt_emit emit) {
  llrt_tensor tensors[2];
  char *bytes = NULL;
  size_t size = 0;
  llrt_op_desc desc = convert_desc(t, tensors);
  llrt_status status = llrt_op_compile(t->at.context, target, &desc, emit, &bytes, &size);
  llrt_buffer_free(&bytes);
  return status;
}

static llrt_status compile_plan(trial *t) { return compile_for(t, "sm_90a", LLRT_EMIT_PLAN); }
static llrt_status compile_ptx(trial *t) { return compile_for(t, "sm_80", LLRT_EMIT_ASM); }
static llrt_status compile_hsaco(trial *t) { return compile_for(t, "gfx90a", LLRT_EMIT_OBJECT); }

typedef struct fault_call {
  const char *name;
  llrt_status (*call)(trial *t);
} fault_call;

static const fault_call calls[] = {
    {"llrt_layout_parse", parse_layout},
    {"llrt_layout_print", print_layout},
    {"llrt_storage_parse", parse_storage},
    {"llrt_storage_print", print_storage},
    {"llrt_context_create", create_context},
    {"llrt_device_open", open_device},
    {"llrt_device_get_info", device_info},
    {"llrt_memory_allocate", allocate},
    {"llrt_memory_set", set_memory},
    {"llrt_memory_copy", copy_memory},
    {"llrt_event_create", events},
    {"llrt_context_trim", trim},
    {"llrt_context_get_cache_stats", stats},
    {"llrt_convert_into", convert_into},
    {"llrt_convert", convert},
    {"llrt_convert_into, bf16", cast},
    {"llrt_op_prepare, in place", in_place},
    {"llrt_reduce_into", sum},
    {"llrt_reduce", sum_of_all},
    {"llrt_scan", scan},
    {"llrt_gather", gather},
    {"llrt_scatter_into", scatter},
    {"llrt_dot", dot},
    {"llrt_dot_describe", dot_describe},
    {"llrt_op_prepare, llrt_op_run", prepare},
    {"llrt_op_save", save},
    {"llrt_op_load", load},
    {"llrt_kernel_inspect", inspect},
    {"llrt_op_compile, plan", compile_plan},
    {"llrt_op_compile, ptx", compile_ptx},
    {"llrt_op_compile, hsaco", compile_hsaco},
};

/* ---- every request of each ---- */

typedef struct fault_seam {
  void (*fail)(int kinds, int64_t n, int later);
  int64_t (*asked)(void);
} fault_seam;

static fault_seam of_library(void *library, const char *fail, const char *asked) {
  fault_seam found = {0};
  void *at[] = {dlsym(library, fail), dlsym(library, asked)};
  cr_assert(at[0] && at[1]);
  memcpy(&found.fail, &at[0], sizeof at[0]);
  memcpy(&found.asked, &at[1], sizeof at[1]);
  return found;
}

/* Whether the call had an n-th request of the kinds, which failed. */
static bool fails_at(const fault_call *call, const fault_seam *seam, int kinds, int64_t n,
                     bool later) {
  static trial t;
  fixture_make(&t.at, &params);
  seam->fail(kinds, n, later);
  llrt_status status = call->call(&t);
  int64_t asked = seam->asked();
  seam->fail(0, 0, 0);
  cr_expect(status != LLRT_INTERNAL && (status == LLRT_OK || llrt_last_error()[0]),
            "%s, request %lld: status %d, \"%s\"", call->name, (long long)n, (int)status,
            llrt_last_error());
  cr_expect(asked >= n || status == LLRT_OK, "%s fails by itself: %s", call->name,
            llrt_last_error());
  status = call->call(&t);
  cr_expect_eq(status, LLRT_OK, "%s, behind a fault at %lld: %s", call->name, (long long)n,
               llrt_last_error());
  fixture_end(&t.at);
  return asked >= n;
}

static void fail_all(const fault_seam *seam, const char *where, int kinds, bool compilers) {
  int64_t faults = 0;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    bool compiles = i >= 13;
    if (compilers && !compiles) continue;
    for (int64_t n = 1; fails_at(&calls[i], seam, kinds, n, n % 3 == 0); n++) faults++;
  }
  fprintf(stderr, "%s: %lld faults in %zu calls\n", where, (long long)faults,
          sizeof calls / sizeof *calls);
  cr_expect_gt(faults, 0);
  free(saved_kernel);
  saved_kernel = NULL;
}

static const fault_seam own = {memory_fail, memory_asked};

Test(faults, memory_ends, .timeout = 600) { fail_all(&own, "heap", MEMORY_HEAP, false); }

Test(faults, maps_files_and_threads_end, .timeout = 600) {
  fail_all(&own, "maps, files, threads", MEMORY_MAPS | MEMORY_FILES | MEMORY_THREADS, true);
}

Test(faults, the_compilers_memory_ends, .timeout = 600) {
  void *library = dlopen(LLRT_TEST_OBSERVER, RTLD_NOW | RTLD_LOCAL);
  cr_assert(library, "%s", dlerror());
  fault_seam compiler = of_library(library, LLRT_DIGEST_FAIL, LLRT_DIGEST_ASKED);
  fail_all(&compiler, "compiler", MEMORY_ALL, true);
}
