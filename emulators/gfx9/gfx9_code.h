/* Decoded instructions and the state of a wave; private to emulators/gfx9. */
#ifndef LLRT_EMULATORS_GFX9_CODE_H
#define LLRT_EMULATORS_GFX9_CODE_H

#include "emulators/gfx9/gfx9.h"

#include "emulators/common/emu_shared.h"

#define GFX9_LANES 64
#define GFX9_VECTORS 512 /* v0-v255, then a0-a255 */
#define GFX9_SCALARS 128 /* as operands are numbered: s0-s101, vcc, m0, exec */
#define GFX9_ACC 256
#define GFX9_VCC 106
#define GFX9_M0 124
#define GFX9_EXEC 126
#define GFX9_MAX_WAVES 16
#define GFX9_MAX_OPERANDS 5
#define GFX9_ALL (~(uint64_t)0)

typedef uint32_t gfx9_row[GFX9_LANES];
typedef struct gfx9_wave gfx9_wave;
typedef struct gfx9_op gfx9_op;

/* ---- instructions ---- */

/* What an operation on lanes reads and writes: one row of words an operand, a second one for the
 * high words of 64-bit operands. `in` and `out` have one bit a lane: carries, conditions. A scalar
 * operation is the same with one lane; there `in` is SCC. */
typedef struct gfx9_args {
  const uint32_t *source[3][2];
  uint32_t *restrict d, *restrict dh;
  uint64_t in, out;
  bool clamp;
} gfx9_args;
typedef void (*gfx9_lanes_fn)(gfx9_args *x, int n);
typedef bool (*gfx9_step_fn)(gfx9_wave *wave, const gfx9_op *op);

/* How undefined bits of the sources reach the result. */
typedef enum gfx9_rule {
  GFX9_ANY = 0, /* any undefined bit makes all of the result undefined */
  GFX9_UPWARD,  /* the lowest undefined bit and all above it: sums, products */
  GFX9_BITWISE, /* a result bit is undefined where a source's is: exclusive or */
  GFX9_MONOTONE /* every result bit is a monotone function of the data sources' bits, so it is
                   undefined where all ones and all zeros in place of the undefined bits differ:
                   moves, shifts, and, or. The other sources (shift counts, selectors) must be
                   defined */
} gfx9_rule;

/* What a scalar operation does with SCC: reads it as `in`; sets it from `out`, or from "not
 * zero". */
enum { GFX9_SCC_IN = 1, GFX9_SCC_OUT = 2, GFX9_SCC_NONZERO = 4 };

/* Modifiers that an instruction may bear besides its operands. */
enum {
  GFX9_OFFSET = 1,       /* offset:N */
  GFX9_OFFSET2 = 2,      /* offset0:N offset1:N */
  GFX9_CACHE = 4,        /* glc, slc, sc0, sc1, nt: they change no value */
  GFX9_RAW = 8,          /* the text's operands are not read: a field of the dword says it all */
  GFX9_OP_SEL = 0x10,    /* op_sel:[a,b] picks words of pairs */
  GFX9_OP_SEL_16 = 0x20, /* op_sel picks halves of the sources, */
  GFX9_KEEP = 0x40,      /* and of the destination, whose other half keeps its value */
  GFX9_NEGATE = 0x80,    /* -v0, |v0| */
  GFX9_CLAMP = 0x100,
  GFX9_MIX = 0x200,       /* sources are f16 where op_sel_hi says, else f32 */
  GFX9_LOW = 0x400,       /* the result is the lower half of the destination, */
  GFX9_HIGH_HALF = 0x800, /* or the upper one */
  GFX9_OFFEN = 0x1000,    /* buffers: offen, and an offset in a scalar */
  GFX9_SWIZZLE = 0x2000   /* offset:swizzle(...), read from the dword */
};

/* `parameter` of memory operations: bytes of one access, and these. */
enum {
  GFX9_BYTES = 0xff,
  GFX9_SIGNED = 0x100, /* narrow loads: extend the sign */
  GFX9_D16 = 0x200,    /* 16 bits of the register, the others keep their value */
  GFX9_HIGH = 0x400,   /* ... the upper ones */
  GFX9_TWO = 0x800,    /* two accesses, offsets counted in bytes of one */
  GFX9_ST64 = 0x1000   /* ... times 64 */
};

enum { GFX9_GLOBAL = 1, GFX9_FLAT, GFX9_SCRATCH, GFX9_BUFFER, GFX9_LDS };

