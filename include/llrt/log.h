/* The log: what a context does, told to the program's function and to the person who runs the
 * program.
 *
 * The program gives a context a function and a level (llrt_context_params). The person sets
 * LLRT_LOG=LEVEL[:FILE] in the environment (docs/logging.md): off, error, warning, info or verbose;
 * FILE a path to append to, in which %p is the process's number, or stdout or stderr, which it is
 * without. The two know nothing of each other. The variable is the one reason for which the library
 * prints; it is read when a context is created, and ignored in set-user-ID programs.
 *
 * A message is one line of UTF-8: a word that says what happened and "key=value" fields, parted by
 * blanks. A field's value has no blanks, or stands in double quotes. Fields may be added in later
 * versions, behind those that are there. */
#ifndef LLRT_LOG_H
#define LLRT_LOG_H

#include <llrt/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each has those above it, too. Numbers are part of the ABI. */
typedef enum llrt_log_level {
  LLRT_LOG_DEFAULT = 0, /* in params: INFO */
  LLRT_LOG_OFF = 1,
  LLRT_LOG_ERROR =
      2, /* a call on a device failed, whose status says so as well; or work behind calls did */
  LLRT_LOG_WARNING = 3, /* the call did what was asked, but not as it was meant to */
  LLRT_LOG_INFO = 4,    /* what happens seldom: contexts, devices, compiles */
  LLRT_LOG_VERBOSE =
      5 /* every launch, with its time. Launches that are not captured are waited for */
} llrt_log_level;

/* Takes a message, which lives for the call. Called from any thread, from several at once, while
 * calls of the library are going on: it must not call the library with anything of this context. */
typedef void llrt_log_function(void *user, llrt_log_level level, const char *message);

/* The level's name: "error", "warning", "info", "verbose", "off"; "default". Static text. Thread:
 * any. */
LLRT_API const char *llrt_log_level_name(llrt_log_level level);

#ifdef __cplusplus
}
#endif
#endif
