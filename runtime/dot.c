/* llrt_dot: tensors with the axes that they have -> a description, whose tensors have those of the
 * operation, batch.., M, N, K; and a call (op_call.c). */
#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "jit/plan/types/dot_type.h"
#include "layout/storage_rule.h"
#include "runtime/dot_grouped.h"
#include "runtime/prepared.h"
#include "runtime/result.h"

#include <llrt/dot.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One tensor of the call. */
typedef struct part {
  llrt_dot_role role;
  const llrt_tensor *tensor;
  int last[2]; /* the operation's axes that its last two are; n of them, the others are batch axes
                */
  int n;
  const int64_t *group; /* of those two; NULL: an element for each coordinate */
  bool wide; /* stands on elements of more than 8 bits, which have no scales that differ along K */
} part;

/* A description together with the storages that its tensors borrow: used where it lies. */
typedef struct dot_call {
  op_description desc;
  llrt_storage storage[LLRT_MAX_TENSORS];
  llrt_index index[3][LLRT_MAX_INDICES]; /* of A, D, B, by the operation's axes */
} dot_call;

typedef struct parts {
  int rank;         /* of the operation */
  bool grouped;     /* its first axis are experts (dot.h) */
  llrt_tensor ends; /* grouped: one value for each of the positions of axis `cut` */
  int cut;          /* grouped: that of experts, or the one whose positions are theirs */
  int64_t extent[LLRT_MAX_RANK];
  int n;
  part part[LLRT_DOT_ROLES];
} parts;

static const char *name_of(const part *p) {
  return op_tensor_called(1u << p->role | 1u, p->role > 0);
}

/* ---- the axes ---- */

static llrt_status check_rank(const part *p, int rank, bool grouped) {
  bool alone = p->n < 2 && !(grouped && p->role == LLRT_DOT_BIAS); /* without batch axes */
  int own = p->tensor->rank, most = p->n == 0 ? rank : alone ? p->n : rank - 3 + p->n;
  if (p->n == most) LLRT_REQUIRE(own == most, "the %s has rank %d, not %d", name_of(p), own, most);
  LLRT_REQUIRE(own >= p->n && own <= most, "the %s has rank %d, not %d to %d", name_of(p), own,
               p->n, most);
  for (int a = 0; a < own && p->n == 0; a++)
    LLRT_REQUIRE(p->tensor->shape[a] == 1, "the %s has %lld positions, not 1", name_of(p),
                 (long long)p->tensor->shape[a]);
  return LLRT_OK;
}

/* The operation's axis that is axis `a` of the tensor. Batch axes are numbered from the right. One
 * number may lie along any. */
static int axis_of(const parts *all, const part *p, int a) {
  int from_end = p->tensor->rank - a;
  if (p->n == 0) return a;
  if (from_end <= p->n) return p->last[p->n - from_end];
  return all->rank - 3 - (from_end - p->n);
}

/* Positions of an axis that share one of a tensor's: 1, LLRT_GROUP_ALL, or as asked. */
static llrt_status find_group(const part *p, int64_t positions, int64_t extent, int64_t asked,
                              int32_t *group) {
  *group = asked > 0 && asked <= INT32_MAX ? (int32_t)asked : LLRT_GROUP_ALL;
  if (asked) {
    LLRT_REQUIRE(asked >= LLRT_GROUP_ALL && asked <= INT32_MAX,
                 "the %s has groups of %lld positions, not 1 to 2^31 - 1, 0 or LLRT_GROUP_ALL",
                 name_of(p), (long long)asked);
    return LLRT_OK;
  }
  if (positions == extent) *group = 1;
  if (positions == 1 || positions == extent || extent < 0)
    return LLRT_OK; /* extents below 0 are refused later */
  LLRT_REQUIRE(
      positions > 0 && extent % positions == 0,
      "the %s has %lld positions for %lld, which they do not divide: params say how many share "
      "one (group)",
      name_of(p), (long long)positions, (long long)extent);
  *group = (int32_t)(extent / positions);
  return LLRT_OK;
}

