/* Calls of an emulated driver: how often each function was called, and calls that fail on demand.
 * The functions below are exported by the driver libraries, for tests that look (emu_control.h).
 *
 * Thread: any. */
#ifndef LLRT_EMULATORS_EMU_CALLS_H
#define LLRT_EMULATORS_EMU_CALLS_H

#include <stdatomic.h>

typedef struct emu_call {
  const char *name;
  struct emu_call *next; /* of those that were called */
  atomic_bool known;
  atomic_ulong count;
} emu_call;

/* Counts a call. What it returns is 0, or the error that a test has asked for. */
int emu_call_enter(emu_call *call);

/* At the beginning of each function of a driver. */
#define EMU_ENTER(function) \
  do { \
    static emu_call entered = {.name = #function}; \
    int emu_error = emu_call_enter(&entered); \
    if (emu_error) return emu_error; \
  } while (0)

#endif
