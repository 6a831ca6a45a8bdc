/* How much code a ready expression is on sm_90a, and which: the driver's compiler takes 0.05 to
 * 0.1 ms of a first call for each line of PTX, some milliseconds for every kind of division or root
 * that is an instruction of PTX, and as much for a loop that it unrolls. */
#include "backends/backend.h"
#include "tests/expression/catalogue_call.h"
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 256 /* bytes that divide addresses */

/* Lines at most, moves between registers left out: a tenth more than there are. */
static const struct {
  const char *name;
  int lines;
} most[] = {
    {"softmax", 255},
    {"log_softmax", 280},
    {"layer_norm", 430},
    {"rms_norm", 350},
    {"residual_rms_norm", 250},
    {"rms_norm_fp8", 405},
    {"fp8_row", 215},
    {"fp8_group", 230},
    {"fp8_block", 315},
    {"mxfp8", 165},
    {"mxfp4", 245},
    {"mxfp4_weights", 350},
    {"nvfp4", 435},
    {"int8_token", 200},
    {"cross_entropy", 400},
    {"qk_norm_rope", 390},
    {"kv_norm_rope_append", 370},
    {"qkv_norm_rope_append", 390},
    {"argmax_temperature", 370},
    {"clamped_gate", 260},
    {"swiglu", 170},
    {"geglu", 250},
    {"rope_halves", 160},
    {"embedding_rms_norm", 225},
};

static void check_instructions(const char *name, const char *ptx) {
  cr_expect_null(strstr(ptx, ".reg .f32"), "%s: LLVM's code generator made it", name);
  static const char *const slow[] = {"div.rn.f32", "rcp.rn.f32", "sqrt.rn.f32"};
  cr_expect_null(strstr(ptx, "shfl.sync.idx"), "%s computes the lanes of a butterfly", name);
  for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
    cr_expect_null(strstr(ptx, slow[i]), "%s has %s", name, slow[i]);
  if (strstr(ptx, ".local"))
    cr_expect_not_null(strstr(ptx, ".pragma \"nounroll\""), "%s: its loop may be unrolled", name);
}

static char *compiled_as(const llrt_op_desc *desc, const char *name, llrt_emit form) {
  char *ptx;
  size_t size;
  llrt_status status =
      llrt_op_compile(trial_device("host")->context, "sm_90a", desc, form, &ptx, &size);
  cr_assert_eq(status, LLRT_OK, "%s: %s", name, llrt_last_error());
  return ptx;
}

/* What loops carry is defined from the first turn on: of other registers ptxas 13.0 takes one
 * turn's value for another's, which no emulator shows. */
static void check_loops(const llrt_op_desc *desc, const char *name) {
  char *ir = compiled_as(desc, name, LLRT_EMIT_IR);
  for (const char *phi = ir; (phi = strstr(phi, " = phi ")); phi++) {
    size_t line = strcspn(phi, "\n");
    const char *undefined = strstr(phi, " undef");
    cr_expect(!undefined || undefined > phi + line, "%s: %.*s", name, (int)line, phi);
  }
  llrt_buffer_free(&ir);
}

static char *compiled(const llrt_op_desc *desc, const char *name) {
  return compiled_as(desc, name, LLRT_EMIT_OBJECT);
}

static int lines_of(const char *name) {
  char text[4000], *ptx;
  int lines = 0;
  llrt_op_desc *desc;
  trial_read_text(name, text, sizeof text);
  cr_assert_eq(catalogue_describe(text, trial_device("cuda-emu:sm_90a"), &desc), LLRT_OK, "%s: %s",
               name, llrt_last_error());
  ptx = compiled(desc, name);
  for (const char *line = ptx; (line = strchr(line, '\n')); line++)
    lines += strncmp(line, "\n\tmov.", 6) != 0;
  check_instructions(name, ptx);
  check_loops(desc, name);
  llrt_buffer_free(&ptx);
  llrt_op_desc_destroy(&desc);
  return lines;
}

Test(compute_lines, catalogue) {
  for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
    int lines = lines_of(most[i].name);
    cr_expect_leq(lines, most[i].lines, "%s has %d lines of PTX, %d at most", most[i].name, lines,
                  most[i].lines);
  }
}

/* ---- registers ---- */

