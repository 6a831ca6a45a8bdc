/* llrt_compute: an expression and the tensors bound to its names -> a description, whose tensors
 * have the operation's axes; and a call (op_call.c). */
#include "base/bits.h"
#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "expression/program.h"
#include "layout/storage_rule.h"
#include "runtime/compute_axes.h"
#include "runtime/compute_kept.h"
#include "runtime/compute_pairs.h"
#include "runtime/context.h"
#include "runtime/index_check.h"
#include "runtime/prepared.h"

#include <llrt/compute.h>

#include <stdlib.h>
#include <string.h>

/* What names of the signature are bound to. */
typedef struct bound {
  const llrt_expr *expr;
  const llrt_tensor *tensor[LLRT_EXPR_MAX_TENSORS];
  uint64_t scalar[LLRT_EXPR_MAX_SCALARS];
  bool has_scalar[LLRT_EXPR_MAX_SCALARS];
  compute_extents extents;
} bound;

/* ---- names ---- */

static int find_tensor(const llrt_expr *expr, const char *name) {
  for (int t = 0; t < expr->n_tensors; t++)
    if (strcmp(expr->tensor[t].name, name) == 0) return t;
  return -1;
}

static int find_scalar(const llrt_expr *expr, const char *name) {
  for (int i = 0; i < expr->n_scalars; i++)
    if (strcmp(expr->scalar[i].name, name) == 0) return i;
  return -1;
}

llrt_status compute_scalar_code(const expr_scalar *scalar, const llrt_arg *arg, uint64_t *code) {
  float narrow = (float)arg->number;
  bool whole = scalar->dtype == LLRT_I32 || scalar->dtype == LLRT_I64;
  *code = (uint64_t)arg->integer;
  if (scalar->dtype == LLRT_F64) memcpy(code, &arg->number, sizeof *code);
  if (scalar->dtype == LLRT_F32) {
    *code = 0;
    memcpy(code, &narrow, sizeof narrow);
  }
  LLRT_REQUIRE(scalar->dtype != LLRT_I32 || arg->integer == (int32_t)arg->integer,
               "%s is an i32, and %lld is none", scalar->name, (long long)arg->integer);
  LLRT_REQUIRE(!whole || arg->number == 0 || arg->number == (double)arg->integer,
               "%s is an %s, its number is %g and its integer %lld", scalar->name,
               llrt_dtype_name((llrt_dtype)scalar->dtype), arg->number, (long long)arg->integer);
  return LLRT_OK;
}

static llrt_status bind_arg(const llrt_arg *arg, bound *b) {
  LLRT_REQUIRE(arg->name, "the name of an entry of args is NULL");
  LLRT_REQUIRE(llrt_params_are_zero(arg->reserved, sizeof arg->reserved),
               "%s: a reserved field is not 0", arg->name);
  int t = find_tensor(b->expr, arg->name), s = find_scalar(b->expr, arg->name);
  LLRT_REQUIRE(t >= 0 || s >= 0, "the expression has no parameter %s", arg->name);
  if (t >= 0) {
    LLRT_REQUIRE(arg->tensor, "%s is a tensor, and none is given", arg->name);
    LLRT_REQUIRE(!b->tensor[t], "%s is given twice", arg->name);
    LLRT_REQUIRE(arg->tensor->rank >= 0 && arg->tensor->rank <= LLRT_MAX_RANK,
                 "%s has rank %d, not 0 to %d", arg->name, arg->tensor->rank, LLRT_MAX_RANK);
    LLRT_REQUIRE(llrt_dtype_bits(arg->tensor->dtype), "%s: dtype %d is none", arg->name,
                 (int)arg->tensor->dtype);
    b->tensor[t] = arg->tensor;
    return LLRT_OK;
  }
  LLRT_REQUIRE(!arg->tensor, "%s is a number, and a tensor is given", arg->name);
  LLRT_REQUIRE(!b->has_scalar[s], "%s is given twice", arg->name);
  b->has_scalar[s] = true;
  return compute_scalar_code(&b->expr->scalar[s], arg, &b->scalar[s]);
}

/* all: outputs too. */
static llrt_status bind_args(const llrt_expr *expr, const llrt_arg *args, int n, bool all,
                             bound *b) {
  LLRT_REQUIRE(expr, "expr is NULL");
  LLRT_REQUIRE(args || n == 0, "args is NULL, n %d", n);
  *b = (bound){.expr = expr};
  for (int i = 0; i < n; i++) LLRT_TRY(bind_arg(&args[i], b));
  for (int t = 0; t < (all ? expr->n_tensors : expr->n_inputs); t++)
    LLRT_REQUIRE(b->tensor[t], "%s is not given", expr->tensor[t].name);
  for (int i = 0; i < expr->n_scalars && all; i++)
    LLRT_REQUIRE(b->has_scalar[i], "%s is not given", expr->scalar[i].name);
  return compute_find_extents(expr, b->tensor, &b->extents);
}

