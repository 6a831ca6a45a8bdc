#include "runtime/disk_cache.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/trusted_folder.h"
#include "runtime/build_id.h"
#include "runtime/context.h"
#include "runtime/disk_entry.h"
#include "runtime/disk_folder.h"
#include "runtime/key.h"
#include "runtime/op_text.h"
#include "runtime/prepared.h"

#include <llrt/llrt.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 30000 /* for another process's compile */
#define LOOK_AFTER 64 /* files written, before the folder's size is looked at again */
#define SHRINK_TO(most) ((most) - (most) / 8)

/* ---- folders ---- */

static void tell(disk_cache *cache, const char *path, const char *why) {
  llrt_log(cache->log, LLRT_LOG_WARNING, "cache off dir=\"%s\" why=\"%s\"", path, why);
}

/* `path`'s folder, or -1, told. */
static int open_folder(disk_cache *cache, const char *path, bool own) {
  int folder;
  if (llrt_trusted_folder_open(path, own, own, &folder) == LLRT_OK) return folder;
  tell(cache, path, llrt_error_text());
  return -1;
}

static const char *folder_wanted(const llrt_cache_params *params) {
  const char *path = params->dir ? params->dir : secure_getenv("LLRT_CACHE_DIR");
  return path && path[0] ? path : NULL;
}

static llrt_status check_params(const llrt_cache_params *params) {
  LLRT_REQUIRE(params->n_read_dirs >= 0 && params->n_read_dirs <= LLRT_MAX_READ_DIRS,
               "n_read_dirs is %d, not within 0..%d", params->n_read_dirs, LLRT_MAX_READ_DIRS);
  LLRT_REQUIRE(params->n_read_dirs == 0 || params->read_dirs, "read_dirs is NULL");
  LLRT_REQUIRE(params->reserved == 0, "a reserved field of the cache's params is not 0");
  for (int i = 0; i < params->n_read_dirs; i++)
    LLRT_REQUIRE(params->read_dirs[i], "read_dirs[%d] is NULL", i);
  return LLRT_OK;
}

llrt_status llrt_disk_cache_init(const llrt_cache_params *params, context_log *log,
                                 disk_cache *cache) {
  *cache = (disk_cache){.folder = -1, .log = log};
  LLRT_TRY(check_params(params));
  cache->most_bytes = params->disk_bytes ? params->disk_bytes : DISK_CACHE_BYTES;
  pthread_mutex_init(&cache->mutex, NULL);
  const char *path = folder_wanted(params);
  cache->path = path ? memory_text(path) : NULL;
  if (path && !cache->path) {
    pthread_mutex_destroy(&cache->mutex);
    return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a path");
  }
  if (path) cache->folder = open_folder(cache, path, true);
  for (int i = 0; i < params->n_read_dirs; i++) {
    int folder = open_folder(cache, params->read_dirs[i], false);
    if (folder >= 0) cache->read_folder[cache->n_read++] = folder;
  }
  return LLRT_OK;
}

void llrt_disk_cache_fini(disk_cache *cache) {
  if (cache->folder >= 0) close(cache->folder);
  for (int i = 0; i < cache->n_read; i++) close(cache->read_folder[i]);
  free(cache->path);
  pthread_mutex_destroy(&cache->mutex);
}

/* ---- one operation's file ---- */

llrt_hash llrt_disk_key(const llrt_device *device, const op_description *desc,
                        const storage_set *set) {
  llrt_hash what = llrt_op_target_key(&device->target, desc, set);
  llrt_hasher hasher;
  llrt_hasher_init(&hasher);
  llrt_hasher_add_u64(&hasher, what.low);
  llrt_hasher_add_u64(&hasher, what.high);
  llrt_hasher_add_bytes(&hasher, llrt_build_id, strlen(llrt_build_id));
  return llrt_hasher_finish(&hasher);
}

