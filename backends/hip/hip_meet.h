/* The kernel by which ranks on AMD's GPUs wait for each other (backends/meet.h), as code objects.
 */
#ifndef LLRT_BACKENDS_HIP_MEET_H
#define LLRT_BACKENDS_HIP_MEET_H

#include <stddef.h>
#include <stdint.h>

#define HIP_MEET_ENTRY "llrt_kernel"
#define HIP_MEET_THREADS 64

typedef struct hip_meet_code {
  const char *architecture; /* "gfx90a"; NULL: there are no more */
  const uint64_t *words;
  size_t size; /* bytes */
} hip_meet_code;

extern const hip_meet_code hip_meet_codes[];

#endif
