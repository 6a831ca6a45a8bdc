/* What the programs of this folder share: libllrt.so, opened as a plugin would, and conversions on
 * the host. The programs are plain ones, for Criterion's processes and the thread sanitizer do not
 * go together. Each takes the paths of libllrt.so and libllrt-jit.so. */
#ifndef LLRT_TESTS_GUEST_H
#define LLRT_TESTS_GUEST_H

#include <llrt/llrt.h>

#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUEST_SKIPPED = 77 };

/* clang-format off */
#define GUEST_FUNCTIONS(F) \
  F(llrt_last_error) F(llrt_context_create) F(llrt_context_destroy) \
  F(llrt_context_get_cache_stats) \
  F(llrt_device_open) F(llrt_device_close) F(llrt_storage_strided) F(llrt_convert_into) \
  F(llrt_reduce_into) F(llrt_op_prepare) F(llrt_op_run) F(llrt_op_save) F(llrt_op_load) \
  F(llrt_op_destroy)
/* clang-format on */

typedef struct guest_library {
  void *handle;
#define F(name) __typeof__(&name) name;
  GUEST_FUNCTIONS(F)
#undef F
} guest_library;

/* Ends the program unless the condition holds. */
#define GUEST_REQUIRE(condition, ...) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
      fprintf(stderr, __VA_ARGS__); \
      fputc('\n', stderr); \
      _Exit(1); \
    } \
  } while (0)

static inline guest_library guest_open(const char *path) {
  guest_library lib = {.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
  GUEST_REQUIRE(lib.handle, "%s", dlerror());
#define F(name) \
  *(void **)&lib.name = dlsym(lib.handle, #name); \
  GUEST_REQUIRE(lib.name, "no " #name);
  GUEST_FUNCTIONS(F)
#undef F
  return lib;
}

static inline void guest_close(guest_library *lib, const char *path) {
  GUEST_REQUIRE(dlclose(lib->handle) == 0, "%s", dlerror());
  GUEST_REQUIRE(!dlopen(path, RTLD_NOW | RTLD_NOLOAD), "%s is still there", path);
}

typedef struct guest_session {
  const guest_library *lib;
  llrt_context *context;
  llrt_device *host;
} guest_session;

static inline guest_session guest_begin(const guest_library *lib, const char *jit, int threads) {
  guest_session s = {.lib = lib};
  llrt_context_params params = {.jit_library = jit, .threads = threads};
  GUEST_REQUIRE(lib->llrt_context_create(&params, &s.context) == LLRT_OK, "%s",
                lib->llrt_last_error());
  GUEST_REQUIRE(lib->llrt_device_open(s.context, "host", NULL, &s.host) == LLRT_OK, "%s",
                lib->llrt_last_error());
  return s;
}

static inline void guest_end(guest_session *s) {
  s->lib->llrt_device_close(&s->host);
  s->lib->llrt_context_destroy(&s->context);
}

enum { GUEST_AXES = 6 };

/* Tensor number `layout` of 720: [rows, 2, 4, 2, 8, 2] in row-major order to an order of the axes
 * of its own. */
typedef struct guest_case {
  int64_t shape[GUEST_AXES], strides[GUEST_AXES];
  int64_t elements;
} guest_case;

static inline guest_case guest_case_make(int layout, int64_t rows) {
  guest_case c = {.shape = {rows, 2, 4, 2, 8, 2}};
  int left[GUEST_AXES] = {0, 1, 2, 3, 4, 5};
  c.elements = 1;
  for (int n = GUEST_AXES; n > 0; layout /= n--) {
    int axis = left[layout % n];
    memmove(&left[layout % n], &left[layout % n + 1],
            sizeof left[0] * (size_t)(n - 1 - layout % n));
    c.strides[axis] = c.elements;
    c.elements *= c.shape[axis];
  }
  return c;
}

/* Memory for such a tensor of 32-bit elements, twice. Ownership: free. */
static inline unsigned *guest_memory(int64_t rows) {
  unsigned *memory = aligned_alloc(64, (size_t)guest_case_make(0, rows).elements * 8);
  GUEST_REQUIRE(memory, "no memory");
  return memory;
}

/* Converts such a tensor in this memory and compares all of it. */
static inline void guest_convert_in(const guest_session *s, int layout, int64_t rows,
                                    unsigned *memory) {
  guest_case c = guest_case_make(layout, rows);
  unsigned *from = memory, *to = memory + c.elements;
  for (int64_t i = 0; i < c.elements; i++) from[i] = (unsigned)i * 2654435761u + (unsigned)layout;
  memset(to, 0xee, (size_t)c.elements * 4);
  llrt_storage storage;
  GUEST_REQUIRE(s->lib->llrt_storage_strided(GUEST_AXES, c.strides, &storage) == LLRT_OK, "%s",
                s->lib->llrt_last_error());
  llrt_tensor source = {.data = from, .dtype = LLRT_B32, .rank = GUEST_AXES, .device = s->host};
  memcpy(source.shape, c.shape, sizeof c.shape);
  llrt_tensor destination = source;
  destination.data = to;
  destination.storage = &storage;
  GUEST_REQUIRE(s->lib->llrt_convert_into(&source, &destination, NULL, NULL) == LLRT_OK, "%s",
                s->lib->llrt_last_error());
  for (int64_t i = 0; i < c.elements; i++) {
    int64_t place = 0, rest = i;
    for (int axis = GUEST_AXES - 1; axis >= 0; rest /= c.shape[axis--])
      place += rest % c.shape[axis] * c.strides[axis];
    GUEST_REQUIRE(to[place] == from[i], "layout %d: element %lld is %x, not %x", layout,
                  (long long)i, to[place], from[i]);
  }
}

/* The same in memory of its own. */
static inline void guest_convert(const guest_session *s, int layout, int64_t rows) {
  unsigned *memory = guest_memory(rows);
  guest_convert_in(s, layout, rows, memory);
  free(memory);
}

/* Of this process; 0 where the system does not say. */
static inline int guest_threads(void) {
  DIR *tasks = opendir("/proc/self/task");
  int n = 0;
  if (!tasks) return 0;
  for (struct dirent *task; (task = readdir(tasks));) n += task->d_name[0] != '.';
  closedir(tasks);
  return n;
}

/* Rows of a tensor that several threads convert. */
enum { GUEST_MANY_ROWS = 4096 };

#endif
