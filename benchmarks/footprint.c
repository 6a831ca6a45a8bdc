#include "footprint.h"

#include <llrt/llrt.h>

#include <string.h>

enum { SECTOR_BYTES = 32 };

static int64_t skip(const unsigned char *touched, int64_t at, int64_t bytes, unsigned char value) {
  const unsigned char *found =
      at < bytes ? memchr(touched + at, !value, (size_t)(bytes - at)) : NULL;
  return found ? found - touched : bytes;
}

static void count_sectors(const unsigned char *touched, int64_t bytes, footprint *out) {
  for (int64_t at = 0; at < bytes; at += SECTOR_BYTES) {
    int64_t end = at + SECTOR_BYTES < bytes ? at + SECTOR_BYTES : bytes, count = 0;
    for (int64_t i = at; i < end; i++) count += touched[i];
    out->sectors += count > 0;
    out->partial += count > 0 && count < SECTOR_BYTES;
    out->bytes += count;
  }
}

/* Where run number i begins. */
static int64_t run_start(const footprint *f, int64_t i) {
  return f->first + i / f->runs * f->group + i % f->runs * f->pitch;
}

bool footprint_of(const conversion *c, int side, unsigned char *scratch, footprint *out) {
  int64_t bytes = side == 0 ? c->from_bytes : c->to_bytes, count = 0;
  *out = (footprint){.runs = INT64_MAX};
  if (llrt_dtype_bits(c->dtype) < 8 || conversion_touched(c, side, scratch) != LLRT_OK)
    return false;
  count_sectors(scratch, bytes, out);
  for (int64_t at = skip(scratch, 0, bytes, 0); at < bytes; count++) {
    int64_t end = skip(scratch, at, bytes, 1);
    if (count == 0)
      *out = (footprint){at,    end - at,   bytes,        INT64_MAX,
                         bytes, out->bytes, out->sectors, out->partial};
    if (count == 1) out->pitch = at - out->first;
    /* The first run that is not a pitch behind the one before begins the second group. */
    if (out->runs == INT64_MAX && at != run_start(out, count)) {
      out->runs = count;
      out->group = at - out->first;
    }
    if (end - at != out->run || at != run_start(out, count)) return false;
    at = skip(scratch, end, bytes, 0);
  }
  return count > 0;
}

int64_t footprint_byte(const footprint *f, int64_t i) {
  return run_start(f, i / f->run) + i % f->run;
}
