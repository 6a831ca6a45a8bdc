/* The thread-local error slot. The slot is for people; programs read the status code. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE_BYTES 1024 /* longer messages are cut */

typedef struct error_slot {
  char message[MESSAGE_BYTES];
  int vendor_code;
} error_slot;

static _Thread_local error_slot slot;

/* Formats beside the slot first: an argument may point at the slot's own text. */
static void slot_set(int vendor_code, const char *format, va_list arguments) {
  char message[MESSAGE_BYTES];
  vsnprintf(message, sizeof message, format, arguments);
  memcpy(slot.message, message, strlen(message) + 1);
  slot.vendor_code = vendor_code;
}

llrt_status(llrt_error)(llrt_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  slot_set(0, format, arguments);
  va_end(arguments);
  return status;
}

llrt_status(llrt_error_vendor)(llrt_status status, int vendor_code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  slot_set(vendor_code, format, arguments);
  va_end(arguments);
  return status;
}

llrt_status llrt_error_prefix(llrt_status status, const char *format, ...) {
  char message[2 * MESSAGE_BYTES + 2];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, MESSAGE_BYTES, format, arguments);
  va_end(arguments);
  size_t used = strlen(message);
  snprintf(message + used, sizeof message - used, ": %s", slot.message);
  message[MESSAGE_BYTES - 1] = 0;
  memcpy(slot.message, message, strlen(message) + 1);
  return status;
}

const char *llrt_status_name(llrt_status status) {
  switch (status) {
#define STATUS_CASE(name, number, meaning) \
  case LLRT_##name:                        \
    return #name;
    LLRT_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
  }
  return "UNKNOWN";
}

const char *llrt_last_error(void) { return slot.message; }

int llrt_last_vendor_code(void) { return slot.vendor_code; }
