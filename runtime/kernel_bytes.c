/* The byte form of kernels: every number is eight bytes, little-endian, in the order of the
 * functions below; then a checksum over all of it. */
#include "runtime/kernel_bytes.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "runtime/description_bytes.h"

#include <llrt/llrt.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "llrtkern"
#define MAX_ARG_INDEX 128 /* a digit, an axis, or the bits of an element */
#define FORMAT_VERSION 47
#define CHECKSUM_BYTES 16
#define SIZE_AT 16       /* where the whole size stands */
#define MAX_THREADS 1024 /* of a block, on any target */
#define MAX_CLUSTER 8    /* blocks, likewise */
#define MAX_PIECE_BITS 8 /* log2 elements that rows in the workspace are multiples of */
#define MAX_ROUNDS 64    /* blocks of a multiprocessor */
#define MAX_CAPABILITY 999

/* A field added to the recipe must be written and read below, and the format's version raised. */
_Static_assert(sizeof(plan_launch) ==
                   8 + 16 * PLAN_MAX_ARGS + 16 * PLAN_MAX_GRID + 48 +
                       16 /* alpha and beta: the description's */ + sizeof(plan_range) +
                       sizeof(plan_pace) + sizeof(plan_walk) + sizeof(plan_view) +
                       sizeof(plan_workspace) + 12 + sizeof(plan_box) * PLAN_MAX_BOXES,
               "plan_launch changed");
_Static_assert(sizeof(plan_box) == 8 + 16 * 2 * PLAN_BOX_RANK, "plan_box changed");
_Static_assert(sizeof(plan_range) == 16 * LLRT_MAX_RANK + 56, "plan_range changed");
_Static_assert(sizeof(plan_walk) == 8 + 32 * LLRT_MAX_RANK + 32, "plan_walk changed");
_Static_assert(sizeof(plan_view) == 12 + LLRT_MAX_RANK + 3 * LLRT_MAX_TENSORS, "plan_view changed");
_Static_assert(sizeof(plan_workspace) == 8 + 48 * PLAN_MAX_REGIONS, "plan_workspace changed");

/* ---- writing ---- */

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
  put(out, walk->enough);
  put(out, walk->least);
  put(out, walk->results);
}

static void put_pace(llrt_text *out, const plan_pace *pace) {
  int64_t field[PACE_FIELDS];
  memcpy(field, pace, sizeof field);
  for (int i = 0; i < PACE_FIELDS; i++) put(out, field[i]);
}

static void put_view(llrt_text *out, const plan_view *view) {
  put(out, view->used);
  if (!view->used) return;
  put(out, view->n);
  put(out, view->rank);
  for (int a = 0; a < view->rank; a++) put(out, view->axis[a]);
  for (int t = 0; t < view->n; t++) {
    put(out, view->tensor[t]);
    put(out, view->ones[t]);
    put(out, view->pieces[t]);
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
    put(out, workspace->region[i].per_position);
    put(out, workspace->region[i].axes);
    put(out, workspace->region[i].pieces);
  }
}

static void put_number(llrt_text *out, const plan_number *number) {
  put(out, number->arg);
  put(out, number->value);
}