/* ---- the description ---- */

static llrt_status take_params(const llrt_compute_params *params, llrt_compute_params *own) {
  LLRT_TRY(LLRT_PARAMS_READ(llrt_compute_params, params, own));
  LLRT_REQUIRE(own->flags == 0, "params: flags is 0x%llx, not 0", (unsigned long long)own->flags);
  LLRT_REQUIRE(own->n_maps >= 0 && own->n_maps <= PROGRAM_MAX_WORDS,
               "params: n_maps is %lld, not 0 to %d", (long long)own->n_maps, PROGRAM_MAX_WORDS);
  LLRT_REQUIRE(own->maps || own->n_maps == 0, "params: maps is NULL, n_maps %lld",
               (long long)own->n_maps);
  return LLRT_OK;
}

static bool is_permutation(const uint8_t perm[32]) {
  uint32_t seen = 0;
  for (int i = 0; i < 32; i++) seen |= perm[i] < 32 ? 1u << perm[i] : 0;
  return seen == UINT32_MAX;
}

/* Bits of words of the output that a map names: of its tensor of the program. */
static llrt_status take_map(const llrt_expr *expr, const llrt_output_map *map, int number,
                            expr_program *program) {
  LLRT_REQUIRE(map->name, "params: the name of map %d is NULL", number);
  LLRT_REQUIRE(map->map.kind == LLRT_MAP_WORD_BITS, "the map of %s is of kind %d, not WORD_BITS",
               map->name, (int)map->map.kind);
  LLRT_REQUIRE(is_permutation(map->map.perm), "the map of %s permutes no 32 bits", map->name);
  int found = find_tensor(expr, map->name);
  for (int t = 0; t < program->n_tensors; t++) {
    program_tensor *tensor = &program->tensor[t];
    if (!tensor->output || tensor->tensor != found) continue;
    LLRT_REQUIRE(!tensor->words, "%s has two maps", map->name);
    LLRT_REQUIRE(llrt_dtype_bits((llrt_dtype)tensor->store) < 32,
                 "%s has elements of 32 bits and more, and a map of words", map->name);
    memcpy(program->words[number], map->map.perm, sizeof program->words[number]);
    tensor->words = (uint8_t)(number + 1);
    return LLRT_OK;
  }
  return llrt_error(LLRT_INVALID_ARGUMENT, "%s, which a map is for, is no output", map->name);
}

static llrt_status check_bound(const llrt_expr *expr, int t, const llrt_tensor *tensor) {
  LLRT_TRY(llrt_index_check_class(tensor, expr->tensor[t].called, expr->tensor[t].output));
  LLRT_REQUIRE(llrt_params_are_zero(tensor->reserved, sizeof tensor->reserved),
               "%s: a reserved field is not 0", expr->tensor[t].name);
  return LLRT_OK;
}

static llrt_status describe(const bound *b, const llrt_compute_params *params, compute_call *call) {
  llrt_dtype types[LLRT_EXPR_MAX_TENSORS];
  int32_t ranks[LLRT_EXPR_MAX_TENSORS];
  op_description *desc = &call->desc;
  for (int t = 0; t < b->expr->n_tensors; t++) {
    types[t] = b->tensor[t]->dtype;
    ranks[t] = b->tensor[t]->rank;
    LLRT_TRY(check_bound(b->expr, t, b->tensor[t]));
  }
  LLRT_TRY(program_make(b->expr, types, ranks, &desc->program));
  for (int i = 0; i < params->n_maps; i++)
    LLRT_TRY(take_map(b->expr, &params->maps[i], i, &desc->program));
  const expr_program *program = &desc->program;
  op_description_begin(desc, LLRT_OP_COMPUTE, program->n_tensors);
  desc->dot.roles = LLRT_ROLES_NUMBERED;
  memcpy(call->scalars, b->scalar, sizeof call->scalars);
  desc->scalars = program->n_scalars > 0 ? call->scalars : NULL;
  for (int t = 0; t < program->n_tensors; t++) {
    int source = program->tensor[t].tensor;
    call->called[t] = b->expr->tensor[source].called;
    llrt_status status = compute_expand(b->expr, program, t, b->tensor[source], &b->extents,
                                        &call->side[t].storage, &desc->tensors[t]);
    if (status == LLRT_OK)
      status = compute_expand_indices(b->expr, program, t, b->tensor[source], &b->extents,
                                      call->side[t].index, &desc->tensors[t]);
    if (status != LLRT_OK) return llrt_error_prefix(status, "%s", b->expr->tensor[source].name);
  }
  for (int t = 0; t < b->expr->n_inputs; t++) {
    llrt_status status = compute_expand_unread(b->expr, program, t, b->tensor[t], desc->tensors);
    if (status != LLRT_OK) return llrt_error_prefix(status, "%s", b->expr->tensor[t].name);
  }
  compute_set_groups(desc);
  return LLRT_OK;
}

