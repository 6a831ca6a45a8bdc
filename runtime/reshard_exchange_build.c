/* From moves to packs, messages and unpacks of one rank. Every rank goes through all moves of all
 * ranks in one order, so that the messages between two of them are in the same order at both. */
#include "base/memory.h"
#include "base/status.h"
#include "runtime/context.h"
#include "runtime/reshard_build.h"
#include "runtime/reshard_exchange.h"
#include "runtime/reshard_scales.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGE_ALIGNMENT 256
#define STAYS_BESIDE (INT64_C(32) << 20) /* bytes: 10 us on an H100; two events take 5 */

/* Of a move: its summands, and its scales. */
enum { SCALES = RESHARD_MAX_SUMMANDS, PLACES };

/* A move that this rank has to do with. */
typedef struct exchange_builder {
  reshard_builder b;
  reshard_exchange *exchange;
  int rank;
  int n, capacity;
  reshard_move *move;
  int64_t stays;            /* bytes that are read and written of what stays on the rank */
  reshard_copies copies[2]; /* without the description's maps, and with them */
  int part;                 /* of which launches are being built */
  int64_t *arrives;         /* [n][parts][PLACES]: where in the workspace */
} exchange_builder;

/* ---- moves ---- */

static bool takes_part(const reshard_move *move, int rank) {
  bool takes = move->to == rank || move->scale == rank;
  for (int s = 0; s < move->n_from; s++) takes |= move->from[s] == rank;
  return takes;
}

static llrt_status note_piece(void *user, const reshard_move *move) {
  exchange_builder *e = user;
  int64_t elements = reshard_elements(e->b.desc, move);
  if (move->n_from == 1 && move->from[0] == move->to)
    e->stays += reshard_bytes(elements, e->b.desc->source_dtype) +
                reshard_bytes(elements, e->b.desc->destination_dtype);
  if (e->n == e->capacity) {
    int capacity = e->capacity ? 2 * e->capacity : 16;
    reshard_move *grown = memory_resize(e->move, (size_t)capacity * sizeof *e->move);
    if (!grown) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %d moves", capacity);
    e->move = grown;
    e->capacity = capacity;
  }
  e->move[e->n++] = *move;
  return LLRT_OK;
}

static llrt_status note_move(void *user, const reshard_move *move) {
  const exchange_builder *e = user;
  if (!takes_part(move, e->rank)) return LLRT_OK;
  return reshard_each_piece(e->b.desc, move, note_piece, user);
}

static llrt_status collect(exchange_builder *e, int ranks) {
  for (int r = 0; r < ranks; r++) LLRT_TRY(reshard_each_move(e->b.desc, r, note_move, e));
  LLRT_TRY(reshard_count_parts(e->b.desc, ranks, &e->exchange->n_parts));
  size_t places = (size_t)(e->n ? e->n : 1) * RESHARD_MAX_PARTS * PLACES;
  e->arrives = memory_zeroed(places, sizeof *e->arrives);
  if (!e->arrives) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %d moves", e->n);
  return LLRT_OK;
}

static int64_t *arrival(const exchange_builder *e, int move, int summand) {
  return &e->arrives[((size_t)move * RESHARD_MAX_PARTS + (size_t)e->part) * PLACES +
                     (size_t)summand];
}

/* ---- messages ---- */

static int64_t take_workspace(reshard_exchange *exchange, int64_t bytes) {
  int64_t offset = exchange->workspace_bytes;
  exchange->workspace_bytes +=
      (bytes + MESSAGE_ALIGNMENT - 1) / MESSAGE_ALIGNMENT * MESSAGE_ALIGNMENT;
  return offset;
}

static llrt_status add_transfer(reshard_exchange *exchange, const reshard_transfer *transfer) {
  if (exchange->n_transfers == exchange->capacity) {
    int capacity = exchange->capacity ? 2 * exchange->capacity : 16;
    reshard_transfer *grown =
        memory_resize(exchange->transfer, (size_t)capacity * sizeof *exchange->transfer);
    if (!grown) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %d messages", capacity);
    exchange->transfer = grown;
    exchange->capacity = capacity;
  }
  exchange->transfer[exchange->n_transfers++] = *transfer;
  return LLRT_OK;
}

/* A message in the workspace as a tensor. */
static void make_wire(const reshard_wire *wire, int64_t offset, int rank, const reshard_move *move,
                      llrt_tensor *tensor, reshard_side *side) {
  *tensor = (llrt_tensor){.dtype = wire->dtype, .rank = rank};
  memcpy(tensor->shape, move->extent, sizeof move->extent);
  memcpy(tensor->strides, wire->strides, sizeof wire->strides);
  side->storage = wire->storage;
  side->spot = (reshard_spot){.rank = RESHARD_WORKSPACE, .offset = offset};
}

