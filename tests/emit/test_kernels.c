/* Every step that planning makes, emitted and compiled for every target: PTX taken by the
 * assembler, HSACO read back, barriers with nothing outstanding. Executing the kernels is the
 * conformance suite's. */
#include "jit/jit.h"
#include "jit/plan/kernel/step_table.h"
#include "jit/plan/plan_make.h"
#include "jit/probe/plan_dot_tile.h"
#include "runtime/described.h"
#include "readback.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char *const nvptx[] = {"sm_80", "sm_89", "sm_90a"};
static const char *const amdgpu[] = {"gfx90a", "gfx942"};
static const char *const host[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-vbmi",
                                   "aarch64"};
static const llrt_dtype widths[] = {LLRT_B8, LLRT_B16, LLRT_B32, LLRT_B64};

typedef struct conversion {
  const char *source, *destination;
  int64_t shape[2];
  plan_exchange exchange;
  bool maps;           /* XOR and bits of words */
  bool lines;          /* rows begin at lines of the caches */
  llrt_dtype from, to; /* NONE: the width under test */
} conversion;

#define MMA "nvmma(version=[2,0], warps_per_cta=[2,2], instr_shape=[16,8])"
#define DOT "dot(operand=0, k_width=2, parent=" MMA ")"
/* Swaps register and lane bits: one round, two rounds, and a map that is no permutation. */
#define SWAP_1 "{register: [[8],[2],[4]], lane: [[1],[16],[32],[64],[128]]} -> [dim0:256]"
#define SWAP_2 "{register: [[8],[16],[4]], lane: [[1],[2],[32],[64],[128]]} -> [dim0:256]"
#define MIXED "{register: [[9],[18],[4]], lane: [[1],[2],[33],[64],[160]]} -> [dim0:256]"

static const conversion conversions[] = {
    {"row_major", "col_major", {128, 128}, .exchange = PLAN_EXCHANGE_AUTO},
    {"row_major", "col_major", {128, 128}, .exchange = PLAN_EXCHANGE_SHARED},
    {"strided([77,1])", "strided([1,99])", {64, 64}, .exchange = PLAN_EXCHANGE_AUTO},
    {"row_major", MMA, {64, 64}, .exchange = PLAN_EXCHANGE_AUTO},
    {MMA, DOT, {64, 64}, .exchange = PLAN_EXCHANGE_AUTO},
    {"row_major", DOT, {64, 64}, .exchange = PLAN_EXCHANGE_SHARED},
    {"row_major", "col_major", {128, 128}, .exchange = PLAN_EXCHANGE_MATRIX},
    {"col_major", MMA, {64, 64}, .exchange = PLAN_EXCHANGE_MATRIX},
    {MMA, "row_major", {64, 64}, .exchange = PLAN_EXCHANGE_MATRIX},
    {MMA, "col_major", {64, 64}, .exchange = PLAN_EXCHANGE_MATRIX},
    {"row_major", SWAP_1, {256, 1}, .exchange = PLAN_EXCHANGE_SHUFFLE},
    {"row_major", SWAP_2, {256, 1}, .exchange = PLAN_EXCHANGE_SHUFFLE},
    {"row_major", MIXED, {256, 1}, .exchange = PLAN_EXCHANGE_SHUFFLE},
    {"row_major",
     "{offset: [[0,0],[1,0],[0,1],[2,1],[0,2],[4,4],[3,4]]} -> [dim0:8, dim1:8]",
     {8, 8},
     .exchange = PLAN_EXCHANGE_AUTO},
    {"row_major", "col_major", {128, 128}, .exchange = PLAN_EXCHANGE_AUTO, .maps = true},
    {"row_major", "strided([1,96])", {64, 68}, .exchange = PLAN_EXCHANGE_AUTO, .maps = true},
    {"row_major", "col_major", {64, 64}, .from = LLRT_F32, .to = LLRT_E4M3},
    {"row_major", "col_major", {64, 64}, .from = LLRT_E5M2, .to = LLRT_BF16},
    {"row_major", "col_major", {64, 64}, .from = LLRT_F16, .to = LLRT_E5M2},
    {"row_major", "col_major", {64, 64}, .from = LLRT_I8, .to = LLRT_E4M3FNUZ},
    {"row_major", "col_major", {64, 64}, .from = LLRT_F64, .to = LLRT_F16},
    {"row_major", "col_major", {64, 64}, .from = LLRT_U32, .to = LLRT_E4M3},
    {"row_major", "row_major", {64, 64}, .from = LLRT_E2M1, .to = LLRT_BF16},
    {"row_major", "row_major", {64, 64}, .from = LLRT_E2M1, .to = LLRT_F32},
};