static llrt_status describe_checked(const llrt_expr *expr, const llrt_arg *args, int n,
                                    const llrt_compute_params *params, compute_call *call) {
  bound b;
  llrt_compute_params own;
  LLRT_TRY(take_params(params, &own));
  LLRT_TRY(bind_args(expr, args, n, true, &b));
  LLRT_TRY(describe(&b, &own, call));
  LLRT_ENTRY_NAMES(call->called);
  return llrt_validate_desc(&call->desc);
}

llrt_status llrt_compute_describe(const llrt_expr *expr, const llrt_arg *args, int n,
                                  const llrt_compute_params *params, llrt_op_desc **desc) {
  LLRT_ENTRY();
  LLRT_REQUIRE(desc, "desc is NULL");
  *desc = NULL;
  LLRT_REQUIRE(expr, "expr is NULL");
  compute_call *made = compute_call_new(expr);
  if (!made) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a description");
  llrt_status status = describe_checked(expr, args, n, params, made);
  if (status != LLRT_OK) {
    compute_call_free(made);
    return status;
  }
  made->shown = op_description_show(&made->desc);
  *desc = &made->shown;
  return LLRT_OK;
}

/* ---- the call ---- */

static llrt_status describe_call(const llrt_expr *expr, const llrt_arg *args, int n,
                                 const llrt_compute_params *params, void *stream,
                                 compute_call *call) {
  LLRT_TRY(describe_checked(expr, args, n, params, call));
  LLRT_ENTRY_NAMES(call->called);
  LLRT_TRY(llrt_validate_tensors(call->desc.tensors, call->desc.n_tensors, call->desc.dot.roles,
                                 stream));
  compute_join_pairs(call);
  compute_merge_axes(&call->desc);
  call->desc.program_hash = program_hash(&call->desc.program);
  return LLRT_OK;
}

static llrt_status run_call(compute_call *call, void *stream) {
  LLRT_ENTRY_NAMES(call->called);
  LLRT_TRY(llrt_validate_stream(call->desc.tensors[0].device, stream));
  return llrt_op_call(&call->desc, &call->set_key, stream);
}

llrt_status llrt_compute_into(const llrt_expr *expr, const llrt_arg *args, int n,
                              const llrt_compute_params *params, void *stream) {
  LLRT_ENTRY();
  LLRT_REQUIRE(expr, "expr is NULL");
  llrt_compute_params own;
  LLRT_TRY(take_params(params, &own));
  llrt_status status = LLRT_OK;
  bool keeps = own.n_maps == 0; /* calls are kept by their tensors alone */
  compute_call *call = keeps ? compute_call_find(expr, args, n) : NULL;
  if (!call) {
    call = compute_call_new(expr);
    if (!call) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a description");
    status = describe_call(expr, args, n, &own, stream, call);
  }
  if (status == LLRT_OK) status = run_call(call, stream);
  if (status == LLRT_OK && keeps) compute_call_keep(expr, args, n, call);
  else compute_call_free(call);
  return status;
}

/* ---- questions ---- */

llrt_status llrt_compute_result(const llrt_expr *expr, const llrt_arg *args, int n,
                                const char *name, llrt_tensor *result) {
  LLRT_ENTRY();
  bound b;
  LLRT_REQUIRE(result, "result is NULL");
  *result = (llrt_tensor){.rank = 0};
  LLRT_REQUIRE(name, "name is NULL");
  LLRT_TRY(bind_args(expr, args, n, false, &b));
  LLRT_REQUIRE(expr->n_inputs > 0, "without an input tensor, nothing tells what outputs are");
  int t = find_tensor(expr, name);
  LLRT_REQUIRE(t >= expr->n_inputs, "%s is no output", name);
  llrt_dtype type = (llrt_dtype)expr->tensor[t].dtype;
  result->dtype = type ? type : b.tensor[0]->dtype;
  result->device = b.tensor[0]->device;
  return compute_output_shape(expr, t, &b.extents, result);
}

const char *llrt_expr_name(const llrt_expr *expr, int number, bool *output) {
  if (!expr || number < 0) return NULL;
  int inputs = expr->n_inputs, scalars = expr->n_scalars;
  if (output) *output = number >= inputs + scalars;
  if (number < inputs) return expr->tensor[number].name;
  if (number < inputs + scalars) return expr->scalar[number - inputs].name;
  return number < expr->n_tensors + scalars ? expr->tensor[number - scalars].name : NULL;
}
