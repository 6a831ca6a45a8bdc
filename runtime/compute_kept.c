/* See compute_kept.h.
 *
 * An expression has a few places for calls. A call that is taken from its place is the thread's
 * own, so that nothing is locked, counted or copied; a second thread with the same call meanwhile
 * describes it anew, and of two that are given back one stays. */
#include "runtime/compute_kept.h"

#include "base/memory.h"
#include "base/status.h"

#include <stdatomic.h>
#include <stdlib.h>

/* A tensor as it was bound, with all that it borrows. */
typedef struct given_tensor {
  llrt_tensor tensor; /* its pointers to storage and indices are not read */
  bool has_storage;
  llrt_storage storage;
  llrt_index index[LLRT_MAX_INDICES];
} given_tensor;

typedef struct compute_given {
  int32_t n;
  /* Of argument i: the expression's tensor, or -1 - its scalar. */
  int8_t name[LLRT_EXPR_MAX_TENSORS + LLRT_EXPR_MAX_SCALARS];
  int8_t arg_of[LLRT_EXPR_MAX_TENSORS];   /* of the operation's tensor */
  ptrdiff_t moved[LLRT_EXPR_MAX_TENSORS]; /* bytes from an argument's data to its tensor's */
  uint8_t align[LLRT_EXPR_MAX_TENSORS]; /* bytes that divide its tensor's, beyond what is checked */
  given_tensor tensor[];                /* by argument; of scalars unused */
} compute_given;

/* ---- memory ---- */

/* Tensors that a description may have: of an input that is moved along several. */
static int most_tensors(const llrt_expr *expr) {
  for (int i = 0; i < expr->n_nodes; i++)
    if (expr->node[i].op == EXPR_FLIP || expr->node[i].op == EXPR_AT) return LLRT_MAX_TENSORS;
  return expr->n_tensors < LLRT_MAX_TENSORS ? expr->n_tensors + 1 : LLRT_MAX_TENSORS;
}

void compute_call_free(compute_call *call) {
  if (call) free(call->given);
  free(call);
}

/* NULL is accepted. */
static compute_call *call_of(expr_kept *kept) {
  return kept ? (compute_call *)((char *)kept - offsetof(compute_call, kept)) : NULL;
}

static void release(expr_kept *kept) { compute_call_free(call_of(kept)); }

compute_call *compute_call_new(const llrt_expr *expr) {
  size_t sides = (size_t)most_tensors(expr) * sizeof(compute_side);
  compute_call *call = memory_new(sizeof *call + sides);
  if (!call) return NULL;
  call->kept.release = release;
  call->given = NULL;
  call->set_key = (llrt_hash){0, 0};
  return call;
}

/* ---- the same call ---- */

static const char *name_of(const llrt_expr *expr, int name) {
  return name >= 0 ? expr->tensor[name].name : expr->scalar[-1 - name].name;
}

static int number_of(const llrt_expr *expr, const char *name) {
  for (int t = 0; t < expr->n_tensors; t++)
    if (strcmp(expr->tensor[t].name, name) == 0) return t;
  for (int i = 0; i < expr->n_scalars; i++)
    if (strcmp(expr->scalar[i].name, name) == 0) return -1 - i;
  return INT8_MIN;
}

static bool same_axes(const llrt_tensor *a, const llrt_tensor *b) {
  for (int axis = 0; axis < a->rank; axis++)
    if (a->shape[axis] != b->shape[axis] || a->strides[axis] != b->strides[axis] ||
        a->extent_ptr[axis] != b->extent_ptr[axis])
      return false;
  return true;
}

/* But for data, of which only whether there is any. */
static bool same_tensor(const given_tensor *given, const llrt_tensor *tensor) {
  const llrt_tensor *then = &given->tensor;
  size_t indices = (size_t)then->n_indices * sizeof *tensor->indices;
  if (then->dtype != tensor->dtype || then->rank != tensor->rank ||
      then->device != tensor->device || then->n_indices != tensor->n_indices ||
      !then->data != !tensor->data || given->has_storage != (tensor->storage != NULL) ||
      memcmp(then->reserved, tensor->reserved, sizeof then->reserved) != 0)
    return false;
  if (!same_axes(then, tensor)) return false;
  if (indices > 0 && memcmp(given->index, tensor->indices, indices) != 0) return false;
  return !tensor->storage || memcmp(&given->storage, tensor->storage, sizeof given->storage) == 0;
}

static bool same_arg(const llrt_expr *expr, const compute_given *given, int i,
                     const llrt_arg *arg) {
  static const int64_t none[sizeof arg->reserved / sizeof *arg->reserved];
  int name = given->name[i];
  if (!arg->name || strcmp(arg->name, name_of(expr, name)) != 0) return false;
  if (memcmp(arg->reserved, none, sizeof none) != 0) return false;
  if (name < 0) return !arg->tensor;
  return arg->tensor && same_tensor(&given->tensor[i], arg->tensor);
}