static void put_box(llrt_text *out, const plan_box *box) {
  put(out, box->bytes);
  put(out, box->runs);
  put(out, box->packed);
  put(out, box->single);
  put(out, box->swizzle);
  put(out, box->rest);
  put(out, box->parts);
  put(out, box->among);
  put_number(out, &box->address);
  for (int i = 0; i < PLAN_BOX_RANK; i++) {
    put(out, box->size[i]);
    put_number(out, &box->extent[i]);
    if (i > 0) put_number(out, &box->stride[i - 1]);
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
  put(out, launch->value_bytes);
  put(out, launch->cluster);
  put(out, launch->most_blocks);
  put(out, launch->rounds);
  put(out, launch->dealt);
  put(out, launch->block_bytes);
  put(out, launch->n_boxes);
  for (int i = 0; i < launch->n_boxes; i++) put_box(out, &launch->box[i]);
  put(out, launch->stage);
  put(out, launch->later);
  put(out, launch->beside);
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++) {
    put(out, launch->range.min_extent[axis]);
    put(out, launch->range.max_extent[axis]);
  }
  put(out, launch->range.min_elements);
  put(out, launch->range.max_elements);
  put(out, launch->range.axes);
  put(out, launch->range.or_empty);
  put(out, launch->range.min_along);
  put(out, launch->range.min_across);
  put(out, launch->range.max_across);
  put(out, launch->range.max_values);
  put_pace(out, &launch->pace);
  put_walk(out, &launch->walk);
  put_view(out, &launch->view);
  put_workspace(out, &launch->workspace);
}

static void put_code(llrt_text *out, const void *code, size_t size) {
  put(out, code ? (int64_t)size : 0);
  if (code) put_bytes(out, code, size);
}

static void put_variant(llrt_text *out, const kernel_variant *variant) {
  put_launch(out, &variant->launch);
  put_bytes(out, &variant->clocks, sizeof variant->clocks);
  put_code(out, variant->code, variant->size);
  put(out, variant->capability);
  put_code(out, variant->linked, variant->linked_size);
}

static void put_facts(llrt_text *out, const device_facts *facts) {
#define PUT_FACT(type, name) put(out, (int64_t)facts->name);
  DEVICE_FACTS(PUT_FACT)
#undef PUT_FACT
}

static void put_size(llrt_text *bytes) {
  uint64_t size = bytes->length + CHECKSUM_BYTES;
  for (int i = 0; i < 8; i++) bytes->data[SIZE_AT + i] = (char)(size >> (8 * i));
}

llrt_status llrt_kernel_bytes_write(const plan_target *target, const op_description *desc,
                                    const storage_set *set, const kernel_variant *variants,
                                    int n_variants, llrt_text *bytes) {
  char version_field[32] = {0};
  memcpy(version_field, llrt_version(), strnlen(llrt_version(), sizeof version_field - 1));
  put_bytes(bytes, MAGIC, 8);
  put(bytes, FORMAT_VERSION);
  put(bytes, 0); /* the size, when it is known */
  put_bytes(bytes, version_field, sizeof version_field);
  put_bytes(bytes, target->name, sizeof target->name);
  put_facts(bytes, &target->facts);
  llrt_description_write(bytes, desc, set);
  put(bytes, n_variants);
  for (int i = 0; i < n_variants; i++) put_variant(bytes, &variants[i]);
  LLRT_TRY(llrt_text_status(bytes));
  put_size(bytes);
  llrt_hash checksum = llrt_hash_bytes(bytes->data, bytes->length);
  put(bytes, (int64_t)checksum.low);
  put(bytes, (int64_t)checksum.high);
  return llrt_text_status(bytes);
}

/* ---- reading ---- */

static llrt_status contradiction(void) {
  return llrt_error(LLRT_CORRUPT, "the saved kernel contradicts itself");
}

static void get_args(reader *in, plan_launch *launch) {
  launch->n_args = get_within(in, 0, PLAN_MAX_ARGS);
  for (int i = 0; i < launch->n_args; i++) {
    plan_arg *arg = &launch->arg[i];
    arg->kind = (uint8_t)get_within(in, PLAN_ARG_ADDRESS, PLAN_ARG_EXPERT_TILES);
    arg->tensor = (uint8_t)get_within(in, 0, LLRT_MAX_TENSORS - 1);
    arg->index = (uint8_t)get_within(in, 0, MAX_ARG_INDEX);
    arg->padded = (uint8_t)get_within(in, 0, LLRT_MAX_TENSORS - 1);
    arg->factor = get(in);
  }
}

