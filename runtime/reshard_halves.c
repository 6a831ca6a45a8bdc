/* Elements of 4 bits: a byte of the destination may hold elements of two boxes. Who writes one of
 * them reads the byte, and writes it with the other element as it was; two of them at a time lose
 * one. */
#include "base/status.h"
#include "layout/box.h"
#include "layout/storage_rule.h"
#include "runtime/reshard_access.h"
#include "runtime/reshard_parts.h"
#include "runtime/reshard_wire.h"

/* Whether elements 2i and 2i + 1 of the memory, from an even one on, are both of the box or none:
 * so it is where pieces of memory begin at even places and are of even lengths. */
static bool has_whole_bytes(const storage_box *box, const int64_t *extent, int rank) {
  llrt_storage_binding binding;
  if (box->offset % 2 != 0 || storage_has_swizzle(&box->storage) ||
      llrt_storage_bind(&box->storage, rank, extent, box->strides, &binding) != LLRT_OK)
    return false;
  int64_t run = reshard_run_of(box, extent, rank);
  bool whole = run % 2 == 0;
  for (int i = 0; i < box->storage.n_digits; i++) {
    if (binding.extent[i] == 1) continue;
    whole &= binding.stride[i] >= 0 && (binding.stride[i] < run || binding.stride[i] % 2 == 0);
  }
  return whole;
}

typedef struct search {
  const llrt_reshard_desc *desc;
  bool shares;
} search;

static llrt_status look_at_piece(void *user, const reshard_move *piece) {
  search *s = user;
  const llrt_sharding *of = s->desc->destination;
  int64_t begin[LLRT_MAX_RANK];
  llrt_part part;
  llrt_storage_binding binding;
  storage_box box;
  bool fits = false, all = true;
  reshard_part(of, s->desc->shape, piece->to, &part);
  for (int axis = 0; axis < of->rank; axis++) {
    begin[axis] = piece->begin[axis] - part.begin[axis];
    all &= piece->extent[axis] == part.extent[axis];
  }
  if (all) return LLRT_OK;
  LLRT_TRY(reshard_bind(of, s->desc->destination_strides, piece->to, &part, &binding));
  if (s->desc->n_destination_indices == 0)
    storage_box_find(&of->storage, &binding, part.extent, begin, piece->extent, &box, &fits);
  s->shares |= !fits || !has_whole_bytes(&box, piece->extent, of->rank);
  return LLRT_OK;
}

static llrt_status look_at_move(void *user, const reshard_move *move) {
  const search *s = user;
  return reshard_each_piece(s->desc, move, look_at_piece, user);
}

static int64_t last_of(const llrt_sharding *sharding) {
  return sharding->mesh.first + llrt_mesh_devices(&sharding->mesh) - 1;
}

bool reshard_shares_bytes(const llrt_reshard_desc *desc) {
  llrt_reshard_desc written = *desc;
  search s = {.desc = &written};
  int64_t source = last_of(desc->source), destination = last_of(desc->destination);
  if (llrt_dtype_bits(desc->destination_dtype) >= 8) return false;
  written.access = LLRT_RESHARD_WRITE;
  for (int64_t r = 0; r <= (source > destination ? source : destination) && !s.shares; r++)
    if (reshard_each_move(&written, r, look_at_move, &s) != LLRT_OK) return true;
  return s.shares;
}
