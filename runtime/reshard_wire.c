#include "runtime/reshard_wire.h"

#include "base/memory.h"
#include "base/status.h"
#include "layout/box.h"
#include "runtime/reshard.h"
#include "runtime/reshard_parts.h"
#include "runtime/reshard_scales.h"

#include <stdlib.h>
#include <string.h>

/* Of a box that is sent in pieces that need no packing: below, a pass over memory costs less. */
#define BYTES_A_PIECE (INT64_C(2) << 20)
#define MOST_PIECES 32
/* What packs and unpacks beside NCCL's messages lengthens them by a third of the time that it takes
 * itself; where one end alone has a kernel parts hide nothing (docs/history/resharding-links.md).
 */
#define BYTES_A_PART (INT64_C(96) << 20)
#define MOST_PARTS 4
#define CUT_MULTIPLE 64 /* positions: where cuts fall, if extents allow */

int64_t reshard_bytes(int64_t elements, llrt_dtype dtype) {
  int64_t bits = llrt_dtype_bits(dtype);
  return elements / 8 * bits + (elements % 8 * bits + 7) / 8;
}

int64_t reshard_elements(const llrt_reshard_desc *desc, const reshard_move *move) {
  int64_t elements = 1;
  for (int axis = 0; axis < desc->source->rank; axis++) elements *= move->extent[axis];
  return elements;
}

/* ---- boxes that are one piece ---- */

/* What a box is in the memory of a part. */
typedef struct place {
  bool fits;  /* it is a tensor of its own, which begins with a byte */
  bool whole; /* and fills one piece of the part's memory, and no other element is there */
  storage_box box;
  int64_t offset; /* bytes */
} place;

/* Places that a digit's copies or pads take are more than elements; so are gaps. */
static bool fills_its_span(const storage_box *box, const int64_t *extent, int rank,
                           int64_t elements) {
  llrt_storage_binding binding;
  if (llrt_storage_bind(&box->storage, rank, extent, box->strides, &binding) != LLRT_OK)
    return false;
  for (int axis = 0; axis < rank; axis++)
    if (binding.padded[axis] != extent[axis]) return false;
  for (int i = 0; i < box->storage.n_digits; i++)
    if (box->storage.digit[i].axis == LLRT_AXIS_REPLICA) return false;
  return binding.span == elements;
}

static llrt_status find_place(const llrt_reshard_desc *desc, bool of_source, int rank,
                              const reshard_move *move, place *out) {
  const llrt_sharding *sharding = of_source ? desc->source : desc->destination;
  llrt_dtype dtype = of_source ? desc->source_dtype : desc->destination_dtype;
  int64_t begin[LLRT_MAX_RANK] = {0}, bits = llrt_dtype_bits(dtype);
  llrt_part part;
  llrt_storage_binding binding;
  *out = (place){.fits = false};
  if ((of_source ? desc->n_source_indices : desc->n_destination_indices) > 0) return LLRT_OK;
  reshard_part(sharding, desc->shape, rank, &part);
  LLRT_TRY(reshard_bind(sharding, of_source ? desc->source_strides : desc->destination_strides,
                        rank, &part, &binding));
  for (int axis = 0; axis < sharding->rank; axis++)
    begin[axis] = move->begin[axis] - part.begin[axis];
  storage_box_find(&sharding->storage, &binding, part.extent, begin, move->extent, &out->box,
                   &out->fits);
  out->fits = out->fits && out->box.offset * bits % 8 == 0;
  if (!out->fits) return LLRT_OK;
  int64_t elements = reshard_elements(desc, move);
  out->offset = out->box.offset * bits / 8;
  out->whole = reshard_open_axes(&sharding->storage) == 0 && /* another run may have gaps */
               elements * bits % 8 == 0 &&
               fills_its_span(&out->box, move->extent, sharding->rank, elements);
  return LLRT_OK;
}

/* ---- the wire ---- */

static bool has_word_bits(const llrt_reshard_desc *desc) {
  for (int i = 0; i < desc->n_maps; i++)
    if (desc->maps[i].kind == LLRT_MAP_WORD_BITS) return true;
  return false;
}

/* Whether two places of a move have the same elements in the same order: by their rules, or as both
 * are one row once their axes are folded. Precondition: each is whole. */
static bool same_order(const place *a, const place *b, const reshard_move *move, int rank) {
  const place *const both[2] = {a, b};
  reshard_copy copy = {.launched = false};
  if (llrt_storage_equal(&a->box.storage, &b->box.storage) &&
      memcmp(a->box.strides, b->box.strides, sizeof a->box.strides) == 0)
    return true;
  for (int t = 0; t < 2; t++) {
    copy.tensor[t] = (llrt_tensor){.rank = rank};
    memcpy(copy.tensor[t].shape, move->extent, sizeof move->extent);
    memcpy(copy.tensor[t].strides, both[t]->box.strides, sizeof both[t]->box.strides);
    copy.side[t].storage = both[t]->box.storage;
  }
  return reshard_fold(&copy) && copy.tensor[0].rank == 1;
}