/* The entry, or why the bytes are not this key's. */
static const char *read_entry(const char *bytes, size_t size, llrt_hash key, disk_entry *entry) {
  const char *why = llrt_disk_entry_read(bytes, size, entry);
  if (why) return why;
  if (strcmp(entry->build, llrt_build_id) != 0) return "it is of another build";
  return llrt_hash_equal(entry->key, key) ? NULL : "it is another kernel's";
}

static const char *read_kernel(const llrt_op *op, const disk_entry *entry, llrt_hash key,
                               kernel_image *image) {
  if (llrt_kernel_bytes_read(entry->kernel, entry->kernel_bytes, image) != LLRT_OK)
    return llrt_error_text();
  if (strcmp(image->target, op->device->target.name) != 0) return "it is for another target";
  image->desc.any_order = op->desc.any_order; /* kernels do not say */
  image->desc.linked = op->desc.linked;
  if (!llrt_hash_equal(llrt_disk_key(op->device, &image->desc, &image->set), key))
    return "its description is another kernel's";
  int own = atomic_load(&op->n_variants);
  if (own > 0 && own != image->n_variants) return "it has another number of kernels";
  return NULL;
}

/* Moves what the operation lacks. */
static bool take_image(llrt_op *op, kernel_image *image) {
  if (atomic_load(&op->n_variants) == 0) {
    op->variant = image->variant;
    atomic_store_explicit(&op->n_variants, image->n_variants, memory_order_release);
    image->variant = NULL;
    image->n_variants = 0;
    return true;
  }
  bool took = false;
  for (int i = 0; i < image->n_variants; i++) {
    kernel_variant *own = &op->variant[i], *found = &image->variant[i];
    if (own->code || !found->code) continue;
    own->code = found->code;
    own->size = found->size;
    own->linked = found->linked;
    own->linked_size = found->linked_size;
    own->capability = found->capability;
    found->code = found->linked = NULL;
    took = true;
  }
  return took;
}

static bool take_entry(llrt_op *op, const disk_entry *entry, llrt_hash key, const char **why) {
  kernel_image *image = memory_zeroed(1, sizeof *image);
  if (!image) return false;
  *why = read_kernel(op, entry, key, image);
  bool took = !*why && take_image(op, image);
  llrt_kernel_image_fini(image);
  free(image);
  return took;
}

void llrt_disk_reject(disk_cache *cache, llrt_hash key, const char *why) {
  char name[DISK_ENTRY_NAME_BYTES];
  llrt_disk_entry_name(key, name);
  atomic_fetch_add_explicit(&cache->rejected, 1, memory_order_relaxed);
  llrt_log(cache->log, LLRT_LOG_WARNING, "cache ignored file=%s why=\"%s\"", name, why);
}

char *llrt_disk_read_entry(const disk_cache *cache, int folder, llrt_hash key, disk_entry *entry,
                           const char **why) {
  char name[DISK_ENTRY_NAME_BYTES];
  size_t size;
  llrt_disk_entry_name(key, name);
  char *bytes = llrt_disk_file_read(folder, name, &size, why);
  if (bytes) *why = read_entry(bytes, size, key, entry);
  if (bytes && !*why && folder == cache->folder) llrt_disk_file_touch(folder, name);
  return bytes;
}

static bool fetch_from(disk_cache *cache, int folder, llrt_op *op, llrt_hash key) {
  disk_entry entry;
  const char *why;
  char *bytes = llrt_disk_read_entry(cache, folder, key, &entry, &why);
  bool took = bytes && !why && take_entry(op, &entry, key, &why);
  free(bytes);
  if (why) llrt_disk_reject(cache, key, why);
  return took;
}

bool llrt_disk_fetch(llrt_op *op) {
  disk_cache *cache = &op->device->context->disk;
  if (!llrt_disk_cache_is_on(cache)) return false;
  llrt_hash key = llrt_disk_key(op->device, &op->desc, op->set);
  bool took = cache->folder >= 0 && fetch_from(cache, cache->folder, op, key);
  for (int i = 0; i < cache->n_read && !took; i++)
    took = fetch_from(cache, cache->read_folder[i], op, key);
  atomic_fetch_add_explicit(took ? &cache->hits : &cache->misses, 1, memory_order_relaxed);
  return took;
}

