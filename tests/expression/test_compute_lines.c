/* How much code a ready expression is on sm_90a, and which: the driver's compiler takes 0.05 to
 * 0.1 ms of a first call for each line of PTX, some milliseconds for every kind of division or root
 * that is an instruction of PTX, and as much for a loop that it unrolls. */
#include "backends/backend.h"
#include "tests/expression/catalogue_call.h"
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Lines at most, moves between registers left out: a tenth more than there are. */
static const struct {
  const char *name;
  int lines;
} most[] = {
    {"softmax", 450},
    {"log_softmax", 580},
    {"layer_norm", 580},
    {"rms_norm", 400},
    {"residual_rms_norm", 630},
    {"rms_norm_fp8", 1010},
    {"fp8_row", 540},
    {"fp8_group", 380},
    {"fp8_block", 430},
    {"mxfp8", 260},
    {"mxfp4", 480},
    {"nvfp4", 500},
    {"int8_token", 540},
    {"cross_entropy", 710},
    {"qk_norm_rope", 540},
    {"kv_norm_rope_append", 640},
    {"qkv_norm_rope_append", 540},
    {"argmax_temperature", 1190},
    {"clamped_gate", 530},
    {"swiglu", 300},
    {"geglu", 390},
    {"rope_halves", 190},
    {"embedding_rms_norm", 460},
};

static void check_instructions(const char *name, const char *ptx) {
  static const char *const slow[] = {"div.rn.f32", "rcp.rn.f32", "sqrt.rn.f32"};
  for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
    cr_expect_null(strstr(ptx, slow[i]), "%s has %s", name, slow[i]);
  if (strstr(ptx, ".local"))
    cr_expect_not_null(strstr(ptx, ".pragma \"nounroll\""), "%s: its loop may be unrolled", name);
}

static char *compiled(const llrt_op_desc *desc, const char *name) {
  char *ptx;
  size_t size;
  llrt_status status =
      llrt_op_compile(trial_device("host")->context, "sm_90a", desc, LLRT_EMIT_OBJECT, &ptx, &size);
  cr_assert_eq(status, LLRT_OK, "%s: %s", name, llrt_last_error());
  return ptx;
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

/* What tensors' extents divide is promised, as one-line calls do; ptx: llrt_buffer_free. */
static char *compiled_with(const char *text, const llrt_arg *args, int n) {
  llrt_expr *expr;
  llrt_op_desc *desc;
  cr_assert_eq(llrt_expr_parse(text, &expr), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_compute_describe(expr, args, n, NULL, &desc), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_promise_coarse(desc), LLRT_OK, "%s", llrt_last_error());
  char *ptx = compiled(desc, text);
  llrt_op_desc_destroy(&desc);
  llrt_expr_destroy(&expr);
  return ptx;
}

/* Residual and norm of two rows of so many bf16. */
static char *compiled_norm(int length) {
  llrt_tensor row = {.dtype = LLRT_BF16, .rank = 2, .shape = {2, length}},
              weight = {.dtype = LLRT_BF16, .rank = 1, .shape = {length}};
  llrt_arg args[] = {{.name = "x", .tensor = &row},    {.name = "r", .tensor = &row},
                     {.name = "w", .tensor = &weight}, {.name = "h", .tensor = &row},
                     {.name = "y", .tensor = &row},    {.name = "eps", .number = 1e-6}};
  char text[4000];
  trial_read_text("residual_rms_norm", text, sizeof text);
  return compiled_with(text, args, 6);
}

/* Rows that are not aligned take about three registers for each element: in clusters a thread has
 * as many of them where it holds few elements as where it holds 32, and ptxas spills little. */
Test(compute_lines, cluster_registers) {
  enum { UNIT_REGISTERS = 1 << 16, LEAST_REGISTERS = 64 };
  static const int length[] = {34111, 50257, 65535};
  for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
    char *ptx = compiled_norm(length[i]);
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
