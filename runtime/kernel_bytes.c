/* The byte form of kernels: every number is eight bytes, little-endian, in the order of the
 * functions below; then a checksum over all of it. */
#include "runtime/kernel_bytes.h"

#include "base/hash.h"
#include "base/status.h"
#include "runtime/validate.h"

#include <llrt/llrt.h>

#include <stdlib.h>
#include <string.h>

#define MAGIC "llrtkern"
#define MAX_ARG_INDEX 128 /* a digit, an axis, or the bits of an element */
#define FORMAT_VERSION 13
#define CHECKSUM_BYTES 16
#define MAX_THREADS 1024 /* of a block, on any target */
#define MAX_CLUSTER 8    /* blocks, likewise */

/* A field added to the recipe must be written and read below, and the format's version raised. */
_Static_assert(sizeof(plan_launch) == 8 + 16 * PLAN_MAX_ARGS + 16 * PLAN_MAX_GRID + 24 +
                                          sizeof(plan_range) + sizeof(plan_walk) + sizeof(plan_view) +
                                          sizeof(plan_workspace) + 4,
               "plan_launch changed");
_Static_assert(sizeof(plan_range) == 16 * LLRT_MAX_RANK + 40, "plan_range changed");
_Static_assert(sizeof(plan_walk) == 8 + 32 * LLRT_MAX_RANK + 16, "plan_walk changed");
_Static_assert(sizeof(plan_view) == 12 + LLRT_MAX_RANK + 2 * LLRT_MAX_TENSORS, "plan_view changed");
_Static_assert(sizeof(plan_workspace) == 8 + 24 * PLAN_MAX_REGIONS, "plan_workspace changed");

/* ---- writing ---- */

static void put_bytes(llrt_text *out, const void *data, size_t size) {
  llrt_text_add_bytes(out, data, size);
}

static void put(llrt_text *out, int64_t value) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)((uint64_t)value >> (8 * i));
  put_bytes(out, bytes, sizeof bytes);
}

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
  for (int t = 0; t < storage->n_targets; t++)
    put_bytes(out, storage->target[t], LLRT_NAME_BYTES);
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

static void put_description(llrt_text *out, const llrt_op_desc *desc, const storage_set *set) {
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

static void put_places(llrt_text *out, const plan_grid_place *places, int n) {
  put(out, n);
  for (int i = 0; i < n; i++) {
    put(out, places[i].axis);
    put(out, places[i].padded);
    put(out, places[i].factor);
  }
}

static void put_walk(llrt_text *out, const plan_walk *walk) {
  put_places(out, walk->place, walk->n);
  put(out, walk->axes);
  put(out, walk->blocks);
  put(out, walk->least);
}

static void put_view(llrt_text *out, const plan_view *view) {
  put(out, view->used);
  if (!view->used) return;
  put(out, view->n);
  put(out, view->rank);
  for (int a = 0; a < view->rank; a++) put(out, view->axis[a]);
  for (int t = 0; t < LLRT_MAX_TENSORS; t++) {
    put(out, view->tensor[t]);
    put(out, view->ones[t]);
  }
}

static void put_workspace(llrt_text *out, const plan_workspace *workspace) {
  put(out, workspace->n);
  put(out, workspace->zero);
  put(out, workspace->clear);
  for (int i = 0; i < workspace->n; i++) {
    put(out, workspace->region[i].fixed);
    put(out, workspace->region[i].per_block);
    put(out, workspace->region[i].per_partial);
  }
}

static void put_launch(llrt_text *out, const plan_launch *launch) {
  put(out, launch->n_args);
  for (int i = 0; i < launch->n_args; i++) {
    put(out, launch->arg[i].kind);
    put(out, launch->arg[i].tensor);
    put(out, launch->arg[i].index);
    put(out, launch->arg[i].padded);
    put(out, launch->arg[i].factor);
  }
  put_places(out, launch->grid, launch->n_grid);
  put(out, launch->block_elements);
  put(out, launch->threads);
  put(out, launch->shared_bytes);
  put(out, launch->cluster);
  put(out, launch->stage);
  put(out, launch->later);
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++) {
    put(out, launch->range.min_extent[axis]);
    put(out, launch->range.max_extent[axis]);
  }
  put(out, launch->range.min_elements);
  put(out, launch->range.max_elements);
  put(out, launch->range.axes);
  put(out, launch->range.min_along);
  put(out, launch->range.max_across);
  put_walk(out, &launch->walk);
  put_view(out, &launch->view);
  put_workspace(out, &launch->workspace);
}

