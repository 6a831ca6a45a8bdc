/* The steps that move a tile from the source to the destination. Private to jit/plan/convert.
 *
 *   tile_steps.c  load, maps, exchange, store, and their edges
 *   strip.c       the loop over the tiles of a strip
 *   two_loops.c   a large tile in two loops
 *   edge.c        accesses that look at bounds
 *   collect.c     stores of rows that are no powers of two, collected into whole lines
 *   in_place.c    a panel of memory that is mapped onto itself
 *   panel_vector.c  elements of such a panel that a thread stores together
 *   panel_banks.c   in what order lanes load them, and where they lie in shared memory
 */
#ifndef LLRT_JIT_PLAN_CONVERT_TILE_STEPS_H
#define LLRT_JIT_PLAN_CONVERT_TILE_STEPS_H

#include "jit/plan/draft/draft.h"

/* ---- collect.c ---- */

/* Fills d->collection where tiles of a strip together store whole lines of the destination. Needs:
 * space, bounds. */
void draft_find_collection(draft *d);

/* ---- strip.c ---- */

/* Steps that are open around a tile of a strip, outermost first. */
typedef struct draft_strip {
  int n, step[3];
} draft_strip;
/* Opens the loops over a strip's tiles and, inside, what collects their stores (d->collection).
 * Nothing is opened where a block has one tile. */
llrt_status draft_open_strip(draft *d, const draft_values *values, draft_strip *opened);
void draft_close_strip(draft *d, const draft_strip *opened);
/* Appends the PLAN_PREFETCH of an iteration, or of a turn of an inner loop of 2^inner turns.
 * Nothing where there are no strips. */
llrt_status draft_prefetch(draft *d, const draft_values *values, int inner);

/* ---- two_loops.c ---- */

/* Host: a tile of many registers in two loops, with a buffer in between. */
typedef struct draft_two_loops {
  bool used;                     /* false: the tile is moved as a whole */
  int iterations[2];             /* log2 turns of either loop */
  plan_value load, stored;       /* the first loop's value, as it is loaded and as it is left */
  plan_value loaded, store;      /* the second loop's, as it is taken up and as it is stored */
  uint64_t place[LLRT_MAX_BITS]; /* the buffer: by bit of its offset, the tile vector there */
} draft_two_loops;
llrt_status draft_plan_two_loops(draft *d, const draft_values *values, draft_two_loops *out);
/* Appends both loops. load, store: the tile's accesses; which values they move is set here. */
llrt_status draft_two_loops_steps(draft *d, const draft_values *values,
                                  const draft_two_loops *loops, plan_step load, plan_step store);

/* ---- edge.c ---- */

/* Makes a step of interior blocks one of blocks at an edge: accesses masked, as wide as masks
 * allow.
 */
void draft_mask_step(const draft *d, plan_step *step);
/* Host: whether edges move registers under masks, not single elements. */
bool draft_moves_parts(const draft *d);
/* Appends the interior's steps first .. end - 1 once more for the edge; both use the same values
 * and buffers. *done: false where that would be too much code, and nothing was appended. */
llrt_status draft_masked_steps(draft *d, int first, int end, bool *done);
/* Host: whether every tile goes beyond a bound wherever it lies, as a tile of 64 does of rows
 * of 48.
 */
bool draft_is_always_edge(const draft *d, const plan_value *tile);
/* Whether a tile should have a single body, with masked and unmasked loads and stores in it
 * (draft_single_body). */
bool draft_is_single_body(const draft *d, const draft_values *values, const draft_two_loops *loops);
/* Appends a load or store; in a single body both of it, behind a branch. inner: log2 turns of the
 * loop around it inside the strip's. */
llrt_status draft_access(draft *d, plan_step step, int inner);

/* ---- tile_steps.c ---- */

/* Appends load, maps, exchange and store of a tile, in two loops where loops->used; blocks at an
 * edge get them once more with masks. streaming: stores bypass the caches. */
llrt_status draft_tile_steps(draft *d, const draft_values *values, const draft_two_loops *loops,
                             bool streaming);

/* ---- in_place.c ---- */

/* Fills kernel.panel from the digits of a flat kernel. Errors: UNSUPPORTED with the reason. */
llrt_status draft_panel(draft *d);

/* ---- panel_vector.c ---- */

/* NVIDIA: sets kernel.panel.vector, and what that needs. Needs: the panel; places in the order of
 * the destination's memory without gaps. Errors: UNSUPPORTED where no elements are stored together.
 */
llrt_status draft_panel_vector(draft *d);
/* Elements of the source from position 0 of digit i to position 2^bit. */
int64_t draft_digit_step(const draft *d, int i, int bit);

/* ---- panel_banks.c ---- */

/* Of a kernel with such vectors: sets kernel.panel.skew and puts the panel's places behind those of
 * a vector into another order, so that lanes load from banks of their own, as far as they can. */
void draft_panel_banks(draft *d);
/* Gives the lanes of its value bits of the tile at which they do, as far as there are any. */
void draft_panel_lanes(const draft *d, plan_value *value);

#endif