/* The scales of move i's piece, as this rank has them or has got them. */
static llrt_status make_scales(exchange_builder *e, int i, const reshard_move *move,
                               llrt_tensor *tensor, reshard_side *side) {
  const llrt_reshard_desc *desc = e->b.desc;
  int64_t begin[LLRT_MAX_RANK];
  if (reshard_has_scales(desc, e->rank, move))
    return reshard_make_side(desc, RESHARD_SCALES, e->rank, move, tensor, side);
  *tensor = (llrt_tensor){.dtype = desc->scale_dtype, .rank = desc->source->rank};
  reshard_scale_box(desc, move, begin, tensor->shape);
  side->spot = (reshard_spot){.rank = RESHARD_WORKSPACE, .offset = *arrival(e, i, SCALES)};
  return llrt_storage_row_major(tensor->rank, &side->storage);
}

/* Between the workspace and a box of the own part, of move i's piece. */
static llrt_status add_copy(exchange_builder *e, int i, const reshard_move *move,
                            const reshard_wire *wire, int64_t offset, bool arrives) {
  const llrt_reshard_desc *desc = e->b.desc;
  reshard_copy *copy;
  bool maps = wire->maps_on_arrival == arrives;
  LLRT_TRY(reshard_new_copy(&e->copies[maps], &copy));
  int part = arrives, message = !arrives;
  make_wire(wire, offset, desc->source->rank, move, &copy->tensor[message], &copy->side[message]);
  LLRT_TRY(reshard_make_side(desc, arrives ? RESHARD_DESTINATIONS : RESHARD_SOURCES, e->rank, move,
                             &copy->tensor[part], &copy->side[part]));
  if (!maps || move->scale < 0) return LLRT_OK;
  copy->n = 3;
  return make_scales(e, i, move, &copy->tensor[2], &copy->side[2]);
}

/* Launches of what was added: with the description's maps, and without. */
static llrt_status launch_copies(exchange_builder *e) {
  for (int maps = 0; maps < 2; maps++) {
    llrt_status status = reshard_launch_copies(&e->b, &e->copies[maps], maps);
    free(e->copies[maps].copy);
    reshard_copies_init(&e->copies[maps], e->b.desc);
    LLRT_TRY(status);
  }
  return LLRT_OK;
}

static llrt_status send(exchange_builder *e, int i, const reshard_move *move, int summand) {
  reshard_wire wire;
  LLRT_TRY(reshard_wire_choose(e->b.desc, move, summand, &wire));
  reshard_transfer transfer = {.peer = move->to,
                               .sends = true,
                               .in_place = wire.sent_in_place,
                               .offset = wire.source_offset,
                               .bytes = wire.bytes};
  if (!wire.sent_in_place) {
    transfer.offset = take_workspace(e->exchange, wire.bytes);
    LLRT_TRY(add_copy(e, i, move, &wire, transfer.offset, false));
  }
  return add_transfer(e->exchange, &transfer);
}

static llrt_status receive(exchange_builder *e, int i, const reshard_move *move, int summand) {
  reshard_wire wire;
  LLRT_TRY(reshard_wire_choose(e->b.desc, move, summand, &wire));
  reshard_transfer transfer = {.peer = move->from[summand],
                               .in_place = wire.received_in_place,
                               .offset = wire.destination_offset,
                               .bytes = wire.bytes};
  if (!wire.received_in_place)
    *arrival(e, i, summand) = transfer.offset = take_workspace(e->exchange, wire.bytes);
  return add_transfer(e->exchange, &transfer);
}

/* Scales go in rows from who has them to who needs them, where those are two. */
static llrt_status build_scales(exchange_builder *e, int i, const reshard_move *move) {
  const llrt_reshard_desc *desc = e->b.desc;
  reshard_transfer transfer = {.bytes = reshard_scale_bytes(desc, move)};
  reshard_copy *copy;
  if (!reshard_sends_scales(desc, move)) return LLRT_OK;
  if (move->to == e->rank) {
    transfer.peer = move->scale;
    *arrival(e, i, SCALES) = transfer.offset = take_workspace(e->exchange, transfer.bytes);
    return add_transfer(e->exchange, &transfer);
  }
  if (move->scale != e->rank) return LLRT_OK;
  transfer.sends = true;
  transfer.peer = move->to;
  transfer.offset = take_workspace(e->exchange, transfer.bytes);
  LLRT_TRY(reshard_new_copy(&e->copies[0], &copy));
  LLRT_TRY(
      reshard_make_side(desc, RESHARD_SCALES, e->rank, move, &copy->tensor[0], &copy->side[0]));
  copy->tensor[1] = copy->tensor[0];
  copy->tensor[1].n_indices = 0;
  LLRT_TRY(llrt_storage_row_major(copy->tensor[1].rank, &copy->side[1].storage));
  copy->side[1].spot = (reshard_spot){.rank = RESHARD_WORKSPACE, .offset = transfer.offset};
  return add_transfer(e->exchange, &transfer);
}