static void put_variant(llrt_text *out, const kernel_variant *variant) {
  put_launch(out, &variant->launch);
  put(out, variant->linked);
  put(out, variant->code ? (int64_t)variant->size : 0);
  if (variant->code) put_bytes(out, variant->code, variant->size);
}

llrt_status llrt_kernel_bytes_write(const char *target, const llrt_op_desc *desc,
                                    const storage_set *set, const kernel_variant *variants,
                                    int n_variants, llrt_text *bytes) {
  char target_field[32] = {0}, version_field[32] = {0};
  memcpy(target_field, target, strnlen(target, sizeof target_field - 1));
  memcpy(version_field, llrt_version(), strnlen(llrt_version(), sizeof version_field - 1));
  put_bytes(bytes, MAGIC, 8);
  put(bytes, FORMAT_VERSION);
  put_bytes(bytes, version_field, sizeof version_field);
  put_bytes(bytes, target_field, sizeof target_field);
  put_description(bytes, desc, set);
  put(bytes, n_variants);
  for (int i = 0; i < n_variants; i++) put_variant(bytes, &variants[i]);
  LLRT_TRY(llrt_text_status(bytes));
  llrt_hash checksum = llrt_hash_bytes(bytes->data, bytes->length);
  put(bytes, (int64_t)checksum.low);
  put(bytes, (int64_t)checksum.high);
  return llrt_text_status(bytes);
}

/* ---- reading ---- */

/* Once `bad`, every get gives zero and the rest of a function's work is harmless. */
typedef struct reader {
  const unsigned char *data;
  size_t left;
  bool bad;
} reader;

static void get_bytes(reader *in, void *out, size_t size) {
  memset(out, 0, size);
  if (in->bad || in->left < size) {
    in->bad = true;
    return;
  }
  memcpy(out, in->data, size);
  in->data += size;
  in->left -= size;
}

static int64_t get(reader *in) {
  unsigned char bytes[8];
  get_bytes(in, bytes, sizeof bytes);
  uint64_t value = 0;
  for (int i = 0; i < 8; i++) value |= (uint64_t)bytes[i] << (8 * i);
  return (int64_t)value;
}

/* A number that must lie in [low, high]; low when it does not. */
static int get_within(reader *in, int low, int high) {
  int64_t value = get(in);
  if (value >= low && value <= high) return (int)value;
  in->bad = true;
  return low;
}

static llrt_status contradiction(void) {
  return llrt_error(LLRT_CORRUPT, "the saved kernel contradicts itself");
}

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
  for (int t = 0; t < storage->n_targets; t++)
    get_bytes(in, storage->target[t], LLRT_NAME_BYTES);
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
  map->kind = (llrt_map_kind)get_within(in, LLRT_MAP_XOR, LLRT_MAP_SCALE);
  if (map->kind == LLRT_MAP_XOR) map->constant = (uint64_t)get(in);
  if (map->kind == LLRT_MAP_WORD_BITS) get_bytes(in, map->perm, sizeof map->perm);
  for (int axis = 0; map->kind == LLRT_MAP_SCALE && axis < LLRT_MAX_RANK; axis++)
    map->group[axis] = get(in);
}