/* Whether an argument of a recipe that is read otherwise names what the stage has. */
static bool arg_fits(const plan_arg *arg, const storage_set *set, const plan_view *view) {
  int n = view->used ? view->n : set->n;
  if (arg->tensor >= n || arg->padded >= n) return false;
  int own =
      view->used ? view->tensor[arg->tensor] : arg->tensor; /* of the operation; < 0: workspace */
  int rank = view->used ? view->rank : set->rank;
  int digits = own < 0 ? rank : set->storage[own].n_digits;
  if (arg->factor < 0) return false;
  switch ((plan_arg_kind)arg->kind) {
  case PLAN_ARG_STRIDE: return arg->index < digits;
  case PLAN_ARG_CEIL:
  case PLAN_ARG_FLOOR:
  case PLAN_ARG_ROUND_UP:
  case PLAN_ARG_MAGIC:
  case PLAN_ARG_MAGIC_SHIFT: return arg->index < rank && arg->factor >= 1;
  case PLAN_ARG_INDEX_STRIDE:
    return own >= 0 && arg->index < set->n_indices[own] && arg->factor < set->rank;
  case PLAN_ARG_INDEX_DATA:
  case PLAN_ARG_INDEX_EXTENT:
  case PLAN_ARG_INDEX_REPORT: return own >= 0 && arg->index < set->n_indices[own];
  case PLAN_ARG_EXTENT_PTR:
    return own >= 0 && arg->index < rank && (!view->used || view->axis[arg->index] == arg->index) &&
           set->device_extents[own] >> arg->index & 1;
  case PLAN_ARG_EXTENTS: return arg->factor >> rank == 0;
  case PLAN_ARG_EXPERT_TILES: return arg->factor >= 1 && rank >= 2;
  case PLAN_ARG_ALPHA:
  case PLAN_ARG_BETA: return arg->factor <= 1;
  case PLAN_ARG_SCALAR: return arg->index < LLRT_EXPR_MAX_SCALARS;
  case PLAN_ARG_WORKSPACE: return arg->index < PLAN_MAX_REGIONS;
  case PLAN_ARG_ADDRESS:
  case PLAN_ARG_POSITIONS:
  case PLAN_ARG_TURNS:
  case PLAN_ARG_SHARE:
  case PLAN_ARG_SPLITS:
  case PLAN_ARG_PARTIAL:
  case PLAN_ARG_BEGIN:
  case PLAN_ARG_BLOCKS:
  case PLAN_ARG_END: return true;
  }
  return false;
}

static bool recipe_fits(const plan_launch *launch, const storage_set *set) {
  int rank = launch->view.used ? launch->view.rank : set->rank;
  int n = launch->view.used ? launch->view.n : set->n;
  bool fits = launch->value_bytes == 0 || (set->n_indices[0] > 0 && !launch->view.used);
  for (int i = 0; i < launch->n_args; i++) fits &= arg_fits(&launch->arg[i], set, &launch->view);
  for (int i = 0; i < launch->n_grid; i++) {
    fits &= launch->grid[i].axis < rank;
    fits &= launch->grid[i].axis != PLAN_AXIS_EXPERTS || rank >= 2;
    fits &= launch->grid[i].padded < n;
  }
  for (int i = 0; i < launch->walk.n; i++)
    fits &= launch->walk.place[i].axis < rank && launch->walk.place[i].padded < n;
  /* turns that blocks share, or that are dealt, divide into shares of walk.least */
  if (launch->walk.blocks > 0 || launch->dealt > 0) fits &= launch->walk.least > 0;
  return fits;
}

