/* lld as a function, and as a program for when the function is spent. */
#ifndef LLRT_JIT_COMPILE_LLD_H
#define LLRT_JIT_COMPILE_LLD_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs `arguments` (n of them; the first is "ld.lld") in this process. Returns the exit code; what
 * lld said goes to message. *again: false when lld must not be called in this process any more.
 * Thread: one call at a time. */
int jit_lld_run(const char *const *arguments, int n, char *message, size_t message_size,
                bool *again);

/* The same by the program ld.lld-19; `arguments` ends in NULL. Returns -1 when it cannot be
 * started. */
int jit_lld_spawn(const char *const *arguments, char *message, size_t message_size);

#ifdef __cplusplus
}
#endif
#endif
