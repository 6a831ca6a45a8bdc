/* A peer's memory is written, or read, by sectors: a piece of one that follows in memory costs a
 * whole one. So short pieces are better made in the own memory; and of two types the narrower one
 * had better cross. */
#include "runtime/reshard_access.h"

#include "layout/box.h"
#include "runtime/reshard_parts.h"

#include <string.h>

#define SECTOR 32 /* bytes, of an NVIDIA GPU's memory */
#define READ_COST \
  1.125 /* of a byte that is read, written ones being 1: a read waits for its answer */

int64_t reshard_run_of(const storage_box *box, const int64_t *extent, int rank) {
  llrt_storage_binding binding;
  int64_t run = 1ll << box->storage.tile.n_in;
  if (llrt_storage_bind(&box->storage, rank, extent, box->strides, &binding) != LLRT_OK) return 1;
  for (int i = 0; i < box->storage.n_digits; i++) {
    int64_t stride = binding.stride[i] < 0 ? -binding.stride[i] : binding.stride[i];
    if (stride != run || binding.extent[i] == 1) continue;
    run *= binding.extent[i];
    i = -1; /* one of those before may follow now */
  }
  return run;
}

/* Bytes of sectors that a box takes in rank's part. */
static double sectors_of(const llrt_reshard_desc *desc, bool source, int rank,
                         const reshard_move *move) {
  const llrt_sharding *of = source ? desc->source : desc->destination;
  int64_t begin[LLRT_MAX_RANK], elements = 1, run = 1;
  double bits = llrt_dtype_bits(source ? desc->source_dtype : desc->destination_dtype);
  llrt_part part;
  llrt_storage_binding binding;
  storage_box box;
  bool fits;
  reshard_part(of, desc->shape, rank, &part);
  for (int axis = 0; axis < of->rank; axis++) {
    begin[axis] = move->begin[axis] - part.begin[axis];
    elements *= move->extent[axis];
  }
  bool indexed = (source ? desc->n_source_indices : desc->n_destination_indices) > 0;
  if (!indexed && reshard_bind(of, source ? desc->source_strides : desc->destination_strides, rank,
                               &part, &binding) == LLRT_OK) {
    storage_box_find(&of->storage, &binding, part.extent, begin, move->extent, &box, &fits);
    if (fits) run = reshard_run_of(&box, move->extent, of->rank);
  }
  double bytes = (double)run * bits / 8;
  return (double)elements / (double)run * (bytes < SECTOR ? SECTOR : bytes);
}

typedef struct counter {
  const llrt_reshard_desc *desc;
  reshard_crossing sum;
} counter;

static llrt_status count_move(void *user, const reshard_move *move) {
  counter *c = user;
  if (move->from[0] == move->to) return LLRT_OK;
  c->sum.written += sectors_of(c->desc, false, move->to, move);
  c->sum.read += sectors_of(c->desc, true, move->from[0], move);
  return LLRT_OK;
}

reshard_crossing reshard_count_crossing(const llrt_reshard_desc *desc) {
  llrt_reshard_desc written = *desc;
  counter c = {.desc = &written};
  written.access = LLRT_RESHARD_WRITE;
  if (reshard_count_summands(desc->source) > 1) return c.sum;
  for (int64_t i = 0; i < llrt_mesh_devices(&desc->source->mesh); i++)
    reshard_each_move(&written, desc->source->mesh.first + i, count_move, &c);
  return c.sum;
}

llrt_reshard_access reshard_choose_access(const llrt_reshard_desc *desc,
                                          const reshard_crossing *crossing) {
  if (reshard_count_summands(desc->source) > 1) return LLRT_RESHARD_READ;
  if (desc->access != LLRT_RESHARD_ACCESS_CHOOSE) return (llrt_reshard_access)desc->access;
  if (reshard_shares_bytes(desc)) return LLRT_RESHARD_READ;
  return crossing->read * READ_COST < crossing->written ? LLRT_RESHARD_READ : LLRT_RESHARD_WRITE;
}
