/* Outputs of an expression that lie in a paged cache: in a storage of its slots, at slots that an
 * index chooses; or in a storage as they are. */
#ifndef LLRT_BENCHMARKS_COMPUTE_PLACES_H
#define LLRT_BENCHMARKS_COMPUTE_PLACES_H

#include "dot_run.h"

/* The tensor's first axis is one of slots in memory, in blocks of 16; storage: of that; first: the
 * slot of the first position in its block, or COMPUTE_APART: positions beside each other lie in
 * blocks of their own; COMPUTE_STORED: there are no slots. */
#define COMPUTE_APART (-1)
#define COMPUTE_STORED (-2)
typedef struct compute_place {
  const char *tensor, *storage;
  int first;
} compute_place;

/* A tensor's cache; `slots` 0: it has none. */
typedef struct placed {
  int64_t slots, *slot; /* positions of the first axis -> slots; on the host */
  bool stored;          /* a position's slot is itself; what pads are is not compared */
  void *device_slot;
  llrt_index index;
  llrt_storage storage;
  llrt_storage_binding binding;
  device_matrix memory; /* of all slots */
} placed;

/* Gives x, whose tensor has dtype and shape, its slots: positions follow each other in blocks of
 * the cache, which has twice as many, in an order of blocks that `seed` decides. The tensor's
 * memory is the cache's then, and x->host has room for its elements in row-major order. */
void placed_begin(harness *h, const compute_place *place, uint64_t seed, device_matrix *x,
                  placed *p);
void placed_end(harness *h, device_matrix *x, placed *p);

/* Elements of the cache, which was filled with `poison`, into x->host. False where something that
 * no slot names is changed. */
bool placed_read(harness *h, const placed *p, unsigned char poison, device_matrix *x);

#endif
