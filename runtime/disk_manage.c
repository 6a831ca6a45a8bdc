/* A cache's folder as people look after it: what is in it, clearing it, taking it elsewhere. */
#include "base/file.h"
#include "base/status.h"
#include "base/trusted_folder.h"
#include "runtime/build_id.h"
#include "runtime/byte_stream.h"
#include "runtime/disk_entry.h"
#include "runtime/disk_folder.h"
#include "runtime/kernel_bytes.h"
#include "runtime/tuned.h"

#include <llrt/llrt.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PACK_MAGIC "llrtpack"
#define PACK_FORMAT 1

/* ---- where ---- */

llrt_status llrt_cache_default_dir(char *path, size_t capacity) {
  LLRT_ENTRY();
  LLRT_REQUIRE(path, "path is NULL");
  LLRT_REQUIRE(capacity > 0, "capacity is 0");
  path[0] = 0;
  const char *own = secure_getenv("LLRT_CACHE_DIR"), *cache = secure_getenv("XDG_CACHE_HOME"),
             *home = secure_getenv("HOME");
  int length = 0;
  if (own) length = snprintf(path, capacity, "%s", own);
  else if (cache && cache[0] == '/') length = snprintf(path, capacity, "%s/llrt", cache);
  else if (home && home[0] == '/') length = snprintf(path, capacity, "%s/.cache/llrt", home);
  if (length < 0 || (size_t)length >= capacity) {
    path[0] = 0;
    return llrt_error(LLRT_INVALID_ARGUMENT, "the path has %d bytes, the buffer %zu", length,
                      capacity);
  }
  return LLRT_OK;
}

/* ---- one file ---- */

/* A file as it was read: its entry and what of it a caller is shown. */
typedef struct seen_file {
  char *bytes;
  disk_entry entry;
  char text[1024];
  llrt_cache_entry shown;
} seen_file;

/* What makes a whole entry not this key's kernel, or NULL. */
static const char *check_kernel(seen_file *seen, llrt_hash key) {
  const disk_entry *entry = &seen->entry;
  llrt_kernel_info info = {0};
  if (!llrt_hash_equal(entry->key, key)) return "it is another kernel's";
  if (llrt_tuned_is_entry(entry)) return llrt_tuned_check(entry, &seen->shown.n_compiled);
  if (llrt_kernel_inspect(entry->kernel, entry->kernel_bytes, NULL, &info) != LLRT_OK)
    return llrt_error_text();
  seen->shown.capability = info.capability;
  seen->shown.n_compiled = info.n_compiled;
  return NULL;
}

static void judge(seen_file *seen, size_t size, llrt_hash key) {
  llrt_cache_entry *shown = &seen->shown;
  const disk_entry *entry = &seen->entry;
  shown->why = llrt_disk_entry_read(seen->bytes, size, &seen->entry);
  if (!shown->why) shown->why = check_kernel(seen, key);
  if (shown->why) {
    shown->state = LLRT_CACHE_DAMAGED;
    return;
  }
  snprintf(seen->text, sizeof seen->text, "%.*s", (int)entry->text_bytes, entry->text);
  shown->text = seen->text;
  shown->target = entry->target;
  shown->version = entry->version;
  if (strcmp(entry->build, llrt_build_id) == 0) return;
  shown->state = LLRT_CACHE_OTHER_BUILD;
  shown->why = "it is of another build of llrt";
}

/* `seen` lives until free(seen->bytes). False: the file is gone. */
static bool see(int folder, const disk_file *file, seen_file *seen) {
  size_t size = 0;
  llrt_hash key;
  const char *why;
  *seen = (seen_file){.shown = {.size = sizeof seen->shown,
                                .name = file->name,
                                .text = "",
                                .target = "",
                                .version = "",
                                .bytes = file->bytes,
                                .used = file->used.tv_sec}};
  seen->bytes = llrt_disk_file_read(folder, file->name, &size, &why);
  if (!seen->bytes && !why) return false;
  if (seen->bytes && llrt_disk_entry_key(file->name, &key)) {
    judge(seen, size, key);
  } else {
    seen->shown.why = why;
    seen->shown.state = LLRT_CACHE_DAMAGED;
  }
  return true;
}

/* ---- all files ---- */

/* Goes through the folder's files until `visit` returns other than 0. */
static llrt_status walk(const char *dir, void *user,
                        int (*visit)(void *user, int folder, const seen_file *seen)) {
  int folder;
  disk_list list;
  LLRT_REQUIRE(dir, "dir is NULL");
  LLRT_TRY(llrt_trusted_folder_open(dir, false, false, &folder));
  llrt_status status = llrt_disk_list(folder, &list);
  int ends = 0;
  for (size_t i = 0; status == LLRT_OK && i < list.n && !ends; i++) {
    seen_file seen;
    if (!see(folder, &list.file[i], &seen)) continue;
    ends = visit(user, folder, &seen);
    free(seen.bytes);
  }
  llrt_disk_list_fini(&list);
  close(folder);
  return status;
}

typedef struct callers_visit {
  void *user;
  int (*visit)(void *user, const llrt_cache_entry *entry);
} callers_visit;

