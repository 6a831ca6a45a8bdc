/* A kernel that reads memory of a CUDA device and keeps nothing, by loads of 16 bytes, eight under
 * way in a thread: what reductions are compared with. */
#ifndef LLRT_BENCHMARKS_BARE_READ_H
#define LLRT_BENCHMARKS_BARE_READ_H

#include "harness.h"
#include "ptx_kernel.h"

typedef struct bare_read {
  harness *h;
  ptx_kernel *kernel;
  void *result;  /* of the device: a word that hardly any launch writes */
  unsigned want; /* a thread with this XOR of its words writes its number there */
} bare_read;

void bare_read_begin(harness *h, bare_read *r);
void bare_read_end(bare_read *r);

/* What reading so many bytes reads: whole blocks. */
size_t bare_read_bytes(size_t bytes);

/* Queues the reading of memory that has bare_read_bytes(bytes). */
void bare_read_launch(const bare_read *r, const void *data, size_t bytes);

/* Ends the program unless the kernel's loads happen. host: the memory's bytes, not all the same. */
void bare_read_check(bare_read *r, const void *data, const unsigned char *host, size_t bytes);

#endif
