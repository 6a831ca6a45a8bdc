/* See emu_fault.h. */
#include "emulators/common/emu_fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool emu_fault_set(emu_fault *fault, emu_fault_kind kind, const char *format, ...) {
  va_list arguments;
  memset(fault, 0, sizeof *fault);
  fault->kind = kind;
  fault->line = fault->plan_step = fault->lane = fault->warp = EMU_NOWHERE;
  fault->block = EMU_NOWHERE;
  va_start(arguments, format);
  vsnprintf(fault->message, sizeof fault->message, format, arguments);
  va_end(arguments);
  return false;
}

static const char *kind_name(emu_fault_kind kind) {
  static const char *const names[] = {[EMU_OK] = "no fault",
                                      [EMU_UNKNOWN] = "unknown instruction",
                                      [EMU_OUT_OF_RANGE] = "access out of range",
                                      [EMU_MISALIGNED] = "misaligned access",
                                      [EMU_UNDEFINED] = "undefined value",
                                      [EMU_RACE] = "race",
                                      [EMU_BARRIER] = "barrier",
                                      [EMU_NOT_WAITED] = "missing wait",
                                      [EMU_LIMIT] = "limit"};
  return names[kind];
}

static size_t append_number(char *text, size_t size, size_t used, const char *name, int64_t value) {
  if (value == EMU_NOWHERE || used >= size) return used;
  int n = snprintf(text + used, size - used, ", %s %lld", name, (long long)value);
  return used + (size_t)n;
}

void emu_fault_print(const emu_fault *fault, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "%s: %s", kind_name(fault->kind), fault->message);
  if (fault->has_address && used < size) {
    used += (size_t)snprintf(text + used, size - used, ", address 0x%llx",
                             (unsigned long long)fault->address);
  }
  used = append_number(text, size, used, "block", fault->block);
  used = append_number(text, size, used, "warp", fault->warp);
  used = append_number(text, size, used, "lane", fault->lane);
  used = append_number(text, size, used, "line", fault->line);
  used = append_number(text, size, used, "plan step", fault->plan_step);
  if (fault->instruction[0] && used < size) {
    snprintf(text + used, size - used, ": %s", fault->instruction);
  }
}
