/* Gives every struct that begins with its size to the library, as a program of one version does
 * that runs with a library of another. Built twice: with the headers of this tree, and with those
 * of a later version (newer.py), where each of the structs has one field more
 * (SIZED_STRUCTS_ADDED).
 *
 *   client newer   the library knows the fields that these headers add, or is of their version
 *   client older   it does not: UNSUPPORTED where one of them is not zero
 *
 * Each struct ends where memory does, so that nobody reads or writes behind it. */
#include <llrt/llrt.h>

#include <sized_structs.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef SIZED_STRUCTS_ADDED
enum { ADDED = sizeof(uint64_t) };
#else
enum { ADDED = 0 };
#endif

enum { N = 16, PAGES = 2 * 65536 };

static struct {
  llrt_context *context;
  llrt_device *device;
  llrt_tensor matrix, other, row;
  float numbers[N][N], result[N][N], sums[N];
  llrt_layout registers, shared;
  llrt_op *op;
  int failures, calls;
} at;

/* ---- memory that ends with the struct ---- */

static char *pages;

static void make_pages(void) {
  pages = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + PAGES / 2, PAGES / 2, PROT_NONE) != 0) exit(1);
}

static void *place(const void *given, size_t bytes) {
  return memcpy(pages + PAGES / 2 - bytes, given, bytes);
}

/* ---- a call for each struct ---- */

static const int64_t square[2] = {N, N};

static llrt_status use_llrt_amd_mma_params(llrt_amd_mma_params *params) {
  llrt_layout out;
  params->rank = 2;
  params->version = 3;
  params->warps_per_cta[0] = params->warps_per_cta[1] = 1;
  params->instr_shape[0] = params->instr_shape[1] = 16;
  params->instr_shape[2] = 16;
  return llrt_layout_mfma(params, square, &out);
}

static llrt_status use_llrt_blocked_params(llrt_blocked_params *params) {
  llrt_layout out;
  params->rank = 2;
  params->order[0] = 1;
  for (int i = 0; i < 2; i++) {
    params->size_per_thread[i] = params->warps_per_cta[i] = 1;
    params->threads_per_warp[i] = i ? 8 : 4;
  }
  return llrt_layout_blocked(params, square, &out);
}

static llrt_status use_llrt_nvmma_params(llrt_nvmma_params *params) {
  llrt_layout out;
  params->rank = params->version = 2;
  params->warps_per_cta[0] = params->warps_per_cta[1] = 1;
  params->instr_shape[0] = 16;
  params->instr_shape[1] = 8;
  return llrt_layout_nvmma(params, square, &out);
}

static const llrt_nvmma_params parent = {
    .rank = 2, .version = 2, .warps_per_cta = {1, 1}, .instr_shape = {16, 8}};

static llrt_status use_llrt_slice_params(llrt_slice_params *params) {
  llrt_layout out;
  params->parent.nvmma = &parent;
  return llrt_layout_slice(params, 1, square, &out);
}

static llrt_status use_llrt_dot_operand_params(llrt_dot_operand_params *params) {
  llrt_layout out;
  params->k_width = 2;
  params->parent.nvmma = &parent;
  return llrt_layout_dot(params, 2, square, &out);
}

static llrt_status use_llrt_swizzle_params(llrt_swizzle_params *params) {
  llrt_layout out;
  params->rank = 2;
  params->vec = params->per_phase = 1;
  params->max_phase = 4;
  params->order[0] = 1;
  return llrt_layout_swizzled_shared(params, square, &out);
}

static llrt_status use_llrt_nvmma_shared_params(llrt_nvmma_shared_params *params) {
  llrt_layout out;
  params->rank = 2;
  params->swizzle_bytes = 32;
  params->element_bits = 16;
  return llrt_layout_nvmma_shared(params, square, &out);
}

static llrt_status use_llrt_tensor_memory_params(llrt_tensor_memory_params *params) {
  llrt_layout out;
  params->block_m = 128;
  params->block_n = 32;
  params->col_stride = 1;
  return llrt_layout_tensor_memory(params, (int64_t[]){128, 32}, &out);
}