/* One row of the table. `operands` has a letter for each operand of the text, destinations first:
 *   d D   destination of 1 or 2 words     x X   the same, the first source too
 *   m     destination: one bit a lane, in two scalar registers
 *   s S   source of 1 or 2 words          M   source: one bit a lane
 *   w W   destination, source: data of a memory operation, as long as `parameter` says
 *   q     destination of an atomic that gives back the old value, else left out
 *   v     its address in one or two vector registers, or "off"
 *   o     scalar registers to add, or "off"
 *   B     a buffer's description          r R matrices: destination, source of any length
 */
typedef struct gfx9_info {
  const char *name; /* without _e32, _e64, _sdwa, _dpp */
  const char *operands;
  gfx9_lanes_fn lanes; /* an operation on lanes, or */
  gfx9_step_fn step;   /* anything else */
  uint8_t rule, scc;   /* of lanes */
  uint8_t data;        /* MONOTONE: bit k: source k is data */
  uint8_t space;       /* of memory operations */
  uint8_t packed;      /* 16, 32: each half of that size by itself */
  bool halves;         /* of each source only one half is read */
  uint16_t modifiers;
  uint16_t counter; /* offset in emu_counters */
  int parameter;    /* of step */
} gfx9_info;

/* gfx9_arithmetic.c, gfx9_table.c */
typedef struct gfx9_table {
  const gfx9_info *row;
  int n;
} gfx9_table;
extern const gfx9_table gfx9_vector_table, gfx9_scalar_table;

typedef enum gfx9_operand_kind {
  GFX9_NONE = 0, /* "off" */
  GFX9_VECTOR,
  GFX9_SCALAR,
  GFX9_CONSTANT
} gfx9_operand_kind;

typedef struct gfx9_operand {
  uint8_t kind, words;
  bool destination, mask;
  uint16_t index;
  uint64_t value;
} gfx9_operand;

/* Sub-dword addressing: selections as in the encoding, 0-3 bytes, 4-5 words, 6 everything. */
enum { GFX9_WORD_0 = 4, GFX9_DWORD = 6, GFX9_PAD = 0, GFX9_SEXT = 1, GFX9_PRESERVE = 2 };
typedef struct gfx9_sdwa {
  bool used;
  uint8_t destination, unused, source[3];
} gfx9_sdwa;

typedef struct gfx9_dpp {
  bool used, bound_ctrl;
  uint16_t control; /* the nine bits of the encoding */
  uint8_t row_mask, bank_mask;
} gfx9_dpp;

struct gfx9_op {
  const gfx9_info *info;
  uint32_t pc;    /* bytes from the kernel's entry */
  int step;       /* of the plan; EMU_NOWHERE: not known */
  uint32_t dword; /* the first */
  bool scalar;    /* s_...: one lane */
  uint8_t n_operands, n_sources;
  uint8_t first; /* source that the text's first one is: 1 after an x */
  /* Bit k: of source k. For packed operations _hi and [1] say so of the upper part. */
  uint8_t op_sel, op_sel_hi, negate[2], absolute, sext;
  uint8_t sign_bit;
  bool offen, clamp, plain; /* plain: nothing that gfx9_modify does */
  gfx9_operand operand[GFX9_MAX_OPERANDS];
  uint8_t source[3]; /* operands that are sources of a lane operation, masks left out */
  int32_t offset, offset1;
  int32_t target; /* of a branch: index of an op */
  gfx9_sdwa sdwa;
  gfx9_dpp dpp;
  char text[160];
};

/* ---- a kernel ---- */

typedef struct gfx9_code {
  gfx9_op *op;
  int n;
  int vectors; /* registers needed: one more than the last that is named */
} gfx9_code;

/* Kernel code properties that are known. gfx90a's compiler asks for the buffer even without scratch
 * memory: its four registers are left undefined. */
enum { GFX9_HAS_PRIVATE_BUFFER = 1, GFX9_HAS_KERNARGS = 8, GFX9_HAS_FLAT_SCRATCH = 32 };

/* Of the kernel descriptor: which registers a wave begins with. */
typedef struct gfx9_descriptor {
  uint32_t lds_bytes, private_bytes, kernarg_bytes;
  uint32_t rsrc1, rsrc2, rsrc3;
  uint16_t properties, preload;
} gfx9_descriptor;

