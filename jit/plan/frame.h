/* A value's layout as bare vectors of tile coordinates, for the exchange planners. Lanes that hold
 * copies stand for directions outside the tile, so that a frame is always a basis. */
#ifndef LLRT_JIT_PLAN_FRAME_H
#define LLRT_JIT_PLAN_FRAME_H

#include "jit/plan/access.h"
#include "layout/f2.h"

#define FRAME_MAX_REGISTERS 24
#define FRAME_MAX_LANES 8
#define FRAME_MAX_WARPS 8

typedef struct frame {
  int word, n_registers, n_lanes, n_warps, tile_bits;
  int iterations; /* tile bits that a loop numbers */
  int cluster; /* the highest warps are blocks of a cluster */
  uint64_t registers[FRAME_MAX_REGISTERS];
  uint64_t lanes[FRAME_MAX_LANES];
  uint64_t warps[FRAME_MAX_WARPS];
} frame;

void frame_of_value(const plan_value *value, frame *out);

/* Both sides of an exchange: lanes that hold copies before and after stand for the same directions. */
void frame_of_values(const plan_value *in, const plan_value *out, frame *from, frame *to);

/* The value with `from`'s warps and iterations and this frame's registers, of which there may be fewer or more,
 * and lanes. */
void frame_to_value(const frame *f, const plan_value *from, plan_value *out);

bool frame_equal(const frame *a, const frame *b);

/* Coordinates of a tile vector: registers from bit 0, then lanes, then warps. */
uint64_t frame_coordinates(const frame *f, uint64_t x);

/* `from` with its registers on another basis of the same span: first the word of `to`, then registers
 * of `to` as far as they are in the span, then from's own, freed of that word. False when to's word is
 * not in the span. */
bool frame_rebase(const frame *from, const frame *to, frame *out);

/* shuffle.c: the rounds from one frame to another within a warp; each is one PLAN_SHUFFLE. Returns the
 * number of rounds, or -1 where whole words cannot make it. rounds has FRAME_MAX_LANES + 1 entries; the
 * last is *to. chunk: log2 lanes within which the target interleaves registers at the cost of one
 * instruction; 0: none. Precondition: same word. */
int shuffle_rounds(const frame *from, const frame *to, int chunk, frame *rounds);

/* rename.c: the PLAN_REGISTERS steps from one frame to another of equal lanes. Returns how many; rounds
 * has FRAME_MAX_RENAMES entries and the last is *to. */
#define FRAME_MAX_RENAMES 4
int rename_rounds(const frame *from, const frame *to, frame *rounds);

/* packed.c: the way from one frame to another where a word is two elements: shuffles of words lead from
 * `from` to `before` and from `after` to `to`, PLAN_REGISTERS from `before` to `after`. Three registers are
 * always enough; false when it takes more than there are. */
bool packed_middle(const frame *from, const frame *to, frame *before, frame *after);
/* exchange_matrix.c: the matrices of a side that moves them; `taken`: registers that cannot number any. */
void frame_matrix(const frame *f, int element_bits, plan_matrix_kind kind, uint64_t taken,
                  plan_matrix *out);

/* What both sides of a buffer agree on where at least one moves matrices (plan_matrix_kind; 0 stores, 1
 * loads): the 16 bytes of a row. `lead` is a side that moves matrices. */
typedef struct swizzle_rows {
  uint8_t matrix[2];
  int lead, n;
  uint64_t at[8];
} swizzle_rows;

/* Finds rows for the kinds in rows->matrix, and both sides with their registers on a basis of the same span
 * that begins with what they have of a row. False where matrices do not divide the sides. */
bool frame_fit_rows(const frame *from, const frame *to, int element_bits, swizzle_rows *rows,
                    frame fitted[2]);

/* copies.c: the frames on the way to one in which lanes that hold copies have taken a register above the word,
 * one a step; each step from `f` on is one PLAN_SHUFFLE, and so is each step back. Copies that `other` has as
 * well are left where !kept. *all: no other copies are left. Returns the number of steps, FRAME_MAX_LANES at most. */
int frame_fill_copies(const frame *f, const frame *other, bool kept, frame *steps, bool *all);

/* word_swap.c: the frames on the way to one whose word has those vectors of to's word that were lanes, one a
 * step, each a PLAN_SHUFFLE. Returns the number of steps, at most a word's bits. */
int frame_swap_words(const frame *from, const frame *to, int element_bits, frame *steps);

/* word_turn.c: `from` with the word of `to` formed (*based), and with lanes that have no part in it (*turned): a PLAN_SHUFFLE
 * from the former. False where lanes have none, or the word is not in the registers. */
bool frame_turn_words(const frame *from, const frame *to, int element_bits, frame *based, frame *turned);

/* swizzle.c: a shared buffer through which `from` becomes `to`, in 2^rep_bits repetitions where the tile
 * is larger than shared memory; vector: log2 elements of an access of either side. The cheapest of a few
 * candidates by exact count. held: bytes that a buffer may take whole, without parts for the sake of more blocks. Errors: UNSUPPORTED
 * where the tile does not fit. */
typedef struct swizzle {
  plan_buffer buffer;
  int vector[2], rep_bits;
} swizzle;
/* The buffer with rows as frame_fit_rows found them; *found: false where a matrix or a byte would be torn. */
llrt_status swizzle_plan_rows(const plan_target *target, int held, int element_bits, const frame *from,
                              const frame *to, const swizzle_rows *rows, swizzle *out, bool *found);
llrt_status swizzle_plan(const plan_target *target, int held, int element_bits, const frame *from,
                         const frame *to, swizzle *out);

#endif
