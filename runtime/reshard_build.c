/* From boxes to launches: each move is a convert between two boxes, or a sum of several; converts
 * that are alike but for where boxes lie are one launch (reshard_join.c). Each box is a tensor of
 * its own where its storage allows that, else the whole part, of which an index along each cut axis
 * takes the positions. */
#include "runtime/reshard_build.h"

#include "base/memory.h"
#include "base/status.h"
#include "runtime/context.h"

#include <llrt/compute.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUMS_ALIGNMENT 256
#define ADDRESS_MULTIPLE 16 /* what a run's addresses are multiples of */

/* What stands for the address of tensor t until a run brings it: tells tensors apart, too. */
#define STAND_IN_SHIFT 48
static uintptr_t stand_in(int t, int64_t offset) {
  return ((uintptr_t)(t + 1) << STAND_IN_SHIFT) + (uintptr_t)offset;
}

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

/* Points tensors at what is theirs, with stand-ins for addresses. */
static void connect(reshard_launch *launch) {
  for (int t = 0; t < launch->n; t++) {
    launch->tensor[t].storage = &launch->side[t].storage;
    launch->tensor[t].indices = launch->tensor[t].n_indices ? launch->side[t].index : NULL;
    if (launch->n_boxes == 0) launch->tensor[t].data = (void *)stand_in(t, launch->side[t].offset);
  }
}

static llrt_status prepare(const reshard_builder *b, llrt_op_desc *desc, reshard_launch *launch) {
  llrt_tensor_promise promises[LLRT_MAX_TENSORS];
  if (!desc->promises) desc->promises = promises;
  LLRT_TRY(llrt_op_promise_coarse(desc));
  for (int t = 0; t < desc->n_tensors; t++)
    if (desc->promises[t].address.multiple > ADDRESS_MULTIPLE)
      desc->promises[t].address.multiple = ADDRESS_MULTIPLE;
  llrt_status status = llrt_op_prepare(b->reshard->comm->device, desc, &launch->op);
  if (desc->promises == promises) desc->promises = NULL;
  return status;
}

static llrt_status prepare_convert(const reshard_builder *b, reshard_launch *launch, bool maps) {
  connect(launch);
  llrt_op_desc desc = {.size = sizeof desc,
                       .kind = LLRT_OP_CONVERT,
                       .n_tensors = 2,
                       .tensors = launch->tensor,
                       .maps = b->desc->maps,
                       .n_maps = maps ? b->desc->n_maps : 0};
  return prepare(b, &desc, launch);
}

/* ---- copies ---- */

static llrt_status launch_alone(reshard_builder *b, const reshard_copy *copy, bool maps) {
  reshard_launch *launch;
  LLRT_TRY(reshard_add_launch(b->reshard, 2, &launch));
  memcpy(launch->tensor, copy->tensor, sizeof copy->tensor);
  memcpy(launch->side, copy->side, sizeof copy->side);
  for (int t = 0; t < 2; t++) launch->tensor[t].device = b->reshard->comm->device;
  return prepare_convert(b, launch, maps);
}

/* UNSUPPORTED, and no launch, where no kernel has lists for such boxes. */
static llrt_status launch_joined(reshard_builder *b, const reshard_copy *const *copies, int n,
                                 bool maps) {
  llrt_reshard *reshard = b->reshard;
  reshard_launch *launch;
  LLRT_TRY(reshard_add_launch(reshard, 2, &launch));
  llrt_status status = reshard_join(copies, n, reshard->list, reshard->n_words, launch);
  for (int t = 0; t < 2; t++) launch->tensor[t].device = reshard->comm->device;
  if (status == LLRT_OK) status = prepare_convert(b, launch, maps);
  if (status == LLRT_OK) reshard->n_words += 2 * launch->n_places;
  if (status == LLRT_UNSUPPORTED) reshard_launch_fini(&reshard->launch[--reshard->n]);
  return status;
}

static llrt_status launch_group(reshard_builder *b, const reshard_copy *const *group, int n,
                                bool maps) {
  llrt_status status = n > 1 ? launch_joined(b, group, n, maps) : LLRT_UNSUPPORTED;
  for (int i = 0; i < n && status == LLRT_UNSUPPORTED; i++) {
    LLRT_TRY(launch_alone(b, group[i], maps));
    if (i == n - 1) status = LLRT_OK;
  }
  return status;
}

/* Whether maps do not look at axes. */
static bool folds(const llrt_reshard_desc *desc) {
  for (int i = 0; i < desc->n_maps; i++)
    if (desc->maps[i].kind != LLRT_MAP_XOR && desc->maps[i].kind != LLRT_MAP_WORD_BITS)
      return false;
  return true;
}

