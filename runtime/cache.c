#include "runtime/cache.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "runtime/key.h"
#include "runtime/prepared.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 64
#define SETS_BETWEEN_LOOKS 64 /* sets that calls may add, whose operations may all be refused */
#define MOST_SHAPES 16384     /* keys of calls of one shape: their table takes 768 KiB */
#define FEWEST_SHAPES 32
#define BYTES_PER_SHAPES 16 /* their table may take one of so many of the limit's bytes */

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
  grown.slot = memory_zeroed(grown.capacity, sizeof *grown.slot);
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

static uint64_t table_bytes(const hash_table *table) {
  return table->capacity * sizeof *table->slot;
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

/* Precondition: the mutex is held, or nobody else knows the cache. */
static void forget_shapes(kernel_cache *cache) {
  for (size_t i = 0; i < cache->shapes.capacity; i++) {
    llrt_op *op = cache->shapes.slot[i].value;
    if (!op) continue;
    op->slots--;
    llrt_op_release(op);
  }
  free(cache->shapes.slot);
  cache->shapes = (hash_table){0};
}

void llrt_cache_init(kernel_cache *cache) {
  *cache = (kernel_cache){0};
  pthread_mutex_init(&cache->mutex, NULL);
  pthread_mutex_init(&cache->choosing, NULL);
}

void llrt_cache_fini(kernel_cache *cache) {
  forget_shapes(cache);
  for (size_t i = 0; i < cache->ops.capacity; i++) {
    if (cache->ops.slot[i].value) llrt_op_release(cache->ops.slot[i].value);
  }
  for (size_t i = 0; i < cache->families.capacity; i++) {
    op_family *family = cache->families.slot[i].value;
    if (family) free(family->op);
    free(family);
  }
  while (cache->pinned) {
    llrt_op *op = cache->pinned;
    cache->pinned = op->next;
    llrt_op_release(op);
  }
  for (size_t i = 0; i < cache->sets.capacity; i++)
    llrt_storage_set_release(cache->sets.slot[i].value);
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
  if (kept) llrt_storage_set_retain(kept);
  if (kept == made && cache->sets.count % SETS_BETWEEN_LOOKS == 0)
    atomic_store(&cache->grown, true);
  pthread_mutex_unlock(&cache->mutex);
  if (kept != made) free(made);
  return kept;
}

storage_set *llrt_cache_find_set(kernel_cache *cache, llrt_hash key) {
  pthread_mutex_lock(&cache->mutex);
  storage_set *set = table_find(&cache->sets, key);
  if (set) llrt_storage_set_retain(set);
  pthread_mutex_unlock(&cache->mutex);
  return set;
}

llrt_status llrt_cache_get_set(kernel_cache *cache, const llrt_tensor *tensors, int n,
                               uint32_t roles, storage_set **set) {
  llrt_hash key;
  LLRT_TRY(llrt_storage_set_key(tensors, n, roles, &key));
  *set = llrt_cache_find_set(cache, key);
  if (*set) return LLRT_OK;
  storage_set *made = memory_new(sizeof *made);
  if (!made) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for an operation's storages");
  llrt_status status = llrt_storage_set_init(tensors, n, roles, made);
  if (status != LLRT_OK) {
    free(made);
    return status;
  }
  atomic_init(&made->references, 1);
  *set = keep_set(cache, made);
  return *set ? LLRT_OK : llrt_error(LLRT_OUT_OF_MEMORY, "no memory for the kernel cache");
}

/* The key of a description without promises. */
static llrt_hash family_key(const llrt_device *device, const op_description *desc,
                            const storage_set *set) {
  op_description bare = *desc;
  memset(bare.promises, 0, sizeof bare.promises);
  return llrt_op_key(device, &bare, set);
}

/* Found, or made; NULL without memory. Precondition: the mutex is held. */
static op_family *get_family(kernel_cache *cache, llrt_hash key) {
  op_family *family = table_find(&cache->families, key);
  if (family) return family;
  family = memory_zeroed(1, sizeof *family);
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
    llrt_op **grown = memory_resize(family->op, (size_t)capacity * sizeof *grown);
    if (!grown) return;
    family->op = grown;
    family->capacity = capacity;
  }
  family->op[family->n++] = op;
}

/* Its own key's place: another operation may be found by that, too, which serves the same calls.
 * Holds it. */
static bool put_op(hash_table *ops, llrt_op *op) {
  struct hash_slot *slot = ops->capacity ? table_slot(ops, op->key) : NULL;
  llrt_op *other = slot ? slot->value : NULL;
  if (other) {
    slot->value = op;
    other->slots--;
    llrt_op_release(other);
  } else if (!table_add(ops, op->key, op)) {
    return false;
  }
  op->slots++;
  llrt_op_retain(op);
  return true;
}

