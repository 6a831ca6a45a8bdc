/* See emu_order.h. */
#include "emulators/common/emu_order.h"

#include <stdlib.h>
#include <string.h>

bool emu_order_init(emu_order *order, uint32_t bytes, int warps, int agents) {
  memset(order, 0, sizeof *order);
  size_t size = bytes ? bytes : 1;
  *order = (emu_order){.warps = warps, .agents = agents, .bytes = bytes};
  order->clock = calloc((size_t)agents, sizeof *order->clock);
  order->written = calloc(size, sizeof *order->written);
  order->read = calloc(size * (size_t)warps, sizeof *order->read);
  if (!order->clock || !order->written || !order->read) {
    emu_order_fini(order);
    return false;
  }
  for (int a = 0; a < agents; a++) order->clock[a].seen[a] = 1;
  return true;
}

void emu_order_fini(emu_order *order) {
  free(order->clock);
  free(order->written);
  free(order->read);
  memset(order, 0, sizeof *order);
}

void emu_order_join(emu_clock *into, const emu_clock *from) {
  for (int a = 0; a < EMU_MAX_AGENTS; a++) {
    if (from->seen[a] > into->seen[a]) into->seen[a] = from->seen[a];
    if (from->proxy[a] > into->proxy[a]) into->proxy[a] = from->proxy[a];
  }
}

void emu_order_release(emu_order *order, int agent, emu_clock *into) {
  emu_order_join(into, &order->clock[agent]);
  order->clock[agent].seen[agent]++;
}

void emu_order_acquire(emu_order *order, int agent, const emu_clock *from) {
  emu_order_join(&order->clock[agent], from);
}

void emu_order_barrier(emu_order *order, uint32_t members) {
  emu_clock all = {{0}, {0}};
  for (int w = 0; w < order->warps; w++) {
    if (members >> w & 1) emu_order_release(order, w, &all);
  }
  for (int w = 0; w < order->warps; w++) {
    if (members >> w & 1) emu_order_acquire(order, w, &all);
  }
}

void emu_order_reset(emu_order *order) {
  emu_clock all = {{0}, {0}};
  for (int a = 0; a < order->agents; a++) emu_order_release(order, a, &all);
  memcpy(all.proxy, all.seen, sizeof all.proxy);
  for (int a = 0; a < order->agents; a++) emu_order_acquire(order, a, &all);
}

void emu_order_fence(emu_order *order, int warp) {
  emu_clock *clock = &order->clock[warp];
  memcpy(clock->proxy, clock->seen, sizeof clock->proxy);
  clock->seen[warp]++;
}

/* Whether agent `by` knows not of a byte's last write. */
static bool unseen(const emu_order *order, const uint32_t *seen, int by, uint32_t at, int *other) {
  const emu_write *write = &order->written[at];
  *other = write->agent;
  return write->time && write->agent != by && write->time > seen[write->agent];
}

/* Whether it knows not of a read. */
static bool unseen_read(const emu_order *order, const uint32_t *seen, int by, uint32_t at,
                        int *other) {
  const uint32_t *read = &order->read[(size_t)at * (size_t)order->warps];
  for (int w = 0; w < order->warps; w++) {
    *other = w;
    if (w != by && read[w] > seen[w]) return true;
  }
  return false;
}

static void note_read(emu_order *order, uint32_t at, int warp) {
  order->read[(size_t)at * (size_t)order->warps + (size_t)warp] = order->clock[warp].seen[warp];
}

int64_t emu_order_read(emu_order *order, uint32_t offset, uint32_t bytes, int warp, int *other) {
  for (uint32_t i = offset; i < offset + bytes; i++) {
    if (unseen(order, order->clock[warp].seen, warp, i, other)) return i;
    note_read(order, i, warp);
  }
  return -1;
}

int64_t emu_order_write(emu_order *order, uint32_t offset, uint32_t bytes, int warp, int *other) {
  const uint32_t *seen = order->clock[warp].seen;
  for (uint32_t i = offset; i < offset + bytes; i++) {
    if (unseen(order, seen, warp, i, other) || unseen_read(order, seen, warp, i, other)) return i;
    order->written[i] = (emu_write){seen[warp], (uint8_t)warp};
  }
  return -1;
}

int64_t emu_order_proxy_read(emu_order *order, uint32_t offset, uint32_t bytes, int warp,
                             int *other, bool *fence) {
  const emu_clock *clock = &order->clock[warp];
  for (uint32_t i = offset; i < offset + bytes; i++) {
    const emu_write *write = &order->written[i];
    *fence = false;
    if (unseen(order, clock->seen, warp, i, other)) return i;
    *fence = write->time && write->agent < order->warps && write->time > clock->proxy[write->agent];
    if (*fence) return i;
    note_read(order, i, warp);
  }
  return -1;
}

int64_t emu_order_written_since(const emu_order *order, uint32_t offset, uint32_t bytes,
                                const uint32_t *seen, int *other) {
  for (uint32_t i = offset; i < offset + bytes; i++) {
    const emu_write *write = &order->written[i];
    *other = write->agent;
    if (write->time && write->time > seen[write->agent]) return i;
  }
  return -1;
}

/* For `by`, an agent or -1. */
static int64_t proxy_write(emu_order *order, uint32_t offset, uint32_t bytes, const uint32_t *seen,
                           int by, int agent, int *other) {
  const uint32_t time = order->clock[agent].seen[agent];
  for (uint32_t i = offset; i < offset + bytes; i++) {
    if (unseen(order, seen, by, i, other) || unseen_read(order, seen, by, i, other)) return i;
    order->written[i] = (emu_write){time, (uint8_t)agent};
  }
  return -1;
}

int64_t emu_order_proxy_write(emu_order *order, uint32_t offset, uint32_t bytes, int warp,
                              int agent, int *other) {
  return proxy_write(order, offset, bytes, order->clock[warp].seen, warp, agent, other);
}

int64_t emu_order_far_write(emu_order *order, uint32_t offset, uint32_t bytes, const uint32_t *seen,
                            int agent, int *other) {
  return proxy_write(order, offset, bytes, seen, -1, agent, other);
}
