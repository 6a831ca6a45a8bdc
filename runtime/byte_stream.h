/* Numbers as bytes: each takes eight, little-endian. */
#ifndef LLRT_RUNTIME_BYTE_STREAM_H
#define LLRT_RUNTIME_BYTE_STREAM_H

#include "base/text.h"

#include <stdint.h>
#include <string.h>

static inline void put_bytes(llrt_text *out, const void *data, size_t size) {
  llrt_text_add_bytes(out, data, size);
}

static inline void put(llrt_text *out, int64_t value) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)((uint64_t)value >> (8 * i));
  put_bytes(out, bytes, sizeof bytes);
}

/* Once `bad`, every get gives zero and the rest of a function's work is harmless. */
typedef struct reader {
  const unsigned char *data;
  size_t left;
  bool bad;
} reader;

static inline void get_bytes(reader *in, void *out, size_t size) {
  memset(out, 0, size);
  if (in->bad || in->left < size) {
    in->bad = true;
    return;
  }
  memcpy(out, in->data, size);
  in->data += size;
  in->left -= size;
}

static inline int64_t get(reader *in) {
  unsigned char bytes[8];
  get_bytes(in, bytes, sizeof bytes);
  uint64_t value = 0;
  for (int i = 0; i < 8; i++) value |= (uint64_t)bytes[i] << (8 * i);
  return (int64_t)value;
}

/* A number that must lie in [low, high]; low when it does not. */
static inline int get_within(reader *in, int low, int high) {
  int64_t value = get(in);
  if (value >= low && value <= high) return (int)value;
  in->bad = true;
  return low;
}

#endif
