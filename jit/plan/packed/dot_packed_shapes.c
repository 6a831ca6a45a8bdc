/* See dot_packed_shapes.h. */
#include "jit/plan/packed/dot_packed_shapes.h"

#include "jit/plan/types/target.h"

/* Limits of `columns`: the widest D whose blocks all run at once on PLAN_MEASURED_UNITS
 * multiprocessors.
 * - ALL_AT_ONCE: one block of 64 columns a multiprocessor, two in a cluster that share 128 columns,
 *   or two blocks of 32 a multiprocessor.
 * - FOUR_AT_ONCE: four blocks in a cluster, or beside each other, that share 128 columns.
 * - CLUSTERS_OF_FOUR: the same in clusters of four, of which fewer are resident at once.
 * Unmeasured, from 97871d3 and 3962207. */
#define ALL_AT_ONCE (PLAN_MEASURED_UNITS / 2 << 7)
#define FOUR_AT_ONCE 4096
#define CLUSTERS_OF_FOUR 3584

/* log2 positions of M, N, K, and log2 warps along N and K. */
#define TILE(m_, n_, k_, n_warps, k_warps) .m = m_, .n = n_, .k = k_, .warps = {0, n_warps, k_warps}

#define GROUPS .warpgroups = true

/* Blocks of which four warps only copy and warpgroups multiply; one is resident. */
#define PRODUCED .resident = 1, .producers = 4, .warpgroups = true

/* The same with one warpgroup that multiplies: two blocks are resident, so that one decodes while
 * the other one's products are under way. */
#define PAIR .resident = 2, .producers = 4, .warpgroups = true

static const packed_shape warp_shapes[] = {
    {.rows = 8, TILE(3, 5, 6, 0, 3), .slots = 4, .resident = 2},
    {.rows = 16, TILE(4, 6, 6, 1, 3), .slots = 4, .resident = 1},
    {.rows = 32, TILE(5, 6, 6, 1, 3), .slots = 4, .resident = 1},
    {.rows = 64, TILE(6, 7, 7, 2, 2), .cluster = 1, .slots = 4, .resident = 1},
    {.rows = 128, TILE(7, 7, 6, 2, 2), .cluster = 1, .slots = 4, .resident = 1},
    {TILE(7, 7, 6, 2, 1), .slots = 4, .resident = 1},
};
static const packed_shape table_shapes[] = {
    {.rows = 8, .columns = ALL_AT_ONCE, TILE(3, 5, 7, 0, 2), .slots = 4, .resident = 2},
    {.rows = 8, TILE(3, 5, 7, 0, 2), .slots = 3, .resident = 4},
    {.rows = 16, .columns = ALL_AT_ONCE, TILE(4, 5, 7, 0, 2), .slots = 4, .resident = 2},
    {.rows = 16, TILE(4, 5, 6, 0, 2), .slots = 4, .resident = 4},
    {.rows = 32, .columns = CLUSTERS_OF_FOUR, TILE(5, 5, 7, 0, 2), .slots = 4, .resident = 2},
    {.rows = 32,
     .columns = FOUR_AT_ONCE,
     TILE(5, 6, 7, 2, 2),
     .cluster = 1,
     .slots = 6,
     .resident = 1,
     GROUPS},
    {.rows = 32, .columns = ALL_AT_ONCE, TILE(5, 6, 7, 2, 1), .slots = 8, .resident = 1, GROUPS},
    {.rows = 32, TILE(5, 6, 7, 2, 1), .slots = 4, .resident = 2, GROUPS},
    {.rows = 64,
     .columns = FOUR_AT_ONCE,
     TILE(6, 6, 7, 2, 2),
     .cluster = 1,
     .slots = 4,
     .resident = 1,
     GROUPS},
    {.rows = 64, .columns = ALL_AT_ONCE, TILE(6, 6, 6, 2, 2), .slots = 4, .resident = 1, GROUPS},
    {.rows = 64, TILE(6, 7, 7, 3, 0), .slots = 8, PRODUCED},
    {.rows = 128,
     .columns = CLUSTERS_OF_FOUR,
     TILE(7, 7, 7, 3, 2),
     .cluster = 2,
     .slots = 4,
     PRODUCED},
    {.rows = 128, .columns = FOUR_AT_ONCE, TILE(6, 7, 7, 3, 1), .cluster = 1, .slots = 8, PRODUCED},
    {.rows = 128, .columns = ALL_AT_ONCE, TILE(7, 7, 7, 3, 1), .cluster = 1, .slots = 4, PRODUCED},
    {.rows = 128, TILE(7, 7, 7, 3, 0), .slots = 4, PRODUCED},
    {.rows = 256, .columns = FOUR_AT_ONCE, TILE(7, 7, 7, 3, 1), .cluster = 1, .slots = 4, PRODUCED},
    {.rows = 256, .columns = ALL_AT_ONCE, TILE(8, 7, 6, 3, 1), .cluster = 1, .slots = 4, PRODUCED},
    {.rows = 512, .columns = FOUR_AT_ONCE, TILE(7, 7, 7, 3, 0), .slots = 4, PRODUCED},
    {.columns = CLUSTERS_OF_FOUR, .rounds = true, TILE(8, 7, 6, 3, 0), .slots = 4, PRODUCED},
    {TILE(8, 7, 6, 3, 0), .slots = 4, PRODUCED},
};
static const packed_shape narrow_shapes[] = {
    {.rows = 32, TILE(5, 5, 6, 0, 3), .slots = 4, .resident = 1},
    {.rows = 64, TILE(6, 7, 7, 3, 1), .cluster = 1, .slots = 4, PRODUCED},
};

