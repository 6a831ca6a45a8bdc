/* Sleeping until another thread of this process changes a word of memory. */
#ifndef LLRT_BASE_FUTEX_H
#define LLRT_BASE_FUTEX_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(atomic_uint) == sizeof(uint32_t), "a futex is a word of 32 bits");

/* Returns when somebody wakes this word, at once if it is not `seen`, and now and then for no
 * reason. */
static inline void llrt_futex_wait(atomic_uint *word, unsigned seen) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

/* Wakes one thread that waits for the word, which need not be there any more. */
static inline void llrt_futex_wake(atomic_uint *word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Lets the other thread of this core go first, in a loop that waits without sleeping. */
static inline void llrt_spin_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

#endif
