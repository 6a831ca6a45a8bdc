#include "tools/model/digest.h"

#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct digest {
  XXH3_state_t state;
};

digest *digest_begin(void) {
  digest *d = (digest *)XXH3_createState();
  if (d) XXH3_128bits_reset(&d->state);
  return d;
}

void digest_add(digest *d, const void *data, size_t bytes) {
  XXH3_128bits_update(&d->state, data, bytes);
}

void digest_add_text(digest *d, const char *text) { digest_add(d, text, strlen(text) + 1); }

void digest_add_number(digest *d, uint64_t number) {
  unsigned char data[8];
  for (int i = 0; i < 8; i++) data[i] = (unsigned char)(number >> 8 * i);
  digest_add(d, data, sizeof data);
}

static void print(XXH128_hash_t hash, char out[DIGEST_SIZE]) {
  snprintf(out, DIGEST_SIZE, "%016llx%016llx", (unsigned long long)hash.high64,
           (unsigned long long)hash.low64);
}

void digest_end(digest *d, char out[DIGEST_SIZE]) {
  print(XXH3_128bits_digest(&d->state), out);
  XXH3_freeState(&d->state);
}

void digest_of(const void *data, size_t bytes, char out[DIGEST_SIZE]) {
  print(XXH3_128bits(data, bytes), out);
}
