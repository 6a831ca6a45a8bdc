/* See emu_memory.h. */
#include "emulators/common/emu_memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALIGNMENT 256
#define APART \
  256 /* bytes between neighbours at least, so that no overrun lands in another range \
       */

static void range_free(emu_range *range) {
  if (!range->borrowed && !range->block) {
    munmap((void *)(uintptr_t)range->address, range->bytes);
    munmap(range->undefined, range->bytes);
    close(range->fd);
  } else if (!range->borrowed) {
    free(range->undefined);
    free(range->block);
  }
  free(range);
}

void emu_memory_fini(emu_memory *memory) {
  for (int i = 0; i < memory->n; i++) range_free(memory->range[i]);
  free(memory->range);
  memset(memory, 0, sizeof *memory);
}

/* The number of ranges that begin at or before address. */
static int ranges_until(const emu_memory *memory, uint64_t address) {
  int low = 0, high = memory->n;
  while (low < high) {
    int middle = (low + high) / 2;
    if (memory->range[middle]->address <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static bool make_room(emu_memory *memory) {
  if (memory->n < memory->capacity) return true;
  int capacity = memory->capacity ? 2 * memory->capacity : 16;
  emu_range **grown = realloc(memory->range, (size_t)capacity * sizeof(emu_range *));
  if (!grown) return false;
  memory->range = grown;
  memory->capacity = capacity;
  return true;
}

static void insert(emu_memory *memory, emu_range *range) {
  int at = ranges_until(memory, range->address);
  memmove(&memory->range[at + 1], &memory->range[at],
          (size_t)(memory->n - at) * sizeof(emu_range *));
  memory->range[at] = range;
  memory->n++;
}

uint64_t emu_memory_allocate(emu_memory *memory, size_t bytes) {
  if (bytes == 0 || bytes > (size_t)1 << 40 || !make_room(memory)) return 0;
  emu_range *range = calloc(1, sizeof *range);
  if (!range) return 0;
  range->bytes = bytes;
  range->undefined = malloc(bytes);
  range->block = malloc(bytes + ALIGNMENT + APART);
  if (!range->undefined || !range->block) {
    range_free(range);
    return 0;
  }
  memset(range->undefined, 0xff, bytes);
  range->address = ((uintptr_t)range->block + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
  insert(memory, range);
  memory->used += bytes;
  return range->address;
}

/* ---- memory in files ---- */

static size_t round_to_pages(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (bytes + page - 1) / page * page;
}

int emu_file_create(size_t bytes) {
  size_t size = round_to_pages(bytes);
  int fd = memfd_create("emulated device memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  if (ftruncate(fd, (off_t)(2 * size)) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0) {
    void *shadow = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)size);
    if (shadow != MAP_FAILED) {
      memset(shadow, 0xff, size);
      munmap(shadow, size);
      return fd;
    }
  }
  close(fd);
  return -1;
}

size_t emu_file_bytes(int fd) {
  struct stat status;
  int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &status) != 0) return 0;
  return (size_t)status.st_size / 2;
}

uint64_t emu_memory_map_file(emu_memory *memory, int fd, size_t bytes) {
  size_t size = round_to_pages(bytes);
  if (bytes == 0 || size > emu_file_bytes(fd) || !make_room(memory)) return 0;
  emu_range *range = calloc(1, sizeof *range);
  if (!range) return 0;
  void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  void *shadow =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)emu_file_bytes(fd));
  *range = (emu_range){.address = (uintptr_t)data,
                       .bytes = bytes,
                       .undefined = shadow,
                       .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)};
  if (data != MAP_FAILED && shadow != MAP_FAILED && range->fd >= 0) {
    insert(memory, range);
    memory->used += bytes;
    return range->address;
  }
  if (data != MAP_FAILED) munmap(data, size);
  if (shadow != MAP_FAILED) munmap(shadow, size);
  if (range->fd >= 0) close(range->fd);
  free(range);
  return 0;
}

uint64_t emu_memory_allocate_file(emu_memory *memory, size_t bytes) {
  int fd = bytes > 0 && bytes <= (size_t)1 << 40 ? emu_file_create(bytes) : -1;
  if (fd < 0) return 0;
  uint64_t address = emu_memory_map_file(memory, fd, bytes);
  close(fd);
  return address;
}

bool emu_memory_borrow(emu_memory *memory, uint64_t address, size_t bytes, uint8_t *undefined) {
  if (!make_room(memory)) return false;
  emu_range *range = calloc(1, sizeof *range);
  if (!range) return false;
  *range = (emu_range){
      .address = address, .bytes = bytes, .undefined = undefined, .borrowed = true, .fd = -1};
  insert(memory, range);
  memory->used += bytes;
  return true;
}

bool emu_memory_free(emu_memory *memory, uint64_t address) {
  int at = ranges_until(memory, address) - 1;
  if (at < 0 || memory->range[at]->address != address) return false;
  memory->used -= memory->range[at]->bytes;
  range_free(memory->range[at]);
  memory->n--;
  memmove(&memory->range[at], &memory->range[at + 1],
          (size_t)(memory->n - at) * sizeof(emu_range *));
  return true;
}

emu_range *emu_memory_find_any(const emu_memory *memory, uint64_t address, size_t bytes) {
  int at = ranges_until(memory, address) - 1;
  return at >= 0 && emu_range_holds(memory->range[at], address, bytes) ? memory->range[at] : NULL;
}

emu_range *emu_memory_find(const emu_memory *memory, uint64_t address, size_t bytes) {
  emu_range *range = emu_memory_find_any(memory, address, bytes);
  return range && !range->hidden ? range : NULL;
}

bool emu_memory_write(emu_memory *memory, uint64_t to, const void *from, size_t bytes) {
  emu_range *range = emu_memory_find(memory, to, bytes);
  if (!range) return false;
  memcpy(emu_range_data(range, to), from, bytes);
  memset(emu_range_undefined(range, to), 0, bytes);
  return true;
}

bool emu_memory_read(const emu_memory *memory, void *to, uint64_t from, size_t bytes) {
  const emu_range *range = emu_memory_find(memory, from, bytes);
  if (!range) return false;
  memcpy(to, emu_range_data(range, from), bytes);
  return true;
}

bool emu_memory_copy(emu_memory *memory, uint64_t to, uint64_t from, size_t bytes) {
  emu_range *target = emu_memory_find(memory, to, bytes);
  const emu_range *source = emu_memory_find(memory, from, bytes);
  if (!target || !source) return false;
  memmove(emu_range_data(target, to), emu_range_data(source, from), bytes);
  memmove(emu_range_undefined(target, to), emu_range_undefined(source, from), bytes);
  return true;
}

bool emu_memory_set(emu_memory *memory, uint64_t to, int value, size_t bytes) {
  emu_range *range = emu_memory_find(memory, to, bytes);
  if (!range) return false;
  memset(emu_range_data(range, to), value, bytes);
  memset(emu_range_undefined(range, to), 0, bytes);
  return true;
}