static int directive(const char *ptx, const char *name) {
  const char *at = strstr(ptx, name);
  return at ? atoi(at + strlen(name)) : 0;
}

/* What tensors' extents divide is promised, and rows' lengths, as one-line calls do; the result:
 * llrt_buffer_free. */
static char *compiled_with(const char *text, const llrt_arg *args, int n, llrt_emit form) {
  llrt_expr *expr;
  llrt_op_desc *desc;
  cr_assert_eq(llrt_expr_parse(text, &expr), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_compute_describe(expr, args, n, NULL, &desc), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_promise_coarse(desc), LLRT_OK, "%s", llrt_last_error());
  for (int t = 0; t < desc->n_tensors; t++) {
    llrt_promise *length = &desc->promises[t].shape[1];
    desc->promises[t].address.multiple = ALIGNMENT;
    length->min = length->max = desc->tensors[t].shape[1];
  }
  char *made = compiled_as(desc, text, form);
  llrt_op_desc_destroy(&desc);
  llrt_expr_destroy(&expr);
  return made;
}

/* An expression of two tensors and a weight, and two outputs, of two rows of so many bf16. */
static char *compiled_pair(const char *text, int length, llrt_emit form) {
  llrt_tensor row = {.dtype = LLRT_BF16, .rank = 2, .shape = {2, length}},
              weight = {.dtype = LLRT_BF16, .rank = 1, .shape = {length}};
  llrt_arg args[] = {{.name = "x", .tensor = &row},
                     {.name = "r", .tensor = &row},
                     {.name = "w", .tensor = &weight},
                     {.name = "h", .tensor = &row},
                     {.name = "y", .tensor = &row}};
  return compiled_with(text, args, 5, form);
}

/* Rows that are not aligned take about three registers for each element: in clusters a thread has
 * as many of them where it holds few elements as where it holds 32, and ptxas spills little. */
Test(compute_lines, cluster_registers) {
  enum { UNIT_REGISTERS = 1 << 16, LEAST_REGISTERS = 64 };
  static const char text[] = "(x[t n], r[t n], w[n]) -> (h[t n], y[t n]) "
                             "{ h = x * rsqrt(mean(x * r, n)) * w; y = r }";
  static const int length[] = {34111, 50257, 65535};
  for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
    char *ptx = compiled_pair(text, length[i], LLRT_EMIT_OBJECT);
    int threads = directive(ptx, ".maxntid "), blocks = directive(ptx, ".minnctapersm ");
    cr_expect_not_null(strstr(ptx, "barrier.cluster"), "%d: no clusters", length[i]);
    cr_expect(threads > 0 && blocks > 0 && UNIT_REGISTERS / (threads * blocks) >= LEAST_REGISTERS,
              "%d: %d threads, %d blocks of a multiprocessor", length[i], threads, blocks);
    llrt_buffer_free(&ptx);
  }
}

/* Of weights a thread has fewer elements than of rows that share them, and values are stored before
 * keys are worked on: a multiprocessor has registers for so many threads. */
Test(compute_lines, append_registers) {
  enum { LEAST_THREADS = 768 };
  char text[4000], *ptx;
  llrt_op_desc *desc;
  trial_read_text("qkv_norm_rope_append", text, sizeof text);
  cr_assert_eq(catalogue_describe(text, trial_device("cuda-emu:sm_90a"), &desc), LLRT_OK, "%s",
               llrt_last_error());
  ptx = compiled(desc, "qkv_norm_rope_append");
  int threads = directive(ptx, ".maxntid ") * directive(ptx, ".minnctapersm ");
  cr_expect_geq(threads, LEAST_THREADS, "registers for %d threads", threads);
  llrt_buffer_free(&ptx);
  llrt_op_desc_destroy(&desc);
}

/* Two tensors of so many bf16 in each of 512 rows, or y of one for each, and `weights` that all
 * rows share. */
static char *compiled_rows(const char *text, int length, int weights, llrt_emit form) {
  llrt_tensor row = {.dtype = LLRT_BF16, .rank = 2, .shape = {512, length}},
              weight = {.dtype = LLRT_BF16, .rank = 1, .shape = {length}};
  llrt_tensor joined = {.dtype = LLRT_BF16, .rank = 1, .shape = {512}};
  llrt_arg args[] = {{.name = "x", .tensor = &row},
                     {.name = "y", .tensor = strstr(text, "(y[t])") ? &joined : &row},
                     {.name = "w", .tensor = &weight},
                     {.name = "b", .tensor = &weight}};
  return compiled_with(text, args, 2 + weights, form);
}