llrt_status reshard_launch_copies(reshard_builder *b, reshard_copies *copies, bool maps) {
  const reshard_copy *group[RESHARD_MAX_WORDS / 2];
  llrt_device *device = b->reshard->comm->device;
  int first = 0, n;
  for (int i = 0; i < copies->n && folds(b->desc); i++) reshard_fold(&copies->copy[i]);
  if (!device->backend->meet) copies->joins = false; /* nothing writes lists */
  if (copies->joins && copies->n > 1 && !b->reshard->list)
    LLRT_TRY(
        device->backend->allocate(device, RESHARD_MAX_WORDS * sizeof(uint64_t), &b->reshard->list));
  while ((n = reshard_take_group(copies, b->reshard->n_words, &first, group)) > 0)
    LLRT_TRY(launch_group(b, group, n, maps));
  return LLRT_OK;
}

/* ---- sums ---- */

/* "(a0[i j], a1[i j]) -> (y[i j]) { y = a0 + a1 }"; types smaller than 32 bits are computed in f32
 * or i32. */
static void write_sum(int rank, int n, char *text, size_t size) {
  static const char axes[] = "i j k l m n o p";
  int width = rank ? 2 * rank - 1 : 0;
  size_t used = 0;
  for (int s = 0; s < n; s++)
    used +=
        (size_t)snprintf(text + used, size - used, "%sa%d[%.*s]", s ? ", " : "(", s, width, axes);
  used += (size_t)snprintf(text + used, size - used, ") -> (y[%.*s]) { y = ", width, axes);
  for (int s = 0; s < n; s++)
    used += (size_t)snprintf(text + used, size - used, "%sa%d", s ? " + " : "", s);
  snprintf(text + used, size - used, " }");
}

/* What the description calls tensor t is tensor `of` of the launch. */
static llrt_status describe_sum(reshard_launch *launch, int n) {
  char text[1024], name[LLRT_MAX_TENSORS][8];
  llrt_arg args[LLRT_MAX_TENSORS] = {{0}};
  llrt_expr *expr;
  for (int t = 0; t <= n; t++) {
    if (t == 1) snprintf(name[t], sizeof name[t], "y");
    else snprintf(name[t], sizeof name[t], "a%d", t ? t - 1 : 0);
    args[t] = (llrt_arg){.name = name[t], .tensor = &launch->tensor[t]};
  }
  write_sum(launch->tensor[0].rank, n, text, sizeof text);
  LLRT_TRY(llrt_expr_parse(text, &expr));
  llrt_status status = llrt_compute_describe(expr, args, n + 1, NULL, &launch->desc);
  llrt_expr_destroy(&expr);
  return status;
}

/* The order that the description has: its tensors, and each one's rank and offset. */
static llrt_status take_order(reshard_launch *launch) {
  reshard_side sorted[LLRT_MAX_TENSORS];
  for (int t = 0; t < launch->n; t++) {
    int from = (int)((uintptr_t)launch->desc->tensors[t].data >> STAND_IN_SHIFT) - 1;
    sorted[t].rank = launch->side[from].rank;
    sorted[t].offset = launch->side[from].offset;
    for (int j = 0; j < launch->desc->tensors[t].n_indices; j++)
      sorted[t].index[j] = launch->desc->tensors[t].indices[j];
  }
  for (int t = 0; t < launch->n; t++) {
    launch->tensor[t] = launch->desc->tensors[t];
    launch->side[t].rank = sorted[t].rank;
    launch->side[t].offset = sorted[t].offset;
    memcpy(launch->side[t].index, sorted[t].index, sizeof sorted[t].index);
    if (launch->tensor[t].n_indices) launch->tensor[t].indices = launch->side[t].index;
  }
  return LLRT_OK;
}

llrt_status reshard_prepare_sum(const reshard_builder *b, reshard_launch *launch) {
  for (int t = 0; t < launch->n; t++) launch->tensor[t].device = b->reshard->comm->device;
  connect(launch);
  LLRT_TRY(describe_sum(launch, launch->n - 1));
  LLRT_TRY(prepare(b, launch->desc, launch));
  return take_order(launch);
}

/* What sums are kept as between two rounds: what expressions add such elements in. */
static llrt_dtype sum_dtype(llrt_dtype dtype) {
  switch (dtype) {
  case LLRT_F64:
  case LLRT_I64:
  case LLRT_U64:
  case LLRT_U32:
  case LLRT_I32: return dtype;
  case LLRT_I16:
  case LLRT_I8:
  case LLRT_I4:
  case LLRT_U16:
  case LLRT_U8:
  case LLRT_U4: return LLRT_I32;
  default: return LLRT_F32;
  }
}

