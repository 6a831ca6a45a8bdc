/* 128-bit hashes (XXH3), stable between processes and machines: numbers go in little-endian. */
#ifndef LLRT_BASE_HASH_H
#define LLRT_BASE_HASH_H

#include <llrt/layout.h>

#include <stddef.h>
#include <stdint.h>

/* A hash of a sequence of values. Init, add any number, finish. */
typedef struct llrt_hasher {
  _Alignas(64) unsigned char state[576]; /* XXH3_state_t, whose header stays out of this one */
} llrt_hasher;

void llrt_hasher_init(llrt_hasher *hasher);
void llrt_hasher_add_u64(llrt_hasher *hasher, uint64_t value);
void llrt_hasher_add_u64s(llrt_hasher *hasher, const uint64_t *values, size_t count);
void llrt_hasher_add_bytes(llrt_hasher *hasher, const void *bytes, size_t size);
/* The hash of everything added so far; more may be added afterwards. */
llrt_hash llrt_hasher_finish(const llrt_hasher *hasher);

/* The hash of `size` bytes. */
llrt_hash llrt_hash_bytes(const void *bytes, size_t size);

static inline bool llrt_hash_equal(llrt_hash a, llrt_hash b) {
  return a.low == b.low && a.high == b.high;
}

#endif