static bool is_own(const llrt_op *op, llrt_hash key) { return op && llrt_hash_equal(op->key, key); }

/* Puts `made` into the cache and returns it; where another thread has put the same operation there,
 * releases it and returns that one, retained. NULL: there is no memory to keep it, and it is
 * released. */
static llrt_op *keep_op(kernel_cache *cache, llrt_hash family, llrt_op *made) {
  made->cached = true;
  pthread_mutex_lock(&cache->mutex);
  llrt_op *kept = table_find(&cache->ops, made->key);
  if (is_own(kept, made->key)) {
    llrt_op_retain(kept);
  } else {
    kept = put_op(&cache->ops, made) ? made : NULL;
    op_family *relatives = kept ? get_family(cache, family) : NULL;
    if (relatives) join_family(relatives, made);
    made->used = ++cache->lookups;
  }
  pthread_mutex_unlock(&cache->mutex);
  if (kept != made) llrt_op_release(made);
  return kept;
}

llrt_op *llrt_cache_find(kernel_cache *cache, llrt_hash key) {
  pthread_mutex_lock(&cache->mutex);
  llrt_op *op = table_find(&cache->ops, key);
  if (!op) op = table_find(&cache->shapes, key);
  if (op) {
    cache->hits++;
    op->used = ++cache->lookups;
    llrt_op_retain(op);
  }
  pthread_mutex_unlock(&cache->mutex);
  return op;
}

/* Precondition: the mutex is held. */
static void add_alias(hash_table *table, llrt_hash key, llrt_op *op) {
  if (table_find(table, key) || !table_add(table, key, op)) return;
  llrt_op_retain(op);
  op->slots++;
}

void llrt_cache_alias(kernel_cache *cache, llrt_hash key, llrt_op *op) {
  pthread_mutex_lock(&cache->mutex);
  add_alias(&cache->ops, key, op);
  pthread_mutex_unlock(&cache->mutex);
}

size_t llrt_cache_most_shapes(const kernel_cache *cache) {
  uint64_t bytes = cache->most_bytes / BYTES_PER_SHAPES;
  uint64_t fit = bytes / (2 * sizeof(struct hash_slot)); /* at most half full */
  if (cache->most_bytes == 0 || fit > MOST_SHAPES) return MOST_SHAPES;
  return fit < FEWEST_SHAPES ? FEWEST_SHAPES : (size_t)fit;
}

void llrt_cache_alias_shape(kernel_cache *cache, llrt_hash key, llrt_op *op) {
  pthread_mutex_lock(&cache->mutex);
  if (cache->shapes.count >= llrt_cache_most_shapes(cache)) forget_shapes(cache);
  add_alias(&cache->shapes, key, op);
  pthread_mutex_unlock(&cache->mutex);
}

int llrt_cache_relatives(kernel_cache *cache, llrt_device *device, const op_description *desc,
                         const storage_set *set, llrt_op **op, int most) {
  llrt_hash key = family_key(device, desc, set);
  int n = 0;
  pthread_mutex_lock(&cache->mutex);
  const op_family *family = table_find(&cache->families, key);
  for (; family && n < family->n && n < most; n++) op[n] = family->op[n];
  pthread_mutex_unlock(&cache->mutex);
  return n;
}

int llrt_cache_shapes(kernel_cache *cache, const llrt_device *device, const op_description *desc,
                      const storage_set *set, bool count) {
  llrt_hash key = family_key(device, desc, set);
  pthread_mutex_lock(&cache->mutex);
  op_family *family = get_family(cache, key);
  int before = family ? family->shapes : INT_MAX;
  if (family && count) family->shapes++;
  pthread_mutex_unlock(&cache->mutex);
  return before;
}

llrt_status llrt_cache_keep(kernel_cache *cache, llrt_op *made, const op_description *desc,
                            const storage_set *set, llrt_op **op) {
  made->key = llrt_op_key(made->device, desc, set);
  *op = keep_op(cache, family_key(made->device, desc, set), made);
  return *op ? LLRT_OK : llrt_error(LLRT_OUT_OF_MEMORY, "no memory for the kernel cache");
}

static llrt_status add_op(kernel_cache *cache, llrt_device *device, const op_description *desc,
                          const storage_set *set, llrt_op **op) {
  llrt_op *made;
  LLRT_TRY(llrt_op_make(device, desc, set, &made));
  return llrt_cache_keep(cache, made, desc, set, op);
}

