#include "base/hash.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(sizeof(XXH3_state_t) == sizeof(((llrt_hasher *)0)->state), "XXH3's state moved");
_Static_assert(_Alignof(llrt_hasher) >= _Alignof(XXH3_state_t), "XXH3's state is aligned");

static XXH3_state_t *state_of(llrt_hasher *hasher) { return (XXH3_state_t *)hasher->state; }

static uint64_t to_little_endian(uint64_t value) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  return __builtin_bswap64(value);
#else
  return value;
#endif
}

static llrt_hash from_xxh(XXH128_hash_t hash) {
  return (llrt_hash){.low = hash.low64, .high = hash.high64};
}

void llrt_hasher_init(llrt_hasher *hasher) {
  memset(hasher, 0, sizeof *hasher);
  XXH3_128bits_reset(state_of(hasher));
}

void llrt_hasher_add_u64(llrt_hasher *hasher, uint64_t value) {
  value = to_little_endian(value);
  XXH3_128bits_update(state_of(hasher), &value, sizeof value);
}

void llrt_hasher_add_u64s(llrt_hasher *hasher, const uint64_t *values, size_t count) {
  for (size_t i = 0; i < count; i++) llrt_hasher_add_u64(hasher, values[i]);
}

void llrt_hasher_add_bytes(llrt_hasher *hasher, const void *bytes, size_t size) {
  XXH3_128bits_update(state_of(hasher), bytes, size);
}

llrt_hash llrt_hasher_finish(const llrt_hasher *hasher) {
  return from_xxh(XXH3_128bits_digest((const XXH3_state_t *)hasher->state));
}

llrt_hash llrt_hash_bytes(const void *bytes, size_t size) {
  return from_xxh(XXH3_128bits(bytes, size));
}
