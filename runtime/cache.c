#include "runtime/cache.h"

#include "base/hash.h"
#include "base/status.h"
#include "runtime/key.h"
#include "runtime/prepared.h"

#include <stdlib.h>
#include <string.h>

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
  pthread_mutex_init(&cache->choosing, NULL);
}

void llrt_cache_fini(kernel_cache *cache) {
  for (size_t i = 0; i < cache->sets.capacity; i++) free(cache->sets.slot[i].value);
  for (size_t i = 0; i < cache->ops.capacity; i++) {
    if (cache->ops.slot[i].value) llrt_op_release(cache->ops.slot[i].value);
  }
  for (size_t i = 0; i < cache->families.capacity; i++) {
    op_family *family = cache->families.slot[i].value;
    if (family) free(family->op);
    free(family);
  }
  free(cache->families.slot);
  free(cache->sets.slot);
  free(cache->ops.slot);
  pthread_mutex_destroy(&cache->choosing);
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

/* The key of a description without promises. */
static llrt_hash family_key(const llrt_device *device, const llrt_op_desc *desc, const storage_set *set) {
  llrt_op_desc bare = *desc;
  memset(bare.promises, 0, sizeof bare.promises);
  return llrt_op_key(device, &bare, set);
}

/* Found, or made; NULL without memory. Precondition: the mutex is held. */
static op_family *get_family(kernel_cache *cache, llrt_hash key) {
  op_family *family = table_find(&cache->families, key);
  if (family) return family;
  family = calloc(1, sizeof *family);
  if (family && !table_add(&cache->families, key, family)) {
    free(family);
    return NULL;
  }
  return family;
}

/* A relative that is not known to its family is found by its own key alone. */
static void join_family(op_family *family, llrt_op *op) {
  if (family->n == family->capacity) {
    int capacity = family->capacity ? 2 * family->capacity : 4;
    llrt_op **grown = realloc(family->op, (size_t)capacity * sizeof *grown);
    if (!grown) return;
    family->op = grown;
    family->capacity = capacity;
  }
  family->op[family->n++] = op;
}

/* Its own key's place: another operation may be found by that, too, which serves the same calls. */
static bool put_op(hash_table *ops, llrt_op *op) {
  struct hash_slot *slot = ops->capacity ? table_slot(ops, op->key) : NULL;
  if (!slot || !slot->value) return table_add(ops, op->key, op);
  llrt_op_release(slot->value);
  slot->value = op;
  return true;
}

static bool is_own(const llrt_op *op, llrt_hash key) { return op && llrt_hash_equal(op->key, key); }

/* As keep_set, for operations. */
static llrt_op *keep_op(kernel_cache *cache, llrt_hash family, llrt_op *made) {
  pthread_mutex_lock(&cache->mutex);
  llrt_op *kept = table_find(&cache->ops, made->key);
  if (!is_own(kept, made->key)) kept = NULL;
  if (!kept && put_op(&cache->ops, made)) {
    kept = made;
    op_family *relatives = get_family(cache, family);
    if (relatives) join_family(relatives, made);
  }
  pthread_mutex_unlock(&cache->mutex);
  if (kept != made) llrt_op_release(made);
  return kept;
}

llrt_op *llrt_cache_find(kernel_cache *cache, llrt_hash key) {
  pthread_mutex_lock(&cache->mutex);
  llrt_op *op = table_find(&cache->ops, key);
  cache->hits += op != NULL;
  pthread_mutex_unlock(&cache->mutex);
  return op;
}

void llrt_cache_alias(kernel_cache *cache, llrt_hash key, llrt_op *op) {
  pthread_mutex_lock(&cache->mutex);
  if (!table_find(&cache->ops, key) && table_add(&cache->ops, key, op)) llrt_op_retain(op);
  pthread_mutex_unlock(&cache->mutex);
}

int llrt_cache_relatives(kernel_cache *cache, llrt_device *device, const llrt_op_desc *desc, const storage_set *set,
                         llrt_op **op, int most) {
  llrt_hash key = family_key(device, desc, set);
  int n = 0;
  pthread_mutex_lock(&cache->mutex);
  const op_family *family = table_find(&cache->families, key);
  for (; family && n < family->n && n < most; n++) op[n] = family->op[n];
  pthread_mutex_unlock(&cache->mutex);
  return n;
}

llrt_status llrt_cache_keep(kernel_cache *cache, llrt_op *made, const llrt_op_desc *desc, const storage_set *set,
                            llrt_op **op) {
  made->key = llrt_op_key(made->device, desc, set);
  *op = keep_op(cache, family_key(made->device, desc, set), made);
  return *op ? LLRT_OK : llrt_error(LLRT_OUT_OF_MEMORY, "no memory for the kernel cache");
}

static llrt_status add_op(kernel_cache *cache, llrt_device *device, const llrt_op_desc *desc,
                          const storage_set *set, llrt_op **op) {
  llrt_op *made;
  LLRT_TRY(llrt_op_make(device, desc, set, &made));
  return llrt_cache_keep(cache, made, desc, set, op);
}

llrt_status llrt_cache_get_op(kernel_cache *cache, llrt_device *device, const llrt_op_desc *desc,
                              const storage_set *set, llrt_op **op) {
  llrt_hash key = llrt_op_key(device, desc, set);
  *op = llrt_cache_find(cache, key);
  return is_own(*op, key) ? LLRT_OK : add_op(cache, device, desc, set, op);
}

llrt_status llrt_cache_get_fixed_op(kernel_cache *cache, llrt_device *device,
                                    const llrt_op_desc *desc, storage_set *set, llrt_op **op) {
  llrt_hash key = llrt_op_key(device, desc, set);
  *op = llrt_cache_find(cache, key);
  if (*op || atomic_fetch_add(&set->fixed_ops, 1) < STORAGE_SET_FIXED_OPS)
    return *op ? LLRT_OK : add_op(cache, device, desc, set, op);
  atomic_fetch_sub(&set->fixed_ops, 1);
  return LLRT_OK;
}

static void drop_families(hash_table *families, const llrt_device *device) {
  for (size_t i = 0; i < families->capacity; i++) {
    op_family *family = families->slot[i].value;
    if (!family || family->n == 0 || family->op[0]->device != device) continue;
    families->slot[i].value = NULL;
    families->count--;
    free(family->op);
    free(family);
  }
  table_close_holes(families);
}

void llrt_cache_drop_device(kernel_cache *cache, const llrt_device *device) {
  pthread_mutex_lock(&cache->mutex);
  drop_families(&cache->families, device);
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
    if (op && !llrt_hash_equal(cache->ops.slot[i].key, op->key)) continue;
    for (int v = 0; op && v < PLAN_MAX_VARIANTS; v++) {
      *kernels += atomic_load(&op->module[v]) != NULL;
    }
  }
  pthread_mutex_unlock(&cache->mutex);
}
