/* A plan: what a kernel does, as data. Planning needs no LLVM; emission needs nothing but this. Its parts stand in
 * plan_space.h (coordinates, addresses), plan_step.h (values, steps) and plan_block.h (what a block walks and keeps).
 *
 * Coordinates. A kernel sees the tensors as one list of logical *digits*: the common
 * refinement of all storages. A digit holds `bits` fixed low bits, an out-dim of `space`, and may have
 * an upper part (rest) of any number of positions. `space` maps (tile, grid) bits linearly onto the
 * digits' fixed bits: tile bits are worked on inside a block, grid bits number blocks. The upper parts
 * are grid places too. An axis's coordinate is the sum of position * step over its digits.
 *
 * Address of tensor t, in elements, as an integer: Z_t(origin[t] + sum), Z_t its swizzle, and the sum
 *     XOR over fixed bits b of COLUMNS digits of column[t][b] * bit b
 *   + sum over STRIDE digits of stride * (upper << bits | fixed bits)
 *   + sum over COLUMNS digits with rest of upper * stride
 *   + sum over the terms of t, each from an axis's coordinate (where no refinement exists)
 * INDEXED digits add nothing themselves: an index of the tensor reads its value at their position, and
 * the value's low bits join the XOR, the rest of it the sum.
 *
 * Bounds. Digits may overhang what a tensor has: an access happens where all bounds of its tensor hold;
 * a load that does not happen gives `fill`. Only masked steps look at bounds.
 *
 * Values. A value is a register tile: layout (register, lane, warp, iteration) -> tile. Zero columns in
 * lane or warp are copies, stored once. The lowest `word` register bits lie inside one machine word.
 * A step is defined by the layouts of its input and output alone. Elements keep their width but in maps:
 * a tensor, a buffer and the values that are loaded from it or stored to it have the same. */
#ifndef LLRT_JIT_PLAN_PLAN_H
#define LLRT_JIT_PLAN_PLAN_H

#include "jit/plan/plan_block.h"
#include "jit/plan/plan_space.h"
#include "jit/plan/plan_step.h"
#include "jit/plan/target.h"

#define PLAN_MAX_STEPS 160
#define PLAN_MAX_VALUES 80
#define PLAN_MAX_BUFFERS 8
#define PLAN_MAX_VARIANTS 32 /* kernels of all variants */
#define PLAN_MAX_MAPS (LLRT_MAX_MAPS + 16) /* of a dot's edges; of a convert: a cast beside the description's */
#define PLAN_MAX_ORDERS 32
#define PLAN_MAX_AHEAD 12 /* steps of a walk */

typedef struct plan_cost {
  double bytes_per_element;  /* global, read and written */
  int32_t tile_bytes;        /* per block, of the widest tensor */
  int32_t load_sectors, store_sectors;           /* per tile, 32-byte sectors touched by one access each */
  int32_t index_sectors;                         /* the same of values of indices that differ in a block */
  int32_t min_sectors;                           /* tile bytes / sector */
  int32_t shared_store_wavefronts, shared_load_wavefronts; /* per tile */
  int32_t min_wavefronts;                        /* per direction, conflict-free */
  int32_t shared_accesses, barriers;             /* per tile, instructions of all warps */
  int32_t shuffles, selects, permutes, logic;    /* per warp, instructions; logic: shifts and merges */
  int32_t beside;                                /* of the selects: those of another unit than arithmetic's */
  int32_t addresses;                             /* per warp, instructions, of shared accesses */
  int32_t combined;                              /* per warp, joined words of a turn and what follows the walk */
  int32_t mapped;                                /* per lane: words that value maps make */
  int32_t registers;                             /* words of the largest value of a lane */
  int32_t products;                              /* per warp and turn, instructions of PLAN_DOT */
  double product_clocks;                         /* of a multiprocessor, for those of one warp */
} plan_cost;