static llrt_status use_llrt_padded_params(llrt_padded_params *params) {
  llrt_storage out;
  params->rank = 2;
  params->n_intervals = 1;
  params->interval[0] = 16;
  params->padding[0] = 4;
  params->order[0] = 1;
  return llrt_storage_padded_shared(params, square, &out);
}

static llrt_status use_llrt_bank_params(llrt_bank_params *params) {
  llrt_bank_report report = {0};
  params->lanes = params->banks = 32;
  params->bank_bytes = 4;
  params->vector_bytes = 16;
  return llrt_layout_bank_conflicts(&at.registers, &at.shared, 32, params, &report);
}

static llrt_status use_llrt_bank_report(llrt_bank_report *report) {
  return llrt_layout_bank_conflicts(&at.registers, &at.shared, 32, NULL, report);
}

static llrt_status use_llrt_context_params(llrt_context_params *params) {
  llrt_context *context;
  params->threads = 1;
  llrt_status status = llrt_context_create(params, &context);
  llrt_context_destroy(&context);
  return status;
}

static llrt_status use_llrt_device_params(llrt_device_params *params) {
  llrt_device *device;
  llrt_status status = llrt_device_open(at.context, "host", params, &device);
  llrt_device_close(&device);
  return status;
}

static llrt_status use_llrt_device_info(llrt_device_info *info) {
  return llrt_device_get_info(at.device, info);
}

static llrt_status use_llrt_cache_stats(llrt_cache_stats *stats) {
  return llrt_context_get_cache_stats(at.context, stats);
}

static llrt_status use_llrt_context_stats(llrt_context_stats *stats) {
  return llrt_context_get_stats(at.context, stats);
}

static llrt_status use_llrt_comm_params(llrt_comm_params *params) {
  static _Alignas(16) char signals[4096];
  void *const list[1] = {signals};
  llrt_comm *comm;
  params->ranks = 1;
  params->signals = list;
  llrt_status status = llrt_comm_create(at.device, params, &comm);
  llrt_comm_destroy(&comm);
  return status;
}

static llrt_status use_llrt_reshard_desc(llrt_reshard_desc *desc) {
  const char *text = "mesh(a=2): P(a, None) o row_major";
  llrt_sharding sharding;
  llrt_status status = llrt_sharding_parse(text, NULL, 2, square, &sharding);
  desc->source = desc->destination = &sharding;
  desc->shape = square;
  desc->source_dtype = desc->destination_dtype = LLRT_F32;
  return status ? status : llrt_reshard_explain(desc, 0, 0, NULL, 0, NULL);
}

/* Of a re-shard on a communicator of one rank. */
static llrt_status use_llrt_reshard_info(llrt_reshard_info *info) {
  static _Alignas(16) char signals[4096];
  void *const list[1] = {signals};
  llrt_comm_params params = {.size = sizeof params, .ranks = 1, .signals = list};
  llrt_reshard_desc desc = {.size = sizeof desc, .shape = square};
  llrt_sharding sharding;
  llrt_comm *comm = NULL;
  llrt_reshard *reshard = NULL;
  llrt_status status = llrt_sharding_parse("mesh(a=1): P(a)", NULL, 2, square, &sharding);
  desc.source = desc.destination = &sharding;
  desc.source_dtype = desc.destination_dtype = LLRT_F32;
  if (!status) status = llrt_comm_create(at.device, &params, &comm);
  if (!status) status = llrt_reshard_prepare(comm, &desc, NULL, &reshard);
  if (!status) status = llrt_reshard_get(reshard, info);
  llrt_reshard_destroy(&reshard);
  llrt_comm_destroy(&comm);
  return status;
}

