/* Scans of one tile in given layouts, and what they must give. */
#ifndef LLRT_TESTS_PLAN_SCAN_TILES_H
#define LLRT_TESTS_PLAN_SCAN_TILES_H

#include "jit/probe/plan_tile.h"

/* The distributed layouts under test: families, slices of them, copies, literal and random ones. */
int scan_layout_count(void);
const char *scan_layout_make(int i, llrt_layout *layout);

/* The ways to scan: combiner, type, exclusive, reverse. `axis` is the caller's. */
int scan_way_count(void);
plan_tile_scan scan_way(int i, int axis);

/* n elements of the scan's type that tell wrong orders apart and sum up exactly. */
void scan_fill(const plan_tile_scan *scan, void *elements, int64_t n);

/* Tiles of the layout's flattened coordinates, scanned one position after the other. */
void scan_reference(const llrt_layout *layout, const plan_tile_scan *scan, const void *from,
                    void *to, int64_t tiles);

#endif
