/* Summands: a launch adds up to fifteen of them, by an expression, in the mesh's order; more are
 * added in rounds, whose sums lie in memory of the re-shard's own. Where maps act on the sum, that
 * is one more round, a convert. */
#include "base/status.h"
#include "runtime/reshard_build.h"

#include <llrt/compute.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUMS_ALIGNMENT 256

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
    int from = (int)((uintptr_t)launch->desc->tensors[t].data >> RESHARD_STAND_IN_SHIFT) - 1;
    sorted[t].spot = launch->side[from].spot;
    for (int j = 0; j < launch->desc->tensors[t].n_indices; j++)
      sorted[t].index[j] = launch->desc->tensors[t].indices[j];
  }
  for (int t = 0; t < launch->n; t++) {
    launch->tensor[t] = launch->desc->tensors[t];
    launch->side[t].spot = sorted[t].spot;
    memcpy(launch->side[t].index, sorted[t].index, sizeof sorted[t].index);
    if (launch->tensor[t].n_indices) launch->tensor[t].indices = launch->side[t].index;
  }
  return LLRT_OK;
}

llrt_status reshard_prepare_sum(const reshard_builder *b, reshard_launch *launch) {
  for (int t = 0; t < launch->n; t++) launch->tensor[t].device = b->reshard->comm->device;
  reshard_connect(launch);
  LLRT_TRY(describe_sum(launch, launch->n - 1));
  LLRT_TRY(reshard_prepare_op(b, launch->desc, launch));
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
  side->spot = (reshard_spot){.rank = RESHARD_SUMS, .offset = turn % 2 * bytes};
  if (2 * bytes > b->reshard->sums_bytes) b->reshard->sums_bytes = 2 * bytes;
  return llrt_storage_row_major(rank, &side->storage);
}

llrt_status reshard_make_sum(reshard_builder *b, const reshard_move *move, int turn,
                             llrt_tensor *tensor, reshard_side *side) {
  if (b->desc->n_maps > 0) return make_between(b, move, turn, tensor, side);
  return reshard_make_side(b->desc, RESHARD_DESTINATIONS, move->to, move, tensor, side);
}

llrt_status reshard_map_sum(reshard_builder *b, const reshard_move *move, int turn,
                            const llrt_tensor *scale, const reshard_side *scale_side) {
  const llrt_reshard_desc *desc = b->desc;
  reshard_copies copies;
  reshard_copy *copy;
  if (desc->n_maps == 0) return LLRT_OK;
  reshard_copies_init(&copies, desc);
  LLRT_TRY(reshard_new_copy(&copies, &copy));
  llrt_status status = make_between(b, move, turn, &copy->tensor[0], &copy->side[0]);
  if (status == LLRT_OK)
    status = reshard_make_side(desc, RESHARD_DESTINATIONS, move->to, move, &copy->tensor[1],
                               &copy->side[1]);
  if (status == LLRT_OK && scale) {
    copy->n = 3;
    copy->tensor[2] = *scale;
    copy->side[2] = *scale_side;
  } else if (status == LLRT_OK && move->scale >= 0) {
    status = reshard_add_scales(desc, move->to, move, copy);
  }
  if (status == LLRT_OK) status = reshard_launch_copies(b, &copies, true);
  free(copies.copy);
  return status;
}

/* Summands [begin, end) and what the rounds before have added, if there were any. */
static llrt_status build_round(reshard_builder *b, const reshard_move *move, int begin, int end,
                               int turn) {
  bool carries = begin > 0, last = end == move->n_from;
  reshard_launch *launch;
  LLRT_TRY(reshard_add_launch(b->reshard, carries + end - begin + 1, &launch));
  if (carries) LLRT_TRY(make_between(b, move, turn - 1, &launch->tensor[0], &launch->side[0]));
  for (int s = begin; s < end; s++) {
    int operand = carries + s - begin, t = operand ? operand + 1 : 0;
    LLRT_TRY(reshard_make_side(b->desc, RESHARD_SOURCES, move->from[s], move, &launch->tensor[t],
                               &launch->side[t]));
  }
  LLRT_TRY(last ? reshard_make_sum(b, move, turn, &launch->tensor[1], &launch->side[1])
                : make_between(b, move, turn, &launch->tensor[1], &launch->side[1]));
  return reshard_prepare_sum(b, launch);
}

llrt_status reshard_build_sum(reshard_builder *b, const reshard_move *move) {
  int turn = 0;
  for (int begin = 0; begin < move->n_from; turn++) {
    int room = RESHARD_LAUNCH_SUMMANDS - (begin > 0), left = move->n_from - begin;
    int end = begin + (left < room ? left : room);
    LLRT_TRY(build_round(b, move, begin, end, turn));
    begin = end;
  }
  return reshard_map_sum(b, move, turn - 1, NULL, NULL);
}
