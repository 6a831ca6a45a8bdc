/* A plan: what a kernel does, as data. Planning needs no LLVM; emission needs nothing but this. Its
 * parts stand in plan_space.h (coordinates, addresses), plan_step.h (values, steps) and
 * plan_block.h (what a block walks and keeps).
 *
 * Coordinates. A kernel sees the tensors as one list of logical *digits*: the common refinement of
 * all storages. A digit has `bits` fixed low bits, an out-dim of `space`, and may have an upper
 * part (`rest`) of any number of positions. `space` maps tile bits and grid bits linearly onto the
 * digits' fixed bits: tile bits are worked on inside a block, grid bits number blocks. Upper parts
 * number blocks, too. The coordinate along an axis is the sum of position * step over its digits.
 *
 * Address of an element in tensor t, as an integer number of elements: Z_t(origin[t] + sum). Z_t is
 * the tensor's swizzle, and the sum is that of
 *
 *   - the XOR of column[t][b] over those fixed bits b of COLUMNS digits that are set
 *   - stride * (upper << bits | fixed bits), for each STRIDE digit
 *   - stride * upper, for each COLUMNS digit that has an upper part
 *   - the tensor's terms, each from an axis's coordinate, where no common refinement exists
 *
 * INDEXED digits add nothing by themselves: an index of the tensor reads its value at their
 * position; the value's low bits join the XOR, the others the sum.
 *
 * Bounds. Digits may go beyond what a tensor has. A masked access happens where all bounds of its
 * tensor hold; a load that does not happen gives `fill`. Only masked steps look at bounds.
 *
 * Values. A value is a tile in registers: a layout (register, lane, warp, iteration) -> tile. Zero
 * columns of lane or warp are copies, of which one is stored. The lowest `word` register bits lie
 * inside one machine word. A step is defined by the layouts of its input and output alone. Only
 * maps change the width of elements: a tensor or buffer has that of the values that are loaded from
 * it and stored to it. */
#ifndef LLRT_JIT_PLAN_KERNEL_PLAN_H
#define LLRT_JIT_PLAN_KERNEL_PLAN_H

#include "jit/plan/kernel/plan_block.h"
#include "jit/plan/kernel/plan_space.h"
#include "jit/plan/kernel/plan_step.h"
#include "jit/plan/types/target.h"

#define PLAN_MAX_STEPS 250
#define PLAN_MAX_VALUES 240
#define PLAN_MAX_BUFFERS 8
#define PLAN_MAX_VARIANTS 64 /* kernels of a plan, stages of all variants together */
/* Maps of a kernel: the description's, and those that planning adds, of which the operands and the
 * epilogue of a dot have the most. */
#define PLAN_MAX_MAPS (LLRT_MAX_MAPS + 60)
#define PLAN_MAX_ORDERS 32
#define PLAN_MAX_AHEAD 12 /* steps of a walk that run a turn early */

/* What a kernel costs by the planner's model (jit/plan/cost). */
typedef struct plan_cost {
  /* Global memory. */
  double bytes_per_element; /* read and written, of the whole kernel */
  int32_t tile_bytes;       /* of a tile, by its widest tensor */
  int32_t load_sectors;     /* of a tile: sectors that loads touch, each access by itself */
  int32_t store_sectors;    /* of a tile: the same of stores */
  int32_t index_sectors;    /* of a tile: of values of indices that differ inside a block */
  int32_t min_sectors;      /* of a tile: its bytes / bytes of a sector */
  /* Shared memory: wavefronts of a tile. */
  int32_t shared_store_wavefronts, shared_load_wavefronts;
  int32_t min_wavefronts;  /* of either direction, if there were no bank conflicts */
  int32_t shared_accesses; /* instructions of all warps for a tile */
  int32_t barriers;        /* for a tile */
  /* Instructions of one warp for a tile. */
  int32_t shuffles, selects, permutes;
  int32_t logic;              /* shifts and merges */
  int32_t multiplied_selects; /* of the selects: those that are products, of another unit */
  int32_t addresses;          /* for addresses in shared memory */
  int32_t combined;           /* words that are joined in a turn and behind the walk */
  int32_t mapped;             /* of one lane: words that maps make */
  int32_t registers;          /* words of a lane's largest value */
  /* Products. */
  int32_t products;      /* instructions of one warp for PLAN_DOT in a turn */
  double product_clocks; /* of a multiprocessor, for those */
} plan_cost;

