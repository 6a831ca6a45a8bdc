#include "runtime/description_bytes.h"

#include "base/status.h"
#include "runtime/compute_axes.h"
#include "runtime/op_kinds.h"
#include "runtime/validate.h"

#include <string.h>

/* ---- writing ---- */

static void put_layout(llrt_text *out, const llrt_layout *layout) {
  put(out, layout->n_in);
  put(out, layout->n_out);
  int bits = 0;
  for (int i = 0; i < layout->n_in; i++) {
    put_bytes(out, layout->in[i].name, LLRT_NAME_BYTES);
    put(out, layout->in[i].bits);
    bits += layout->in[i].bits;
  }
  for (int i = 0; i < layout->n_out; i++) {
    put_bytes(out, layout->out[i].name, LLRT_NAME_BYTES);
    put(out, layout->out[i].bits);
  }
  for (int i = 0; i < bits; i++) put(out, (int64_t)layout->column[i]);
}

static void put_storage(llrt_text *out, const llrt_storage *storage) {
  put(out, storage->n_digits);
  for (int i = 0; i < storage->n_digits; i++) {
    put(out, storage->digit[i].extent);
    put(out, storage->digit[i].stride);
    put(out, storage->digit[i].axis);
    put(out, storage->digit[i].target);
    put(out, storage->digit[i].reversed);
  }
  put_layout(out, &storage->tile);
  put(out, storage->swizzle.per_element);
  put(out, storage->swizzle.swizzle_len);
  put(out, storage->swizzle.atom_len);
  put(out, storage->swizzle.upward);
  put(out, storage->pad);
  put(out, (int64_t)storage->pad_value);
  put(out, storage->n_targets);
  for (int t = 0; t < storage->n_targets; t++) put_bytes(out, storage->target[t], LLRT_NAME_BYTES);
  for (int t = 0; t <= storage->n_targets; t++) put(out, storage->offset[t]);
}

static void put_indices(llrt_text *out, const storage_set *set, int tensor) {
  put(out, set->n_indices[tensor]);
  for (int i = 0; i < set->n_indices[tensor]; i++) {
    const llrt_index *index = &set->index[tensor][i];
    put(out, index->axis);
    put(out, index->kind);
    put(out, index->out_of_range);
    put(out, index->dtype);
    put(out, index->axes);
    put(out, index->folded);
  }
}

static void put_promise(llrt_text *out, const llrt_promise *promise) {
  put(out, promise->multiple);
  put(out, promise->min);
  put(out, promise->max);
}

/* Of each kind its own fields. */
static void put_map(llrt_text *out, const llrt_map *map) {
  put(out, map->kind);
  if (map->kind == LLRT_MAP_XOR) put(out, (int64_t)map->constant);
  if (map->kind == LLRT_MAP_WORD_BITS) put_bytes(out, map->perm, sizeof map->perm);
  for (int axis = 0; map->kind == LLRT_MAP_SCALE && axis < LLRT_MAX_RANK; axis++)
    put(out, map->group[axis]);
}

static void put_dot(llrt_text *out, const op_description *desc, int rank) {
  const op_dot *dot = &desc->dot;
  put(out, dot->roles);
  put_bytes(out, &dot->alpha, sizeof dot->alpha);
  put_bytes(out, &dot->beta, sizeof dot->beta);
  put(out, dot->has_alpha);
  put(out, dot->has_beta);
  put(out, dot->accumulate);
  for (int i = 0; i < 4; i++) put(out, dot->scale_range[i / 2][i % 2]);
  put_bytes(out, dot->word_bits, sizeof dot->word_bits);
  put(out, dot->tf32);
  put(out, dot->fast_accumulate);
  put(out, dot->batch_invariant);
  for (int t = 0; t < desc->n_tensors; t++)
    for (int a = 0; a < rank; a++) put(out, dot->group[t][a]);
}

