/* A compiler library that tells what it was given and what it made: libllrt-jit.so's interface,
 * compiled from the same code, and besides the digests of all kernels since they were last asked
 * for. A context that has its path as jit_library compiles through it; who wants the digests opens
 * it, too, and finds LLRT_DIGEST_TAKE by dlsym. */
#ifndef LLRT_TESTS_DIGEST_OBSERVER_H
#define LLRT_TESTS_DIGEST_OBSERVER_H

#include <stdint.h>

typedef struct digest_sums {
  int kernels;
  uint64_t plan, ir, object; /* of all kernels in the order in which they were compiled; ir is
                                before LLVM's passes */
} digest_sums;

/* memory_fail and memory_asked (base/memory.h) of the compiler's library, for tests of faults. */
#define LLRT_DIGEST_FAIL "llrt_digest_fail"
#define LLRT_DIGEST_ASKED "llrt_digest_asked"

#define LLRT_DIGEST_TAKE "llrt_digest_take"
#define LLRT_DIGEST_LLVM "llrt_digest_llvm"

/* What was compiled since the last call. Thread: as compiles, one at a time. */
typedef void llrt_digest_take_fn(digest_sums *sums);
/* LLVM's version; behind it "+lines" where kernels have lines of the plan (LLRT_EMIT_LOCATIONS). */
typedef const char *llrt_digest_llvm_fn(void);

#endif