/* Tiles of 16 and 32 columns by warps, of 64 by warpgroups that copy, of 128 and 64 with producers;
 * of 64 two warpgroups share K, or two blocks are beside each other. Narrow
 * ones spread few columns over more multiprocessors; each block reads all rows, so of more rows
 * wide ones are fewer bytes. */
static const packed_shape tiles[] = {
    {TILE(3, 5, 7, 0, 2), .slots = 4, .resident = 2},
    {TILE(3, 5, 7, 0, 2), .slots = 3, .resident = 4},
    {TILE(3, 5, 7, 0, 3), .cluster = 1, .slots = 4, .resident = 2},
    {TILE(3, 5, 7, 0, 4), .cluster = 2, .slots = 4, .resident = 2},
    {TILE(3, 4, 7, 0, 2), .slots = 4, .resident = 4},
    {TILE(3, 4, 7, 0, 3), .cluster = 1, .slots = 4, .resident = 2},
    {TILE(3, 4, 7, 0, 4), .cluster = 2, .slots = 4, .resident = 2},
    {TILE(4, 4, 7, 0, 2), .slots = 4, .resident = 2},
    {TILE(4, 4, 7, 0, 4), .cluster = 2, .slots = 4, .resident = 2},
    {TILE(4, 5, 7, 0, 2), .slots = 4, .resident = 2},
    {TILE(4, 5, 6, 0, 2), .slots = 4, .resident = 4},
    {TILE(4, 5, 7, 0, 3), .cluster = 1, .slots = 4, .resident = 2},
    {TILE(5, 5, 6, 0, 2), .slots = 4, .resident = 4},
    {TILE(5, 5, 7, 0, 3), .cluster = 1, .slots = 4, .resident = 2},
    {TILE(4, 6, 7, 2, 1), .slots = 4, .resident = 2, GROUPS},
    {TILE(5, 6, 7, 2, 1), .slots = 8, .resident = 1, GROUPS},
    {TILE(5, 6, 7, 2, 1), .slots = 4, .resident = 2, GROUPS},
    {TILE(5, 6, 7, 2, 2), .cluster = 1, .slots = 6, .resident = 1, GROUPS},
    {TILE(5, 6, 7, 2, 4), .cluster = 3, .slots = 6, .resident = 1, GROUPS},
    {TILE(6, 6, 7, 2, 1), .slots = 4, .resident = 1, GROUPS},
    {TILE(6, 6, 7, 2, 2), .cluster = 1, .slots = 4, .resident = 1, GROUPS},
    {TILE(4, 7, 7, 3, 1), .cluster = 1, .slots = 8, PRODUCED},
    {TILE(5, 7, 7, 3, 0), .slots = 8, PRODUCED},
    {TILE(5, 7, 7, 3, 0), .slots = 8, PRODUCED, .rounds = true},
    {TILE(5, 7, 7, 3, 1), .cluster = 1, .slots = 8, PRODUCED},
    {TILE(5, 7, 7, 3, 2), .cluster = 2, .slots = 8, PRODUCED},
    {TILE(6, 7, 7, 3, 0), .slots = 8, PRODUCED},
    {TILE(6, 7, 7, 3, 0), .slots = 8, PRODUCED, .rounds = true},
    {TILE(6, 7, 7, 3, 1), .cluster = 1, .slots = 8, PRODUCED},
    {TILE(6, 7, 7, 3, 2), .cluster = 2, .slots = 8, PRODUCED},
    {TILE(6, 7, 7, 3, 3), .cluster = 3, .slots = 8, PRODUCED},
    {TILE(6, 7, 7, 3, 0), .slots = 8, PRODUCED, .deal = true},
    {TILE(7, 7, 7, 3, 0), .slots = 4, .own = 80, PRODUCED},
    {TILE(7, 7, 7, 3, 0), .slots = 4, .own = 96, PRODUCED, .rounds = true},
    {TILE(7, 7, 7, 3, 0), .slots = 4, .own = 112, PRODUCED, .rounds = true},
    {TILE(7, 7, 7, 3, 0), .slots = 4, PRODUCED},
    {TILE(7, 7, 7, 3, 0), .slots = 4, PRODUCED, .rounds = true},
    {TILE(7, 7, 7, 3, 0), .slots = 4, PRODUCED, .deal = true},
    {TILE(7, 7, 7, 3, 1), .cluster = 1, .slots = 4, .own = 80, PRODUCED},
    {TILE(7, 7, 7, 3, 1), .cluster = 1, .slots = 4, .own = 96, PRODUCED},
    {TILE(7, 7, 7, 3, 1), .cluster = 1, .slots = 4, .own = 112, PRODUCED},
    {TILE(7, 7, 7, 3, 1), .cluster = 1, .slots = 4, PRODUCED},
    {TILE(7, 7, 7, 3, 2), .cluster = 2, .slots = 4, PRODUCED},
    {TILE(7, 7, 7, 3, 3), .cluster = 3, .slots = 4, PRODUCED},
    {TILE(8, 7, 6, 3, 0), .slots = 4, PRODUCED},
    {TILE(8, 7, 6, 3, 0), .slots = 4, PRODUCED, .rounds = true},
    {TILE(8, 7, 6, 3, 0), .slots = 4, PRODUCED, .deal = true},
    {TILE(8, 7, 6, 3, 0), .slots = 4, .own = 176, PRODUCED, .rounds = true},
    {TILE(8, 7, 6, 3, 0), .slots = 4, .own = 208, PRODUCED, .rounds = true},
    {TILE(8, 7, 6, 3, 0), .slots = 4, .own = 160, PRODUCED, .rounds = true},
    {TILE(8, 7, 6, 3, 0), .slots = 4, .own = 192, PRODUCED, .rounds = true},
    {TILE(8, 7, 6, 3, 0), .slots = 4, .own = 224, PRODUCED, .rounds = true},
    {TILE(8, 7, 6, 3, 0), .slots = 4, .own = 240, PRODUCED, .rounds = true},
    {TILE(7, 6, 6, 2, 1), .slots = 6, PRODUCED},
    {TILE(6, 6, 7, 2, 2), .cluster = 2, .slots = 4, PAIR},
    {TILE(8, 6, 6, 2, 0), .slots = 4, .own = 144, PAIR},
};

#define LIST(shapes) {shapes, (int)(sizeof shapes / sizeof *shapes)}

const packed_shape_list packed_tiles = LIST(tiles);
const packed_shape_list packed_warp_shapes = LIST(warp_shapes);
const packed_shape_list packed_table_shapes = LIST(table_shapes);
const packed_shape_list packed_narrow_shapes = LIST(narrow_shapes);
