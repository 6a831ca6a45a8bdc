/* From boxes to launches: each move is a convert between two boxes, or a sum of several
 * (reshard_sums.c); converts that are alike but for where boxes lie are one launch
 * (reshard_join.c). Each box is a tensor of its own where its storage allows that, else the whole
 * part, of which an index along each cut axis takes the positions. */
#include "runtime/reshard_build.h"

#include "base/memory.h"
#include "base/status.h"
#include "runtime/context.h"
#include "runtime/prepared.h"
#include "runtime/reshard_parts.h"

#include <stdlib.h>
#include <string.h>

#define ADDRESS_MULTIPLE 16 /* what a run's addresses are multiples of */
#define TAKEN_ALIGNMENT 256 /* bytes: of what a launch takes its scales from */

/* By peers' memory. */
typedef struct builder {
  reshard_builder b;
  reshard_copies copies;
} builder;

/* ---- launches ---- */

llrt_status reshard_add_launch(llrt_reshard *reshard, int n, reshard_launch **out) {
  if (reshard->n == reshard->capacity) {
    int capacity = reshard->capacity ? 2 * reshard->capacity : 8;
    reshard_launch *grown =
        memory_resize(reshard->launch, (size_t)capacity * sizeof *reshard->launch);
    if (!grown) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %d launches", capacity);
    reshard->launch = grown;
    reshard->capacity = capacity;
  }
  *out = &reshard->launch[reshard->n];
  **out = (reshard_launch){.n = n, .side = memory_zeroed((size_t)n, sizeof *(*out)->side)};
  if (!(*out)->side) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a launch");
  reshard->n++;
  return LLRT_OK;
}

void reshard_connect(reshard_launch *launch) {
  for (int t = 0; t < launch->n; t++) {
    launch->tensor[t].storage = &launch->side[t].storage;
    launch->tensor[t].indices = launch->tensor[t].n_indices ? launch->side[t].index : NULL;
    if (launch->n_boxes == 0 || t > 1)
      launch->tensor[t].data =
          (void *)reshard_stand_in(t, launch->side[t].spot.offset | launch->side[t].spot.loose);
  }
}

/* A refusal is noted, so that what is made of saved bytes takes the same turns. */
static llrt_status make_op(llrt_reshard *reshard, const llrt_op_desc *desc,
                           reshard_launch *launch) {
  llrt_device *device = reshard->comm->device;
  const op_wishes wishes = {.linked = reshard_writes_peers(reshard, launch)};
  llrt_status status = reshard->saved ? reshard_saved_next(reshard->saved, device, &launch->op)
                                      : llrt_op_prepare_as(device, desc, wishes, &launch->op);
  if (status == LLRT_UNSUPPORTED) reshard->refusals++;
  if (status != LLRT_OK) return status;
  launch->refusals = reshard->refusals;
  reshard->refusals = 0;
  return LLRT_OK;
}

llrt_status reshard_prepare_op(const reshard_builder *b, llrt_op_desc *desc,
                               reshard_launch *launch) {
  llrt_tensor_promise promises[LLRT_MAX_TENSORS];
  if (!desc->promises) desc->promises = promises;
  LLRT_TRY(llrt_op_promise_coarse(desc));
  for (int t = 0; t < desc->n_tensors; t++)
    if (desc->promises[t].address.multiple > ADDRESS_MULTIPLE)
      desc->promises[t].address.multiple = ADDRESS_MULTIPLE;
  llrt_status status = make_op(b->reshard, desc, launch);
  if (desc->promises == promises) desc->promises = NULL;
  return status;
}

/* Scales have one position along axes that boxes are counted by, whatever the caller wrote there.
 */
static int take_maps(const llrt_reshard_desc *desc, llrt_map *maps) {
  for (int i = 0; i < desc->n_maps; i++) {
    maps[i] = desc->maps[i];
    for (int axis = desc->source->rank; axis < LLRT_MAX_RANK; axis++) maps[i].group[axis] = 0;
  }
  return desc->n_maps;
}

static llrt_status prepare_convert(const reshard_builder *b, reshard_launch *launch, bool maps) {
  llrt_map own[LLRT_MAX_MAPS];
  reshard_connect(launch);
  for (int t = 0; t < launch->n; t++) launch->tensor[t].device = b->reshard->comm->device;
  llrt_op_desc desc = {.size = sizeof desc,
                       .kind = LLRT_OP_CONVERT,
                       .n_tensors = launch->n,
                       .tensors = launch->tensor,
                       .maps = own,
                       .n_maps = maps ? take_maps(b->desc, own) : 0};
  return reshard_prepare_op(b, &desc, launch);
}

/* ---- copies ---- */

static llrt_status launch_alone(reshard_builder *b, const reshard_copy *copy, bool maps) {
  reshard_launch *launch;
  LLRT_TRY(reshard_add_launch(b->reshard, copy->n, &launch));
  memcpy(launch->tensor, copy->tensor, (size_t)copy->n * sizeof *copy->tensor);
  memcpy(launch->side, copy->side, (size_t)copy->n * sizeof *copy->side);
  return prepare_convert(b, launch, maps);
}