static void put_program(llrt_text *out, const expr_program *program) {
  put(out, program->rank);
  put(out, program->leading);
  put(out, program->n_nodes);
  put(out, program->n_scalars);
  put(out, program->reduced);
  put_bytes(out, program->scalar, sizeof program->scalar);
  for (int t = 0; t < program->n_tensors; t++) {
    const program_tensor *tensor = &program->tensor[t];
    const uint8_t fields[] = {tensor->axes, (uint8_t)(tensor->output | tensor->words << 1),
                              tensor->node, tensor->store};
    put_bytes(out, fields, sizeof fields);
    if (tensor->words) put_bytes(out, program->words[tensor->words - 1], 32);
    put(out, (int64_t)tensor->flipped << 16 | tensor->taken);
  }
  for (int i = 0; i < program->n_nodes; i++) {
    const program_node *node = &program->node[i];
    const uint8_t fields[] = {node->op,      node->type,     node->from,    node->n_args,
                              node->arg[0],  node->arg[1],   node->arg[2],  node->slot,
                              node->through, node->rounding, node->reduced, node->axes};
    put_bytes(out, fields, sizeof fields);
    put(out, (int64_t)node->bits);
  }
}

void llrt_description_write(llrt_text *out, const op_description *desc, const storage_set *set) {
  put(out, desc->kind);
  put(out, set->n);
  put(out, set->rank);
  put(out, desc->in_place);
  put(out, desc->combine.op);
  put(out, desc->combine.accumulate);
  put(out, desc->combine.axes);
  put(out, desc->combine.exclusive);
  put(out, desc->combine.reverse);
  put(out, desc->n_maps);
  for (int i = 0; i < desc->n_maps; i++) put_map(out, &desc->maps[i]);
  if (desc->kind == LLRT_OP_DOT) put_dot(out, desc, set->rank);
  if (desc->kind == LLRT_OP_COMPUTE) put_program(out, &desc->program);
  for (int i = 0; i < set->n; i++) {
    put(out, desc->tensors[i].dtype);
    put_storage(out, &set->storage[i]);
    put_indices(out, set, i);
    put(out, set->device_extents[i]);
    put_promise(out, &desc->promises[i].address);
    for (int axis = 0; axis < set->rank; axis++) {
      put_promise(out, &desc->promises[i].shape[axis]);
      put_promise(out, &desc->promises[i].stride[axis]);
    }
    for (int x = 0; x < set->n_indices[i]; x++) {
      put(out, desc->promises[i].index[x].along);
      put(out, desc->promises[i].index[x].multiple);
    }
  }
}

/* ---- reading ---- */

static void get_dim(reader *in, llrt_dim *dim) {
  get_bytes(in, dim->name, LLRT_NAME_BYTES);
  dim->bits = (uint8_t)get_within(in, 0, LLRT_MAX_BITS);
}

static void get_layout(reader *in, llrt_layout *layout) {
  layout->n_in = (uint8_t)get_within(in, 0, LLRT_MAX_IN_DIMS);
  layout->n_out = (uint8_t)get_within(in, 0, LLRT_MAX_OUT_DIMS);
  int bits = 0;
  for (int i = 0; i < layout->n_in; i++) {
    get_dim(in, &layout->in[i]);
    bits += layout->in[i].bits;
  }
  for (int i = 0; i < layout->n_out; i++) get_dim(in, &layout->out[i]);
  if (bits > LLRT_MAX_BITS) in->bad = true;
  for (int i = 0; i < bits && !in->bad; i++) layout->column[i] = (uint64_t)get(in);
}

static void get_storage(reader *in, int rank, llrt_storage *storage) {
  storage->rank = rank;
  storage->n_digits = get_within(in, 0, LLRT_MAX_DIGITS);
  for (int i = 0; i < storage->n_digits; i++) {
    storage->digit[i].extent = get(in);
    storage->digit[i].stride = get(in);
    storage->digit[i].axis = get_within(in, LLRT_AXIS_REPLICA, LLRT_MAX_RANK - 1);
    storage->digit[i].target = (int16_t)get_within(in, 0, LLRT_MAX_TARGETS);
    storage->digit[i].reversed = get_within(in, 0, 1) != 0;
  }
  get_layout(in, &storage->tile);
  storage->swizzle.per_element = (uint8_t)get_within(in, 0, 255);
  storage->swizzle.swizzle_len = (uint8_t)get_within(in, 0, 255);
  storage->swizzle.atom_len = (uint8_t)get_within(in, 0, 255);
  storage->swizzle.upward = (uint8_t)get_within(in, 0, 1);
  storage->pad = get_within(in, LLRT_PAD_NONE, LLRT_PAD_VALUE);
  storage->pad_value = (uint64_t)get(in);
  storage->n_targets = get_within(in, 0, LLRT_MAX_TARGETS);
  for (int t = 0; t < storage->n_targets; t++) get_bytes(in, storage->target[t], LLRT_NAME_BYTES);
  for (int t = 0; t <= storage->n_targets; t++) storage->offset[t] = get(in);
}

