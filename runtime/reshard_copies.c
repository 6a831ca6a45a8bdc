/* Boxes as tensors of their own, and which of those that are copied one kernel can move. */
#include "runtime/reshard.h"

#include "base/memory.h"
#include "base/status.h"
#include "layout/box.h"
#include "runtime/reshard_access.h"
#include "runtime/reshard_parts.h"
#include "runtime/reshard_scales.h"

#include <string.h>

#define MAX_POSITIONS (1 << 26) /* along an axis that an index cuts */

/* ---- one side of a move ---- */

/* The part, with an index of 0, 1, 2, … from where the box begins along each axis that it cuts. */
static llrt_status cut_by_indices(const llrt_sharding *sharding, const llrt_part *part,
                                  const int64_t *begin, const int64_t *extent, llrt_tensor *tensor,
                                  reshard_side *side) {
  side->storage = sharding->storage;
  if (side->storage.pad != LLRT_PAD_NONE) {
    side->storage.pad = LLRT_PAD_KEEP;
    side->storage.pad_value = 0;
  }
  for (int axis = 0; axis < sharding->rank; axis++) {
    if (extent[axis] == part->extent[axis]) continue;
    if (tensor->n_indices == LLRT_MAX_INDICES || part->extent[axis] > MAX_POSITIONS)
      return llrt_error(LLRT_UNSUPPORTED,
                        "rank %d's part is cut along more than %d axes inside of tiles or digits, "
                        "or along one of more than %d positions",
                        side->spot.rank, LLRT_MAX_INDICES, MAX_POSITIONS);
    llrt_index *index = &side->index[tensor->n_indices++];
    *index = (llrt_index){.axis = axis,
                          .kind = LLRT_INDEX_COORDINATE,
                          .dtype = LLRT_I32,
                          .axes = 1u << axis,
                          .extent = part->extent[axis]};
    index->data = (char *)RESHARD_POSITIONS + begin[axis] * (int64_t)sizeof(int32_t);
    index->strides[axis] = 1;
  }
  return LLRT_OK;
}

/* What a list's parts are parts of. */
typedef struct whole {
  const llrt_sharding *sharding;
  const int64_t *strides; /* of each rank's part; NULL: none are RUN-TIME */
  llrt_dtype dtype;
  const int64_t *shape;
  const llrt_index *indices; /* of the caller's */
  int n_indices;
} whole;

static whole whole_of(const llrt_reshard_desc *desc, reshard_list list, int64_t *scale_shape) {
  if (list == RESHARD_SOURCES)
    return (whole){desc->source, desc->source_strides, desc->source_dtype,
                   desc->shape,  desc->source_indices, desc->n_source_indices};
  if (list == RESHARD_DESTINATIONS)
    return (whole){desc->destination, desc->destination_strides, desc->destination_dtype,
                   desc->shape,       desc->destination_indices, desc->n_destination_indices};
  reshard_scale_shape(desc, scale_shape);
  return (whole){desc->scale, NULL, desc->scale_dtype, scale_shape, NULL, 0};
}

/* The caller's indices of a box that begins there in the part, whose values begin as far behind
 * what a run brings. */
static void take_indices(const whole *of, const int64_t *begin, llrt_tensor *tensor,
                         reshard_side *side) {
  side->given = tensor->n_indices = of->n_indices;
  for (int i = 0; i < of->n_indices; i++) {
    llrt_index *index = &side->index[i];
    int64_t values = 0;
    *index = of->indices[i];
    for (int axis = 0; axis < of->sharding->rank; axis++)
      if (index->axes >> axis & 1) values += begin[axis] * index->strides[axis];
    index->data = (char *)RESHARD_TABLES + values * (llrt_dtype_bits(index->dtype) / 8);
  }
}

