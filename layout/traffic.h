/* Counting memory traffic from the addresses of a warp's lanes: the one place that knows what a
 * sector, a wavefront and a bank conflict are, asked by the planner, its interpreter and questions
 * about layouts. Pure functions. */
#ifndef LLRT_LAYOUT_TRAFFIC_H
#define LLRT_LAYOUT_TRAFFIC_H

#include <stdint.h>

#define TRAFFIC_MAX_LANES 64

/* The address of a lane that takes no part. */
#define TRAFFIC_NONE ((int64_t)-1)

/* Distinct sectors of `sector_bytes` that n accesses of `bytes` bytes at these byte addresses
 * touch. n <= TRAFFIC_MAX_LANES. */
int traffic_sectors(const int64_t *address, int n, int bytes, int sector_bytes);

/* Shared-memory wavefronts of one instruction: lanes are served in order, as many at a time as
 * fill all banks once; each such phase takes as many wavefronts as its worst bank has distinct
 * words. Addresses may be TRAFFIC_NONE. */
int traffic_wavefronts(const int64_t *address, int n, int bytes, int banks, int bank_bytes);

#endif
