/* What a plan has to be: an error where it is not. */
#ifndef LLRT_JIT_PLAN_KERNEL_PLAN_CHECK_H
#define LLRT_JIT_PLAN_KERNEL_PLAN_CHECK_H

#include "base/status.h"

/* Returns INTERNAL with the message unless the condition holds. */
#define CHECK(condition, ...) \
  do { \
    if (!(condition)) return llrt_error(LLRT_INTERNAL, "plan: " __VA_ARGS__); \
  } while (0)

#endif