/* What packs a part, and its messages. */
static llrt_status build_messages(exchange_builder *e) {
  for (int i = 0; i < e->n; i++) {
    reshard_move piece;
    if (!reshard_cut_move(e->b.desc, &e->move[i], e->part, e->exchange->n_parts, &piece)) continue;
    for (int s = 0; s < piece.n_from; s++) {
      if (piece.from[s] == piece.to) continue;
      if (piece.from[s] == e->rank) LLRT_TRY(send(e, i, &piece, s));
      if (piece.to == e->rank) LLRT_TRY(receive(e, i, &piece, s));
    }
    LLRT_TRY(build_scales(e, i, &piece));
  }
  return launch_copies(e);
}

/* ---- what arrives ---- */

/* Whether a move is the rank's own and needs nothing of others. */
static bool stays_alone(const exchange_builder *e, const reshard_move *move) {
  return move->to == e->rank && move->n_from == 1 && move->from[0] == e->rank &&
         !reshard_sends_scales(e->b.desc, move);
}

static llrt_status build_unpack(exchange_builder *e, int i, const reshard_move *move) {
  reshard_wire wire;
  LLRT_TRY(reshard_wire_choose(e->b.desc, move, 0, &wire));
  return wire.received_in_place ? LLRT_OK : add_copy(e, i, move, &wire, *arrival(e, i, 0), true);
}

/* The own summand from the own part, the others from their messages, in the mesh's order. */
static llrt_status build_sum(exchange_builder *e, int i, const reshard_move *move) {
  const llrt_reshard_desc *desc = e->b.desc;
  reshard_launch *launch;
  LLRT_TRY(reshard_add_launch(e->b.reshard, move->n_from + 1, &launch));
  for (int s = 0; s < move->n_from; s++) {
    int t = s ? s + 1 : 0;
    llrt_tensor *tensor = &launch->tensor[t];
    reshard_wire wire;
    if (move->from[s] == e->rank) {
      LLRT_TRY(reshard_make_side(desc, RESHARD_SOURCES, e->rank, move, tensor, &launch->side[t]));
      continue;
    }
    LLRT_TRY(reshard_wire_choose(desc, move, s, &wire));
    make_wire(&wire, *arrival(e, i, s), desc->source->rank, move, tensor, &launch->side[t]);
  }
  LLRT_TRY(reshard_make_sum(&e->b, move, 0, &launch->tensor[1], &launch->side[1]));
  LLRT_TRY(reshard_prepare_sum(&e->b, launch));
  if (move->scale < 0) return reshard_map_sum(&e->b, move, 0, NULL, NULL);
  llrt_tensor scale;
  reshard_side side = {.storage = {.rank = 0}};
  LLRT_TRY(make_scales(e, i, move, &scale, &side));
  return reshard_map_sum(&e->b, move, 0, &scale, &side);
}

/* What stays on the rank, once its scales are there, where they come from another. */
static llrt_status build_stay(exchange_builder *e, int i, const reshard_move *move) {
  const llrt_reshard_desc *desc = e->b.desc;
  reshard_copy *copy;
  LLRT_TRY(reshard_new_copy(&e->copies[1], &copy));
  copy->n = move->scale < 0 ? 2 : 3;
  LLRT_TRY(
      reshard_make_side(desc, RESHARD_SOURCES, e->rank, move, &copy->tensor[0], &copy->side[0]));
  LLRT_TRY(reshard_make_side(desc, RESHARD_DESTINATIONS, e->rank, move, &copy->tensor[1],
                             &copy->side[1]));
  return copy->n == 2 ? LLRT_OK : make_scales(e, i, move, &copy->tensor[2], &copy->side[2]);
}

static llrt_status build_arrivals(exchange_builder *e) {
  for (int i = 0; i < e->n; i++) {
    reshard_move piece;
    const reshard_move *move = &e->move[i];
    if (move->to != e->rank || stays_alone(e, move)) continue;
    if (!reshard_cut_move(e->b.desc, move, e->part, e->exchange->n_parts, &piece)) continue;
    if (piece.n_from > 1) LLRT_TRY(build_sum(e, i, &piece));
    else if (piece.from[0] == e->rank) LLRT_TRY(build_stay(e, i, &piece));
    else LLRT_TRY(build_unpack(e, i, &piece));
  }
  return launch_copies(e);
}