/* UNSUPPORTED, and no launch, where no kernel has lists for such boxes. */
static llrt_status launch_joined(reshard_builder *b, reshard_copy *const *copies, int n,
                                 bool maps) {
  llrt_reshard *reshard = b->reshard;
  reshard_launch *launch;
  LLRT_TRY(reshard_add_launch(reshard, copies[0]->n, &launch));
  llrt_status status = reshard_join(copies, n, reshard->list, reshard->n_words, launch);
  if (status == LLRT_OK && reshard->n_words + 2 * launch->n_places > RESHARD_MAX_WORDS)
    status = LLRT_UNSUPPORTED;
  if (status == LLRT_OK) status = prepare_convert(b, launch, maps);
  if (status == LLRT_OK) reshard->n_words += 2 * launch->n_places;
  if (status == LLRT_UNSUPPORTED) reshard_launch_fini(&reshard->launch[--reshard->n]);
  return status;
}

static llrt_status launch_group(reshard_builder *b, reshard_copy *const *group, int n, bool maps) {
  llrt_status status = n > 1 ? launch_joined(b, group, n, maps) : LLRT_UNSUPPORTED;
  for (int i = 0; i < n && status == LLRT_UNSUPPORTED; i++) {
    LLRT_TRY(launch_alone(b, group[i], maps));
    if (i == n - 1) status = LLRT_OK;
  }
  return status;
}

/* ---- scales ---- */

/* From now on the scales of the group's boxes are in rows, box by box. */
static llrt_status move_scales(reshard_builder *b, reshard_copy *const *group, int n,
                               reshard_copies *taken) {
  const llrt_tensor *first = &group[0]->tensor[2];
  int64_t bytes = llrt_dtype_bits(first->dtype) / 8, places = 1;
  for (int axis = 0; axis < first->rank; axis++) bytes *= first->shape[axis];
  while (places < n) places *= 2; /* as launches of several boxes count them */
  for (int i = 0; i < n; i++) {
    llrt_tensor *tensor = &group[i]->tensor[2];
    reshard_side *side = &group[i]->side[2];
    reshard_copy *copy;
    LLRT_TRY(reshard_new_copy(taken, &copy));
    copy->tensor[0] = *tensor;
    copy->side[0] = *side;
    tensor->n_indices = 0;
    LLRT_TRY(llrt_storage_row_major(tensor->rank, &side->storage));
    side->spot.rank = RESHARD_TAKEN;
    side->spot.offset = b->reshard->taken_bytes + i * bytes;
    copy->tensor[1] = *tensor;
    copy->side[1] = *side;
  }
  int64_t more = (places * bytes + TAKEN_ALIGNMENT - 1) / TAKEN_ALIGNMENT * TAKEN_ALIGNMENT;
  b->reshard->taken_bytes += more;
  return LLRT_OK;
}

static llrt_status launch_all(reshard_builder *b, reshard_copies *copies, bool maps);

static llrt_status take_scales(reshard_builder *b, reshard_copy *const *group, int n) {
  reshard_copies taken;
  if (!reshard_takes_scales(group, n, b->reshard->comm->rank)) return LLRT_OK;
  reshard_copies_init(&taken, b->desc);
  llrt_status status = move_scales(b, group, n, &taken);
  if (status == LLRT_OK) status = launch_all(b, &taken, false);
  free(taken.copy);
  return status;
}

static llrt_status launch_all(reshard_builder *b, reshard_copies *copies, bool maps) {
  reshard_copy *group[RESHARD_MAX_WORDS / 2];
  llrt_device *device = b->reshard->comm->device;
  int first = 0, n;
  if (!maps) copies->folds = true;
  if (!device->backend->meet) copies->joins = false; /* nothing writes lists */
  if (copies->joins && copies->n > 1 && !b->reshard->list)
    LLRT_TRY(
        device->backend->allocate(device, RESHARD_MAX_WORDS * sizeof(uint64_t), &b->reshard->list));
  while ((n = reshard_take_group(copies, b->reshard->n_words, &first, group)) > 0) {
    LLRT_TRY(take_scales(b, group, n));
    LLRT_TRY(launch_group(b, group, n, maps));
  }
  return LLRT_OK;
}

llrt_status reshard_launch_copies(reshard_builder *b, reshard_copies *copies, bool maps) {
  return launch_all(b, copies, maps);
}

/* ---- all of it ---- */

static llrt_status build_move(void *user, const reshard_move *move) {
  builder *b = user;
  return move->n_from > 1 ? reshard_build_sum(&b->b, move) : reshard_add_copy(&b->copies, move);
}

