#include "memory.h"

#include "weights.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GUARD 256
#define PAGES_GUARD 8192

const char *verdict_name(verdict of) {
  static const char *const names[] = {"right",   "WRONG",   "OUTSIDE", "TOUCHED", "INTERNAL",
                                      "FAULT",   "CLASS",   "PARSE",   "CRASH",   "TIMEOUT",
                                      "refused", "invalid", "limit"};
  return names[of];
}

verdict verdict_of_status(llrt_status status) {
  switch (status) {
  case LLRT_OK: return VERDICT_RIGHT;
  case LLRT_UNSUPPORTED: return VERDICT_REFUSED;
  case LLRT_INVALID_ARGUMENT: return VERDICT_INVALID;
  case LLRT_OUT_OF_CLASS: return VERDICT_CLASS;
  case LLRT_DEVICE: return VERDICT_FAULT;
  case LLRT_OUT_OF_MEMORY:
  case LLRT_UNAVAILABLE: return VERDICT_LIMIT;
  default: return VERDICT_INTERNAL;
  }
}

verdict bench_say(bench *at, verdict of, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(at->why, sizeof at->why, format, arguments);
  va_end(arguments);
  return of;
}

verdict bench_fail(bench *at, llrt_status status, const char *what) {
  return bench_say(at, verdict_of_status(status), "%s: %s: %.800s", what, llrt_status_name(status),
                   llrt_last_error());
}

verdict bench_reload(bench *at, llrt_op **op) {
  size_t size = 0;
  llrt_status status = llrt_op_save(*op, NULL, &size);
  void *bytes = malloc(size + 1);
  if (status == LLRT_OK) status = llrt_op_save(*op, bytes, &size);
  llrt_op_destroy(op);
  if (status == LLRT_OK) status = llrt_op_load(at->device, bytes, size, op);
  free(bytes);
  return status == LLRT_OK ? VERDICT_RIGHT : bench_fail(at, status, "save and load");
}

/* ---- memory ---- */

static void fill(uint8_t *bytes, size_t n, uint64_t seed) {
  for (size_t i = 0; i < n; i += 8) {
    uint64_t random = draw_next(&seed);
    memcpy(bytes + i, &random, n - i < 8 ? n - i : 8);
  }
}

/* Pages of their own, between two that may not be touched: a write far outside ends the process and
 * damages nothing else. `tight`: the tensor ends where the last begins. */
static bool map_pages(int address, bool tight, memory *made) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), behind = tight ? 0 : PAGES_GUARD;
  size_t inside = (PAGES_GUARD + (size_t)address + made->span + behind + page - 1) / page * page;
  made->mapped_bytes = inside + 2 * page;
  made->mapped = mmap(NULL, made->mapped_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made->mapped == MAP_FAILED) return false;
  made->base = (uint8_t *)made->mapped + page;
  if (mprotect(made->base, inside, PROT_READ | PROT_WRITE) != 0) return false;
  made->bytes = inside;
  made->front = tight ? inside - made->span : PAGES_GUARD + (size_t)address;
  return true;
}

bool memory_make(bench *at, size_t span, int address, bool tight, uint64_t seed, memory *made) {
  *made = (memory){.span = span};
  if (at->is_host) {
    if (!map_pages(address, tight, made)) return false;
  } else {
    made->front = (size_t)address + (tight ? 0 : GUARD);
    made->bytes = made->front + span + (tight ? 0 : GUARD);
    if (made->bytes == 0) made->bytes = 1;
    void *base = NULL;
    if (llrt_memory_allocate(at->device, made->bytes, &base) != LLRT_OK) return false;
    made->base = base;
  }
  made->image = malloc(made->bytes);
  if (made->image) fill(made->image, made->bytes, seed);
  return made->image != NULL;
}

void memory_free(bench *at, memory *gone) {
  free(gone->image);
  if (gone->mapped && gone->mapped != MAP_FAILED) munmap(gone->mapped, gone->mapped_bytes);
  else if (gone->base) llrt_memory_free(at->device, gone->base);
  *gone = (memory){.span = 0};
}

bool memory_send(bench *at, const memory *of) {
  if (at->is_host) memcpy(of->base, of->image, of->bytes);
  return at->is_host || llrt_memory_copy(at->device, of->base, of->image, of->bytes,
                                         LLRT_COPY_TO_DEVICE, NULL) == LLRT_OK;
}