static int get_indices(reader *in, llrt_index *indices) {
  int n = get_within(in, 0, LLRT_MAX_INDICES);
  for (int i = 0; i < n; i++) {
    indices[i].axis = get_within(in, 0, LLRT_MAX_RANK - 1);
    indices[i].kind = get_within(in, LLRT_INDEX_COORDINATE, LLRT_INDEX_POINTER);
    indices[i].out_of_range = get_within(in, LLRT_RANGE_SKIP, LLRT_RANGE_REPORT);
    indices[i].dtype = (llrt_dtype)get_within(in, LLRT_DTYPE_NONE + 1, LLRT_DTYPE_COUNT - 1);
    indices[i].axes = (uint32_t)get_within(in, 0, (1 << LLRT_MAX_RANK) - 1);
    indices[i].folded = (uint32_t)get_within(in, 0, (1 << LLRT_MAX_RANK) - 1);
  }
  return n;
}

static void get_promise(reader *in, llrt_promise *promise) {
  promise->multiple = get(in);
  promise->min = get(in);
  promise->max = get(in);
}

static void get_promises(reader *in, int rank, int n_indices, llrt_tensor_promise *promises) {
  get_promise(in, &promises->address);
  for (int axis = 0; axis < rank; axis++) {
    get_promise(in, &promises->shape[axis]);
    get_promise(in, &promises->stride[axis]);
  }
  for (int i = 0; i < n_indices; i++) {
    promises->index[i].along = get_within(in, 0, LLRT_MAX_RANK);
    promises->index[i].multiple = get_within(in, 0, INT32_MAX);
  }
}

static void get_map(reader *in, llrt_map *map) {
  map->kind = (llrt_map_kind)get_within(in, LLRT_MAP_XOR, LLRT_MAP_SILU);
  if (map->kind == LLRT_MAP_XOR) map->constant = (uint64_t)get(in);
  if (map->kind == LLRT_MAP_WORD_BITS) get_bytes(in, map->perm, sizeof map->perm);
  for (int axis = 0; map->kind == LLRT_MAP_SCALE && axis < LLRT_MAX_RANK; axis++)
    map->group[axis] = get(in);
}

static void get_dot(reader *in, op_description *desc, int rank) {
  op_dot *dot = &desc->dot;
  dot->roles = (uint32_t)get_within(in, 1, (1 << LLRT_DOT_ROLES) - 1);
  get_bytes(in, &dot->alpha, sizeof dot->alpha);
  get_bytes(in, &dot->beta, sizeof dot->beta);
  dot->has_alpha = get_within(in, 0, 1);
  dot->has_beta = get_within(in, 0, 1);
  dot->accumulate = (llrt_dtype)get_within(in, 0, LLRT_DTYPE_COUNT - 1);
  for (int i = 0; i < 4; i++) dot->scale_range[i / 2][i % 2] = (uint8_t)get_within(in, 0, 255);
  get_bytes(in, dot->word_bits, sizeof dot->word_bits);
  dot->tf32 = get_within(in, 0, 1);
  dot->fast_accumulate = get_within(in, 0, 1);
  dot->batch_invariant = get_within(in, 0, 1);
  for (int t = 0; t < desc->n_tensors; t++)
    for (int a = 0; a < rank; a++) dot->group[t][a] = get_within(in, LLRT_GROUP_ALL, INT32_MAX);
}

