/* Matrix fragments and products of a warp (PTX ISA, "ldmatrix", "stmatrix", "mma.sync").
 *
 * Fragments. Lane = 4 g + t. A 32-bit register holds p = 32 / width neighbours along k. With R = M
 * / 8 groups of rows: register r of A holds rows g + 8 (r mod R), columns t p + e + (r div R) 4 p;
 * register r of B rows t p + e + 4 p r, column g; register r of C and D row g + 8 (r div 2),
 * column 2 t + r mod 2, or for f16 both columns in register r div 2. */
#include "emulators/common/emu_float.h"
#include "emulators/ptx/ptx_run.h"

#include <string.h>

/* ---- ldmatrix, stmatrix: 8 x 8 matrices of 16 bits, a row at the address of each lane ---- */

/* Row and column of element e (0, 1) that a lane holds of a matrix. */
static void place_of(int lane, int e, bool transposed, int *row, int *column) {
  int a = lane / 4, b = 2 * (lane % 4) + e;
  *row = transposed ? b : a;
  *column = transposed ? a : b;
}

static bool rows_of(ptx_run *run, ptx_warp *warp, const ptx_op *op, int matrices, bool write,
                    uint8_t **row, uint8_t **shadow) {
  int memory = write ? 0 : 1, least;
  uint32_t lanes = matrices == 4 ? PTX_FULL : (1u << (8 * matrices)) - 1;
  ptx_lanes address;
  if (!ptx_addresses(run, warp, op, memory, lanes, address)) return false;
  for (int i = 0; i < 8 * matrices; i++) {
    row[i] = ptx_locate(run, warp, op, i, PTX_SHARED, address[i], 16, write, &shadow[i]);
    if (!row[i]) return false;
  }
  uint64_t wavefronts = (uint64_t)ptx_wavefronts(address, lanes, 16, &least);
  emu_counters *counters = &run->counters;
  *(write ? &counters->shared_stores : &counters->shared_loads) += 1;
  *(write ? &counters->shared_store_wavefronts : &counters->shared_load_wavefronts) += wavefronts;
  *(write ? &counters->shared_store_conflicts : &counters->shared_load_conflicts) +=
      wavefronts - (uint64_t)least;
  return true;
}

static bool run_matrices(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask,
                         bool write) {
  int matrices = 1 << (op->choice[0] - 1), registers = write ? 1 : 0;
  uint8_t *row[PTX_LANES], *shadow[PTX_LANES];
  if (op->operand[registers].count != matrices) {
    return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_UNKNOWN, "%d registers",
                     op->operand[registers].count);
  }
  if (!ptx_whole_warp(run, warp, op, mask)) return false;
  if (!rows_of(run, warp, op, matrices, write, row, shadow)) return false;
  for (int m = 0; m < matrices; m++) {
    int reg = ptx_reg(op, registers, m);
    ptx_lanes value = {0}, undefined = {0};
    if (write) {
      memcpy(value, warp->value[reg], sizeof value);
      memcpy(undefined, ptx_undefined(warp, reg), sizeof undefined);
    }
    for (int i = 0; i < 2 * PTX_LANES; i++) {
      int lane = i / 2, e = i % 2, r, c;
      place_of(lane, e, op->choice[1] != 0, &r, &c);
      uint8_t *bytes = row[8 * m + r] + 2 * c, *bits = shadow[8 * m + r] + 2 * c;
      if (write) {
        memcpy(bytes, (uint8_t *)&value[lane] + 2 * e, 2);
        memcpy(bits, (uint8_t *)&undefined[lane] + 2 * e, 2);
      } else {
        memcpy((uint8_t *)&value[lane] + 2 * e, bytes, 2);
        memcpy((uint8_t *)&undefined[lane] + 2 * e, bits, 2);
      }
    }
    if (!write) ptx_write(warp, reg, mask, value, undefined);
  }
  return true;
}

static bool run_ldmatrix(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  return run_matrices(run, warp, op, mask, false);
}
static bool run_stmatrix(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  return run_matrices(run, warp, op, mask, true);
}

/* ---- mma.sync ---- */

typedef struct product {
  int m, k, p, width; /* n is 8 */
  const ptx_type *a, *b, *c, *d;
  double x[16][32], y[32][8];
} product;

double ptx_number_of(const ptx_type *type, uint64_t bits) {
  double wide;
  if (type->kind == 's') return (double)((int64_t)(bits << (64 - type->bits)) >> (64 - type->bits));
  if (type->kind == 'u') return (double)bits;
  if (type->format == &emu_tf32) return emu_unpack(&emu_f32, bits & ~0x1fffull);
  if (type->bits < 64) return emu_unpack(type->format, bits);
  memcpy(&wide, &bits, sizeof wide);
  return wide;
}