llrt_status llrt_cache_get_op(kernel_cache *cache, llrt_device *device, const op_description *desc,
                              const storage_set *set, llrt_op **op) {
  llrt_hash key = llrt_op_key(device, desc, set);
  *op = llrt_cache_find(cache, key);
  if (is_own(*op, key)) return LLRT_OK;
  llrt_op_release(*op);
  return add_op(cache, device, desc, set, op);
}

/* False where the set counts it already: another thread was first. */
static bool count_for(kernel_cache *cache, llrt_op *op, storage_set *set) {
  pthread_mutex_lock(&cache->mutex);
  bool first = !op->counted;
  if (first) op->counted = llrt_storage_set_retain(set);
  pthread_mutex_unlock(&cache->mutex);
  return first;
}

llrt_status llrt_cache_get_fixed_op(kernel_cache *cache, llrt_device *device,
                                    const op_description *desc, storage_set *set, llrt_op **op) {
  llrt_hash key = llrt_op_key(device, desc, set);
  *op = llrt_cache_find(cache, key);
  if (*op) return LLRT_OK;
  bool fits = atomic_fetch_add(&set->fixed_ops, 1) < STORAGE_SET_FIXED_OPS;
  llrt_status status = fits ? add_op(cache, device, desc, set, op) : LLRT_OK;
  if (!*op || !count_for(cache, *op, set)) atomic_fetch_sub(&set->fixed_ops, 1);
  return status;
}

static void drop_families(hash_table *families, const llrt_device *device) {
  for (size_t i = 0; i < families->capacity; i++) {
    op_family *family = families->slot[i].value;
    if (!family || (family->n > 0 && family->op[0]->device != device)) continue;
    families->slot[i].value = NULL;
    families->count--;
    free(family->op);
    free(family);
  }
  table_close_holes(families);
}

/* ---- captures ---- */

void llrt_cache_pin(kernel_cache *cache, llrt_op *op) {
  pthread_mutex_lock(&cache->mutex);
  if (!atomic_exchange(&op->pinned, true) && !op->cached) {
    op->next = cache->pinned;
    cache->pinned = llrt_op_retain(op);
  }
  pthread_mutex_unlock(&cache->mutex);
}

bool llrt_cache_may_unload(const kernel_cache *cache, llrt_op *op) {
  if (atomic_load_explicit(&op->pinned, memory_order_relaxed)) return false;
  if (!op->cached) return true;
  if (atomic_load_explicit(&op->stays, memory_order_relaxed)) return false;
  if (cache->limited || atomic_load_explicit(&cache->near, memory_order_relaxed)) return true;
  atomic_store(&op->stays, true);
  return false;
}

static void drop_pinned(kernel_cache *cache, const llrt_device *device) {
  for (llrt_op **link = &cache->pinned; *link;) {
    llrt_op *op = *link;
    if (op->device != device) {
      link = &op->next;
      continue;
    }
    *link = op->next;
    llrt_op_release(op);
  }
}

/* ---- the limit ---- */

static uint64_t count_loaded(const llrt_op *op) {
  uint64_t n = 0;
  int variants = atomic_load(&op->n_variants);
  for (int v = 0; v < variants; v++) n += atomic_load(&op->module[v]) != NULL;
  return n;
}

/* Of operations that count. */
typedef struct held_kernels {
  uint64_t kernels, bytes;
} held_kernels;

/* Of the operations that count, the one that was not used for longest and that nobody is using, or
 * NULL. *held: of all that count. An operation is in use while somebody but the table holds it.
 */
static llrt_op *find_oldest(const hash_table *ops, held_kernels *held) {
  llrt_op *oldest = NULL;
  for (size_t i = 0; i < ops->capacity; i++) {
    llrt_op *op = ops->slot[i].value;
    if (!is_own(op, ops->slot[i].key) || atomic_load(&op->pinned) || atomic_load(&op->handles) > 0)
      continue;
    uint64_t loaded = count_loaded(op);
    held->kernels += loaded;
    held->bytes += atomic_load(&op->bytes);
    bool idle = loaded > 0 && atomic_load(&op->references) == op->slots;
    idle &= !atomic_load(&op->stays);
    if (idle && (!oldest || op->used < oldest->used)) oldest = op;
  }
  return oldest;
}

static void leave_family(hash_table *families, const llrt_op *op) {
  for (size_t i = 0; i < families->capacity; i++) {
    op_family *family = families->slot[i].value;
    for (int m = 0; family && m < family->n; m++) {
      if (family->op[m] != op) continue;
      memmove(&family->op[m], &family->op[m + 1], (size_t)(family->n - m - 1) * sizeof(llrt_op *));
      family->n--;
      return;
    }
  }
}

