/* Runs of expressions in a plan: one program for all whose tensors are alike. */
#include "base/memory.h"
#include "base/status.h"
#include "recipe/plan.h"

#include <stdlib.h>

static llrt_status no_memory(void) {
  return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
}

/* ---- arguments ---- */

void program_args(const llrt_repack *plan, const repack_program *of, void *const *addresses,
                  program_call *call) {
  memset(call, 0, sizeof *call);
  for (int i = 0; i < of->n; i++) {
    llrt_tensor *tensor = &call->tensor[i];
    *tensor = (llrt_tensor){.data = addresses[i],
                            .dtype = of->dtype[i],
                            .rank = of->rank[i],
                            .storage = &of->storage[i],
                            .device = plan->device};
    memcpy(tensor->shape, of->shape[i], sizeof tensor->shape);
    call->arg[i] = (llrt_arg){.name = of->name[i], .tensor = tensor};
  }
}

void program_list_args(const llrt_repack *plan, const repack_program *of, const uint64_t *lists,
                       int64_t n, program_call *call) {
  void *nowhere[PLAN_MOST_ARGS] = {0};
  program_args(plan, of, nowhere, call);
  for (int i = 0; i < of->n; i++) {
    llrt_tensor *tensor = &call->tensor[i];
    llrt_storage *storage = &call->storage[i];
    *storage = of->storage[i];
    list_axis(storage);
    call->index[i] = list_index(of->alignment[i], lists ? lists + i * n : NULL);
    tensor->rank++;
    memmove(tensor->shape + 1, tensor->shape, (size_t)of->rank[i] * sizeof *tensor->shape);
    tensor->shape[0] = n;
    tensor->storage = storage;
    tensor->indices = &call->index[i];
    tensor->n_indices = 1;
  }
}

/* ---- kernels ---- */

static llrt_status prepare(const llrt_repack *plan, const llrt_expr *expr, const program_call *call,
                           int n, bool lists, llrt_op **op) {
  llrt_op_desc *desc;
  LLRT_TRY(llrt_compute_describe(expr, call->arg, n, NULL, &desc));
  llrt_status status = llrt_op_promise_coarse(desc);
  for (int t = 0; t < desc->n_tensors && lists && !status; t++)
    desc->promises[t].shape[0] = (llrt_promise){.max = LISTS_MOST};
  if (!status) status = llrt_op_prepare(plan->device, desc, op);
  llrt_op_desc_destroy(&desc);
  return status;
}

static llrt_status prepare_one(llrt_repack *plan, repack_program *program) {
  void *addresses[PLAN_MOST_ARGS];
  program_call call;
  for (int i = 0; i < program->n; i++)
    addresses[i] = (void *)(uintptr_t)(4096 * (i + 1) + program->alignment[i]);
  program_args(plan, program, addresses, &call);
  return prepare(plan, program->expr, &call, program->n, false, &program->op);
}

llrt_status program_prepare_lists(const llrt_repack *plan, repack_program *program) {
  static const uint64_t nowhere[PLAN_MOST_ARGS * 2];
  program_call call;
  program_list_args(plan, program, nowhere, 2, &call);
  return prepare(plan, program->list_expr, &call, program->n, true, &program->many);
}

llrt_status program_run(const repack_program *program, const program_call *call, bool lists,
                        void *stream) {
  const llrt_expr *expr = lists ? program->list_expr : program->expr;
  const llrt_op *op = lists ? program->many : program->op;
  const llrt_run_params params = {.size = sizeof params, .own_workspace = 1};
  llrt_op_desc *desc;
  LLRT_TRY(llrt_compute_describe(expr, call->arg, program->n, NULL, &desc));
  llrt_status status = llrt_op_run(op, stream, desc->tensors, desc->n_tensors, &params);
  llrt_op_desc_destroy(&desc);
  if (status != LLRT_OUT_OF_CLASS) return status;
  return llrt_compute_into(expr, call->arg, program->n, NULL, stream);
}

/* ---- classes ---- */

static bool same(const repack_program *a, const repack_program *b) {
  if (a->n != b->n || strcmp(a->text, b->text) != 0) return false;
  return memcmp(a->dtype, b->dtype, sizeof a->dtype) == 0 &&
         memcmp(a->rank, b->rank, sizeof a->rank) == 0 &&
         memcmp(a->alignment, b->alignment, sizeof a->alignment) == 0 &&
         memcmp(a->shape, b->shape, sizeof a->shape) == 0 &&
         memcmp(a->storage, b->storage, sizeof a->storage) == 0;
}

void program_destroy(repack_program *program) {
  if (!program) return;
  llrt_op_destroy(&program->op);
  llrt_op_destroy(&program->many);
  llrt_expr_destroy(&program->expr);
  llrt_expr_destroy(&program->list_expr);
  free(program);
}