/* The box as the part's memory has it: along indexed axes all of that. */
static void index_box(const whole *of, llrt_part *memory, int64_t *begin, int64_t *extent) {
  llrt_part box = {.copy = 0};
  memcpy(box.begin, begin, sizeof box.begin);
  memcpy(box.extent, extent, sizeof box.extent);
  reshard_index_part(of->indices, of->n_indices, &box);
  reshard_index_part(of->indices, of->n_indices, memory);
  memcpy(begin, box.begin, sizeof box.begin);
  memcpy(extent, box.extent, sizeof box.extent);
}

/* A run's strides are multiples of the powers of two that divide the description's. */
static int64_t find_loose(const storage_box *box, const int64_t *strides, int bits) {
  int64_t loose = 0;
  for (int axis = 0; axis < box->storage.rank; axis++) {
    int64_t step = box->steps[axis] * (strides[axis] & -strides[axis]);
    int64_t bytes = (step & -step) * bits / 8;
    if (step != 0) loose |= bytes > 0 ? bytes : 1;
  }
  return loose;
}

llrt_status reshard_make_side(const llrt_reshard_desc *desc, reshard_list list, int rank,
                              const reshard_move *move, llrt_tensor *tensor, reshard_side *side) {
  int64_t scale_shape[LLRT_MAX_RANK], begin[LLRT_MAX_RANK] = {0}, extent[LLRT_MAX_RANK];
  const whole of = whole_of(desc, list, scale_shape);
  int axes = of.sharding->rank, bits = llrt_dtype_bits(of.dtype);
  llrt_part part;
  llrt_storage_binding binding;
  storage_box box;
  bool fits;
  *tensor = (llrt_tensor){.dtype = of.dtype, .rank = axes};
  side->spot = (reshard_spot){.list = list, .rank = rank};
  reshard_part(of.sharding, of.shape, rank, &part);
  memcpy(begin, move->begin, sizeof begin);
  memcpy(tensor->shape, move->extent, sizeof tensor->shape);
  if (list == RESHARD_SCALES) reshard_scale_box(desc, move, begin, tensor->shape);
  for (int axis = 0; axis < axes; axis++) begin[axis] -= part.begin[axis];
  memcpy(extent, tensor->shape, sizeof extent);
  take_indices(&of, begin, tensor, side);
  index_box(&of, &part, begin, extent);
  LLRT_TRY(reshard_bind(of.sharding, of.strides, rank, &part, &binding));
  storage_box_find(&of.sharding->storage, &binding, part.extent, begin, extent, &box, &fits);
  if (fits && box.offset * bits % 8 == 0) {
    side->storage = box.storage;
    side->spot.offset = box.offset * bits / 8;
    side->spot.bits = bits;
    side->open = box.open;
    memcpy(side->spot.steps, box.steps, sizeof box.steps);
    if (reshard_open_axes(&of.sharding->storage))
      side->spot.loose = find_loose(&box, of.strides + rank * LLRT_MAX_RANK, bits);
    memcpy(tensor->strides, box.strides, sizeof box.strides);
    return LLRT_OK;
  }
  side->open = reshard_open_axes(&of.sharding->storage);
  if (side->open)
    memcpy(tensor->strides, of.strides + rank * LLRT_MAX_RANK, sizeof tensor->strides);
  return cut_by_indices(of.sharding, &part, begin, extent, tensor, side);
}

/* ---- groups ---- */

/* Words of a WORD_BITS map may lie across boxes' edges only in ways that each launch judges, and
 * bytes that hold elements of two boxes are written by one launch after the other. */
static bool may_join(const llrt_reshard_desc *desc) {
  for (int i = 0; i < desc->n_maps; i++)
    if (desc->maps[i].kind == LLRT_MAP_WORD_BITS) return false;
  return !reshard_shares_bytes(desc);
}

/* A map that acts on elements, or on words of memory, does not look at axes. */
static bool may_fold(const llrt_reshard_desc *desc) {
  for (int i = 0; i < desc->n_maps; i++)
    if (desc->maps[i].kind != LLRT_MAP_XOR && desc->maps[i].kind != LLRT_MAP_WORD_BITS)
      return false;
  return true;
}