/* Part e of width bits of a register. */
double ptx_part_of(const ptx_warp *warp, int reg, int lane, const ptx_type *type, int e) {
  uint64_t bits = warp->value[reg][lane];
  if (type->bits < 32) bits = bits >> (type->bits * e) & (((uint64_t)1 << type->bits) - 1);
  return ptx_number_of(type, bits);
}

/* Which shapes, types and register counts there are. */
static bool shape_of(const ptx_op *op, product *of) {
  static const int m[] = {0, 16, 16, 16, 16, 8}, k[] = {0, 4, 8, 16, 32, 4};
  of->m = m[op->choice[0]];
  of->k = k[op->choice[0]];
  of->d = op->type[0], of->a = op->type[1], of->b = op->type[2], of->c = op->type[3];
  of->width = of->a->bits;
  of->p = of->width < 32 ? 32 / of->width : 1;
  bool integer = of->a->kind == 'u' || of->a->kind == 's', eight = of->width == 8;
  bool types = of->width == of->b->bits && of->c == of->d &&
               (eight ? (of->b->kind == 'u' || of->b->kind == 's') == integer : of->a == of->b);
  const char *into = integer ? "s32" : of->width == 64 ? "f64" : "f32";
  bool halves = strcmp(of->d->name, "f16") == 0 && strcmp(of->a->name, "f16") == 0;
  types &= strcmp(of->d->name, into) == 0 || halves;
  if (strcmp(of->a->name, "f32") == 0 || (integer && !eight) || of->a->kind == 'b') types = false;
  int steps = of->k / (4 * of->p), rows = of->m / 8;
  return types && steps * 4 * of->p == of->k && steps >= 1 && steps <= 2 &&
         (of->width == 64) == (of->m == 8) && op->operand[1].count == steps * rows &&
         op->operand[2].count == steps && op->operand[0].count == (halves ? rows : 2 * rows) &&
         op->operand[3].count == op->operand[0].count;
}

static void gather(const ptx_warp *warp, const ptx_op *op, product *of) {
  int rows = of->m / 8;
  for (int i = 0; i < PTX_LANES * of->p; i++) {
    int lane = i / of->p, e = i % of->p, g = lane / 4, along = lane % 4 * of->p + e;
    for (int r = 0; r < op->operand[1].count; r++) {
      of->x[g + 8 * (r % rows)][along + r / rows * 4 * of->p] =
          ptx_part_of(warp, ptx_reg(op, 1, r), lane, of->a, e);
    }
    for (int r = 0; r < op->operand[2].count; r++) {
      of->y[along + 4 * of->p * r][g] = ptx_part_of(warp, ptx_reg(op, 2, r), lane, of->b, e);
    }
  }
}

uint64_t ptx_result_bits(const ptx_type *type, double x) {
  uint64_t bits;
  if (type->kind == 's') return (uint64_t)(int64_t)x & UINT32_MAX; /* wraps; exact in double */
  if (type->bits < 64) return emu_pack(type->format, x, EMU_NEAREST, false);
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* Exact products, summed in double and rounded once: the ISA leaves order and precision open, so
 * tests compare what is exact in any order. */
static bool run_mma(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  product of = {0};
  if (!shape_of(op, &of)) {
    return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_UNKNOWN, "shape, types or registers");
  }
  if (!ptx_whole_warp(run, warp, op, mask)) return false;
  for (int n = 1; n <= 3; n++) {
    if (!ptx_require_defined(run, warp, op, n, mask, "a matrix")) return false;
  }
  gather(warp, op, &of);
  int count = op->operand[0].count, packed = of.d->bits == 16 ? 2 : 1;
  ptx_lanes value[4] = {{0}};
  for (int lane = 0; lane < PTX_LANES; lane++) {
    for (int i = 0; i < count * packed; i++) {
      int reg = i / packed, e = i % packed, row = lane / 4 + 8 * (i / 2);
      double sum = ptx_part_of(warp, ptx_reg(op, 3, reg), lane, of.c, e);
      for (int k = 0; k < of.k; k++) sum += of.x[row][k] * of.y[k][lane % 4 * 2 + i % 2];
      value[reg][lane] |= ptx_result_bits(of.d, sum) << (16 * e);
    }
  }
  for (int r = 0; r < count; r++) ptx_write(warp, ptx_reg(op, 0, r), mask, value[r], NULL);
  return true;
}

#define ROW(syntax, operands, execute) {syntax, operands, execute, NULL, NULL, PTX_MATRIX, 0}

const ptx_form ptx_matrix_forms[] = {
    ROW("ldmatrix sync aligned m8n8 x1|x2|x4 ?trans shared|shared::cta b16", "vm", run_ldmatrix),
    ROW("stmatrix sync aligned m8n8 x1|x2|x4 ?trans shared|shared::cta b16", "mw", run_stmatrix),
    ROW("mma sync aligned m16n8k4|m16n8k8|m16n8k16|m16n8k32|m8n8k4 row col %A %A %A %A", "vwww",
        run_mma),
    {0}};