/* The sums of one round, in rows, which the next one reads: two places take turns. */
static llrt_status make_between(reshard_builder *b, const reshard_move *move, int turn,
                                llrt_tensor *tensor, reshard_side *side) {
  int rank = b->desc->source->rank;
  int64_t bytes = llrt_dtype_bits(sum_dtype(b->desc->source_dtype)) / 8;
  *tensor = (llrt_tensor){.dtype = sum_dtype(b->desc->source_dtype), .rank = rank};
  for (int axis = 0; axis < rank; axis++) {
    tensor->shape[axis] = move->extent[axis];
    bytes *= move->extent[axis];
  }
  bytes = (bytes + SUMS_ALIGNMENT - 1) / SUMS_ALIGNMENT * SUMS_ALIGNMENT;
  side->rank = RESHARD_SUMS;
  side->offset = turn % 2 * bytes;
  if (2 * bytes > b->reshard->sums_bytes) b->reshard->sums_bytes = 2 * bytes;
  return llrt_storage_row_major(rank, &side->storage);
}

/* Summands [begin, end) and what the rounds before have added, if there were any. */
static llrt_status build_round(reshard_builder *b, const reshard_move *move, int begin, int end,
                               int turn) {
  const llrt_reshard_desc *desc = b->desc;
  bool carries = begin > 0, last = end == move->n_from;
  reshard_launch *launch;
  LLRT_TRY(reshard_add_launch(b->reshard, carries + end - begin + 1, &launch));
  if (carries) LLRT_TRY(make_between(b, move, turn - 1, &launch->tensor[0], &launch->side[0]));
  for (int s = begin; s < end; s++) {
    int operand = carries + s - begin, t = operand ? operand + 1 : 0;
    LLRT_TRY(
        reshard_make_side(desc, false, move->from[s], move, &launch->tensor[t], &launch->side[t]));
  }
  LLRT_TRY(last
               ? reshard_make_side(desc, true, move->to, move, &launch->tensor[1], &launch->side[1])
               : make_between(b, move, turn, &launch->tensor[1], &launch->side[1]));
  return reshard_prepare_sum(b, launch);
}

static llrt_status build_sum(reshard_builder *b, const reshard_move *move) {
  for (int begin = 0, turn = 0; begin < move->n_from; turn++) {
    int room = RESHARD_LAUNCH_SUMMANDS - (begin > 0), left = move->n_from - begin;
    int end = begin + (left < room ? left : room);
    LLRT_TRY(build_round(b, move, begin, end, turn));
    begin = end;
  }
  return LLRT_OK;
}

static llrt_status build_move(void *user, const reshard_move *move) {
  builder *b = user;
  return move->n_from > 1 ? build_sum(&b->b, move) : reshard_add_copy(&b->copies, move);
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
    launch->tensor[t] = (llrt_tensor){
        .dtype = desc->destination_dtype, .rank = to->rank, .device = b->reshard->comm->device};
    memcpy(launch->tensor[t].shape, part.extent, sizeof part.extent);
  }
  LLRT_TRY(llrt_storage_strided(to->rank, still, &launch->side[0].storage));
  launch->side[0].rank = RESHARD_ZEROS;
  launch->side[1].storage = to->storage;
  launch->side[1].rank = b->reshard->comm->rank;
  b->reshard->n_fills = 1;
  return prepare_convert(b, launch, false);
}

/* ---- positions ---- */

static void count_positions(llrt_reshard *reshard) {
  for (int i = 0; i < reshard->n; i++) {
    const reshard_launch *launch = &reshard->launch[i];
    for (int t = 0; t < launch->n && launch->n_boxes == 0; t++)
      for (int j = 0; j < launch->tensor[t].n_indices; j++)
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
      for (int j = 0; j < launch->tensor[t].n_indices; j++) {
        llrt_index *index = &launch->side[t].index[j];
        index->data = (char *)reshard->positions + ((uintptr_t)index->data - RESHARD_POSITIONS);
      }
  }
}

llrt_status reshard_finish(llrt_reshard *reshard, void *stream) {
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
  llrt_device *device = reshard->comm->device;
  if (reshard->sums_bytes > 0)
    LLRT_TRY(device->backend->allocate(device, (size_t)reshard->sums_bytes, &reshard->sums));
  return reshard_finish(reshard, stream);
}