static verdict say_difference(bench *at, const memory *of, const uint8_t *found, const char *name,
                              bool read_only) {
  size_t inside = 0, outside = 0, first_in = 0, first_out = 0;
  for (size_t i = of->bytes; i-- > 0;) {
    if (found[i] == of->image[i]) continue;
    bool in = i >= of->front && i < of->front + of->span;
    *(in ? &first_in : &first_out) = i;
    ++*(in ? &inside : &outside);
  }
  size_t first = inside ? first_in : first_out;
  return bench_say(
      at, inside && !read_only && !outside ? VERDICT_WRONG : VERDICT_OUTSIDE,
      "%zu of the %s's %zu bytes are wrong, %zu beside it; the first at %lld is 0x%02x, not 0x%02x",
      inside, name, of->span, outside, (long long)first - (long long)of->front, found[first],
      of->image[first]);
}

verdict memory_compare(bench *at, const memory *of, const char *name, bool read_only) {
  uint8_t *found = malloc(of->bytes);
  if (!found) return bench_say(at, VERDICT_LIMIT, "no memory");
  llrt_status status = LLRT_OK;
  if (at->is_host) memcpy(found, of->base, of->bytes);
  else
    status = llrt_memory_copy(at->device, found, of->base, of->bytes, LLRT_COPY_FROM_DEVICE, NULL);
  if (status == LLRT_OK && !at->is_host) status = llrt_stream_synchronize(at->device, NULL);
  verdict made = VERDICT_RIGHT;
  if (status != LLRT_OK) made = bench_fail(at, status, "reading back");
  else if (memcmp(found, of->image, of->bytes) != 0)
    made = say_difference(at, of, found, name, read_only);
  free(found);
  return made;
}

/* ---- elements ---- */

void code_read(const uint8_t *array, int bits, int64_t at, uint64_t code[2]) {
  code[0] = code[1] = 0;
  if (bits < 8) code[0] = array[at / 2] >> at % 2 * 4 & 15;
  else memcpy(code, array + at * (bits / 8), (size_t)bits / 8);
}

void code_write(uint8_t *array, int bits, int64_t at, const uint64_t code[2]) {
  int shift = (int)(at % 2) * 4;
  if (bits < 8)
    array[at / 2] = (uint8_t)((array[at / 2] & ~(15 << shift)) | (int)(code[0] & 15) << shift);
  else memcpy(array + at * (bits / 8), code, (size_t)bits / 8);
}

/* ---- the allocator ---- */

typedef struct header {
  size_t bytes;
} header;

static void *allocate_guarded(void *user, llrt_device *device, size_t bytes, void *stream) {
  void *base;
  (void)user;
  header size = {bytes};
  if (llrt_memory_allocate(device, bytes + 2 * GUARD, &base) != LLRT_OK) return NULL;
  llrt_memory_set(device, base, ALLOCATED_BYTE, bytes + 2 * GUARD, stream);
  llrt_memory_copy(device, base, &size, sizeof size, LLRT_COPY_TO_DEVICE, stream);
  return (uint8_t *)base + GUARD;
}

static void release_guarded(void *user, llrt_device *device, void *address, void *stream) {
  uint8_t guard[2 * GUARD], *base = (uint8_t *)address - GUARD;
  header size;
  llrt_stream_synchronize(device, stream);
  llrt_memory_copy(device, guard, base, GUARD, LLRT_COPY_FROM_DEVICE, stream);
  memcpy(&size, guard, sizeof size);
  if (size.bytes < 1ull << 40)
    llrt_memory_copy(device, guard + GUARD, base + GUARD + size.bytes, GUARD, LLRT_COPY_FROM_DEVICE,
                     stream);
  bool damaged = size.bytes >= 1ull << 40;
  for (size_t i = sizeof size; i < 2 * GUARD && !damaged; i++) damaged = guard[i] != ALLOCATED_BYTE;
  ((guarded_allocator *)user)->damaged += damaged;
  llrt_memory_free(device, base);
}

llrt_allocator guarded_allocator_of(guarded_allocator *state) {
  return (llrt_allocator){.user = state, .allocate = allocate_guarded, .release = release_guarded};
}
