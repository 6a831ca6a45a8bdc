/* The floating-point mode of a thread: rounding, what is flushed to zero, which exceptions trap,
 * and which have been. Results must not depend on how a caller has set it, and the caller must not
 * see that anything was computed. */
#ifndef LLRT_BASE_FLOAT_MODE_H
#define LLRT_BASE_FLOAT_MODE_H

#include <stdint.h>

typedef struct llrt_float_mode {
  uint64_t control, flags;
} llrt_float_mode;

#if defined(__x86_64__)

enum {
  LLRT_MXCSR_DEFAULT = 0x1f80
}; /* as the psABI has it at a process's start: all exceptions masked */

/* Sets the mode of a fresh thread; returns the one before. A write of the register costs tens of
 * cycles, a read none. */
static inline llrt_float_mode llrt_float_mode_enter(void) {
  llrt_float_mode before = {.control = __builtin_ia32_stmxcsr()};
  if (before.control != LLRT_MXCSR_DEFAULT) __builtin_ia32_ldmxcsr(LLRT_MXCSR_DEFAULT);
  return before;
}

/* Sets what enter returned. */
static inline void llrt_float_mode_leave(llrt_float_mode before) {
  if (__builtin_ia32_stmxcsr() != before.control) __builtin_ia32_ldmxcsr((unsigned)before.control);
}

#elif defined(__aarch64__)

static inline llrt_float_mode llrt_float_mode_enter(void) {
  llrt_float_mode before;
  __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(before.control), "=r"(before.flags));
  __asm__ volatile("msr fpcr, %0" : : "r"(UINT64_C(0)) : "memory");
  return before;
}

static inline void llrt_float_mode_leave(llrt_float_mode before) {
  __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1"
                   :
                   : "r"(before.control), "r"(before.flags)
                   : "memory");
}

#else

static inline llrt_float_mode llrt_float_mode_enter(void) { return (llrt_float_mode){0}; }
static inline void llrt_float_mode_leave(llrt_float_mode before) { (void)before; }

#endif
#endif
