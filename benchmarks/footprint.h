/* What a tensor with gaps touches of memory, and a kernel that copies just that: the least that a
 * conversion of it can take, whatever else it does. Gaps are what a storage leaves to others:
 * scales beside values in one record. */
#ifndef LLRT_BENCHMARKS_FOOTPRINT_H
#define LLRT_BENCHMARKS_FOOTPRINT_H

#include "arena.h"
#include "conversion.h"

/* `run` bytes every `pitch` bytes, `runs` times; that every `group` bytes; the first at `first`. In
 * all `bytes`. */
typedef struct footprint {
  int64_t first, run, pitch, runs, group, bytes;
  int64_t sectors, partial; /* of 32 bytes: touched, and touched in part */
} footprint;

/* Of one side of the conversion (0: source). False where the tensor is no such pattern. Needs as
 * many bytes at `scratch` as the side has. */
bool footprint_of(const conversion *c, int side, unsigned char *scratch, footprint *out);

/* Where byte i of those that it touches lies. */
int64_t footprint_byte(const footprint *f, int64_t i);

/* Microseconds of a copy that reads the one and writes the other, each byte once, neighbours by
 * neighbouring threads, in accesses as wide as both allow (footprint_copy.c), on the host run by
 * run (footprint_host.c); false where the device is neither it nor one of NVIDIA's, or the sizes
 * differ. Compared first; `of` has the slots. */
bool footprint_measure(harness *h, const arena *a, const timed *of, const footprint side[2],
                       harness_statistic *s);
bool footprint_measure_host(harness *h, const arena *a, const timed *of, const footprint side[2],
                            harness_statistic *s);

#endif
