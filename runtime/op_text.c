#include "runtime/op_text.h"

#include "base/memory.h"
#include "jit/plan/types/combine.h"
#include "jit/plan/types/dot_type.h"
#include "runtime/op_kinds.h"

#include <stdlib.h>

const char *llrt_op_kind_name(llrt_op_kind kind) { return llrt_op_kind_row((int)kind)->name; }

const char *llrt_tensor_word(const op_description *desc, int tensor) {
  static const char *const of_dot[LLRT_DOT_ROLES + 1] = {
      "a",       "d",      "b",        "c",   "bias",    "scale_a", "zero_a", "global_a",
      "scale_b", "zero_b", "global_b", "add", "scale_d", "ends",    "none"};
  if (desc->kind == LLRT_OP_DOT) return of_dot[dot_role(desc->dot.roles, tensor)];
  if (desc->kind == LLRT_OP_COMPUTE)
    return op_tensor_role(LLRT_ROLES_NUMBERED, tensor) + sizeof "tensor " - 1;
  return tensor == 0                    ? "source"
         : tensor == 1                  ? "destination"
         : desc->kind == LLRT_OP_REDUCE ? "values"
                                        : "scale";
}

static void add_storage(const llrt_storage *storage, llrt_text *text) {
  size_t length = 0;
  char printed[512], *longer = NULL, *own = printed;
  if (llrt_storage_print(storage, printed, sizeof printed, &length) != LLRT_OK)
    own = longer = memory_new(length + 1);
  if (longer) llrt_storage_print(storage, longer, length + 1, NULL);
  llrt_text_add(text, "%s", own ? own : "a storage");
  free(longer);
}

static void add_promise(const char *name, int axis, const llrt_promise *promise, llrt_text *text) {
  bool one = promise->max > 0 && promise->min == promise->max;
  if (one) llrt_text_add(text, " %s %d = %lld", name, axis, (long long)promise->max);
  else if (promise->multiple > 1)
    llrt_text_add(text, " %s %d by %lld", name, axis, (long long)promise->multiple);
  if (!one && promise->min > 0)
    llrt_text_add(text, " %s %d >= %lld", name, axis, (long long)promise->min);
  if (!one && promise->max > 0 && promise->max < INT32_MAX / 2)
    llrt_text_add(text, " %s %d <= %lld", name, axis, (long long)promise->max);
}

static void add_axes(uint32_t axes, llrt_text *text) {
  const char *between = "";
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++) {
    if (!(axes >> axis & 1)) continue;
    llrt_text_add(text, "%s%d", between, axis);
    between = ",";
  }
}

static void add_index(const llrt_index *index, const llrt_index_promise *promise, llrt_text *text) {
  static const char *const outside[] = {"skip", "zero", "clamp", "report"};
  llrt_text_add(text, " %s of axis %d in %s along ",
                index->kind == LLRT_INDEX_POINTER ? "pointers" : "indices", index->axis,
                llrt_dtype_name(index->dtype));
  add_axes(index->axes, text);
  if (index->folded) llrt_text_add(text, " folding ");
  add_axes(index->folded, text);
  llrt_text_add(text, " outside %s", outside[index->out_of_range]);
  if (promise->multiple > 1)
    llrt_text_add(text, " values along %d by %d", promise->along - 1, promise->multiple);
}

static void add_group(const int64_t *group, llrt_text *text) {
  int last = LLRT_MAX_RANK - 1;
  while (last > 0 && group[last] == 0) last--;
  for (int axis = 0; axis <= last; axis++)
    llrt_text_add(text, "%s%lld", axis ? "," : " ", (long long)group[axis]);
}

static void add_map(const llrt_map *map, llrt_text *text) {
  static const char *const names[] = {
      [LLRT_MAP_XOR] = "xor",  [LLRT_MAP_WORD_BITS] = "word bits", [LLRT_MAP_SCALE] = "scale",
      [LLRT_MAP_ADD] = "add",  [LLRT_MAP_RELU] = "relu",           [LLRT_MAP_GELU] = "gelu",
      [LLRT_MAP_SILU] = "silu"};
  llrt_text_add(text, "; map %s", names[map->kind]);
  if (map->kind == LLRT_MAP_XOR) llrt_text_add(text, " 0x%llx", (unsigned long long)map->constant);
  for (int i = 0; i < 32 && map->kind == LLRT_MAP_WORD_BITS; i++)
    llrt_text_add(text, "%s%d", i ? "," : " ", map->perm[i]);
  if (map->kind == LLRT_MAP_SCALE) add_group(map->group, text);
}

