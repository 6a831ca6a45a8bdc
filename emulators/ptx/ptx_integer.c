/* Integer, bit and comparison instructions (PTX ISA, "Integer Arithmetic", "Logic and Shift",
 * "Comparison and Selection"): tables of value functions and of how undefined bits spread. */
#include "emulators/ptx/ptx_run.h"

__extension__ typedef unsigned __int128 wide;
__extension__ typedef __int128 signed_wide;

static inline uint64_t low_bits(uint64_t x, int bits) {
  return bits >= 64 ? x : x & (((uint64_t)1 << bits) - 1);
}
/* The signed value of the low `bits` bits. */
static inline int64_t sign(uint64_t x, int bits) {
  return (int64_t)(x << (64 - bits)) >> (64 - bits);
}
static inline bool is_signed(const ptx_op *op) { return op->type[0]->kind == 's'; }

/* A function of the values A, B, C of a lane; W is the width, M the mask of the result. */
#define COMPUTE(name, expression) \
  static void name(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c, \
                   uint64_t *r) { \
    const uint64_t M = op->mask; \
    const int W = op->bits; \
    (void)b, (void)c, (void)W; \
    for (int i = 0; i < PTX_LANES; i++) { \
      const uint64_t A = a[i], B = b[i], C = c[i]; \
      (void)A, (void)B, (void)C; \
      r[i] = (uint64_t)(expression) & M; \
    } \
  }

COMPUTE(add, A + B)
COMPUTE(sub, A - B)
COMPUTE(mul_low, A *B)
COMPUTE(mad_low, A *B + C)
COMPUTE(negate, -A)
COMPUTE(absolute, sign(A, W) < 0 ? -A : A)
COMPUTE(minimum, (is_signed(op) ? sign(A, W) < sign(B, W) : A < B) ? A : B)
COMPUTE(maximum, (is_signed(op) ? sign(A, W) > sign(B, W) : A > B) ? A : B)
COMPUTE(bit_and, A &B)
COMPUTE(bit_or, A | B)
COMPUTE(bit_xor, A ^ B)
COMPUTE(bit_not, ~A)
COMPUTE(is_zero, A == 0)
COMPUTE(shift_left, B >= (uint64_t)W ? 0 : A << B)
COMPUTE(population, __builtin_popcountll(A))
COMPUTE(leading, A ? __builtin_clzll(A) - (64 - W) : W)
COMPUTE(select_value, C & 1 ? A : B)

static void shift_right(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                        uint64_t *r) {
  int width = op->bits;
  (void)c;
  for (int i = 0; i < PTX_LANES; i++) {
    uint64_t by = b[i] < (uint64_t)width ? b[i] : (uint64_t)width - 1;
    uint64_t logical = b[i] < (uint64_t)width ? a[i] >> b[i] : 0;
    r[i] = (is_signed(op) ? (uint64_t)(sign(a[i], width) >> by) : logical) & op->mask;
  }
}

/* Division by zero has no defined result (PTX ISA, div): all ones; the remainder is the
 * dividend. */
static uint64_t quotient(const ptx_op *op, uint64_t a, uint64_t b) {
  if (b == 0) return UINT64_MAX;
  if (!is_signed(op)) return a / b;
  int64_t divisor = sign(b, op->bits);
  return divisor == -1 ? -a : (uint64_t)(sign(a, op->bits) / divisor);
}
COMPUTE(divide, quotient(op, A, B))
COMPUTE(remainder_of, B ? A - quotient(op, A, B) * B : A)

/* The full product, of which mul.hi and mul.wide take parts. */
static wide product(const ptx_op *op, uint64_t a, uint64_t b) {
  if (is_signed(op)) return (wide)((signed_wide)sign(a, op->bits) * sign(b, op->bits));
  return (wide)low_bits(a, op->bits) * low_bits(b, op->bits);
}
COMPUTE(mul_high, product(op, A, B) >> W)
COMPUTE(mad_high, (product(op, A, B) >> W) + C)
COMPUTE(mul_wide, product(op, A, B))
COMPUTE(mad_wide, product(op, A, B) + C)