static llrt_status fill_groups(const parts *all, const part *p, int32_t group[LLRT_MAX_RANK]) {
  for (int a = 0; a < all->rank; a++) group[a] = LLRT_GROUP_ALL;
  for (int a = 0; a < p->tensor->rank && p->n > 0; a++) {
    int axis = axis_of(all, p, a), place = a - (p->tensor->rank - p->n);
    int64_t positions = p->tensor->shape[a];
    bool shared = axis < all->rank - 3 && positions == 1 && p->role != LLRT_DOT_D &&
                  !all->grouped; /* a batch axis of one position */
    if (place < 0 || !p->group) group[axis] = shared ? LLRT_GROUP_ALL : 1;
    else if (p->wide && axis == all->rank - 1 && positions == 1) group[axis] = LLRT_GROUP_ALL;
    else LLRT_TRY(find_group(p, positions, all->extent[axis], p->group[place], &group[axis]));
  }
  return LLRT_OK;
}

/* An index by the operation's axes. What names none stays as it is, and is refused later. */
static llrt_index renumber(const llrt_index *in, const int8_t to[LLRT_MAX_RANK], int rank) {
  llrt_index out = *in;
  if (in->axis < 0 || in->axis >= rank || (in->axes | in->folded) >> rank) return out;
  out.axis = to[in->axis];
  out.axes = out.folded = 0;
  for (int a = 0; a < LLRT_MAX_RANK; a++) out.strides[a] = 0;
  for (int a = 0; a < rank; a++) {
    out.axes |= (in->axes >> a & 1) << to[a];
    out.folded |= (in->folded >> a & 1) << to[a];
    out.strides[to[a]] = in->strides[a];
  }
  return out;
}

/* The tensor with the operation's axes; index: room for its indices, or NULL. */
static llrt_status expand(const parts *all, const part *p, llrt_storage *storage, llrt_index *index,
                          llrt_tensor *out) {
  const llrt_tensor *in = p->tensor;
  int8_t to[LLRT_MAX_RANK] = {0};
  *out = *in;
  for (int a = 0; a < all->rank; a++) {
    out->shape[a] = 1;
    out->strides[a] = 0;
    out->extent_ptr[a] = NULL;
  }
  for (int a = 0; a < in->rank; a++) {
    int axis = axis_of(all, p, a);
    to[a] = (int8_t)axis;
    out->shape[axis] = in->shape[a];
    out->strides[axis] = in->strides[a];
    out->extent_ptr[axis] = in->extent_ptr[a];
  }
  llrt_storage own;
  if (in->storage) own = *in->storage;
  else LLRT_TRY(llrt_storage_row_major(in->rank, &own));
  llrt_status status = llrt_storage_validate(&own);
  if (status != LLRT_OK) return llrt_error_prefix(status, "the %s's storage", name_of(p));
  LLRT_REQUIRE(own.rank == in->rank, "the %s has rank %d, its storage rank %d", name_of(p),
               in->rank, own.rank);
  LLRT_TRY(storage_renumber(&own, to, all->rank, storage));
  out->rank = all->rank;
  out->storage = storage;
  if (!index || in->n_indices < 1 || in->n_indices > LLRT_MAX_INDICES || !in->indices)
    return LLRT_OK;
  for (int i = 0; i < in->n_indices; i++) index[i] = renumber(&in->indices[i], to, in->rank);
  out->indices = index;
  return LLRT_OK;
}

/* ---- the tensors ---- */

static void add_part(parts *all, llrt_dot_role role, const llrt_tensor *tensor, int n, int first,
                     int second, const int64_t *group) {
  if (!tensor) return;
  all->part[all->n++] =
      (part){.role = role, .tensor = tensor, .last = {first, second}, .n = n, .group = group};
}

static void add_scaling(parts *all, const llrt_tensor *operand, const llrt_dot_scaling *scaling,
                        llrt_dot_role scale, int first, int second) {
  llrt_dot_role zero = (llrt_dot_role)(scale + 1), global = (llrt_dot_role)(scale + 2);
  add_part(all, scale, scaling->scale, 2, first, second, scaling->group);
  if (scaling->scale) all->part[all->n - 1].wide = llrt_dtype_bits(operand->dtype) > 8;
  add_part(all, zero, scaling->zero, 2, first, second, scaling->group);
  add_part(all, global, scaling->global, 0, 0, 0, NULL);
}

