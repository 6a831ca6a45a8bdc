/* Device memory of an emulated device: host memory in tracked ranges. A device address is the host
 * address. Beside every byte stands a shadow byte whose set bits are the *undefined* bits of that
 * byte, so values smaller than a byte are followed too: 0 is defined, 0xff undefined as after
 * allocation.
 *
 * Thread: the caller's lock. */
#ifndef LLRT_EMULATORS_EMU_MEMORY_H
#define LLRT_EMULATORS_EMU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct emu_range {
  uint64_t address;
  size_t bytes;
  uint8_t *undefined; /* shadow of each byte */
  void *block;        /* what was allocated: the range and space around it; NULL: it is mapped */
  bool borrowed;      /* another's: freeing the range leaves the memory and its shadow */
  int fd;             /* of mapped memory: the file, twice its size, with the shadow behind */
  bool hidden;        /* an address that is taken, without memory: no access finds it */
  void *owner;        /* the allocator's */
} emu_range;

typedef struct emu_memory {
  emu_range **range; /* by address; a range keeps its place in memory until it is freed */
  int n, capacity;
  size_t used; /* bytes of all ranges */
} emu_memory;

void emu_memory_fini(emu_memory *memory);

/* A range of `bytes` > 0 undefined bytes, aligned to 256; ranges never touch. 0: no memory. */
uint64_t emu_memory_allocate(emu_memory *memory, size_t bytes);

/* The same in a file of its own, which other processes can open; and what such a file of another
 * process has. The descriptor stays the caller's. */
uint64_t emu_memory_allocate_file(emu_memory *memory, size_t bytes);
uint64_t emu_memory_map_file(emu_memory *memory, int fd, size_t bytes);

/* Lets a device at memory that somebody else keeps; false: no memory. */
bool emu_memory_borrow(emu_memory *memory, uint64_t address, size_t bytes, uint8_t *undefined);

/* A file for `bytes` undefined bytes and their shadow, of a size that stays, and the size that such
 * a file is for; -1 and 0: there is none. */
int emu_file_create(size_t bytes);
size_t emu_file_bytes(int fd);

/* Frees the range that begins at address; false: there is none. */
bool emu_memory_free(emu_memory *memory, uint64_t address);

/* The range that holds all of [address, address + bytes), or NULL, where it is hidden too. Cost:
 * log n; callers in a hurry keep the last answer and test it with emu_range_holds. */
emu_range *emu_memory_find(const emu_memory *memory, uint64_t address, size_t bytes);

/* The same of hidden ranges also. */
emu_range *emu_memory_find_any(const emu_memory *memory, uint64_t address, size_t bytes);

static inline bool emu_range_holds(const emu_range *range, uint64_t address, size_t bytes) {
  return address >= range->address && bytes <= range->bytes &&
         address - range->address <= range->bytes - bytes;
}

static inline uint8_t *emu_range_data(const emu_range *range, uint64_t address) {
  (void)range;
  return (uint8_t *)(uintptr_t)address;
}

/* The shadow of an address inside the range. */
static inline uint8_t *emu_range_undefined(const emu_range *range, uint64_t address) {
  return range->undefined + (address - range->address);
}

/* What a driver's copies do: data and shadow. false: not inside one range. */
bool emu_memory_write(emu_memory *memory, uint64_t to, const void *from, size_t bytes);
bool emu_memory_read(const emu_memory *memory, void *to, uint64_t from, size_t bytes);
bool emu_memory_copy(emu_memory *memory, uint64_t to, uint64_t from, size_t bytes);
bool emu_memory_set(emu_memory *memory, uint64_t to, int value, size_t bytes);

#endif
