/* See ptx_front.h. A table of pieces of 64 bytes, by their addresses, with a bit for each byte that
 * was read or written. */
#include "emulators/ptx/ptx_front.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BITS 6
#define FIRST_PIECES 64
#define SPREAD 0x9e3779b97f4a7c15ull

typedef struct piece {
  uint64_t number, read, written; /* neither read nor written: the place is free */
} piece;

struct ptx_front {
  size_t places, taken; /* a power of two; at most half of them */
  piece piece[];
};

static ptx_front *new_table(size_t places) {
  ptx_front *front = calloc(1, sizeof *front + places * sizeof *front->piece);
  if (front) front->places = places;
  return front;
}

ptx_front *ptx_front_new(void) { return new_table(FIRST_PIECES); }

ptx_front *ptx_front_copy(const ptx_front *front) {
  ptx_front *copy = new_table(front->places);
  if (!copy) return NULL;
  memcpy(copy->piece, front->piece, front->places * sizeof *front->piece);
  copy->taken = front->taken;
  return copy;
}

/* Where the piece is, or would be. */
static size_t place_of(const ptx_front *front, uint64_t number) {
  size_t at = (size_t)(number * SPREAD >> 20) & (front->places - 1);
  while ((front->piece[at].read | front->piece[at].written) && front->piece[at].number != number)
    at = (at + 1) & (front->places - 1);
  return at;
}

static bool grow(ptx_front **front) {
  ptx_front *old = *front, *wider = new_table(old->places * 2);
  if (!wider) return false;
  for (size_t i = 0; i < old->places; i++)
    if (old->piece[i].read | old->piece[i].written)
      wider->piece[place_of(wider, old->piece[i].number)] = old->piece[i];
  wider->taken = old->taken;
  free(old);
  *front = wider;
  return true;
}

/* The bits of an access, which is aligned to its bytes, in its piece. */
static uint64_t bits_of(uint64_t address, int bytes) {
  uint64_t first = address & ((1u << PIECE_BITS) - 1);
  return (bytes < 64 ? ((uint64_t)1 << bytes) - 1 : UINT64_MAX) << first;
}

bool ptx_front_add(ptx_front **front, uint64_t address, int bytes, bool write) {
  if ((*front)->taken * 2 >= (*front)->places && !grow(front)) return false;
  piece *own = &(*front)->piece[place_of(*front, address >> PIECE_BITS)];
  if (!(own->read | own->written)) (*front)->taken++;
  own->number = address >> PIECE_BITS;
  *(write ? &own->written : &own->read) |= bits_of(address, bytes);
  return true;
}

bool ptx_front_meets(const ptx_front *front, uint64_t address, int bytes, bool write) {
  const piece *own = &front->piece[place_of(front, address >> PIECE_BITS)];
  uint64_t others = own->written | (write ? own->read : 0);
  return (others & bits_of(address, bytes)) != 0;
}
