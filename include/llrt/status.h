/* Status codes and the last error's text. */
#ifndef LLRT_STATUS_H
#define LLRT_STATUS_H

#include <llrt/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, number, meaning). Numbers are part of the ABI and never change; families go in tens:
 * 10 the caller, 20 what cannot be done, 30 the surroundings, 40 the device, 90 llrt itself. */
#define LLRT_STATUS_LIST(X) \
  X(OK, 0, "done") \
  X(INVALID_ARGUMENT, 10, "an argument is wrong, whatever the device") \
  X(OUT_OF_CLASS, 11, "the tensors break a promise that the operation was made under") \
  X(NOT_PREPARED, 12, "a compile would be needed during stream capture") \
  X(UNSUPPORTED, 20, "llrt or this device cannot do it") \
  X(UNAVAILABLE, 30, "a library or device is absent") \
  X(OUT_OF_MEMORY, 31, "an allocation failed") \
  X(IO, 32, "a file could not be read or written") \
  X(CORRUPT, 33, "saved bytes are damaged or of another version") \
  X(DEVICE, 40, "a driver call failed") \
  X(COMPILE, 41, "code generation or linking failed") \
  X(INTERNAL, 90, "a defect of llrt")

typedef enum llrt_status {
#define LLRT_STATUS_ENUM(name, number, meaning) LLRT_##name = number,
  LLRT_STATUS_LIST(LLRT_STATUS_ENUM)
#undef LLRT_STATUS_ENUM
} llrt_status;

/* Returns the code's name ("INVALID_ARGUMENT"), or "UNKNOWN". Static text.
 * Thread: any. */
LLRT_API const char *llrt_status_name(llrt_status status);

/* Returns what the most recent failing llrt call on this thread said: one line of UTF-8, for
 * people, which begins with the function's name ("llrt_convert_into: the source is NULL"); what
 * cannot be shown of names and texts that it quotes stands there as \xNN. Never NULL; empty when no
 * call failed yet. Valid until the next failing call on this thread. A call that succeeds leaves it
 * alone. Thread: any; each thread has its own. */
LLRT_API const char *llrt_last_error(void);

/* Returns the driver's own code behind the last error of this thread (CUresult, hipError_t, errno),
 * or 0. Thread: any. */
LLRT_API int llrt_last_vendor_code(void);

#ifdef __cplusplus
}
#endif
#endif