static llrt_status build_stays(exchange_builder *e) {
  for (int i = 0; i < e->n; i++)
    if (stays_alone(e, &e->move[i])) LLRT_TRY(build_stay(e, i, &e->move[i]));
  return launch_copies(e);
}

/* ---- all of it ---- */

static llrt_status build_launches(exchange_builder *e) {
  reshard_exchange *exchange = e->exchange;
  llrt_reshard *reshard = e->b.reshard;
  LLRT_TRY(reshard_build_fill(&e->b));
  for (e->part = 0; e->part < exchange->n_parts; e->part++) {
    LLRT_TRY(build_messages(e));
    exchange->packs_end[e->part] = reshard->n;
    exchange->transfers_end[e->part] = exchange->n_transfers;
  }
  LLRT_TRY(build_stays(e));
  exchange->stays_end = reshard->n;
  for (e->part = 0; e->part < exchange->n_parts; e->part++) {
    LLRT_TRY(build_arrivals(e));
    exchange->unpacks_end[e->part] = reshard->n;
  }
  return LLRT_OK;
}

/* There is a stream where something is to run beside messages: other parts' packing, or what stays
 * on the rank, if that takes longer than events do. */
static llrt_status make_streams(reshard_exchange *exchange, llrt_device *device, int64_t stays) {
  const llrt_backend *backend = device->backend;
  bool beside = exchange->n_parts > 1 || (stays >= STAYS_BESIDE && exchange->n_transfers > 0);
  if (!beside || !backend->stream_create || !backend->event_wait) return LLRT_OK;
  LLRT_TRY(backend->stream_create(device, &exchange->stream));
  for (int i = 0; i < exchange->n_parts; i++) {
    LLRT_TRY(backend->event_create(device, &exchange->packed[i]));
    LLRT_TRY(backend->event_create(device, &exchange->arrived[i]));
  }
  return backend->event_create(device, &exchange->done);
}

llrt_status reshard_exchange_build(llrt_reshard *reshard, const llrt_reshard_desc *desc,
                                   void *stream) {
  reshard_exchange *exchange = memory_zeroed(1, sizeof *exchange);
  if (!exchange) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a re-shard");
  pthread_mutex_init(&exchange->mutex, NULL);
  reshard->exchange = exchange;
  exchange->halves =
      llrt_dtype_bits(desc->source_dtype) < 8 || llrt_dtype_bits(desc->destination_dtype) < 8;
  exchange_builder e = {.b = {reshard, desc}, .exchange = exchange, .rank = reshard->comm->rank};
  for (int maps = 0; maps < 2; maps++) reshard_copies_init(&e.copies[maps], desc);
  llrt_status status = collect(&e, reshard->comm->ranks);
  if (status == LLRT_OK) status = build_launches(&e);
  free(e.move);
  free(e.arrives);
  for (int maps = 0; maps < 2; maps++) free(e.copies[maps].copy);
  LLRT_TRY(status);
  exchange->queued = memory_new((size_t)(exchange->n_transfers + 1) * sizeof *exchange->queued);
  if (!exchange->queued)
    return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %d messages", exchange->n_transfers);
  /* bytes may hold elements of two boxes or parts: one launch follows the other */
  if (llrt_dtype_bits(desc->destination_dtype) >= 8)
    LLRT_TRY(make_streams(exchange, reshard->comm->device, e.stays));
  return reshard_finish(reshard, stream);
}

void reshard_exchange_drop(llrt_reshard *reshard) {
  reshard_exchange *exchange = reshard->exchange;
  llrt_device *device = reshard->comm->device;
  const llrt_backend *backend = device->backend;
  if (!exchange) return;
  if (exchange->stream) backend->stream_destroy(device, exchange->stream);
  for (int i = 0; i < RESHARD_MAX_PARTS; i++) {
    if (exchange->packed[i]) backend->event_destroy(device, exchange->packed[i]);
    if (exchange->arrived[i]) backend->event_destroy(device, exchange->arrived[i]);
  }
  if (exchange->done) backend->event_destroy(device, exchange->done);
  if (exchange->own_workspace) backend->release(device, exchange->own_workspace);
  pthread_mutex_destroy(&exchange->mutex);
  free(exchange->transfer);
  free(exchange->queued);
  free(exchange);
  reshard->exchange = NULL;
}