struct gfx9_module {
  char cpu[16];
  emu_memory *memory;
  uint64_t image, entry; /* addresses */
  uint32_t code_bytes;
  uint64_t linked;           /* the entry's address in the file, which the line table speaks of */
  size_t lines, lines_bytes; /* the line table's place in the file */
  gfx9_descriptor descriptor;
  gfx9_kernel kernel;
  gfx9_code code;
};

/* gfx9_metadata.c, gfx9_decode.c */
/* The arguments of kernel `name` from a note's msgpack; false where it is not there. */
bool gfx9_metadata_read(const uint8_t *bytes, size_t size, const char *name, gfx9_kernel *kernel);
bool gfx9_decode(const char *cpu, const uint8_t *bytes, uint32_t size, gfx9_code *code,
                 emu_fault *fault);
/* gfx9_lines.c: the steps of the plan; base is the address that the entry has in the table. */
void gfx9_read_lines(const uint8_t *bytes, size_t size, uint64_t base, gfx9_code *code);
/* One operand or modifier of the text: gfx9_operand.c. */
bool gfx9_parse_operand(const char *text, int words, int float_bits, bool real,
                        gfx9_operand *operand);
bool gfx9_parse_modifier(const char *text, gfx9_op *op);
const gfx9_info *gfx9_find(const char *name, size_t length);

/* ---- running ---- */

typedef struct gfx9_machine {
  const gfx9_module *module;
  emu_memory *memory;
  const gfx9_system *system; /* NULL: none */
  int sleeps;                /* in this launch */
  emu_range *recent;         /* the range that answered last */
  emu_shared shared;
  emu_counters *counters;
  emu_fault *fault;
  uint64_t kernargs;
  uint32_t block;
  gfx9_row scratch[28];
  gfx9_row matrix[32];
} gfx9_machine;

typedef enum gfx9_state { GFX9_RUNNING = 0, GFX9_AT_BARRIER, GFX9_ENDED } gfx9_state;

/* Memory operations under way are numbered, per counter, in the order of issue; a register that one
 * will write remembers the number. `done` is what the waits so far guarantee. */
typedef struct gfx9_pending {
  uint32_t vector_issued, vector_done;
  uint32_t lds_issued, lds_done;
  uint32_t lds_accessed; /* the last of those that read or write the LDS; lane exchanges do not */
  uint32_t scalar_under_way;
} gfx9_pending;

struct gfx9_wave {
  gfx9_machine *machine;
  gfx9_state state;
  int number;
  int pc; /* index of the next op */
  bool scc, scc_undefined;
  uint32_t s[GFX9_SCALARS], s_undefined[GFX9_SCALARS];
  bool s_pending[GFX9_SCALARS];
  gfx9_row *v, *v_undefined;
  bool tainted[GFX9_VECTORS]; /* v_undefined of this register is not all zero */
  uint32_t vector_tag[GFX9_VECTORS], lds_tag[GFX9_VECTORS];
  gfx9_pending pending;
  uint64_t scratch; /* address: private_bytes of each lane */
};

static inline uint64_t gfx9_pair(const uint32_t *words) {
  return words[0] | (uint64_t)words[1] << 32;
}
static inline uint64_t gfx9_exec(const gfx9_wave *wave) { return gfx9_pair(&wave->s[GFX9_EXEC]); }
static inline void gfx9_set_pair(uint32_t *words, uint64_t value) {
  words[0] = (uint32_t)value;
  words[1] = (uint32_t)(value >> 32);
}

/* Fault at the running instruction; false. lane: EMU_NOWHERE, or the one to blame. */
bool gfx9_fault(gfx9_wave *wave, const gfx9_op *op, emu_fault_kind kind, int lane,
                const char *format, ...) __attribute__((format(printf, 5, 6)));

/* gfx9_wave.c: reading and writing registers with their undefined bits. */
bool gfx9_check_waits(gfx9_wave *wave, const gfx9_op *op);
/* Row `word` of an operand: the register itself, or `scratch` filled with the scalar n times. */
const uint32_t *gfx9_read_row(const gfx9_wave *wave, const gfx9_operand *operand, int word,
                              uint32_t *scratch, int n);
const uint32_t *gfx9_read_undefined(const gfx9_wave *wave, const gfx9_operand *operand, int word,
                                    uint32_t *scratch, int n);