static uint64_t reversed(uint64_t x, int width) {
  uint64_t r = 0;
  for (int i = 0; i < width; i++) r |= (x >> i & 1) << (width - 1 - i);
  return r;
}
COMPUTE(bit_reverse, reversed(A, W))

/* bfind: the highest 1 bit, of a negative signed number the highest 0 bit; all ones if none. */
static uint64_t highest(const ptx_op *op, uint64_t a) {
  if (is_signed(op) && sign(a, op->bits) < 0) a = ~a & (op->bits == 64 ? UINT64_MAX : 0xffffffff);
  return a ? 63 - (uint64_t)__builtin_clzll(a) : UINT64_MAX;
}
COMPUTE(find_highest, highest(op, A))

/* bfe: `length` bits from `position`; what lies past the top is the sign of a signed operand. */
static uint64_t extract(const ptx_op *op, uint64_t a, uint64_t position, uint64_t length) {
  position &= 255;
  length &= 255;
  if (length == 0) return 0;
  uint64_t top = position + length - 1;
  if (top >= op->bits) top = (uint64_t)op->bits - 1;
  uint64_t fill = is_signed(op) && a >> top & 1 ? UINT64_MAX : 0;
  uint64_t kept = length >= 64 ? UINT64_MAX : ((uint64_t)1 << length) - 1;
  uint64_t shifted = position >= op->bits ? fill : a >> position;
  if (position < op->bits && position + length > op->bits) {
    shifted |= fill << (op->bits - position);
  }
  return (shifted & kept) | (fill & ~kept);
}
COMPUTE(bit_extract, extract(op, A, B, C))

/* setp's comparisons in the order of the table's alternatives. */
static bool compare(const ptx_op *op, int how, uint64_t a, uint64_t b) {
  int64_t x = sign(a, op->bits), y = sign(b, op->bits);
  bool s = is_signed(op);
  switch (how) {
  case 1: return a == b;
  case 2: return a != b;
  case 3: return s ? x < y : a < b;
  case 4: return s ? x <= y : a <= b;
  case 5: return s ? x > y : a > b;
  case 6: return s ? x >= y : a >= b;
  case 7: return a < b;
  case 8: return a <= b;
  case 9: return a > b;
  default: return a >= b;
  }
}
COMPUTE(set_predicate, compare(op, op->choice[0], A, B))

