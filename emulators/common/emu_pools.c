/* Pools: what they hold is counted; memory itself comes and goes by block (emu_blocks.c). */
#include "emulators/common/emu_state.h"

#include <stdlib.h>
#include <string.h>

/* CUmemPool_attribute, hipMemPoolAttr */
enum {
  FOLLOW_EVENTS = 1,
  OPPORTUNISTIC,
  INTERNAL_DEPENDENCIES,
  RELEASE_THRESHOLD,
  RESERVED,
  RESERVED_HIGH,
  USED,
  USED_HIGH
};
#define RESERVE_BYTES ((uint64_t)2 << 20) /* what a pool takes from the device at a time */

struct emu_pool {
  emu_pool *next;
  emu_context *context;
  uint64_t most_bytes; /* 0: any */
  int reuse[4];        /* by attribute: answers alone, since addresses are not used again */
  uint64_t threshold, reserved, reserved_high, used, used_high;
  bool gone; /* destroyed, with blocks left */
};

static emu_pool *pools; /* with the run lock, as all below */

bool emu_pool_is_one(const void *handle) {
  const emu_pool *pool = pools;
  while (pool && pool != handle) pool = pool->next;
  return pool && !pool->gone;
}

static emu_pool *make(emu_context *context) {
  emu_pool *pool = calloc(1, sizeof *pool);
  if (!pool) return NULL;
  pool->context = context;
  for (int i = FOLLOW_EVENTS; i <= INTERNAL_DEPENDENCIES; i++) pool->reuse[i] = 1;
  pool->next = pools;
  return pools = pool;
}

static void unlink_pool(emu_pool *pool) {
  emu_pool **link = &pools;
  while (*link != pool) link = &(*link)->next;
  *link = pool->next;
  free(pool);
}

static void hold_at_least(emu_pool *pool, uint64_t bytes) {
  uint64_t rounded = (bytes + RESERVE_BYTES - 1) / RESERVE_BYTES * RESERVE_BYTES;
  if (pool->reserved < rounded) pool->reserved = rounded;
  if (pool->reserved_high < pool->reserved) pool->reserved_high = pool->reserved;
}

static void give_back(emu_pool *pool, uint64_t keep_bytes) {
  if (pool->reserved <= keep_bytes) return;
  pool->reserved = keep_bytes;
  hold_at_least(pool, pool->used);
}

bool emu_pool_has_room(const emu_pool *pool, size_t bytes) {
  return !pool->most_bytes || (bytes <= pool->most_bytes && pool->used <= pool->most_bytes - bytes);
}

void emu_pool_count(emu_pool *pool, int64_t bytes) {
  pool->used += (uint64_t)bytes;
  if (pool->used_high < pool->used) pool->used_high = pool->used;
  hold_at_least(pool, pool->used);
  if (pool->gone && pool->used == 0) unlink_pool(pool);
}

void emu_pools_settle(void) {
  emu_run_lock();
  for (emu_pool *pool = pools; pool; pool = pool->next) give_back(pool, pool->threshold);
  emu_run_unlock();
}

void emu_pools_drop(emu_context *context) {
  for (emu_pool *pool = pools, *next; pool; pool = next) {
    next = pool->next;
    if (pool->context == context) unlink_pool(pool);
  }
  context->default_pool = context->current_pool = NULL;
}

/* ---- from outside ---- */

bool emu_pools_are_there(void) {
  const char *set = getenv("LLRT_EMU_POOLS");
  return !set || strcmp(set, "0") != 0;
}

int emu_pool_create(emu_context *context, size_t most_bytes, void **out) {
  *out = NULL;
  if (!emu_pools_are_there()) return EMU_NOT_SUPPORTED;
  if (!context) return EMU_INVALID_DEVICE;
  emu_run_lock();
  emu_pool *pool = make(context);
  if (pool) pool->most_bytes = most_bytes;
  *out = pool;
  emu_run_unlock();
  return pool ? 0 : EMU_OUT_OF_MEMORY;
}

int emu_pool_destroy(void *handle) {
  emu_run_lock();
  emu_pool *pool = emu_pool_is_one(handle) ? handle : NULL;
  bool own = pool && pool != pool->context->default_pool;
  if (own) {
    if (pool->context->current_pool == pool) pool->context->current_pool = NULL;
    pool->gone = true;
    if (pool->used == 0) unlink_pool(pool);
  }
  emu_run_unlock();
  return own ? 0 : EMU_INVALID_VALUE;
}

emu_pool *emu_pool_default(emu_context *context) {
  emu_run_lock();
  if (!context->default_pool) context->default_pool = make(context);
  emu_pool *pool = context->default_pool;
  emu_run_unlock();
  return pool;
}

emu_pool *emu_pool_current(emu_context *context) {
  emu_run_lock();
  emu_pool *pool = context->current_pool;
  emu_run_unlock();
  return pool ? pool : emu_pool_default(context);
}

int emu_pool_make_current(emu_context *context, void *handle) {
  emu_run_lock();
  bool known = emu_pool_is_one(handle);
  if (known) context->current_pool = handle;
  emu_run_unlock();
  return known ? 0 : EMU_INVALID_VALUE;
}

static int get(const emu_pool *pool, int attribute, void *value) {
  uint64_t number = 0;
  switch (attribute) {
  case FOLLOW_EVENTS:
  case OPPORTUNISTIC:
  case INTERNAL_DEPENDENCIES: *(int *)value = pool->reuse[attribute]; return 0;
  case RELEASE_THRESHOLD: number = pool->threshold; break;
  case RESERVED: number = pool->reserved; break;
  case RESERVED_HIGH: number = pool->reserved_high; break;
  case USED: number = pool->used; break;
  case USED_HIGH: number = pool->used_high; break;
  default: return EMU_INVALID_VALUE;
  }
  *(uint64_t *)value = number;
  return 0;
}

/* High marks can be set to 0 alone. */
static int set(emu_pool *pool, int attribute, const void *value) {
  if (attribute >= FOLLOW_EVENTS && attribute <= INTERNAL_DEPENDENCIES) {
    pool->reuse[attribute] = *(const int *)value;
    return 0;
  }
  uint64_t number = *(const uint64_t *)value;
  if (attribute == RELEASE_THRESHOLD) {
    pool->threshold = number;
    return 0;
  }
  if (number != 0) return EMU_INVALID_VALUE;
  if (attribute == RESERVED_HIGH) pool->reserved_high = pool->reserved;
  if (attribute == USED_HIGH) pool->used_high = pool->used;
  return attribute == RESERVED_HIGH || attribute == USED_HIGH ? 0 : EMU_INVALID_VALUE;
}

int emu_pool_get(void *pool, int attribute, void *value) {
  emu_run_lock();
  int result = value && emu_pool_is_one(pool) ? get(pool, attribute, value) : EMU_INVALID_VALUE;
  emu_run_unlock();
  return result;
}

int emu_pool_set(void *pool, int attribute, const void *value) {
  emu_run_lock();
  int result = value && emu_pool_is_one(pool) ? set(pool, attribute, value) : EMU_INVALID_VALUE;
  emu_run_unlock();
  return result;
}

int emu_pool_trim(void *handle, size_t keep_bytes) {
  emu_run_lock();
  bool known = emu_pool_is_one(handle);
  if (known) give_back(handle, keep_bytes);
  emu_run_unlock();
  return known ? 0 : EMU_INVALID_VALUE;
}
