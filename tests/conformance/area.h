/* Memory on the host with its double on the device, for cases that the conformance suite checks
 * byte by byte. */
#ifndef LLRT_TESTS_CONFORMANCE_AREA_H
#define LLRT_TESTS_CONFORMANCE_AREA_H

#include <llrt/llrt.h>

/* Where a case runs, and where it says what went wrong. */
typedef struct area_owner {
  llrt_device *device;
  char *why;
  size_t why_size;
} area_owner;

/* False, with the formatted reason in why. */
bool area_fail(const area_owner *owner, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define AREA_CHECK(owner, call) \
  do { \
    if ((call) != LLRT_OK) return area_fail(owner, "%s: %s", #call, llrt_last_error()); \
  } while (0)

typedef struct area {
  size_t bytes;
  uint8_t *bits;   /* on the host */
  uint8_t *memory; /* on the device */
} area;

/* Zeroed on the host, unwritten on the device; to be freed in any event. */
bool area_make(const area_owner *owner, size_t bytes, area *made);
void area_free(const area_owner *owner, area *gone);
bool area_send(const area_owner *owner, const area *from);
/* Sends everything once more that was sent and is not freed, as the host has it. */
bool area_send_again(const area_owner *owner);
/* How many bytes of the device's are not the host's, and the first of them; false where they cannot
 * be read. */
bool area_compare(const area_owner *owner, const area *expected, size_t *wrong, size_t *first);
/* Whether the device has what the host has. */
bool area_same(const area_owner *owner, const area *expected, const char *name);

#endif
