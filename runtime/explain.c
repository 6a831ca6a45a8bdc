/* Planning and compiling without a device: what llrt explain and llrt compile show. */
#include "base/status.h"
#include "runtime/context.h"
#include "runtime/kernel_bytes.h"
#include "runtime/validate.h"

#include <stdlib.h>
#include <string.h>

static llrt_status find_target(const char *name, plan_target *target) {
  return strcmp(name, "host") == 0 ? llrt_host_target(target) : plan_target_find(name, target);
}

/* What begins a comment in the text that `emit` gives for a target. */
static const char *comment_mark(const plan_target *target, llrt_emit emit) {
  if (emit == LLRT_EMIT_IR || target->isa == PLAN_ISA_AMDGPU) return ";";
  if (target->isa == PLAN_ISA_NVPTX || strcmp(target->name, "aarch64") == 0) return "//";
  return "#";
}

static llrt_status compile_kernel(llrt_context *context, const plan_kernel *kernel, llrt_emit emit,
                                  llrt_text *out) {
  if (context->no_compile) {
    return llrt_error(LLRT_UNAVAILABLE, "the context's no_compile forbids compiling");
  }
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
  *variant = (kernel_variant){.launch = kernel->launch, .code = code.data, .size = code.length};
  return LLRT_OK;
}

/* One checked call of llrt_op_compile. */
typedef struct request {
  llrt_context *context;
  plan_target target;
  storage_set set;
  llrt_op_desc desc; /* its storages are the set's */
  llrt_emit emit;
} request;

static llrt_status emit_kernel_bytes(const request *asked, const plan *made, llrt_text *out) {
  kernel_variant variants[PLAN_MAX_VARIANTS] = {0};
  llrt_status status = LLRT_OK;
  for (int i = 0; i < made->n_variants && status == LLRT_OK; i++) {
    status = compile_variant(asked->context, &made->variant[i], &variants[i]);
  }
  if (status == LLRT_OK) {
    status = llrt_kernel_bytes_write(asked->target.name, &asked->desc, &asked->set, variants,
                                     made->n_variants, out);
  }
  for (int i = 0; i < made->n_variants; i++) free(variants[i].code);
  return status;
}

static llrt_status emit_plan(const request *asked, const plan *made, llrt_text *out) {
  switch (asked->emit) {
    case LLRT_EMIT_PLAN:
      plan_print(made, out);
      return llrt_text_status(out);
    case LLRT_EMIT_IR:
    case LLRT_EMIT_ASM: return emit_texts(asked->context, made, asked->emit, out);
    case LLRT_EMIT_OBJECT:
      return compile_kernel(asked->context, &made->variant[0], asked->emit, out);
    case LLRT_EMIT_KERNEL: return emit_kernel_bytes(asked, made, out);
  }
  return llrt_error(LLRT_INVALID_ARGUMENT, "there is no output of kind %d", (int)asked->emit);
}

static llrt_status plan_and_emit(const request *asked, llrt_text *out) {
  plan *made = malloc(sizeof *made);
  if (!made) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
  llrt_status status = plan_make(&asked->desc, &asked->target, NULL, made);
  if (status == LLRT_OK) status = emit_plan(asked, made, out);
  free(made);
  return status;
}

/* Where all extents are known: that they fit. */
static llrt_status check_known_shape(const llrt_op_desc *desc, const storage_set *set, int index) {
  const llrt_storage *storage = &set->storage[index];
  llrt_tensor tensor = desc->tensors[index];
  llrt_storage_binding binding;
  if (storage->pad == LLRT_PAD_NONE) return LLRT_OK; /* the planner checks what fits */
  if (tensor.n_indices) return LLRT_OK; /* an index brings its extent at the run */
  if (desc->kind == LLRT_OP_DOT) return LLRT_OK; /* promises are of the axes, not of a tensor */
  for (int axis = 0; axis < tensor.rank; axis++) {
    const llrt_promise *promise = &desc->promises[index].shape[axis];
    if (promise->max == 0 || promise->min != promise->max) return LLRT_OK;
    tensor.shape[axis] = promise->max;
  }
  return llrt_storage_bind(storage, tensor.rank, tensor.shape, tensor.strides, &binding);
}

static llrt_status check_request(const char *target, const llrt_op_desc *desc, request *asked) {
  LLRT_REQUIRE(asked->context, "context is NULL");
  LLRT_REQUIRE(target, "target is NULL");
  LLRT_TRY(llrt_validate_desc(desc));
  LLRT_TRY(find_target(target, &asked->target));
  LLRT_TRY(llrt_storage_set_init(desc->tensors, desc->n_tensors, desc->dot.roles, &asked->set));
  asked->desc = *desc;
  for (int i = 0; i < desc->n_tensors; i++) {
    asked->desc.tensors[i] = llrt_storage_set_tensor(&asked->set, i, desc->tensors[i].dtype);
    LLRT_TRY(check_known_shape(desc, &asked->set, i));
  }
  return LLRT_OK;
}

llrt_status llrt_op_compile(llrt_context *context, const char *target, const llrt_op_desc *desc,
                            llrt_emit emit, char **bytes, size_t *size) {
  LLRT_REQUIRE(bytes && size, "bytes or size is NULL");
  *bytes = NULL;
  *size = 0;
  request asked = {.context = context, .emit = emit};
  LLRT_TRY(check_request(target, desc, &asked));
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