/* The same, run. */
static llrt_status use_llrt_reshard_run_params(llrt_reshard_run_params *run) {
  static _Alignas(16) char signals[4096];
  static _Alignas(16) float from[N * N], to[N * N];
  void *const list[1] = {signals}, *const sources[1] = {from}, *const destinations[1] = {to};
  llrt_comm_params params = {.size = sizeof params, .ranks = 1, .signals = list};
  llrt_reshard_desc desc = {.size = sizeof desc, .shape = square};
  llrt_sharding sharding;
  llrt_comm *comm = NULL;
  llrt_reshard *reshard = NULL;
  llrt_status status = llrt_sharding_parse("mesh(a=1): P(a)", NULL, 2, square, &sharding);
  desc.source = desc.destination = &sharding;
  desc.source_dtype = desc.destination_dtype = LLRT_F32;
  run->sources = sources;
  run->destinations = destinations;
  if (!status) status = llrt_comm_create(at.device, &params, &comm);
  if (!status) status = llrt_reshard_prepare(comm, &desc, NULL, &reshard);
  if (!status) status = llrt_reshard_run_with(reshard, run, NULL);
  llrt_reshard_destroy(&reshard);
  llrt_comm_destroy(&comm);
  return status;
}

static llrt_status use_llrt_cache_params(llrt_cache_params *cache) {
  const llrt_context_params params = {.size = sizeof params, .cache = cache};
  llrt_context *context;
  llrt_status status = llrt_context_create(&params, &context);
  llrt_context_destroy(&context);
  return status;
}

static size_t entry_size;

static int on_entry(void *user, const llrt_cache_entry *entry) {
  (void)user;
  entry_size = entry->size;
  return 1;
}

/* The library gives this one to the program, as it does an event. */
static llrt_status use_llrt_cache_entry(llrt_cache_entry *entry) {
  char dir[] = "/tmp/llrt-abi-XXXXXX";
  (void)entry;
  if (!mkdtemp(dir)) return LLRT_IO;
  const llrt_cache_params cache = {.dir = dir};
  const llrt_context_params params = {.size = sizeof params, .cache = &cache};
  llrt_context *context;
  llrt_device *device = NULL;
  llrt_tensor source = at.matrix, destination = at.other;
  entry_size = 0;
  llrt_status status = llrt_context_create(&params, &context);
  if (status == LLRT_OK) status = llrt_device_open(context, "host", NULL, &device);
  source.device = destination.device = device;
  if (status == LLRT_OK) status = llrt_convert_into(&source, &destination, NULL, NULL);
  if (status == LLRT_OK) status = llrt_cache_visit(dir, NULL, on_entry);
  llrt_device_close(&device);
  llrt_context_destroy(&context);
  llrt_cache_clear(dir, 0, NULL);
  char lock[64];
  snprintf(lock, sizeof lock, "%s/lock", dir);
  remove(lock);
  remove(dir);
  return entry_size < sizeof(llrt_cache_entry) - ADDED ? LLRT_INTERNAL : status;
}

static llrt_status use_llrt_struct_info(llrt_struct_info *info) {
  return llrt_struct_get_info("llrt_tensor", info);
}

static llrt_status use_llrt_convert_params(llrt_convert_params *params) {
  return llrt_convert_into(&at.matrix, &at.other, params, NULL);
}

static llrt_status use_llrt_reduce_params(llrt_reduce_params *params) {
  params->axes = 1;
  return llrt_reduce_into(&at.matrix, &at.row, params, NULL);
}

static llrt_status bind(const llrt_recipe_params *params, llrt_repack **plan) {
  static const char text[] = "{\"recipe\": 1, \"name\": \"columns\", \"rows\": [{\"in\": {\"x\": "
                             "\"x: f32[m, n]\"}, \"out\": {\"x\": \"y: f32[m, n] = f32[m n] in "
                             "col_major\"}}]}";
  const llrt_named_tensor in = {.name = "x", .dtype = LLRT_F32, .rank = 2, .shape = {N, N}};
  llrt_recipe *recipe;
  llrt_status status = llrt_recipe_load(text, sizeof text - 1, &recipe);
  if (status == LLRT_OK) status = llrt_recipe_bind(at.device, recipe, &in, 1, params, plan);
  llrt_recipe_destroy(&recipe);
  return status;
}

static llrt_status use_llrt_recipe_params(llrt_recipe_params *params) {
  llrt_repack *plan = NULL;
  llrt_status status = bind(params, &plan);
  llrt_repack_destroy(&plan);
  return status;
}

