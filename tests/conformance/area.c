#include "area.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool area_fail(const area_owner *owner, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(owner->why, owner->why_size, format, arguments);
  va_end(arguments);
  return false;
}

bool area_make(const area_owner *owner, size_t bytes, area *made) {
  made->bytes = bytes;
  made->bits = calloc(bytes, 1);
  if (!made->bits) return area_fail(owner, "no memory for %zu bytes", bytes);
  void *memory;
  AREA_CHECK(owner, llrt_memory_allocate(owner->device, bytes, &memory));
  made->memory = memory;
  return true;
}

/* What was sent: areas of a case are few. */
enum { MOST_SENT = 64 };
static area sent[MOST_SENT];
static int n_sent;

static void forget(const area *gone) {
  int kept = 0;
  for (int i = 0; i < n_sent; i++)
    if (sent[i].memory != gone->memory) sent[kept++] = sent[i];
  n_sent = kept;
}

static bool remember(const area_owner *owner, const area *from) {
  forget(from);
  if (n_sent == MOST_SENT) return area_fail(owner, "more than %d areas at once", MOST_SENT);
  sent[n_sent++] = *from;
  return true;
}

bool area_send_again(const area_owner *owner) {
  for (int i = 0; i < n_sent; i++)
    AREA_CHECK(owner, llrt_memory_copy(owner->device, sent[i].memory, sent[i].bits, sent[i].bytes,
                                       LLRT_COPY_TO_DEVICE, NULL));
  return true;
}

void area_free(const area_owner *owner, area *gone) {
  forget(gone);
  free(gone->bits);
  llrt_memory_free(owner->device, gone->memory);
}

bool area_send(const area_owner *owner, const area *from) {
  AREA_CHECK(owner, llrt_memory_copy(owner->device, from->memory, from->bits, from->bytes,
                                     LLRT_COPY_TO_DEVICE, NULL));
  return remember(owner, from);
}

bool area_compare(const area_owner *owner, const area *expected, size_t *wrong, size_t *first) {
  *wrong = *first = 0;
  uint8_t *found = malloc(expected->bytes);
  if (!found) return area_fail(owner, "no memory for %zu bytes", expected->bytes);
  llrt_status status = llrt_memory_copy(owner->device, found, expected->memory, expected->bytes,
                                        LLRT_COPY_FROM_DEVICE, NULL);
  if (status == LLRT_OK) status = llrt_stream_synchronize(owner->device, NULL);
  for (size_t i = expected->bytes; i-- > 0 && status == LLRT_OK;) {
    if (found[i] == expected->bits[i]) continue;
    ++*wrong;
    *first = i;
  }
  free(found);
  return status == LLRT_OK || area_fail(owner, "reading back: %s", llrt_last_error());
}

bool area_same(const area_owner *owner, const area *expected, const char *name) {
  size_t wrong = 0, first = 0;
  if (!area_compare(owner, expected, &wrong, &first)) return false;
  return wrong == 0 || area_fail(owner, "%zu bytes of the %s are wrong, the first at %zu of %zu",
                                 wrong, name, first, expected->bytes);
}
