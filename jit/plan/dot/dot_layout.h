/* How the threads of a block share a dot: which instruction, where operands and results lie.
 * Private to jit/plan/dot. */
#ifndef LLRT_JIT_PLAN_DOT_DOT_LAYOUT_H
#define LLRT_JIT_PLAN_DOT_DOT_LAYOUT_H

#include "jit/plan/kernel/plan.h"
#include "jit/plan/types/dot_instruction.h"

enum { DOT_DIM_M = 0, DOT_DIM_N = 1, DOT_DIM_K = 2 };

/* What is multiplied. */
typedef struct dot_space {
  int n[3];             /* by DOT_DIM: how many bits the tile has */
  uint8_t bit[3][24];   /* those: numbers of the kernel's tile bits, as instructions take them */
  uint64_t cluster;     /* tile bits along K beside these, which blocks of a cluster number */
  llrt_dtype a, b, acc; /* types of the multiplied elements and of their sums */
  bool tf32;            /* f32 elements may lose their lowest 13 bits */
} dot_space;

/* How threads share it. What warps, and with FMA lanes and registers, do not take of the tile are
 * further registers; lanes that find no positions of n hold copies. All numbers are log2, by
 * DOT_DIM_M and DOT_DIM_N. */
typedef struct dot_sharing {
  int instruction;  /* number of the row in jit/plan/types/dot_instruction.c */
  bool swapped;     /* its first operand is B */
  int warps[2];     /* warps along the dim */
  int lanes[2];     /* FMA: lanes along it */
  int registers[2]; /* FMA: neighbouring positions of it that each lane holds */
} dot_sharing;

/* What follows from that. */
typedef struct dot_layouts {
  dot_sharing how;
  plan_value a, b, acc;
  double clocks; /* of a multiprocessor for the tile's products */
} dot_layouts;

/* How much a thread may hold. */
typedef struct dot_room {
  int results; /* log2 words of sums */
  int operand; /* log2 words of an operand */
  int columns; /* log2 columns of a warpgroup's instruction, at most; 0: as many as it has */
} dot_room;

/* The values' layouts for kernel->lane_bits lanes and kernel->warp_bits warps. False where the
 * instruction does not divide the tile, or there is no room for a value. */
bool dot_layouts_make(const plan_kernel *kernel, const dot_space *space, const dot_sharing *how,
                      const dot_room *room, dot_layouts *out);

/* Fills list with every sharing that divides the tile, fewest clocks of products first, `most` of
 * them at most; how many there are. */
#define DOT_MAX_SHARINGS 64
int dot_layouts_list(const plan_kernel *kernel, const dot_space *space, const dot_room *room,
                     dot_layouts *list, int most);

/* The layouts for the widest instruction of warpgroups, A in registers. Warpgroups share rows of m
 * first. B is in shared memory and has no layout. swapped: D^T = B^T A^T, with the operands' parts
 * and m and n exchanged. False where there is no such instruction. */
bool dot_layouts_group(const plan_kernel *kernel, const dot_space *space, const dot_room *room,
                       bool swapped, dot_layouts *out);

/* The layouts for one row of D on a GPU, by FMA: of the tile's bits along K in their order the
 * first are warps, all but one, those behind them lanes, the others registers of both operands. The
 * lowest bit along N is a warp's, so that a thread's rows of B all begin with a word, or none does.
 * False where there are too few bits. */
bool dot_layouts_row(const plan_kernel *kernel, const dot_space *space, dot_layouts *out);

#endif
