/* A decoded kernel: what the parser makes and the interpreter runs. */
#ifndef LLRT_EMULATORS_PTX_PROGRAM_H
#define LLRT_EMULATORS_PTX_PROGRAM_H

#include "emulators/common/emu_float.h"
#include "emulators/ptx/ptx.h"

#define PTX_LANES 32
#define PTX_FULL 0xffffffffu
#define PTX_MAX_OPERANDS 8
#define PTX_MAX_CHOICES 10
#define PTX_TWICE 2

/* Generic addresses of shared memory begin here; nothing of the host's lies so high. */
#define PTX_SHARED_WINDOW ((uint64_t)1 << 60)
#define PTX_PARAM_WINDOW ((uint64_t)1 << 61) /* of parameters, likewise */
#define PTX_LOCAL_WINDOW ((uint64_t)1 << 62) /* of a thread's own memory, also without cvta */

typedef struct ptx_type {
  const char *name;
  uint8_t bits;
  char kind; /* p predicate, b, u, s, f; for packed and 8-bit floats: x */
  const emu_format
      *format; /* of an element, where that is a floating-point number of less than 64 bits */
} ptx_type;

typedef struct ptx_op ptx_op;
typedef struct ptx_warp ptx_warp;
typedef struct ptx_run ptx_run;

/* Executes an op for the lanes in mask. false: run->fault is set. */
typedef bool ptx_execute(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask);
/* The values of all lanes of a register operation: r from a, b, c. */
typedef void ptx_compute(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                         uint64_t *r);
/* The undefined bits of one lane's result, from values and undefined bits of the operands. */
typedef uint64_t ptx_spread(const ptx_op *op, const uint64_t value[3], const uint64_t undefined[3]);

typedef enum ptx_class {
  PTX_ARITHMETIC,
  PTX_CONVERT,
  PTX_MOVE,
  PTX_PERMUTE,
  PTX_SHUFFLE,
  PTX_BRANCH,
  PTX_BARRIER,
  PTX_MATRIX,
  PTX_MEMORY,
  PTX_ATOMIC,
  PTX_CLASSES
} ptx_class;

/* One row of the opcode tables. `syntax`: the opcode's name, then its modifiers in order, each
 * `a|b|c` (alternatives), with `?` in front if it may be absent, or `%L` for a type of class L (see
 * ptx_decode.c). `operands`, a letter each: d result register, s source register or constant, m
 * memory, v result vector or register, w source vector or register, l label, i constant, q result
 * and optional |predicate, b memory and source registers in brackets; a letter after `?` may be
 * absent. */
typedef struct ptx_form {
  const char *syntax, *operands;
  ptx_execute *execute;
  ptx_compute *compute;
  ptx_spread *spread;
  uint8_t class;
  uint8_t result; /* bits of the result; 0: those of type[0]; PTX_TWICE: twice those */
} ptx_form;

typedef struct ptx_operand {
  uint16_t first, count; /* registers: op->reg[first], ... */
  uint8_t bits;          /* width of the last of them; 0: a constant or special register */
  bool immediate;        /* a constant (of which the register holds a copy in all lanes) */
  int64_t value;         /* of a constant; of memory: what is added to the register */
} ptx_operand;

struct ptx_op {
  const ptx_form *form;
  const ptx_type *type[4];
  int8_t choice[PTX_MAX_CHOICES]; /* of each modifier with alternatives: 1, 2, ...; 0: absent */
  uint8_t bits;                   /* of type[0] */
  uint64_t mask;                  /* bits of the result */
  ptx_operand operand[PTX_MAX_OPERANDS];
  uint8_t n_operands;
  const uint16_t *reg;
  uint32_t pool; /* where reg begins in kernel->pool, until parsing ends */
  int guard;     /* register of the predicate; -1: none */
  bool guard_negated;
  int target; /* of a branch: pc; while parsing: number of the label */
  int line, step;
  uint32_t text, text_length; /* of module->text */
};

/* Special registers are registers that the launch fills. */
typedef enum ptx_special {
  PTX_TID_X,
  PTX_TID_YZ,
  PTX_NTID_X,
  PTX_NTID_YZ,
  PTX_CTAID_X,
  PTX_CTAID_YZ,
  PTX_NCTAID_X,
  PTX_NCTAID_YZ,
  PTX_LANEID,
  PTX_WARPID,
  PTX_LANEMASK_EQ,
  PTX_LANEMASK_LT,
  PTX_LANEMASK_LE,
  PTX_LANEMASK_GT,
  PTX_LANEMASK_GE,
  PTX_CLUSTER_CTARANK,
  PTX_CLUSTER_NCTARANK,
  PTX_CLUSTERID_X,
  PTX_NCLUSTERID_X,
  PTX_GLOBALTIMER,
  PTX_SPECIALS
} ptx_special;

typedef struct ptx_constant {
  uint64_t value;
  uint16_t reg;
} ptx_constant;

struct ptx_kernel {
  char name[64];
  const ptx_module *module;
  ptx_op *op;
  int n_ops, op_capacity;
  uint16_t *pool;
  uint32_t pool_used, pool_capacity;
  ptx_constant *constant;
  int n_constants, constant_capacity;
  int special[PTX_SPECIALS]; /* register, or -1 */
  int n_registers;
  uint32_t shared_bytes; /* static */
  bool dynamic_shared;
  uint32_t shared_limit; /* of the dynamic part */
  uint32_t local_bytes;  /* of a thread's own */
  uint32_t max_threads;  /* 0: any */
  uint32_t n_params, param_offset[PTX_MAX_PARAMS], param_size[PTX_MAX_PARAMS], param_bytes;
};

struct ptx_module {
  char *text;
  int version; /* of the PTX ISA, tenths */
  int target;  /* .target sm_NN: NN */
  bool exact;  /* sm_NNa: for its own compute capability alone */
  ptx_kernel **kernel;
  int n_kernels;
  uint32_t shared_bytes;
  bool dynamic_shared;
};

/* ptx_decode.c: finds the form of an opcode and fills form, type, choice, bits, mask. */
bool ptx_decode(const char *opcode, ptx_op *op, char *why, size_t why_size);
const ptx_type *ptx_type_named(const char *name);

/* The tables, each ended by a row without syntax. */
extern const ptx_form ptx_integer_forms[], ptx_float_forms[], ptx_control_forms[],
    ptx_memory_forms[], ptx_warp_forms[], ptx_matrix_forms[], ptx_async_forms[],
    ptx_cluster_forms[], ptx_mbarrier_forms[], ptx_tensor_forms[], ptx_wgmma_forms[];

#endif