static plan made;
static llrt_storage storages[2];

/* On the host planning never takes shared memory by itself, and its code, an instruction a lane, is
 * long. */
static bool is_too_long(const conversion *c, const char *target, llrt_dtype dtype) {
  return c->exchange == PLAN_EXCHANGE_SHARED && target[0] == 'x' && llrt_dtype_bits(dtype) < 32;
}

/* False where this exchange cannot be had. */
static bool make(const conversion *c, const char *target_name, llrt_dtype dtype) {
  const char *const text[] = {c->source, c->destination};
  plan_options options = {.exchange = c->exchange};
  plan_target target;
  op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
  int rank = strstr(c->destination, "dim0:256") ? 1 : 2;
  for (int t = 0; t < 2; t++) {
    cr_assert_eq(llrt_storage_parse(text[t], rank, c->shape, &storages[t]), LLRT_OK, "%s: %s",
                 text[t], llrt_last_error());
    llrt_dtype own = t == 0 ? c->from : c->to;
    desc.tensors[t] =
        (llrt_tensor){.dtype = own ? own : dtype, .rank = rank, .storage = &storages[t]};
    desc.promises[t].address.multiple = c->lines ? 64 : 16;
    for (int a = 0; a < rank; a++) desc.promises[t].stride[a].multiple = 16;
  }
  if (c->maps) {
    desc.n_maps = 2;
    desc.maps[0] = (llrt_map){.kind = LLRT_MAP_XOR, .constant = 0x8888888888888888};
    desc.maps[1].kind = LLRT_MAP_WORD_BITS;
    for (int i = 0; i < 32; i++) desc.maps[1].perm[i] = (uint8_t)(i * 5 % 32);
    for (int a = 0; a < rank; a++) desc.promises[0].shape[a].multiple = 4;
  }
  cr_assert_eq(plan_target_find(target_name, &target), LLRT_OK);
  llrt_status status = plan_make(&desc, &target, &options, &made);
  if (status == LLRT_UNSUPPORTED && c->exchange >= PLAN_EXCHANGE_SHUFFLE) return false;
  cr_assert_eq(status, LLRT_OK, "%s", llrt_last_error());
  return true;
}

static void compile(const plan_kernel *kernel, llrt_emit emit, llrt_jit_result *result) {
  llrt_status status = llrt_jit_get_interface()->compile(kernel, emit, result);
  cr_assert_eq(status, LLRT_OK, "%s: %s", kernel->target.name, result->message);
  cr_assert_gt(result->size, 0);
}

typedef void check(const plan_kernel *kernel, const llrt_jit_result *result);

/* Compiles every variant of every conversion for the targets; how many kernels there were, by step.
 */
static void compile_all(const char *const *targets, int n_targets, check *check_code,
                        int seen[PLAN_STEP_KINDS]) {
  for (int t = 0; t < n_targets; t++) {
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
      for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++) {
        if (conversions[i].from && w > 0) continue; /* types of its own: once */
        if (is_too_long(&conversions[i], targets[t], widths[w])) continue;
        if (!make(&conversions[i], targets[t], widths[w])) continue;
        for (int v = 0; v < made.n_variants; v++) {
          const plan_kernel *kernel = &made.variant[v];
          llrt_jit_result result;
          compile(kernel, LLRT_EMIT_OBJECT, &result);
          check_code(kernel, &result);
          llrt_jit_get_interface()->release(&result);
          for (int s = 0; s < kernel->n_steps; s++) seen[kernel->step[s].kind]++;
        }
      }
    }
  }
}