static llrt_status use_llrt_repack_info(llrt_repack_info *info) {
  llrt_repack *plan = NULL;
  llrt_status status = bind(NULL, &plan);
  if (status == LLRT_OK) status = llrt_repack_get_info(plan, info);
  llrt_repack_destroy(&plan);
  return status;
}

static llrt_status use_llrt_scan_params(llrt_scan_params *params) {
  params->axis = 1;
  return llrt_scan_into(&at.matrix, &at.other, params, NULL);
}

static llrt_status use_llrt_gather_params(llrt_gather_params *params) {
  static const int32_t rows[N] = {3, 1};
  const llrt_tensor index = {
      .data = (void *)rows, .dtype = LLRT_I32, .rank = 1, .shape = {N}, .device = at.device};
  params->form = LLRT_GATHER_SELECT;
  return llrt_gather_into(&at.matrix, &index, 0, &at.other, params, NULL);
}

static llrt_status use_llrt_dot_params(llrt_dot_params *params) {
  return llrt_dot_into(&at.matrix, &at.matrix, &at.other, params, NULL);
}

static llrt_status use_llrt_dot_pack_params(llrt_dot_pack_params *params) {
  llrt_dot_packing packing = {0};
  params->dtype = LLRT_I8;
  return llrt_dot_pack(params, "sm_90a", LLRT_DOT_B, &packing);
}

static llrt_status use_llrt_dot_packing(llrt_dot_packing *packing) {
  const llrt_dot_pack_params params = {.dtype = LLRT_I8};
  return llrt_dot_pack(&params, "sm_90a", LLRT_DOT_B, packing);
}

static llrt_status use_llrt_op_desc(llrt_op_desc *desc) {
  const llrt_tensor tensors[2] = {at.matrix, at.other};
  llrt_op *op;
  desc->kind = LLRT_OP_CONVERT;
  desc->n_tensors = 2;
  desc->tensors = tensors;
  llrt_status status = llrt_op_prepare(at.device, desc, &op);
  llrt_op_destroy(&op);
  return status;
}

static llrt_status use_llrt_prepare_params(llrt_prepare_params *params) {
  const llrt_tensor tensors[2] = {at.matrix, at.other};
  const llrt_op_desc desc = {
      .size = sizeof desc, .kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = tensors};
  char line[256];
  llrt_op *op;
  llrt_status status = llrt_op_prepare_with(at.device, &desc, params, &op);
  if (status == LLRT_OK) status = llrt_op_choice_print(op, tensors, 2, line, sizeof line, NULL);
  llrt_op_destroy(&op);
  return status;
}

static size_t candidate_size;

static void on_candidate(void *user, const llrt_tune_candidate *candidate) {
  (void)user;
  candidate_size = candidate->size;
}

static llrt_status use_llrt_tune_candidate(llrt_tune_candidate *candidate) {
  llrt_prepare_params params = {.size = sizeof params,
                                .tune = LLRT_TUNE_SAME,
                                .most = 1,
                                .seconds = 1e-9,
                                .on_candidate = on_candidate};
  (void)candidate;
  candidate_size = 0;
  llrt_status status = use_llrt_prepare_params(&params);
  return candidate_size < sizeof(llrt_tune_candidate) - ADDED ? LLRT_INTERNAL : status;
}

static llrt_status use_llrt_run_params(llrt_run_params *params) {
  const llrt_tensor tensors[2] = {at.matrix, at.other};
  return llrt_op_run(at.op, NULL, tensors, 2, params);
}

static llrt_status use_llrt_compute_params(llrt_compute_params *params) {
  const llrt_arg args[] = {{.name = "x", .tensor = &at.matrix}, {.name = "y", .tensor = &at.other}};
  llrt_expr *expr;
  llrt_status status = llrt_expr_parse("(x[m n]) -> (y[m n]) { y = x + 1 }", &expr);
  if (status == LLRT_OK) status = llrt_compute_into(expr, args, 2, params, NULL);
  llrt_expr_destroy(&expr);
  return status;
}