bool gfx9_is_undefined(const gfx9_wave *wave, const gfx9_operand *operand);
/* Writes the lanes in `lanes`; undefined NULL: all defined. */
void gfx9_write_row(gfx9_wave *wave, int index, uint64_t lanes, const uint32_t *row,
                    const uint32_t *undefined);
/* Scalar registers; exec must not become undefined. */
bool gfx9_write_scalar(gfx9_wave *wave, const gfx9_op *op, int index, uint32_t value,
                       uint32_t undefined);
bool gfx9_write_mask(gfx9_wave *wave, const gfx9_op *op, int index, uint64_t value,
                     uint64_t undefined);

/* gfx9_lanes.c: runs info->lanes. gfx9_undefined.c: the undefined bits of what it gave in d, dh and
 * out. gfx9_select.c: SDWA and DPP around it. */
typedef const uint32_t *gfx9_rows[3][2];
typedef struct gfx9_unknown {
  uint32_t *d, *dh;
  uint64_t in, out; /* lanes whose bit of `in` is undefined, and so of `out` */
} gfx9_unknown;
bool gfx9_run_lanes(gfx9_wave *wave, const gfx9_op *op);
void gfx9_spread_undefined(gfx9_machine *machine, const gfx9_op *op, const gfx9_args *x,
                           gfx9_rows undefined, int n, gfx9_unknown *result);
extern const gfx9_row gfx9_zero;
void gfx9_select(int selection, bool sign, const uint32_t *from, uint32_t *to);
void gfx9_modify(const gfx9_op *op, int k, int word, int part, bool undefined, const uint32_t *from,
                 uint32_t *to, int n);
void gfx9_select_destination(const gfx9_sdwa *sdwa, const uint32_t *old, uint32_t *row);
/* The lane that each lane reads, -1: none. */
void gfx9_dpp_lanes(uint16_t control, int8_t from[GFX9_LANES]);

/* One access of a memory operation: where each of `lanes` goes. */
typedef struct gfx9_access {
  uint64_t address[GFX9_LANES], lanes;
  uint32_t bytes;
  bool store, atomic;
  bool scratch; /* the addresses are offsets in each lane's own memory */
} gfx9_access;
bool gfx9_make_addresses(gfx9_wave *wave, const gfx9_op *op, int at, int which,
                         gfx9_access *access);
uint8_t *gfx9_locate(gfx9_wave *wave, const gfx9_op *op, const gfx9_access *access, int lane,
                     uint8_t **undefined);
uint8_t *gfx9_locate_lds(gfx9_wave *wave, const gfx9_op *op, const gfx9_access *access, int lane,
                         uint8_t **undefined);
void gfx9_count_lds(gfx9_wave *wave, const gfx9_access *access, bool store);
void gfx9_issue(gfx9_wave *wave, const gfx9_op *op, int into, int words);

/* Steps: gfx9_memory.c, gfx9_lds.c, gfx9_atomic.c, gfx9_matrix.c, gfx9_control.c */
bool gfx9_load(gfx9_wave *wave, const gfx9_op *op);
bool gfx9_store(gfx9_wave *wave, const gfx9_op *op);
bool gfx9_scalar_load(gfx9_wave *wave, const gfx9_op *op);
bool gfx9_atomic(gfx9_wave *wave, const gfx9_op *op);
bool gfx9_lds_permute(gfx9_wave *wave, const gfx9_op *op);
bool gfx9_lds_swizzle(gfx9_wave *wave, const gfx9_op *op);
bool gfx9_matrix(gfx9_wave *wave, const gfx9_op *op);
bool gfx9_swap(gfx9_wave *wave, const gfx9_op *op);
bool gfx9_nop(gfx9_wave *wave, const gfx9_op *op);
bool gfx9_branch(gfx9_wave *wave, const gfx9_op *op);
bool gfx9_end(gfx9_wave *wave, const gfx9_op *op);
bool gfx9_barrier(gfx9_wave *wave, const gfx9_op *op);
bool gfx9_wait(gfx9_wave *wave, const gfx9_op *op);
bool gfx9_save_exec(gfx9_wave *wave, const gfx9_op *op);
bool gfx9_read_lane(gfx9_wave *wave, const gfx9_op *op);
bool gfx9_write_lane(gfx9_wave *wave, const gfx9_op *op);
bool gfx9_program_counter(gfx9_wave *wave, const gfx9_op *op);
bool gfx9_sleep(gfx9_wave *wave, const gfx9_op *op);
bool gfx9_real_time(gfx9_wave *wave, const gfx9_op *op);

#endif