static void take_order(const place *from, reshard_wire *wire) {
  wire->storage = from->box.storage;
  memcpy(wire->strides, from->box.strides, sizeof wire->strides);
}

/* Which end needs no kernel. A message of the narrower type is not in place where the type is the
 * wider one; words of WORD_BITS are the destination's memory, summands are added there, and scales
 * may not be where the message comes from: all that is for a kernel on arrival. */
static llrt_status choose_order(const llrt_reshard_desc *desc, const reshard_move *move,
                                const place *from, const place *to, bool arrives,
                                reshard_wire *wire) {
  bool alone = move->n_from == 1 && !has_word_bits(desc) && !(arrives && desc->n_maps > 0);
  wire->sent_in_place = from->whole && wire->dtype == desc->source_dtype;
  wire->received_in_place = to->whole && wire->dtype == desc->destination_dtype && alone;
  if (wire->sent_in_place && wire->received_in_place)
    wire->received_in_place = desc->n_maps == 0 && same_order(from, to, move, desc->source->rank);
  if (wire->sent_in_place) take_order(from, wire);
  else if (wire->received_in_place) take_order(to, wire);
  else return llrt_storage_row_major(desc->source->rank, &wire->storage);
  return LLRT_OK;
}

llrt_status reshard_wire_choose(const llrt_reshard_desc *desc, const reshard_move *move,
                                int summand, reshard_wire *wire) {
  int bits[2] = {llrt_dtype_bits(desc->source_dtype), llrt_dtype_bits(desc->destination_dtype)};
  bool arrives = move->n_from > 1 || has_word_bits(desc) || bits[0] < bits[1] ||
                 (move->scale >= 0 && !reshard_has_scales(desc, move->from[0], move));
  place from, to;
  LLRT_TRY(find_place(desc, true, move->from[summand], move, &from));
  LLRT_TRY(find_place(desc, false, move->to, move, &to));
  /* Of equal width: cast where the kernel is. A part that is sent as it lies is cast on arrival. */
  arrives |= bits[0] == bits[1] && from.whole;
  *wire = (reshard_wire){.dtype = arrives ? desc->source_dtype : desc->destination_dtype};
  LLRT_TRY(choose_order(desc, move, &from, &to, arrives, wire));
  wire->maps_on_arrival = arrives || wire->sent_in_place;
  wire->bytes = reshard_bytes(reshard_elements(desc, move), wire->dtype);
  wire->source_offset = from.offset;
  wire->destination_offset = to.offset;
  return LLRT_OK;
}

bool reshard_sends_scales(const llrt_reshard_desc *desc, const reshard_move *move) {
  reshard_wire wire;
  if (move->scale < 0 || reshard_has_scales(desc, move->to, move)) return false;
  if (move->n_from > 1 || move->from[0] == move->to) return true;
  return reshard_wire_choose(desc, move, 0, &wire) != LLRT_OK || wire.maps_on_arrival;
}

int64_t reshard_scale_bytes(const llrt_reshard_desc *desc, const reshard_move *move) {
  int64_t begin[LLRT_MAX_RANK], extent[LLRT_MAX_RANK];
  int64_t bytes = llrt_dtype_bits(desc->scale_dtype) / 8;
  if (move->scale < 0) return 0;
  reshard_scale_box(desc, move, begin, extent);
  for (int axis = 0; axis < desc->source->rank; axis++) bytes *= extent[axis];
  return bytes;
}

/* ---- pieces ---- */

/* At how many ends a message needs no kernel. */
static llrt_status count_in_place(const llrt_reshard_desc *desc, const reshard_move *move,
                                  reshard_wire *wire, int *ends) {
  LLRT_TRY(reshard_wire_choose(desc, move, 0, wire));
  *ends = wire->sent_in_place + wire->received_in_place;
  return LLRT_OK;
}

static reshard_move piece_at(const reshard_move *move, int axis, int64_t i) {
  reshard_move piece = *move;
  piece.begin[axis] += i;
  piece.extent[axis] = 1;
  return piece;
}

/* Of pieces of one position along an axis: the fewest ends in place of any; 0: too small, or too
 * many. */
static llrt_status judge_pieces(const llrt_reshard_desc *desc, const reshard_move *move, int axis,
                                int *ends) {
  int least = 2;
  *ends = 0;
  if (move->extent[axis] < 2 || move->extent[axis] > MOST_PIECES) return LLRT_OK;
  for (int64_t i = 0; i < move->extent[axis]; i++) {
    const reshard_move piece = piece_at(move, axis, i);
    reshard_wire wire;
    int in_place;
    LLRT_TRY(count_in_place(desc, &piece, &wire, &in_place));
    if (wire.bytes < BYTES_A_PIECE) return LLRT_OK;
    if (in_place < least) least = in_place;
  }
  *ends = least;
  return LLRT_OK;
}

