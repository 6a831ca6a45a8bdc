/* What libllrt-emu-cuda.so and libllrt-emu-hip.so export beside the driver's functions, for tests:
 * dlopen the library that is already loaded, and dlsym the name.
 *
 * Thread: any. */
#ifndef LLRT_EMULATORS_EMU_CONTROL_H
#define LLRT_EMULATORS_EMU_CONTROL_H

#define EMU_EXPORT __attribute__((visibility("default")))

/* How work of streams is run. LLRT_EMU_STREAMS in the environment names one of them. */
typedef enum emu_mode {
  EMU_IMMEDIATE = 0, /* "immediate": in the call that queues it */
  EMU_WORKERS = 1,   /* "workers": each stream has a thread */
  EMU_LATE =
      2, /* "late": what somebody waits for is run by who waits, and nothing else: who reads what
            another stream has yet to write, and did not wait for it, finds nothing there */
  EMU_CROSSED =
      3, /* "crossed": likewise, but all that need not be waited for runs first: who writes what
            another stream has yet to read, and did not wait for it, is too early */
} emu_mode;

/* Waits for all queued work, and runs later work in this mode. */
EMU_EXPORT void llrt_emu_set_mode(emu_mode mode);

/* Calls since the last reset; a name without its version ("cuMemAlloc") is any of its versions. */
EMU_EXPORT unsigned long llrt_emu_calls(const char *name);
EMU_EXPORT void llrt_emu_calls_reset(void);

/* Of calls of this function the next one after `after` others returns `code`, without doing
 * anything; NULL: none does. */
EMU_EXPORT void llrt_emu_fail(const char *name, int code, int after);

#endif