/* A row that is walked by a block alone has as many threads as there may be, where their registers
 * hold what they load. */
Test(compute_lines, threads_of_walks) {
  static const struct {
    const char *text;
    int weights, threads;
  } cases[] = {{"(x[t n]) -> (y[t n]) { e = exp(x - max(x, n)); y = e / sum(e, n) }", 0, 1024},
               {"(x[t n], w[n]) -> (y[t n]) { y = x * rsqrt(mean(x * x, n) + 1e-6) * w }", 1, 1024},
               {"(x[t n], w[n], b[n]) -> (y[t n]) { y = (x - mean(x, n)) * w + b }", 2, 1024}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *ptx = compiled_rows(cases[i].text, 151936, cases[i].weights, LLRT_EMIT_OBJECT);
    cr_expect_eq(directive(ptx, ".maxntid "), cases[i].threads, "%s", cases[i].text);
    llrt_buffer_free(&ptx);
  }
}

/* A row that one walk reads is copied to shared memory ahead of it, and what one position counts in
 * is the work of the warps that have it; a row that another walk reads, too, is not. */
Test(compute_lines, copies_ahead_of_one_walk) {
  static const struct {
    const char *text;
    bool copies, holds;
  } cases[] = {{"(x[t n]) -> (y[t]) { y = log(sum(exp(x - max(x, n)), n)) }", true, false},
               {"(x[t n]) -> (y[t]) { y = max(x, n) - sum(where(n == t, x, 0), n) }", true, true},
               {"(x[t n]) -> (y[t]) { y = sum(where(n < t, x, 0), n) }", true, false},
               {"(x[t n]) -> (y[t n]) { y = x / sum(where(t == n, x, 0), n) }", false, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *plan = compiled_rows(cases[i].text, 151936, 0, LLRT_EMIT_PLAN);
    cr_expect_eq(strstr(plan, "copy tensor 0 to shared buffer") != NULL, cases[i].copies, "%s",
                 cases[i].text);
    cr_expect_eq(strstr(plan, "if position v") != NULL, cases[i].holds, "%s", cases[i].text);
    llrt_buffer_free(&plan);
  }
}

/* A multiprocessor has registers for 1024 threads of a norm with a weight. */
Test(compute_lines, threads_of_norms) {
  char *ptx = compiled_rows("(x[t n], w[n]) -> (y[t n]) { y = x * rsqrt(mean(x * x, n)) * w }",
                            4096, 1, LLRT_EMIT_OBJECT);
  cr_expect_geq(directive(ptx, ".maxntid ") * directive(ptx, ".minnctapersm "), 1024);
  llrt_buffer_free(&ptx);
}

/* Norms of rows of 16384 wait in the words that they were loaded in, and load a weight where a turn
 * wants it: a multiprocessor has three rows instead of two. */
Test(compute_lines, rows_of_norms) {
  enum { LENGTH = 16384, THREADS = 1536 };
  llrt_tensor row = {.dtype = LLRT_BF16, .rank = 2, .shape = {512, LENGTH}},
              weight = {.dtype = LLRT_BF16, .rank = 1, .shape = {LENGTH}},
              codes = {.dtype = LLRT_E4M3, .rank = 2, .shape = {512, LENGTH}},
              scale = {.dtype = LLRT_F32, .rank = 1, .shape = {512}};
  llrt_arg args[] = {{.name = "x", .tensor = &row},
                     {.name = "w", .tensor = &weight},
                     {.name = "q", .tensor = &codes},
                     {.name = "s", .tensor = &scale}};
  char *ptx[] = {
      compiled_rows("(x[t n], w[n], b[n]) -> (y[t n]) "
                    "{ c = x - mean(x, n); y = c * rsqrt(mean(c * c, n) + 1e-5) * w + b }",
                    LENGTH, 2, LLRT_EMIT_OBJECT),
      compiled_with("(x[t n], w[n]) -> (q[t n]: e4m3, s[t]: f32) "
                    "{ y = x * rsqrt(mean(x * x, n) + 1e-6) * w; "
                    "s = maximum(max(abs(y), n), 1e-10) / 448; q = y / s }",
                    args, 4, LLRT_EMIT_OBJECT)};
  for (size_t i = 0; i < sizeof ptx / sizeof *ptx; i++) {
    cr_expect_eq(directive(ptx[i], ".maxntid ") * directive(ptx[i], ".minnctapersm "), THREADS);
    cr_expect_null(strstr(ptx[i], "nounroll"), "%zu: a loop stands for its turns", i);
    llrt_buffer_free(&ptx[i]);
  }
}

static int count(const char *text, const char *what) {
  int n = 0;
  for (const char *at = strstr(text, what); at; at = strstr(at + 1, what)) n++;
  return n;
}

/* Weights of a row that stay in the first-level cache are loaded by turns, those of the first one
 * beside the row; more of them in straight code. */
Test(compute_lines, weights_by_turns) {
  static const char text[] = "(x[t n], w[n], b[n]) -> (y[t n]) { c = x - mean(x, n); "
                             "y = c * rsqrt(mean(c * c, n) + 1e-5) * w + b }";
  static const struct {
    int length, loads;
  } cases[] = {{4096, 4 + 2 * (2 + 2)}, {8192, 4 + 2 * 4}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *ptx = compiled_rows(text, cases[i].length, 2, LLRT_EMIT_OBJECT);
    cr_expect_eq(count(ptx, "ld.global.v4"), cases[i].loads, "%d", cases[i].length);
    llrt_buffer_free(&ptx);
  }
}

/* Wide accesses of all the threads that a row of 5000 could have would overhang it far: it has half
 * of them, and no narrower accesses. */
Test(compute_lines, wide_accesses) {
  char *ptx =
      compiled_rows("(x[t n]) -> (y[t n]) { y = x / sum(x, n) }", 5000, 0, LLRT_EMIT_OBJECT);
  cr_expect_eq(directive(ptx, ".maxntid "), 128);
  cr_expect_not_null(strstr(ptx, "ld.global.v4"), "narrow accesses");
  llrt_buffer_free(&ptx);
}

/* What is written begins with the row's end, unless shared memory has all of the row. */
Test(compute_lines, walks_back) {
  static const int length[] = {151936, 40000};
  for (int i = 0; i < 2; i++) {
    char *plan =
        compiled_rows("(x[t n]) -> (y[t n]) { y = x / sum(x, n) }", length[i], 0, LLRT_EMIT_PLAN);
    cr_expect_eq(strstr(plan, "backwards") != NULL, i == 0, "%d", length[i]);
    llrt_buffer_free(&plan);
  }
}

/* Steps that the plan's last walk carries out a turn early. */
static int steps_ahead(const char *plan) {
  static const char says[] = " steps a turn ahead";
  const char *last = NULL;
  for (const char *at = strstr(plan, says); at; at = strstr(at + 1, says)) last = at;
  if (!last) return 0;
  while (last > plan && last[-1] >= '0' && last[-1] <= '9') last--;
  return atoi(last);
}

/* What rows share is likely near: it takes no registers of turns that are under way. */
Test(compute_lines, weights_are_not_ahead) {
  char *bare =
           compiled_rows("(x[t n]) -> (y[t n]) { y = x - mean(x, n) }", 50257, 0, LLRT_EMIT_PLAN),
       *with = compiled_rows("(x[t n], w[n], b[n]) -> (y[t n]) { y = (x - mean(x, n)) * w + b }",
                             50257, 2, LLRT_EMIT_PLAN);
  cr_expect_gt(steps_ahead(bare), 0);
  cr_expect_eq(steps_ahead(with), steps_ahead(bare), "%d steps, without weights %d",
               steps_ahead(with), steps_ahead(bare));
  llrt_buffer_free(&bare);
  llrt_buffer_free(&with);
}

/* What lies beyond a row's end was loaded as 0, which is no larger size than any: sizes of 16 bits
 * are joined two at a time there, too, and as integers across lanes. Other numbers are not. */
Test(compute_lines, sizes_with_ends) {
  char *sizes = compiled_rows("(x[t n]) -> (y[t n]) { y = x / max(abs(x), n) }", 2880, 0,
                              LLRT_EMIT_OBJECT),
       *numbers =
           compiled_rows("(x[t n]) -> (y[t n]) { y = x - max(x, n) }", 2880, 0, LLRT_EMIT_OBJECT);
  cr_expect_not_null(strstr(sizes, "max.NaN.bf16x2"), "sizes are joined one by one");
  cr_expect_not_null(strstr(sizes, "redux.sync.max.u32"), "sizes go by shuffles");
  cr_expect_null(strstr(numbers, "max.NaN.bf16x2"), "zeros beyond the end are joined");
  cr_expect_null(strstr(numbers, "redux.sync"), "floats are joined as integers");
  llrt_buffer_free(&sizes);
  llrt_buffer_free(&numbers);
}

/* Two numbers at a time become bytes. */
Test(compute_lines, bytes) {
  char *ptx = compiled_rows("(x[t n]) -> (y[t n]) { y = bf16(i8(x * 3)) * max(x, n) }", 4096, 0,
                            LLRT_EMIT_OBJECT);
  cr_expect_not_null(strstr(ptx, "cvt.pack.sat.s8.s32.b32"), "%s", ptx);
  llrt_buffer_free(&ptx);
}

/* Words that several loops take wait in shared memory, unless there would be so many of them that
 * it takes longer than the row's own memory: of a norm with weight and bias the row alone. */
Test(compute_lines, turns_wait) {
  static const struct {
    const char *name;
    int least, most; /* accesses that store them */
  } cases[] = {{"rms_norm_fp8", 4, 100}, {"cross_entropy", 4, 100}, {"layer_norm", 4, 4}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[4000];
    llrt_op_desc *desc;
    trial_read_text(cases[i].name, text, sizeof text);
    cr_assert_eq(catalogue_describe(text, trial_device("cuda-emu:sm_90a"), &desc), LLRT_OK,
                 "%s: %s", cases[i].name, llrt_last_error());
    char *ptx = compiled(desc, cases[i].name);
    int stores = count(ptx, "st.shared.v4");
    cr_expect(cases[i].least <= stores && stores <= cases[i].most, "%s: %d", cases[i].name, stores);
    llrt_buffer_free(&ptx);
    llrt_op_desc_destroy(&desc);
  }
}

/* ---- walked rows ---- */

/* What waits for as many joins is made in one walk, and handed on behind one barrier. */
Test(compute_lines, joins_share_walks) {
  static const struct {
    const char *text;
    int walks, barriers;
  } cases[] = {
      {"(x[t n]) -> (y[t n]) { y = x * sum(x, n) + max(x, n) }", 2, 1},
      {"(x[t n]) -> (y[t n]) { y = x * sum(x * x, n) + max(x, n) + min(x, n) }", 2, 1},
      {"(x[t n]) -> (y[t n]) { c = x - mean(x, n); y = c * sum(c * c, n) + max(x, n) }", 3, 2},
      {"(x[t n]) -> (y[t n]) { m = max(x, n); y = x * sum(exp(x - m), n) + sum(x, n) }", 2, 2},
      {"(x[t n], w[n]) -> (y[t n]) { y = x * sum(w, n) + max(x * w, n) }", 2, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int weights = strstr(cases[i].text, "w[n]") != NULL;
    char *plan = compiled_rows(cases[i].text, 40000, weights, LLRT_EMIT_PLAN);
    cr_expect_eq(count(plan, "\n  walk "), cases[i].walks, "%s: %s", cases[i].text, plan);
    cr_expect_eq(count(plan, "\n  barrier"), cases[i].barriers, "%s: %s", cases[i].text, plan);
    llrt_buffer_free(&plan);
  }
}

/* A rounded sum stays in place of its two tensors, in as many blocks' memory as it takes: they are
 * loaded in the first walk alone, inside of bounds and at their edge. */
Test(compute_lines, sums_stay) {
  static const char text[] = "(x[t n], r[t n], w[n]) -> (h[t n], y[t n]) "
                             "{ h = bf16(x + r); y = h * rsqrt(mean(h * h, n) + 1e-6) * w }";
  static const struct {
    int length, blocks, loads;
  } cases[] = {{39999, 1, 2}, {65536, 2, 1}, {151936, 4, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *plan = compiled_pair(text, cases[i].length, LLRT_EMIT_PLAN), cluster[20];
    snprintf(cluster, sizeof cluster, "cluster: %d blocks", cases[i].blocks);
    cr_expect_eq(strstr(plan, cluster) != NULL, cases[i].blocks > 1, "%d", cases[i].length);
    cr_expect_eq(count(plan, "load tensor 2,"), cases[i].loads, "%d: %s", cases[i].length, plan);
    cr_expect_not_null(strstr(plan, "to shared buffer 0 (16384 bytes)"), "%d", cases[i].length);
    llrt_buffer_free(&plan);
  }
}

/* Of a row's last turn a warp asks by itself whether it has elements, and whether all of them. */
Test(compute_lines, whole_warps) {
  char *ptx =
      compiled_rows("(x[t n]) -> (y[t n]) { y = x - sum(x, n) }", 40000, 0, LLRT_EMIT_OBJECT);
  int votes = count(ptx, "vote.sync.all");
  cr_expect_eq(votes, 4, "%d votes", votes);
  llrt_buffer_free(&ptx);
}

/* Of a tile's loads that may not happen on the host few are branches: of 2048 in a block, of tiles
 * of 16 rows of which one is there, LLVM makes code in seconds. Without any it does not. */
Test(compute_lines, host_loads) {
  char *ir;
  size_t size;
  llrt_expr *expr;
  llrt_op_desc *desc;
  llrt_storage tiles;
  llrt_tensor in = {.dtype = LLRT_U8, .rank = 2, .shape = {1, 224}, .device = trial_device("host")};
  llrt_tensor out = in;
  const llrt_arg args[] = {{.name = "z", .tensor = &in}, {.name = "y", .tensor = &out}};
  out.dtype = LLRT_F32;
  out.storage = &tiles;
  cr_assert_eq(llrt_storage_parse("storage(rank=2, digits=[dim0:rest, dim1:rest], tile={offset: "
                                  "[[1,0],[0,8],[8,0],[0,1],[2,0],[4,0],[0,2],[0,4]]} -> "
                                  "[dim0:16, dim1:16], pad=0)",
                                  2, out.shape, &tiles),
               LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_expr_parse("(z[t (g j:16)]) -> (y[t (g j)]: f32) { a = cummin(z + t, j); y = "
                               "max(z + a, (g, j)) }",
                               &expr),
               LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_compute_describe(expr, args, 2, NULL, &desc), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_promise_coarse(desc), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_compile(in.device->context, "x86-64-v3", desc, LLRT_EMIT_IR, &ir, &size),
               LLRT_OK, "%s", llrt_last_error());
  cr_expect_lt(count(ir, "br i1"), 300, "%d branches", count(ir, "br i1"));
  cr_expect_geq(count(ir, " phi "), 8, "%d loads with a branch", count(ir, " phi "));
  llrt_buffer_free(&ir);
  llrt_op_desc_destroy(&desc);
  llrt_expr_destroy(&expr);
}

/* A norm of one tensor of rows asks for the row of a later block, if it is one run of memory and a
 * block has one row; of two tensors, or where rows share a block, or end in a tile, it does not. */
Test(compute_lines, asks_for_later_rows) {
  static const char norm[] = "(x[t n], w[n]) -> (y[t n]) { y = x * rsqrt(mean(x * x, n)) * w }",
                    pair[] = "(x[t n], r[t n], w[n]) -> (h[t n], y[t n]) "
                             "{ h = bf16(x + r); y = h * rsqrt(mean(h * h, n)) * w }",
                    asks[] = "cp.async.bulk.prefetch.L2";
  static const struct {
    int length, asks;
  } cases[] = {{512, 0}, {4096, 1}, {5000, 0}, {16384, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *ptx = compiled_rows(norm, cases[i].length, 1, LLRT_EMIT_OBJECT);
    cr_expect_eq(count(ptx, asks), cases[i].asks, "%d", cases[i].length);
    llrt_buffer_free(&ptx);
  }
  char *ptx = compiled_pair(pair, 4096, LLRT_EMIT_OBJECT);
  cr_expect_eq(count(ptx, asks), 0);
  llrt_buffer_free(&ptx);
}