/* In the order of roles. */
static void list_parts(const llrt_tensor *a, const llrt_tensor *b, const llrt_tensor *d,
                       const llrt_dot_params *params, const int64_t *scale_group, parts *all) {
  int m = all->rank - 3, n = all->rank - 2, k = all->rank - 1;
  add_part(all, LLRT_DOT_A, a, 2, m, k, NULL);
  add_part(all, LLRT_DOT_D, d, 2, m, n, NULL);
  add_part(all, LLRT_DOT_B, b, 2, k, n, NULL);
  add_part(all, LLRT_DOT_C, params->c, 2, m, n, NULL);
  add_part(all, LLRT_DOT_BIAS, params->bias, 1, n, 0, NULL);
  add_scaling(all, a, &params->a, LLRT_DOT_SCALE_A, m, k);
  add_scaling(all, b, &params->b, LLRT_DOT_SCALE_B, k, n);
  add_part(all, LLRT_DOT_ADD, params->add, 2, m, n, NULL);
  add_part(all, LLRT_DOT_SCALE_D, params->scale, 2, m, n, scale_group);
  if (all->grouped) add_part(all, LLRT_DOT_ENDS, &all->ends, 1, all->cut, 0, NULL);
}

/* Of a SCALE map, the groups along D's last two axes; rank: D's. */
static void groups_of_result(const llrt_dot_params *params, int rank, int64_t group[2]) {
  group[0] = group[1] = 0;
  for (int i = 0; i < params->n_maps && i < LLRT_MAX_MAPS; i++)
    for (int a = 0; a < 2 && params->maps[i].kind == LLRT_MAP_SCALE && rank >= 2; a++)
      group[a] = params->maps[i].group[rank - 2 + a];
}

static llrt_status take_params(const llrt_dot_params *params, llrt_dot_params *out) {
  LLRT_TRY(LLRT_PARAMS_READ(llrt_dot_params, params, out));
  LLRT_REQUIRE(out->n_maps >= 0 && out->n_maps <= LLRT_MAX_MAPS, "params: %d maps, not 0 to %d",
               out->n_maps, LLRT_MAX_MAPS);
  LLRT_REQUIRE(out->maps || out->n_maps == 0, "params: maps is NULL, n_maps %d", out->n_maps);
  LLRT_REQUIRE(llrt_params_are_zero(out->a.reserved, sizeof out->a.reserved) &&
                   llrt_params_are_zero(out->b.reserved, sizeof out->b.reserved),
               "params: a reserved field of a or b is not 0");
  LLRT_REQUIRE(!out->ends || !out->experts,
               "params: ends and experts, of which one says whose positions are");
  LLRT_REQUIRE(!out->alpha || !isnan(*out->alpha), "params: alpha is NaN");
  LLRT_REQUIRE(!out->beta || !isnan(*out->beta), "params: beta is NaN");
  for (int i = 0; i < 2; i++) {
    LLRT_REQUIRE(out->a.scale || out->a.zero || !out->a.group[i],
                 "params: groups of A, which has neither scales nor zero points");
    LLRT_REQUIRE(out->b.scale || out->b.zero || !out->b.group[i],
                 "params: groups of B, which has neither scales nor zero points");
  }
  if (!out->beta || *out->beta == 0) out->c = NULL;
  LLRT_REQUIRE(!out->a.range_high || out->a.scale,
               "params: a promise for scales of A, which there are none");
  LLRT_REQUIRE(!out->b.range_high || out->b.scale,
               "params: a promise for scales of B, which there are none");
  return LLRT_OK;
}

static void fill_numbers(const llrt_dot_params *params, op_description *desc) {
  op_dot *dot = &desc->dot;
  dot->alpha = params->alpha ? *params->alpha : 1;
  dot->beta = params->c ? *params->beta : 0;
  dot->has_alpha = dot->alpha != 1;
  dot->has_beta = params->c && dot->beta != 1;
  dot->accumulate = params->accumulate;
  dot->tf32 = params->tf32;
  dot->fast_accumulate = params->fast_accumulate;
  dot->batch_invariant = params->batch_invariant;
  dot->scale_range[0][0] = params->a.range_low;
  dot->scale_range[0][1] = params->a.range_high;
  dot->scale_range[1][0] = params->b.range_low;
  dot->scale_range[1][1] = params->b.range_high;
  memcpy(dot->word_bits[0], params->a.word_bits, sizeof dot->word_bits[0]);
  memcpy(dot->word_bits[1], params->b.word_bits, sizeof dot->word_bits[1]);
  desc->n_maps = params->n_maps;
  for (int i = 0; i < params->n_maps; i++) {
    desc->maps[i].kind = params->maps[i].kind;
    memcpy(desc->maps[i].reserved, params->maps[i].reserved, sizeof desc->maps[i].reserved);
  }
}