static void get_program(reader *in, op_description *desc) {
  expr_program *program = &desc->program;
  memset(program, 0, sizeof *program);
  program->rank = get_within(in, 0, LLRT_MAX_RANK);
  program->leading = get_within(in, 0, LLRT_MAX_RANK);
  program->n_tensors = desc->n_tensors;
  program->n_nodes = get_within(in, 1, PROGRAM_MAX_NODES);
  program->n_scalars = get_within(in, 0, LLRT_EXPR_MAX_SCALARS);
  program->reduced = (uint8_t)get_within(in, 0, UINT8_MAX);
  get_bytes(in, program->scalar, sizeof program->scalar);
  for (int t = 0; t < program->n_tensors && !in->bad; t++) {
    program_tensor *tensor = &program->tensor[t];
    uint8_t fields[4] = {0};
    get_bytes(in, fields, sizeof fields);
    uint8_t words = fields[1] >> 1;
    in->bad |= words > PROGRAM_MAX_WORDS;
    if (words && !in->bad) get_bytes(in, program->words[words - 1], 32);
    int64_t moved = get(in);
    *tensor = (program_tensor){.axes = fields[0],
                               .output = (fields[1] & 1) != 0,
                               .words = words,
                               .node = fields[2],
                               .store = fields[3],
                               .flipped = (uint16_t)(moved >> 16),
                               .taken = (uint16_t)moved};
  }
  for (int i = 0; i < program->n_nodes && !in->bad; i++) {
    program_node *node = &program->node[i];
    uint8_t fields[12] = {0};
    get_bytes(in, fields, sizeof fields);
    *node = (program_node){.op = fields[0],
                           .type = fields[1],
                           .from = fields[2],
                           .n_args = fields[3],
                           .arg = {fields[4], fields[5], fields[6]},
                           .slot = fields[7],
                           .through = fields[8],
                           .rounding = fields[9],
                           .reduced = fields[10],
                           .axes = fields[11]};
    node->bits = (uint64_t)get(in);
  }
  if (in->bad || !program_is_valid(program)) in->bad = true;
  else compute_set_groups(desc);
  desc->dot.roles = LLRT_ROLES_NUMBERED;
}

llrt_status llrt_description_read(reader *in, op_description *desc, storage_set *set) {
  llrt_storage storages[LLRT_MAX_TENSORS] = {0};
  desc->kind = (llrt_op_kind)get_within(in, 1, llrt_op_kind_last());
  desc->n_tensors = get_within(in, 2, LLRT_MAX_TENSORS);
  int rank = get_within(in, 0, LLRT_MAX_RANK);
  static const int32_t somewhere = 0;
  llrt_index indices[LLRT_MAX_TENSORS][LLRT_MAX_INDICES] = {0};
  desc->in_place = get_within(in, 0, 1);
  desc->combine.op = (llrt_combiner)get_within(in, 0, LLRT_COMBINE_ALL);
  desc->combine.accumulate = (llrt_dtype)get_within(in, 0, LLRT_DTYPE_COUNT - 1);
  desc->combine.axes = (uint32_t)get_within(in, 0, (1 << LLRT_MAX_RANK) - 1);
  desc->combine.exclusive = get_within(in, 0, 1);
  desc->combine.reverse = get_within(in, 0, 1);
  desc->n_maps = get_within(in, 0, LLRT_MAX_MAPS);
  for (int i = 0; i < desc->n_maps; i++) get_map(in, &desc->maps[i]);
  if (desc->kind == LLRT_OP_DOT) get_dot(in, desc, rank);
  if (desc->kind == LLRT_OP_COMPUTE) get_program(in, desc);
  for (int i = 0; i < desc->n_tensors; i++) {
    llrt_dtype dtype = (llrt_dtype)get_within(in, LLRT_DTYPE_NONE + 1, LLRT_DTYPE_COUNT - 1);
    get_storage(in, rank, &storages[i]);
    int n_indices = get_indices(in, indices[i]);
    int on_device = get_within(in, 0, (1 << rank) - 1);
    get_promises(in, rank, n_indices, &desc->promises[i]);
    desc->tensors[i] = (llrt_tensor){.dtype = dtype,
                                     .rank = rank,
                                     .storage = &storages[i],
                                     .indices = indices[i],
                                     .n_indices = n_indices};
    for (int axis = 0; axis < rank; axis++)
      if (on_device >> axis & 1) desc->tensors[i].extent_ptr[axis] = &somewhere;
  }
  if (in->bad) return llrt_error(LLRT_CORRUPT, "the saved kernel contradicts itself");
  llrt_status status = llrt_validate_desc(desc);
  if (status == LLRT_OK)
    status = llrt_storage_set_init(desc->tensors, desc->n_tensors, desc->dot.roles, set);
  for (int i = 0; i < desc->n_tensors; i++) {
    desc->tensors[i].storage = NULL;
    desc->tensors[i].indices = NULL;
  }
  return status == LLRT_OK ? LLRT_OK : llrt_error_prefix(LLRT_CORRUPT, "the saved kernel");
}
