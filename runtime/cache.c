#include "runtime/cache.h"

#include "base/hash.h"
#include "base/status.h"
#include "runtime/key.h"
#include "runtime/prepared.h"

#include <stdlib.h>

#define FIRST_CAPACITY 64

/* ---- the table ---- */

/* The slot that holds key, or the free one where it belongs. Precondition: capacity > count. */
static struct hash_slot *table_slot(const hash_table *table, llrt_hash key) {
  size_t mask = table->capacity - 1;
  size_t at = (size_t)key.low & mask;
  while (table->slot[at].value && !llrt_hash_equal(table->slot[at].key, key)) at = (at + 1) & mask;
  return &table->slot[at];
}

static void *table_find(const hash_table *table, llrt_hash key) {
  return table->capacity ? table_slot(table, key)->value : NULL;
}

static bool table_grow(hash_table *table) {
  if (2 * (table->count + 1) <= table->capacity) return true;
  hash_table grown = {.count = table->count,
                      .capacity = table->capacity ? 2 * table->capacity : FIRST_CAPACITY};
  grown.slot = calloc(grown.capacity, sizeof *grown.slot);
  if (!grown.slot) return false;
  for (size_t i = 0; i < table->capacity; i++) {
    if (table->slot[i].value) *table_slot(&grown, table->slot[i].key) = table->slot[i];
  }
  free(table->slot);
  *table = grown;
  return true;
}

/* Precondition: key is absent. */
static bool table_add(hash_table *table, llrt_hash key, void *value) {
  if (!table_grow(table)) return false;
  *table_slot(table, key) = (struct hash_slot){key, value};
  table->count++;
  return true;
}

/* After removals: moves entries back towards their hashes' slots until no probe meets a hole. */
static void table_close_holes(hash_table *table) {
  bool moved = true;
  while (moved) {
    moved = false;
    for (size_t i = 0; i < table->capacity; i++) {
      struct hash_slot entry = table->slot[i];
      if (!entry.value) continue;
      table->slot[i].value = NULL;
      struct hash_slot *place = table_slot(table, entry.key);
      *place = entry;
      moved |= place != &table->slot[i];
    }
  }
}

/* ---- the cache ---- */

void llrt_cache_init(kernel_cache *cache) {
  *cache = (kernel_cache){0};
  pthread_mutex_init(&cache->mutex, NULL);
}

void llrt_cache_fini(kernel_cache *cache) {
  for (size_t i = 0; i < cache->sets.capacity; i++) free(cache->sets.slot[i].value);
  for (size_t i = 0; i < cache->ops.capacity; i++) {
    if (cache->ops.slot[i].value) llrt_op_release(cache->ops.slot[i].value);
  }
  free(cache->sets.slot);
  free(cache->ops.slot);
  pthread_mutex_destroy(&cache->mutex);
}

/* Keeps `made` unless another thread was first; returns the one kept, NULL without memory. */
static storage_set *keep_set(kernel_cache *cache, storage_set *made) {
  pthread_mutex_lock(&cache->mutex);
  storage_set *kept = table_find(&cache->sets, made->key);
  if (!kept && table_add(&cache->sets, made->key, made)) kept = made;
  pthread_mutex_unlock(&cache->mutex);
  if (kept != made) free(made);
  return kept;
}

llrt_status llrt_cache_get_set(kernel_cache *cache, const llrt_tensor *tensors, int n, uint32_t roles,
                               storage_set **set) {
  llrt_hash key;
  LLRT_TRY(llrt_storage_set_key(tensors, n, roles, &key));
  pthread_mutex_lock(&cache->mutex);
  *set = table_find(&cache->sets, key);
  pthread_mutex_unlock(&cache->mutex);
  if (*set) return LLRT_OK;
  storage_set *made = malloc(sizeof *made);
  if (!made) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for an operation's storages");
  llrt_status status = llrt_storage_set_init(tensors, n, roles, made);
  if (status != LLRT_OK) {
    free(made);
    return status;
  }
  *set = keep_set(cache, made);
  return *set ? LLRT_OK : llrt_error(LLRT_OUT_OF_MEMORY, "no memory for the kernel cache");
}

/* As keep_set, for operations. */
static llrt_op *keep_op(kernel_cache *cache, llrt_hash key, llrt_op *made) {
  pthread_mutex_lock(&cache->mutex);
  llrt_op *kept = table_find(&cache->ops, key);
  if (!kept && table_add(&cache->ops, key, made)) kept = made;
  pthread_mutex_unlock(&cache->mutex);
  if (kept != made) llrt_op_release(made);
  return kept;
}

static llrt_op *find_op(kernel_cache *cache, llrt_hash key) {
  pthread_mutex_lock(&cache->mutex);
  llrt_op *op = table_find(&cache->ops, key);
  cache->hits += op != NULL;
  pthread_mutex_unlock(&cache->mutex);
  return op;
}

static llrt_status add_op(kernel_cache *cache, llrt_device *device, const llrt_op_desc *desc,
                          const storage_set *set, llrt_hash key, llrt_op **op) {
  llrt_op *made;
  LLRT_TRY(llrt_op_make(device, desc, set, &made));
  *op = keep_op(cache, key, made);
  return *op ? LLRT_OK : llrt_error(LLRT_OUT_OF_MEMORY, "no memory for the kernel cache");
}

llrt_status llrt_cache_get_op(kernel_cache *cache, llrt_device *device, const llrt_op_desc *desc,
                              const storage_set *set, llrt_op **op) {
  llrt_hash key = llrt_op_key(device, desc, set);
  *op = find_op(cache, key);
  return *op ? LLRT_OK : add_op(cache, device, desc, set, key, op);
}

llrt_status llrt_cache_get_fixed_op(kernel_cache *cache, llrt_device *device,
                                    const llrt_op_desc *desc, storage_set *set, llrt_op **op) {
  llrt_hash key = llrt_op_key(device, desc, set);
  *op = find_op(cache, key);
  if (*op || atomic_fetch_add(&set->fixed_ops, 1) < STORAGE_SET_FIXED_OPS)
    return *op ? LLRT_OK : add_op(cache, device, desc, set, key, op);
  atomic_fetch_sub(&set->fixed_ops, 1);
  return LLRT_OK;
}

void llrt_cache_drop_device(kernel_cache *cache, const llrt_device *device) {
  pthread_mutex_lock(&cache->mutex);
  hash_table *ops = &cache->ops;
  for (size_t i = 0; i < ops->capacity; i++) {
    llrt_op *op = ops->slot[i].value;
    if (!op || op->device != device) continue;
    ops->slot[i].value = NULL;
    ops->count--;
    llrt_op_release(op);
  }
  table_close_holes(ops);
  pthread_mutex_unlock(&cache->mutex);
}

void llrt_cache_count(kernel_cache *cache, uint64_t *kernels, uint64_t *hits) {
  *kernels = 0;
  pthread_mutex_lock(&cache->mutex);
  *hits = cache->hits;
  for (size_t i = 0; i < cache->ops.capacity; i++) {
    llrt_op *op = cache->ops.slot[i].value;
    for (int v = 0; op && v < PLAN_MAX_VARIANTS; v++) {
      *kernels += atomic_load(&op->module[v]) != NULL;
    }
  }
  pthread_mutex_unlock(&cache->mutex);
}
