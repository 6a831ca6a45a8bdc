/* The memory of a call: addresses, what may overlap what, and a destination that has one offset for
 * each element. */
#include "runtime/validate.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/kernel/launch.h"
#include "jit/plan/types/dot_type.h"
#include "runtime/index_check.h"

/* One place of an address: offsets 0, stride, … (extent - 1) * stride. */
typedef struct reach {
  int64_t extent, stride;
} reach;

/* Whether sum d_i * stride_i = target has a solution with |d_i| < extent_i over places [0, n),
 * strides falling with i. `span` is the largest sum that these places reach. Every call costs one
 * of *budget; with none left the answer is yes. */
static bool can_cancel(const reach *places, int n, int64_t target, int64_t span, int *budget) {
  if (--*budget < 0 || target == 0) return true;
  if (target < 0) target = -target;
  if (n == 0 || target > span) return false;
  int64_t inner = span - (places[0].extent - 1) * places[0].stride;
  int64_t low = (target - inner + places[0].stride - 1) / places[0].stride;
  if (target < inner) low = -((inner - target) / places[0].stride);
  for (int64_t d = low; d < places[0].extent && d * places[0].stride <= target + inner; d++) {
    if (d <= -places[0].extent) continue;
    if (can_cancel(places + 1, n - 1, target - d * places[0].stride, inner, budget)) return true;
  }
  return false;
}

/* The tile (offsets 0 .. 2^bits - 1) and the digits of more than one position, strides falling.
 * Returns how many. */
static int collect_places(const llrt_storage *storage, const llrt_storage_binding *binding,
                          reach *places) {
  int n = 0;
  reach tile = {(int64_t)1 << llrt_layout_in_bits(&storage->tile), 1};
  if (tile.extent > 1) places[n++] = tile;
  for (int i = 0; i < storage->n_digits; i++) {
    int64_t stride = binding->stride[i]; /* a reversed digit reaches as far down as another up */
    if (binding->extent[i] > 1)
      places[n++] = (reach){binding->extent[i], stride < 0 ? -stride : stride};
  }
  for (int i = 1; i < n; i++) {
    reach moved = places[i];
    int at = i;
    for (; at > 0 && places[at - 1].stride < moved.stride; at--) places[at] = places[at - 1];
    places[at] = moved;
  }
  return n;
}

/* No two elements share an offset. Two that did would differ by d_i at each place, not all zero,
 * with sum d_i * stride_i = 0. Strides above all that lies inside them exclude it at once;
 * otherwise the outermost place that differs (d >= 1) is tried against the places inside it. */
static llrt_status check_no_sharing(const llrt_storage *storage,
                                    const llrt_storage_binding *binding, const char *role) {
  reach places[LLRT_MAX_DIGITS + 1];
  int n = collect_places(storage, binding, places);
  int64_t span = 0;
  int budget = 4096; /* calls; ordinary storages need none */
  for (int i = n - 1; i >= 0; i--) {
    for (int64_t d = 1; d < places[i].extent && d * places[i].stride <= span; d++) {
      bool shared = can_cancel(places + i + 1, n - i - 1, d * places[i].stride, span, &budget);
      if (budget < 0) {
        return llrt_error(LLRT_UNSUPPORTED,
                          "cannot tell whether the %s puts two elements at one offset", role);
      }
      LLRT_REQUIRE(!shared, "the %s puts two elements at one offset (stride %lld)", role,
                   (long long)places[i].stride);
    }
    span += (places[i].extent - 1) * places[i].stride;
  }
  return LLRT_OK;
}

static llrt_status check_address(const llrt_tensor *tensor, int64_t span, int bits,
                                 const char *role) {
  int64_t alignment;
  if (llrt_index_has_pointers(tensor, &alignment)) {
    LLRT_REQUIRE(alignment % bits_max(bits / 8, 1) == 0,
                 "the %s's pointer list promises %lld bytes, less than an element", role,
                 (long long)alignment);
    return LLRT_OK;
  }
  if (span == 0) return LLRT_OK; /* every value of an index will be out of range */
  LLRT_REQUIRE(tensor->data, "the %s's data is NULL", role);
  LLRT_REQUIRE((uintptr_t)tensor->data % (unsigned)bits_max(bits / 8, 1) == 0,
               "the %s's data is not aligned to its %d-bit elements", role, bits);
  return LLRT_OK;
}

