/* The error slot of this thread, and the macros that fill and forward it. */
#ifndef LLRT_BASE_STATUS_H
#define LLRT_BASE_STATUS_H

#include <llrt/status.h>

/* The public function that this thread is in, the outermost of them; NULL: none. Messages begin
 * with its name. */
extern _Thread_local const char *llrt_entry_function;

static inline const char *llrt_entry_enter(const char *function) {
  const char *outer = llrt_entry_function;
  if (!outer) llrt_entry_function = function;
  return outer;
}

static inline void llrt_entry_leave(const char *const *outer) { llrt_entry_function = *outer; }

/* The first line of every public function that can fail. */
#define LLRT_ENTRY() \
  __attribute__((cleanup(llrt_entry_leave), unused)) const char *const entry_ = \
      llrt_entry_enter(__func__)

/* What messages call the tensors of this thread's call, by their number in the operation: set while
 * a call runs whose caller gave them names (an expression's), and while a stage is planned whose
 * tensors are not the caller's own. NULL, the array or an entry: they are called by their roles. */
extern _Thread_local const char *const *llrt_entry_names;

static inline void llrt_entry_names_leave(const char *const *const *outer) {
  llrt_entry_names = *outer;
}

/* Has messages call tensors by `names` until the end of the block; the names outlive it. */
#define LLRT_ENTRY_NAMES(names) \
  __attribute__((cleanup(llrt_entry_names_leave), unused)) const char *const *const names_ = \
      llrt_entry_names; \
  llrt_entry_names = (names)

/* What llrt_last_error says, without the name of the function. */
const char *llrt_error_text(void);

/* Stores the formatted message and returns `status`: `return llrt_error(LLRT_IO, "…", …);` */
llrt_status llrt_error(llrt_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same with a driver's own code. */
llrt_status llrt_error_vendor(llrt_status status, int vendor_code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the stored message, behind the function's name; returns `status`. */
llrt_status llrt_error_prefix(llrt_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The functions above always return their first argument; as macros they let the compiler see it,
 * so that outputs after LLRT_TRY are known to be set. */
static inline llrt_status llrt_error_code(llrt_status status) { return status; }
#define llrt_error(status, ...) ((void)llrt_error(status, __VA_ARGS__), llrt_error_code(status))
#define llrt_error_vendor(status, code, ...) \
  ((void)llrt_error_vendor(status, code, __VA_ARGS__), llrt_error_code(status))

#define LLRT_TRY(expression) \
  do { \
    llrt_status try_status_ = (expression); \
    if (try_status_ != LLRT_OK) return try_status_; \
  } while (0)

/* For functions that exit once at `done:`; needs a local `status`. */
#define LLRT_GOTO(expression) \
  do { \
    status = (expression); \
    if (status != LLRT_OK) goto done; \
  } while (0)

#define LLRT_REQUIRE(condition, ...) \
  do { \
    if (!(condition)) return llrt_error(LLRT_INVALID_ARGUMENT, __VA_ARGS__); \
  } while (0)

#endif