/* The description, checked as a caller's would be. */
static llrt_status get_description(reader *in, kernel_image *image) {
  llrt_op_desc *desc = &image->desc;
  llrt_storage storages[LLRT_MAX_TENSORS] = {0};
  desc->kind = (llrt_op_kind)get_within(in, LLRT_OP_CONVERT, LLRT_OP_SCAN);
  desc->n_tensors = get_within(in, 2, 3);
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
  for (int i = 0; i < desc->n_tensors; i++) {
    llrt_dtype dtype = (llrt_dtype)get_within(in, LLRT_DTYPE_NONE + 1, LLRT_DTYPE_COUNT - 1);
    get_storage(in, rank, &storages[i]);
    int n_indices = get_indices(in, indices[i]);
    int on_device = get_within(in, 0, (1 << rank) - 1);
    get_promises(in, rank, n_indices, &desc->promises[i]);
    desc->tensors[i] = (llrt_tensor){.dtype = dtype, .rank = rank, .storage = &storages[i],
                                     .indices = indices[i], .n_indices = n_indices};
    for (int axis = 0; axis < rank; axis++)
      if (on_device >> axis & 1) desc->tensors[i].extent_ptr[axis] = &somewhere;
  }
  if (in->bad) return contradiction();
  llrt_status status = llrt_validate_desc(desc);
  if (status == LLRT_OK)
    status = llrt_storage_set_init(desc->tensors, desc->n_tensors, &image->set);
  for (int i = 0; i < desc->n_tensors; i++) {
    desc->tensors[i].storage = NULL;
    desc->tensors[i].indices = NULL;
  }
  return status == LLRT_OK ? LLRT_OK : llrt_error_prefix(LLRT_CORRUPT, "the saved kernel");
}

static void get_args(reader *in, plan_launch *launch) {
  launch->n_args = get_within(in, 0, PLAN_MAX_ARGS);
  for (int i = 0; i < launch->n_args; i++) {
    plan_arg *arg = &launch->arg[i];
    arg->kind = (uint8_t)get_within(in, PLAN_ARG_ADDRESS, PLAN_ARG_END);
    arg->tensor = (uint8_t)get_within(in, 0, LLRT_MAX_TENSORS - 1);
    arg->index = (uint8_t)get_within(in, 0, MAX_ARG_INDEX);
    arg->padded = (uint8_t)get_within(in, 0, 1);
    arg->factor = get(in);
  }
}

/* Whether an argument of a recipe that is read otherwise names what the stage has. */
static bool arg_fits(const plan_arg *arg, const storage_set *set, const plan_view *view) {
  if (arg->tensor >= (view->used ? view->n : set->n)) return false;
  int own = view->used ? view->tensor[arg->tensor] : arg->tensor; /* of the operation; < 0: workspace */
  int rank = view->used ? view->rank : set->rank;
  int digits = own < 0 ? rank : set->storage[own].n_digits;
  if (arg->factor < 0) return false;
  switch ((plan_arg_kind)arg->kind) {
    case PLAN_ARG_STRIDE: return arg->index < digits;
    case PLAN_ARG_CEIL:
    case PLAN_ARG_FLOOR:
    case PLAN_ARG_MAGIC:
    case PLAN_ARG_MAGIC_SHIFT: return arg->index < rank && arg->factor >= 1;
    case PLAN_ARG_INDEX_STRIDE:
      return own >= 0 && arg->index < set->n_indices[own] && arg->factor < set->rank;
    case PLAN_ARG_INDEX_DATA:
    case PLAN_ARG_INDEX_EXTENT:
    case PLAN_ARG_INDEX_REPORT: return own >= 0 && arg->index < set->n_indices[own];
    case PLAN_ARG_EXTENT_PTR:
      return own >= 0 && !view->used && set->device_extents[own] >> arg->index & 1;
    case PLAN_ARG_WORKSPACE: return arg->index < PLAN_MAX_REGIONS;
    case PLAN_ARG_ADDRESS:
    case PLAN_ARG_POSITIONS:
    case PLAN_ARG_TURNS:
    case PLAN_ARG_SHARE:
    case PLAN_ARG_SPLITS:
    case PLAN_ARG_PARTIAL:
    case PLAN_ARG_BEGIN:
    case PLAN_ARG_END: return true;
  }
  return false;
}