llrt_status reshard_each_piece(const llrt_reshard_desc *desc, const reshard_move *move,
                               reshard_visit *visit, void *user) {
  reshard_wire wire;
  int best = 0, cut = -1;
  if (move->n_from > 1 || move->from[0] == move->to || move->scale >= 0) return visit(user, move);
  LLRT_TRY(count_in_place(desc, move, &wire, &best));
  for (int axis = 0; axis < desc->source->rank && best < 2; axis++) {
    int ends;
    LLRT_TRY(judge_pieces(desc, move, axis, &ends));
    if (ends <= best) continue;
    best = ends;
    cut = axis;
  }
  if (cut < 0) return visit(user, move);
  for (int64_t i = 0; i < move->extent[cut]; i++) {
    const reshard_move piece = piece_at(move, cut, i);
    LLRT_TRY(visit(user, &piece));
  }
  return LLRT_OK;
}

/* ---- parts ---- */

/* What all ranks send. */
typedef struct load {
  const llrt_reshard_desc *desc;
  int64_t *sent;        /* of each rank, bytes to others */
  int64_t elements;     /* of the largest move that crosses */
  reshard_move largest; /* the first such one */
  bool both;            /* some of its pieces are packed and unpacked */
} load;

static llrt_status weigh(void *user, const reshard_move *move) {
  load *l = user;
  int64_t elements = reshard_elements(l->desc, move);
  for (int s = 0; s < move->n_from; s++) {
    if (move->from[s] == move->to) continue;
    l->sent[move->from[s]] += reshard_bytes(elements, l->desc->source_dtype);
    if (elements > l->elements) {
      l->elements = elements;
      l->largest = *move;
    }
  }
  return LLRT_OK;
}

static llrt_status note_both(void *user, const reshard_move *piece) {
  load *l = user;
  reshard_wire wire;
  int ends;
  LLRT_TRY(count_in_place(l->desc, piece, &wire, &ends));
  l->both |= ends == 0;
  return LLRT_OK;
}

static llrt_status count_parts(load *l, int64_t ranks, int *parts) {
  int64_t most = 0;
  for (int64_t r = 0; r < ranks; r++) LLRT_TRY(reshard_each_move(l->desc, r, weigh, l));
  for (int64_t r = 0; r < ranks; r++)
    if (l->sent[r] > most) most = l->sent[r];
  int64_t n = most / BYTES_A_PART;
  if (n <= 1) return LLRT_OK;
  LLRT_TRY(reshard_each_piece(l->desc, &l->largest, note_both, l));
  if (l->both) *parts = n > MOST_PARTS ? MOST_PARTS : (int)n;
  return LLRT_OK;
}

llrt_status reshard_count_parts(const llrt_reshard_desc *desc, int64_t ranks, int *parts) {
  load l = {.desc = desc};
  *parts = desc->parts > 0 ? desc->parts : 1;
  if (desc->parts > 0) return LLRT_OK;
  l.sent = memory_zeroed((size_t)ranks, sizeof *l.sent);
  if (!l.sent) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %lld ranks", (long long)ranks);
  llrt_status status = count_parts(&l, ranks, parts);
  free(l.sent);
  return status;
}

/* Positions of each part but the last along an axis, whole groups of scales; 0: it has too few. */
static int64_t piece_of(const llrt_reshard_desc *desc, const reshard_move *move, int axis, int n) {
  const llrt_map *scale = reshard_scale_map(desc);
  int64_t extent = move->extent[axis], piece = (extent + n - 1) / n;
  int64_t group = scale && scale->group[axis] > 1 ? scale->group[axis] : 1;
  if (extent < n) return 0;
  if (piece >= CUT_MULTIPLE) piece = (piece + CUT_MULTIPLE - 1) / CUT_MULTIPLE * CUT_MULTIPLE;
  return (piece + group - 1) / group * group;
}

static bool cut_along(const llrt_reshard_desc *desc, const reshard_move *move, int axis, int part,
                      int n, reshard_move *piece) {
  int64_t step = piece_of(desc, move, axis, n), begin = step * part;
  if (step == 0 || begin >= move->extent[axis]) return false;
  *piece = *move;
  piece->begin[axis] += begin;
  piece->extent[axis] = move->extent[axis] - begin < step ? move->extent[axis] - begin : step;
  return true;
}

/* Whether pieces are as good as the whole: tensors of their own, and in place where that is. */
static bool cuts_well(const llrt_reshard_desc *desc, const reshard_move *move, int axis, int n) {
  for (int s = 0; s < 2; s++) {
    int rank = s ? move->to : move->from[0];
    place whole, cut;
    reshard_move piece;
    if (find_place(desc, s == 0, rank, move, &whole) != LLRT_OK || !whole.fits) return false;
    for (int part = 0; part < n && cut_along(desc, move, axis, part, n, &piece); part++)
      if (find_place(desc, s == 0, rank, &piece, &cut) != LLRT_OK || !cut.fits ||
          cut.whole != whole.whole)
        return false;
  }
  return piece_of(desc, move, axis, n) > 0;
}

bool reshard_cut_move(const llrt_reshard_desc *desc, const reshard_move *move, int part, int n,
                      reshard_move *piece) {
  *piece = *move;
  for (int axis = 0; axis < desc->source->rank && n > 1; axis++)
    if (cuts_well(desc, move, axis, n)) return cut_along(desc, move, axis, part, n, piece);
  return part == 0;
}
