#include "tests/runtime/cache_folder.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES (CACHE_SIDE * CACHE_SIDE * 4)

static char folder[4096];

int cache_rounds(int few, int many) { return getenv("LLRT_TEST_CACHE") ? many : few; }

const char *cache_folder_begin(void) {
  const char *parent = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/llrt-cache-XXXXXX", parent ? parent : "/tmp");
  cr_assert_not_null(mkdtemp(folder));
  unsetenv("LLRT_CACHE_DIR");
  unsetenv("LLRT_EMU_MINOR");
  return folder;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk) {
  (void)info, (void)kind, (void)walk;
  return remove(path);
}

void cache_folder_end(void) { nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

static void hear(void *user, llrt_log_level level, const char *message) {
  cache_context *at = user;
  if (level != LLRT_LOG_WARNING) return;
  at->warnings++;
  snprintf(at->warning, sizeof at->warning, "%s", message);
}

void cache_context_begin(cache_context *at, const char *name, const char *dir, bool compiler,
                         const llrt_cache_params *with) {
  *at = (cache_context){0};
  llrt_cache_params cache = with ? *with : (llrt_cache_params){0};
  cache.size = sizeof cache;
  if (dir) cache.dir = dir;
  const llrt_context_params params = {.size = sizeof params,
                                      .jit_library = compiler ? LLRT_TEST_JIT_LIBRARY
                                                              : "/nowhere/libllrt-jit.so",
                                      .log = hear,
                                      .log_user = at,
                                      .log_level = LLRT_LOG_WARNING,
                                      .threads = 1,
                                      .cache = &cache};
  cr_assert_eq(llrt_context_create(&params, &at->context), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_device_open(at->context, name, NULL, &at->device), LLRT_OK, "%s: %s", name,
               llrt_last_error());
}

void cache_context_end(cache_context *at) {
  llrt_device_close(&at->device);
  llrt_context_destroy(&at->context);
}

uint64_t cache_compiles(const cache_context *at) {
  llrt_cache_stats stats = {0};
  cr_assert_eq(llrt_context_get_cache_stats(at->context, &stats), LLRT_OK);
  return stats.compiles;
}

static bool is_right(const uint32_t *in, const uint32_t *out, uint32_t constant) {
  for (int i = 0; i < CACHE_SIDE; i++)
    for (int j = 0; j < CACHE_SIDE; j++)
      if (out[i + j * CACHE_SIDE] != (in[i * CACHE_SIDE + j] ^ constant)) return false;
  return true;
}

static llrt_status convert_on(llrt_device *device, char *memory, uint32_t constant,
                              bool own_storage) {
  llrt_storage columns;
  llrt_status status = llrt_storage_col_major(2, &columns);
  if (status != LLRT_OK) return status;
  if (own_storage) columns.offset[0] = constant;
  const llrt_map map = {.kind = LLRT_MAP_XOR, .constant = constant};
  const llrt_convert_params params = {.size = sizeof params, .n_maps = 1, .maps = &map};
  llrt_tensor source = {.data = memory,
                        .dtype = LLRT_U32,
                        .rank = 2,
                        .shape = {CACHE_SIDE, CACHE_SIDE},
                        .device = device};
  llrt_tensor destination = source;
  destination.data = memory + BYTES;
  destination.storage = &columns;
  return llrt_convert_into(&source, &destination, &params, NULL);
}

llrt_status cache_convert(cache_context *at, uint32_t constant, bool *right) {
  static uint32_t in[BYTES / 4], out[BYTES / 4];
  void *memory = NULL;
  *right = false;
  for (int i = 0; i < BYTES / 4; i++) in[i] = (uint32_t)i * 2654435761u;
  memset(out, 0xA5, sizeof out);
  size_t begin = at->own_storages ? 4 * (size_t)constant : 0; /* of the result's elements */
  llrt_status status = llrt_memory_allocate(at->device, 2 * BYTES + begin, &memory);
  if (status == LLRT_OK)
    status = llrt_memory_copy(at->device, memory, in, BYTES, LLRT_COPY_TO_DEVICE, NULL);
  if (status == LLRT_OK) status = convert_on(at->device, memory, constant, at->own_storages);
  if (status == LLRT_OK)
    status = llrt_memory_copy(at->device, out, (char *)memory + BYTES + begin, BYTES,
                              LLRT_COPY_FROM_DEVICE, NULL);
  if (memory) llrt_memory_free(at->device, memory);
  *right = status == LLRT_OK && is_right(in, out, constant);
  return status;
}

typedef struct listing {
  char (*names)[64];
  int n, most;
} listing;

static int list_entry(void *user, const llrt_cache_entry *entry) {
  listing *to = user;
  if (entry->state != LLRT_CACHE_SOUND || entry->n_compiled == 0) return 0;
  if (to->n < to->most) snprintf(to->names[to->n], 64, "%.63s", entry->name);
  to->n++;
  return 0;
}

int cache_files(const char *dir, char names[][64], int most) {
  listing to = {names, 0, most};
  cr_assert_eq(llrt_cache_visit(dir, &to, list_entry), LLRT_OK, "%s", llrt_last_error());
  return to.n;
}

int cache_count_state(void *user, const llrt_cache_entry *entry) {
  int *states = user;
  states[entry->state]++;
  cr_expect_eq(entry->why == NULL, entry->state == LLRT_CACHE_SOUND);
  if (entry->state == LLRT_CACHE_SOUND)
    cr_expect(strstr(entry->text, "convert") && entry->bytes > 0 && entry->used > 0, "%s",
              entry->text);
  return 0;
}

const char *cache_file_path(const char *dir, const char *name) {
  static char path[8192];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return path;
}

static FILE *open_in(const char *dir, const char *name, const char *mode) {
  char path[8192];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *file = fopen(path, mode);
  cr_assert_not_null(file, "%s", path);
  return file;
}

char *cache_file_read(const char *dir, const char *name, size_t *size) {
  FILE *file = open_in(dir, name, "rb");
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*size + 1);
  cr_assert_eq(fread(bytes, 1, *size, file), *size);
  fclose(file);
  return bytes;
}

void cache_file_write(const char *dir, const char *name, const void *bytes, size_t size) {
  FILE *file = open_in(dir, name, "wb");
  cr_assert_eq(fwrite(bytes, 1, size, file), size);
  fclose(file);
}

bool cache_converts(cache_context *at, uint32_t constant) {
  bool right;
  llrt_status status = cache_convert(at, constant, &right);
  cr_assert(right || status == LLRT_UNAVAILABLE, "%s", llrt_last_error());
  return right;
}

uint64_t cache_convert_once(const char *dir, const char *device, uint32_t constant, bool compiler) {
  cache_context at;
  bool right;
  cache_context_begin(&at, device, dir, compiler, NULL);
  llrt_status status = cache_convert(&at, constant, &right);
  cr_assert(right, "%s: %s", device, status == LLRT_OK ? "wrong" : llrt_last_error());
  uint64_t compiles = cache_compiles(&at);
  cache_context_end(&at);
  return compiles;
}