typedef struct plan_kernel {
  plan_target target;

  /* ---- tensors ---- */
  int32_t n_tensors;
  uint8_t tensor_bits[LLRT_MAX_TENSORS]; /* of an element in memory; steps that move it keep that */
  /* 4-bit elements: the first of a byte is in the byte's high half. Loads and stores swap the
   * halves; offsets count as if the first were low. */
  bool high_first[LLRT_MAX_TENSORS];
  /* Elements of 128 bits move as two of 64, which a digit without an axis tells apart. Offsets,
   * strides and tensor_bits count elements of 64 bits. */
  bool split_128;

  /* ---- threads ---- */
  int32_t lane_bits; /* log2 lanes; on the host as many as elements of the narrowest tensor fit */
  int32_t warp_bits; /* log2 warps that work on a tile, of all blocks of a cluster */
  /* log2 blocks of a cluster, which work on one tile, and read each other's shared memory or fetch
   * boxes for each other: the highest of warp_bits number them. */
  int32_t cluster_bits;
  /* Flat kernels of 4-bit elements whose bytes no thread has whole: a stage stores only the first
   * (1) or only the second (2) element of each byte of the destination, and keeps the other; 0:
   * both are stored. */
  uint8_t stored_half;
  uint8_t
      producers; /* warps that only copy, behind the others, whose number they divide; 0: none */
  uint8_t slots; /* with producers: of every ring */
  uint8_t team_bits; /* in rounds: log2 teams of 2^warp_bits warps each, which take a block's
                        positions by turns, so that one multiplies while another one stores */
  int32_t pushed;   /* with a pushed buffer: where the barrier lies that its elements tell, bytes */
  int32_t barriers; /* with producers: where the slots' barriers lie in shared memory, bytes */

  /* ---- order of blocks ---- */
  /* > 0: the second place of the grid is cut into bands of so many positions (the last has what is
   * left; of tiles of experts each expert's own). Blocks go through all of a band before the next
   * one, and inside a band the second place is faster than the first. */
  int32_t band;
  /* band_from > 0: bands only where band_pitch, elements from row to row of the source, is a
   * multiple of band_from. */
  plan_number band_pitch;
  int64_t band_from;
  /* By number of launch.box and by dimension of that box: the axis along which it extends. */
  int8_t box_axis[PLAN_MAX_BOXES][PLAN_BOX_RANK];
  /* launch.rounds > 0: positions of the grid. A block does the steps behind PLAN_ROLES once for
   * each position that it takes. */
  plan_number positions;
  int32_t resident; /* NVIDIA: blocks that registers must leave a multiprocessor room for; 0: any */

  /* ---- flat kernels ---- */
  /* A tile is 2^tile_bits consecutive numbers of the element index, which `place` splits into whole
   * positions of digits, fastest first. Of `space` only the out-dims count. */
  bool flat;
  plan_number flat_elements; /* numbers of the element index */

  /* ---- memory ---- */
  int64_t streams_from; /* stores bypass the caches for so many elements or more; 0: always */
  plan_number elements; /* streams_from > 0: how many elements there are */
  plan_panel panel;
  plan_memory memory;

  /* ---- lengths of the lists below ---- */
  int32_t n_digits, n_bounds, n_terms, n_places, n_values, n_buffers, n_maps, n_steps, n_indices,
      n_orders;

  /* ---- coordinates and addresses ---- */
  plan_digit digit[PLAN_MAX_DIGITS];
  plan_bound bound[PLAN_MAX_BOUNDS];
  plan_device_extent extent[LLRT_MAX_RANK]; /* by axis */
  /* What PLAN_POSITION counts: the coordinate of each axis of position_axes (bit a: axis a) times
   * position[a], summed. */
  uint32_t position_axes;
  plan_number position[LLRT_MAX_RANK];
  plan_term term[PLAN_MAX_TERMS];
  int64_t origin[LLRT_MAX_TENSORS];       /* elements; 0 where the address argument has it */
  llrt_swizzle swizzle[LLRT_MAX_TENSORS]; /* of the whole offset; all zero: none */
  uint64_t fill;                          /* code of an element that masked loads give outside */
  llrt_layout space;                      /* tile, grid -> d0, d1, …: the digits' fixed bits */
  /* By tensor and out bit of `space`: the address bits that it moves, elements; 0 for bits of
   * digits that are not COLUMNS on that tensor. */
  uint64_t column[LLRT_MAX_TENSORS][LLRT_MAX_BITS];
  plan_sequence sequence; /* where a load asks for elements in front of others (plan_step.front) */
  plan_index index[PLAN_MAX_INDICES];
  plan_experts experts;

  /* ---- blocks ---- */
  plan_place place[PLAN_MAX_GRID];
  plan_turns walk;
  plan_lookback lookback;
  plan_deal deal;

  int32_t waiting; /* byte of shared memory from which words wait for turns of steps
                      (jit/plan/rolled/rolled_places.h); 0: none do */
  bool straight;   /* turns of steps follow each other in the code: few registers wait
                      (jit/plan/rolled/rolled_straight.h) */

  /* ---- values and steps ---- */
  plan_value value[PLAN_MAX_VALUES];
  plan_buffer buffer[PLAN_MAX_BUFFERS];
  plan_map map[PLAN_MAX_MAPS];
  plan_order order[PLAN_MAX_ORDERS];
  plan_step step[PLAN_MAX_STEPS];

  plan_launch launch;
  plan_cost cost;
  tile_facts tile; /* of a product by tiles: what launch.pace was made of */
} plan_kernel;