static int get_places(reader *in, int most, plan_grid_place *places) {
  int n = get_within(in, 0, most);
  for (int i = 0; i < n; i++) {
    places[i].axis = (int8_t)get_within(in, PLAN_AXIS_EXPERTS, LLRT_MAX_RANK - 1);
    places[i].padded = (uint8_t)get_within(in, 0, LLRT_MAX_TENSORS - 1);
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
  walk->enough = get_size(in);
  walk->least = get_size(in);
  walk->results = get_size(in);
}

/* Products of two fields, and of one with a time, are to fit 64 bits (pace.c). */
#define MAX_PACE (1 << 30)
#define MAX_HIDDEN (1 << 16)

static void get_pace(reader *in, plan_pace *pace) {
  int64_t field[PACE_FIELDS];
  for (int i = 0; i < PACE_FIELDS; i++) field[i] = get_within(in, 0, MAX_PACE);
  memcpy(pace, field, sizeof field);
  in->bad |= pace->hidden > MAX_HIDDEN || pace->resident > MAX_ROUNDS || pace->invariant > 1 ||
             pace->parts > 1 || pace->filled > 1 || (pace->units > 0 && pace->resident == 0);
  for (int i = 0; i < 2; i++)
    in->bad |= pace->pitch[i] > 3 || (pace->pitch[i] > 0 && pace->line[i] == 0);
}

static void get_view(reader *in, const storage_set *set, plan_view *view, int regions) {
  view->used = get_within(in, 0, 1) != 0;
  if (!view->used) return;
  view->n = get_within(in, 1, LLRT_MAX_TENSORS);
  view->rank = get_within(in, 0, LLRT_MAX_RANK);
  for (int a = 0; a < view->rank; a++)
    view->axis[a] = (int8_t)get_within(in, PLAN_AXIS_SPLITS, set->rank - 1);
  for (int t = 0; t < view->n; t++) {
    view->tensor[t] = (int8_t)get_within(in, -regions, set->n - 1);
    view->ones[t] = (uint8_t)get_within(in, 0, (1 << LLRT_MAX_RANK) - 1);
    view->pieces[t] = (uint8_t)get_within(in, 0, MAX_PIECE_BITS);
  }
}

static void get_workspace(reader *in, plan_workspace *workspace) {
  workspace->n = get_within(in, 0, PLAN_MAX_REGIONS);
  workspace->zero = (uint8_t)get_within(in, 0, workspace->n);
  workspace->clear = get_within(in, 0, 1) != 0;
  for (int i = 0; i < workspace->n; i++) {
    workspace->region[i].fixed = get_size(in);
    workspace->region[i].per_block = get_size(in);
    workspace->region[i].per_partial = get_size(in);
    workspace->region[i].per_position = get_size(in);
    workspace->region[i].axes = get_size(in);
    workspace->region[i].pieces = get_within(in, 0, MAX_PIECE_BITS);
  }
}

/* Of the n_args arguments. */
static void get_number(reader *in, int n_args, plan_number *number) {
  number->arg = get_within(in, -1, n_args - 1);
  number->value = get(in);
}

static void get_boxes(reader *in, plan_launch *launch) {
  launch->n_boxes = get_within(in, 0, PLAN_MAX_BOXES);
  for (int i = 0; i < launch->n_boxes; i++) {
    plan_box *box = &launch->box[i];
    box->bytes = get_within(in, 0, 2) & 3;
    box->runs = get_within(in, 0, 1) & 1;
    box->packed = get_within(in, 0, box->runs ? 5 : 0) & 7;
    box->single = get_within(in, 0, 1) & 1;
    box->swizzle = get_within(in, 0, 3) & 3;
    box->rest = get_within(in, 0, 1) & 1;
    box->parts = get_within(in, 0, 3) & 3;
    box->among = get_within(in, 0, 3 - box->parts) & 3;
    get_number(in, launch->n_args, &box->address);
    for (int d = 0; d < PLAN_BOX_RANK; d++) {
      box->size[d] = (uint16_t)(d < 2 ? get_within(in, 1, 256) : get_within(in, 0, 1));
      get_number(in, launch->n_args, &box->extent[d]);
      if (d > 0) get_number(in, launch->n_args, &box->stride[d - 1]);
    }
  }
}

static void get_grid(reader *in, plan_launch *launch) {
  launch->n_grid = get_places(in, PLAN_MAX_GRID, launch->grid);
  launch->block_elements = get_within(in, 0, INT32_MAX);
  launch->threads = get_within(in, 1, MAX_THREADS);
  launch->shared_bytes = get_within(in, 0, INT32_MAX);
  launch->value_bytes = get_within(in, 0, INT32_MAX);
  launch->cluster = get_within(in, 0, MAX_CLUSTER);
  launch->most_blocks = get_within(in, 0, INT32_MAX);
  launch->rounds = get_within(in, 0, MAX_ROUNDS);
  launch->dealt = get_within(in, 0, INT32_MAX);
  launch->block_bytes = get_within(in, 0, INT32_MAX);
  get_boxes(in, launch);
  launch->stage = get_within(in, 0, PLAN_MAX_VARIANTS - 1);
  launch->later = get_within(in, 0, PLAN_MAX_VARIANTS - 1);
  launch->beside = get_within(in, 0, 1);
}

/* Bytes with a zero behind them; *code NULL: none, or no memory for *size. */
static void get_code(reader *in, void **code, size_t *size) {
  uint64_t bytes = (uint64_t)get(in);
  if (bytes > in->left) in->bad = true;
  if (in->bad || bytes == 0) return;
  *size = (size_t)bytes;
  *code = memory_new(*size + 1);
  if (!*code) return;
  get_bytes(in, *code, *size);
  ((char *)*code)[*size] = 0;
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
  launch->range.or_empty = (uint32_t)get_within(in, 0, (1 << LLRT_MAX_RANK) - 1);
  launch->range.min_along = get(in);
  launch->range.min_across = get(in);
  launch->range.max_across = get(in);
  launch->range.max_values = get(in);
  get_pace(in, &launch->pace);
  get_walk(in, &launch->walk);
  get_view(in, set, &launch->view, PLAN_MAX_REGIONS);
  get_workspace(in, &launch->workspace);
  if (!in->bad && !recipe_fits(launch, set)) in->bad = true;
  get_bytes(in, &variant->clocks, sizeof variant->clocks);
  if (isnan(variant->clocks)) in->bad = true;
  get_code(in, &variant->code, &variant->size);
  variant->capability = get_within(in, 0, MAX_CAPABILITY);
  get_code(in, &variant->linked, &variant->linked_size);
  if (variant->linked_size && !variant->size) in->bad = true;
}

/* Bytes that are something else say what they begin with. */
static llrt_status get_head(reader *in, kernel_head *head) {
  char magic[8 + 1] = {0};
  size_t all = in->left;
  get_bytes(in, magic, all < 8 ? all : 8);
  if (strncmp(magic, MAGIC, all < 8 ? all : 8) != 0)
    return llrt_error(LLRT_CORRUPT, "the bytes are no saved kernel: they begin with '%s', not '%s'",
                      magic, MAGIC);
  head->format = get(in);
  head->size = (uint64_t)get(in);
  get_bytes(in, head->version, sizeof head->version);
  head->version[sizeof head->version - 1] = 0;
  if (in->bad || in->left < CHECKSUM_BYTES)
    return llrt_error(LLRT_CORRUPT, "the saved kernel is truncated: %zu bytes are no whole head",
                      all);
  return LLRT_OK;
}

/* Of bytes of this format their number, then, of all, the checksum. */
static llrt_status check_frame(const unsigned char *data, size_t size, const kernel_head *head) {
  if (head->format == FORMAT_VERSION && size < head->size)
    return llrt_error(LLRT_CORRUPT,
                      "the saved kernel is truncated: %zu of its %llu bytes are there", size,
                      (unsigned long long)head->size);
  if (head->format == FORMAT_VERSION && size > head->size)
    return llrt_error(LLRT_CORRUPT, "the saved kernel has %llu bytes, and %llu more follow it",
                      (unsigned long long)head->size, (unsigned long long)(size - head->size));
  reader end = {data + size - CHECKSUM_BYTES, CHECKSUM_BYTES, false};
  llrt_hash sum = llrt_hash_bytes(data, size - CHECKSUM_BYTES);
  bool whole = (uint64_t)get(&end) == sum.low;
  whole &= (uint64_t)get(&end) == sum.high;
  if (!whole) return llrt_error(LLRT_CORRUPT, "the saved kernel is damaged: its checksum is wrong");
  return LLRT_OK;
}

/* Whether the list is whole variants: their stages numbered from 0, each saying how many follow,
 * those with regions behind a first stage that has them. */
static bool stages_follow(const kernel_image *image) {
  int regions = 0;
  for (int i = 0, stage = 0; i < image->n_variants; i++) {
    const plan_launch *launch = &image->variant[i].launch;
    if (launch->beside && stage == 0) return false;
    if (launch->stage != stage || i + launch->later >= image->n_variants) return false;
    if (stage > 0 && image->variant[i - 1].launch.later != launch->later + 1) return false;
    if (stage == 0) regions = launch->workspace.n;
    for (int t = 0; launch->view.used && t < launch->view.n; t++)
      if (launch->view.tensor[t] < -regions) return false;
    for (int a = 0; a < launch->n_args; a++)
      if (launch->arg[a].kind == PLAN_ARG_WORKSPACE && launch->arg[a].index >= regions)
        return false;
    stage = launch->later > 0 ? stage + 1 : 0;
  }
  return true;
}

static llrt_status read_head(reader *in, kernel_head *head) {
  const unsigned char *data = in->data;
  size_t size = in->left;
  LLRT_TRY(get_head(in, head));
  return check_frame(data, size, head);
}

llrt_status llrt_kernel_head_read(const void *bytes, size_t size, kernel_head *head) {
  reader in = {bytes, size, false};
  return read_head(&in, head);
}

bool llrt_kernel_format_is_own(const kernel_head *head) { return head->format == FORMAT_VERSION; }

static void get_facts(reader *in, device_facts *facts) {
#define GET_FACT(type, name) facts->name = (type)get_size(in);
  DEVICE_FACTS(GET_FACT)
#undef GET_FACT
}

static llrt_status get_variants(reader *in, kernel_image *image) {
  int n = get_within(in, 1, PLAN_MAX_VARIANTS);
  image->variant = memory_zeroed((size_t)n, sizeof *image->variant);
  if (!image->variant) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %d kernels", n);
  image->n_variants = n;
  for (int i = 0; i < n && !in->bad; i++) {
    kernel_variant *variant = &image->variant[i];
    get_variant(in, &image->set, variant);
    if ((variant->size && !variant->code) || (variant->linked_size && !variant->linked))
      return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a kernel of %zu bytes", variant->size);
  }
  return LLRT_OK;
}

static llrt_status read_image(reader *in, kernel_image *image) {
  kernel_head head;
  LLRT_TRY(read_head(in, &head));
  if (!llrt_kernel_format_is_own(&head)) {
    return llrt_error(LLRT_CORRUPT, "the kernel has format %lld (llrt %s), this llrt reads %d",
                      (long long)head.format, head.version, FORMAT_VERSION);
  }
  in->left -= CHECKSUM_BYTES;
  get_bytes(in, image->target, sizeof image->target);
  image->target[sizeof image->target - 1] = 0;
  get_facts(in, &image->facts);
  LLRT_TRY(llrt_description_read(in, &image->desc, &image->set));
  LLRT_TRY(get_variants(in, image));
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

void llrt_kernel_variant_fini(kernel_variant *variant) {
  free(variant->code);
  free(variant->linked);
  variant->code = variant->linked = NULL;
  variant->size = variant->linked_size = 0;
}

void llrt_kernel_image_fini(kernel_image *image) {
  for (int i = 0; i < image->n_variants; i++) llrt_kernel_variant_fini(&image->variant[i]);
  free(image->variant);
  memset(image, 0, sizeof *image);
}
