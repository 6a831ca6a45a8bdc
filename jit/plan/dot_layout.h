/* How the threads of a block share a dot: which instruction, where operands and results lie. Private to jit/plan. */
#ifndef LLRT_JIT_PLAN_DOT_LAYOUT_H
#define LLRT_JIT_PLAN_DOT_LAYOUT_H

#include "jit/plan/dot_instruction.h"
#include "jit/plan/plan.h"

enum { DOT_DIM_M = 0, DOT_DIM_N = 1, DOT_DIM_K = 2 };

/* What is multiplied: the kernel's tile bits along m, n and k, in the order in which instructions take them. */
typedef struct dot_space {
  int n[3];
  uint8_t bit[3][24];
  llrt_dtype a, b, acc; /* of the multiplied elements and of their sums */
  bool tf32;            /* f32 elements may lose their lowest 13 bits */
} dot_space;

/* How: the instruction; swapped: its first operand is B. Warps (FMA: lanes, registers too) along m and n, log2; what
 * they do not take of the tile are registers, or of n with `lanes` too many copies. */
typedef struct dot_sharing {
  int instruction;
  bool swapped;
  int warps[2];     /* by DOT_DIM_M, DOT_DIM_N */
  int lanes[2];     /* FMA alone */
  int registers[2]; /* FMA: lowest bits, which each lane holds */
} dot_sharing;

typedef struct dot_layouts {
  dot_sharing how;
  plan_value a, b, acc;
  double clocks; /* of a multiprocessor for the tile's products */
} dot_layouts;

/* log2 words of a value that a thread may hold: of results, of an operand. */
typedef struct dot_room {
  int results, operand;
  int columns; /* of an instruction of warpgroups, log2 most; 0: as many as it has */
} dot_room;

/* The values' layouts on the kernel's target, of kernel->lane_bits lanes and warp_bits warps. False where the
 * instruction does not divide the tile, or there is no room for a value. */
bool dot_layouts_make(const plan_kernel *kernel, const dot_space *space, const dot_sharing *how, const dot_room *room,
                      dot_layouts *out);

/* Every sharing that divides, in the order of the products' clocks: the n-th, false past the last. */
#define DOT_MAX_SHARINGS 64
int dot_layouts_list(const plan_kernel *kernel, const dot_space *space, const dot_room *room, dot_layouts *list,
                     int most);

/* The same by the widest instruction of warpgroups, which share rows of m first (swapped: of n, D^T = B^T A^T); A in
 * registers; B, which has to be in shared memory, has no layout (swapped: A). False where there is none. */
bool dot_layouts_group(const plan_kernel *kernel, const dot_space *space, const dot_room *room, bool swapped,
                       dot_layouts *out);

#endif
