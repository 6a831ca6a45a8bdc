#include "expression/program_parts.h"
#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/types/tensor_role.h"
#include "runtime/index_check.h"
#include "runtime/validate.h"

#include <string.h>

static const char *called(int t) { return op_tensor_called(LLRT_ROLES_NUMBERED, t); }

/* The type that tensor t has in the program. */
static llrt_status check_type(const expr_program *program, const llrt_tensor *tensor, int t) {
  llrt_dtype wanted = (llrt_dtype)program->tensor[t].store;
  for (int i = 0; i < program->n_nodes && !program->tensor[t].output; i++)
    if (program->node[i].op == EXPR_TENSOR && program->node[i].slot == t)
      wanted = (llrt_dtype)program->node[i].from;
  LLRT_REQUIRE(tensor->dtype == wanted, "the %s is %s, in the program %s", called(t),
               llrt_dtype_name(tensor->dtype), llrt_dtype_name(wanted));
  return LLRT_OK;
}

/* Of rows that are not joined. */
static llrt_status check_counts(const expr_program *program, const llrt_tensor *tensor, int t) {
  for (int a = 0; a < tensor->rank; a++)
    if (tensor->extent_ptr[a] && program->reduced >> a & 1)
      return llrt_error(LLRT_UNSUPPORTED,
                        "the %s has its extent in device memory along axis %d, which is joined",
                        called(t), a);
  return LLRT_OK;
}

llrt_status llrt_validate_compute(const op_description *desc) {
  const expr_program *program = &desc->program;
  LLRT_REQUIRE(desc->n_maps == 0 && !desc->in_place, "a compute has no maps and no in_place");
  LLRT_REQUIRE(program_is_valid(program), "the program contradicts itself");
  LLRT_REQUIRE(desc->n_tensors == program->n_tensors && desc->tensors[0].rank == program->rank,
               "the program has %d tensors of rank %d, the description %d of rank %d",
               program->n_tensors, program->rank, desc->n_tensors, desc->tensors[0].rank);
  for (int t = 0; t < desc->n_tensors; t++) {
    const llrt_tensor *tensor = &desc->tensors[t];
    LLRT_TRY(check_type(program, tensor, t));
    LLRT_TRY(llrt_index_check_class(tensor, called(t), program->tensor[t].output));
    LLRT_TRY(check_counts(program, tensor, t));
  }
  return LLRT_OK;
}

/* Counts in device memory: of an axis one address. */
static llrt_status check_count_addresses(const llrt_tensor *tensors, int n, int axis) {
  const int32_t *known = NULL;
  for (int t = 0; t < n; t++) {
    const int32_t *at = tensors[t].extent_ptr[axis];
    if (!at) continue;
    LLRT_REQUIRE((uintptr_t)at % sizeof *at == 0, "the %s's extent_ptr[%d] is no multiple of 4",
                 called(t), axis);
    LLRT_REQUIRE(!known || known == at, "extent_ptr[%d] is another one on the %s", axis, called(t));
    known = at;
  }
  return LLRT_OK;
}

llrt_status llrt_validate_compute_shapes(const op_description *desc, const llrt_tensor *tensors,
                                         const storage_set *set, int64_t extents[LLRT_MAX_RANK]) {
  const expr_program *program = &desc->program;
  memset(extents, 0, LLRT_MAX_RANK * sizeof *extents);
  for (int a = 0; a < program->rank; a++) {
    int64_t known = -1;
    for (int t = 0; t < set->n; t++) {
      int64_t extent = tensors[t].shape[a];
      bool has = program->tensor[t].axes >> a & 1;
      LLRT_REQUIRE(extent >= 0, "the %s's shape[%d] is %lld, not 0 or more", called(t), a,
                   (long long)extent);
      LLRT_REQUIRE(has || extent == 1,
                   "the %s's shape[%d] is %lld, not 1: the program has it without the axis",
                   called(t), a, (long long)extent);
      LLRT_REQUIRE(!has || known < 0 || known == extent,
                   "the %s's shape[%d] is %lld, others have %lld", called(t), a, (long long)extent,
                   (long long)known);
      if (has) known = extent;
    }
    extents[a] = known < 0 ? 1 : known;
    LLRT_TRY(check_count_addresses(tensors, set->n, a));
  }
  return LLRT_OK;
}