typedef struct plan_kernel {
  plan_target target;
  int32_t n_tensors;
  uint8_t tensor_bits[LLRT_MAX_TENSORS]; /* of an element; steps that move it keep the width */
  bool high_first[LLRT_MAX_TENSORS]; /* 4 bits: the first element of a byte is in its high half, which loads
                                        and stores swap; offsets count as if it were low */
  bool halves; /* elements of 128 bits: they move as 64-bit elements, of which a digit without an axis tells
                  the two apart; offsets, strides and tensor_bits count those */
  int32_t lane_bits, warp_bits; /* of a block; the host's lane_bits fits the narrowest element */
  int32_t cluster_bits; /* log2 blocks that work on one tile and read each other's shared memory: the highest of
                           warp_bits number them */
  uint8_t half; /* flat, 4 bits: of the destination's bytes only the first (1) or the second half (2) is stored, by the thread that
                   has its element, and the other half kept: a stage for each, where no thread has all of a byte */
  uint8_t producers; /* warps behind the others, a divisor of their number; 0: no roles */
  uint8_t slots;     /* with producers: of every ring */
  int32_t barriers;  /* with producers: where the slots' barriers lie in shared memory, behind all buffers */
  int32_t band; /* > 0: blocks that follow each other take bands of so many positions of the second place (fewer in
                   the last), and in each one all of the first: inside a band the second place is the faster */
  plan_number band_pitch; /* band_from > 0: only where this, elements from row to row of the source, is a multiple of that */
  int64_t band_from;
  int8_t box_axis[PLAN_MAX_BOXES][PLAN_BOX_RANK]; /* along which the dimensions of launch.box go */
  plan_number positions; /* launch.rounds > 0: of the grid. What stands behind ROLES is done for each that a block takes */
  int32_t resident; /* NVIDIA: blocks of one multiprocessor that registers are to leave room for; 0: any */
  bool flat; /* a tile is 2^tile_bits consecutive elements of the flat index, which `place` splits into
                digits (whole digits: upper and fixed bits together, fastest first); of space only the
                out-dims are used */
  plan_number flat_elements; /* positions of the flat index */
  int64_t streams_from;      /* stores bypass the caches where there are so many elements or more; 0: always */
  plan_number elements;      /* streams_from > 0: how many there are */
  plan_panel panel;          /* what one block works on or chooses from */
  plan_memory memory;
  int32_t n_digits, n_bounds, n_terms, n_places, n_values, n_buffers, n_maps, n_steps, n_indices,
      n_orders;
  plan_digit digit[PLAN_MAX_DIGITS];
  plan_bound bound[PLAN_MAX_BOUNDS];
  plan_device_extent extent[LLRT_MAX_RANK]; /* by axis */
  uint32_t position_axes;                   /* bit a: positions count the coordinate of axis a, */
  plan_number position[LLRT_MAX_RANK];      /* times so many */
  plan_term term[PLAN_MAX_TERMS];
  int64_t origin[LLRT_MAX_TENSORS];       /* 0 where ADDRESS has the storage's offset */
  llrt_swizzle swizzle[LLRT_MAX_TENSORS]; /* of the whole sum; all zero: none */
  uint64_t fill; /* one element: what masked loads give outside */
  llrt_layout space;                           /* tile, grid -> d0, d1, … */
  uint64_t column[LLRT_MAX_TENSORS][LLRT_MAX_BITS]; /* by out bit of space, for COLUMNS digits */
  plan_sequence sequence; /* where a load asks for elements in front */
  plan_index index[PLAN_MAX_INDICES];
  plan_place place[PLAN_MAX_GRID];
  plan_turns walk;
  plan_lookback lookback;
  plan_deal deal;
  plan_value value[PLAN_MAX_VALUES];
  plan_buffer buffer[PLAN_MAX_BUFFERS];
  plan_map map[PLAN_MAX_MAPS];
  plan_order order[PLAN_MAX_ORDERS];
  plan_step step[PLAN_MAX_STEPS];
  plan_launch launch;
  plan_cost cost;
} plan_kernel;

/* The kernels of all variants. A variant is one kernel, or several *stages*, which follow each other here
 * (launch.stage, launch.later) and run one after the other. run takes the first variant whose range holds; the
 * last has none. */
typedef struct plan {
  int32_t n_variants;
  plan_kernel variant[PLAN_MAX_VARIANTS];
} plan;

/* How a convert may be steered; all-zero is the planner's own choice. Tests force each exchange. */
typedef enum plan_exchange {
  PLAN_EXCHANGE_AUTO = 0,
  PLAN_EXCHANGE_SHARED, /* by accesses of lanes */
  PLAN_EXCHANGE_SHUFFLE,
  PLAN_EXCHANGE_MATRIX  /* shared memory, on one side or both by matrices */
} plan_exchange;

typedef struct plan_options {
  plan_exchange exchange; /* UNSUPPORTED where it cannot be had */
  int tile_bytes, run_bytes; /* 0: the target's */
  bool ignore_copies;        /* a tile's reduction treats copies like elements of their own; for comparison */
  bool single_accesses;      /* shared memory is stored and loaded an element at a time; for comparison */
  bool whole_buffers;        /* no buffer of shared memory in parts so that more blocks have room */
  bool stream;               /* host: as large tensors are moved, however many elements there are */
  bool whole_runs;           /* GPU: tiles along axes are as large as the target's runs on both sides, if a block has room */
  int panels;                /* NVIDIA: a convert's first variant keeps panels in shared memory, if they suit it at all, of 1: whole rows,
                                2: parts of 32 bytes, 3: rows that are taken as longer ones (jit/plan/staged.c); 0: the planner's choice */
  bool whole_words;          /* GPU: loads bring all of a word of the destination into a thread; no exchange need */
  bool whole_bytes;          /* a convert of 4-bit elements that can only be loaded one by one is refused */
  int rest_bits;             /* most low bits of a digit with an upper part in the tile; 0: the planner's */
} plan_options;

/* Plans desc (validated by runtime/validate.c) for a target. options may be NULL. *out is an
 * llrt-internal allocation of the caller's, overwritten. Errors: UNSUPPORTED with the reason. */
llrt_status plan_make(const llrt_op_desc *desc, const plan_target *target,
                      const plan_options *options, plan *out);

/* Writes what `llrt explain` shows. */
struct llrt_text;
void plan_print(const plan *made, struct llrt_text *text);

/* Checks that a kernel is well formed: what emission and the interpreter rely on. Errors: INTERNAL. */
llrt_status plan_verify(const plan_kernel *kernel);

/* Executes one variant, by its first stage (behind which the others lie), over memory on the calling thread: the
 * oracle for planning. tensors' data are host addresses. Reports (INTERNAL) shared reads of words not written since the last barrier, shared
 * races, and global accesses outside [0, span). */
llrt_status plan_interpret(const plan_kernel *first, const llrt_tensor *tensors,
                           const llrt_storage_binding *bindings, int n_tensors);

#endif