/* ---- writing ---- */

static bool may_write(const disk_cache *cache) {
  return cache->folder >= 0 && !atomic_load_explicit(&cache->off, memory_order_relaxed);
}

/* Looks at the folder's size now and then, and at once when it may have become too large. */
static void keep_small(disk_cache *cache, uint64_t size) {
  pthread_mutex_lock(&cache->mutex);
  cache->bytes += size;
  bool looks = !cache->looked || ++cache->unseen >= LOOK_AFTER || cache->bytes > cache->most_bytes;
  disk_list list;
  if (looks && llrt_disk_list(cache->folder, &list) == LLRT_OK) {
    if (list.bytes > cache->most_bytes)
      atomic_fetch_add_explicit(
          &cache->removed, llrt_disk_shrink(cache->folder, &list, SHRINK_TO(cache->most_bytes)),
          memory_order_relaxed);
    cache->bytes = list.bytes;
    cache->unseen = 0;
    cache->looked = true;
    llrt_disk_list_fini(&list);
  }
  pthread_mutex_unlock(&cache->mutex);
}

static llrt_status make_file(const llrt_device *device, llrt_hash key, const llrt_text *line,
                             const llrt_text *content, llrt_text *file) {
  disk_entry entry = {.key = key,
                      .text = line->data ? line->data : "",
                      .text_bytes = line->data ? line->length : 0,
                      .kernel = content->data,
                      .kernel_bytes = content->length};
  memcpy(entry.build, llrt_build_id, sizeof entry.build);
  strncpy(entry.version, llrt_version(), sizeof entry.version - 1);
  memcpy(entry.target, device->target.name, sizeof entry.target);
  return llrt_disk_entry_write(&entry, file);
}

/* What concerns one file alone: a folder of its name, a temporary file that somebody cleared. */
static bool is_of_one_file(int code) {
  return code == EISDIR || code == ENOTEMPTY || code == ENOENT;
}

static void stop_writing(disk_cache *cache, int code) {
  if (is_of_one_file(code) || atomic_exchange(&cache->off, true)) return;
  tell(cache, cache->path, strerror(code));
}

void llrt_disk_write_entry(disk_cache *cache, const llrt_device *device, llrt_hash key,
                           const llrt_text *line, const llrt_text *content, bool durable) {
  char name[DISK_ENTRY_NAME_BYTES];
  llrt_text file;
  if (!may_write(cache)) return;
  llrt_disk_entry_name(key, name);
  llrt_text_init(&file);
  if (make_file(device, key, line, content, &file) == LLRT_OK) {
    int code = llrt_disk_file_write(cache->folder, name, file.data, file.length, durable);
    if (code != 0) stop_writing(cache, code);
    if (code == 0) atomic_fetch_add_explicit(&cache->written, 1, memory_order_relaxed);
    if (code == 0) keep_small(cache, file.length);
  }
  llrt_text_fini(&file);
}

void llrt_disk_store(llrt_op *op, bool durable) {
  disk_cache *cache = &op->device->context->disk;
  if (!may_write(cache) || atomic_load(&op->n_variants) == 0) return;
  llrt_text kernel, line;
  llrt_text_init(&kernel);
  llrt_text_init(&line);
  llrt_op_describe(&op->desc, op->set, &line);
  if (llrt_kernel_bytes_write(&op->device->target, &op->desc, op->set, op->variant,
                              atomic_load(&op->n_variants), &kernel) == LLRT_OK)
    llrt_disk_write_entry(cache, op->device, llrt_disk_key(op->device, &op->desc, op->set), &line,
                          &kernel, durable);
  llrt_text_fini(&kernel);
  llrt_text_fini(&line);
}

int llrt_disk_begin(const llrt_op *op) {
  disk_cache *cache = &op->device->context->disk;
  if (!may_write(cache)) return -1;
  return llrt_disk_lock(cache->folder, llrt_disk_key(op->device, &op->desc, op->set), WAIT_MS);
}