static llrt_status fill_tensors(parts *all, dot_call *call) {
  _Static_assert((int)LLRT_DOT_ROLES <= LLRT_MAX_TENSORS, "all tensors that a dot can have");
  op_description *desc = &call->desc;
  for (int i = 0; i < all->n; i++) {
    const part *p = &all->part[i];
    LLRT_TRY(check_rank(p, all->rank, all->grouped));
    desc->dot.roles |= 1u << p->role;
    LLRT_TRY(fill_groups(all, p, desc->dot.group[i]));
    LLRT_TRY(expand(all, p, &call->storage[i], i < 3 ? call->index[i] : NULL, &desc->tensors[i]));
  }
  return LLRT_OK;
}

/* The ranks of A, B and D, and the operation's extents. */
static llrt_status take_shape(const llrt_tensor *a, const llrt_tensor *b, const llrt_tensor *d,
                              const dot_grouping *by, parts *all) {
  all->grouped = llrt_dot_is_grouped(by);
  if (all->grouped) {
    LLRT_TRY(llrt_dot_grouped_shape(a, b, d, by, all->extent, &all->ends, &all->cut));
    all->rank = DOT_GROUPED_RANK;
    return LLRT_OK;
  }
  LLRT_REQUIRE(a->rank >= 2 && a->rank < LLRT_MAX_RANK, "operand A has rank %d, not 2 to %d",
               a->rank, LLRT_MAX_RANK - 1);
  LLRT_REQUIRE(b->rank >= 2 && b->rank < LLRT_MAX_RANK, "operand B has rank %d, not 2 to %d",
               b->rank, LLRT_MAX_RANK - 1);
  int rank = a->rank > b->rank ? a->rank : b->rank;
  LLRT_REQUIRE(d->rank == rank, "result D has rank %d, not %d: batch axes, M, N", d->rank, rank);
  all->rank = rank + 1;
  for (int axis = 0; axis < rank; axis++) all->extent[axis] = d->shape[axis];
  all->extent[rank] = a->shape[a->rank - 1];
  return LLRT_OK;
}

/* The description, unchecked but for ranks and groups. */
static llrt_status describe(const llrt_tensor *a, const llrt_tensor *b, const llrt_tensor *d,
                            const llrt_dot_params *params, dot_call *call) {
  llrt_dot_params own;
  int64_t scale_group[2];
  parts all = {.n = 0};
  LLRT_TRY(take_params(params, &own));
  const dot_grouping by = {own.ends, own.experts};
  LLRT_TRY(take_shape(a, b, d, &by, &all));
  groups_of_result(&own, d->rank, scale_group);
  list_parts(a, b, d, &own, scale_group, &all);
  op_description_begin(&call->desc, LLRT_OP_DOT, all.n);
  fill_numbers(&own, &call->desc);
  call->desc.in_place = own.c && own.c->data && own.c->data == d->data;
  return fill_tensors(&all, call);
}

static llrt_status describe_checked(const llrt_tensor *a, const llrt_tensor *b,
                                    const llrt_tensor *d, const llrt_dot_params *params,
                                    dot_call *call) {
  LLRT_REQUIRE(a, "a is NULL");
  LLRT_REQUIRE(b, "b is NULL");
  LLRT_REQUIRE(d, "d is NULL");
  LLRT_TRY(describe(a, b, d, params, call));
  LLRT_TRY(llrt_validate_desc(&call->desc));
  return llrt_validate_dot_shapes(&call->desc, call->desc.tensors, NULL);
}

/* What llrt_dot_describe gives: one block, which begins with what the caller sees. */
typedef struct described {
  llrt_op_desc shown;
  dot_call call;
} described;

llrt_status llrt_dot_describe(const llrt_tensor *a, const llrt_tensor *b, const llrt_tensor *d,
                              const llrt_dot_params *params, llrt_op_desc **desc) {
  LLRT_ENTRY();
  LLRT_REQUIRE(desc, "desc is NULL");
  *desc = NULL;
  described *made = memory_new(sizeof *made);
  if (!made) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a description");
  llrt_status status = describe_checked(a, b, d, params, &made->call);
  if (status != LLRT_OK) {
    free(made);
    return status;
  }
  made->shown = op_description_show(&made->call.desc);
  *desc = &made->shown;
  return LLRT_OK;
}

/* ---- the calls ---- */

static llrt_status call_dot(const llrt_tensor *a, const llrt_tensor *b, const llrt_tensor *d,
                            const llrt_dot_params *params, void *stream, dot_call *call) {
  LLRT_TRY(describe_checked(a, b, d, params, call));
  LLRT_TRY(llrt_validate_tensors(call->desc.tensors, call->desc.n_tensors, call->desc.dot.roles,
                                 stream));
  return llrt_op_call(&call->desc, NULL, stream);
}

