/* Cold prepares: described, promised as a one-line call would, planned, compiled, loaded; and what
 * of it which part takes. */
#include "tests/expression/proofs/proofs.h"

#include "jit/plan/plan_make.h"
#include "runtime/context.h"
#include "runtime/prepared.h"
#include "tests/expression/catalogue_call.h"
#include "tests/expression/compute_trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REPEAT 5

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Milliseconds: of a prepare, the process's first of that operation; and of its parts by
 * themselves, the least of REPEAT. */
typedef struct times {
  double prepare, plan, llvm, link, load;
  int kernels, lines;
} times;

static void keep_least(double *least, double ms) {
  if (*least == 0 || ms < *least) *least = ms;
}

static int lines_of(const kernel_variant *variant) {
  int lines = 0;
  for (size_t i = 0; i < variant->size; i++) lines += ((const char *)variant->code)[i] == '\n';
  return lines;
}

static llrt_status time_kernel(const llrt_op *op, int number, const plan_kernel *kernel,
                               times *sum) {
  llrt_device *device = op->device;
  const kernel_variant *variant = &op->variant[number];
  const llrt_jit_interface *jit;
  llrt_jit_result made;
  backend_module *module;
  void *linked = NULL;
  size_t size = 0;
  llrt_status status = llrt_jit_library_get(&device->context->jit, &jit);
  if (status != LLRT_OK) return status;
  double start = now_ms();
  status = jit->compile(kernel, LLRT_EMIT_OBJECT, &made);
  sum->llvm += now_ms() - start;
  jit->release(&made);
  start = now_ms();
  if (status == LLRT_OK && device->backend->link)
    status = device->backend->link(device, variant->code, variant->size, &linked, &size);
  sum->link += now_ms() - start;
  if (status != LLRT_OK) return status;
  const backend_code code = {.data = linked ? linked : variant->code,
                             .size = linked ? size : variant->size,
                             .entry = PLAN_ENTRY_NAME,
                             .shared_bytes = variant->launch.shared_bytes,
                             .cluster = variant->launch.cluster};
  start = now_ms();
  status = device->backend->load(device, &code, &module);
  sum->load += now_ms() - start;
  if (status == LLRT_OK) device->backend->unload(device, module);
  free(linked);
  return status;
}

/* All of the operation's kernels that a prepare compiles, one after the other. */
static llrt_status time_parts(const llrt_op *op, plan *made, times *t) {
  times sum = {0};
  double start = now_ms();
  llrt_status status = plan_make(&op->desc, &op->device->target, NULL, made);
  sum.plan = now_ms() - start;
  for (int i = 0; i < made->n_variants && status == LLRT_OK; i++) {
    if (!(llrt_op_loaded(op) >> i & 1)) continue;
    status = time_kernel(op, i, &made->variant[i], &sum);
    sum.kernels++;
    sum.lines += lines_of(&op->variant[i]);
  }
  keep_least(&t->plan, sum.plan);
  keep_least(&t->llvm, sum.llvm);
  keep_least(&t->link, sum.link);
  keep_least(&t->load, sum.load);
  t->kernels = sum.kernels;
  t->lines = sum.lines;
  return status;
}

static llrt_status time_all(llrt_device *device, const llrt_op_desc *desc, plan *made, times *t) {
  llrt_op *op = NULL;
  double start = now_ms();
  llrt_status status = llrt_op_prepare(device, desc, &op);
  t->prepare = now_ms() - start;
  for (int i = 0; i < REPEAT && status == LLRT_OK; i++) status = time_parts(op, made, t);
  llrt_op_destroy(&op);
  return status;
}

static llrt_status time_text(llrt_device *device, const char *text, plan *made, times *t) {
  llrt_op_desc *desc = NULL;
  *t = (times){0};
  llrt_status status = catalogue_describe(text, device, &desc);
  if (status == LLRT_OK) status = time_all(device, desc, made, t);
  llrt_op_desc_destroy(&desc);
  return status;
}

/* name: NULL: what a process does only once. */
static bool prepare_one(const proof_options *options, const char *name, plan *made) {
  char text[4000] = "(x[n]) -> (y[n]) { y = -x }";
  times t;
  if (name) trial_read_text(name, text, sizeof text);
  llrt_status status = time_text(options->device, text, made, &t);
  if (status == LLRT_OK)
    printf("| %s | %.1f | %d | %d | %.1f | %.1f | %.1f | %.1f |\n",
           name ? name : "(the first of a process)", t.prepare, t.kernels, t.lines, t.plan, t.llvm,
           t.link, t.load);
  else printf("%s: %s\n", name ? name : "-x", llrt_last_error());
  fflush(stdout);
  return status == LLRT_OK;
}

int proof_prepare(const proof_options *options) {
  int wrong = 0;
  plan *made = malloc(sizeof *made);
  if (!made) return 1;
  printf("%s, ms, the least of %d\n| expression | prepare | kernels | lines | plan | LLVM | "
         "link | load |\n|---|---|---|---|---|---|---|---|\n",
         options->name, REPEAT);
  const char *name;
  wrong += !prepare_one(options, NULL, made);
  for (int i = 0; (name = catalogue_name(i, false)); i++)
    if (!options->only || strcmp(options->only, name) == 0)
      wrong += !prepare_one(options, name, made);
  free(made);
  return wrong > 0;
}