/* What is joined, along which axes; of a dot what it sums in. */
static void add_combine(const op_description *desc, llrt_text *text) {
  const llrt_op_combine *combine = &desc->combine;
  if (desc->kind != LLRT_OP_REDUCE && desc->kind != LLRT_OP_SCAN) return;
  llrt_text_add(text, " %s of axes ", combine_name((int)combine->op));
  add_axes(combine->axes, text);
  if (combine->accumulate) llrt_text_add(text, " in %s", llrt_dtype_name(combine->accumulate));
  llrt_text_add(text, "%s%s", combine->exclusive ? " exclusive" : "",
                combine->reverse ? " reverse" : "");
}

static void add_dot(const op_description *desc, llrt_text *text) {
  const op_dot *dot = &desc->dot;
  if (desc->kind != LLRT_OP_DOT) return;
  if (dot->accumulate) llrt_text_add(text, " in %s", llrt_dtype_name(dot->accumulate));
  llrt_text_add(text, "%s%s%s%s%s", dot->tf32 ? " tf32" : "",
                dot->fast_accumulate ? " fast sums" : "",
                dot->batch_invariant ? " batch invariant" : "", dot->has_alpha ? " alpha" : "",
                dot->has_beta ? " beta" : "");
  for (int i = 0; i < 2; i++) {
    if (dot->scale_range[i][1])
      llrt_text_add(text, " scales of %c %d to %d", i ? 'b' : 'a', dot->scale_range[i][0],
                    dot->scale_range[i][1]);
    if (!dot->word_bits[i][0] && !dot->word_bits[i][1]) continue;
    llrt_text_add(text, " words of %c", i ? 'b' : 'a');
    for (int bit = 0; bit < 32; bit++)
      llrt_text_add(text, "%s%d", bit ? "," : " ", dot->word_bits[i][bit]);
  }
}

static void add_tensor(const op_description *desc, const storage_set *set, int i, llrt_text *text) {
  const llrt_tensor_promise *promises = &desc->promises[i];
  llrt_text_add(text, "%s %s %s ", i ? ";" : "", op_tensor_role(set->roles, i),
                llrt_dtype_name(desc->tensors[i].dtype));
  add_storage(&set->storage[i], text);
  llrt_text_add(text, " address by %lld",
                (long long)(promises->address.multiple > 1 ? promises->address.multiple : 1));
  for (int axis = 0; axis < set->rank; axis++) {
    add_promise("axis", axis, &promises->shape[axis], text);
    if (promises->stride[axis].multiple > 1)
      llrt_text_add(text, " stride of axis %d by %lld", axis,
                    (long long)promises->stride[axis].multiple);
    if (desc->kind == LLRT_OP_DOT && desc->dot.group[i][axis] != 0)
      llrt_text_add(text, " group of axis %d = %d", axis, desc->dot.group[i][axis]);
    if (set->device_extents[i] >> axis & 1)
      llrt_text_add(text, " extent of axis %d on the device", axis);
  }
  for (int x = 0; x < set->n_indices[i]; x++)
    add_index(&set->index[i][x], &promises->index[x], text);
}

void llrt_op_describe(const op_description *desc, const storage_set *set, llrt_text *text) {
  llrt_text_add(text, "%s", llrt_op_kind_name(desc->kind));
  add_combine(desc, text);
  add_dot(desc, text);
  if (desc->kind == LLRT_OP_COMPUTE) { /* which keeps no text: what is the same has one hash */
    const llrt_hash program = program_hash(&desc->program);
    llrt_text_add(text, " program %016llx%016llx", (unsigned long long)program.high,
                  (unsigned long long)program.low);
  }
  for (int i = 0; i < set->n; i++) add_tensor(desc, set, i, text);
  for (int i = 0; i < desc->n_maps; i++) add_map(&desc->maps[i], text);
  if (desc->in_place) llrt_text_add(text, "; in place");
}
