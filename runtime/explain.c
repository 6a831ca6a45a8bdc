/* Planning and compiling without a device: what llrt explain and llrt compile show. */
#include "base/memory.h"
#include "base/status.h"
#include "jit/plan/check/plan_view.h"
#include "jit/plan/cost/trace.h"
#include "jit/plan/cost/predict.h"
#include "jit/plan/plan_make.h"
#include "runtime/context.h"
#include "runtime/key.h"
#include "runtime/kernel_bytes.h"
#include "runtime/op_text.h"
#include "runtime/policy.h"
#include "runtime/request.h"

#include <stdlib.h>
#include <string.h>

/* What begins a comment in the text that `emit` gives for a target. */
static const char *comment_mark(const plan_target *target, llrt_emit emit) {
  return emit == LLRT_EMIT_IR ? ";" : target->comment;
}

static llrt_status compile_kernel(llrt_context *context, const plan_kernel *kernel, llrt_emit emit,
                                  llrt_text *out) {
  if (llrt_policy_of(context) == LLRT_COMPILE_FORBIDDEN)
    return llrt_error(LLRT_UNAVAILABLE, "the context's policy forbids compiling");
  const llrt_jit_interface *jit;
  LLRT_TRY(llrt_jit_library_get(&context->jit, &jit));
  llrt_jit_result result = {0};
  llrt_status status = jit->compile(kernel, emit, &result);
  if (status != LLRT_OK) return llrt_error(status, "%s", result.message);
  llrt_text_add_bytes(out, result.data, result.size);
  jit->release(&result);
  return llrt_text_status(out);
}

/* "variant 1 of 2", with stages "variant 1 of 2, stage 1 of 2". */
static void add_heading(const plan *made, int kernel, llrt_text *out) {
  const plan_launch *launch = &made->variant[kernel].launch;
  int variant = 0, variants = 0, stages = launch->stage + launch->later + 1;
  for (int i = 0; i < made->n_variants; i++) {
    variants += made->variant[i].launch.stage == 0;
    if (i <= kernel) variant = variants;
  }
  llrt_text_add(out, " variant %d of %d", variant, variants);
  if (stages > 1) llrt_text_add(out, ", stage %d of %d", launch->stage + 1, stages);
  llrt_text_add(out, "\n");
}

/* All kernels' text, each under a heading where there are several. */
static llrt_status emit_texts(llrt_context *context, const plan *made, llrt_emit emit,
                              llrt_text *out) {
  for (int i = 0; i < made->n_variants; i++) {
    const plan_kernel *kernel = &made->variant[i];
    if (made->n_variants > 1) {
      llrt_text_add(out, "%s%s", i ? "\n" : "", comment_mark(&kernel->target, emit));
      add_heading(made, i, out);
    }
    LLRT_TRY(compile_kernel(context, kernel, emit, out));
  }
  return LLRT_OK;
}

static llrt_status compile_variant(llrt_context *context, const plan_kernel *kernel,
                                   kernel_variant *variant) {
  llrt_text code;
  llrt_text_init(&code);
  llrt_status status = compile_kernel(context, kernel, LLRT_EMIT_OBJECT, &code);
  if (status != LLRT_OK) {
    llrt_text_fini(&code);
    return status;
  }
  *variant = (kernel_variant){.launch = kernel->launch,
                              .clocks = plan_predict_clocks(kernel),
                              .code = code.data,
                              .size = code.length};
  return LLRT_OK;
}

/* One checked call of llrt_op_compile. */
typedef struct request {
  llrt_context *context;
  op_request of;
  llrt_emit emit;
} request;

static llrt_status emit_kernel_bytes(const request *asked, const plan *made, llrt_text *out) {
  kernel_variant variants[PLAN_MAX_VARIANTS] = {0};
  llrt_status status = LLRT_OK;
  for (int i = 0; i < made->n_variants && status == LLRT_OK; i++) {
    status = compile_variant(asked->context, &made->variant[i], &variants[i]);
  }
  if (status == LLRT_OK) {
    status = llrt_kernel_bytes_write(&asked->of.target, &asked->of.desc, &asked->of.set, variants,
                                     made->n_variants, out);
  }
  for (int i = 0; i < made->n_variants; i++) llrt_kernel_variant_fini(&variants[i]);
  return status;
}