/* Zeros, and pads as the storage has them, into the own part: of what one zero is for all. */
llrt_status reshard_build_fill(reshard_builder *b) {
  const llrt_reshard_desc *desc = b->desc;
  const llrt_sharding *to = desc->destination;
  const int64_t still[LLRT_MAX_RANK] = {0};
  reshard_launch *launch;
  llrt_part part;
  if (!reshard_fills(desc, b->reshard->comm->rank)) return LLRT_OK;
  for (int i = 0; i < desc->n_maps; i++)
    if (desc->maps[i].kind == LLRT_MAP_WORD_BITS)
      return llrt_error(LLRT_UNSUPPORTED, "WORD_BITS where parts have pads, or are summands");
  LLRT_TRY(reshard_add_launch(b->reshard, 2, &launch));
  reshard_part(to, desc->shape, b->reshard->comm->rank, &part);
  for (int t = 0; t < 2; t++) {
    launch->tensor[t] = (llrt_tensor){.dtype = desc->destination_dtype, .rank = to->rank};
    memcpy(launch->tensor[t].shape, part.extent, sizeof part.extent);
  }
  launch->side[1].open = reshard_open_axes(&to->storage);
  if (launch->side[1].open)
    memcpy(launch->tensor[1].strides,
           desc->destination_strides + b->reshard->comm->rank * LLRT_MAX_RANK,
           sizeof launch->tensor[1].strides);
  LLRT_TRY(llrt_storage_strided(to->rank, still, &launch->side[0].storage));
  launch->side[0].spot.rank = RESHARD_ZEROS;
  launch->side[1].storage = to->storage;
  launch->side[1].spot =
      (reshard_spot){.list = RESHARD_DESTINATIONS, .rank = b->reshard->comm->rank};
  b->reshard->n_fills = 1;
  return prepare_convert(b, launch, false);
}

/* ---- positions ---- */

static void count_positions(llrt_reshard *reshard) {
  for (int i = 0; i < reshard->n; i++) {
    const reshard_launch *launch = &reshard->launch[i];
    for (int t = 0; t < launch->n && launch->n_boxes == 0; t++)
      for (int j = launch->side[t].given; j < launch->tensor[t].n_indices; j++)
        if (launch->side[t].index[j].extent > reshard->n_positions)
          reshard->n_positions = launch->side[t].index[j].extent;
  }
}

static llrt_status make_positions(llrt_reshard *reshard, void *stream) {
  count_positions(reshard);
  if (reshard->n_positions == 0) return LLRT_OK;
  int32_t *positions = memory_new((size_t)reshard->n_positions * sizeof *positions);
  if (!positions) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for positions");
  for (int32_t i = 0; i < reshard->n_positions; i++) positions[i] = i;
  llrt_status status = llrt_comm_upload(reshard->comm->device, positions,
                                        (size_t)reshard->n_positions * sizeof *positions, stream,
                                        &reshard->positions);
  free(positions);
  return status;
}

/* Positions are there now: indices point to them. */
static void settle(llrt_reshard *reshard) {
  for (int i = 0; i < reshard->n; i++) {
    reshard_launch *launch = &reshard->launch[i];
    for (int t = 0; t < launch->n && launch->n_boxes == 0; t++)
      for (int j = launch->side[t].given; j < launch->tensor[t].n_indices; j++) {
        llrt_index *index = &launch->side[t].index[j];
        index->data = (char *)reshard->positions + ((uintptr_t)index->data - RESHARD_POSITIONS);
      }
  }
}

/* Zeroed once: a launch of several boxes has places without one, whose scales it loads beside those
 * that it needs. */
static llrt_status make_taken(llrt_reshard *reshard, void *stream) {
  llrt_device *device = reshard->comm->device;
  size_t bytes = (size_t)reshard->taken_bytes;
  LLRT_TRY(device->backend->allocate(device, bytes, &reshard->taken));
  return device->backend->set(device, reshard->taken, 0, bytes, stream);
}

llrt_status reshard_finish(llrt_reshard *reshard, void *stream) {
  llrt_device *device = reshard->comm->device;
  if (reshard->sums_bytes > 0)
    LLRT_TRY(device->backend->allocate(device, (size_t)reshard->sums_bytes, &reshard->sums));
  if (reshard->taken_bytes > 0) LLRT_TRY(make_taken(reshard, stream));
  LLRT_TRY(make_positions(reshard, stream));
  settle(reshard);
  return LLRT_OK;
}

llrt_status reshard_build(llrt_reshard *reshard, const llrt_reshard_desc *desc, void *stream) {
  builder b = {.b = {reshard, desc}};
  reshard_copies_init(&b.copies, desc);
  LLRT_TRY(reshard_build_fill(&b.b));
  llrt_status status = reshard_each_move(desc, reshard->comm->rank, build_move, &b);
  if (status == LLRT_OK) status = reshard_launch_copies(&b.b, &b.copies, true);
  free(b.copies.copy);
  LLRT_TRY(status);
  return reshard_finish(reshard, stream);
}