/* prmt's selectors: nibble i of `how` in a mode (PTX ISA, table of modes); 8 asks for the sign. */
static uint64_t permuted(int mode, uint64_t a, uint64_t b, uint64_t control) {
  static const uint16_t selector[7][4] = {
      {0},
      {0x3210, 0x4321, 0x5432, 0x6543}, /* f4e */
      {0x5670, 0x6701, 0x7012, 0x0123}, /* b4e */
      {0x0000, 0x1111, 0x2222, 0x3333}, /* rc8 */
      {0x3210, 0x3211, 0x3222, 0x3333}, /* ecl */
      {0x0000, 0x1110, 0x2210, 0x3210}, /* ecr */
      {0x1010, 0x3232, 0x1010, 0x3232}, /* rc16 */
  };
  uint64_t bytes = (b & 0xffffffff) << 32 | (a & 0xffffffff), result = 0;
  unsigned how = mode ? selector[mode][control & 3] : (unsigned)(control & 0xffff);
  for (int i = 0; i < 4; i++) {
    unsigned nibble = how >> (4 * i) & 15;
    uint64_t byte = bytes >> (8 * (nibble & 7)) & 255;
    if (nibble & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}
COMPUTE(permute, permuted(op->choice[0], A, B, C))

/* shf: a 64-bit shift of b:a; l takes the upper half, r the lower. */
static uint64_t funnel(const ptx_op *op, uint64_t a, uint64_t b, uint64_t by) {
  by = op->choice[1] == 1 ? (by > 32 ? 32 : by) : by & 31;
  uint64_t both = b << 32 | (a & 0xffffffff);
  return op->choice[0] == 1 ? both << by >> 32 : both >> by;
}
COMPUTE(funnel_shift, funnel(op, A, B, C))

/* ---- undefined bits ---- */

static uint64_t spread_and(const ptx_op *op, const uint64_t *v, const uint64_t *u) {
  (void)op;
  return (u[0] | u[1]) & (u[0] | v[0]) & (u[1] | v[1]);
}
static uint64_t spread_or(const ptx_op *op, const uint64_t *v, const uint64_t *u) {
  (void)op;
  return (u[0] | u[1]) & (u[0] | ~v[0]) & (u[1] | ~v[1]);
}
static uint64_t spread_bits(const ptx_op *op, const uint64_t *v, const uint64_t *u) {
  (void)op, (void)v;
  return u[0] | u[1] | u[2];
}
/* Carries go up from the lowest undefined bit. */
static uint64_t spread_carry(const ptx_op *op, const uint64_t *v, const uint64_t *u) {
  uint64_t all = u[0] | u[1] | u[2];
  (void)op, (void)v;
  return all | -all;
}
/* A product by a power of two is a shift. */
static uint64_t spread_product(const ptx_op *op, const uint64_t *v, const uint64_t *u) {
  for (int k = 0; k < 2 && !is_signed(op); k++) {
    if (!u[k] && !u[2] && v[k] && (v[k] & (v[k] - 1)) == 0 && op->n_operands == 3) {
      return u[1 - k] << __builtin_ctzll(v[k]);
    }
  }
  return spread_carry(op, v, u);
}
static uint64_t spread_left(const ptx_op *op, const uint64_t *v, const uint64_t *u) {
  if (u[1]) return UINT64_MAX;
  return v[1] >= op->bits ? 0 : u[0] << v[1];
}
static uint64_t spread_right(const ptx_op *op, const uint64_t *v, const uint64_t *u) {
  if (u[1]) return UINT64_MAX;
  if (is_signed(op)) {
    return (uint64_t)(sign(u[0], op->bits) >> (v[1] < op->bits ? v[1] : op->bits - 1u));
  }
  return v[1] >= op->bits ? 0 : low_bits(u[0], op->bits) >> v[1];
}
static uint64_t spread_select(const ptx_op *op, const uint64_t *v, const uint64_t *u) {
  (void)op;
  if (u[2]) return UINT64_MAX;
  return v[2] & 1 ? u[0] : u[1];
}
static uint64_t spread_extract(const ptx_op *op, const uint64_t *v, const uint64_t *u) {
  return u[1] | u[2] ? UINT64_MAX : extract(op, low_bits(u[0], op->bits), v[1], v[2]);
}
static uint64_t spread_permute(const ptx_op *op, const uint64_t *v, const uint64_t *u) {
  if (u[2]) return UINT64_MAX;
  return permuted(op->choice[0], u[0], u[1], v[2]); /* a replicated sign: of undefined, undefined */
}
static uint64_t spread_funnel(const ptx_op *op, const uint64_t *v, const uint64_t *u) {
  return u[2] ? UINT64_MAX : funnel(op, u[0], u[1], v[2]);
}
/* Bits that differ and are defined decide equality. */
static uint64_t spread_compare(const ptx_op *op, const uint64_t *v, const uint64_t *u) {
  bool equality = op->choice[0] <= 2;
  return !(equality && ((v[0] ^ v[1]) & ~(u[0] | u[1])));
}

/* ---- instructions whose operands do not fit the pattern ---- */

/* bfi: d = b with `length` bits from `position` taken from a. */
static bool run_insert(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_lanes value, undefined;
  const uint64_t *v[4];
  const uint64_t *u[4];
  for (int n = 0; n < 4; n++) {
    int reg = ptx_reg(op, n + 1, 0);
    v[n] = warp->value[reg];
    u[n] = ptx_undefined(warp, reg);
  }
  (void)run;
  for (int i = 0; i < PTX_LANES; i++) {
    uint64_t position = v[2][i] & 255, length = v[3][i] & 255;
    uint64_t field = length >= 64 ? UINT64_MAX : ((uint64_t)1 << length) - 1;
    field = position >= 64 ? 0 : field << position;
    uint64_t by = position & 63;
    value[i] = ((v[1][i] & ~field) | (v[0][i] << by & field)) & op->mask;
    undefined[i] = (u[1][i] & ~field) | (u[0][i] << by & field);
    if (u[2][i] | u[3][i]) undefined[i] = UINT64_MAX;
    undefined[i] &= op->mask;
  }
  ptx_write(warp, ptx_reg(op, 0, 0), mask, value, undefined);
  return true;
}

/* lop3: bit by bit the truth table `constant` of (a, b, c). Undefined bits of any operand stay
 * so. */
static bool run_lop3(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_lanes value, undefined;
  const uint64_t *v[3], *u[3];
  int table = (int)op->operand[4].value;
  (void)run;
  for (int n = 0; n < 3; n++) {
    v[n] = warp->value[ptx_reg(op, n + 1, 0)];
    u[n] = ptx_undefined(warp, ptx_reg(op, n + 1, 0));
  }
  for (int i = 0; i < PTX_LANES; i++) {
    uint64_t r = 0;
    for (int k = 0; k < 8; k++) {
      if (!(table >> k & 1)) continue;
      r |= (k & 4 ? v[0][i] : ~v[0][i]) & (k & 2 ? v[1][i] : ~v[1][i]) &
           (k & 1 ? v[2][i] : ~v[2][i]);
    }
    value[i] = r & op->mask;
    undefined[i] = (u[0][i] | u[1][i] | u[2][i]) & op->mask;
  }
  ptx_write(warp, ptx_reg(op, 0, 0), mask, value, undefined);
  return true;
}

/* ---- the table ---- */

#define ROW(syntax, operands, compute, spread, class, result) \
  {syntax, operands, ptx_compute_op, compute, spread, class, result}
#define ARITH(syntax, operands, compute, spread) \
  ROW(syntax, operands, compute, spread, PTX_ARITHMETIC, 0)

const ptx_form ptx_integer_forms[] = {
    ARITH("add %I", "dss", add, spread_carry),
    ARITH("sub %I", "dss", sub, spread_carry),
    ARITH("mul lo %I", "dss", mul_low, spread_product),
    ARITH("mul hi %I", "dss", mul_high, NULL),
    ROW("mul wide %W", "dss", mul_wide, spread_product, PTX_ARITHMETIC, PTX_TWICE),
    ARITH("mad lo %I", "dsss", mad_low, spread_carry),
    ARITH("mad hi %I", "dsss", mad_high, NULL),
    ROW("mad wide %W", "dsss", mad_wide, spread_carry, PTX_ARITHMETIC, PTX_TWICE),
    ARITH("neg %I", "ds", negate, spread_carry),
    ARITH("abs %I", "ds", absolute, NULL),
    ARITH("min %I", "dss", minimum, NULL),
    ARITH("max %I", "dss", maximum, NULL),
    ARITH("div %I", "dss", divide, NULL),
    ARITH("rem %I", "dss", remainder_of, NULL),
    ARITH("and %L", "dss", bit_and, spread_and),
    ARITH("or %L", "dss", bit_or, spread_or),
    ARITH("xor %L", "dss", bit_xor, spread_bits),
    ARITH("not %L", "ds", bit_not, spread_bits),
    ARITH("cnot %B", "ds", is_zero, NULL),
    ARITH("shl %B", "dss", shift_left, spread_left),
    ARITH("shr %C", "dss", shift_right, spread_right),
    ARITH("shf l|r clamp|wrap b32", "dsss", funnel_shift, spread_funnel),
    ARITH("brev %B", "ds", bit_reverse, NULL),
    ROW("popc %B", "ds", population, NULL, PTX_ARITHMETIC, 32),
    ROW("clz %B", "ds", leading, NULL, PTX_ARITHMETIC, 32),
    ROW("bfind %I", "ds", find_highest, NULL, PTX_ARITHMETIC, 32),
    ARITH("bfe %I", "dsss", bit_extract, spread_extract),
    {"bfi %B", "dssss", run_insert, NULL, NULL, PTX_ARITHMETIC, 0},
    {"lop3 b32", "dsssi", run_lop3, NULL, NULL, PTX_ARITHMETIC, 0},
    ROW("setp eq|ne|lt|le|gt|ge|lo|ls|hi|hs %C", "dss", set_predicate, spread_compare,
        PTX_ARITHMETIC, 1),
    ARITH("selp %S", "dsss", select_value, spread_select),
    ROW("prmt b32 ?f4e|b4e|rc8|ecl|ecr|rc16", "dsss", permute, spread_permute, PTX_PERMUTE, 0),
    {0}};
