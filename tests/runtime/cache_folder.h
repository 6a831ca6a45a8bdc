/* A folder for a disk cache, and conversions that need a kernel each, for its tests. */
#ifndef LLRT_TESTS_RUNTIME_CACHE_FOLDER_H
#define LLRT_TESTS_RUNTIME_CACHE_FOLDER_H

#include <llrt/llrt.h>

#include <stdbool.h>

#define CACHE_SIDE 24

/* How much a test does: `few` unless LLRT_TEST_CACHE is set, which asks for `many`. */
int cache_rounds(int few, int many);

/* An empty folder under TMPDIR that only the user may write; gone after cache_folder_end. */
const char *cache_folder_begin(void);
void cache_folder_end(void);

/* A context that keeps kernels in `dir` (NULL: none), and the device `name` in it. compiler: else
 * there is no compiler library. It counts warnings. */
typedef struct cache_context {
  llrt_context *context;
  llrt_device *device;
  bool own_storages; /* each constant's destination is a storage of its own, too */
  int warnings;
  char warning[512]; /* the last one */
} cache_context;

/* `with`: further params, or NULL. */
void cache_context_begin(cache_context *at, const char *name, const char *dir, bool compiler,
                         const llrt_cache_params *with);
void cache_context_end(cache_context *at);
uint64_t cache_compiles(const cache_context *at);

/* Transposes a matrix of 32-bit words XORed with `constant`, which is a kernel of its own, and
 * compares all of the result. right: whether it is; false, too, where the status is not OK. */
llrt_status cache_convert(cache_context *at, uint32_t constant, bool *right);

/* The same without a compiler, too, which is the only reason why it may fail; returns whether it is
 * right. */
bool cache_converts(cache_context *at, uint32_t constant);

/* One such conversion in a context of its own; returns how many kernels were compiled. */
uint64_t cache_convert_once(const char *dir, const char *device, uint32_t constant, bool compiler);

/* The names of the folder's sound files with code, the first `most`; returns how many there are. */
int cache_files(const char *dir, char names[][64], int most);

/* For llrt_cache_visit: counts entries by state in the int[3] at `user`, and compares what is said
 * of them. */
int cache_count_state(void *user, const llrt_cache_entry *entry);

/* The path of a file of the folder, until the next call. */
const char *cache_file_path(const char *dir, const char *name);
/* Reads and writes a whole file of the folder. */
char *cache_file_read(const char *dir, const char *name, size_t *size);
void cache_file_write(const char *dir, const char *name, const void *bytes, size_t size);

#endif