/* Up to `last`. The steps of indices are compiled for every target by the conformance suite, and so
 * are loops for GPUs, whose masked accesses are few enough here to stand behind each other. */
static void expect_all_steps(const int seen[PLAN_STEP_KINDS], int last) {
  for (int kind = PLAN_LOAD; kind <= last; kind++)
    if (kind != PLAN_IF_PRESENT && kind != PLAN_REPORT)
      cr_assert_gt(seen[kind], 0, "no kernel has a step of kind %d", kind);
}

/* How many steps were seen to become ldmatrix and stmatrix, by plan_matrix_kind. */
static int matrix_steps[2][PLAN_MATRIX_TRANSPOSED + 1];

static void check_matrices(const plan_kernel *kernel, const char *ptx) {
  static const char *const text[2][2] = {{"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {",
                                          "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {"},
                                         {"stmatrix.sync.aligned.m8n8.x4.shared.b16 [",
                                          "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 ["}};
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    bool store = step->kind == PLAN_SHARED_STORE;
    const plan_value *value = &kernel->value[store ? step->in : step->out];
    if (!step->matrix) continue;
    matrix_steps[store][step->matrix]++;
    if (value->layout.in[0].bits < value->word + 2) continue; /* fewer than four matrices */
    const char *wanted = text[store][step->matrix == PLAN_MATRIX_TRANSPOSED];
    cr_assert_not_null(strstr(ptx, wanted), "%s: no %s", kernel->target.name, wanted);
  }
}

static void check_ptx(const plan_kernel *kernel, const llrt_jit_result *result) {
  char log[2048];
  int code = readback_ptxas(result->data, kernel->target.name, log, sizeof log);
  cr_assert(code == 0 || code == -1, "ptxas %s: %s", kernel->target.name, log);
  cr_assert_not_null(strstr(result->data, ".visible .entry llrt_kernel"));
  check_matrices(kernel, result->data);
}

Test(kernels, ptx_is_taken_by_the_assembler) {
  int seen[PLAN_STEP_KINDS] = {0};
  compile_all(nvptx, 3, check_ptx, seen);
  expect_all_steps(seen, PLAN_LOOP - 1);
  for (int store = 0; store < 2; store++)
    for (int kind = PLAN_MATRIX_ROWS; kind <= PLAN_MATRIX_TRANSPOSED; kind++)
      cr_assert_gt(matrix_steps[store][kind], 0, "%s of kind %d", store ? "stmatrix" : "ldmatrix",
                   kind);
}

static void check_hsaco(const plan_kernel *kernel, const llrt_jit_result *result) {
  readback_hsaco code;
  readback_barriers barriers;
  char message[256];
  const char *cpu = kernel->target.name;
  cr_assert(readback_open_hsaco(result->data, result->size, &code, message, sizeof message), "%s",
            message);
  cr_assert_not_null(strstr(code.target, cpu), "%s", code.target);
  cr_assert_eq(code.wavefront, 64);
  cr_assert_eq(code.group_bytes, kernel->launch.shared_bytes);
  cr_assert_geq(code.kernarg_bytes, 8 * kernel->launch.n_args);
  cr_assert_eq(code.private_bytes, 0, "registers spill");
  cr_assert(
      readback_check_barriers(code.code, code.code_bytes, cpu, &barriers, message, sizeof message),
      "%s", message);
  cr_assert_eq(barriers.lds_pending, 0, "%s", barriers.first_pending);
  int wanted = 0;
  for (int s = 0; s < kernel->n_steps; s++) wanted += kernel->step[s].kind == PLAN_BARRIER;
  /* A block of one wave needs no s_barrier, and LLVM leaves it out. */
  if (kernel->warp_bits > 0) cr_assert_eq(barriers.barriers, wanted);
}

