/* Elements of 4 to 128 bits in host memory; of 4-bit ones the first is in a byte's low half. */
#ifndef LLRT_BENCHMARKS_ELEMENT_H
#define LLRT_BENCHMARKS_ELEMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct element {
  uint64_t low, high; /* high: of 128 bits */
} element;

static inline element element_load(const void *data, int64_t index, int bits) {
  element value = {0, 0};
  const unsigned char *bytes = data;
  switch (bits) { /* each size a constant, so that each is one load */
  case 4: value.low = bytes[index / 2] >> 4 * (index % 2) & 15; break;
  case 8: value.low = bytes[index]; break;
  case 16: memcpy(&value, bytes + index * 2, 2); break;
  case 32: memcpy(&value, bytes + index * 4, 4); break;
  case 64: memcpy(&value, bytes + index * 8, 8); break;
  default: memcpy(&value, bytes + index * 16, 16); break;
  }
  return value;
}

static inline bool element_same(element a, element b) { return a.low == b.low && a.high == b.high; }

/* The element whose bytes are all `byte`. */
static inline element element_repeated(unsigned char byte, int bits) {
  unsigned char bytes[sizeof(element)];
  memset(bytes, byte, sizeof bytes);
  return element_load(bytes, 0, bits);
}

#endif
