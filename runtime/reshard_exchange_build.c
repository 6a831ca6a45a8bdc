/* From moves to packs, messages and unpacks of one rank. Every rank goes through all moves of all
 * ranks in one order, so that the messages between two of them are in the same order at both. */
#include "base/memory.h"
#include "base/status.h"
#include "runtime/context.h"
#include "runtime/reshard_build.h"
#include "runtime/reshard_exchange.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGE_ALIGNMENT 256

/* A move that this rank has to do with. */
typedef struct exchange_builder {
  reshard_builder b;
  reshard_exchange *exchange;
  int rank;
  int n, capacity;
  reshard_move *move;
  int64_t *sent;            /* of each rank, bytes to others */
  reshard_copies copies[2]; /* without the description's maps, and with them */
  int part;                 /* of which launches are being built */
  int64_t *arrives;         /* [n][RESHARD_MAX_SUMMANDS]: where in the workspace; of the part */
} exchange_builder;

/* ---- moves ---- */

static bool takes_part(const reshard_move *move, int rank) {
  bool takes = move->to == rank;
  for (int s = 0; s < move->n_from; s++) takes |= move->from[s] == rank;
  return takes;
}

static llrt_status note_move(void *user, const reshard_move *move) {
  exchange_builder *e = user;
  int64_t elements = reshard_elements(e->b.desc, move);
  for (int s = 0; s < move->n_from; s++)
    if (move->from[s] != move->to)
      e->sent[move->from[s]] += reshard_bytes(elements, e->b.desc->source_dtype);
  if (!takes_part(move, e->rank)) return LLRT_OK;
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

static llrt_status collect(exchange_builder *e, int ranks) {
  int64_t most = 0;
  e->sent = memory_zeroed((size_t)ranks, sizeof *e->sent);
  if (!e->sent) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %d ranks", ranks);
  for (int r = 0; r < ranks; r++) LLRT_TRY(reshard_each_move(e->b.desc, r, note_move, e));
  for (int r = 0; r < ranks; r++)
    if (e->sent[r] > most) most = e->sent[r];
  e->exchange->n_parts = reshard_count_parts(e->b.desc, most);
  size_t places = (size_t)(e->n ? e->n : 1) * RESHARD_MAX_PARTS * RESHARD_MAX_SUMMANDS;
  e->arrives = memory_zeroed(places, sizeof *e->arrives);
  if (!e->arrives) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %d moves", e->n);
  return LLRT_OK;
}

static int64_t *arrival(const exchange_builder *e, int move, int summand) {
  return &e->arrives[((size_t)move * RESHARD_MAX_PARTS + (size_t)e->part) * RESHARD_MAX_SUMMANDS +
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
  side->rank = RESHARD_WORKSPACE;
  side->offset = offset;
}

/* Between the workspace and a box of the own part. */
static llrt_status add_copy(exchange_builder *e, const reshard_move *move, const reshard_wire *wire,
                            int64_t offset, bool arrives) {
  const llrt_reshard_desc *desc = e->b.desc;
  reshard_copy *copy;
  LLRT_TRY(reshard_new_copy(&e->copies[wire->maps_on_arrival == arrives], &copy));
  int part = arrives, message = !arrives;
  make_wire(wire, offset, desc->source->rank, move, &copy->tensor[message], &copy->side[message]);
  return reshard_make_side(desc, arrives, e->rank, move, &copy->tensor[part], &copy->side[part]);
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

static llrt_status send(exchange_builder *e, const reshard_move *move, int summand) {
  reshard_wire wire;
  LLRT_TRY(reshard_wire_choose(e->b.desc, move, summand, &wire));
  reshard_transfer transfer = {.peer = move->to,
                               .sends = true,
                               .in_place = wire.sent_in_place,
                               .offset = wire.source_offset,
                               .bytes = wire.bytes};
  if (!wire.sent_in_place) {
    transfer.offset = take_workspace(e->exchange, wire.bytes);
    LLRT_TRY(add_copy(e, move, &wire, transfer.offset, false));
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

/* What packs a part, and its messages. */
static llrt_status build_messages(exchange_builder *e) {
  for (int i = 0; i < e->n; i++) {
    reshard_move piece;
    if (!reshard_cut_move(e->b.desc, &e->move[i], e->part, e->exchange->n_parts, &piece)) continue;
    for (int s = 0; s < piece.n_from; s++) {
      if (piece.from[s] == piece.to) continue;
      if (piece.from[s] == e->rank) LLRT_TRY(send(e, &piece, s));
      if (piece.to == e->rank) LLRT_TRY(receive(e, i, &piece, s));
    }
  }
  return launch_copies(e);
}

/* ---- what arrives ---- */

static llrt_status build_unpack(exchange_builder *e, int i, const reshard_move *move) {
  reshard_wire wire;
  LLRT_TRY(reshard_wire_choose(e->b.desc, move, 0, &wire));
  return wire.received_in_place ? LLRT_OK : add_copy(e, move, &wire, *arrival(e, i, 0), true);
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
      LLRT_TRY(reshard_make_side(desc, false, e->rank, move, tensor, &launch->side[t]));
      continue;
    }
    LLRT_TRY(reshard_wire_choose(desc, move, s, &wire));
    make_wire(&wire, *arrival(e, i, s), desc->source->rank, move, tensor, &launch->side[t]);
  }
  LLRT_TRY(reshard_make_side(desc, true, e->rank, move, &launch->tensor[1], &launch->side[1]));
  return reshard_prepare_sum(&e->b, launch);
}

static llrt_status build_arrivals(exchange_builder *e) {
  for (int i = 0; i < e->n; i++) {
    reshard_move piece;
    const reshard_move *move = &e->move[i];
    bool stays = move->n_from == 1 && move->from[0] == e->rank;
    if (move->to != e->rank || stays) continue;
    if (!reshard_cut_move(e->b.desc, move, e->part, e->exchange->n_parts, &piece)) continue;
    LLRT_TRY(piece.n_from > 1 ? build_sum(e, i, &piece) : build_unpack(e, i, &piece));
  }
  return launch_copies(e);
}

static llrt_status build_stays(exchange_builder *e) {
  for (int i = 0; i < e->n; i++)
    if (e->move[i].n_from == 1 && e->move[i].from[0] == e->move[i].to)
      LLRT_TRY(reshard_add_copy(&e->copies[1], &e->move[i]));
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

static llrt_status make_streams(reshard_exchange *exchange, llrt_device *device) {
  const llrt_backend *backend = device->backend;
  if (exchange->n_parts == 1 || !backend->stream_create || !backend->event_wait) return LLRT_OK;
  LLRT_TRY(backend->stream_create(device, &exchange->stream));
  for (int i = 0; i < exchange->n_parts; i++) {
    LLRT_TRY(backend->event_create(device, &exchange->packed[i]));
    LLRT_TRY(backend->event_create(device, &exchange->arrived[i]));
  }
  return LLRT_OK;
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
  free(e.sent);
  free(e.arrives);
  for (int maps = 0; maps < 2; maps++) free(e.copies[maps].copy);
  LLRT_TRY(status);
  exchange->queued = memory_new((size_t)(exchange->n_transfers + 1) * sizeof *exchange->queued);
  if (!exchange->queued)
    return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %d messages", exchange->n_transfers);
  LLRT_TRY(make_streams(exchange, reshard->comm->device));
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
  if (exchange->own_workspace) backend->release(device, exchange->own_workspace);
  pthread_mutex_destroy(&exchange->mutex);
  free(exchange->transfer);
  free(exchange->queued);
  free(exchange);
  reshard->exchange = NULL;
}