static bool recipe_fits(const plan_launch *launch, const storage_set *set) {
  int rank = launch->view.used ? launch->view.rank : set->rank;
  bool fits = true;
  for (int i = 0; i < launch->n_args; i++) fits &= arg_fits(&launch->arg[i], set, &launch->view);
  for (int i = 0; i < launch->n_grid; i++) fits &= launch->grid[i].axis < rank;
  for (int i = 0; i < launch->walk.n; i++) fits &= launch->walk.place[i].axis < rank;
  return fits;
}

static int get_places(reader *in, int most, plan_grid_place *places) {
  int n = get_within(in, 0, most);
  for (int i = 0; i < n; i++) {
    places[i].axis = (int8_t)get_within(in, PLAN_AXIS_SPLITS, LLRT_MAX_RANK - 1);
    places[i].padded = (uint8_t)get_within(in, 0, 1);
    places[i].factor = get(in);
    if (places[i].factor < 1 && places[i].axis != PLAN_AXIS_SPLITS) in->bad = true;
  }
  return n;
}

/* A number of bytes, turns or blocks that arithmetic may multiply. */
static int64_t get_size(reader *in) {
  int64_t value = get(in);
  if (value < 0 || value > (int64_t)1 << 40) in->bad = true;
  return in->bad ? 0 : value;
}

static void get_walk(reader *in, plan_walk *walk) {
  walk->n = get_places(in, LLRT_MAX_RANK * 2, walk->place);
  walk->axes = (uint32_t)get_within(in, 0, (1 << LLRT_MAX_RANK) - 1);
  walk->blocks = get_size(in);
  walk->least = get_size(in);
  if (walk->blocks > 0 && walk->least < 1) in->bad = true;
}

static void get_view(reader *in, const storage_set *set, plan_view *view, int regions) {
  view->used = get_within(in, 0, 1) != 0;
  if (!view->used) return;
  view->n = get_within(in, 1, LLRT_MAX_TENSORS);
  view->rank = get_within(in, 0, LLRT_MAX_RANK);
  for (int a = 0; a < view->rank; a++) {
    view->axis[a] = (int8_t)get_within(in, PLAN_AXIS_SPLITS, set->rank - 1);
    if (view->axis[a] == -1) in->bad = true;
  }
  for (int t = 0; t < LLRT_MAX_TENSORS; t++) {
    view->tensor[t] = (int8_t)get_within(in, -regions, set->n - 1);
    view->ones[t] = (uint8_t)get_within(in, 0, (1 << LLRT_MAX_RANK) - 1);
  }
}

static void get_workspace(reader *in, plan_workspace *workspace) {
  workspace->n = get_within(in, 0, PLAN_MAX_REGIONS);
  workspace->zero = get_within(in, 0, 1) != 0;
  workspace->clear = get_within(in, 0, 1) != 0;
  for (int i = 0; i < workspace->n; i++) {
    workspace->region[i].fixed = get_size(in);
    workspace->region[i].per_block = get_size(in);
    workspace->region[i].per_partial = get_size(in);
  }
}

static void get_grid(reader *in, plan_launch *launch) {
  launch->n_grid = get_places(in, PLAN_MAX_GRID, launch->grid);
  launch->block_elements = get_within(in, 0, INT32_MAX);
  launch->threads = get_within(in, 1, MAX_THREADS);
  launch->shared_bytes = get_within(in, 0, INT32_MAX);
  launch->cluster = get_within(in, 0, MAX_CLUSTER);
  launch->stage = get_within(in, 0, PLAN_MAX_VARIANTS - 1);
  launch->later = get_within(in, 0, PLAN_MAX_VARIANTS - 1);
}

static void get_variant(reader *in, const storage_set *set, kernel_variant *variant) {
  plan_launch *launch = &variant->launch;
  get_args(in, launch);
  get_grid(in, launch);
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++) {
    launch->range.min_extent[axis] = get(in);
    launch->range.max_extent[axis] = get(in);
  }
  launch->range.min_elements = get(in);
  launch->range.max_elements = get(in);
  launch->range.axes = (uint32_t)get_within(in, 0, (1 << LLRT_MAX_RANK) - 1);
  launch->range.min_along = get(in);
  launch->range.max_across = get(in);
  get_walk(in, &launch->walk);
  get_view(in, set, &launch->view, PLAN_MAX_REGIONS);
  get_workspace(in, &launch->workspace);
  if (!in->bad && !recipe_fits(launch, set)) in->bad = true;
  variant->linked = get_within(in, 0, 1) != 0;
  uint64_t size = (uint64_t)get(in);
  if (size > in->left) in->bad = true;
  if (in->bad || size == 0) return;
  variant->size = (size_t)size;
  variant->code = malloc(variant->size + 1);
  if (!variant->code) return;
  get_bytes(in, variant->code, variant->size);
  ((char *)variant->code)[variant->size] = 0;
}