static int show(void *user, int folder, const seen_file *seen) {
  const callers_visit *to = user;
  (void)folder;
  return to->visit(to->user, &seen->shown);
}

llrt_status llrt_cache_visit(const char *dir, void *user,
                             int (*visit)(void *user, const llrt_cache_entry *entry)) {
  LLRT_ENTRY();
  LLRT_REQUIRE(visit, "visit is NULL");
  callers_visit to = {user, visit};
  return walk(dir, &to, show);
}

typedef struct clearing {
  bool damaged_only;
  uint64_t removed;
} clearing;

static int clear(void *user, int folder, const seen_file *seen) {
  clearing *c = user;
  if (c->damaged_only && seen->shown.state != LLRT_CACHE_DAMAGED) return 0;
  c->removed += unlinkat(folder, seen->shown.name, 0) == 0;
  return 0;
}

llrt_status llrt_cache_clear(const char *dir, int damaged_only, uint64_t *removed) {
  LLRT_ENTRY();
  clearing c = {.damaged_only = damaged_only != 0};
  if (removed) *removed = 0;
  LLRT_TRY(walk(dir, &c, clear));
  if (removed) *removed = c.removed;
  return LLRT_OK;
}

/* ---- one file of all ---- */

typedef struct packing {
  llrt_text out;
  uint64_t count;
} packing;

static int pack(void *user, int folder, const seen_file *seen) {
  packing *p = user;
  (void)folder;
  if (seen->shown.state == LLRT_CACHE_DAMAGED) return 0;
  put(&p->out, (int64_t)seen->shown.bytes);
  put_bytes(&p->out, seen->bytes, (size_t)seen->shown.bytes);
  p->count++;
  return p->out.failed;
}

llrt_status llrt_cache_export(const char *dir, const char *path, uint64_t *count) {
  LLRT_ENTRY();
  if (count) *count = 0;
  LLRT_REQUIRE(path, "path is NULL");
  packing p = {.count = 0};
  llrt_text_init(&p.out);
  put_bytes(&p.out, PACK_MAGIC, 8);
  put(&p.out, PACK_FORMAT);
  llrt_status status = walk(dir, &p, pack);
  if (status == LLRT_OK) status = llrt_text_status(&p.out);
  if (status == LLRT_OK) status = llrt_file_write(path, p.out.data, p.out.length);
  llrt_text_fini(&p.out);
  if (status == LLRT_OK && count) *count = p.count;
  return status;
}

static llrt_status unpack_one(reader *in, int folder, uint64_t number) {
  uint64_t size = (uint64_t)get(in);
  disk_entry entry;
  char name[DISK_ENTRY_NAME_BYTES];
  if (in->bad || size > in->left)
    return llrt_error(LLRT_CORRUPT, "the pack ends inside of kernel %llu",
                      (unsigned long long)number + 1);
  const char *why = llrt_disk_entry_read(in->data, (size_t)size, &entry);
  llrt_kernel_info info = {0};
  bool tuned = !why && llrt_tuned_is_entry(&entry);
  int choices;
  if (tuned) why = llrt_tuned_check(&entry, &choices);
  if (!why && !tuned &&
      llrt_kernel_inspect(entry.kernel, entry.kernel_bytes, NULL, &info) != LLRT_OK)
    why = llrt_error_text();
  if (why)
    return llrt_error(LLRT_CORRUPT, "kernel %llu of the pack: %s", (unsigned long long)number + 1,
                      why);
  llrt_disk_entry_name(entry.key, name);
  int code = llrt_disk_file_write(folder, name, in->data, (size_t)size, false);
  in->data += size;
  in->left -= (size_t)size;
  if (code == 0) return LLRT_OK;
  return llrt_error_vendor(LLRT_IO, code, "cannot write %s: %s", name, strerror(code));
}

static llrt_status unpack(const char *bytes, size_t size, int folder, uint64_t *count) {
  reader in = {(const unsigned char *)bytes, size, false};
  char magic[8];
  get_bytes(&in, magic, sizeof magic);
  if (memcmp(magic, PACK_MAGIC, sizeof magic) != 0)
    return llrt_error(LLRT_CORRUPT, "the file is no pack of kernels");
  int64_t format = get(&in);
  if (in.bad || format != PACK_FORMAT)
    return llrt_error(LLRT_CORRUPT, "the pack has format %lld, this llrt reads %d",
                      (long long)format, PACK_FORMAT);
  for (*count = 0; in.left > 0; ++*count) LLRT_TRY(unpack_one(&in, folder, *count));
  return LLRT_OK;
}

llrt_status llrt_cache_import(const char *dir, const char *path, uint64_t *count) {
  LLRT_ENTRY();
  uint64_t taken = 0;
  char *bytes;
  size_t size;
  int folder;
  if (count) *count = 0;
  LLRT_REQUIRE(dir, "dir is NULL");
  LLRT_REQUIRE(path, "path is NULL");
  LLRT_TRY(llrt_file_read(path, &bytes, &size));
  llrt_status status = llrt_trusted_folder_open(dir, true, true, &folder);
  if (status == LLRT_OK) {
    status = unpack(bytes, size, folder, &taken);
    close(folder);
  }
  free(bytes);
  if (count) *count = taken;
  return status;
}