Test(kernels, hsaco_reads_back) {
  int seen[PLAN_STEP_KINDS] = {0};
  compile_all(amdgpu, 2, check_hsaco, seen);
  expect_all_steps(seen, PLAN_LOOP - 1);
}

static void check_elf(const plan_kernel *kernel, const llrt_jit_result *result) {
  (void)kernel;
  cr_assert_eq(memcmp(result->data, "\177ELF", 4), 0);
}

Test(kernels, host_objects_for_every_level) {
  int seen[PLAN_STEP_KINDS] = {0};
  compile_all(host, sizeof host / sizeof *host, check_elf, seen);
  expect_all_steps(seen, PLAN_LOOP);
}

/* Whether a run's stores bypass the caches is known when it begins: code has both, of which LLVM
 * makes no one. */
Test(kernels, host_stores_go_either_way) {
  static const conversion both[] = {{"row_major", "col_major", {256, 256}, .lines = true},
                                    {"col_major", "row_major", {256, 256}, .lines = true}};
  for (size_t i = 0; i < sizeof both / sizeof *both; i++)
    for (int t = 0; t < 4; t++) {
      llrt_jit_result result;
      cr_assert(make(&both[i], host[t], LLRT_B64));
      cr_assert_gt(made.variant[0].streams_from, 0);
      compile(&made.variant[0], LLRT_EMIT_ASM, &result);
      cr_expect_not_null(strstr(result.data, "movnt"), "%s", host[t]);
      llrt_jit_get_interface()->release(&result);
    }
}

/* Dots of a tile are loops on the host: as much code whatever the extents. LLVM takes some 40 us
 * for a line. */
Test(kernels, host_dots_are_loops) {
  static const struct {
    llrt_dtype type, sum;
    int m, n, k;
  } rows[] = {
      {LLRT_F16, LLRT_F32, 7, 7, 7},  {LLRT_I8, LLRT_I32, 7, 7, 7}, {LLRT_F64, LLRT_F64, 7, 7, 7},
      {LLRT_E4M3, LLRT_F32, 7, 5, 7}, {LLRT_I8, LLRT_F32, 7, 0, 7}, {LLRT_BF16, LLRT_F32, 0, 7, 7},
  };
  for (size_t t = 0; t < sizeof host / sizeof *host; t++)
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
      plan_dot_tile tile = {.m = rows[i].m,
                            .n = rows[i].n,
                            .k = rows[i].k,
                            .a = rows[i].type,
                            .b = rows[i].type,
                            .d = rows[i].sum,
                            .product_a = rows[i].sum,
                            .product_b = rows[i].sum,
                            .sum = rows[i].sum};
      plan_target target;
      llrt_jit_result result;
      int lines = 0;
      cr_assert_eq(plan_target_find(host[t], &target), LLRT_OK);
      cr_assert_eq(plan_dot_tile_make(&tile, &target, NULL, &made.variant[0]), LLRT_OK, "%s",
                   llrt_last_error());
      compile(&made.variant[0], LLRT_EMIT_IR, &result);
      for (const char *at = result.data; *at; at++) lines += *at == '\n';
      cr_expect_leq(lines, 6000, "%s, row %zu: %d lines", host[t], i, lines);
      llrt_jit_get_interface()->release(&result);
    }
}

/* A plan that does not hold together is refused before LLVM sees it. */
Test(kernels, a_broken_plan_is_an_error) {
  llrt_jit_result result;
  cr_assert(make(&conversions[0], "sm_90a", LLRT_B16));
  plan_kernel *kernel = &made.variant[0];
  kernel->step[1].vector = 6;
  cr_assert_eq(llrt_jit_get_interface()->compile(kernel, LLRT_EMIT_ASM, &result), LLRT_INTERNAL);
  cr_assert_not_null(strstr(result.message, "vector"), "%s", result.message);
}
