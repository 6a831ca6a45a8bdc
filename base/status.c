/* The thread-local error slot. The slot is for people; programs read the status code. */
#include "base/status.h"

#include "base/escape.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE_BYTES 1024 /* longer messages are cut */

typedef struct error_slot {
  char message[MESSAGE_BYTES];
  size_t text; /* where the message begins behind the function's name */
  int vendor_code;
} error_slot;

static _Thread_local error_slot slot;
_Thread_local const char *llrt_entry_function;
_Thread_local const char *const *llrt_entry_names;

/* Formats beside the slot first: an argument may point at the slot's own text. */
static void slot_set(int vendor_code, const char *format, va_list arguments) {
  char message[MESSAGE_BYTES];
  vsnprintf(message, sizeof message, format, arguments);
  slot.text = 0;
  if (llrt_entry_function)
    slot.text = (size_t)snprintf(slot.message, sizeof slot.message, "%s: ", llrt_entry_function);
  llrt_escape(message, slot.message + slot.text, sizeof slot.message - slot.text);
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
  char prefix[MESSAGE_BYTES], text[MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(prefix, sizeof prefix, format, arguments);
  va_end(arguments);
  memcpy(text, slot.message + slot.text, strlen(slot.message + slot.text) + 1);
  size_t used = slot.text, size = sizeof slot.message;
  used += llrt_escape(prefix, slot.message + used, size - used);
  used += llrt_escape(": ", slot.message + used, size - used);
  llrt_escape(text, slot.message + used, size - used);
  return status;
}

const char *llrt_status_name(llrt_status status) {
  switch (status) {
#define STATUS_CASE(name, number, meaning) \
  case LLRT_##name: return #name;
    LLRT_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
  }
  return "UNKNOWN";
}

const char *llrt_last_error(void) { return slot.message; }

const char *llrt_error_text(void) { return slot.message + slot.text; }

int llrt_last_vendor_code(void) { return slot.vendor_code; }