static llrt_status keep(llrt_repack *plan, repack_program *program, const plan_computed *computed) {
  const recipe_expression *from = computed->expression;
  LLRT_TRY(llrt_expr_parse(from->text, &program->expr));
  LLRT_TRY(llrt_expr_parse(from->list_text, &program->list_expr));
  for (int i = 0; i < program->n; i++) {
    program->name[i] = plan_text(plan, computed->arg[i].name);
    if (!program->name[i]) return no_memory();
  }
  program->text = plan_text(plan, span_of(from->text));
  if (!program->text) return no_memory();
  return plan->device ? prepare_one(plan, program) : LLRT_OK;
}

/* The number of the program, which is made where there is none like it. Takes `program`. */
static llrt_status program_of(llrt_repack *plan, repack_program *program,
                              const plan_computed *computed, int32_t *number) {
  program->text = computed->expression->text;
  for (*number = 0; *number < plan->programs.n; ++*number)
    if (same(*PLAN_AT(plan->programs, repack_program *, *number), program)) {
      program_destroy(program);
      return LLRT_OK;
    }
  llrt_status status = keep(plan, program, computed);
  repack_program **kept = status ? NULL : plan_append(&plan->programs, sizeof *kept);
  if (kept) *kept = program;
  else program_destroy(program);
  return status ? status : kept ? LLRT_OK : no_memory();
}

static llrt_status take_arg(const plan_arg_image *arg, int i, repack_program *program,
                            repack_arg *place) {
  int bits = llrt_dtype_bits(arg->dtype);
  *place = (repack_arg){.tensor = arg->tensor,
                        .output = arg->output,
                        .offset = arg->offset + arg->image.offset / 8 * bits +
                                  arg->image.offset % 8 * bits / 8};
  if (arg->image.offset * bits % 8)
    return llrt_error(LLRT_UNSUPPORTED, "a part begins inside of a byte");
  int64_t alignment = (place->offset | LISTS_ALIGNMENT) & -(place->offset | LISTS_ALIGNMENT);
  program->alignment[i] = (int32_t)alignment;
  program->dtype[i] = arg->dtype;
  program->rank[i] = arg->rank;
  memcpy(program->shape[i], arg->shape, sizeof program->shape[i]);
  return image_storage(&arg->image, arg->rank, &program->storage[i]);
}

static uint64_t bytes_of(const repack_program *program, int i) {
  uint64_t n = 1;
  for (int a = 0; a < program->rank[i]; a++) n *= (uint64_t)program->shape[i][a];
  return n * (uint64_t)llrt_dtype_bits(program->dtype[i]) / 8;
}

/* Scales begin at any element, in a tensor of those of all parts: what is small beside the rest is
 * promised no more, so that one program serves all parts. */
static void relax_small(repack_program *program) {
  uint64_t most = 0;
  for (int i = 0; i < program->n; i++)
    if (bytes_of(program, i) > most) most = bytes_of(program, i);
  for (int i = 0; i < program->n; i++) {
    int32_t element = llrt_dtype_bits(program->dtype[i]) / 8;
    if (bytes_of(program, i) <= most / 16) program->alignment[i] = element > 1 ? element : 1;
  }
}

llrt_status plan_step_computes(llrt_repack *plan, const plan_computed *computed) {
  repack_program *program = memory_zeroed(1, sizeof *program);
  int first = plan->args.n;
  if (!program) return no_memory();
  program->n = computed->n;
  llrt_status status = LLRT_OK;
  for (int i = 0; i < computed->n && !status; i++) {
    repack_arg *place = plan_append(&plan->args, sizeof *place);
    status = place ? take_arg(&computed->arg[i], i, program, place) : no_memory();
  }
  if (status) {
    program_destroy(program);
    return status;
  }
  int32_t number;
  relax_small(program);
  LLRT_TRY(program_of(plan, program, computed, &number));
  repack_move *move = plan_append(&plan->moves, sizeof *move);
  if (!move) return no_memory();
  const repack_arg *args = PLAN_AT(plan->args, repack_arg, first);
  *move = (repack_move){.kind = REPACK_COMPUTE,
                        .of_class = number,
                        .in = computed->of,
                        .out = args[computed->n - 1].tensor,
                        .args = first,
                        .stage = computed->stage};
  return LLRT_OK;
}

llrt_status plan_step_words(llrt_repack *plan, plan_arg_image *arg) {
  llrt_storage storage;
  uint64_t bits = (uint64_t)llrt_dtype_bits(arg->dtype), most = (uint64_t)1 << 56;
  for (int a = 0; a < arg->rank; a++)
    if (__builtin_mul_overflow(bits, (uint64_t)arg->shape[a], &bits) || bits > most)
      return llrt_error(LLRT_UNSUPPORTED, "too many elements");
  arg->tensor = REPACK_WORDS;
  arg->offset = (int64_t)plan->words;
  plan->words += (bits + 8 * LISTS_ALIGNMENT - 1) / (8 * LISTS_ALIGNMENT) * LISTS_ALIGNMENT;
  LLRT_TRY(llrt_storage_row_major(arg->rank, &storage));
  return image_make(&storage, arg->rank, arg->shape, &arg->image);
}

uint64_t program_bytes(const repack_program *program, bool read, const repack_arg *args) {
  uint64_t bytes = 0;
  for (int i = 0; i < program->n; i++)
    if (args[i].output != read) bytes += bytes_of(program, i);
  return bytes;
}