/* The kernels of all variants, one behind the other. A variant is one kernel, or several *stages*
 * that run one after the other (launch.stage, launch.later). A run takes the first variant whose
 * range holds; the last variant's always does. */
typedef struct plan {
  int32_t n_variants; /* kernels, stages counted each */
  plan_kernel variant[PLAN_MAX_VARIANTS];
} plan;

/* Which exchange a convert must use. Tests force each. */
typedef enum plan_exchange {
  PLAN_EXCHANGE_AUTO = 0, /* what costs the fewest clocks */
  PLAN_EXCHANGE_SHARED,   /* shared memory, each lane by its own accesses */
  PLAN_EXCHANGE_SHUFFLE,
  PLAN_EXCHANGE_MATRIX /* shared memory, stored or loaded by matrices, or both */
} plan_exchange;

/* How a planner may be steered, for tests and measurements. All zero: its own choice. */
typedef struct plan_options {
  plan_exchange exchange; /* UNSUPPORTED where it is not possible */
  int tile_bytes;         /* of a tile; 0: the target's */
  int run_bytes;          /* contiguous bytes of a tile on both sides; 0: the target's */
  bool ignore_copies;     /* reduction inside a tile: copies count as elements of their own */
  bool single_accesses;   /* shared memory is stored and loaded an element at a time */
  bool whole_buffers;     /* buffers of shared memory are not cut to make room for more blocks */
  bool stream;            /* host: plans as for large tensors, however many elements there are */
  bool whole_runs; /* GPU: tiles along axes have the target's runs on both sides where a block has
                      room */
  /* NVIDIA: a convert's first variant keeps panels in shared memory if they suit it at all
   * (jit/plan/convert/staged.c). 1: panels of whole rows; 2: of parts of rows, 32 bytes each; 3: of
   * rows that are taken as longer ones. 0: the planner's choice. */
  int panels;
  bool whole_words; /* GPU: a thread loads all of a destination's word: no exchange is needed */
  bool whole_bytes; /* a convert of 4-bit elements that must be loaded one by one is refused */
  int rest_bits; /* low bits of a digit with an upper part in a tile, at most; 0: the planner's */
  bool wide; /* products: tiles of many more rows than are promised, too: candidates to be measured,
                not a choice */
  struct plan_trace *trace; /* is told what was tried (jit/plan/cost/trace.h); NULL: nobody is */
} plan_options;

#endif