static bool same_args(const llrt_expr *expr, const compute_given *given, const llrt_arg *args,
                      int n) {
  if (given->n != n) return false;
  for (int i = 0; i < n; i++)
    if (!same_arg(expr, given, i, &args[i])) return false;
  return true;
}

/* ---- places ---- */

/* By what differs from call to call: extents. */
static _Atomic(expr_kept *) *place_of(const llrt_expr *expr, const llrt_arg *args, int n) {
  uint64_t mixed = 0;
  for (int i = 0; i < n && args; i++) {
    const llrt_tensor *tensor = args[i].tensor;
    if (!tensor) continue;
    mixed = mixed * 31 + (uint64_t)tensor->dtype;
    for (int axis = 0; axis < tensor->rank && axis < LLRT_MAX_RANK; axis++)
      mixed = mixed * 0x9e3779b97f4a7c15u + (uint64_t)tensor->shape[axis];
  }
  return &expr->kept[(mixed * 0x9e3779b97f4a7c15u >> 32) % EXPR_KEPT];
}

/* Puts a call, or nothing, in the place; what comes out is the caller's. */
static compute_call *exchange(_Atomic(expr_kept *) *place, compute_call *call) {
  return call_of(atomic_exchange_explicit(place, call ? &call->kept : NULL, memory_order_acq_rel));
}

/* ---- finding ---- */

/* Addresses and numbers of this call. False where a number is none of its type,
 * or an address not what the description wants. */
static bool bind(const llrt_expr *expr, const llrt_arg *args, compute_call *call) {
  const compute_given *given = call->given;
  for (int i = 0; i < given->n; i++) {
    int scalar = -1 - given->name[i];
    if (scalar >= 0 &&
        compute_scalar_code(&expr->scalar[scalar], &args[i], &call->scalars[scalar]) != LLRT_OK)
      return false;
  }
  for (int t = 0; t < call->desc.n_tensors; t++) {
    char *data = args[given->arg_of[t]].tensor->data;
    call->desc.tensors[t].data = data ? data + given->moved[t] : NULL;
    /* Words of two elements lie where two elements may not. */
    if ((uintptr_t)call->desc.tensors[t].data % given->align[t] != 0) return false;
  }
  return true;
}

compute_call *compute_call_find(const llrt_expr *expr, const llrt_arg *args, int n) {
  if (!expr || !args) return NULL;
  _Atomic(expr_kept *) *place = place_of(expr, args, n);
  if (!atomic_load_explicit(place, memory_order_relaxed)) return NULL;
  compute_call *call = exchange(place, NULL);
  if (!call) return NULL;
  if (same_args(expr, call->given, args, n) && bind(expr, args, call)) return call;
  compute_call_free(exchange(place, call));
  return NULL;
}

/* ---- keeping ---- */

static void note_tensor(const llrt_tensor *tensor, given_tensor *out) {
  out->tensor = *tensor;
  out->has_storage = tensor->storage != NULL;
  if (tensor->storage) out->storage = *tensor->storage;
  for (int i = 0; i < tensor->n_indices; i++) out->index[i] = tensor->indices[i];
}

static compute_given *note(const llrt_expr *expr, const llrt_arg *args, int n,
                           const compute_call *call) {
  compute_given *given = memory_new(sizeof *given + (size_t)n * sizeof *given->tensor);
  if (!given) return NULL;
  given->n = n;
  for (int i = 0; i < n; i++) {
    given->name[i] = (int8_t)number_of(expr, args[i].name);
    if (args[i].tensor) note_tensor(args[i].tensor, &given->tensor[i]);
  }
  for (int t = 0; t < call->desc.n_tensors; t++) {
    int arg = 0;
    while (given->name[arg] != call->desc.program.tensor[t].tensor) arg++;
    const char *data = args[arg].tensor->data, *moved = call->desc.tensors[t].data;
    given->arg_of[t] = (int8_t)arg;
    given->moved[t] = data ? moved - data : 0;
    bool joined = call->desc.tensors[t].dtype != args[arg].tensor->dtype; /* compute_pairs.c */
    given->align[t] = joined ? (uint8_t)(llrt_dtype_bits(call->desc.tensors[t].dtype) / 8) : 1;
  }
  return given;
}

void compute_call_keep(const llrt_expr *expr, const llrt_arg *args, int n, compute_call *call) {
  if (!call->given) call->given = note(expr, args, n, call);
  if (!call->given) {
    compute_call_free(call);
    return;
  }
  compute_call_free(exchange(place_of(expr, args, n), call));
}