static llrt_status use_llrt_kernel_info(llrt_kernel_info *info) {
  size_t bytes = 0;
  llrt_status status = llrt_op_save(at.op, NULL, &bytes);
  void *saved = malloc(bytes);
  if (status == LLRT_OK) status = llrt_op_save(at.op, saved, &bytes);
  if (status == LLRT_OK) status = llrt_kernel_inspect(saved, bytes, at.device, info);
  free(saved);
  return status;
}

/* The library gives this one to the program: it says how much of it there is. */
static size_t event_size;

static void on_compile(void *user, const llrt_compile_event *event) {
  (void)user;
  event_size = event->size;
}

static llrt_status use_llrt_compile_event(llrt_compile_event *event) {
  (void)event;
  const llrt_context_params params = {.size = sizeof params, .on_compile = on_compile};
  llrt_context *context;
  llrt_device *device;
  llrt_tensor source = at.matrix, destination = at.other;
  event_size = 0;
  llrt_status status = llrt_context_create(&params, &context);
  if (status == LLRT_OK) status = llrt_device_open(context, "host", NULL, &device);
  source.device = destination.device = device;
  if (status == LLRT_OK) status = llrt_convert_into(&source, &destination, NULL, NULL);
  llrt_device_close(&device);
  llrt_context_destroy(&context);
  return event_size < sizeof(llrt_compile_event) - ADDED ? LLRT_INTERNAL : status;
}

/* READ(struct): the library reads it. FILLED(struct): it writes it; of a size that it does not know
 * as much as it knows. */
/* clang-format off */
#define USED_STRUCTS(READ, FILLED) \
  READ(llrt_amd_mma_params) READ(llrt_bank_params) FILLED(llrt_bank_report) \
  READ(llrt_blocked_params) FILLED(llrt_cache_entry) READ(llrt_cache_params) \
  FILLED(llrt_cache_stats) FILLED(llrt_compile_event) READ(llrt_compute_params) \
  READ(llrt_comm_params) READ(llrt_context_params) FILLED(llrt_context_stats) \
  READ(llrt_convert_params) READ(llrt_reshard_desc) FILLED(llrt_reshard_info) \
  FILLED(llrt_device_info) \
  READ(llrt_device_params) READ(llrt_dot_operand_params) READ(llrt_dot_pack_params) \
  FILLED(llrt_dot_packing) READ(llrt_dot_params) READ(llrt_gather_params) \
  FILLED(llrt_kernel_info) READ(llrt_nvmma_params) READ(llrt_nvmma_shared_params) \
  READ(llrt_op_desc) READ(llrt_padded_params) READ(llrt_prepare_params) READ(llrt_recipe_params) \
  READ(llrt_reduce_params) FILLED(llrt_repack_info) READ(llrt_reshard_run_params) \
  READ(llrt_run_params) \
  READ(llrt_scan_params) READ(llrt_slice_params) FILLED(llrt_struct_info) \
  READ(llrt_swizzle_params) READ(llrt_tensor_memory_params) FILLED(llrt_tune_candidate)
/* clang-format on */

/* ---- what may be expected ---- */

static void check(const char *name, const char *what, llrt_status status, llrt_status expected) {
  bool said = expected == LLRT_OK || strstr(llrt_last_error(), name);
  at.calls++;
  if (status == expected && said) return;
  at.failures++;
  printf("%s, %s: %s instead of %s (%s)\n", name, what, llrt_status_name(status),
         llrt_status_name(expected), llrt_last_error());
}

/* Of what the library filled: the fields that are here beyond those that it knows are untouched. */
static void check_filled(const char *name, const void *made, size_t size, size_t given) {
  size_t written;
  memcpy(&written, made, sizeof written);
  if (written <= size && (given == 0 || written <= given)) return;
  at.failures++;
  printf("%s: %zu bytes written of %zu\n", name, written, given);
}

