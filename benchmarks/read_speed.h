/* How fast a device's memory can be read: what reductions are compared with. */
#ifndef LLRT_BENCHMARKS_READ_SPEED_H
#define LLRT_BENCHMARKS_READ_SPEED_H

#include "arena.h"

/* GB/s of reading the arena's nominal bytes, rounded up to whole blocks, and keeping nothing: on a
 * CUDA device by a kernel of 16-byte loads, eight under way in a thread, whose loads are checked to
 * have happened; on the host by all threads. Measured again when the last one is five seconds old,
 * and printed. */
double read_speed(harness *h, arena *a);

#endif
