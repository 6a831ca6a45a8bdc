/* What code generation asks of layouts: contiguity, vectors, bank conflicts, conversions.
 *
 * The general rules of layout.h hold. Broadcast registers, lanes and warps are
 * llrt_layout_free_variable_masks. */
#ifndef LLRT_LAYOUT_QUESTIONS_H
#define LLRT_LAYOUT_QUESTIONS_H

#include <llrt/layout.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- contiguity ---- */

/* *count = the largest 2^k such that the positions of ins[n_ins], all other in-dims fixed, reach
 * aligned runs of 2^k consecutive elements of outs[n_outs], laid end to end minor to major;
 * other out-dims are not looked at. So {"register"}, {"dim1", "dim0"} gives the contiguous
 * elements of a thread in a row-major tensor, runs over row ends included. The order of
 * registers does not matter: 1, 2, ... 2^(k-1) lie in the span of the columns. Source: Linear
 * Layouts, section 5.1. */
LLRT_API llrt_status llrt_layout_contiguous(const llrt_layout *a, const char *const *ins, int n_ins,
                                            const char *const *outs, int n_outs, int64_t *count);

/* As llrt_layout_num_consecutive, for the given dims and at most `limit` (a power of two): the
 * largest V such that positions 0..V-1 of `in` lie consecutively in `out_name`, in other
 * out-dims nowhere, and no other column touches those bits. */
LLRT_API llrt_status llrt_layout_identity_prefix(const llrt_layout *a, const char *in,
                                                 const char *out_name, int64_t limit,
                                                 int64_t *count);

/* ---- vectors ---- */

/* *count = 2^dim of the intersection of the spans of a's columns of in_a and b's of in_b: the
 * largest set of elements, a coset of one subspace, that one thread holds on both sides. Both
 * have the same out-dims by name. Source: Linear Layouts, section 5.4. */
LLRT_API llrt_status llrt_layout_common_vector(const llrt_layout *a, const char *in_a,
                                               const llrt_layout *b, const char *in_b,
                                               int64_t *count);

/* `access` maps register (and lane, warp, ...) to offset (and others). *count = the largest 2^v
 * <= limit such that, registers suitably renamed, one instruction moves 2^v registers: columns
 * 1, 2, ... 2^(v-1) of offset are registers', and no other column has a bit of offset below 2^v.
 * action (room for 64; may be NULL) gets the register's bits in an order that puts those first;
 * llrt_layout_select_bases takes it. */
LLRT_API llrt_status llrt_layout_vector_width(const llrt_layout *access, int64_t limit,
                                              int64_t *count, int *action);

/* ---- shared memory ---- */

/* How shared memory serves a warp. All-zero: 32 lanes, 32 banks of 4 bytes, vectors of 16 bytes. */
typedef struct llrt_bank_params {
  size_t size;
  int lanes;        /* of a warp, at most 64 */
  int banks;        /* at most 64 */
  int bank_bytes;   /* width of a bank */
  int vector_bytes; /* the widest access of a lane */
} llrt_bank_params;

typedef struct llrt_bank_report {
  size_t size;        /* set by the caller, or 0 */
  int64_t vector;     /* elements that a lane moves in one instruction */
  int instructions;   /* of a warp, to move all its registers once */
  int wavefronts;     /* of one instruction */
  int min_wavefronts; /* of one without conflicts: as many lanes at a time as fill all banks */
  int reserved;
} llrt_bank_report;

/* What a warp pays to move its registers (register x lane x warp -> dims) to or from shared memory
 * (offset -> dims), elements of element_bits (4 to 128). The count is exact: lanes' addresses are
 * evaluated; all instructions and warps pay the same, their addresses differing by a constant XOR.
 * params may be NULL. Errors: INVALID_ARGUMENT when registers hold what the memory does not. */
LLRT_API llrt_status llrt_layout_bank_conflicts(const llrt_layout *registers,
                                                const llrt_layout *shared, int element_bits,
                                                const llrt_bank_params *params,
                                                llrt_bank_report *out);

/* ---- conversion ---- */

/* What a conversion has to move elements between. */
enum {
  LLRT_MOVES_NOTHING = 0,
  LLRT_MOVES_REGISTERS = 1,
  LLRT_MOVES_LANES = 2,
  LLRT_MOVES_WARPS = 4,
  LLRT_MOVES_BLOCKS = 8
};

/* X with source(X(x)) = destination(x): which register, lane, warp and block of source each
 * place of destination reads, without the dims that stay where they are. Zero columns of
 * registers are left out on both sides first; then block, warp, lane and register are dropped in
 * this order as long as X is trivial over them. *moves (may be NULL) = the set of dims that are
 * left. in-dims of both are among register, lane, warp, block. Source: Linear Layouts, section
 * 5.4. */
LLRT_API llrt_status llrt_layout_conversion(const llrt_layout *source,
                                            const llrt_layout *destination, unsigned *moves,
                                            llrt_layout *out);

/* Whether the conversion moves nothing: both layouts put the same elements into the same places,
 * whatever the order of their dims and the copies in registers. False for layouts that the
 * conversion refuses. */
LLRT_API bool llrt_layout_is_equivalent(const llrt_layout *a, const llrt_layout *b);

#ifdef __cplusplus
}
#endif
#endif