static llrt_status emit_plan(const request *asked, const plan *made, llrt_text *out) {
  switch (asked->emit) {
  case LLRT_EMIT_PLAN: plan_print(made, out); return llrt_text_status(out);
  case LLRT_EMIT_IR:
  case LLRT_EMIT_ASM: return emit_texts(asked->context, made, asked->emit, out);
  case LLRT_EMIT_OBJECT: return compile_kernel(asked->context, &made->variant[0], asked->emit, out);
  case LLRT_EMIT_KERNEL: return emit_kernel_bytes(asked, made, out);
  case LLRT_EMIT_WHY: break; /* tell_why */
  }
  return llrt_error(LLRT_INVALID_ARGUMENT, "there is no output of kind %d", (int)asked->emit);
}

/* Target, facts and description that were planned for. */
static void add_question(const op_request *of, llrt_text *out) {
  const device_facts *facts = &of->target.facts;
  llrt_hash hash = llrt_op_target_key(&of->target, &of->desc, &of->set);
  llrt_op_describe(&of->desc, &of->set, out);
  llrt_text_add(out, "\nhash %016llx%016llx\ntarget %s", (unsigned long long)hash.high,
                (unsigned long long)hash.low, of->target.name);
  if (facts->capability > 0)
    llrt_text_add(out, ", compute capability %d.%d", facts->capability / 10,
                  facts->capability % 10);
  if (facts->units > 0) llrt_text_add(out, ", %d multiprocessors", facts->units);
  llrt_text_add(out, ", %d bytes of shared memory", facts->shared_bytes);
  if (facts->l2_bytes > 0) llrt_text_add(out, ", %lld bytes of L2", (long long)facts->l2_bytes);
  llrt_text_add(out, "%s\n", facts->early_launches ? ", early launches" : "");
}

/* Every variant that planning tried. That none is left is no error here. */
static llrt_status tell_why(const request *asked, plan *made, llrt_text *out) {
  plan_trace *trace = memory_zeroed(1, sizeof *trace);
  if (!trace) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a trace");
  const plan_options options = {.trace = trace};
  llrt_status status = plan_make(&asked->of.desc, &asked->of.target, &options, made);
  if (status == LLRT_OK || status == LLRT_UNSUPPORTED) {
    add_question(&asked->of, out);
    plan_trace_print(trace, out);
    if (status != LLRT_OK) llrt_text_add(out, "no variant is left: %s\n", plan_refusal());
    status = llrt_text_status(out);
  }
  free(trace);
  return status;
}

static llrt_status plan_and_emit(const request *asked, llrt_text *out) {
  plan *made = memory_new(sizeof *made);
  if (!made) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
  llrt_status status = LLRT_OK;
  if (asked->emit == LLRT_EMIT_WHY) {
    status = tell_why(asked, made, out);
  } else {
    status = plan_make(&asked->of.desc, &asked->of.target, NULL, made);
    if (status == LLRT_OK) status = emit_plan(asked, made, out);
  }
  free(made);
  return status;
}

llrt_status llrt_op_compile(llrt_context *context, const char *target, const llrt_op_desc *desc,
                            llrt_emit emit, char **bytes, size_t *size) {
  LLRT_ENTRY();
  LLRT_REQUIRE(bytes && size, "bytes or size is NULL");
  *bytes = NULL;
  *size = 0;
  request asked;
  asked.context = context;
  asked.emit = emit;
  LLRT_REQUIRE(context, "context is NULL");
  LLRT_TRY(llrt_request_take(target, desc, &asked.of));
  llrt_text out;
  llrt_text_init(&out);
  llrt_status status = plan_and_emit(&asked, &out);
  if (status != LLRT_OK) {
    llrt_text_fini(&out);
    return status;
  }
  *bytes = out.data;
  *size = out.length;
  return LLRT_OK;
}

void llrt_buffer_free(char **bytes) {
  if (!bytes) return;
  free(*bytes);
  *bytes = NULL;
}