/* ---- side by side ---- */

/* What a tensor has of every so many bytes: those from `first` to `last` - 1 behind its data. */
typedef struct column {
  uint64_t first, last;
} column;

/* Bytes between two positions of a digit; 0: there are no two, or no whole bytes. */
static uint64_t digit_pitch(const op_call *call, int t, int digit) {
  const llrt_storage_binding *binding = &call->binding[t];
  uint64_t stride =
      (uint64_t)(binding->stride[digit] < 0 ? -binding->stride[digit] : binding->stride[digit]);
  if (binding->extent[digit] < 2) return 0;
  if (call->bits[t] < 8) return stride % 2 ? 0 : stride / 2;
  return stride * (uint64_t)(call->bits[t] / 8);
}

/* The column of digits whose positions lie `pitch` bytes apart, or a multiple of that; false: the
 * others reach further. */
static bool find_column(const storage_set *set, const op_call *call, int t, uint64_t pitch,
                        column *out) {
  const llrt_storage *storage = &set->storage[t];
  const llrt_storage_binding *binding = &call->binding[t];
  uint64_t low = (uint64_t)binding->origin[0];
  uint64_t high = low + (1ull << llrt_layout_in_bits(&storage->tile));
  if (storage->swizzle.swizzle_len > 0 || storage->n_targets > 0) return false;
  for (int i = 0; i < storage->n_digits; i++) {
    uint64_t apart = digit_pitch(call, t, i);
    if (binding->extent[i] < 2 || (apart > 0 && apart % pitch == 0)) continue;
    int64_t way = (binding->extent[i] - 1) * binding->stride[i];
    if (way < 0) low -= (uint64_t)-way;
    else high += (uint64_t)way;
  }
  bool halves = call->bits[t] < 8;
  uint64_t bytes = (uint64_t)call->bits[t] / 8;
  *out = (column){halves ? low / 2 : low * bytes, halves ? (high + 1) / 2 : high * bytes};
  return out->last - out->first <= pitch;
}

/* Whether two tensors have columns of `pitch` bytes that do not meet. */
static bool lie_beside(const storage_set *set, const op_call *call, int a, int b, uint64_t pitch) {
  column of_a, of_b;
  if (pitch == 0 || !find_column(set, call, a, pitch, &of_a) ||
      !find_column(set, call, b, pitch, &of_b))
    return false;
  uint64_t from_a = ((uintptr_t)call->tensor[a].data + of_a.first) % pitch;
  uint64_t from_b = ((uintptr_t)call->tensor[b].data + of_b.first) % pitch;
  uint64_t behind = (from_a + pitch - from_b) % pitch;
  return behind >= of_b.last - of_b.first && behind + (of_a.last - of_a.first) <= pitch;
}

bool llrt_call_beside(const storage_set *set, const op_call *call, int a, int b) {
  if (call->tensor[a].n_indices > 0 || call->tensor[b].n_indices > 0) return false;
  for (int i = 0; i < set->storage[a].n_digits; i++)
    if (lie_beside(set, call, a, b, digit_pitch(call, a, i))) return true;
  for (int i = 0; i < set->storage[b].n_digits; i++)
    if (lie_beside(set, call, a, b, digit_pitch(call, b, i))) return true;
  return false;
}

/* ---- overlap ---- */

/* Where the values of indices decide what is read and what is written, no overlap can be told:
 * within one pool blocks are copied to others. */
static bool overlap_is_open(const op_call *call, int read) {
  int64_t alignment;
  bool open = call->tensor[read].n_indices > 0 && call->tensor[PLAN_DESTINATION].n_indices > 0;
  open |= llrt_index_has_pointers(&call->tensor[read], &alignment);
  open |= llrt_index_has_pointers(&call->tensor[PLAN_DESTINATION], &alignment);
  return open || call->binding[read].span == 0 || call->binding[PLAN_DESTINATION].span == 0;
}

/* The tensor that may lie where the destination does, or -1. */
static int tensor_in_place(const op_description *desc) {
  if (!desc->in_place) return -1;
  return desc->kind == LLRT_OP_DOT ? dot_tensor(&desc->dot, LLRT_DOT_C) : 0;
}