#define TEST_STRUCT(type, is_filled) \
  static void test_##type(bool library_is_older) { \
    const size_t sizes[] = {sizeof(type), 0, sizeof(type) - ADDED}; \
    for (int i = 0; i < 3; i++) { \
      type *made = place(&(type){.size = sizes[i]}, sizeof(type)); \
      check(#type, "zero", use_##type(made), LLRT_OK); \
      if (is_filled) check_filled(#type, made, sizeof(type), sizes[i]); \
    } \
    TEST_ADDED(type, is_filled) \
  }
#ifdef SIZED_STRUCTS_ADDED
#define TEST_ADDED(type, is_filled) \
  type *added = place(&(type){.size = sizeof(type), .added = 7}, sizeof(type)); \
  bool refused = library_is_older && !is_filled; \
  check(#type, "with an added field", use_##type(added), refused ? LLRT_UNSUPPORTED : LLRT_OK); \
  if (library_is_older && is_filled && added->added != 7) \
    check(#type, "written behind", LLRT_INTERNAL, LLRT_OK);
#else
#define TEST_ADDED(type, is_filled) (void)library_is_older;
#endif
#define TEST_READ(type) TEST_STRUCT(type, false)
#define TEST_FILLED(type) TEST_STRUCT(type, true)
USED_STRUCTS(TEST_READ, TEST_FILLED)

/* Every struct of the headers that begins with its size is used here. */
static void check_all_are_used(void) {
#define NAME(type) #type,
  static const char *const sized[] = {SIZED_STRUCTS(NAME)}, *const used[] = {
                                                                USED_STRUCTS(NAME, NAME)};
  for (size_t i = 0; i < sizeof sized / sizeof *sized; i++) {
    bool found = false;
    for (size_t j = 0; j < sizeof used / sizeof *used; j++) found |= strcmp(sized[i], used[j]) == 0;
    if (found) continue;
    printf("client.c has no call with %s\n", sized[i]);
    at.failures++;
  }
}

/* ---- the program ---- */

static void must(llrt_status status, const char *what) {
  if (status == LLRT_OK) return;
  printf("%s: %s\n", what, llrt_last_error());
  exit(1);
}

static llrt_tensor tensor(void *data, int rank) {
  return (llrt_tensor){
      .data = data, .dtype = LLRT_F32, .rank = rank, .shape = {N, N}, .device = at.device};
}

static void start(void) {
  must(llrt_context_create(NULL, &at.context), "context");
  must(llrt_device_open(at.context, "host", NULL, &at.device), "device");
  for (int i = 0; i < N * N; i++) at.numbers[i / N][i % N] = (float)(i % 7);
  at.matrix = tensor(at.numbers, 2);
  at.other = tensor(at.result, 2);
  at.row = tensor(at.sums, 1);
  must(llrt_layout_parse("blocked(size_per_thread=[1,2], threads_per_warp=[4,8], "
                         "warps_per_cta=[1,1], order=[1,0])",
                         2, square, &at.registers),
       "registers");
  must(llrt_layout_parse("swizzled_shared(vec=1, per_phase=1, max_phase=4, order=[1,0])", 2, square,
                         &at.shared),
       "shared");
  const llrt_tensor tensors[2] = {at.matrix, at.other};
  const llrt_op_desc desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = tensors};
  must(llrt_op_prepare(at.device, &desc, &at.op), "prepare");
}

static void end(void) {
  llrt_op_destroy(&at.op);
  llrt_device_close(&at.device);
  llrt_context_destroy(&at.context);
}

/* What a call computed, once all have been made. */
static void check_numbers(void) {
  float sum = 0;
  for (int i = 0; i < N; i++) sum += at.numbers[i][2];
  if (at.sums[2] != sum || memcmp(at.numbers, at.result, sizeof at.numbers) != 0) at.failures++;
}

int main(int argc, char **argv) {
  bool library_is_older = argc > 1 && strcmp(argv[1], "older") == 0;
  make_pages();
  start();
  check_all_are_used();
#define RUN(type) test_##type(library_is_older);
  USED_STRUCTS(RUN, RUN)
  must(llrt_convert_into(&at.matrix, &at.other, NULL, NULL), "convert");
  check_numbers();
  end();
  printf("llrt %s, which %s: %d calls, %d not as promised\n", llrt_version(),
         library_is_older ? "is older" : "is as new or newer", at.calls, at.failures);
  return at.failures != 0;
}