void reshard_copies_init(reshard_copies *copies, const llrt_reshard_desc *desc) {
  *copies = (reshard_copies){.desc = desc, .joins = may_join(desc), .folds = may_fold(desc)};
}

llrt_status reshard_new_copy(reshard_copies *copies, reshard_copy **out) {
  if (copies->n == copies->capacity) {
    int capacity = copies->capacity ? 2 * copies->capacity : 8;
    reshard_copy *grown = memory_resize(copies->copy, (size_t)capacity * sizeof *grown);
    if (!grown) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %d boxes", capacity);
    copies->copy = grown;
    copies->capacity = capacity;
  }
  *out = &copies->copy[copies->n++];
  **out = (reshard_copy){.n = 2};
  return LLRT_OK;
}

llrt_status reshard_add_scales(const llrt_reshard_desc *desc, int runner, const reshard_move *move,
                               reshard_copy *copy) {
  int rank = reshard_has_scales(desc, runner, move) ? runner : move->scale;
  copy->n = 3;
  return reshard_make_side(desc, RESHARD_SCALES, rank, move, &copy->tensor[2], &copy->side[2]);
}

llrt_status reshard_add_copy(reshard_copies *copies, const reshard_move *move) {
  reshard_copy *copy;
  LLRT_TRY(reshard_new_copy(copies, &copy));
  const llrt_reshard_desc *desc = copies->desc;
  LLRT_TRY(reshard_make_side(desc, RESHARD_SOURCES, move->from[0], move, &copy->tensor[0],
                             &copy->side[0]));
  LLRT_TRY(reshard_make_side(desc, RESHARD_DESTINATIONS, move->to, move, &copy->tensor[1],
                             &copy->side[1]));
  if (move->scale < 0) return LLRT_OK;
  return reshard_add_scales(desc, reshard_runner(desc, move), move, copy);
}

static bool same_side(const llrt_tensor *a, const reshard_side *s, const llrt_tensor *b,
                      const reshard_side *t) {
  return a->dtype == b->dtype && s->open == t->open && a->n_indices == 0 && b->n_indices == 0 &&
         memcmp(a->shape, b->shape, sizeof a->shape) == 0 &&
         memcmp(a->strides, b->strides, sizeof a->strides) == 0 &&
         llrt_storage_equal(&s->storage, &t->storage);
}

/* Scales are taken to one place before: where they lie does not tell boxes apart. */
static bool can_join(const reshard_copy *a, const reshard_copy *b) {
  if (a->n != b->n) return false;
  for (int t = 0; t < 2; t++)
    if (!same_side(&a->tensor[t], &a->side[t], &b->tensor[t], &b->side[t])) return false;
  return true;
}

int reshard_take_group(reshard_copies *copies, int n_words, int *first, reshard_copy **group) {
  int n = 0, most = 1; /* a power of two of places has room */
  for (; copies->folds && copies->n_folded < copies->n; copies->n_folded++)
    reshard_fold(&copies->copy[copies->n_folded]);
  while (*first < copies->n && copies->copy[*first].launched) ++*first;
  if (*first == copies->n) return 0;
  copies->copy[*first].launched = true;
  group[n++] = &copies->copy[*first];
  while (copies->joins && 4 * most <= RESHARD_MAX_WORDS - n_words) most *= 2;
  for (int i = *first + 1; i < copies->n && n < most; i++) {
    reshard_copy *copy = &copies->copy[i];
    if (copy->launched || !can_join(group[0], copy)) continue;
    copy->launched = true;
    group[n++] = copy;
  }
  return n;
}

bool reshard_takes_scales(reshard_copy *const *group, int n, int rank) {
  if (group[0]->n < 3) return false;
  int owner = group[0]->side[2].spot.rank;
  return n > 1 || group[0]->tensor[2].n_indices > 0 || (owner >= 0 && owner != rank);
}