static void remove_op(hash_table *table, const llrt_op *op) {
  for (size_t i = 0; i < table->capacity; i++) {
    if (table->slot[i].value != op) continue;
    table->slot[i].value = NULL;
    table->count--;
  }
  table_close_holes(table);
}

/* Out of the tables; the references of its slots are the caller's, op->slots of them. */
static void forget_op(kernel_cache *cache, llrt_op *op) {
  hash_table *const tables[] = {&cache->ops, &cache->shapes};
  leave_family(&cache->families, op);
  for (int t = 0; t < 2; t++) remove_op(tables[t], op);
  if (op->counted) atomic_fetch_sub(&op->counted->fixed_ops, 1);
}

/* What sets take, and the tables. */
static uint64_t beside_ops(const kernel_cache *cache) {
  return cache->sets.count * sizeof(storage_set) + table_bytes(&cache->sets) +
         table_bytes(&cache->ops) + table_bytes(&cache->shapes) + table_bytes(&cache->families);
}

static bool are_too_many(const kernel_cache *cache, const held_kernels *held) {
  return (cache->most_kernels > 0 && held->kernels > cache->most_kernels) ||
         (cache->most_bytes > 0 && held->bytes > cache->most_bytes);
}

/* Those that calls are using are left for the next time. */
static llrt_op *forget_oldest(kernel_cache *cache) {
  held_kernels held = {.bytes = beside_ops(cache)};
  llrt_op *oldest = find_oldest(&cache->ops, &held);
  if (cache->most_bytes > 0 && held.bytes > cache->most_bytes / 2) atomic_store(&cache->near, true);
  if (!are_too_many(cache, &held)) return NULL;
  if (oldest) forget_op(cache, oldest);
  else atomic_store(&cache->grown, true);
  cache->unloaded += oldest != NULL;
  return oldest;
}

/* Sets that the table alone holds: what they know, the next call finds out again. */
static void forget_sets(hash_table *sets) {
  for (size_t i = 0; i < sets->capacity; i++) {
    storage_set *set = sets->slot[i].value;
    if (!set || atomic_load(&set->references) > 1) continue;
    sets->slot[i].value = NULL;
    sets->count--;
    llrt_storage_set_release(set);
  }
  table_close_holes(sets);
}

/* The operations in the list `forgotten`, whose slots' references are the caller's. */
static void release_all(llrt_op *forgotten) {
  llrt_op *op;
  while ((op = forgotten) != NULL) {
    forgotten = op->next;
    for (int slots = op->slots; slots > 0; slots--) llrt_op_release(op);
  }
}

void llrt_cache_enforce(kernel_cache *cache) {
  llrt_op *forgotten = NULL, *op;
  if (cache->most_kernels == 0 && cache->most_bytes == 0) return;
  if (!atomic_load_explicit(&cache->grown, memory_order_relaxed) ||
      !atomic_exchange(&cache->grown, false))
    return;
  pthread_mutex_lock(&cache->choosing);
  pthread_mutex_lock(&cache->mutex);
  while ((op = forget_oldest(cache)) != NULL) {
    op->next = forgotten;
    forgotten = op;
  }
  bool many_sets = cache->sets.count * sizeof(storage_set) > cache->most_bytes / 2;
  pthread_mutex_unlock(&cache->mutex);
  release_all(forgotten);
  if (forgotten || (cache->most_bytes > 0 && many_sets)) {
    pthread_mutex_lock(&cache->mutex);
    forget_sets(&cache->sets);
    pthread_mutex_unlock(&cache->mutex);
  }
  pthread_mutex_unlock(&cache->choosing); /* only now may their device be closed */
}

/* ---- devices ---- */

void llrt_cache_drop_device(kernel_cache *cache, const llrt_device *device) {
  pthread_mutex_lock(&cache->choosing);
  pthread_mutex_lock(&cache->mutex);
  drop_pinned(cache, device);
  drop_families(&cache->families, device);
  forget_shapes(cache);
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
  pthread_mutex_unlock(&cache->choosing);
}

cache_count llrt_cache_count(kernel_cache *cache) {
  cache_count count = {0};
  pthread_mutex_lock(&cache->mutex);
  count.lookups = cache->lookups;
  count.hits = cache->hits;
  count.unloaded = cache->unloaded;
  count.bytes = beside_ops(cache);
  for (size_t i = 0; i < cache->ops.capacity; i++) {
    const llrt_op *op = cache->ops.slot[i].value;
    if (!is_own(op, cache->ops.slot[i].key)) continue;
    count.kernels += count_loaded(op);
    count.bytes += atomic_load(&op->bytes);
  }
  pthread_mutex_unlock(&cache->mutex);
  return count;
}