static bool has_elements(const program_tensor *tensor, int rank, const int64_t *extents) {
  for (int a = 0; a < rank; a++)
    if (tensor->axes >> a & 1 && extents[a] == 0) return false;
  return true;
}

bool llrt_compute_has_elements(const expr_program *program, const int64_t *extents) {
  for (int t = 0; t < program->n_tensors; t++)
    if (program->tensor[t].output && has_elements(&program->tensor[t], program->rank, extents))
      return true;
  return false;
}

/* Whether only the kernel that writes output o reads input t. */
static bool is_read_alone(const expr_program *program, int o, int t) {
  program_parts parts;
  bool alone = true;
  program_find_parts(program, &parts);
  for (int p = 0; p < parts.n; p++)
    if (parts.tensors[p] >> t & 1) alone &= parts.tensors[p] >> o & 1;
  return alone;
}

/* Whether output o may lie where input t does: each element is read by who writes it, before. */
static bool may_share(const op_description *desc, const storage_set *set, const op_call *call,
                      int o, int t) {
  const program_tensor *in = &desc->program.tensor[t], *out = &desc->program.tensor[o];
  return call->tensor[o].data == call->tensor[t].data && call->bits[o] == call->bits[t] &&
         call->tensor[o].n_indices == 0 && call->tensor[t].n_indices == 0 &&
         in->axes == out->axes && !in->flipped && !in->taken &&
         llrt_storage_equal(&set->storage[o], &set->storage[t]) &&
         memcmp(call->tensor[o].strides, call->tensor[t].strides, sizeof call->tensor[o].strides) ==
             0 &&
         is_read_alone(&desc->program, o, t);
}

/* Where values of indices decide what both tensors have, or addresses, no overlap can be told. */
static bool overlap_is_open(const op_call *call, int a, int b) {
  int64_t alignment;
  return (call->tensor[a].n_indices > 0 && call->tensor[b].n_indices > 0) ||
         llrt_index_has_pointers(&call->tensor[a], &alignment) ||
         llrt_index_has_pointers(&call->tensor[b], &alignment);
}

llrt_status llrt_validate_compute_memory(const op_description *desc, const storage_set *set,
                                         const op_call *call) {
  uintptr_t begin[LLRT_MAX_TENSORS], end[LLRT_MAX_TENSORS];
  for (int t = 0; t < call->n; t++) {
    int64_t bytes;
    begin[t] = (uintptr_t)call->tensor[t].data;
    bool past = llrt_storage_bytes(&call->binding[t], call->bits[t], &bytes) != LLRT_OK ||
                __builtin_add_overflow(begin[t], (uintptr_t)bytes, &end[t]);
    LLRT_REQUIRE(!past, "the %s ends past the address space", called(t));
  }
  for (int o = 0; o < call->n; o++)
    for (int t = 0; t < call->n && desc->program.tensor[o].output; t++) {
      bool apart = t == o || end[t] <= begin[o] || end[o] <= begin[t] || begin[o] == end[o] ||
                   begin[t] == end[t] || overlap_is_open(call, o, t);
      bool shares = !apart && !desc->program.tensor[t].output && may_share(desc, set, call, o, t);
      apart = apart || (!shares && llrt_call_beside(set, call, o, t));
      LLRT_REQUIRE(apart || shares, "the %s, which is written, overlaps the %s", called(o),
                   called(t));
    }
  return LLRT_OK;
}

/* Whether both begin at one place; what has no elements has none. */
static bool is_in_place(const op_call *call, int o, int t) {
  return call->tensor[o].data == call->tensor[t].data && call->binding[o].span > 0 &&
         call->binding[t].span > 0;
}

llrt_status llrt_validate_compute_halves(const op_description *desc, int kernels,
                                         const op_call *call) {
  program_parts parts;
  if (kernels == 1) return LLRT_OK;
  program_find_parts(&desc->program, &parts);
  if (kernels <= bits_max(parts.n, 1)) return LLRT_OK;
  for (int o = 0; o < call->n; o++)
    for (int t = 0; t < call->n && desc->program.tensor[o].output && call->bits[o] < 8; t++)
      if (!desc->program.tensor[t].output && is_in_place(call, o, t))
        return llrt_error(LLRT_UNSUPPORTED,
                          "the %s is in place of the %s, and no thread has whole bytes of its "
                          "4-bit elements: it is written by two kernels",
                          called(o), called(t));
  return LLRT_OK;
}