/* In place: both tensors are one, or both are those of one list. */
static llrt_status check_same(const op_call *call, int same) {
  const llrt_tensor *read = &call->tensor[same], *written = &call->tensor[PLAN_DESTINATION];
  int64_t alignment;
  if (!llrt_index_has_pointers(read, &alignment) || !llrt_index_has_pointers(written, &alignment)) {
    LLRT_REQUIRE(read->data == written->data,
                 "the operation works in place; the tensors begin at two addresses");
    return LLRT_OK;
  }
  const llrt_index *a = &read->indices[0], *b = &written->indices[0];
  LLRT_REQUIRE(a->data == b->data && a->strides[a->axis] == b->strides[b->axis],
               "the operation works in place; the tensors have two lists of addresses");
  return LLRT_OK;
}

/* Source and destination in place, or what is read overlapping what is written; values: tensor 2 is
 * written, too. */
static llrt_status check_overlap(const op_description *desc, const storage_set *set,
                                 const op_call *call, bool values) {
  int same = tensor_in_place(desc);
  uintptr_t begin[LLRT_MAX_TENSORS] = {0}, end[LLRT_MAX_TENSORS] = {0};
  for (int i = 0; i < call->n; i++) {
    int64_t bytes;
    begin[i] = (uintptr_t)call->tensor[i].data;
    bool past = llrt_storage_bytes(&call->binding[i], call->bits[i], &bytes) != LLRT_OK ||
                __builtin_add_overflow(begin[i], (uintptr_t)bytes, &end[i]);
    LLRT_REQUIRE(!past, "the %s ends past the address space", op_tensor_called(desc->dot.roles, i));
  }
  int indexed = call->tensor[0].n_indices > 0 ? 0 : PLAN_DESTINATION;
  if (same >= 0) {
    LLRT_TRY(check_same(call, same));
  } else if (desc->kind == LLRT_OP_CONVERT && begin[0] == begin[1] && !overlap_is_open(call, 0)) {
    if (call->tensor[indexed].n_indices > 0)
      return llrt_error(
          LLRT_UNSUPPORTED,
          "source and destination begin at one address: with an index on the %s, elements "
          "would be read after others were written over them",
          op_tensor_called(0, indexed));
    return llrt_error(LLRT_UNSUPPORTED,
                      "source and destination begin at one address, and the operation "
                      "was not prepared in_place");
  }
  for (int i = 0; i < call->n; i++)
    LLRT_REQUIRE(i == PLAN_DESTINATION || i == same || overlap_is_open(call, i) ||
                     end[i] <= begin[1] || end[1] <= begin[i] ||
                     llrt_call_beside(set, call, i, PLAN_DESTINATION),
                 "%s and %s overlap", op_tensor_called(desc->dot.roles, i),
                 op_tensor_called(desc->dot.roles, PLAN_DESTINATION));
  bool apart = call->n < 3 || !values || end[0] <= begin[2] || end[2] <= begin[0] ||
               llrt_call_beside(set, call, 0, 2);
  LLRT_REQUIRE(apart, "source and values overlap");
  return LLRT_OK;
}

llrt_status llrt_validate_memory(const op_description *desc, const storage_set *set,
                                 const op_call *call) {
  bool values = desc->kind == LLRT_OP_REDUCE;
  for (int i = 0; i < call->n; i++)
    LLRT_TRY(check_address(&call->tensor[i], call->binding[i].span, call->bits[i],
                           op_tensor_called(set->roles, i)));
  if (desc->kind == LLRT_OP_COMPUTE) LLRT_TRY(llrt_validate_compute_memory(desc, set, call));
  else LLRT_TRY(check_overlap(desc, set, call, values));
  if (desc->kind == LLRT_OP_DOT) LLRT_TRY(llrt_validate_dot_memory(desc, set, call));
  bool compute = desc->kind == LLRT_OP_COMPUTE;
  for (int i = PLAN_DESTINATION; i < (values || compute ? call->n : 2); i++)
    if (!set->packed[i] && call->binding[i].span > 0 &&
        (!compute || desc->program.tensor[i].output))
      LLRT_TRY(
          check_no_sharing(&set->storage[i], &call->binding[i], op_tensor_called(set->roles, i)));
  return LLRT_OK;
}