/* The description is too large for the stacks of coroutines. */
llrt_status llrt_dot_into(const llrt_tensor *a, const llrt_tensor *b, const llrt_tensor *d,
                          const llrt_dot_params *params, void *stream) {
  LLRT_ENTRY();
  dot_call *call = memory_new(sizeof *call);
  if (!call) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a description");
  llrt_status status = call_dot(a, b, d, params, stream, call);
  free(call);
  return status;
}

/* The type that a result has where nobody asks for another. Types that do not go together: any, and
 * the description's check says so. */
static llrt_dtype default_type(const op_description *desc) {
  dot_operand_type a = dot_operand_of(desc, LLRT_DOT_A), b = dot_operand_of(desc, LLRT_DOT_B);
  bool exist = dot_operand_exists(a.element) && dot_operand_exists(b.element);
  dot_rule rule;
  if (!exist || dot_scaling_check(&a) || dot_scaling_check(&b)) return LLRT_F32;
  if (!dot_rule_find(&a, &b, desc->dot.accumulate, desc->dot.tf32, &rule)) return LLRT_F32;
  return rule.result;
}

static llrt_status find_type(const llrt_tensor *a, const llrt_tensor *b,
                             const llrt_dot_params *params, llrt_tensor *d) {
  dot_call *call = memory_new(sizeof *call);
  if (!call) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a description");
  llrt_status status = describe(a, b, d, params, call);
  if (status == LLRT_OK) d->dtype = default_type(&call->desc);
  free(call);
  return status;
}

llrt_status llrt_dot_result(const llrt_tensor *a, const llrt_tensor *b,
                            const llrt_dot_params *params, llrt_tensor *d) {
  LLRT_ENTRY();
  LLRT_REQUIRE(d, "d is NULL");
  *d = (llrt_tensor){.rank = 0};
  LLRT_REQUIRE(a, "a is NULL");
  LLRT_REQUIRE(b, "b is NULL");
  *d = (llrt_tensor){.device = a->device, .rank = a->rank > b->rank ? a->rank : b->rank};
  LLRT_REQUIRE(a->rank >= 2 && b->rank >= 2 && d->rank < LLRT_MAX_RANK,
               "operands of rank %d and %d, not 2 to %d", a->rank, b->rank, LLRT_MAX_RANK - 1);
  llrt_dot_params own;
  LLRT_TRY(LLRT_PARAMS_READ(llrt_dot_params, params, &own));
  const dot_grouping by = {own.ends, own.experts};
  const bool grouped = llrt_dot_is_grouped(&by);
  bool grouped_rows = grouped && b->rank == 3; /* whose result lacks the axis of experts */
  if (grouped_rows) d->rank = 2;
  if (grouped && !grouped_rows) LLRT_TRY(llrt_dot_grouped_sums(a, b, &by, d));
  for (int axis = 0; axis < d->rank - 2 && !grouped; axis++) {
    int in_a = axis - (d->rank - a->rank), in_b = axis - (d->rank - b->rank);
    int64_t of_a = in_a < 0 ? 1 : a->shape[in_a], of_b = in_b < 0 ? 1 : b->shape[in_b];
    d->shape[axis] = of_a == 1 ? of_b : of_a;
  }
  d->shape[d->rank - 2] = a->shape[a->rank - 2];
  d->shape[d->rank - 1] = b->shape[b->rank - 1];
  d->dtype = own.dtype;
  LLRT_TRY(llrt_result_check_dtype(d->dtype));
  return d->dtype ? LLRT_OK : find_type(a, b, &own, d);
}

llrt_status llrt_dot(const llrt_tensor *a, const llrt_tensor *b, const llrt_storage *storage,
                     const llrt_dot_params *params, void *stream, llrt_tensor *result) {
  LLRT_ENTRY();
  LLRT_REQUIRE(result, "result is NULL");
  memset(result, 0, sizeof *result);
  LLRT_REQUIRE(a, "a is NULL");
  LLRT_REQUIRE(b, "b is NULL");
  llrt_tensor shape, made;
  LLRT_TRY(llrt_dot_result(a, b, params, &shape));
  LLRT_TRY(llrt_result_make(&shape, storage, LLRT_DTYPE_NONE, stream, &made));
  return llrt_result_settle(llrt_dot_into(a, b, &made, params, stream), &made, stream, result);
}
