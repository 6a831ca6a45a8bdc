#include "base/params.h"

#include "base/status.h"

#include <string.h>

#define MOST_BYTES 65536 /* more than any version will have: a size beyond is none */

bool llrt_params_are_zero(const void *bytes, size_t n) {
  const unsigned char *byte = bytes;
  return n == 0 || (byte[0] == 0 && memcmp(byte, byte + 1, n - 1) == 0); /* each is the next one */
}

static llrt_status size_of(const void *given, const char *name, size_t first, size_t *size) {
  memcpy(size, given, sizeof *size);
  if (*size == 0) *size = first;
  LLRT_REQUIRE(*size >= first && *size <= MOST_BYTES, "%s has size %zu, not sizeof of it or 0",
               name, *size);
  return LLRT_OK;
}

static llrt_status check_unknown(const void *given, const char *name, size_t known, size_t size) {
  const unsigned char *byte = given;
  for (size_t i = known; i < size; i++)
    if (byte[i])
      return llrt_error(
          LLRT_UNSUPPORTED,
          "%s has %zu bytes, of which this llrt knows %zu, and byte %zu is not 0: a field of a "
          "newer version",
          name, size, known, i);
  return LLRT_OK;
}

llrt_status llrt_params_read(const void *given, const char *name, size_t known, size_t first,
                             void *own) {
  size_t size = 0;
  if (given) {
    LLRT_TRY(size_of(given, name, first, &size));
    LLRT_TRY(check_unknown(given, name, known, size));
    if (size > known) size = known;
    memcpy(own, given, size);
  }
  memset((char *)own + size, 0, known - size);
  memcpy(own, &known, sizeof known);
  return LLRT_OK;
}

llrt_status llrt_params_write(void *out, const char *name, size_t known, size_t first,
                              const void *own) {
  size_t size;
  LLRT_TRY(size_of(out, name, first, &size));
  if (size > known) size = known;
  memcpy(out, own, size);
  memcpy(out, &size, sizeof size);
  return LLRT_OK;
}
