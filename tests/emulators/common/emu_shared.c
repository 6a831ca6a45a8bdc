/* See emu_shared.h. */
#include "tests/emulators/common/emu_shared.h"

#include <stdlib.h>
#include <string.h>

bool emu_shared_init(emu_shared *shared, uint32_t bytes) {
  memset(shared, 0, sizeof *shared);
  size_t size = bytes ? bytes : 1;
  shared->bytes = bytes;
  shared->data = calloc(size, 1);
  shared->undefined = malloc(size);
  shared->written = calloc(size, sizeof(emu_touch));
  shared->read = calloc(size, sizeof(emu_touch));
  shared->far = calloc(size, sizeof(uint32_t));
  if (!shared->data || !shared->undefined || !shared->written || !shared->read || !shared->far) {
    emu_shared_fini(shared);
    return false;
  }
  emu_shared_reset(shared);
  return true;
}

void emu_shared_fini(emu_shared *shared) {
  free(shared->data);
  free(shared->undefined);
  free(shared->written);
  free(shared->read);
  free(shared->far);
  memset(shared, 0, sizeof *shared);
}

void emu_shared_barrier(emu_shared *shared) {
  if (shared->order) emu_order_barrier(shared->order, UINT32_MAX);
  if (++shared->epoch < 1u << 24) return;
  memset(shared->written, 0, shared->bytes * sizeof(emu_touch));
  memset(shared->read, 0, shared->bytes * sizeof(emu_touch));
  memset(shared->far, 0, shared->bytes * sizeof(uint32_t));
  shared->epoch = shared->cluster_epoch = 1;
}

void emu_shared_cluster_barrier(emu_shared *shared) {
  emu_shared_barrier(shared);
  shared->cluster_epoch = shared->epoch;
}

/* A new epoch is enough for nobody to have been here. */
void emu_shared_reset(emu_shared *shared) {
  memset(shared->undefined, 0xff, shared->bytes);
  if (shared->order) emu_order_reset(shared->order);
  emu_shared_cluster_barrier(shared);
}

static bool others(emu_touch touch, emu_touch mine, int *other) {
  *other = (int)(touch & 255);
  return touch != mine && touch >> 8 == mine >> 8;
}

int64_t emu_shared_read(emu_shared *shared, uint32_t offset, uint32_t bytes, int warp, int *other) {
  if (shared->order) return emu_order_read(shared->order, offset, bytes, warp, other);
  emu_touch mine = shared->epoch << 8 | (emu_touch)warp;
  for (uint32_t i = offset; i < offset + bytes; i++) {
    int reader;
    if (others(shared->written[i], mine, other)) return i;
    bool many = others(shared->read[i], mine, &reader);
    shared->read[i] = many ? mine | EMU_MANY_WARPS : mine;
  }
  return -1;
}

/* What other blocks read is ordered by the cluster's barriers alone, so epochs say it in either case. */
int64_t emu_shared_write(emu_shared *shared, uint32_t offset, uint32_t bytes, int warp,
                         int *other) {
  emu_touch mine = shared->epoch << 8 | (emu_touch)warp;
  int64_t race = shared->order ? emu_order_write(shared->order, offset, bytes, warp, other) : -1;
  if (race >= 0) return race;
  for (uint32_t i = offset; i < offset + bytes; i++) {
    bool seen = shared->order != NULL; /* the clocks have looked at this block's */
    if (!seen && (others(shared->written[i], mine, other) || others(shared->read[i], mine, other))) return i;
    if (shared->far[i] >= shared->cluster_epoch) {
      *other = EMU_OTHER_BLOCK;
      return i;
    }
    shared->written[i] = mine;
  }
  return -1;
}

int64_t emu_shared_read_far(emu_shared *shared, uint32_t offset, uint32_t bytes) {
  for (uint32_t i = offset; i < offset + bytes; i++) {
    if (shared->written[i] >> 8 >= shared->cluster_epoch) return i;
    shared->far[i] = shared->epoch;
  }
  return -1;
}
