/* Device memory that the sources and destinations of all conversions of one size are carved from,
 * and the copy that they are compared with. Slots rotate over at least four times the cache. */
#ifndef LLRT_BENCHMARKS_ARENA_H
#define LLRT_BENCHMARKS_ARENA_H

#include "harness.h"

#include <stddef.h>

#define ARENA_POISON 0xee /* what destinations hold before a conversion */
#define ARENA_GUARD 4096  /* bytes after each slot that nothing may write */

typedef struct arena {
  size_t bytes; /* largest slot without its guard */
  size_t total; /* of each of the two areas */
  char *source, *destination;
  unsigned char *host_source, *host_result; /* bytes + ARENA_GUARD; host_source: slot 0's data */
  double copy_gb_per_s, copy_measured;      /* of `nominal` bytes; harness_now() then */
  double read_gb_per_s, read_measured;      /* the same for reading alone (read_speed.h) */
  size_t nominal;
} arena;

/* Slots of one conversion. */
typedef struct slots {
  size_t source_step, destination_step;
  int count;
} slots;

/* Memory for tensors of up to `bytes` bytes; copies move `nominal` bytes. Sources get random bits.
 */
void arena_init(harness *h, size_t bytes, size_t nominal, arena *a);
/* Gives all sources what host_source holds now, and poisons the destinations. */
void arena_upload(harness *h, arena *a);
void arena_fini(harness *h, arena *a);

slots arena_slots(const harness *h, const arena *a, size_t source_bytes, size_t destination_bytes);

/* One thing to time: queues work on slot `slot`. */
typedef struct timed {
  void (*launch)(harness *h, const struct timed *t, int slot);
  const arena *a;
  slots s;
  const void *data; /* launch's own */
} timed;

/* Microseconds of one launch: medians of batches between two events, after a warm-up. */
harness_statistic arena_measure(harness *h, const timed *t);

/* The same of the host in processor time, by turns with a copy of all of `a`; *copy: the copy's. On
 * a shared machine the least of either is what can be compared. */
harness_statistic arena_measure_by_turns(harness *h, const timed *t, harness_statistic *copy);

/* GB/s, read and written, of the device's own copy (cuMemcpyDtoDAsync; on the host memcpy by all
 * threads), measured again when the last one is five seconds old, and printed. */
double arena_copy_speed(harness *h, arena *a);

#endif