static llrt_status check_frame(reader *in) {
  if (in->left < CHECKSUM_BYTES) {
    return llrt_error(LLRT_CORRUPT, "%zu bytes are no saved kernel", in->left);
  }
  reader end = {in->data + in->left - CHECKSUM_BYTES, CHECKSUM_BYTES, false};
  in->left -= CHECKSUM_BYTES;
  llrt_hash sum = llrt_hash_bytes(in->data, in->left);
  bool whole = (uint64_t)get(&end) == sum.low;
  whole &= (uint64_t)get(&end) == sum.high;
  if (!whole) return llrt_error(LLRT_CORRUPT, "the saved kernel's checksum is wrong");
  return LLRT_OK;
}

/* Whether the list is whole variants: their stages numbered from 0, each saying how many follow, those with
 * regions behind a first stage that has them. */
static bool stages_follow(const kernel_image *image) {
  int regions = 0;
  for (int i = 0, stage = 0; i < image->n_variants; i++) {
    const plan_launch *launch = &image->variant[i].launch;
    if (launch->stage != stage || i + launch->later >= image->n_variants) return false;
    if (stage > 0 && image->variant[i - 1].launch.later != launch->later + 1) return false;
    if (stage == 0) regions = launch->workspace.n;
    for (int t = 0; launch->view.used && t < LLRT_MAX_TENSORS; t++)
      if (launch->view.tensor[t] < -regions) return false;
    for (int a = 0; a < launch->n_args; a++)
      if (launch->arg[a].kind == PLAN_ARG_WORKSPACE && launch->arg[a].index >= regions) return false;
    stage = launch->later > 0 ? stage + 1 : 0;
  }
  return true;
}

static llrt_status read_image(reader *in, kernel_image *image) {
  LLRT_TRY(check_frame(in));
  char magic[8], version[32];
  get_bytes(in, magic, sizeof magic);
  int64_t format = get(in);
  get_bytes(in, version, sizeof version);
  if (in->bad || memcmp(magic, MAGIC, sizeof magic) != 0) {
    return llrt_error(LLRT_CORRUPT, "the bytes are no saved kernel");
  }
  if (format != FORMAT_VERSION) {
    return llrt_error(LLRT_CORRUPT, "the kernel has format %lld (llrt %.31s), this llrt reads %d",
                      (long long)format, version, FORMAT_VERSION);
  }
  get_bytes(in, image->target, sizeof image->target);
  image->target[sizeof image->target - 1] = 0;
  LLRT_TRY(get_description(in, image));
  image->n_variants = get_within(in, 1, PLAN_MAX_VARIANTS);
  for (int i = 0; i < image->n_variants && !in->bad; i++) {
    kernel_variant *variant = &image->variant[i];
    get_variant(in, &image->set, variant);
    if (variant->size && !variant->code) {
      return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a kernel of %zu bytes", variant->size);
    }
  }
  if (!stages_follow(image)) in->bad = true;
  return in->bad || in->left ? contradiction() : LLRT_OK;
}

llrt_status llrt_kernel_bytes_read(const void *bytes, size_t size, kernel_image *image) {
  memset(image, 0, sizeof *image);
  reader in = {bytes, size, false};
  llrt_status status = read_image(&in, image);
  if (status != LLRT_OK) llrt_kernel_image_fini(image);
  return status;
}

void llrt_kernel_image_fini(kernel_image *image) {
  for (int i = 0; i < PLAN_MAX_VARIANTS; i++) free(image->variant[i].code);
  memset(image, 0, sizeof *image);
}
