/* See emu_shared.h. */
#include "emulators/common/emu_shared.h"

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
  shared->written_by = calloc(size, sizeof(uint32_t));
  shared->read_by = calloc(size, sizeof(uint32_t));
  if (!shared->data || !shared->undefined || !shared->written || !shared->read || !shared->far ||
      !shared->written_by || !shared->read_by) {
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
  free(shared->written_by);
  free(shared->read_by);
  memset(shared, 0, sizeof *shared);
}

/* ---- time ---- */

void emu_shared_order_lanes(emu_shared *shared) {
  if (++shared->moment < 1u << 25) return;
  memset(shared->written_by, 0, shared->bytes * sizeof(uint32_t));
  memset(shared->read_by, 0, shared->bytes * sizeof(uint32_t));
  shared->moment = 1;
}

void emu_shared_barrier(emu_shared *shared) {
  emu_shared_order_lanes(shared);
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

/* ---- lanes ---- */

#define MANY_LANES 64u

static uint32_t mark_of(const emu_shared *shared, int lane) {
  return shared->moment << 7 | (uint32_t)lane;
}

static bool other_lane(uint32_t mark, uint32_t mine) {
  return mark != mine && mark >> 7 == mine >> 7;
}

static int64_t lane_reads(emu_shared *shared, uint32_t offset, uint32_t bytes, int lane) {
  uint32_t mine = mark_of(shared, lane);
  for (uint32_t i = offset; i < offset + bytes; i++) {
    if (other_lane(shared->written_by[i], mine)) return i;
    shared->read_by[i] = other_lane(shared->read_by[i], mine) ? mine | MANY_LANES : mine;
  }
  return -1;
}

static int64_t lane_writes(emu_shared *shared, uint32_t offset, uint32_t bytes, int lane) {
  uint32_t mine = mark_of(shared, lane);
  for (uint32_t i = offset; i < offset + bytes; i++) {
    if (other_lane(shared->written_by[i], mine) || other_lane(shared->read_by[i], mine)) return i;
    shared->written_by[i] = mine;
  }
  return -1;
}

/* ---- warps ---- */

static bool others(emu_touch touch, emu_touch mine, int *other) {
  *other = (int)(touch & 255);
  return touch != mine && touch >> 8 == mine >> 8;
}

static int64_t warp_reads(emu_shared *shared, uint32_t offset, uint32_t bytes, int warp,
                          int *other) {
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

/* What other blocks read is ordered by the cluster's barriers alone, so epochs say it in either
 * case. */
static int64_t warp_writes(emu_shared *shared, uint32_t offset, uint32_t bytes, int warp,
                           int *other) {
  emu_touch mine = shared->epoch << 8 | (emu_touch)warp;
  int64_t race = shared->order ? emu_order_write(shared->order, offset, bytes, warp, other) : -1;
  if (race >= 0) return race;
  for (uint32_t i = offset; i < offset + bytes; i++) {
    bool seen = shared->order != NULL; /* the clocks have looked at this block's */
    if (!seen && (others(shared->written[i], mine, other) || others(shared->read[i], mine, other)))
      return i;
    if (shared->far[i] >= shared->cluster_epoch) {
      *other = EMU_OTHER_BLOCK;
      return i;
    }
    shared->written[i] = mine;
  }
  return -1;
}

/* ---- both: warps first, as lanes of two warps that are ordered are in different moments ---- */

int64_t emu_shared_read(emu_shared *shared, uint32_t offset, uint32_t bytes, emu_thread by,
                        int *other) {
  int64_t race = warp_reads(shared, offset, bytes, by.warp, other);
  if (race >= 0) return race;
  *other = EMU_OTHER_LANE;
  return lane_reads(shared, offset, bytes, by.lane);
}

int64_t emu_shared_write(emu_shared *shared, uint32_t offset, uint32_t bytes, emu_thread by,
                         int *other) {
  int64_t race = warp_writes(shared, offset, bytes, by.warp, other);
  if (race >= 0) return race;
  *other = EMU_OTHER_LANE;
  return lane_writes(shared, offset, bytes, by.lane);
}

/* ---- other blocks ---- */

int64_t emu_shared_read_far(emu_shared *shared, uint32_t offset, uint32_t bytes) {
  for (uint32_t i = offset; i < offset + bytes; i++) {
    if (shared->written[i] >> 8 >= shared->cluster_epoch) return i;
    shared->far[i] = shared->epoch;
  }
  return -1;
}
